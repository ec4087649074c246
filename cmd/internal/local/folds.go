package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest/lake"
	"github.com/iopathy/iopathy/reports"
)

// foldsDir is where a process leaves the windows and ticks that it has made, below
// the directory that it was given, and foldsFile what they are.
const (
	foldsDir  = "folds"
	foldsFile = "folds.json"
)

// foldShare is the windows and ticks that one process has made.
type foldShare struct {
	Tool    string        `json:"tool"`
	Version string        `json:"version"`
	Sources string        `json:"sources"`
	Index   int           `json:"shard"`
	Of      int           `json:"of"`
	Cells   []*foldedPart `json:"cells"`
}

// unitName is a device of a cell, or a slice of its time.
type unitName struct {
	Device string `json:"device"`
	Slice  int    `json:"slice,omitempty"`
}

// foldedPart is what one process has made of a cell: of all of it, or of some of its
// devices and slices.
type foldedPart struct {
	Host    string          `json:"host"`
	Date    string          `json:"date"`
	Feed    string          `json:"of"`    // lake.Cell.Of
	Order   []unitName      `json:"order"` // all units of the cell
	Units   []foldedUnit    `json:"units"` // those that were folded here, in their order
	Parts   []lake.Part     `json:"parts"`
	Devices json.RawMessage `json:"devices,omitempty"` // lake.Cell.Devices, if all were
}

// foldedUnit is what one fold gave: so many of the next rows of the parts.
type foldedUnit struct {
	At      int                    `json:"at"` // in Order
	Ticks   int64                  `json:"ticks"`
	Windows int                    `json:"windows"`
	Profile []features.ProfileRow  `json:"profile,omitempty"` // where not all units are here
	TickNS  int64                  `json:"tick_ns"`
	Sources *reports.DeviceSources `json:"sources,omitempty"`
}

// folded is what others have made of the lake's rows, by cell.
type folded struct{ cells map[cell][]*foldedCell }

// foldedCell is a cell of which all units were folded.
type foldedCell struct {
	cell
	feed  string
	order []unitName
	parts []*foldedPart // of the processes that had a share in it
	dirs  []string      // of parts
}

// of gives what was made of a cell, if it was of this feed; nil else.
func (f *folded) of(c cell, feed string) *foldedCell {
	if f == nil {
		return nil
	}
	for _, one := range f.cells[c] {
		if one.feed == feed {
			return one
		}
	}
	return nil
}

// loadFolds takes what the processes have left in their directories. Cells of which
// some units are missing are left out: who asks for them folds them himself.
func loadFolds(shares []foldShare, dirs []string) *folded {
	f := &folded{cells: map[cell][]*foldedCell{}}
	for i := range shares {
		for _, p := range shares[i].Cells {
			c := cell{p.Host, p.Date}
			at := slices.IndexFunc(f.cells[c], func(o *foldedCell) bool { return o.feed == p.Feed && slices.Equal(o.order, p.Order) })
			if at < 0 {
				at = len(f.cells[c])
				f.cells[c] = append(f.cells[c], &foldedCell{cell: c, feed: p.Feed, order: p.Order})
			}
			one := f.cells[c][at]
			one.parts, one.dirs = append(one.parts, p), append(one.dirs, dirs[i])
		}
	}
	for c, all := range f.cells {
		f.cells[c] = slices.DeleteFunc(all, func(o *foldedCell) bool { return !o.complete() })
	}
	return f
}

// complete says that each unit was folded once.
func (c *foldedCell) complete() bool {
	seen := make([]bool, len(c.order))
	n := 0
	for _, p := range c.parts {
		for _, u := range p.Units {
			if u.At < 0 || u.At >= len(seen) || seen[u.At] {
				return false
			}
			seen[u.At] = true
			n++
		}
	}
	return n == len(c.order)
}

// whole says that one process has folded all of the cell: its parts are the lake's.
func (c *foldedCell) whole() bool { return len(c.parts) == 1 }

// results are the results of the units, in their order, before restore fills them.
func (c *foldedCell) results() []*deviceResult {
	out := make([]*deviceResult, len(c.order))
	for i, u := range c.order {
		out[i] = &deviceResult{key: features.Key{Host: c.host, Device: u.Device}, cell: c.cell, unit: i}
	}
	return out
}

// adopt makes the parts of a whole cell those of the lake.
func (c *foldedCell) adopt(keep *keeping, records map[cell]lake.Cell) error {
	p := c.parts[0]
	for _, part := range p.Parts {
		if path := keep.path(part.Path); path != filepath.Join(keep.j.Lake, filepath.FromSlash(part.Path)) {
			return fmt.Errorf("features: %s stands in the lake already", part.Path)
		}
		if err := lake.Adopt(c.dirs[0], keep.j.Lake, part.Path); err != nil {
			return err
		}
		keep.add(part.Path, part)
	}
	record := records[c.cell]
	record.Devices = p.Devices
	records[c.cell] = record
	return nil
}

// restore fills the results of units, and gives their ticks to the lanes.
func (c *foldedCell) restore(results []*deviceResult, lane func(int) *tickLane) (err error) {
	readers := make([]*unitReader, len(c.parts))
	of := make([]int, len(c.order))   // the part that has the unit
	unit := make([]int, len(c.order)) // its number there
	defer func() {
		for _, r := range readers {
			err = errors.Join(err, r.close())
		}
	}()
	for k, p := range c.parts {
		readers[k] = &unitReader{dir: c.dirs[k], part: p}
		for n, u := range p.Units {
			of[u.At], unit[u.At] = k, n
		}
	}
	for i, res := range results {
		l := lane(i)
		if err := readers[of[i]].next(unit[i], res, l.add); err != nil {
			return fmt.Errorf("features: %s on %s, %s: %w", c.host, c.date, res.key.Device, err)
		}
		l.res = res
		if err := l.close(); err != nil {
			return err
		}
	}
	return nil
}

// unitReader reads the units of a foldedPart one after the other.
type unitReader struct {
	dir            string
	part           *foldedPart
	at             int // units that were read
	ticks, windows *lake.Reader
	someTicks      []features.Tick
	someWindows    []features.Window
}

// next reads unit number n, the one after that of the last call.
func (r *unitReader) next(n int, res *deviceResult, add func(*features.Tick)) error {
	if n != r.at {
		return fmt.Errorf("unit %d stands out of order", n)
	}
	r.at++
	u := &r.part.Units[n]
	res.sources = u.Sources
	if u.TickNS > 0 { // it was folded
		res.profile = features.DeviceProfile{Key: res.key, TickNS: u.TickNS, Rows: u.Profile}
	}
	for left := u.Ticks; left > 0; {
		if len(r.someTicks) == 0 {
			cols, err := r.columns(&r.ticks, lake.Ticks)
			if err != nil {
				return err
			}
			if _, r.someTicks, err = features.TicksFromColumns(cols); err != nil {
				return err
			}
		}
		k := min(int(left), len(r.someTicks))
		for i := range k {
			add(&r.someTicks[i])
		}
		r.someTicks, left = r.someTicks[k:], left-int64(k)
	}
	for left := u.Windows; left > 0; {
		if len(r.someWindows) == 0 {
			cols, err := r.columns(&r.windows, lake.Windows)
			if err != nil {
				return err
			}
			if r.someWindows, err = features.WindowsFromColumns(cols); err != nil {
				return err
			}
		}
		k := min(left, len(r.someWindows))
		res.windows = append(res.windows, r.someWindows[:k]...)
		r.someWindows, left = r.someWindows[k:], left-k
	}
	return nil
}

// columns gives the next rows of one of the parts, which is opened at first.
func (r *unitReader) columns(from **lake.Reader, table string) ([]lake.Column, error) {
	if *from == nil {
		for _, p := range r.part.Parts {
			if name, err := lake.ParsePart(p.Path); err == nil && name.Table == table {
				if *from, err = lake.Open(filepath.Join(r.dir, filepath.FromSlash(p.Path)), nil); err != nil {
					return nil, err
				}
			}
		}
	}
	if *from == nil {
		return nil, fmt.Errorf("no part of %s", table)
	}
	cols, _, err := (*from).Next()
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("the part of %s has fewer rows than were made", table)
	}
	return cols, err
}

func (r *unitReader) close() error {
	var err error
	for _, one := range []*lake.Reader{r.ticks, r.windows} {
		if one != nil {
			err = errors.Join(err, one.Close())
		}
	}
	return err
}

// LoadFolds lets Features take what FoldShare has left beside the shares.
func (j *Job) LoadFolds(s *Shares) error {
	var dirs []string
	for i, d := range s.Dirs {
		if from := s.elsewhere[i]; from != nil {
			if err := from.BringBelow(foldsDir); err != nil {
				return err
			}
		}
		dirs = append(dirs, filepath.Join(d, foldsDir))
	}
	return j.LoadFoldDirs(dirs, s.all[0].Sources)
}

// LoadFoldDirs lets Features take what lies in the directories that FoldLake was
// given, as far as it was made of these sources. One that holds nothing is passed over.
func (j *Job) LoadFoldDirs(dirs []string, sources string) error {
	var all []foldShare
	var with []string
	for _, dir := range dirs {
		data, err := os.ReadFile(filepath.Join(dir, foldsFile))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		var one foldShare
		if err == nil {
			err = json.Unmarshal(data, &one)
		}
		if err != nil {
			return fmt.Errorf("folds in %s: %w", dir, err)
		}
		if one.Sources == sources {
			all, with = append(all, one), append(with, dir)
		}
	}
	j.folded = loadFolds(all, with)
	return nil
}
