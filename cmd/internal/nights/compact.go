package nights

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/iopathy/iopathy/ingest/lake"
)

// What is merged: files below smallBytes, into such of about bundleBytes and of at
// most bundleParts parts, since who opens one part reads the footer of all.
const (
	smallBytes  = 32 << 20
	bundleBytes = 128 << 20
	bundleParts = 64
)

// Compacted is what a night merged.
type Compacted struct {
	Parts int `json:"parts"` // that were merged
	Into  int `json:"into"`  // files
}

// unit is a file with parts: a bundle, or a part that stands alone.
type unit struct {
	file  lake.Part
	parts []lake.Part
}

// mergers sorts the units of one table, day and host into groups of which each
// becomes one file, in their order; what is large enough stays as it is.
func mergers(units []unit) (groups [][]unit) {
	units = slices.DeleteFunc(slices.Clone(units), func(u unit) bool { return u.file.Bytes >= smallBytes || len(u.parts) >= bundleParts })
	slices.SortFunc(units, func(a, b unit) int { return strings.Compare(lake.Alone(a.parts[0].Path), lake.Alone(b.parts[0].Path)) })
	var hand []unit
	bytes, parts := int64(0), 0
	end := func() {
		if len(hand) > 1 {
			groups = append(groups, hand)
		}
		hand, bytes, parts = nil, 0, 0
	}
	for _, u := range units {
		if bytes+u.file.Bytes > bundleBytes || parts+len(u.parts) > bundleParts {
			end()
		}
		hand, bytes, parts = append(hand, u), bytes+u.file.Bytes, parts+len(u.parts)
	}
	end()
	return groups
}

// compact merges the small files of the days before the newest. The parts stay
// what they were: their rows, their row groups, their order. First the merged
// files are written, then the manifest that names them in place of the others,
// then those go. What is damaged is left alone, and said.
func (n *Job) compact(ctx context.Context, r *Result) (err error) {
	if !n.Local.Config.Compact {
		return nil
	}
	lock, err := lake.NewLock(n.Local.Lake)
	if err != nil {
		return err
	}
	defer lock.Close()
	manifests, err := n.Local.Manifests()
	if err != nil {
		return err
	}
	run := n.Local.RunID + "-compact"
	cells, err := finished(manifests, lake.Date(n.NowNS))
	if err != nil {
		return err
	}
	left := lake.Thinned(manifests)
	if len(cells)+len(left) == 0 {
		return nil
	}
	if err := lock.Begin(run, nil); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_, swept := lock.Sweep()
			err = errors.Join(err, swept)
		}
	}()
	m := lake.Manifest{Run: run, Version: n.Local.Version}
	for _, units := range cells {
		if err := ctx.Err(); err != nil {
			return err
		}
		n.merge(lock, units, &m, r)
	}
	if err := n.Local.FetchBundles(append(slices.Clone(m.Removed), left...)); err != nil {
		return err
	}
	if len(m.Bundles) > 0 {
		if err := lock.Replace(m); err != nil {
			return err
		}
	}
	return errors.Join(lock.Thin(run+"-thin", n.Local.Version, left), lock.End(run))
}

// finished gives the files of each table, day and host that can be merged, of the
// days before the newest, in the order of their paths.
func finished(manifests []lake.Manifest, today string) (cells [][]unit, err error) {
	s := shelf{parts: map[string][]lake.Part{}, today: today}
	for _, table := range []string{lake.Events, lake.Samples, lake.Windows} {
		s.parts[table] = lake.Parts(manifests, table)
	}
	newest := s.newest()
	for _, table := range []string{lake.Events, lake.Samples, lake.Evidence} {
		parts := lake.Parts(manifests, table)
		files, err := lake.Files(manifests, parts)
		if err != nil {
			return nil, err
		}
		in := map[string][]lake.Part{}
		for _, p := range parts {
			in[lake.FileOf(p.Path)] = append(in[lake.FileOf(p.Path)], p)
		}
		byCell := map[lake.Day][]unit{}
		var order []lake.Day
		for _, f := range files {
			name, err := lake.ParsePart(in[f.Path][0].Path)
			if err != nil {
				return nil, err
			}
			d := lake.Day{Host: name.Host, Date: name.Date}
			if name.Date >= newest {
				continue
			}
			if byCell[d] == nil {
				order = append(order, d)
			}
			byCell[d] = append(byCell[d], unit{f, in[f.Path]})
		}
		for _, d := range order {
			if len(mergers(byCell[d])) > 0 {
				cells = append(cells, byCell[d])
			}
		}
	}
	return cells, nil
}

// merge writes the bundles of a cell, and notes them in the manifest.
func (n *Job) merge(lock *lake.Lock, units []unit, m *lake.Manifest, r *Result) {
	units = slices.DeleteFunc(units, func(u unit) bool {
		if err := n.Local.Fetch(u.file.Path); err != nil {
			n.Say("compact: left alone: %v", err)
			return true
		}
		faults, err := lake.VerifyPart(n.Local.Lake, u.file)
		for _, f := range faults {
			n.Say("compact: left alone: %s", f)
		}
		if err != nil {
			n.Say("compact: left alone: %v", err)
		}
		return err != nil || len(faults) > 0
	})
	for _, group := range mergers(units) {
		var parts []lake.Part
		for _, u := range group {
			parts = append(parts, u.parts...)
		}
		file, members, err := lock.Bundle(parts)
		if err != nil {
			n.Say("compact: left as they are: %v", err)
			continue
		}
		m.Bundles, m.Parts = append(m.Bundles, file), append(m.Parts, members...)
		for _, p := range parts {
			m.Removed = append(m.Removed, p.Path)
		}
		r.Compacted.Parts += len(parts)
		r.Compacted.Into++
	}
}
