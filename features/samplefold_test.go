package features

import (
	"math"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

func samplesOf(n int, interval int64, fill func(i int, s *ingest.Sample)) (windows []Window) {
	f := NewSampleFold(Key{"h", "d"}, DefaultOptions(), nil, func(w *Window) { windows = append(windows, *w) })
	for i := range n {
		s := ingest.NewSample()
		s.TimeNS, s.IntervalNS = int64(i+1)*interval, interval
		fill(i, &s)
		f.Add(&s)
	}
	f.Close()
	return windows
}

func TestSamples(t *testing.T) {
	full := func(i int, s *ingest.Sample) {
		s.Reads, s.Writes, s.Discards, s.Flushes = 100, 300, 0, 100
		s.ReadBytes, s.WriteBytes = 100*4096, 300*8192
		s.ReadNS, s.WriteNS = 100*ms, 600*ms
		s.ReadMerges, s.WriteMerges = 0, 500
		s.InFlightNS, s.BusyNS = 700*ms, 350*ms
	}
	ws := samplesOf(48, sec, full)
	if len(ws) != 2 {
		t.Fatalf("%d windows of 24 s, want 2", len(ws))
	}
	for _, w := range ws {
		if w.EndNS-w.StartNS != 24*sec || w.CoveredTicks != 24 || w.Idle || w.Kind != ingest.KindSample || w.TickNS != sec || w.Requests != 24*500 {
			t.Errorf("%+v", w)
		}
		for i, want := range [N]bool{LatencyKurtosis: false, RereadShare: false,
			LatencyLoadResidual: true, ThroughputEntropy: true, ThroughputPlateau: true, QueueDepthLevel: true, QueueDepthJumpRate: true,
			BusyFraction: true, BurstQueueing: true, WriteFlood: true, SyncMetadataShare: true, StallGap: true} {
			if w.Missing.Has(i) != want {
				t.Errorf("%s known: %v", Features[i].Name, !want)
			}
		}
		for name, c := range map[string]struct{ got, want float64 }{
			"latency at load": {w.Vector[LatencyLoadResidual], math.Log10(1750) - math.Log10(2)}, // 700 ms over 400 in us, depth 2
			"depth":           {w.Vector[QueueDepthLevel], math.Log10(2)},
			"busy":            {w.Vector[BusyFraction], 0.35},
			"sync":            {w.Vector[SyncMetadataShare], math.Sqrt(0.2)},
			"entropy":         {w.Vector[ThroughputEntropy], 0},
			"merges":          {w.Context[CtxMergeShare], 0.5},
			"iops":            {w.Context[CtxIOPS], 500},
			"read latency":    {w.Context[CtxReadLatencyMean], 1},
			"write size":      {w.Context[CtxWriteSizeMean], 8192},
		} {
			if math.Abs(c.got-c.want) > 1e-7 {
				t.Errorf("%s: %g, want %g", name, c.got, c.want)
			}
		}
	}

	// 12 samples of 1 s: levels are known, the course is not.
	w := samplesOf(12, sec, full)[0]
	for i, want := range [N]bool{LatencyLoadResidual: true, QueueDepthLevel: true, BusyFraction: true, SyncMetadataShare: true} {
		if w.Missing.Has(i) != want {
			t.Errorf("12 samples: %s known: %v", Features[i].Name, !want)
		}
	}
	if w.Idle || w.Coverage != 0.5 {
		t.Errorf("12 samples: %+v", w)
	}

	// Five seconds in which nothing completes and one I/O is in flight.
	w = samplesOf(24, sec, func(i int, s *ingest.Sample) {
		full(i, s)
		if i >= 10 && i < 15 {
			s.Reads, s.Writes, s.Flushes, s.ReadBytes, s.WriteBytes, s.ReadNS, s.WriteNS = 0, 0, 0, 0, 0, 0, 0
			s.InFlightNS, s.BusyNS = sec, sec
		}
	})[0]
	if got, want := w.Vector[StallGap], math.Log10(50); math.Abs(got-want) > 1e-9 || w.Context[CtxStallSeconds] != 5 {
		t.Errorf("stall of 5 s: %g, want %g", got, want)
	}

	// Totals that tell no split, and no times.
	w = samplesOf(24, sec, func(i int, s *ingest.Sample) { s.TotalIOs, s.TotalBytes = 10, 40960 })[0]
	for i, want := range [N]bool{ThroughputEntropy: true} {
		if w.Missing.Has(i) != want {
			t.Errorf("totals: %s known: %v", Features[i].Name, !want)
		}
	}
	if w.Context[CtxBytesPerS] != 40960 || !math.IsNaN(w.Context[CtxReadShare]) || !math.IsNaN(w.Context[CtxMeanDepth]) {
		t.Errorf("totals: %+v", w.Context)
	}

	if ws := samplesOf(2, 600*sec, func(i int, s *ingest.Sample) {}); len(ws) != 1 || !ws[0].Idle || ws[0].EndNS != 24*600*sec {
		t.Errorf("nothing known: %+v", ws)
	}
	for _, c := range [][3]int64{{10, 1, 24}, {60, 1, 60}, {10, 7, 168}, {60, 2, 60}, {61, 2, 62}} {
		if got := SampleWindow(c[0]*sec, c[1]*sec); got != c[2]*sec {
			t.Errorf("window of %d s, interval of %d s: %d s, want %d s", c[0], c[1], got/sec, c[2])
		}
	}
}

// A gap in the samples leaves windows, so that the span has none.
func TestSampleGap(t *testing.T) {
	ws := samplesOf(10, 30*sec, func(i int, s *ingest.Sample) {
		if i >= 5 {
			s.TimeNS += 3 * 24 * 30 * sec
		}
		s.TotalIOs = 100
	})
	if len(ws) != 4 {
		t.Fatalf("%d windows, want 4", len(ws))
	}
	for _, w := range ws[1:3] {
		if !w.Idle || w.Coverage != 0 || w.Requests != 0 {
			t.Errorf("%+v", w)
		}
	}
}
