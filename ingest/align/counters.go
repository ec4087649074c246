package align

import (
	"cmp"
	"math"
	"slices"

	"github.com/iopathy/iopathy/ingest"
)

// Moment is a read or write as counters see it: when it was completed, and its bytes.
type Moment struct {
	TimeNS, Bytes int64
	Write         bool
}

// MaxMoments is how many I/Os of a log are held against counters: its first.
const MaxMoments = 1 << 18

// Fit is how the clock of a log of single I/Os differs from that of counters: OffsetNS
// is added to times of the log, to within ErrorNS.
type Fit struct {
	OffsetNS, ErrorNS int64
	Share             float64 // of the counted I/O that the log has in the same intervals
	Intervals         int     // that were compared
}

// What it takes to take counters and a log for two views of one I/O.
const (
	fitIOs       = 50   // in the intervals that are compared
	fitIntervals = 8    // of which some I/O is counted
	fitShare     = 0.9  // of I/Os and bytes in the same intervals, at least
	fitMargin    = 4.0  // times as much must differ where the log is put elsewhere
	fitMost      = 240  // intervals that are compared
	fitWork      = 40e6 // comparisons of an interval
	fitCoarse    = 4    // places tried to an interval, at first
	fitFine      = 64   // and at last
)

// Counters finds where in the course of counters of one device the I/Os of a log lie,
// by how many and how many bytes each interval counts; both must be by time. Counters are stamped when
// they are read, or in whole seconds, so the outcome is as coarse; what it is for is that
// the log and the counters lie in the same windows. An even course fits in many places: the
// error is ErrAmbiguous then, ErrFew where too little is common to both.
func Counters(ios []Moment, samples []ingest.Sample) (Fit, error) {
	c := newCourse(ios, samples)
	if c == nil {
		return Fit{}, ErrFew
	}
	first, last := c.ios[0].TimeNS, c.ios[len(c.ios)-1].TimeNS
	from, to := c.samples[0].TimeNS-c.interval-last, c.samples[len(c.samples)-1].TimeNS-first
	step := max(c.interval/fitCoarse, 1)
	if float64((to-from)/step)*float64(min(fitMost, len(c.samples))) > fitWork {
		return Fit{}, ErrFew // too long to be looked through
	}
	best, at := place{differ: 2}, int64(0)
	others := 2.0 // the least of those that are another place
	var all []place
	for s := from; s <= to; s += step {
		p := c.place(s)
		p.shift = s
		if p.differ <= 1 {
			all = append(all, p)
		}
		if p.differ < best.differ {
			best, at = p, s
		}
	}
	if best.differ > 1-fitShare+0.15 { // what a quarter of an interval costs
		return Fit{}, ErrFew
	}
	for _, p := range all {
		if max(p.shift-at, at-p.shift) > c.interval+c.interval/2 {
			others = min(others, p.differ)
		}
	}
	// The best places are a stretch: its middle.
	fine := max(c.interval/fitFine, 1)
	least, low, high := 2.0, int64(0), int64(0)
	for s := at - c.interval; s <= at+c.interval; s += fine {
		switch p := c.place(s); {
		case p.differ < least-1e-12:
			best, least, low, high = p, p.differ, s, s
		case p.differ <= least+1e-12:
			high = s
		}
	}
	if 1-least < fitShare {
		return Fit{}, ErrFew
	}
	if others < fitMargin*least+0.05 {
		return Fit{}, ErrAmbiguous
	}
	return Fit{
		OffsetNS: low + (high-low)/2, ErrorNS: (high-low)/2 + c.interval/2 + c.stamps,
		Share: 1 - least, Intervals: best.intervals,
	}, nil
}

// course is what is compared.
type course struct {
	ios      []Moment
	sums     []tally // of the I/Os before each
	samples  []ingest.Sample
	interval int64 // median
	stamps   int64 // what stamps of the samples resolve
}

func newCourse(ios []Moment, samples []ingest.Sample) *course {
	c := &course{ios: ios[:min(len(ios), MaxMoments)]}
	var lengths []int64
	seconds := true
	for i := range samples {
		s := &samples[i]
		if n, bytes := counted(s, &tally{}); n < 0 && bytes < 0 || s.IntervalNS <= 0 || s.TimeNS > math.MaxInt64/4 || s.TimeNS < -math.MaxInt64/4 {
			continue
		}
		c.samples = append(c.samples, *s)
		lengths = append(lengths, s.IntervalNS)
		seconds = seconds && s.TimeNS%1e9 == 0
	}
	if len(c.ios) < fitIOs || len(c.samples) < fitIntervals {
		return nil
	}
	slices.Sort(lengths)
	c.interval = lengths[len(lengths)/2]
	if seconds {
		c.stamps = 1e9
	}
	if most := fitMost * c.interval; c.ios[len(c.ios)-1].TimeNS-c.ios[0].TimeNS > most {
		c.ios = c.ios[:c.before(c.ios[0].TimeNS+most)]
	}
	c.sums = make([]tally, len(c.ios)+1)
	for i, m := range c.ios {
		t := c.sums[i]
		if m.Write {
			t.writes, t.writeBytes = t.writes+1, t.writeBytes+max(m.Bytes, 0)
		} else {
			t.reads, t.readBytes = t.reads+1, t.readBytes+max(m.Bytes, 0)
		}
		c.sums[i+1] = t
	}
	if len(c.ios) < fitIOs {
		return nil
	}
	return c
}

// tally is I/Os and their bytes.
type tally struct{ reads, writes, readBytes, writeBytes int64 }

// counted are the I/Os and bytes of a sample, -1 where it has none; of x is left what
// the sample counts of it.
func counted(s *ingest.Sample, x *tally) (n, bytes int64) {
	n, bytes = -1, -1
	add := func(to *int64, v int64, of *int64) {
		if v < 0 {
			*of = 0
			return
		}
		*to = max(*to, 0) + v
	}
	if s.Reads < 0 && s.Writes < 0 && s.TotalIOs >= 0 {
		n = s.TotalIOs
	} else {
		add(&n, s.Reads, &x.reads)
		add(&n, s.Writes, &x.writes)
	}
	if s.ReadBytes < 0 && s.WriteBytes < 0 && s.TotalBytes >= 0 {
		bytes = s.TotalBytes
	} else {
		add(&bytes, s.ReadBytes, &x.readBytes)
		add(&bytes, s.WriteBytes, &x.writeBytes)
	}
	return n, bytes
}

// before is how many I/Os were completed before a time.
func (c *course) before(ns int64) int {
	n, _ := slices.BinarySearchFunc(c.ios, ns, func(m Moment, ns int64) int { return cmp.Compare(m.TimeNS, ns) })
	return n
}

type place struct {
	differ    float64 // share of I/Os and bytes that are not in the same intervals; 2: too little to compare
	shift     int64
	intervals int
}

// place compares log and counters where the log is moved by shift: in the intervals that
// lie within it, but for the first and the last that it touches.
func (c *course) place(shift int64) place {
	first, last := c.ios[0].TimeNS+shift, c.ios[len(c.ios)-1].TimeNS+shift
	k, _ := slices.BinarySearchFunc(c.samples, first, func(s ingest.Sample, ns int64) int { return cmp.Compare(s.TimeNS-s.IntervalNS, ns) })
	p := place{differ: 2}
	var ios, had, differ, bytes, hadBytes, differBytes, within int64
	for ; k < len(c.samples) && c.samples[k].TimeNS <= last; k++ {
		s := &c.samples[k]
		i, j := c.before(s.TimeNS-s.IntervalNS-shift), c.before(s.TimeNS-shift)
		from, to := &c.sums[i], &c.sums[j]
		x := tally{to.reads - from.reads, to.writes - from.writes, to.readBytes - from.readBytes, to.writeBytes - from.writeBytes}
		n, b := counted(s, &x)
		within += int64(j - i)
		if n >= 0 {
			ios, had, differ = ios+n, had+x.reads+x.writes, differ+abs(n-x.reads-x.writes)
		}
		if b >= 0 {
			bytes, hadBytes, differBytes = bytes+b, hadBytes+x.readBytes+x.writeBytes, differBytes+abs(b-x.readBytes-x.writeBytes)
		}
		if n > 0 || b > 0 {
			p.intervals++
		}
	}
	if p.intervals < fitIntervals || within < fitIOs || 2*within < int64(len(c.ios)) {
		return p
	}
	parts := 0.0
	p.differ = 0
	for _, v := range [][2]int64{{differ, ios + had}, {differBytes, bytes + hadBytes}} {
		if v[1] > 0 {
			p.differ += float64(v[0]) / float64(v[1])
			parts++
		}
	}
	p.differ /= max(parts, 1)
	return p
}

func abs(n int64) int64 { return max(n, -n) }
