package features

import (
	"fmt"
	"math"
	"slices"

	"github.com/iopathy/iopathy/ingest"
)

// SampleFold turns the samples (interval counters) of one device into ticks
// and windows. The tick is the interval, never finer: counters that are spread
// over finer ticks would look like a plateau. SampleWindow gives the length of
// the windows; they stand on the epoch grid.
//
// What counters can't tell is missing: single latencies (kurtosis) and single
// blocks (re-reads). Flushes alone stand for the share of metadata. A burst is as deep as the deepest interval's mean. A
// stall is told only where whole intervals pass with I/O in flight and none
// completing. With fewer than MinTicks samples in a window the features that
// read the course over time are missing.
type SampleFold struct {
	key        Key
	o          Options // tick and window are those of the samples once begun
	emitTick   func(*Tick)
	emitWindow func(*Window)

	begun  bool
	last   int64
	window int64 // number
	rows   []sampleRow
	ticks  []Tick
	calc   calculator
	out    Window
}

// littleRequests is how many requests Little's law wants: those in flight at
// the ends of the window must be few of them.
const littleRequests = 1000

// NewSampleFold is a fold over the samples of one device; the interval is
// that of its first sample. emitTick (which may be nil) is called for every
// sample, emitWindow for each window of the span. It panics on options that
// Validate refuses.
func NewSampleFold(key Key, o Options, emitTick func(*Tick), emitWindow func(*Window)) *SampleFold {
	if err := o.Validate(); err != nil {
		panic(err.Error())
	}
	if emitTick == nil {
		emitTick = func(*Tick) {}
	}
	f := &SampleFold{key: key, o: o, emitTick: emitTick, emitWindow: emitWindow}
	f.calc = newCalculator(&f.o)
	return f
}

// SampleWindow is the length of the windows of samples of an interval: the
// smallest multiple of the interval that is at least window and at least 24
// intervals.
func SampleWindow(window, interval int64) int64 {
	n := max((window+interval-1)/interval, minWindowTicks)
	return n * interval
}

// Add takes the next sample by time. It belongs to the window that holds the
// middle of its interval, so that stamps that shake stay in their window.
// One without an interval is passed over. It panics if a sample ends before
// the one before it.
func (f *SampleFold) Add(s *ingest.Sample) {
	if s.IntervalNS <= 0 {
		return
	}
	middle := s.TimeNS - s.IntervalNS/2
	if !f.begun {
		f.begun = true
		f.o.WindowNS = SampleWindow(f.o.WindowNS, s.IntervalNS)
		f.o.TickNS = s.IntervalNS
		f.window = floorDiv(middle, f.o.WindowNS)
	} else if s.TimeNS < f.last {
		panic(fmt.Sprintf("features: samples out of order: %d after %d", s.TimeNS, f.last))
	}
	f.last = s.TimeNS
	for window := floorDiv(middle, f.o.WindowNS); f.window < window; f.window++ {
		f.closeWindow()
	}
	f.rows = append(f.rows, rowOf(s))
	f.emitTick(&f.rows[len(f.rows)-1].tick)
}

// Close emits the last window. The fold takes no samples after it.
func (f *SampleFold) Close() {
	if f.begun && len(f.rows) > 0 {
		f.closeWindow()
	}
}

// sampleSums is what the formulas of a window of samples share.
type sampleSums struct {
	requests, reads, writes, merged         int64
	flushes, discards                       int64
	bytes, written                          int64
	timed, latency, timedReads, readLatency int64
	inFlight, busy, covered                 int64
	stalled                                 int64 // longest run of intervals with I/O in flight and none completing
	peak                                    float64
	usual                                   float64 // median over the intervals of their mean latencies, ns
	knows                                   knows
}

func (f *SampleFold) sums() (s sampleSums) {
	s.knows = knowsAll
	run, quiet := int64(0), int64(0)
	f.calc.x = f.calc.x[:0]
	for i := range f.rows {
		r := &f.rows[i]
		t := &r.tick
		s.knows &= r.knows
		s.requests += t.Requests()
		s.reads += t.Reads
		s.writes += t.Writes
		s.flushes += r.flushes
		s.discards += r.discards
		s.merged += r.merged
		s.bytes += t.Bytes()
		s.written += t.WriteBytes
		s.timed += t.Timed
		s.latency += t.LatencyNS
		s.timedReads += t.TimedReads
		s.readLatency += t.ReadLatencyNS
		s.inFlight += t.InFlightNS
		s.busy += t.BusyNS
		s.covered += r.interval
		if t.BusyNS > 0 {
			s.peak = max(s.peak, float64(t.InFlightNS)/float64(t.BusyNS))
		}
		// Half the interval: an I/O that came at its end hangs in no stall yet.
		if r.knows&knowsCounts != 0 && t.Requests() == 0 && 2*t.InFlightNS >= r.interval {
			run += r.interval
			s.stalled = max(s.stalled, run)
		} else {
			run = 0
		}
		// Requests that took longer than the time without any completion before
		// them hung through it, whether or not the source tells the depth.
		switch {
		case r.knows&knowsCounts == 0:
		case t.Requests() == 0:
			quiet += r.interval
		default:
			if quiet > 0 && t.Timed > 0 && t.LatencyNS/t.Timed >= quiet {
				s.stalled = max(s.stalled, quiet)
			}
			quiet = 0
		}
		if t.Timed > 0 {
			f.calc.x = append(f.calc.x, float64(t.LatencyNS)/float64(t.Timed))
		}
	}
	slices.Sort(f.calc.x)
	s.usual = lowerMedian(f.calc.x)
	return s
}

// lowerMedian is the lower median of ascending values; 0 if there are none.
func lowerMedian(sorted []float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)-1)/2]
}

func (f *SampleFold) closeWindow() {
	w := &f.out
	n := len(f.rows)
	ticks := int(f.o.WindowNS / f.o.TickNS)
	*w = Window{
		Key: f.key, StartNS: f.window * f.o.WindowNS, EndNS: (f.window + 1) * f.o.WindowNS,
		Kind: ingest.KindSample, TickNS: f.o.TickNS, Known: 1,
		CoveredTicks: min(n, ticks), Coverage: min(float64(n)/float64(ticks), 1),
	}
	if n == 0 {
		w.Idle, w.Missing, w.Context = true, 1<<N-1, missingContext()
		f.emitWindow(w)
		return
	}
	s := f.sums()
	w.Requests = s.requests
	f.ticks = f.ticks[:0]
	for i := range f.rows {
		f.ticks = append(f.ticks, f.rows[i].tick)
	}
	c := &f.calc
	c.series(f.ticks)
	c.x = c.x[:0]
	for i := range f.ticks {
		if 2*f.ticks[i].BusyNS > f.rows[i].interval {
			c.x = append(c.x, c.bytes[i])
		}
	}
	busyCV := math.NaN()
	if len(c.x) > plateauTicks {
		busyCV = variation(c.x)
	}
	w.Vector, w.Missing = f.vector(&s, busyCV)
	w.Context = f.facts(&s, busyCV)
	w.Idle = s.requests < int64(f.o.MinRequests) && (s.knows&knowsDepth == 0 || s.stalled < f.o.MinStallNS)
	f.emitWindow(w)
	f.rows = f.rows[:0]
}

// busyShare is the share of time with I/O in flight, and the mean depth then.
func (s *sampleSums) busyShare() (busy, depth float64) {
	if s.knows&knowsBusy == 0 {
		return 0, ratio(float64(s.inFlight), float64(s.covered))
	}
	return float64(s.busy) / float64(s.covered), ratio(float64(s.inFlight), math.Max(float64(s.busy), float64(s.covered)/1e4))
}

func (f *SampleFold) vector(s *sampleSums, busyCV float64) (v Vector, m Mask) {
	c := &f.calc
	course := len(f.rows) >= f.o.MinTicks
	busy, depth := s.busyShare()
	set := func(i int, needs knows, also bool, value func() float64) {
		if s.knows&needs == needs && also {
			v[i] = value()
		} else {
			v[i] = Features[i].Neutral
			m |= 1 << i
		}
	}
	meanLatency := ratio(float64(s.latency), float64(s.timed))
	set(LatencyLoadResidual, knowsTimes|knowsDepth, s.timed > 0, func() float64 { return latencyAtLoad(meanLatency, depth) })
	set(LatencyKurtosis, 0, false, nil)
	set(ThroughputEntropy, knowsBytes, course, func() float64 { return concentration(c.bytes) })
	set(ThroughputPlateau, knowsBytes|knowsBusy|knowsCounts, course, func() float64 {
		if math.IsNaN(busyCV) {
			busyCV = plateauUnknown
		}
		return plateau(busy, busyCV, ratio(float64(s.bytes), float64(s.dataRequests())))
	})
	set(QueueDepthLevel, knowsDepth, true, func() float64 { return math.Log10(math.Max(depth, 1)) })
	set(QueueDepthJumpRate, knowsDepth, course, func() float64 { return jumpRate(c.depth) })
	set(BusyFraction, knowsBusy, true, func() float64 { return busy })
	set(BurstQueueing, knowsCounts|knowsDepth|knowsBusy, course, func() float64 {
		r, _ := c.auto.peak(c.arrivals, firstLag, len(f.rows)/2)
		return math.Sqrt(math.Max(r, 0) * math.Min(math.Log10(s.peak+1)/deepBurst, 1) * (1 - busy))
	})
	set(WriteFlood, knowsBytes|knowsSplit, course, func() float64 {
		return flood(c.written, float64(s.written), float64(s.bytes))
	})
	set(SyncMetadataShare, knowsFlushes|knowsCounts, s.requests > 0, func() float64 {
		return math.Sqrt(float64(s.flushes) / float64(s.requests))
	})
	set(RereadShare, 0, false, nil)
	set(StallGap, knowsCounts|knowsDepth, course, func() float64 {
		return stall(float64(s.stalled), max(shortestStall, stallMedians*s.usual))
	})
	return v, m
}

// dataRequests is the number of requests that carry the bytes.
func (s *sampleSums) dataRequests() int64 {
	if s.knows&knowsSplit != 0 {
		return s.reads + s.writes
	}
	return s.requests
}

func (f *SampleFold) facts(s *sampleSums, busyCV float64) Context {
	x := missingContext()
	c := &f.calc
	seconds := float64(s.covered) / 1e9
	busy, depth := s.busyShare()
	has := func(k knows) bool { return s.knows&k == k }
	if has(knowsCounts) {
		x[CtxIOPS] = float64(s.requests) / seconds
	}
	if has(knowsBytes) {
		x[CtxBytesPerS] = float64(s.bytes) / seconds
		x[CtxSizeMean] = over(s.bytes, s.dataRequests())
	}
	if has(knowsCounts | knowsSplit) {
		x[CtxReadShare] = over(s.reads, s.requests)
		x[CtxWriteShare] = over(s.writes, s.requests)
		x[CtxWriteBytesShare] = over(s.written, s.bytes)
		x[CtxReadSizeMean] = over(s.bytes-s.written, s.reads)
		x[CtxWriteSizeMean] = over(s.written, s.writes)
	}
	if has(knowsFlushes | knowsCounts) {
		x[CtxFlushShare] = over(s.flushes, s.requests)
	}
	if has(knowsDiscards | knowsCounts) {
		x[CtxDiscardShare] = over(s.discards, s.requests)
	}
	if has(knowsTimes) {
		x[CtxLatencyMean] = over(s.latency, s.timed) * msPerNS
		x[CtxReadLatencyMean] = over(s.readLatency, s.timedReads) * msPerNS
		if has(knowsSplit) {
			x[CtxWriteLatencyMean] = over(s.latency-s.readLatency, s.timed-s.timedReads) * msPerNS
		}
	}
	if has(knowsMerges | knowsCounts) {
		x[CtxMergeShare] = over(s.merged, s.merged+s.requests)
	}
	if has(knowsDepth) {
		x[CtxMeanDepth] = depth
		x[CtxDepthCV] = variation(c.depth)
		x[CtxStallSeconds] = float64(s.stalled) / 1e9
	}
	// Flushes and discards take time in flight that no latency tells.
	if has(knowsOwnDepth|knowsTimes) && s.timed >= littleRequests && 100*(s.requests-s.timed) <= s.requests {
		x[CtxDepthOverLittle] = over(s.inFlight, s.latency)
	}
	if has(knowsBusy) {
		x[CtxIdleFraction] = 1 - busy
		x[CtxThroughputCV] = busyCV
		x[CtxServiceTime] = over(s.busy, s.requests) * msPerNS
	}
	if has(knowsTimes) && len(f.rows) >= f.o.MinTicks {
		c.latencyCourse(&x, f.ticks)
	}
	return x
}
