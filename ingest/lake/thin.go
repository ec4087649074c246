package lake

import (
	"fmt"
	"slices"
)

// Thin writes the bundles anew, without their removed parts, that these were in;
// one of which no part is left goes. A bundle that can't be read, since it is
// damaged, stays as it is: Verify tells.
func (l *Lock) Thin(run, version string, removed []string) error {
	var files []string
	for _, p := range removed {
		if InBundle(p) {
			files = append(files, FileOf(p))
		}
	}
	if len(files) == 0 {
		return nil
	}
	slices.Sort(files)
	all, err := Manifests(l.dir)
	if err != nil {
		return err
	}
	left := make(map[string][]Part)
	for _, table := range tables {
		for _, p := range Parts(all, table) {
			left[FileOf(p.Path)] = append(left[FileOf(p.Path)], p)
		}
	}
	m := Manifest{Run: run, Version: version}
	var gone []string
	for _, file := range slices.Compact(files) {
		parts := left[file]
		if len(parts) > 0 {
			b, members, err := l.Bundle(parts)
			if err != nil {
				continue
			}
			m.Bundles, m.Parts = append(m.Bundles, b), append(m.Parts, members...)
			for _, p := range parts {
				m.Removed = append(m.Removed, p.Path)
			}
		}
		gone = append(gone, file)
	}
	if len(m.Bundles) > 0 {
		if err := l.WriteManifest(m); err != nil {
			return fmt.Errorf("lake: thin: %w", err)
		}
	}
	for _, file := range gone {
		if err := l.removeFile(file); err != nil {
			return err
		}
	}
	return nil
}

// Thinned lists parts that bundles still hold and that are no more: what a crash
// between their removal and Thin left.
func Thinned(all []Manifest) (removed []string) {
	live := make(map[string]bool)
	in := make(map[string]bool)
	for _, table := range tables {
		for _, p := range Parts(all, table) {
			live[p.Path], in[FileOf(p.Path)] = true, true
		}
	}
	for _, m := range all {
		for _, p := range m.Parts {
			if InBundle(p.Path) && in[FileOf(p.Path)] && !live[p.Path] {
				removed = append(removed, p.Path)
			}
		}
	}
	return removed
}
