package lake

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
)

// An Index knows which row groups of some parts, of one host, hold which
// device. It keeps the row groups that small devices share decoded for a
// while, so that devices in their order are read at the cost of one pass. It is safe for concurrent use.
type Index struct {
	opener Opener
	parts  []indexed

	fromNS, toNS int64 // of the row groups that count

	mu     sync.Mutex
	shared []*sharedGroup // the latest last
	bytes  int

	spare *Memory
}

// Memory is that of the columns of streams that are closed, for others. The
// indexes of several hosts may share one, at the same time too. The zero value is
// ready to use.
type Memory struct{ pool sync.Pool }

// Use makes the streams that come after use a memory.
func (x *Index) Use(m *Memory) { x.spare = m }

// The memory that an Index takes for shared row groups: of each part the one
// in hand and the next, within bounds.
const (
	sharedBytes     = 3 << 20 // a part
	leastShared     = 16 << 20
	mostSharedBytes = 96 << 20
)

func (x *Index) room() int {
	return min(max(leastShared, len(x.parts)*sharedBytes), mostSharedBytes)
}

// keptChunks bounds the footers that an Index keeps, so that the streams of the
// devices need not read them again: some kB a column chunk.
const keptChunks = 8 << 10

type indexed struct {
	path   string
	groups []map[string]span // by group, device; a null device is ""
	footer *footer           // nil: not kept
}

// span is the rows of a device in a row group.
type span struct {
	from, to         int // rows
	whole            bool
	minTime, maxTime int64
	bounds           Group // of a whole group
}

// NewIndex is Opener.Index of the file system.
func NewIndex(parts []string, bounds ...string) (*Index, error) {
	return Opener(nil).Index(parts, bounds...)
}

// Index reads the footers of parts, given as files, and of the row groups
// that devices share the columns device and time_ns. Stream.Pick is given the
// bounds of the columns that are named.
func (o Opener) Index(parts []string, bounds ...string) (*Index, error) {
	x := &Index{opener: o, parts: make([]indexed, len(parts)), spare: new(Memory), fromNS: math.MinInt64, toNS: math.MaxInt64}
	kept := 0
	for i, path := range parts {
		r, err := o.Open(path, []string{"device", "time_ns"})
		if err != nil {
			return nil, err
		}
		groups, err := indexPart(r, bounds)
		if err = errors.Join(err, r.Close()); err != nil {
			return nil, err
		}
		x.parts[i] = indexed{path: path, groups: groups}
		if f, chunks := r.footer(); kept+chunks <= keptChunks {
			x.parts[i].footer = f
			kept += chunks
		}
	}
	return x, nil
}

func indexPart(r *Reader, bounds []string) ([]map[string]span, error) {
	if f := r.Fields(); len(f) == 0 || f[len(f)-1].Name != "time_ns" || f[len(f)-1].Type != Int64 {
		return nil, fmt.Errorf("lake: index %s: no int64 column time_ns", r.path)
	}
	var groups []map[string]span
	for g, group := range r.RowGroups() {
		lo, lok := group.Min["device"].(string)
		hi, hok := group.Max["device"].(string)
		from, fok := group.Min["time_ns"].(int64)
		to, tok := group.Max["time_ns"].(int64)
		if lok && hok && fok && tok && lo == hi && group.Nulls["device"] == 0 {
			groups = append(groups, map[string]span{lo: {0, int(group.Rows), true, from, to, group.only(bounds)}})
			continue
		}
		spans, err := indexGroup(r, g)
		if err != nil {
			return nil, err
		}
		groups = append(groups, spans)
	}
	return groups, nil
}

// only is the group with the bounds of the named columns.
func (g Group) only(names []string) Group {
	out := Group{Rows: g.Rows, Min: make(map[string]any), Max: make(map[string]any), Nulls: make(map[string]int64)}
	for _, n := range names {
		if v, ok := g.Min[n]; ok {
			out.Min[n] = v
		}
		if v, ok := g.Max[n]; ok {
			out.Max[n] = v
		}
		if v, ok := g.Nulls[n]; ok {
			out.Nulls[n] = v
		}
	}
	return out
}

func indexGroup(r *Reader, g int) (map[string]span, error) {
	r.Select([]int{g})
	spans := make(map[string]span)
	at := 0
	for {
		cols, n, err := r.Next()
		if err == io.EOF {
			return spans, nil
		}
		if err != nil {
			return nil, err
		}
		names := make([]string, n)
		if len(cols) == 2 {
			names = cols[0].Data.([]string) // "" under a null
		}
		times := cols[len(cols)-1]
		for i, name := range names[:n] {
			s, seen := spans[name]
			if !seen {
				s = span{from: at + i, to: at + i, minTime: math.MaxInt64, maxTime: math.MinInt64}
			}
			if s.to != at+i {
				return nil, fmt.Errorf("lake: index %s: the rows of device %q don't stand together", r.path, name)
			}
			s.to++
			if times.Valid == nil || times.Valid[i] {
				t := times.Data.([]int64)[i]
				s.minTime, s.maxTime = min(s.minTime, t), max(s.maxTime, t)
			}
			spans[name] = s
		}
		at += n
	}
}

// Between leaves out the row groups without a row in [from, to], of all
// Streams that come after; their ends are within it, though not each row is.
func (x *Index) Between(from, to int64) { x.fromNS, x.toNS = from, to }

// Devices gives the names of all devices in order; "" is among them where rows
// have no device.
func (x *Index) Devices() []string {
	all := make(map[string]bool)
	for _, p := range x.parts {
		for _, g := range p.groups {
			for name, sp := range g {
				if sp.maxTime >= x.fromNS && sp.minTime <= x.toNS || x.fromNS == math.MinInt64 {
					all[name] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// Rows gives the number of rows of a device, of the row groups that count.
func (x *Index) Rows(device string) (n int64) {
	for _, p := range x.parts {
		for _, g := range p.groups {
			if sp, ok := g[device]; ok && sp.maxTime >= x.fromNS && sp.minTime <= x.toNS {
				n += int64(sp.to - sp.from)
			}
		}
	}
	return n
}

// Streams gives, for each part that holds rows of the device, a Stream of
// them, by their first time, then path. No part is open before its Stream's
// first Next: who merges them needs those open whose times overlap.
func (x *Index) Streams(device string, want []string) []*Stream {
	var all []*Stream
	for i := range x.parts {
		p := &x.parts[i]
		s := &Stream{Path: p.path, MinTime: math.MaxInt64, MaxTime: math.MinInt64, index: x, part: i, device: device, want: want}
		for g, spans := range p.groups {
			if sp, ok := spans[device]; ok && sp.maxTime >= x.fromNS && sp.minTime <= x.toNS {
				s.groups = append(s.groups, g)
				s.MinTime, s.MaxTime = min(s.MinTime, max(sp.minTime, x.fromNS)), max(s.MaxTime, min(sp.maxTime, x.toNS))
			}
		}
		if len(s.groups) > 0 {
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b *Stream) int {
		return cmp.Or(cmp.Compare(a.MinTime, b.MinTime), strings.Compare(Alone(a.Path), Alone(b.Path)))
	})
	return all
}

// A Stream gives the rows of one device in one part, in the part's order.
// MinTime and MaxTime are the ends of its time_ns. It is not safe for
// concurrent use; streams of one Index are independent of each other.
type Stream struct {
	Path             string
	MinTime, MaxTime int64

	index  *Index
	part   int
	device string
	want   []string
	groups []int // still to be read
	r      *Reader
	whole  bool // the group in hand is the device's alone
	hand   []Column
	rest   int
	err    error
}

// Next gives the next rows, at most BatchRows, and io.EOF after the last. The
// columns hold until the next call and must not be changed.
func (s *Stream) Next() ([]Column, int, error) {
	if s.err != nil {
		return nil, 0, s.err
	}
	cols, n, err := s.next()
	if err != nil {
		s.err = err
		s.Close()
		return nil, 0, err
	}
	return cols, n, nil
}

func (s *Stream) next() ([]Column, int, error) {
	for {
		if s.rest > 0 {
			n := min(s.rest, BatchRows)
			cols := cut(s.hand, 0, n)
			s.hand, s.rest = cut(s.hand, n, s.rest), s.rest-n
			return cols, n, nil
		}
		if s.whole {
			cols, n, err := s.r.Next()
			if err != io.EOF {
				return cols, n, err
			}
			s.whole = false
		}
		if len(s.groups) == 0 {
			return nil, 0, io.EOF
		}
		g := s.groups[0]
		s.groups = s.groups[1:]
		sp := s.index.parts[s.part].groups[g][s.device]
		if sp.whole {
			if err := s.open(); err != nil {
				return nil, 0, err
			}
			s.r.Select([]int{g})
			s.whole = true
			continue
		}
		cols, err := s.index.group(s, g)
		if err != nil {
			return nil, 0, err
		}
		s.hand, s.rest = cut(cols, sp.from, sp.to), sp.to-sp.from
	}
}

// Pick leaves out the row groups for which keep is not true. It is given those
// that are the device's own with the bounds that the Index was told to keep;
// for one that devices share, it is given the number of the device's rows and
// no maps.
func (s *Stream) Pick(keep func(Group) bool) {
	s.groups = slices.DeleteFunc(s.groups, func(g int) bool {
		sp := s.index.parts[s.part].groups[g][s.device]
		if sp.whole {
			return !keep(sp.bounds)
		}
		return !keep(Group{Rows: int64(sp.to - sp.from)})
	})
}

func (s *Stream) open() (err error) {
	if s.r == nil {
		if s.r, err = s.index.opener.open(s.Path, s.want, s.index.parts[s.part].footer); err == nil {
			s.r.borrow(&s.index.spare.pool)
		}
	}
	return err
}

// Close ends a Stream before its end; at the end it closes itself.
func (s *Stream) Close() error {
	if s.err == nil {
		s.err = errors.New("lake: the stream is closed")
	}
	s.hand, s.rest = nil, 0
	if s.r == nil {
		return nil
	}
	r := s.r
	s.r = nil
	return r.Close()
}

// cut gives the rows from to to of columns.
func cut(cols []Column, from, to int) []Column {
	out := make([]Column, len(cols))
	for i, c := range cols {
		out[i].Name = c.Name
		if c.Valid != nil {
			out[i].Valid = c.Valid[from:to:to]
		}
		switch d := c.Data.(type) {
		case []int64:
			out[i].Data = d[from:to:to]
		case []int32:
			out[i].Data = d[from:to:to]
		case []float64:
			out[i].Data = d[from:to:to]
		case []string:
			out[i].Data = d[from:to:to]
		case []bool:
			out[i].Data = d[from:to:to]
		}
	}
	return out
}

// Devices gives the names of all devices in parts, in order. For more than
// one question of the same parts use an Index.
func Devices(parts []string) ([]string, error) {
	x, err := NewIndex(parts)
	if err != nil {
		return nil, err
	}
	return x.Devices(), nil
}

// Streams gives the streams of one device, as Index.Streams does.
func Streams(parts []string, device string, want []string) ([]*Stream, error) {
	x, err := NewIndex(parts)
	if err != nil {
		return nil, err
	}
	return x.Streams(device, want), nil
}
