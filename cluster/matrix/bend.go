package matrix

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/iopathy/iopathy/cluster/knee"
)

// Bend is where, along a factor whose levels are numbers, latency takes off:
// the knee of throughput along a queue depth, else the bend of log latency.
type Bend struct {
	Factor string            `json:"factor"`
	Where  map[string]string `json:"where"` // levels of the other factors
	Law    string            `json:"law"`   // saturation, or bend
	State  knee.State        `json:"state"`
	At     float64           `json:"at"` // level, in the factor's unit
	Low    float64           `json:"low"`
	High   float64           `json:"high"`
	Before float64           `json:"slope_before"` // of log latency over log level; saturation: NaN
	After  float64           `json:"slope_after"`
}

// depthWords are names under which people give a queue depth.
var depthWords = []string{"queue depth", "queue_depth", "queue-depth", "depth", "iodepth", "qd", "jobs", "numjobs", "threads", "concurrency"}

// Bends looks along each numeric factor of at least four levels, for each
// combination of the others.
func (m *Matrix) Bends(of Measure) []Bend {
	var out []Bend
	for f := range m.Factors {
		if !m.Factors[f].Numeric || len(m.Factors[f].Levels) < 4 || m.Factors[f].Values[0] <= 0 {
			continue
		}
		groups := map[string][]placed{}
		var order []string
		for _, c := range m.Cells {
			k := others(c.Levels, f)
			if !slices.Contains(order, k) {
				order = append(order, k)
			}
		}
		for _, r := range m.runs {
			k := others(r.levels, f)
			groups[k] = append(groups[k], r)
		}
		for _, k := range order {
			out = append(out, m.bend(f, groups[k], of))
		}
	}
	return out
}

func others(levels []int, f int) string {
	rest := slices.Clone(levels)
	rest[f] = -1
	return fmt.Sprint(rest)
}

func (m *Matrix) bend(f int, rows []placed, of Measure) Bend {
	factor := &m.Factors[f]
	b := Bend{Factor: factor.Name, Where: map[string]string{}, Law: "bend", State: knee.Unknown, At: math.NaN(), Low: math.NaN(), High: math.NaN(), Before: math.NaN(), After: math.NaN()}
	for i, l := range rows[0].levels {
		if i != f {
			b.Where[m.Factors[i].Name] = m.Factors[i].Levels[l]
		}
	}
	if slices.Contains(depthWords, lower(factor.Name)) {
		b.Law = "saturation"
		var ps []knee.Point
		for _, r := range rows {
			ps = append(ps, knee.Point{Depth: factor.Values[r.levels[f]], Rate: r.IOPS, Weight: 1})
		}
		k := knee.Fit(ps)
		b.State, b.At, b.Low, b.High = k.State, k.Depth, k.Low, k.High
		return b
	}
	var x, y []float64
	for _, r := range rows {
		if v := of.of(&r.Figures); v > 0 {
			x, y = append(x, math.Log(factor.Values[r.levels[f]])), append(y, math.Log(v))
		}
	}
	b.broken(x, y)
	return b
}

func lower(s string) string {
	out := []byte(s)
	for i, c := range out {
		if 'A' <= c && c <= 'Z' {
			out[i] = c + 'a' - 'A'
		}
	}
	return string(out)
}

// broken fits two lines that meet, and keeps them where they are clearly
// better than one and the second is the steeper.
func (b *Bend) broken(x, y []float64) {
	if len(x) < 5 {
		return
	}
	lo, hi := slices.Min(x), slices.Max(x)
	flat := func(c float64) [][]float64 {
		before, after := make([]float64, len(x)), make([]float64, len(x))
		for i, v := range x {
			before[i], after[i] = math.Min(v-c, 0), math.Max(v-c, 0)
		}
		return [][]float64{before, after}
	}
	one, _ := fit(y, []term{{columns: [][]float64{x}}})
	single := squares(sub(y, one))
	const steps = 100
	best, at := math.Inf(1), lo
	rss := make([]float64, steps)
	for i := 1; i < steps; i++ {
		c := lo + (hi-lo)*float64(i)/steps
		fitted, _ := fit(y, []term{{columns: flat(c)}})
		rss[i] = squares(sub(y, fitted))
		if rss[i] < best {
			best, at = rss[i], c
		}
	}
	free := float64(max(1, len(y)-4))
	total := squares(centred(y))
	if single <= best*(1+2*distuv.F{D1: 2, D2: free}.Quantile(0.99)/free)+1e-9*total {
		b.State = knee.Beyond
		return
	}
	fitted, _ := fit(y, []term{{columns: flat(at)}})
	b.Before, b.After = slope(x, fitted, lo, at), slope(x, fitted, at, hi)
	if b.After <= b.Before {
		b.State = knee.Beyond
		return
	}
	b.State, b.At = knee.Found, math.Exp(at)
	limit := best*(1+distuv.F{D1: 1, D2: free}.Quantile(0.95)/free) + 1e-12*total
	b.Low, b.High = math.Inf(1), math.Inf(-1)
	for i := 1; i < steps; i++ {
		if rss[i] <= limit {
			c := math.Exp(lo + (hi-lo)*float64(i)/steps)
			b.Low, b.High = math.Min(b.Low, c), math.Max(b.High, c)
		}
	}
}

// slope is that of a fitted line between two ends, by the points in between.
func slope(x, y []float64, from, to float64) float64 {
	var x0, x1, y0, y1 float64
	first := true
	for i, v := range x {
		if v < from-1e-9 || v > to+1e-9 {
			continue
		}
		if first || v < x0 {
			x0, y0 = v, y[i]
		}
		if first || v > x1 {
			x1, y1 = v, y[i]
		}
		first = false
	}
	if x1 == x0 {
		return 0
	}
	return (y1 - y0) / (x1 - x0)
}
