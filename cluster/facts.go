package cluster

import (
	"math"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/reduce"
)

// Fact is a variable of the catalogue's expressions.
type Fact struct {
	Name, Unit, Doc string
	of              func(*reduce.Point) float64 // NaN: missing
}

// Facts lists the variables: the 12 features as deviations, the context, and
// what a window looks like against its normal.
func Facts() []Fact {
	all := make([]Fact, 0, features.N+features.CtxCount+len(relative))
	for i, f := range features.Features {
		all = append(all, Fact{f.Name, f.Unit, f.Doc, func(p *reduce.Point) float64 {
			if !p.Window.Missing.Has(i) {
				return math.NaN()
			}
			return p.Vector[i]
		}})
	}
	for i, c := range features.ContextTable {
		all = append(all, Fact{c.Name, c.Unit, c.Doc, func(p *reduce.Point) float64 { return p.Window.Context[i] }})
	}
	return append(all, relative...)
}

// log10 of a latency in ms over the expected one.
func overNormal(p *reduce.Point, ms float64) float64 {
	return math.Log10(ms*1e6) - p.Normal.Expected
}

var relative = []Fact{
	{"requests", "1", "requests completed in the window", func(p *reduce.Point) float64 { return float64(p.Window.Requests) }},
	{"expected_ms", "ms", "normal latency at one in flight for requests of this size", func(p *reduce.Point) float64 {
		return math.Pow(10, p.Normal.Expected) / 1e6
	}},
	{"median_over_normal", "log10", "median latency over the normal one", func(p *reduce.Point) float64 {
		return overNormal(p, p.Window.Context[features.CtxLatencyP50])
	}},
	{"p95_over_normal", "log10", "95th percentile of latency over the normal one", func(p *reduce.Point) float64 {
		return overNormal(p, p.Window.Context[features.CtxLatencyP95])
	}},
	{"flood_share", "0..1", "share of the time that the written bytes take at the group's best rate", reduce.FloodShare},
	{"rate_share", "0..1", "bytes per busy second over the group's best", func(p *reduce.Point) float64 {
		return p.Window.Context[features.CtxBytesPerS] / max(p.Window.Vector[features.BusyFraction], 0.001) / p.Normal.Rate
	}},
}
