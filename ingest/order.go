package ingest

import (
	"cmp"
	"math/bits"
	"slices"
	"sync"
)

// Ordered is events of a batch, all of one host and one UTC date, in the total
// order: device, completion, start, offset, size, op, position. Each device's
// are sorted when they are first asked for. It is safe for concurrent use.
type Ordered struct {
	batch *Batch
	from  int // in the batch's order
	runs  []run
	all   []timed
	seen  seen
}

// run is the events of one device.
type run struct {
	from, to int // in Ordered.all
	sorted   *sync.Once
}

// timed is an event's completion and its row: what is compared stands
// together, since a look at an event fetches all of it.
type timed struct {
	ns  int64
	row int32
}

// Len is the number of events.
func (o *Ordered) Len() int { return len(o.all) }

// Runs gives the number of events of each device, in the order of their names.
func (o *Ordered) Runs() []int {
	rows := make([]int, len(o.runs))
	for i, r := range o.runs {
		rows[i] = r.to - r.from
	}
	return rows
}

// Rows puts the rows in Batch.Events of the events from one place to another
// into dst, whose memory is used again.
func (o *Ordered) Rows(from, to int, dst []int32) []int32 {
	i, _ := slices.BinarySearchFunc(o.runs, from, func(r run, at int) int { return cmp.Compare(r.to, at+1) })
	for ; i < len(o.runs) && o.runs[i].from < to; i++ {
		r := &o.runs[i]
		r.sorted.Do(func() { o.batch.sortTimed(o.all[r.from:r.to]) })
	}
	dst = slices.Grow(dst[:0], to-from)
	for _, t := range o.all[from:to] {
		dst = append(dst, t.row)
	}
	return dst
}

// Presence says, by the index of EventColumnNames, which columns hold anything
// in any of the events. One that holds nothing in a whole part is absent from it.
func (o *Ordered) Presence() []bool { return o.seen.columns() }

// orderedHost is the events of a host and a day.
type orderedHost struct {
	host Name
	day  int32
	Ordered
}

// site is where events belong, how many they are, and what they have.
type site struct {
	host, device Name
	day          int32
	events       int32
	seen         seen
	next         int // where the next of them goes
}

// sites finds a site by what it is: open addressing with linear probing.
type sites struct {
	list  []site
	slots []int32 // an index of list plus 1; 0 is free
	shift uint    // 64 less the bits of len(slots)
}

func (s *sites) slot(host, device Name, day int32) uint64 {
	const spread = 0x9e3779b97f4a7c15 // by the golden ratio, as in Knuth, volume 3, section 6.4
	return ((uint64(host)<<32|uint64(device))*spread ^ uint64(uint32(day))) * spread >> (s.shift & 63)
}

// find gives the index of a site, which it makes if it is new.
func (s *sites) find(host, device Name, day int32) int32 {
	if 2*len(s.list) >= len(s.slots) {
		s.grow()
	}
	at := s.slot(host, device, day)
	for {
		k := s.slots[at]
		if k == 0 {
			s.list = append(s.list, site{host: host, device: device, day: day})
			s.slots[at] = int32(len(s.list))
			return int32(len(s.list) - 1)
		}
		if l := &s.list[k-1]; l.device == device && l.host == host && l.day == day {
			return k - 1
		}
		at = (at + 1) & uint64(len(s.slots)-1)
	}
}

func (s *sites) grow() {
	n := max(256, 4*len(s.slots))
	s.slots, s.shift = make([]int32, n), uint(64-bits.TrailingZeros(uint(n)))
	for i := range s.list {
		l := &s.list[i]
		at := s.slot(l.host, l.device, l.day)
		for s.slots[at] != 0 {
			at = (at + 1) & uint64(n-1)
		}
		s.slots[at] = int32(i + 1)
	}
}

// sorting is the memory of order, kept from chunk to chunk.
type sorting struct {
	at  []int32 // by event, its site among those of its span
	all []timed
}

// leastSpan is the fewest events that are worth a goroutine.
const leastSpan = 32 << 10

// order cuts the events by host, day and device: it counts how many belong to
// each, and puts them there in the order in which they came. Spans of the events are
// looked at at once: where each puts its own follows from the counts.
func (b *Batch) order(rank []int32, workers int) []orderedHost {
	n := len(b.Events)
	if n == 0 {
		return nil
	}
	s := &b.sorting
	s.at, s.all = slices.Grow(s.at[:0], n)[:n], slices.Grow(s.all[:0], n)[:n]
	spans := max(1, min(workers, n/leastSpan))
	found := make([]sites, spans)
	beside(spans, func(k int) {
		from, to := k*n/spans, (k+1)*n/spans
		found[k].count(b.Events[from:to], s.at[from:to])
	})
	// All sites, by rank; those of one rank belong together.
	var all []*site
	for k := range found {
		for i := range found[k].list {
			all = append(all, &found[k].list[i])
		}
	}
	compare := func(x, y *site) int {
		return cmp.Or(cmp.Compare(rank[x.host], rank[y.host]), cmp.Compare(x.day, y.day), cmp.Compare(rank[x.device], rank[y.device]))
	}
	slices.SortStableFunc(all, compare) // those of an earlier span first
	var hosts []orderedHost
	next := 0
	for i, l := range all {
		l.next = next
		next += int(l.events)
		if i == 0 || compare(l, all[i-1]) != 0 {
			if i == 0 || l.day != all[i-1].day || rank[l.host] != rank[all[i-1].host] {
				hosts = append(hosts, orderedHost{host: l.host, day: l.day, Ordered: Ordered{batch: b, from: l.next}})
			}
			h := &hosts[len(hosts)-1]
			h.runs = append(h.runs, run{from: l.next - h.from, sorted: new(sync.Once)})
		}
		h := &hosts[len(hosts)-1]
		h.seen |= l.seen
		h.runs[len(h.runs)-1].to = next - h.from
		h.all = s.all[h.from:next]
	}
	beside(spans, func(k int) {
		from, to := k*n/spans, (k+1)*n/spans
		list := found[k].list
		for i, at := range s.at[from:to] {
			l := &list[at]
			s.all[l.next] = timed{b.Events[from+i].TimeNS, int32(from + i)}
			l.next++
		}
	})
	return hosts
}

// count finds the site of each event.
func (s *sites) count(events []Event, at []int32) {
	last := site{day: -1 << 31}
	lastAt := int32(0)
	for i := range events {
		e := &events[i]
		if d := day(e.TimeNS); d != last.day || e.Device != last.device || e.Host != last.host {
			last = site{host: e.Host, device: e.Device, day: d}
			lastAt = s.find(e.Host, e.Device, d)
		}
		l := &s.list[lastAt]
		l.events++
		l.seen |= seenIn(e)
		at[i] = lastAt
	}
}

// beside calls do with 0 to n-1, each in a goroutine of its own.
func beside(n int, do func(k int)) {
	if n == 1 {
		do(0)
		return
	}
	var group sync.WaitGroup
	for k := range n {
		group.Go(func() { do(k) })
	}
	group.Wait()
}

// sortTimed sorts the events of one device. Logs are nearly in order: each is
// moved to its place, unless that takes too many steps.
func (b *Batch) sortTimed(run []timed) {
	after := func(x, y timed) bool {
		if x.ns != y.ns {
			return x.ns > y.ns
		}
		return b.compareEvents(x.row, y.row) > 0
	}
	steps := 4 * len(run)
	for i := 1; i < len(run); i++ {
		x, k := run[i], i
		for k > 0 && after(run[k-1], x) {
			run[k] = run[k-1]
			k--
		}
		run[k] = x
		if steps -= i - k; steps < 0 {
			slices.SortFunc(run, func(x, y timed) int {
				if x.ns != y.ns {
					return cmp.Compare(x.ns, y.ns)
				}
				return b.compareEvents(x.row, y.row)
			})
			return
		}
	}
}

// compareEvents orders two events of one device.
func (b *Batch) compareEvents(i, j int32) int {
	x, y := &b.Events[i], &b.Events[j]
	if x.TimeNS != y.TimeNS {
		return cmp.Compare(x.TimeNS, y.TimeNS)
	}
	return cmp.Or(
		cmp.Compare(x.StartNS(), y.StartNS()), cmp.Compare(x.OffsetBytes, y.OffsetBytes),
		cmp.Compare(x.SizeBytes, y.SizeBytes), cmp.Compare(x.Op, y.Op), cmp.Compare(x.Position, y.Position),
		cmp.Compare(i, j))
}

// seen has a bit for each of EventColumnNames that holds anything.
type seen uint32

// seenAlways are the columns of which each event has a value: time_ns, op,
// size_bytes, latency_kind, error, input, source_offset.
const seenAlways = seen(1<<0 | 1<<5 | 1<<8 | 1<<11 | 1<<13 | 1<<16 | 1<<17)

// seenIn tells what an event has, without a branch.
func seenIn(e *Event) seen {
	named := func(n Name, column int) seen { return seen((n|-n)>>31) << column }
	known := func(v int64, column int) seen {
		beyond := uint64(v - Missing) // not 0 if known
		return seen((beyond|-beyond)>>63) << column
	}
	return named(e.Host, 1) | named(e.Device, 2) | known(int64(e.PID), 3) | named(e.Comm, 4) | named(Name(e.Flags), 6) |
		known(e.OffsetBytes, 7) | known(e.QueueNS, 9) | known(e.LatencyNS, 10) | known(int64(e.Depth), 12) |
		named(e.File, 14) | named(e.Cgroup, 15) | known(e.GetNS, 18) | known(e.InsertNS, 19)
}

func (s seen) columns() []bool {
	has := make([]bool, len(EventColumnNames))
	for i := range has {
		has[i] = (s|seenAlways)>>i&1 != 0
	}
	return has
}
