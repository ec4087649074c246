package local

import (
	"cmp"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest/lake"
)

// writeTable writes columns as one file, in row groups of at most GroupRows.
func writeTable(path string, cols []lake.Column, cuts []int) (lake.Part, error) {
	w, err := lake.Create(path, lake.Fields(cols), nil)
	if err != nil {
		return lake.Part{}, err
	}
	rows := length(cols)
	if cuts == nil {
		for at := lake.GroupRows; at < rows; at += lake.GroupRows {
			cuts = append(cuts, at)
		}
		if rows > 0 {
			cuts = append(cuts, rows)
		}
	}
	from := 0
	for _, to := range cuts {
		if err := w.Write(cut(cols, from, to)); err != nil {
			w.Abort()
			return lake.Part{}, err
		}
		from = to
	}
	return w.Close()
}

func length(cols []lake.Column) int {
	if len(cols) == 0 {
		return 0
	}
	switch d := cols[0].Data.(type) {
	case []int64:
		return len(d)
	case []int32:
		return len(d)
	case []float64:
		return len(d)
	case []string:
		return len(d)
	case []bool:
		return len(d)
	}
	return 0
}

// cut is rows [from, to) of columns.
func cut(cols []lake.Column, from, to int) []lake.Column {
	out := make([]lake.Column, len(cols))
	for i, c := range cols {
		out[i] = c
		switch d := c.Data.(type) {
		case []int64:
			out[i].Data = d[from:to]
		case []int32:
			out[i].Data = d[from:to]
		case []float64:
			out[i].Data = d[from:to]
		case []string:
			out[i].Data = d[from:to]
		case []bool:
			out[i].Data = d[from:to]
		}
		if c.Valid != nil {
			out[i].Valid = c.Valid[from:to]
		}
	}
	return out
}

// windowRows is the most windows of a row group: each has a hundred columns.
const windowRows = 4 << 10

// storeWindows writes the windows, a part a date, with few of them laid out as
// columns at a time.
func (j *Job) storeWindows(windows []features.Window) ([]lake.Part, error) {
	byDate := map[string][]int32{}
	for i := range windows {
		d := lake.Date(windows[i].StartNS)
		byDate[d] = append(byDate[d], int32(i))
	}
	var parts []lake.Part
	for _, date := range sortedKeys(byDate) {
		name := lake.PartName{Table: lake.Windows, Date: date, Input: "windows"}.Path()
		p, err := writeWindows(filepath.Join(j.Lake, filepath.FromSlash(name)), windows, byDate[date])
		if err != nil {
			return nil, err
		}
		p.Path = name
		parts = append(parts, p)
	}
	return parts, nil
}

// writeWindows writes some of the windows as one file.
func writeWindows(path string, windows []features.Window, which []int32) (lake.Part, error) {
	w, err := lake.Create(path, lake.Fields(features.WindowColumns(nil)), nil)
	if err != nil {
		return lake.Part{}, err
	}
	var group []features.Window
	for some := range slices.Chunk(which, windowRows) {
		group = group[:0]
		for _, i := range some {
			group = append(group, windows[i])
		}
		if err := w.Write(features.WindowColumns(group)); err != nil {
			w.Abort()
			return lake.Part{}, err
		}
	}
	return w.Close()
}

// Windows reads the windows that Features stored, by host, device and time.
func (j *Job) Windows() ([]features.Window, error) {
	manifests, err := lake.Manifests(j.Lake)
	if err != nil {
		return nil, err
	}
	var all []features.Window
	for _, p := range lake.Parts(manifests, lake.Windows) {
		r, err := lake.Open(filepath.Join(j.Lake, filepath.FromSlash(p.Path)), nil)
		if err != nil {
			return nil, err
		}
		all, err = appendWindows(all, r)
		if cerr := r.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(all, func(a, b features.Window) int {
		return cmp.Or(strings.Compare(a.Host, b.Host), strings.Compare(a.Device, b.Device), cmp.Compare(a.StartNS, b.StartNS))
	})
	return all, nil
}

func appendWindows(all []features.Window, r *lake.Reader) ([]features.Window, error) {
	for {
		cols, _, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		ws, err := features.WindowsFromColumns(cols)
		if err != nil {
			return nil, err
		}
		all = append(all, ws...)
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// replaceTables writes the manifest by which the parts take the place of the
// tables' earlier ones, then removes those.
func (j *Job) replaceTables(lock *lake.Lock, manifests []lake.Manifest, parts []lake.Part, tables ...string) error {
	return j.replaceTablesOf(lock, manifests, parts, nil, tables...)
}

// replaceTablesOf is replaceTables with what is to be told of the devices.
func (j *Job) replaceTablesOf(lock *lake.Lock, manifests []lake.Manifest, parts []lake.Part, devices []byte, tables ...string) error {
	var removed []string
	for _, table := range tables {
		for _, old := range lake.Parts(manifests, table) {
			if !slices.ContainsFunc(parts, func(p lake.Part) bool { return p.Path == old.Path }) {
				removed = append(removed, old.Path)
			}
		}
	}
	run := j.RunID + "-" + strings.Join(tables, "-")
	if err := lock.WriteManifest(lake.Manifest{Run: run, Version: j.Version, Parts: parts, Removed: removed, Devices: devices}); err != nil {
		return err
	}
	for _, p := range removed {
		if err := os.Remove(filepath.Join(j.Lake, filepath.FromSlash(p))); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}
