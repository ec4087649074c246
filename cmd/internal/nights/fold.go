package nights

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/iopathy/iopathy/ingest/lake"
)

// Folded is what a night did so that the lake opens as fast as ever.
type Folded struct {
	Runs   int `json:"runs"`   // whose manifests became part of one
	Models int `json:"models"` // old ones that were removed
}

// fold makes one manifest of the oldest, and removes the oldest of the models that
// others have taken the place of. It halves what stands alone, so that a lake is
// not folded every night.
func (n *Job) fold(_ context.Context, r *Result) error {
	keep := n.Local.Config.Retention
	lock, err := lake.NewLock(n.Local.Lake)
	if err != nil {
		return err
	}
	defer lock.Close()
	if keep.Runs > 0 {
		if r.Folded.Runs, err = lock.Fold(keep.Runs, keep.Runs/2, n.Local.Version); err != nil {
			return err
		}
	}
	if keep.Models > 0 {
		r.Folded.Models, err = removeModels(filepath.Join(n.Local.Lake, "models"), keep.Models)
	}
	return err
}

// removeModels removes all but the latest of the models model-DATE.json: their
// names sort by their dates. Others are not ours to remove.
func removeModels(dir string, keep int) (removed int, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("retention: %w", err)
	}
	var names []string
	for _, e := range entries {
		date, ours := strings.CutPrefix(strings.TrimSuffix(e.Name(), ".json"), "model-")
		if _, err := time.Parse(time.DateOnly, date); ours && err == nil && e.Name() == "model-"+date+".json" {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	for ; len(names) > keep; names = names[1:] {
		if err := os.Remove(filepath.Join(dir, names[0])); err != nil {
			return removed, fmt.Errorf("retention: %w", err)
		}
		removed++
	}
	return removed, nil
}
