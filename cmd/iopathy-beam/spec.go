package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"reflect"
	"sync"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cmd/internal/local"
	"github.com/iopathy/iopathy/configs"
	"github.com/iopathy/iopathy/ingest/bucket"
	"github.com/iopathy/iopathy/reduce"
)

// Spec is the job, as every worker is told of it. Paths are those of a file system
// that all share; the lake, the output and sources may be URLs of buckets.
type Spec struct {
	Config  configs.Config
	Sources []string
	RunID   string
	Version string
	Shards  int
	Refit   bool
}

// Encode gives the spec as text. Settings that would not survive that are an error
// here, and not a difference later.
func (s Spec) Encode() (string, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("job: %w", err)
	}
	back, err := decodeSpec(string(text))
	if err != nil {
		return "", err
	}
	if !reflect.DeepEqual(back, s) {
		return "", errors.New("job: its settings do not survive being written down")
	}
	return string(text), nil
}

func decodeSpec(text string) (Spec, error) {
	var s Spec
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return s, fmt.Errorf("job: %w", err)
	}
	return s, nil
}

// job is the job on the lake of the output directory.
func (s Spec) job() *local.Job {
	return &local.Job{Config: s.Config, Lake: s.lake(), RunID: s.RunID, Version: s.Version}
}

func (s Spec) lake() string {
	if s.Config.Lake != "" {
		return s.Config.Lake
	}
	if p, err := bucket.Parse(s.Config.Out); err == nil {
		out := p.URL(path.Join(p.Key, "lake"))
		if p.Query != "" {
			out += "?" + p.Query
		}
		return out
	}
	return filepath.Join(s.Config.Out, "lake")
}

func (s Spec) rules() (cluster.Catalogue, *cluster.Rules, error) {
	c, err := configs.LoadCatalogue(s.Config.Catalogue)
	if err != nil {
		return c, nil, err
	}
	rules, err := cluster.Compile(c)
	return c, rules, err
}

// given is what is known beside the logs: the devices, and the rules that windows are judged by.
func (s Spec) given() (reduce.Inventory, cluster.Catalogue, *cluster.Rules, error) {
	c, rules, err := s.rules()
	if err != nil {
		return nil, c, nil, err
	}
	inv, err := local.ReadInventory(s.Config.Inventory)
	return inv, c, rules, err
}

// check refuses what no worker could do.
func (s Spec) check() error {
	switch {
	case len(s.Sources) == 0:
		return errors.New("say what to read: a file, a directory or a glob")
	case s.Config.Out == "":
		return errors.New("say where the report goes: --out DIR")
	case s.Shards < 1:
		return fmt.Errorf("%d shards: want 1 or more", s.Shards)
	}
	if _, err := local.ReadInventory(s.Config.Inventory); err != nil {
		return err
	}
	if _, _, err := s.rules(); err != nil {
		return err
	}
	return s.free(context.Background())
}

// sourcesOf keeps what a worker has found of the sources of a job, since it reads
// many pieces of it.
type sourcesOf struct {
	mu   sync.Mutex
	spec string
	all  *local.Sources
}

func (c *sourcesOf) find(spec string, find func() (*local.Sources, error)) (*local.Sources, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.spec == spec {
		return c.all, nil
	}
	all, err := find()
	if err != nil {
		return nil, err
	}
	c.spec, c.all = spec, all
	return all, nil
}
