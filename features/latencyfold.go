package features

import (
	"cmp"
	"math"
	"slices"

	"github.com/iopathy/iopathy/ingest"
)

// LatencyBucket counts the requests of an interval whose latency was in
// [LowNS, HighNS). Op is OpOther where it is not told.
type LatencyBucket struct {
	LowNS, HighNS, N int64
	Op               ingest.Op
}

// LatencyHistogram is the latencies of a device over an interval that ends at
// TimeNS: a tick without its single I/Os.
type LatencyHistogram struct {
	TimeNS  int64
	Buckets []LatencyBucket
}

// MostLatencySum bounds the requests times the latency of a bucket, in ns: 52
// days within one interval.
const MostLatencySum = 1 << 52

// FoldHistograms turns the histograms of one device, by time, into ticks and
// windows of SampleWindow's length. The interval is the median time between two
// of them; from fewer than two it can't be told, and nothing comes of them.
//
// Values are taken as evenly spread over their bucket. What needs single I/Os,
// places, sizes or the queue is missing: of the 12 features only the latency at load,
// with the mean number in flight by Little's law (the sum of the latencies over the
// time), and its kurtosis are told. Requests times latency of a bucket must not
// exceed MostLatencySum. It panics on options that Validate refuses.
func FoldHistograms(key Key, o Options, all []LatencyHistogram, emitTick func(*Tick), emitWindow func(*Window)) {
	if err := o.Validate(); err != nil {
		panic(err.Error())
	}
	interval := medianStep(all)
	if interval <= 0 {
		return
	}
	f := latencyFold{key: key, interval: interval, length: SampleWindow(o.WindowNS, interval), fewest: int64(o.MinRequests)}
	number := floorDiv(all[0].TimeNS-interval/2, f.length)
	for i := range all {
		h := &all[i]
		for ; number < floorDiv(h.TimeNS-interval/2, f.length); number++ {
			emitWindow(f.window(number))
		}
		t := f.add(h)
		emitTick(&t)
	}
	emitWindow(f.window(number))
}

func medianStep(all []LatencyHistogram) int64 {
	var steps []int64
	for i := 1; i < len(all); i++ {
		if d := all[i].TimeNS - all[i-1].TimeNS; d > 0 {
			steps = append(steps, d)
		}
	}
	if len(steps) == 0 {
		return 0
	}
	slices.Sort(steps)
	return steps[len(steps)/2]
}

type latencyFold struct {
	key                      Key
	interval, length, fewest int64
	rows                     int
	buckets                  []LatencyBucket // of the window in hand
	out                      Window
}

// add takes a histogram into the window in hand and gives its tick.
func (f *latencyFold) add(h *LatencyHistogram) Tick {
	t := Tick{StartNS: h.TimeNS - f.interval}
	for _, b := range h.Buckets {
		ns := b.N * ((b.LowNS + b.HighNS) / 2)
		switch b.Op {
		case ingest.OpRead:
			t.Reads += b.N
			t.TimedReads += b.N
			t.ReadLatencyNS += ns
		case ingest.OpWrite:
			t.Writes += b.N
		default:
			t.Others += b.N
		}
		t.Timed += b.N
		t.LatencyNS += ns
		t.MaxLatencyNS = max(t.MaxLatencyNS, b.HighNS)
	}
	t.Arrivals = t.Timed
	f.rows++
	f.buckets = append(f.buckets, h.Buckets...)
	return t
}

// window ends the window in hand, of a number.
func (f *latencyFold) window(number int64) *Window {
	w := &f.out
	ticks := int(f.length / f.interval)
	*w = Window{
		Key: f.key, StartNS: number * f.length, EndNS: (number + 1) * f.length,
		Kind: ingest.KindD2C, TickNS: f.interval, Known: 1,
		CoveredTicks: min(f.rows, ticks), Coverage: min(float64(f.rows)/float64(ticks), 1),
		Missing: 1<<N - 1, Context: missingContext(),
	}
	for i := range w.Vector {
		w.Vector[i] = Features[i].Neutral
	}
	slices.SortStableFunc(f.buckets, func(a, b LatencyBucket) int {
		return cmp.Or(cmp.Compare(a.LowNS, b.LowNS), cmp.Compare(a.HighNS, b.HighNS))
	})
	var reads, writes int64
	var sum float64
	for _, b := range f.buckets {
		w.Requests += b.N
		sum += float64(b.N) * b.mid()
		switch b.Op {
		case ingest.OpRead:
			reads += b.N
		case ingest.OpWrite:
			writes += b.N
		}
	}
	w.Idle = w.Requests < f.fewest
	if w.Requests > 0 {
		f.tell(w, sum, reads, writes)
	}
	f.rows, f.buckets = 0, f.buckets[:0]
	return w
}

// tell fills what the buckets tell of a window.
func (f *latencyFold) tell(w *Window, sum float64, reads, writes int64) {
	n := float64(w.Requests)
	mean := sum / n
	seconds := float64(int64(f.rows)*f.interval) / 1e9
	var m2, m4 float64
	for _, b := range f.buckets {
		d, width := b.mid()-mean, float64(b.HighNS-b.LowNS)
		d2, s2 := d*d, width*width
		m2 += float64(b.N) * (d2 + s2/12)
		m4 += float64(b.N) * (d2*d2 + d2*s2/2 + s2*s2/80)
	}
	m2, m4 = m2/n, m4/n
	set := func(feature int, v float64) {
		w.Vector[feature] = v
		w.Missing &^= 1 << feature
	}
	set(LatencyLoadResidual, latencyAtLoad(mean, sum/(seconds*1e9)))
	if m2 > 0 {
		set(LatencyKurtosis, math.Asinh(m4/(m2*m2)-3))
	}
	x := &w.Context
	x[CtxIOPS] = n / seconds
	if reads+writes > 0 {
		x[CtxReadShare], x[CtxWriteShare] = float64(reads)/n, float64(writes)/n
	}
	x[CtxLatencyMean] = mean * msPerNS
	x[CtxLatencyCV] = math.Sqrt(m2) / mean
	for _, q := range []struct {
		ctx int
		q   float64
	}{{CtxLatencyP05, 0.05}, {CtxLatencyP25, 0.25}, {CtxLatencyP50, 0.5}, {CtxLatencyP95, 0.95}, {CtxLatencyP99, 0.99}} {
		x[q.ctx] = f.quantile(q.q, n) * msPerNS
	}
	x[CtxLatencyMax] = float64(f.buckets[len(f.buckets)-1].HighNS) * msPerNS
}

func (b *LatencyBucket) mid() float64 { return float64(b.LowNS+b.HighNS) / 2 }

// quantile is the latency below which a share q of the n requests lies.
func (f *latencyFold) quantile(q, n float64) float64 {
	rank := q * n
	for i := 0; i < len(f.buckets); {
		b := f.buckets[i]
		k := 0.0 // requests between the same bounds
		for ; i < len(f.buckets) && f.buckets[i].LowNS == b.LowNS && f.buckets[i].HighNS == b.HighNS; i++ {
			k += float64(f.buckets[i].N)
		}
		if rank <= k {
			return float64(b.LowNS) + float64(b.HighNS-b.LowNS)*rank/k
		}
		rank -= k
	}
	return float64(f.buckets[len(f.buckets)-1].HighNS)
}
