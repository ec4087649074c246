package local

import (
	"os"
	"path/filepath"

	"github.com/iopathy/iopathy/ingest/lake"
)

// leave drops the inputs that were not read.
func (i *Ingested) leave(claims []claim, writers []*chunkWriter) ([]claim, []*chunkWriter) {
	n := 0
	for k, w := range writers {
		if w == nil {
			continue
		}
		claims[n], writers[n], i.Reports[n] = claims[k], w, i.Reports[k]
		n++
	}
	i.Left, i.Reports = len(writers)-n, i.Reports[:n]
	return claims[:n], writers[:n]
}

// superseded lists the parts of grown inputs that are no more.
func superseded(out *Ingested, writers []*chunkWriter, claims []claim, live map[string]map[string]lake.Part) (removed []string) {
	for i, w := range writers {
		if !claims[i].grown || len(w.parts) == 0 {
			continue
		}
		now := map[string]bool{}
		for _, p := range w.parts {
			now[p.Path] = true
		}
		for _, path := range sortedKeys(live[out.Reports[i].ID]) {
			if !now[path] {
				removed = append(removed, path)
			}
		}
	}
	return removed
}

// replaced lists the parts in bundles that stand alone now, since they were
// written anew.
func replaced(writers []*chunkWriter) (removed []string) {
	for _, w := range writers {
		anew := map[string]bool{}
		for _, p := range w.parts {
			anew[p.Path] = true
		}
		for path := range w.live {
			if lake.InBundle(path) && anew[lake.Alone(path)] {
				removed = append(removed, path)
			}
		}
	}
	return removed
}

// remove deletes parts that the manifests name no more.
func (j *Job) remove(paths []string) error {
	for _, p := range paths {
		if lake.InBundle(p) {
			continue // the file is that of others, too
		}
		if err := os.Remove(filepath.Join(j.Lake, filepath.FromSlash(p))); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}
