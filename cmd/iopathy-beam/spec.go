package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"sync"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cmd/internal/local"
	"github.com/iopathy/iopathy/configs"
	"github.com/iopathy/iopathy/ingest/lake"
	"github.com/iopathy/iopathy/reduce"
)

// Spec is the job, as every worker is told of it. Paths are those of a file system
// that all share.
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
	return filepath.Join(s.Config.Out, "lake")
}

// work is where workers leave what is of no use when the job is done.
func (s Spec) work() string { return filepath.Join(s.Config.Out, ".folds") }

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
	manifests, err := lake.Manifests(s.lake())
	if err != nil {
		return err
	}
	if len(manifests) > 0 {
		return fmt.Errorf("lake %s holds runs already: this makes a lake of its own", s.lake())
	}
	return local.CheckOut(s.Config.Out, false)
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

// scratch makes a directory for one try of a step.
func (s Spec) scratch(step string) (string, error) {
	if err := os.MkdirAll(s.work(), 0o777); err != nil {
		return "", fmt.Errorf("%s: %w", step, err)
	}
	dir, err := os.MkdirTemp(s.work(), step+"-")
	if err != nil {
		return "", fmt.Errorf("%s: %w", step, err)
	}
	return dir, nil
}

// keep writes what a later step needs of this try into a file, and gives its name.
func (s Spec) keep(step string, v any) (string, error) {
	dir, err := s.scratch(step)
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("%s: %w", step, err)
	}
	path := filepath.Join(dir, step+".json")
	return path, lake.WriteFileAtomic(path, data)
}

// kept reads what keep has written.
func (s Spec) kept(path string, v any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("what an earlier step has left: %w", err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
