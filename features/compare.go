package features

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/iopathy/iopathy/ingest"
)

// Alike is the share of the events of the shorter of two lists, sorted by
// time, that stand in the other one, too: the same operation on the same
// bytes by the same task, completed within tolerance. Events that tell
// neither place nor task are like none. It tells two recordings of the same I/O
// (near 1) from the parts of one recording (near 0).
func Alike(a, b []ingest.Event, toleranceNS int64) float64 {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(a) == 0 {
		return 0
	}
	type key struct {
		offset, size int64
		op           ingest.Op
	}
	places := make(map[key][]int, len(b))
	for i := range b {
		e := &b[i]
		k := key{e.OffsetBytes, e.SizeBytes, e.Op}
		places[k] = append(places[k], i)
	}
	used := make([]bool, len(b))
	same := 0
	for i := range a {
		e := &a[i]
		for _, j := range places[key{e.OffsetBytes, e.SizeBytes, e.Op}] {
			o := &b[j]
			if o.TimeNS > e.TimeNS+toleranceNS {
				break
			}
			tasks := e.PID >= 0 && o.PID >= 0
			if used[j] || o.TimeNS < e.TimeNS-toleranceNS || tasks && e.PID != o.PID || !tasks && e.OffsetBytes < 0 {
				continue
			}
			used[j] = true
			same++
			break
		}
	}
	return float64(same) / float64(len(a))
}

// Counters is a device's interval counters as a measure of what others missed.
type Counters struct{ samples []ingest.Sample }

// The least that counters must count to be a measure, and from what excess of
// events on they are thought to count something else.
const (
	leastCounted   = 50
	mostOverCounts = 1.2
	leastSlackNS   = int64(1e9) // stamps of whole seconds
)

// NewCounters takes samples sorted by time; those without counts are of no use.
func NewCounters(samples []ingest.Sample) *Counters {
	c := &Counters{}
	for i := range samples {
		if s := &samples[i]; s.IntervalNS > 0 && counted(s) >= 0 {
			c.samples = append(c.samples, *s)
		}
	}
	return c
}

// counted is the reads and writes of a sample; -1 if they are not known.
func counted(s *ingest.Sample) int64 {
	switch {
	case s.Reads >= 0 && s.Writes >= 0:
		return s.Reads + s.Writes
	case s.TotalIOs >= 0:
		return s.TotalIOs
	}
	return -1
}

// Seen gives, by number of the window, the share of the counted reads and
// writes that a recording holds, where it is not all; nothing where the counters
// are no measure of it. Counters' stamps are coarse and may be late: they are
// first shifted, all by the same, to where they fit the events best. Since they
// shake, too, a window has the best of what a shift by an eighth of an interval
// more or less makes of it.
func (c *Counters) Seen(r *Recording, o Options) map[int64]float64 {
	if !r.Count.tells(o.WindowNS) || !r.Rank.sees() {
		return nil
	}
	in := c.inside(merged(r.Spans, o.TickNS))
	all := int64(0)
	for i := range in {
		all += counted(&in[i])
	}
	if all < leastCounted {
		return nil
	}
	shift, have := r.fit(in)
	if float64(have) > mostOverCounts*float64(all) {
		return nil
	}
	type sum struct{ counted, from, to, interval int64 }
	windows := map[int64]*sum{}
	for i := range in {
		s := &in[i]
		from, to := s.TimeNS-s.IntervalNS+shift, s.TimeNS+shift
		for w := floorDiv(from, o.WindowNS); w <= floorDiv(to-1, o.WindowNS); w++ {
			v := windows[w]
			if v == nil {
				v = &sum{from: from}
				windows[w] = v
			}
			v.counted += counted(s)
			v.to, v.interval = max(v.to, to), max(v.interval, s.IntervalNS)
		}
	}
	out := map[int64]float64{}
	for w, v := range windows {
		if v.counted < fewRequests {
			continue
		}
		most, _ := r.Count.Between(v.from, v.to)
		for _, shake := range []int64{-v.interval / shiftSteps, v.interval / shiftSteps} {
			n, _ := r.Count.Between(v.from+shake, v.to+shake)
			most = max(most, n)
		}
		if share := float64(most) / float64(v.counted); share < 1 {
			out[w] = share
		}
	}
	return out
}

// inside gives the samples that lie within a recording with room to be shifted.
func (c *Counters) inside(ran []Extent) (in []ingest.Sample) {
	for i := range c.samples {
		s := &c.samples[i]
		slack := max(s.IntervalNS, leastSlackNS)
		from, to := s.TimeNS-s.IntervalNS-slack, s.TimeNS+slack
		k, found := slices.BinarySearchFunc(ran, from, func(s Extent, at int64) int { return cmp.Compare(s.FromNS, at) })
		if !found {
			k--
		}
		if k >= 0 && ran[k].FromNS <= from && to <= ran[k].ToNS {
			in = append(in, *s)
		}
	}
	return in
}

// shiftSteps is how many shifts are tried on each side, up to the length of an
// interval, a second at least.
const shiftSteps = 8

// fit gives the shift at which the counts of samples differ least from those of
// a recording, and what that holds of their time then.
func (r *Recording) fit(in []ingest.Sample) (shift, have int64) {
	longest := leastSlackNS
	for i := range in {
		longest = max(longest, in[i].IntervalNS)
	}
	least := int64(math.MaxInt64)
	for step := range int64(2*shiftSteps + 1) {
		try := (step + 1) / 2 // 0, 1, -1, 2, -2, ...
		if step%2 == 0 {
			try = -try
		}
		try = try * longest / shiftSteps
		var differ, sum int64
		for i := range in {
			s := &in[i]
			n, _ := r.Count.Between(s.TimeNS-s.IntervalNS+try, s.TimeNS+try)
			sum += n
			differ += max(n-counted(s), counted(s)-n)
		}
		if differ < least {
			least, shift, have = differ, try, sum
		}
	}
	return shift, have
}

// Knows is how many of the kinds of counters a sample has: counts, bytes, reads
// and writes apart, times, depth, busy time, flushes, merges.
func Knows(s *ingest.Sample) int { return bits.OnesCount8(uint8(rowOf(s).knows)) }

// PickSamples chooses one sample for each time. groups are those of a device,
// the best group first; a group has the samples of its inputs, each sorted by
// time. What overlaps with a better group or with an input before it in its
// group, by more than a quarter of the shorter interval, is left out, and what
// is nearer than its own length to a time of events: stamps are coarse, and it may hold
// the same I/O.
func PickSamples(groups [][][]ingest.Sample, events []Extent) [][]ingest.Sample {
	events = joined(slices.Clone(events))
	var taken []Extent
	out := make([][]ingest.Sample, len(groups))
	for g, inputs := range groups {
		for _, samples := range inputs {
			var spans []Extent
			for i := range samples {
				s := &samples[i]
				span := Extent{s.TimeNS - s.IntervalNS, s.TimeNS}
				if s.IntervalNS <= 0 || overlaps(span, taken) || touches(Extent{span.FromNS - s.IntervalNS, span.ToNS + s.IntervalNS}, events) {
					continue
				}
				out[g] = append(out[g], *s)
				spans = append(spans, span)
			}
			taken = joined(append(taken, spans...))
		}
		slices.SortStableFunc(out[g], func(a, b ingest.Sample) int { return cmp.Compare(a.TimeNS, b.TimeNS) })
	}
	return out
}

// touches says whether a span has a part in common with others, in order and apart.
func touches(s Extent, others []Extent) bool {
	i, _ := slices.BinarySearchFunc(others, s.FromNS+1, func(o Extent, at int64) int { return cmp.Compare(o.ToNS, at) })
	return i < len(others) && others[i].FromNS < s.ToNS
}

// overlaps says whether more than a quarter of a span, or of one of the others
// (in order and apart), is common to both.
func overlaps(s Extent, others []Extent) bool {
	i, _ := slices.BinarySearchFunc(others, s.FromNS, func(o Extent, at int64) int { return cmp.Compare(o.ToNS, at) })
	for ; i < len(others) && others[i].FromNS < s.ToNS; i++ {
		o := others[i]
		both := min(o.ToNS, s.ToNS) - max(o.FromNS, s.FromNS)
		if 4*both > min(o.ToNS-o.FromNS, s.ToNS-s.FromNS) {
			return true
		}
	}
	return false
}

// Against is what two recordings hold of the same time.
type Against struct {
	Requests, Bytes         int64 // of the recording
	UsedRequests, UsedBytes int64 // of the recordings that stand for the device
}

// CrossCheck holds recording i against those that stand for the device where it
// ran and did not stand for it itself.
func (p *Plan) CrossCheck(recs []Recording, i int, o Options) (a Against) {
	ran := merged(recs[i].Spans, o.TickNS)
	at := 0
	for _, s := range p.Stretches {
		for at < len(ran) && ran[at].ToNS <= s.FromNS {
			at++
		}
		for k := at; k < len(ran) && ran[k].FromNS < s.ToNS && s.Recording != i; k++ {
			from, to := max(s.FromNS, ran[k].FromNS), min(s.ToNS, ran[k].ToNS)
			n, b := recs[i].Count.Between(from, to)
			a.Requests, a.Bytes = a.Requests+n, a.Bytes+b
			n, b = recs[s.Recording].Count.Between(from, to)
			a.UsedRequests, a.UsedBytes = a.UsedRequests+n, a.UsedBytes+b
		}
	}
	return a
}

// CrossCheckSamples holds samples against the recordings that stand for the
// device in the whole of their intervals.
func (p *Plan) CrossCheckSamples(recs []Recording, samples []ingest.Sample) (a Against) {
	for i := range samples {
		s := &samples[i]
		from, to := s.TimeNS-s.IntervalNS, s.TimeNS
		n := counted(s)
		r := p.At(from)
		if n < 0 || s.IntervalNS <= 0 || r < 0 || r != p.At(to-1) {
			continue
		}
		a.Requests += n
		a.Bytes += sampleBytes(s)
		n, b := recs[r].Count.Between(from, to)
		a.UsedRequests, a.UsedBytes = a.UsedRequests+n, a.UsedBytes+b
	}
	return a
}

// Counted is the reads and writes of samples, and their bytes, as far as known.
func Counted(samples []ingest.Sample) (requests, bytes int64) {
	for i := range samples {
		s := &samples[i]
		requests += max(counted(s), 0)
		bytes += sampleBytes(s)
	}
	return requests, bytes
}

func sampleBytes(s *ingest.Sample) int64 {
	if s.ReadBytes >= 0 && s.WriteBytes >= 0 {
		return s.ReadBytes + s.WriteBytes
	}
	return max(s.TotalBytes, 0)
}
