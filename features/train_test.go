package features

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

// The period of bursts is that of the programs that make them, whatever else
// arrives; bursts at random have none.
func TestTrains(t *testing.T) {
	check := func(name string, want float64, of ...func(r *rand.Rand) []int64) {
		t.Helper()
		r := rand.New(rand.NewPCG(1, 2))
		var starts []int64
		for _, f := range of {
			starts = append(starts, f(r)...)
		}
		slices.Sort(starts)
		events := make([]ingest.Event, 0, len(starts))
		for _, at := range starts {
			events = append(events, event(at, ms, ingest.OpRead))
		}
		_, ws := fold(DefaultOptions(), events, ms, nil, 0)
		for _, w := range ws[1:3] {
			got := w.Context[CtxPeriod]
			if math.IsNaN(got) != math.IsNaN(want) || math.Abs(got-want) > 0.05*want {
				t.Errorf("%s: period %g, want %g", name, got, want)
			}
		}
	}
	// bursts of a size, each a period after the one before, give or take a jitter
	// (a share of the period).
	bursts := func(from, period int64, size int, jitter float64) func(r *rand.Rand) []int64 {
		return func(r *rand.Rand) (at []int64) {
			for start := from; start < 40*sec; start += period + int64(jitter*float64(period)*(2*r.Float64()-1)) {
				for i := range int64(size) {
					at = append(at, start+i*50_000)
				}
			}
			return at
		}
	}
	// arrivals of a mean rate a second, at random.
	random := func(rate float64, size int) func(r *rand.Rand) []int64 {
		return func(r *rand.Rand) (at []int64) {
			for start := 0.0; start < 40; start += r.ExpFloat64() / rate {
				for i := range int64(size) {
					at = append(at, int64(start*1e9)+i*50_000)
				}
			}
			return at
		}
	}
	check("faster than two ticks, among other requests", 0.15, bursts(ms, 150*ms, 64, 0.02), random(100, 1))
	check("two programs of one period, between each other", 0.1, bursts(ms, 100*ms, 32, 0.02), bursts(34*ms, 100*ms, 32, 0.02), random(70, 1))
	check("each off by up to 8 %", 0.5, bursts(ms, 500*ms, 200, 0.08), random(200, 1))
	check("large ones among small ones at random", 0.7, bursts(ms, 700*ms, 96, 0.02), random(3, 12))
	check("bursts at random", math.NaN(), random(4, 40))
}
