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
	"sync"

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

// tickBuffer is the ticks that wait for a row group; it bounds the memory.
const tickBuffer = 32 << 10

// tickWriter stores ticks, a part a host and date. Devices come from several
// workers in any order and are written in their own, so that the file's bytes
// don't depend on who was first: a result waits until those before it are in.
type tickWriter struct {
	lake string

	mu      sync.Mutex
	next    int
	waiting map[int]waitingTicks
	open    map[string]*tickPart
	host    string
	parts   []lake.Part
	rows    int64
	err     error
}

type waitingTicks struct {
	key   features.Key
	ticks []features.Tick
}

type tickPart struct {
	name string
	w    *lake.Writer
	keys []features.Key
	rows []features.Tick
}

func newTickWriter(dir string) *tickWriter {
	return &tickWriter{lake: dir, waiting: map[int]waitingTicks{}, open: map[string]*tickPart{}}
}

// put takes the ticks of device number i and frees them from the result.
func (t *tickWriter) put(i int, key features.Key, res *deviceResult) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting[i] = waitingTicks{key, res.ticks}
	res.ticks = nil
	for t.err == nil {
		w, ok := t.waiting[t.next]
		if !ok {
			break
		}
		delete(t.waiting, t.next)
		t.next++
		t.err = t.device(w)
	}
	return t.err
}

func (t *tickWriter) device(w waitingTicks) error {
	if w.key.Host != t.host {
		if err := t.closeHost(); err != nil {
			return err
		}
		t.host = w.key.Host
	}
	t.rows += int64(len(w.ticks))
	for i := range w.ticks {
		date := lake.Date(w.ticks[i].StartNS)
		p := t.open[date]
		if p == nil {
			p = &tickPart{name: lake.PartName{Table: lake.Ticks, Date: date, Host: w.key.Host, Input: "ticks"}.Path()}
			t.open[date] = p
		}
		p.keys, p.rows = append(p.keys, w.key), append(p.rows, w.ticks[i])
		if len(p.rows) == tickBuffer {
			if err := t.flush(p); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *tickWriter) flush(p *tickPart) error {
	if len(p.rows) == 0 {
		return nil
	}
	cols := features.TickColumns(p.keys, p.rows)
	if p.w == nil {
		var err error
		if p.w, err = lake.Create(filepath.Join(t.lake, filepath.FromSlash(p.name)), lake.Fields(cols), nil); err != nil {
			return err
		}
	}
	p.keys, p.rows = p.keys[:0], p.rows[:0]
	return p.w.Write(cols)
}

func (t *tickWriter) closeHost() error {
	for _, date := range sortedKeys(t.open) {
		p := t.open[date]
		if err := t.flush(p); err != nil {
			return err
		}
		part, err := p.w.Close()
		if err != nil {
			return err
		}
		part.Path = p.name
		t.parts = append(t.parts, part)
		delete(t.open, date)
	}
	return nil
}

func (t *tickWriter) close() ([]lake.Part, int64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err = t.closeHost()
	}
	return t.parts, t.rows, t.err
}

func (t *tickWriter) abort() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.open {
		if p.w != nil {
			p.w.Abort()
		}
	}
}

// replaceTables writes the manifest by which the parts take the place of the
// tables' earlier ones, then removes those.
func (j *Job) replaceTables(lock *lake.Lock, manifests []lake.Manifest, parts []lake.Part, tables ...string) error {
	var removed []string
	for _, table := range tables {
		for _, old := range lake.Parts(manifests, table) {
			if !slices.ContainsFunc(parts, func(p lake.Part) bool { return p.Path == old.Path }) {
				removed = append(removed, old.Path)
			}
		}
	}
	run := j.RunID + "-" + strings.Join(tables, "-")
	if err := lock.WriteManifest(lake.Manifest{Run: run, Version: j.Version, Parts: parts, Removed: removed}); err != nil {
		return err
	}
	for _, p := range removed {
		if err := os.Remove(filepath.Join(j.Lake, filepath.FromSlash(p))); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}
