package local

import (
	"math"

	"github.com/iopathy/iopathy/features"
)

// countPhase fills the figures of a phase of a device that interval counters
// saw from its windows, each by the share of it that lies in the phase. It
// reports whether they tell what was read from what was written.
func countPhase(ph *features.PhaseFigures, windows features.Rows[features.Window], k features.Key) (apart bool) {
	apart = true
	var requests, reads, writes, flushes, bytes, written, depth, seconds, latency, timed float64
	known := func(v float64) float64 {
		if math.IsNaN(v) {
			return 0
		}
		return v
	}
	for i := range windows.Len() {
		w := windows.At(i)
		over := min(w.EndNS, ph.ToNS) - max(w.StartNS, ph.FromNS)
		if w.Key != k || over <= 0 {
			continue
		}
		s := float64(over) / 1e9 * w.Coverage
		c := &w.Context
		n, b := known(c[features.CtxIOPS])*s, known(c[features.CtxBytesPerS])*s
		requests, bytes, seconds = requests+n, bytes+b, seconds+s
		reads, writes, flushes = reads+n*known(c[features.CtxReadShare]), writes+n*known(c[features.CtxWriteShare]), flushes+n*known(c[features.CtxFlushShare])
		apart = apart && (b == 0 || !math.IsNaN(c[features.CtxWriteBytesShare]))
		written += b * known(c[features.CtxWriteBytesShare])
		depth += known(c[features.CtxMeanDepth]) * (1 - known(c[features.CtxIdleFraction])) * s
		if l := c[features.CtxLatencyMean]; !math.IsNaN(l) {
			latency, timed = latency+l*1e6*n, timed+n
		}
	}
	whole := func(v float64) int64 { return int64(math.Round(v)) }
	ph.Requests, ph.Reads, ph.Writes, ph.Flushes = whole(requests), whole(reads), whole(writes), whole(flushes)
	ph.ReadBytes, ph.WriteBytes = whole(bytes-written), whole(written)
	if seconds > 0 {
		ph.MeanDepth = depth / seconds
	}
	if timed > 0 {
		ph.Ladder = []features.Step{{Name: "request, by the counters", N: whole(timed), MeanNS: latency / timed, DevNS: math.NaN(), P50NS: math.NaN(), P99NS: math.NaN()}}
	}
	return apart
}
