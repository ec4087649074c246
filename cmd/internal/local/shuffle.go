package local

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"path/filepath"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/ingest/lake"
	"github.com/iopathy/iopathy/reduce"
)

// Shuffled fits and labels the windows anew, as Diagnose does, under a
// catalogue whose names stand at other signatures: what then stays the same
// doesn't come from the names. Without an inventory the one that the lake's
// model was fitted with counts.
func (j *Job) Shuffled(windows *Windows, inv reduce.Inventory, c cluster.Catalogue) (*Diagnosed, error) {
	shipped, err := shippedModel()
	if err != nil {
		return nil, err
	}
	if inv == nil {
		if inv, err = j.fittedInventory(); err != nil {
			return nil, err
		}
	}
	to := derangement(c, j.Config.Seed)
	rules, err := cluster.Compile(c.Renamed(to))
	if err != nil {
		return nil, err
	}
	return j.fit(windows, inv, rules, shipped.Renamed(to), false)
}

// derangement gives each slug another one, by the seed: a cycle through all of
// them in a random order.
func derangement(c cluster.Catalogue, seed uint64) map[string]string {
	order := rand.New(rand.NewPCG(seed, 0x5baff1e)).Perm(len(c.Pathologies))
	to := make(map[string]string, len(order))
	for i, at := range order {
		to[c.Pathologies[at].Slug] = c.Pathologies[order[(i+1)%len(order)]].Slug
	}
	return to
}

// fittedInventory is what the lake's model keeps of the inventory; nil if the
// lake has no model.
func (j *Job) fittedInventory() (reduce.Inventory, error) {
	models, err := readModels(filepath.Join(j.Lake, filepath.FromSlash(lake.ModelPath(modelFile))))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var rows []knownDevice
	for _, m := range models {
		rows = append(rows, m.Devices...)
	}
	return inventoryOf(rows), nil
}
