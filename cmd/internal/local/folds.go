package local

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
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
	for _, d := range s.Dirs {
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

// FoldShare makes the windows and ticks of the share of a shard of all that the
// shares have read, and leaves them beside what that shard has read. It says how many that are.
func (j *Job) FoldShare(ctx context.Context, s *Shares, shard Shard) (windows, ticks int64, err error) {
	if shard.Of != s.all[0].Of {
		return 0, 0, fmt.Errorf("shard %d/%d of what %d shards have read: the number of shards must be the same", shard.Index, shard.Of, s.all[0].Of)
	}
	one := *j
	at := slices.IndexFunc(s.all, func(sh *Share) bool { return sh.Index == shard.Index })
	one.Lake = filepath.Join(s.Dirs[at], foldsDir)
	if err := os.RemoveAll(one.Lake); err != nil {
		return 0, 0, fmt.Errorf("folds: %w", err)
	}
	first := s.all[0]
	var pieces []*PieceRead
	from := map[string]string{} // parts
	lakes := s.lakes()
	for i, sh := range s.all {
		pieces = append(pieces, sh.Pieces...)
		for _, p := range sh.Pieces {
			for _, part := range p.Parts {
				from[part.Path] = lakes[i]
			}
		}
	}
	if _, err := one.gatherPieces(ctx, pieces, first.Inputs, nil, nil, func(*PieceRead) string { return "" }); err != nil {
		return 0, 0, err
	}
	return one.leaveFolds(ctx, shard, first.Sources, func(path string) error { return lake.Adopt(from[path], one.Lake, path) })
}

// FoldLake makes the windows and ticks of the share of a shard of all that the lake
// holds, and leaves them in dir for LoadFoldDirs; what is there is removed. The lake stays as it is.
func (j *Job) FoldLake(ctx context.Context, sources string, shard Shard, dir string) (windows, ticks int64, err error) {
	one := *j
	one.Lake = dir
	if err := os.RemoveAll(dir); err != nil {
		return 0, 0, fmt.Errorf("folds: %w", err)
	}
	manifests, err := lake.Manifests(j.Lake)
	if err != nil {
		return 0, 0, err
	}
	for _, m := range manifests {
		if err := lake.Adopt(j.Lake, dir, lake.RunPath(m.Run)); err != nil {
			return 0, 0, err
		}
	}
	return one.leaveFolds(ctx, shard, sources, func(path string) error { return lake.Adopt(j.Lake, dir, path) })
}

// leaveFolds folds the share of a shard of the job's lake, which is none but in name,
// and leaves what came of it there.
func (j *Job) leaveFolds(ctx context.Context, shard Shard, sources string, fetch func(path string) error) (windows, ticks int64, err error) {
	cells, err := j.foldSome(ctx, shard, fetch)
	if err != nil {
		return 0, 0, err
	}
	for _, c := range cells {
		for _, u := range c.Units {
			windows, ticks = windows+int64(u.Windows), ticks+u.Ticks
		}
	}
	data, err := json.Marshal(foldShare{Tool, j.Version, sources, shard.Index, shard.Of, cells})
	if err != nil {
		return 0, 0, fmt.Errorf("folds: %w", err)
	}
	for _, table := range []string{lake.Events, lake.Samples, lake.Evidence, "runs", "checkpoints"} { // links, and what counts no more
		if err := os.RemoveAll(filepath.Join(j.Lake, table)); err != nil {
			return 0, 0, fmt.Errorf("folds: %w", err)
		}
	}
	return windows, ticks, lake.WriteFileAtomic(filepath.Join(j.Lake, foldsFile), append(data, '\n'))
}

// foldSome folds the share of a shard of the lake's cells; fetch brings a part that
// it needs into the lake.
func (j *Job) foldSome(ctx context.Context, shard Shard, fetch func(path string) error) ([]*foldedPart, error) {
	p, err := j.foldPlan(nil, false)
	if err != nil {
		return nil, err
	}
	share, err := j.divide(p, shard, fetch)
	if err != nil {
		return nil, err
	}
	p.feeds = share.feeds
	keep := newKeeping(j, p.manifests)
	results, err := j.foldHosts(ctx, p, share.hosts, keep)
	if err != nil {
		return nil, err
	}
	byCell := map[cell][]*deviceResult{}
	for _, r := range results {
		byCell[r.cell] = append(byCell[r.cell], r)
	}
	var all []*foldedPart
	for _, f := range p.feeds {
		some := byCell[f.cell]
		out := &foldedPart{Host: f.host, Date: f.date, Feed: p.records[f.cell].Of, Order: f.units}
		whole := len(some) == len(out.Order)
		for _, r := range some {
			u := foldedUnit{At: r.unit, Ticks: r.ticks, Windows: len(r.bytes), Sources: r.sources}
			if !whole {
				u.TickNS, u.Profile = r.share.TickNS, r.share.Rows
			}
			out.Units = append(out.Units, u)
		}
		if some = joinSlices(some); whole && len(some) > 0 {
			if err := tell(some, p.records); err != nil {
				return nil, err
			}
			out.Devices = p.records[f.cell].Devices
		}
		all = append(all, out)
	}
	for _, part := range keep.parts {
		c, err := cellOf(part)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(all, func(o *foldedPart) bool { return o.Host == c.host && o.Date == c.date })
		all[i].Parts = append(all[i].Parts, part)
	}
	return all, nil
}

// division is the share of a shard of the cells.
type division struct {
	feeds []*feed
	hosts []*hostTask // of feeds
}

// namesOf lists the units of a cell.
func namesOf(tasks []*deviceTask) []unitName {
	out := make([]unitName, len(tasks))
	for i, t := range tasks {
		out[i].Device = t.key.Device
		if t.slice != nil {
			out[i].Slice = t.slice.number
		}
	}
	return out
}

// divide gives each shard about the same number of rows: the cells, and of those
// that would be too much for one shard the devices, and the slices of a device. Every shard
// divides alike.
func (j *Job) divide(p *foldPlan, shard Shard, fetch func(path string) error) (*division, error) {
	type item struct {
		weight     int64
		feed, unit int // unit -1: all
	}
	weights := make([]int64, len(p.feeds))
	total := int64(0)
	for i, f := range p.feeds {
		for _, part := range slices.Concat(f.events, f.samples, f.evidence) {
			weights[i] += part.Rows
		}
		total += weights[i]
	}
	var items []item
	var large []*feed
	for i, f := range p.feeds {
		if shard.Of > 1 && weights[i] > total/int64(2*shard.Of) {
			large = append(large, f)
		} else {
			items = append(items, item{weights[i], i, -1})
		}
	}
	hosts := map[cell]*hostTask{}
	open := func(feeds []*feed) error {
		if err := j.fetchFor(p, feeds, fetch); err != nil {
			return err
		}
		all, err := j.hosts(p.manifests, p.stock, feeds)
		for i, h := range all {
			hosts[feeds[i].cell] = h
		}
		return err
	}
	if err := open(large); err != nil {
		return nil, err
	}
	for i, f := range p.feeds {
		h := hosts[f.cell]
		if h == nil {
			continue
		}
		tasks, _, err := h.tasks(j.Config.Features)
		if err != nil {
			return nil, err
		}
		slicesOf := map[string]int64{}
		for _, t := range tasks {
			slicesOf[t.key.Device]++
		}
		for k, t := range tasks {
			it := item{1, i, k}
			if t.events != nil {
				it.weight += t.events.Rows(t.key.Device) / slicesOf[t.key.Device]
			}
			if t.samples != nil {
				it.weight += t.samples.Rows(t.key.Device)
			}
			items = append(items, it)
		}
	}
	// The largest first, each to the shard that has least.
	slices.SortStableFunc(items, func(a, b item) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.feed, b.feed), cmp.Compare(a.unit, b.unit))
	})
	loads := make([]int64, shard.Of)
	own := map[int]map[int]bool{}
	for _, it := range items {
		to := 0
		for k := range loads {
			if loads[k] < loads[to] {
				to = k
			}
		}
		loads[to] += it.weight + 1
		if to == shard.Index {
			if own[it.feed] == nil {
				own[it.feed] = map[int]bool{}
			}
			own[it.feed][it.unit] = true
		}
	}
	d := &division{}
	var small []*feed
	for _, i := range slices.Sorted(maps.Keys(own)) {
		f := p.feeds[i]
		d.feeds = append(d.feeds, f)
		if hosts[f.cell] == nil {
			small = append(small, f)
		} else {
			hosts[f.cell].own = func(unit int) bool { return own[i][unit] }
		}
	}
	if err := open(small); err != nil {
		return nil, err
	}
	for _, f := range d.feeds {
		d.hosts = append(d.hosts, hosts[f.cell])
	}
	return d, nil
}

// fetchFor brings the parts that feeds are folded of: all of the inputs in play,
// since what an input lost is told of the input.
func (j *Job) fetchFor(p *foldPlan, feeds []*feed, fetch func(path string) error) error {
	inPlay := map[string]bool{}
	for _, f := range feeds {
		maps.Copy(inPlay, f.inputs)
	}
	for _, table := range []string{lake.Events, lake.Samples, lake.Evidence} {
		for _, part := range lake.Parts(p.manifests, table) {
			if inPlay[inputOf(part.Path)] {
				if err := fetch(part.Path); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
