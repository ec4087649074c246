package align

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/iopathy/iopathy/ingest"
)

// Result is how the clocks of two sources differ: a time t of b is, by the clock
// of a,
//
//	t + OffsetNS + DriftPPB x (t - AtNS) / 10^9
//
// to within ErrorNS, of which half of what the stamps of both resolve is a part.
type Result struct {
	A, B         string       `json:"-"`
	KindA        string       `json:"kind_a"`
	KindB        string       `json:"kind_b"`
	SeenA        int64        `json:"ios_a"` // I/Os that each has seen
	SeenB        int64        `json:"ios_b"`
	Sampled      bool         `json:"sampled"`   // not all of them were held against one another
	Beginning    bool         `json:"beginning"` // only the first of them were
	Matched      int          `json:"matched"`   // seen by both
	OffsetNS     int64        `json:"offset_ns"`
	ErrorNS      int64        `json:"error_ns"`
	SDNS         float64      `json:"sd_ns"` // standard deviation of the differences about them
	DriftPPB     int64        `json:"drift_ppb"`
	DriftError   float64      `json:"drift_error_ppb"` // two standard errors
	AtNS         int64        `json:"at_ns"`
	FromNS       int64        `json:"from_ns"` // first and last time of b among those matched
	ToNS         int64        `json:"to_ns"`
	ResolutionA  int64        `json:"resolution_a_ns"`
	ResolutionB  int64        `json:"resolution_b_ns"`
	ShiftsBytes  []int64      `json:"shifts_bytes"` // of b's offsets from a's, where they count from elsewhere
	ByTimesAlone bool         `json:"by_times_alone"`
	Devices      []DevicePair `json:"devices"`
	Hops         []Hop        `json:"hops"`
	Share        float64      `json:"-"` // of the I/Os of the sparser one, of the time of those matched, that matched
	pairs        []pair
	layers       [2]int
}

// DevicePair is a device as both call it, and how many I/Os of it matched.
type DevicePair struct {
	A   string `json:"a"`
	B   string `json:"b"`
	IOs int    `json:"ios"`
}

// Estimate finds how the clocks of two sources differ. The error says why that
// can't be told: ErrFew or ErrAmbiguous, with figures.
func Estimate(sa, sb *Source) (*Result, error) {
	limit := min(sa.limit, sb.limit)
	a, b := sa.settle(limit), sb.settle(limit)
	r := &Result{
		A: sa.Name, B: sb.Name, KindA: sa.Kind.String(), KindB: sb.Kind.String(), SeenA: sa.Seen, SeenB: sb.Seen,
		Sampled: sa.sampled() || sb.sampled(), ShiftsBytes: []int64{}, Hops: []Hop{},
	}
	found, l, err := r.find(sa, sb, a, b)
	if err != nil && r.Sampled {
		// What tells the I/Os apart is not what they are sampled by: the beginnings.
		a, b = sorted(slices.Clone(sa.head)), sorted(slices.Clone(sb.head))
		r.Sampled, r.Beginning = false, true
		found, l, err = r.find(sa, sb, a, b)
	}
	if err != nil {
		return nil, err
	}
	r.Matched, r.pairs = len(found), found
	r.settle(sa, sb, a, b, &l)
	r.share(a, b)
	return r, nil
}

// share tells how many of the I/Os that could match did.
func (r *Result) share(a, b []IO) {
	within := func(ios []IO, from, to int64) int {
		n := 0
		for i := range ios {
			if t := ios[i].stamp(); t >= from && t <= to {
				n++
			}
		}
		return n
	}
	first, last := r.pairs[0], r.pairs[len(r.pairs)-1]
	n := within(b, b[first.b].stamp(), b[last.b].stamp())
	ta, tb := a[first.a].stamp(), a[last.a].stamp()
	r.Share = float64(r.Matched) / float64(max(1, min(n, within(a, min(ta, tb), max(ta, tb)))))
}

// OneLayer says whether both sources stand at the block layer.
func (r *Result) OneLayer() bool { return r.layers == [2]int{2, 2} }

// find pairs the I/Os that both have seen: by their offsets; where these count from
// elsewhere, by offsets moved; else by when they were alone.
func (r *Result) find(sa, sb *Source, a, b []IO) ([]pair, line, error) {
	if len(a) < MinMatches || len(b) < MinMatches {
		return nil, line{}, fmt.Errorf("%w: %d and %d in all", ErrFew, len(a), len(b))
	}
	r.ResolutionA, r.ResolutionB = resolution(a), resolution(b)
	tell := tells(sa, sb, a, b)
	step := r.ResolutionA + r.ResolutionB
	span := min(a[len(a)-1].stamp()-a[0].stamp(), b[len(b)-1].stamp()-b[0].stamp())
	var err error
	if tell.offset {
		w := max(2e6, 2*step, span/10_000)
		var found []pair
		var l line
		all := groups(a, b, tell.key(sa, 0), tell.key(sb, 0))
		if found, l, err = r.pair(sa, sb, a, b, all, w, nil); err == nil {
			return found, l, nil
		}
		if !r.Sampled {
			r.ShiftsBytes = append(r.ShiftsBytes, shifts(a, b)...)
			all = all[:0]
			for _, s := range r.ShiftsBytes {
				all = append(all, groups(a, b, tell.key(sa, 0), tell.key(sb, s))...)
			}
			if found, l, again := r.pair(sa, sb, a, b, all, w, nil); again == nil {
				return found, l, nil
			}
			r.ShiftsBytes = []int64{}
		}
	}
	if r.Sampled {
		return nil, line{}, cmp.Or(err, ErrFew)
	}
	r.ByTimesAlone, tell.offset = true, false
	found, l, again := r.byTimes(sa, sb, a, b, &tell, step)
	if again != nil && err != nil {
		return nil, l, fmt.Errorf("%w; by their times alone: %w", err, again)
	}
	return found, l, again
}

// timesNS is how much of a source is looked at by times alone: so little that no
// drift blurs it.
const timesNS = 30e9

// byTimes pairs I/Os by when they were, in the middle of a: size, operation, process
// and device count as far as both tell, and latencies must be alike where they are
// of one layer. Many must match, at many moments: a burst looks like any other.
func (r *Result) byTimes(sa, sb *Source, a, b []IO, tell *told, step int64) ([]pair, line, error) {
	from := a[len(a)/2].stamp() - timesNS/2
	all := groups(a, b, tell.key(sa, 0), tell.key(sb, 0))
	for i := range all {
		g := &all[i]
		g.a = slices.DeleteFunc(g.a, func(i int32) bool { return a[i].stamp() < from || a[i].stamp() > from+timesNS })
	}
	var alike func(x, y *IO) bool
	if layer(sa.Kind) == layer(sb.Kind) {
		alike = func(x, y *IO) bool {
			if x.Done == None || y.Done == None {
				return true
			}
			begin := arrive
			if x.Issue != None && y.Issue != None {
				begin = issue
			} else if x.Arrive == None || y.Arrive == None {
				return true
			}
			dx, dy := x.Done-begin(x), y.Done-begin(y)
			return max(dx-dy, dy-dx) <= 2*step+max(dx, dy)/4+100_000
		}
	}
	found, l, err := r.pair(sa, sb, a, b, all, step+200_000, alike)
	if err != nil {
		return nil, l, err
	}
	moments, last := 0, int64(None)
	for _, p := range found {
		if t := b[p.b].stamp(); t-100e6 > last {
			moments, last = moments+1, t
		}
	}
	if least := min(len(a), len(b)) * 3 / 10; len(found) < least || moments < MinMatches {
		return nil, l, fmt.Errorf("%w: %d match, at %d moments", ErrFew, len(found), moments)
	}
	return found, l, nil
}

// pair finds the difference of the clocks to within w, then the pairs.
func (r *Result) pair(sa, sb *Source, a, b []IO, all []pairs, w int64, alike func(x, y *IO) bool) ([]pair, line, error) {
	delta, err := coarse(a, b, all, w, alike)
	if err != nil {
		return nil, line{}, err
	}
	found, l := matched(a, b, all, delta, float64(w), float64(max(20_000, 2*(r.ResolutionA+r.ResolutionB))))
	r.Devices = []DevicePair{}
	if found = r.pairDevices(sa, sb, a, b, found); len(found) < MinMatches {
		return nil, l, fmt.Errorf("%w: %d match, %d are needed", ErrFew, len(found), MinMatches)
	}
	return found, l, nil
}

// told is what both sources tell of an I/O.
type told struct {
	offset, size, op, pid bool
	devices               map[string]uint32 // names that both have
}

func tells(sa, sb *Source, a, b []IO) told {
	most := func(is func(*IO) bool) bool {
		for _, ios := range [][]IO{a, b} {
			n := 0
			for i := range ios {
				if is(&ios[i]) {
					n++
				}
			}
			if 2*n < len(ios) {
				return false
			}
		}
		return true
	}
	t := told{
		offset:  most(func(o *IO) bool { return o.Offset != None }),
		size:    most(func(o *IO) bool { return o.Size != None }),
		op:      most(func(o *IO) bool { return o.Op != ingest.OpOther }),
		devices: make(map[string]uint32),
	}
	t.pid = !t.offset && most(func(o *IO) bool { return o.PID > 0 })
	for _, name := range sa.Devices {
		if _, both := sb.number[name]; both {
			t.devices[name] = uint32(len(t.devices) + 1)
		}
	}
	return t
}

// key gives the keys of a source's I/Os, its offsets moved back by shift.
func (t *told) key(s *Source, shift int64) func(*IO) key {
	number := make([]uint32, len(s.Devices))
	for i, name := range s.Devices {
		number[i] = t.devices[name]
	}
	return func(o *IO) key {
		k := key{device: number[o.Device]}
		if t.offset && o.Offset != None {
			k.offset = o.Offset - shift
		}
		if t.size {
			k.size = o.Size
		}
		if t.op {
			k.op = uint8(o.Op)
		}
		if t.pid {
			k.pid = o.PID
		}
		return k
	}
}

// pairDevices counts which device is which, and drops pairs of devices that match
// others better from both ends.
func (r *Result) pairDevices(sa, sb *Source, a, b []IO, found []pair) []pair {
	type two struct{ a, b uint32 }
	count := make(map[two]int)
	for _, p := range found {
		count[two{a[p.a].Device, b[p.b].Device}]++
	}
	bestA, bestB := make([]int, len(sa.Devices)), make([]int, len(sb.Devices))
	for d, n := range count {
		bestA[d.a], bestB[d.b] = max(bestA[d.a], n), max(bestB[d.b], n)
	}
	kept := found[:0]
	for _, p := range found {
		d := two{a[p.a].Device, b[p.b].Device}
		if n := count[d]; n == bestA[d.a] || n == bestB[d.b] {
			kept = append(kept, p)
		} else {
			delete(count, d)
		}
	}
	for d, n := range count {
		r.Devices = append(r.Devices, DevicePair{sa.Devices[d.a], sb.Devices[d.b], n})
	}
	sortDevices(r.Devices)
	return kept
}
