// Package knee finds the depth at which a device's throughput stops growing
// and its latency takes off.
//
// The law is a smooth form of the asymptotic bounds of a closed system (Denning
// and Buzen, "The operational analysis of queueing network models", 1978):
// throughput is N/R0 while there is room, and at most N*/R0 beyond the knee N*.
//
//	X(N) = N/R0 x (1 + (N/N*)^p)^(-(1+b)/p)
//
// p is how sharp the knee is (a device with N* equal servers is sharp), b how
// throughput falls beyond it: 0 is a plateau, more is the I/O cliff.
package knee

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Point is one span of a device: the mean number in flight while busy, and the
// completions per second while busy, weighted by the span's length.
type Point struct {
	Depth, Rate, Weight float64
}

// State says what could be found.
type State string

// The states of a Fit.
const (
	Found   State = "found"
	Below   State = "below"   // saturated at every depth seen: the knee is under Knee.High
	Beyond  State = "beyond"  // throughput grows up to the deepest seen: no knee up to there
	Unknown State = "unknown" // too few depths, or too little between them
)

// Knee is what Fit found. Depths are numbers in flight, times seconds, rates
// per second. With Below only High, with Beyond only Low is a bound.
type Knee struct {
	State     State   `json:"state"`
	Depth     float64 `json:"depth"`
	Low       float64 `json:"low"`  // interval of the depth, 95 %
	High      float64 `json:"high"` //
	Rate      float64 `json:"rate_per_s"`
	Latency   float64 `json:"latency_s"` // R0: of a request when there is room
	Sharpness float64 `json:"sharpness"` // p
	Cliff     float64 `json:"cliff"`     // b
	Fit       float64 `json:"r2"`        // share of the variation of log rate that the law explains
	Points    int     `json:"points"`
}

// ServiceInterval is the mean time between completions at the knee, seconds;
// requests that arrive closer together than that queue. NaN without a knee.
func (k Knee) ServiceInterval() float64 {
	if k.State != Found && k.State != Below || !(k.Rate > 0) {
		return math.NaN()
	}
	return 1 / k.Rate
}

// At is the law's completions per second at a depth; NaN where there is no law.
func (k Knee) At(depth float64) float64 {
	if !(k.Latency > 0) || !(depth > 0) {
		return math.NaN()
	}
	return depth / k.Latency * math.Pow(1+math.Pow(depth/k.Depth, k.Sharpness), -(1+k.Cliff)/k.Sharpness)
}

const (
	fewest     = 6   // points
	leastSpan  = 3.0 // deepest over shallowest
	steps      = 120 // of the depths that are tried
	confidence = 0.95
	sure       = 0.999 // that there is a knee at all
)

var (
	sharpnesses = []float64{1, 1.5, 2, 3, 5, 8, 16}
	cliffs      = []float64{0, 0.1, 0.2, 0.35, 0.5, 0.75, 1}
)

// Fit fits the law by least squares of the logarithm of the rate. Points with
// no depth, rate or weight are left out.
func Fit(points []Point) Knee {
	ps := slices.DeleteFunc(slices.Clone(points), func(p Point) bool {
		return !(p.Depth > 0 && p.Rate > 0 && p.Weight > 0) || math.IsInf(p.Depth+p.Rate+p.Weight, 0)
	})
	slices.SortFunc(ps, func(a, b Point) int {
		return cmp.Or(cmp.Compare(a.Depth, b.Depth), cmp.Compare(a.Rate, b.Rate), cmp.Compare(a.Weight, b.Weight))
	})
	k := Knee{State: Unknown, Points: len(ps)}
	if len(ps) < fewest {
		return k
	}
	least, most := ps[0].Depth, ps[len(ps)-1].Depth
	if most < leastSpan*least {
		return k
	}
	f := newFitting(ps)
	total := f.spread()
	linear := f.rss(math.Inf(1), 1, 0)
	flat := f.spreadOfRate()
	free := float64(len(ps) - 4)
	if free < 1 {
		free = 1
	}
	best, bestAt := math.Inf(1), [3]float64{}
	profile := make([]float64, steps)
	depths := make([]float64, steps)
	from, to := math.Log(least/4), math.Log(most*4)
	for i := range steps {
		depths[i] = math.Exp(from + (to-from)*float64(i)/(steps-1))
		profile[i] = math.Inf(1)
		for _, p := range sharpnesses {
			for _, b := range cliffs {
				if r := f.rss(depths[i], p, b); r < profile[i] {
					profile[i] = r
					if r < best {
						best, bestAt = r, [3]float64{depths[i], p, b}
					}
				}
			}
		}
	}
	if total > 0 {
		k.Fit = math.Max(0, 1-best/total)
	}
	limit := best*(1+distuv.F{D1: 1, D2: free}.Quantile(confidence)/free) + 1e-12
	first, last := -1, -1
	for i, r := range profile {
		if r <= limit {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	k.Low, k.High = depths[max(first-1, 0)], depths[min(last+1, steps-1)] // no finer than was tried
	k.Depth, k.Sharpness, k.Cliff = bestAt[0], bestAt[1], bestAt[2]
	logR0 := f.latency(bestAt[0], bestAt[1], bestAt[2])
	k.Latency = math.Exp(logR0)
	k.Rate = k.Depth / k.Latency * math.Pow(2, -(1+k.Cliff)/k.Sharpness) // X(N*)
	if k.Cliff == 0 {
		k.Rate = k.Depth / k.Latency // the plateau
	}
	// A simpler law must be clearly worse before a knee is claimed.
	plain := best * (1 + 3*distuv.F{D1: 3, D2: free}.Quantile(sure)/free)
	switch {
	case linear <= plain+1e-12 || k.Low >= most || last == steps-1:
		// No knee is as good an account: throughput still grows.
		k.State, k.High = Beyond, math.Inf(1)
		k.Low = math.Min(k.Low, most)
	case flat <= plain+1e-12 || k.High <= least || first == 0:
		k.State, k.Low = Below, 0
		k.Rate = math.Exp(f.meanRate())
	default:
		k.State = Found
	}
	return k
}

// fitting holds the points' logarithms.
type fitting struct {
	depth, logDepth, logRate, weight []float64
	sum                              float64
}

func newFitting(ps []Point) *fitting {
	f := &fitting{}
	for _, p := range ps {
		f.depth = append(f.depth, p.Depth)
		f.logDepth = append(f.logDepth, math.Log(p.Depth))
		f.logRate = append(f.logRate, math.Log(p.Rate))
		f.weight = append(f.weight, p.Weight)
		f.sum += p.Weight
	}
	for i := range f.weight { // so that a residual has the scale of one point's
		f.weight[i] *= float64(len(ps)) / f.sum
	}
	f.sum = float64(len(ps))
	return f
}

// shape is log X + log R0 of point i.
func (f *fitting) shape(i int, knee, p, b float64) float64 {
	x := f.logDepth[i]
	if math.IsInf(knee, 0) {
		return x
	}
	return x - (1+b)/p*math.Log1p(math.Exp(p*(x-math.Log(knee))))
}

// latency is the log R0 that fits best.
func (f *fitting) latency(knee, p, b float64) float64 {
	var s float64
	for i := range f.depth {
		s += f.weight[i] * (f.shape(i, knee, p, b) - f.logRate[i])
	}
	return s / f.sum
}

// rss is the residual sum of squares of the best R0.
func (f *fitting) rss(knee, p, b float64) float64 {
	var s, s2 float64
	for i := range f.depth {
		d := f.shape(i, knee, p, b) - f.logRate[i]
		s += f.weight[i] * d
		s2 += f.weight[i] * d * d
	}
	return math.Max(0, s2-s*s/f.sum)
}

func (f *fitting) meanRate() float64 {
	var s float64
	for i, r := range f.logRate {
		s += f.weight[i] * r
	}
	return s / f.sum
}

// spreadOfRate is what is left when the rate is the same at every depth.
func (f *fitting) spreadOfRate() float64 {
	m, s := f.meanRate(), 0.0
	for i, r := range f.logRate {
		s += f.weight[i] * (r - m) * (r - m)
	}
	return s
}

// spread is the variation that a law could explain: of rate, or of latency
// (rate at a depth) where the rate hardly varies.
func (f *fitting) spread() float64 {
	var m, s float64
	for i := range f.depth {
		m += f.weight[i] * (f.logDepth[i] - f.logRate[i])
	}
	m /= f.sum
	for i := range f.depth {
		d := f.logDepth[i] - f.logRate[i] - m
		s += f.weight[i] * d * d
	}
	return math.Max(s, f.spreadOfRate())
}
