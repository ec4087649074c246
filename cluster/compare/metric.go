package compare

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
)

const (
	higher  = "higher"
	lower   = "lower"
	neither = "neither"
)

// atLoad is the figure that says slower or not whatever the load is.
const atLoad = "latency_at_load"

// Metric is one figure of a device: a weighted mean over its windows of a
// value, of its logarithm where changes are ratios.
type Metric struct {
	Name, Unit, Doc string
	Worse           string
	Log             bool
	value           func(w *features.Window, l Label) (value, weight float64) // NaN: the window does not tell
}

// fact is a metric that stands in the context of the windows.
func fact(k int, weight func(w *features.Window) float64) func(*features.Window, Label) (float64, float64) {
	return func(w *features.Window, _ Label) (float64, float64) { return w.Context[k], weight(w) }
}

func covered(w *features.Window) float64  { return float64(w.CoveredTicks) }
func requests(w *features.Window) float64 { return float64(w.Requests) }

// Metrics are the figures, in the order in which they are shown. Load and
// depth are what is asked of a device, so neither way is worse; throughput is
// both, and a fall counts where the latency at the same load has risen as well.
var Metrics = []Metric{
	{Name: "throughput", Unit: "B/s", Doc: "bytes read and written per second", Worse: neither, value: rate(features.CtxBytesPerS)},
	{Name: "iops", Unit: "1/s", Doc: "requests per second", Worse: neither, value: rate(features.CtxIOPS)},
	{Name: "latency_mean", Unit: "ms", Doc: "mean latency", Worse: higher, value: fact(features.CtxLatencyMean, requests)},
	{Name: "latency_p50", Unit: "ms", Doc: "median latency of a window, weighted by its requests", Worse: higher, Log: true, value: fact(features.CtxLatencyP50, requests)},
	{Name: "latency_p99", Unit: "ms", Doc: "99th percentile of latency of a window, weighted by its requests", Worse: higher, Log: true, value: fact(features.CtxLatencyP99, requests)},
	{Name: atLoad, Unit: "ms", Doc: "mean latency over mean depth while busy: what is left when load is taken out", Worse: higher, Log: true, value: load},
	{Name: "queue_depth", Unit: "1", Doc: "mean in flight while busy", Worse: neither, value: fact(features.CtxMeanDepth, busy)},
	{Name: "io_wait_share", Unit: "0..1", Doc: "share of time with an I/O in flight", Worse: neither, value: func(w *features.Window, _ Label) (float64, float64) {
		if !w.Missing.Has(features.BusyFraction) {
			return math.NaN(), 0
		}
		return w.Vector[features.BusyFraction], covered(w)
	}},
}

func rate(k int) func(*features.Window, Label) (float64, float64) { return fact(k, covered) }

func busy(w *features.Window) float64 {
	if !w.Missing.Has(features.BusyFraction) {
		return covered(w)
	}
	return w.Vector[features.BusyFraction] * covered(w)
}

func load(w *features.Window, _ Label) (float64, float64) {
	depth := math.Max(w.Context[features.CtxMeanDepth], 1) // NaN stays
	return w.Context[features.CtxLatencyMean] / depth, 1
}

// shareMetric says whether changes of a metric are differences.
func (m *Metric) share() bool { return m.Unit == "0..1" }

// classes are the shares of windows by what was said of them.
func classes(a, b *Side) []Metric {
	seen := map[string]bool{}
	for _, s := range []*Side{a, b} {
		for _, l := range s.Labels {
			if l.Verdict == cluster.Sick {
				seen[l.Pathology] = true
			}
		}
	}
	out := []Metric{{Name: "sick_share", Unit: "0..1", Doc: "windows that are sick", Worse: higher, value: func(_ *features.Window, l Label) (float64, float64) {
		return indicator(l.Verdict == cluster.Sick), 1
	}}}
	for _, slug := range slices.Sorted(keysOf(seen)) {
		out = append(out, Metric{Name: "share_" + slug, Unit: "0..1", Doc: "windows of " + slug, Worse: neither, value: func(_ *features.Window, l Label) (float64, float64) {
			return indicator(l.Verdict == cluster.Sick && l.Pathology == slug), 1
		}})
	}
	return out
}

func keysOf(m map[string]bool) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func indicator(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// figure is a metric of one device on one side, as a logarithm unless it is a
// share.
type figure struct {
	value, err, spread float64
	blocks             int
}

// of takes the metric of a device; ok is false where too few windows tell it.
func (m *Metric) of(s *series, o Options, stream uint64) (f figure, ok bool) {
	var num, den []float64
	for i, w := range s.windows {
		var l Label
		if s.labels != nil {
			l = s.labels[i]
		}
		v, weight := m.value(w, l)
		if m.Log {
			if v <= 0 {
				continue
			}
			v = math.Log(v)
		}
		if math.IsNaN(v) || math.IsInf(v, 0) || !(weight > 0) {
			continue
		}
		num, den = append(num, v*weight), append(den, weight)
	}
	if len(num) < fewest {
		return f, false
	}
	total := sum(num) / sum(den)
	plain := !m.share() && !m.Log // a mean whose logarithm is compared
	if plain && total <= 0 {
		return f, false
	}
	f.value = total
	if plain {
		f.value = math.Log(total)
	}
	each := make([]float64, 0, len(num))
	for i := range num {
		v := num[i] / den[i]
		if plain {
			if v <= 0 {
				continue
			}
			v = math.Log(v)
		}
		each = append(each, v)
	}
	f.spread = deviation(each)
	f.err, f.blocks = bootstrap(num, den, plain, o, stream)
	return f, true
}

// bootstrap is the standard error of sum(num)/sum(den), of its logarithm if
// asked, by circular blocks of 1.5 cbrt(n) windows.
func bootstrap(num, den []float64, log bool, o Options, stream uint64) (se float64, blocks int) {
	n := len(num)
	length := max(1, int(1.5*math.Cbrt(float64(n))))
	blocks = (n + length - 1) / length
	pn, pd := circular(num, length), circular(den, length)
	r := rand.New(rand.NewPCG(o.Seed, stream))
	var values []float64
	for range o.Resamples {
		var a, b float64
		for range blocks {
			i := r.IntN(n)
			a += pn[i]
			b += pd[i]
		}
		v := a / b
		if log {
			if v <= 0 {
				continue
			}
			v = math.Log(v)
		}
		values = append(values, v)
	}
	return deviation(values), blocks
}

// circular gives the sum of the block that begins at each value.
func circular(x []float64, length int) []float64 {
	out := make([]float64, len(x))
	for i := range x {
		for k := range length {
			out[i] += x[(i+k)%len(x)]
		}
	}
	return out
}

// key makes the random streams of metric, device and side differ.
func key(metric, device, side int) uint64 {
	return uint64(metric)<<40 | uint64(device)<<1 | uint64(side)
}

// effect states a change in the metric's own unit.
func (m *Metric) effect(a, b, change, se, size float64, units int, o Options) Effect {
	e := Effect{Metric: m.Name, Unit: m.Unit, Worse: m.Worse, A: a, B: b, Ratio: !m.share(), Change: change, Size: size, Units: units, P: 1}
	half := math.Inf(1)
	if units > 1 {
		t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(units - 1)}
		half = se * t.Quantile(0.5+o.Level/2)
		if se > 0 {
			e.P = 2 * t.CDF(-math.Abs(change)/se)
		} else if change != 0 {
			e.P = 0
		}
	}
	low, high := change-half, change+half
	e.beyond = func(above float64) float64 { return m.beyond(change, se, units, above) }
	if e.Ratio {
		e.A, e.B = math.Exp(a), math.Exp(b)
		e.Change, low, high = math.Exp(change), math.Exp(low), math.Exp(high)
	}
	e.Low, e.High = Bound(low), Bound(high)
	return e
}

// beyond is the one-sided p of a worsening by more than above.
func (m *Metric) beyond(change, se float64, units int, above float64) float64 {
	if m.Worse == neither || units < fewestUnits {
		return 1
	}
	limit := above
	if !m.share() {
		limit = math.Log1p(above)
	}
	worse := change
	if m.Worse == lower {
		worse = -change
	}
	if worse <= limit {
		return 1
	}
	if se == 0 {
		return 0
	}
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(units - 1)}.CDF(-(worse - limit) / se)
}

// holm marks the alarms among questions asked together: Holm, "A simple
// sequentially rejective multiple test procedure", 1979.
func holm(effects []*Effect, alpha, above float64) bool {
	type asked struct {
		e *Effect
		p float64
	}
	var all []asked
	for _, e := range effects {
		all = append(all, asked{e, e.beyond(above)})
	}
	slices.SortStableFunc(all, func(x, y asked) int {
		if x.p < y.p {
			return -1
		} else if x.p > y.p {
			return 1
		}
		return 0
	})
	any := false
	for i, q := range all {
		if q.p > alpha/float64(len(all)-i) {
			break
		}
		q.e.Alarm, any = true, true
	}
	return any
}

func sum(x []float64) float64 {
	var s float64
	for _, v := range x {
		s += v
	}
	return s
}

func mean(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	return sum(x) / float64(len(x))
}

// deviation is the standard deviation of a sample; 0 with fewer than two.
func deviation(x []float64) float64 {
	if len(x) < 2 {
		return 0
	}
	m, s := mean(x), 0.0
	for _, v := range x {
		s += (v - m) * (v - m)
	}
	return math.Sqrt(s / float64(len(x)-1))
}

func norm(x []float64) float64 {
	s := 0.0
	for _, v := range x {
		s += v * v
	}
	return math.Sqrt(s)
}

// farthest bounds the effect size: beyond it the two have no value in common.
const farthest = 100

// size is Cohen's d.
func size(change, spread float64) float64 {
	if change == 0 {
		return 0
	}
	return math.Max(-farthest, math.Min(farthest, change/spread))
}
