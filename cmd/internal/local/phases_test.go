package local

import (
	"math"
	"testing"

	"github.com/iopathy/iopathy/features"
)

// TestCountPhase counts two windows of 10 s by hand: half of the first and the
// whole of the second lie in the phase, the third is another device's.
func TestCountPhase(t *testing.T) {
	k := features.Key{Host: "h", Device: "d"}
	window := func(k features.Key, start int64, iops, latency float64) features.Window {
		w := features.Window{Key: k, StartNS: start, EndNS: start + 10e9, Coverage: 1}
		for i := range w.Context {
			w.Context[i] = math.NaN()
		}
		w.Context[features.CtxIOPS], w.Context[features.CtxBytesPerS], w.Context[features.CtxLatencyMean] = iops, iops*4096, latency
		w.Context[features.CtxWriteShare], w.Context[features.CtxReadShare], w.Context[features.CtxWriteBytesShare] = 0.25, 0.75, 0.25
		w.Context[features.CtxMeanDepth], w.Context[features.CtxIdleFraction] = 4, 0.5
		return w
	}
	ws := []features.Window{window(k, 0, 100, 2), window(k, 10e9, 200, 8), window(features.Key{Host: "h", Device: "e"}, 10e9, 1e6, 1)}
	ph := features.PhaseFigures{FromNS: 5e9, ToNS: 30e9}
	if !countPhase(&ph, features.List(ws), k) {
		t.Error("reads and writes are told apart")
	}
	// 5 s of 100 and 10 s of 200 a second; (500 x 2 ms + 2000 x 8 ms) / 2500 = 6.8 ms; 4 in flight half of the time.
	if ph.Requests != 2500 || ph.Reads != 1875 || ph.Writes != 625 || ph.WriteBytes != 2500*1024 || ph.ReadBytes != 2500*3072 || ph.MeanDepth != 2 {
		t.Errorf("the phase has %+v", ph)
	}
	if len(ph.Ladder) != 1 || math.Abs(ph.Ladder[0].MeanNS-6.8e6) > 1 || !math.IsNaN(ph.Ladder[0].P99NS) {
		t.Errorf("its ladder is %+v", ph.Ladder)
	}
	ws[0].Context[features.CtxWriteBytesShare] = math.NaN()
	if countPhase(&features.PhaseFigures{FromNS: 5e9, ToNS: 30e9}, features.List(ws), k) {
		t.Error("bytes of unknown direction are told apart")
	}
}
