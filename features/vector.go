package features

import (
	"math"

	"github.com/iopathy/iopathy/ingest"
)

// The constants of the features; DESIGN's table gives them.
const (
	plateauCV       = 0.15  // variation of bytes at which a plateau is worth 1/e
	plateauUnknown  = 2.0   // variation when too few ticks are busy to tell
	plateauTicks    = 3     // busy ticks, more than which tell it
	plateauSize     = 4.4   // log10 of the mean request from which on a plateau counts
	smallestSize    = 512   // added to the mean request, bytes
	firstLag        = 3     // of the autocorrelation of arrivals
	deepBurst       = 2     // log10 of the peak depth that counts full
	shortestStall   = 100e6 // ns
	stallMedians    = 8     // of latency
	stallMedianGaps = 30
)

// calculator turns the ticks and sums of a window into its vector and
// context. It is scratch, and the arrivals of the windows before.
type calculator struct {
	o        *Options
	all      tally // latency of all requests
	reads    tally // of reads
	writes   tally
	gaps     tally // those of the line
	arrived  tally // times between arrivals
	bytes    []float64
	written  []float64
	arrivals []float64
	depth    []float64
	x, y     []float64
	starts   []int64   // of bursts
	apart    []int64   // from burst to burst
	latency  []float64 // mean of each tick, where it has one
	auto     autocorrelator
	history  []float64 // arrivals of the last windows, periodBins each
	lean     bool      // the contexts are not wanted
}

func newCalculator(o *Options) calculator { return calculator{o: o} }

// series fills the scratch with the course of the window.
func (c *calculator) series(rows []Tick) {
	n := len(rows)
	bytes, written := room(&c.bytes, n), room(&c.written, n)
	arrivals, depth := room(&c.arrivals, n), room(&c.depth, n)
	for i := range rows {
		r := &rows[i]
		bytes[i] = float64(r.Bytes())
		written[i] = float64(r.WriteBytes)
		arrivals[i] = float64(r.Arrivals)
		depth[i] = float64(r.InFlightNS) / float64(c.o.TickNS)
	}
}

// room makes x hold n values, and gives it.
func room(x *[]float64, n int) []float64 {
	if cap(*x) < n {
		*x = make([]float64, n)
	}
	*x = (*x)[:n]
	return *x
}

// part is what the formulas of a window share.
type part struct {
	rows         []Tick
	a            *account
	line         *sweep
	seconds      float64 // covered
	busy         float64 // share of the covered time
	meanDepth    float64 // in flight while busy
	medianNS     float64 // of latency
	kurtosis     float64
	latencyCV    float64
	stallLimit   float64 // ns
	sizeKnown    bool
	busyCV       float64 // of the bytes of busy ticks; NaN when too few
	peakArrivals float64
	peakLag      int
}

var noEvents account

// window fills the vector, the context and the verdict of idleness of a window.
func (c *calculator) window(w *Window, rows []Tick, a *account, line *sweep) {
	full := int64(len(rows))*c.o.TickNS == c.o.WindowNS
	w.Coverage = float64(int64(len(rows))*c.o.TickNS) / float64(c.o.WindowNS)
	w.Known = 1
	if a == nil && line.busyNS == 0 && line.arrivals == 0 {
		w.Idle = true
		w.Context = missingContext()
		w.Missing = 1<<N - 1
		if !c.lean {
			c.remember(nil, full)
		}
		return
	}
	if a == nil {
		a = &noEvents
	}
	w.Requests = a.requests
	if a.staged > 0 {
		w.Ladder = a.ladder.Pack()
	}
	if a.timed > 0 {
		w.Known = float64(a.timed) / float64(a.requests)
		w.Coverage *= w.Known
	}
	c.series(rows)
	if !c.lean {
		c.remember(c.arrivals, full)
	}
	p := c.part(rows, a, line)
	// Without a single latency nothing is known of what is in flight.
	timed := a.timed > 0 || a.requests == 0
	w.Vector, w.Missing = c.vector(&p, timed)
	if c.lean {
		w.Context = missingContext()
	} else {
		w.Context = c.facts(&p, timed)
	}
	enough := a.requests >= int64(c.o.MinRequests)
	stalled := timed && line.gap >= c.o.MinStallNS
	w.Idle = len(rows) < c.o.MinTicks || !enough && !stalled
}

func (c *calculator) part(rows []Tick, a *account, line *sweep) part {
	covered := int64(len(rows)) * c.o.TickNS
	p := part{rows: rows, a: a, line: line, seconds: float64(covered) / 1e9}
	p.busy = float64(line.busyNS) / float64(covered)
	// A window that is busy for less than a hundredth of a tick has no depth to speak of.
	p.meanDepth = float64(line.inFlightNS) / math.Max(float64(line.busyNS), float64(c.o.TickNS)/100)
	if c.lean {
		c.all.fill(&a.latency[latencyReads]) // that of all, here
	} else {
		c.reads.fill(&a.latency[latencyReads])
		c.writes.fill(&a.latency[latencyWrites])
		c.all.fill(&a.latency[latencyReads], &a.latency[latencyWrites], &a.latency[latencyOthers])
	}
	c.gaps.fill(&line.gaps)
	if a.timed > 0 {
		n := float64(a.timed)
		p.medianNS = c.all.quantile(0.5)
		p.latencyCV, p.kurtosis = c.all.moments(float64(a.latencyNS())/n, a.squares.float()/n)
	}
	medianGap := 0.0
	if c.gaps.n > 0 {
		medianGap = c.gaps.quantile(0.5)
	}
	p.stallLimit = max(shortestStall, stallMedians*p.medianNS, stallMedianGaps*medianGap)
	p.sizeKnown = a.unsized == 0 || a.sized > 0
	c.x = c.x[:0]
	for i := range rows {
		if 2*rows[i].BusyNS > c.o.TickNS {
			c.x = append(c.x, c.bytes[i])
		}
	}
	p.busyCV = math.NaN()
	if len(c.x) > plateauTicks {
		p.busyCV = variation(c.x)
		if math.IsNaN(p.busyCV) { // busy, and not one byte: flat at 0
			p.busyCV = 0
		}
	}
	p.peakArrivals, p.peakLag = c.auto.peak(c.arrivals, firstLag, len(rows)/2)
	return p
}

// vector computes the 12 features; the formulas are those of the table
// Features. timed says whether latencies, and with them what is in flight,
// are known. Component LatencyLoadResidual is log10 of the mean latency in
// microseconds minus log10 of the mean depth.
func (c *calculator) vector(p *part, timed bool) (v Vector, m Mask) {
	a, n := p.a, len(p.rows)
	course := n >= c.o.MinTicks
	set := func(i int, known bool, value func() float64) {
		if known {
			v[i] = value()
		} else {
			v[i] = Features[i].Neutral
			m |= 1 << i
		}
	}
	depth := math.Log10(math.Max(p.meanDepth, 1))
	requests := a.requests > 0
	bytes, written := sum(c.bytes), sum(c.written)

	set(LatencyLoadResidual, a.timed > 0, func() float64 {
		mean := float64(a.latencyNS()) / float64(a.timed)
		return latencyAtLoad(mean, p.meanDepth)
	})
	set(LatencyKurtosis, a.timed > 0, func() float64 { return math.Asinh(p.kurtosis) })
	set(ThroughputEntropy, course && p.sizeKnown, func() float64 { return concentration(c.bytes) })
	set(ThroughputPlateau, course && timed && p.sizeKnown, func() float64 {
		cv := p.busyCV
		if math.IsNaN(cv) {
			cv = plateauUnknown
		}
		return plateau(p.busy, cv, ratio(float64(a.sizedBytes), float64(a.sized)))
	})
	set(QueueDepthLevel, timed, func() float64 { return depth })
	set(QueueDepthJumpRate, course && timed, func() float64 { return jumpRate(c.depth) })
	set(BusyFraction, timed, func() float64 { return p.busy })
	set(BurstQueueing, course && timed, func() float64 {
		deep := math.Min(math.Log10(float64(p.line.peak)+1)/deepBurst, 1)
		return math.Sqrt(math.Max(p.peakArrivals, 0) * deep * (1 - p.busy))
	})
	set(WriteFlood, course && p.sizeKnown, func() float64 { return flood(c.written, written, bytes) })
	set(SyncMetadataShare, requests, func() float64 {
		return math.Sqrt(float64(a.journal()) / float64(a.requests))
	})
	reads := float64(a.ops[ingest.OpRead])
	share, _ := a.reread.share()
	set(RereadShare, requests && (reads == 0 || !math.IsNaN(share)), func() float64 {
		if reads == 0 {
			return 0
		}
		return math.Sqrt(share * math.Sqrt(reads/float64(a.requests)))
	})
	set(StallGap, course && timed, func() float64 { return stall(float64(p.line.gap), p.stallLimit) })
	return v, m
}

// LatencyUnitNS is the unit in ns of the raw latency at load: microseconds.
const LatencyUnitNS = 1e3

// latencyAtLoad is log10 of a mean latency (from ns, at least 1 ns) in
// LatencyUnitNS over the mean depth (at least 1).
func latencyAtLoad(meanNS, depth float64) float64 {
	return math.Log10(math.Max(meanNS, 1)/LatencyUnitNS) - math.Log10(math.Max(depth, 1))
}

// concentration is sqrt(1 - entropy): 0 even, 1 in one place.
func concentration(x []float64) float64 { return math.Sqrt(math.Max(1-entropy(x), 0)) }

// plateau is large I/O against a flat ceiling of bytes.
func plateau(busy, cv, meanSize float64) float64 {
	size := math.Log10(meanSize + smallestSize)
	return busy * math.Exp(-cv/plateauCV) * math.Min(math.Max(size-plateauSize, 0), 1)
}

// jumpRate is the square root of the share of steps that jump by more than
// half the mean depth, and more than one.
func jumpRate(depth []float64) float64 {
	if len(depth) < 2 {
		return 0
	}
	limit := math.Max(1, sum(depth)/float64(len(depth))/2)
	jumps := 0
	for i := 1; i < len(depth); i++ {
		if math.Abs(depth[i]-depth[i-1]) > limit {
			jumps++
		}
	}
	return math.Sqrt(float64(jumps) / float64(len(depth)-1))
}

// flood is the square root of the share of written bytes times how
// concentrated they are.
func flood(series []float64, written, bytes float64) float64 {
	if written <= 0 {
		return 0
	}
	return math.Sqrt(written / bytes * math.Max(1-entropy(series), 0))
}

// stall is log10 of a gap over what is long for the window, at least 0.
func stall(gapNS, limitNS float64) float64 {
	return math.Max(math.Log10(math.Max(gapNS, 1e6)/limitNS), 0)
}

// ratio is a over b, 0 when b is 0.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}
