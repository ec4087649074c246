package align

import (
	"cmp"
	"math"
	"slices"

	"github.com/iopathy/iopathy/ingest"
)

// layer is where a source stands: what is of a smaller one holds the others.
func layer(k ingest.LatencyKind) int {
	switch k {
	case ingest.KindApp:
		return 0
	case ingest.KindSyscall:
		return 1
	}
	return 2
}

// settle takes offset and drift from the pairs.
func (r *Result) settle(sa, sb *Source, a, b []IO, l *line) {
	r.FromNS, r.ToNS = b[r.pairs[0].b].stamp(), b[r.pairs[len(r.pairs)-1].b].stamp()
	la, lb := layer(sa.Kind), layer(sb.Kind)
	r.layers = [2]int{la, lb}
	if la == lb || sa.Kind == ingest.KindNone || sb.Kind == ingest.KindNone {
		r.straight(a, b, l)
	} else {
		r.nested(a, b, l, la < lb)
	}
	r.hops(sa, sb, a, b)
}

// straight lays a line by least squares through the differences of stamps of one
// moment. Tools take them one after another, and how long that is differs from stamp
// to stamp: by how far the others' differences are from those of the completion the
// offset may be wrong. A drift that is no more than its error, or moves less than
// this and the stamps' noise, is none.
func (r *Result) straight(a, b []IO, l *line) {
	stamp := common(a, b, r.pairs)
	n := len(r.pairs)
	x, y := make([]float64, n), make([]float64, n)
	at, mean := 0.0, 0.0
	for i, p := range r.pairs {
		ta, tb := stamp(&a[p.a]), stamp(&b[p.b])
		x[i], y[i] = float64(tb-l.ref), float64(ta-tb-l.base)
		at += x[i]
		mean += y[i]
	}
	at /= float64(n)
	mean /= float64(n)
	slope, se := least(x, y, at, mean)
	apart := disagree(a, b, r.pairs, line{base: l.base, ref: l.ref, at0: mean - slope*at, slope: slope})
	noise := se * math.Sqrt(variance(x, at)) * math.Sqrt(float64(n))
	if moved := math.Abs(slope) * (x[n-1] - x[0]); math.Abs(slope) <= 4*se || moved < float64(r.ResolutionA+r.ResolutionB)+apart+noise {
		slope = 0
	}
	rest := 0.0
	for i := range x {
		d := y[i] - mean - slope*(x[i]-at)
		rest += d * d
	}
	r.SDNS = math.Sqrt(rest / float64(n-1))
	r.AtNS = l.ref + int64(math.Round(at))
	r.OffsetNS = l.base + int64(math.Round(mean))
	r.DriftPPB, r.DriftError = int64(math.Round(slope*1e9)), 2*se*1e9+0.5 // it is whole
	r.ErrorNS = int64(math.Ceil(2*r.SDNS/math.Sqrt(float64(n))+apart)) + (r.ResolutionA+r.ResolutionB)/2
}

// variance is the mean square about at.
func variance(x []float64, at float64) float64 {
	v := 0.0
	for _, t := range x {
		v += (t - at) * (t - at)
	}
	return v / float64(len(x))
}

// disagree is how far the median difference of any other stamp that both tell of all
// their pairs is from the line.
func disagree(a, b []IO, pairs []pair, l line) float64 {
	worst := 0.0
	for _, stamp := range []func(*IO) int64{arrive, issue} {
		var d []float64
		for _, p := range pairs {
			if ta, tb := stamp(&a[p.a]), stamp(&b[p.b]); ta != None && tb != None {
				d = append(d, l.residual(ta, tb))
			}
		}
		if len(d) == len(pairs) {
			worst = max(worst, math.Abs(median(d)))
		}
	}
	return worst
}

// least is the slope by least squares, and its standard error.
func least(x, y []float64, at, mean float64) (slope, se float64) {
	xx, xy := 0.0, 0.0
	for i := range x {
		xx += (x[i] - at) * (x[i] - at)
		xy += (x[i] - at) * (y[i] - mean)
	}
	if xx == 0 {
		return 0, 0
	}
	slope = xy / xx
	rest := 0.0
	for i := range x {
		d := y[i] - mean - slope*(x[i]-at)
		rest += d * d
	}
	return slope, math.Sqrt(rest / float64(len(x)-2) / xx)
}

// common is the latest stamp that both sources tell of their pairs.
func common(a, b []IO, pairs []pair) func(*IO) int64 {
	for _, stamp := range []func(*IO) int64{done, issue, arrive} {
		both := true
		for _, p := range pairs {
			both = both && stamp(&a[p.a]) != None && stamp(&b[p.b]) != None
		}
		if both {
			return stamp
		}
	}
	return (*IO).stamp
}

func done(o *IO) int64   { return o.Done }
func issue(o *IO) int64  { return o.Issue }
func arrive(o *IO) int64 { return o.Arrive }

// nested bounds the offset by cause before effect: what is inside another I/O
// begins after it and ends before it. The clocks' drift moves both bounds alike,
// so that the lesser of their slopes is taken, and none if they disagree. One pair
// in 200 may be wrong, on either side.
func (r *Result) nested(a, b []IO, l *line, outerA bool) {
	n := len(r.pairs)
	x, starts, ends := make([]float64, n), make([]float64, n), make([]float64, n)
	at := 0.0
	for i, p := range r.pairs {
		oa, ob := &a[p.a], &b[p.b]
		x[i] = float64(ob.stamp() - l.ref)
		starts[i], ends[i] = float64(oa.first()-ob.first()-l.base), float64(oa.stamp()-ob.stamp()-l.base)
		at += x[i]
	}
	at /= float64(n)
	s, e := theil(x, starts), theil(x, ends)
	slope := 0.0
	if s*e > 0 {
		slope = math.Copysign(min(math.Abs(s), math.Abs(e)), s)
	}
	r.DriftError = math.Abs(s-e) * 1e9
	if math.Abs(slope)*1e9 <= r.DriftError || math.Abs(slope)*(x[n-1]-x[0]) < float64(r.ResolutionA+r.ResolutionB) {
		slope = 0
	}
	mid := make([]float64, n)
	for i := range x {
		starts[i] -= slope * (x[i] - at)
		ends[i] -= slope * (x[i] - at)
		mid[i] = (starts[i] + ends[i]) / 2
	}
	low, high := slices.Clone(starts), slices.Clone(ends)
	if !outerA {
		low, high = high, low
	}
	slices.Sort(low)
	slices.Sort(high)
	k := n / 200
	from, to := low[n-1-k], high[k]
	theta := (from + to) / 2
	rest := 0.0
	for _, m := range mid {
		rest += (m - theta) * (m - theta)
	}
	r.SDNS = math.Sqrt(rest / float64(n-1))
	r.AtNS = l.ref + int64(math.Round(at))
	r.OffsetNS = l.base + int64(math.Round(theta))
	r.DriftPPB = int64(math.Round(slope * 1e9))
	r.ErrorNS = int64(math.Ceil(math.Abs(to-from)/2)) + (r.ResolutionA+r.ResolutionB)/2
}

// Hop is the time from one stamp of an I/O to another, over all that matched. Where
// the two are of different sources, ErrorNS holds that of the offset.
type Hop struct {
	From    string  `json:"from"`
	To      string  `json:"to"`
	IOs     int     `json:"ios"`
	MeanNS  float64 `json:"mean_ns"`
	SDNS    float64 `json:"sd_ns"`
	ErrorNS float64 `json:"error_ns"` // two standard errors, and that of the offset
}

// end is one end of a hop: a stamp of a or of b.
type end struct {
	name  string
	ofB   bool
	stamp func(*IO) int64
}

// hops follows the I/Os from stamp to stamp: into the inner source and out again, or
// for sources of one layer from each stamp of a to the same of b.
func (r *Result) hops(sa, sb *Source, a, b []IO) {
	la, lb := layer(sa.Kind), layer(sb.Kind)
	r.layers = [2]int{la, lb}
	stamps := func(ofB bool, kind ingest.LatencyKind) []end {
		words := [3]string{"arrival", "dispatch", "completion"}
		switch layer(kind) {
		case 0:
			words = [3]string{"app start", "app dispatch", "app end"}
		case 1:
			words = [3]string{"call start", "call dispatch", "call end"}
		}
		who := "a "
		if ofB {
			who = "b "
		}
		return []end{{who + words[0], ofB, arrive}, {who + words[1], ofB, issue}, {who + words[2], ofB, done}}
	}
	ea, eb := stamps(false, sa.Kind), stamps(true, sb.Kind)
	if la == lb {
		for i := range ea {
			r.hop(ea[i], eb[i], a, b)
		}
		if sa.Kind != sb.Kind {
			r.hop(ea[0], eb[1], a, b) // block to device, if each tells one end
			r.hop(eb[0], ea[1], a, b)
		}
		return
	}
	outer, inner := ea, eb
	if lb < la {
		outer, inner = eb, ea
	}
	if !r.hop(outer[0], inner[0], a, b) {
		r.hop(outer[0], inner[1], a, b)
	}
	r.hop(inner[0], inner[1], a, b)
	if !r.hop(inner[1], inner[2], a, b) {
		r.hop(inner[0], inner[2], a, b)
	}
	r.hop(inner[2], outer[2], a, b)
}

// hop adds a hop, if at least MinMatches of the I/Os have both stamps.
func (r *Result) hop(from, to end, a, b []IO) bool {
	clock := ingest.Clock{OffsetNS: r.OffsetNS, DriftPPB: r.DriftPPB, AtNS: r.AtNS}
	var v []float64
	mean := 0.0
	for _, p := range r.pairs {
		get := func(e end) int64 {
			if !e.ofB {
				return e.stamp(&a[p.a])
			}
			if t := e.stamp(&b[p.b]); t != None {
				return clock.Time(t)
			}
			return None
		}
		if x, y := get(from), get(to); x != None && y != None {
			v = append(v, float64(y-x))
			mean += float64(y - x)
		}
	}
	if len(v) < MinMatches {
		return false
	}
	mean /= float64(len(v))
	rest := 0.0
	for _, x := range v {
		rest += (x - mean) * (x - mean)
	}
	h := Hop{From: from.name, To: to.name, IOs: len(v), MeanNS: mean, SDNS: math.Sqrt(rest / float64(len(v)-1))}
	h.ErrorNS = 2 * h.SDNS / math.Sqrt(float64(len(v)))
	if from.ofB != to.ofB {
		h.ErrorNS += float64(r.ErrorNS)
	}
	r.Hops = append(r.Hops, h)
	return true
}

func sortDevices(d []DevicePair) {
	slices.SortFunc(d, func(x, y DevicePair) int {
		return cmp.Or(cmp.Compare(y.IOs, x.IOs), cmp.Compare(x.A, y.A), cmp.Compare(x.B, y.B))
	})
}
