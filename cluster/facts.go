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
	query           int                         // 1 + place in Rules.Asked of what it asks the evidence; 0: nothing
}

// Facts lists the variables: the 12 features as deviations, the context, and
// what a window looks like against its normal.
func Facts() []Fact {
	all := make([]Fact, 0, features.N+features.CtxCount+len(relative))
	for i, f := range features.Features {
		all = append(all, Fact{Name: f.Name, Unit: f.Unit, Doc: f.Doc, of: func(p *reduce.Point) float64 {
			if !p.Window.Missing.Has(i) {
				return math.NaN()
			}
			return p.Vector[i]
		}})
	}
	for i, c := range features.ContextTable {
		all = append(all, Fact{Name: c.Name, Unit: c.Unit, Doc: c.Doc, of: func(p *reduce.Point) float64 { return p.Window.Context[i] }})
	}
	return append(all, relative...)
}

// log10 of a latency in ms over the expected one.
func overNormal(p *reduce.Point, ms float64) float64 {
	return math.Log10(ms*1e6) - p.Normal.Expected
}

var relative = []Fact{
	{Name: "requests", Unit: "1", Doc: "requests completed in the window", of: func(p *reduce.Point) float64 { return float64(p.Window.Requests) }},
	{Name: "expected_ms", Unit: "ms", Doc: "normal latency at one in flight for requests of this size", of: func(p *reduce.Point) float64 {
		return math.Pow(10, p.Normal.Expected) / 1e6
	}},
	{Name: "median_over_normal", Unit: "log10", Doc: "median latency over the normal one", of: func(p *reduce.Point) float64 {
		return overNormal(p, p.Window.Context[features.CtxLatencyP50])
	}},
	{Name: "p95_over_normal", Unit: "log10", Doc: "95th percentile of latency over the normal one", of: func(p *reduce.Point) float64 {
		return overNormal(p, p.Window.Context[features.CtxLatencyP95])
	}},
	{Name: "flood_share", Unit: "0..1", Doc: "share of the time that the written bytes take at the group's best rate", of: reduce.FloodShare},
	{Name: "rate_share", Unit: "0..1", Doc: "bytes per busy second over the group's best", of: func(p *reduce.Point) float64 {
		return p.Window.Context[features.CtxBytesPerS] / max(p.Window.Vector[features.BusyFraction], 0.001) / p.Normal.Rate
	}},
}
