package features

import (
	"math"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

func TestFoldHistograms(t *testing.T) {
	var all []LatencyHistogram
	for s := range int64(30) {
		all = append(all, LatencyHistogram{TimeNS: 1_700_000_000e9 + (s+1)*1e9, Buckets: []LatencyBucket{
			{LowNS: 100e3, HighNS: 200e3, N: 10, Op: ingest.OpRead}, {LowNS: 100e3, HighNS: 200e3, N: 30, Op: ingest.OpWrite},
		}})
	}
	var ticks []Tick
	var windows []Window
	o := DefaultOptions()
	FoldHistograms(Key{"h", "sda"}, o, all, func(x *Tick) { ticks = append(ticks, *x) }, func(w *Window) { windows = append(windows, *w) })
	// 1,700,000,000 s is 8 s behind a border of windows of 24 s: the first has 16.
	if len(ticks) != 30 || len(windows) != 2 || windows[0].Requests != 640 || windows[1].Requests != 560 || windows[0].CoveredTicks != 16 {
		t.Fatalf("%d ticks, windows %+v", len(ticks), windows)
	}
	if x := ticks[0]; x.StartNS != 1_700_000_000e9 || x.Reads != 10 || x.Writes != 30 || x.Timed != 40 || x.LatencyNS != 40*150e3 {
		t.Errorf("tick %+v", x)
	}
	check := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	for i := range windows {
		w := &windows[i]
		check("requests a second", w.Context[CtxIOPS], 40)
		check("mean", w.Context[CtxLatencyMean], 0.15)
		check("median", w.Context[CtxLatencyP50], 0.15)
		check("95 %", w.Context[CtxLatencyP95], 0.195)
		check("variation", w.Context[CtxLatencyCV], 100/math.Sqrt(12)/150) // of a uniform distribution
		check("kurtosis", w.Vector[LatencyKurtosis], math.Asinh(-1.2))     // of a uniform distribution
		check("reads", w.Context[CtxReadShare], 0.25)
		check("latency at load", w.Vector[LatencyLoadResidual], math.Log10(150e3/LatencyUnitNS)) // 0.006 in flight
		for k := range N {
			if w.Missing.Has(k) != (k == LatencyLoadResidual || k == LatencyKurtosis) {
				t.Errorf("feature %s: known is %v", Features[k].Name, w.Missing.Has(k))
			}
		}
		if w.Idle || w.Kind != ingest.KindD2C || w.TickNS != 1e9 || w.EndNS-w.StartNS != 24e9 {
			t.Errorf("window %+v", w)
		}
	}
	windows = nil
	FoldHistograms(Key{"h", "sda"}, o, all[:1], func(*Tick) {}, func(w *Window) { windows = append(windows, *w) })
	if len(windows) > 0 {
		t.Error("windows of one histogram, whose interval nobody knows")
	}
}
