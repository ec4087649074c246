package local

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest/lake"
	"github.com/iopathy/iopathy/reduce"
)

// naming gives the classes of a run the ids that they have in the lake.
type naming struct {
	found    []byte // the file as it was read; nil if there was none
	registry cluster.Registry
	endNS    int64
	events   []cluster.RegistryEvent
}

func registryFile(dir string) string {
	return filepath.Join(dir, filepath.FromSlash(lake.RegistryPath))
}

// newNaming reads the lake's registry of classes.
func (j *Job) newNaming(windows *Windows) (*naming, error) {
	n := &naming{endNS: windows.endNS}
	var err error
	if n.found, err = readRegistry(j.Lake); err != nil || n.found == nil {
		return n, err
	}
	if err := json.Unmarshal(n.found, &n.registry); err != nil {
		return nil, fmt.Errorf("%s: %w", registryFile(j.Lake), err)
	}
	return n, nil
}

// readRegistry gives the file, nil if there is none.
func readRegistry(dir string) ([]byte, error) {
	data, err := os.ReadFile(registryFile(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("registry of classes: %w", err)
	}
	return data, nil
}

// name gives the classes of one family's model their lasting ids. Where these
// are others than the fit's own, the windows are labelled again, so that what
// is said is what the stored model says.
func (n *naming) name(km *KindModel, f *family, points features.Rows[reduce.Point], res cluster.Result, rules *cluster.Rules, o cluster.Options) cluster.Result {
	family := cluster.Family{Kind: km.Kind, TickNS: km.TickNS, WindowNS: km.WindowNS}
	registry, ids, events := n.registry.Match(family, km.Cluster.Kind, res.Classes, n.endNS)
	n.registry = registry
	n.events = append(n.events, events...)
	same := !slices.ContainsFunc(res.Classes, func(c cluster.Class) bool { return ids[c.ID] != c.ID })
	if same {
		return res
	}
	km.Cluster = km.Cluster.Renumbered(ids)
	why := res.Why
	res = km.Cluster.LabelRows(points, rules, o, f.put)
	res.Why = why
	return res
}

// store writes the registry under the lake's lock. Another run may have given
// ids since it was read: then those of this one don't count.
func (n *naming) store(lock *lake.Lock) error {
	if n == nil {
		return nil
	}
	now, err := readRegistry(lock.Dir())
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(n.registry, "", " ")
	if err != nil {
		return fmt.Errorf("registry of classes: %w", err)
	}
	data = append(data, '\n')
	switch {
	case bytes.Equal(now, data):
	case !bytes.Equal(now, n.found):
		return fmt.Errorf("another run has named classes in %s meanwhile: run again", lock.Dir())
	default:
		if err := lake.WriteFileAtomic(registryFile(lock.Dir()), data); err != nil {
			return err
		}
	}
	n.found = data
	return nil
}

// shifts is what is added to the class ids of each model. Ids of the lake's
// registry are apart as they are; models of other origin may each count from 1,
// and then later ones are numbered after the earlier ones.
func shifts(models []KindModel) []int {
	out := make([]int, len(models))
	taken := map[int]bool{}
	most := 0
	for i, m := range models {
		for _, c := range m.Cluster.Classes {
			if taken[c.ID] {
				out[i] = most
				break
			}
		}
		for _, c := range m.Cluster.Classes {
			taken[c.ID+out[i]] = true
			most = max(most, c.ID+out[i])
		}
	}
	return out
}
