package reduce

import (
	"math"

	"github.com/iopathy/iopathy/features"
)

// Four axes are read more sharply than the window's own number where the
// context tells more; where it doesn't, the window's number stands.
const (
	hostPause    = 0.25 // s: gaps up to it are any busy host's scheduling
	longMedians  = 8    // median latencies that a gap must exceed
	manyWaiting  = 8    // requests waiting, from which on a gap is held against the time between completions
	smallReads   = 4.5  // log10 bytes: up to it a re-read counts in full
	largeReads   = 5.3  // from it on it counts leastReread
	leastReread  = 0.25
	queueBeyond  = 0.5 // log10: depth beyond what the use explains, from which a burst queues
	queueSpan    = 1.5
	leastFlood   = 0.004 // share of the covered time
	peakOver     = 0.5   // how far the fullest second is over the mean one in a flood
	standing     = 8     // in flight on average: a queue
	deepFrom     = 1.6   // log10 of the depth from which a plateau fades
	deepTo       = 2.0
	fullyBusy    = 0.999
	nothingFlows = 1e-9
)

// ceiling is throughput_plateau over whole seconds: a token bucket's own beat
// is noise in shorter ticks, and a paced stream that never fills a second is
// no ceiling. It fades out from 40 to 100 in flight: the ceiling before so
// deep a queue says nothing that the queue doesn't.
func ceiling(w *features.Window) float64 {
	v := fact(w, features.CtxCeiling, w.Vector[features.ThroughputPlateau])
	if math.IsNaN(w.Context[features.CtxCeilingSpread]) && !math.IsNaN(w.Context[features.CtxFullSeconds]) {
		v = 0 // too few full seconds to tell a ceiling
	}
	return v * clamp((deepTo-w.Vector[features.QueueDepthLevel])/(deepTo-deepFrom), 0, 1)
}

// bursts is burst_queueing: the depth while busy beyond what so low a use
// explains (an M/M/1 queue holds 1/(1-rho) while busy), times the idle time,
// times what the burst costs in latency over the expected one: a device that
// serves a burst in parallel isn't congested. The period plays no part: one of
// 100 ms hides in ticks of 100 ms.
func bursts(w *features.Window, residual float64) float64 {
	busy := min(w.Vector[features.BusyFraction], fullyBusy)
	depth := w.Vector[features.QueueDepthLevel]
	queue := clamp((depth+math.Log10(1-busy)-queueBeyond)/queueSpan, 0, 1)
	return math.Sqrt(queue*clamp(residual+depth, 0, 1)) * (1 - busy)
}

// flood is write_flood times log10 of the share of the time that the device
// writes (FloodShare) over 0.4 %, within 0..1: a flood that the device swallows
// delays nobody. It fades out as the fullest second comes from 1.5 times down to
// the mean one: floods are seconds apart, and what is written in every second
// is no flood however it is cut.
func flood(p *Point) float64 {
	v := p.Window.Vector[features.WriteFlood]
	if s := FloodShare(p); !math.IsNaN(s) {
		v *= clamp(math.Log10(max(s, nothingFlows)/leastFlood), 0, 1)
	}
	c := &p.Window.Context
	if over := c[features.CtxWritePeakBytes]/(c[features.CtxWriteBytesShare]*c[features.CtxBytesPerS]) - 1; !math.IsNaN(over) {
		v *= clamp(over/peakOver, 0, 1)
	}
	return v
}

// rereads is reread_share without the square root over the share (a hot set
// re-reads a tenth, a thrashing cache half or all), metadata reads left out,
// large reads (scans that come round) weighed down.
func rereads(w *features.Window) float64 {
	c := &w.Context
	share := c[features.CtxReread]
	if math.IsNaN(share) {
		return w.Vector[features.RereadShare]
	}
	share = max(share-fact(w, features.CtxMetaReadShare, 0), 0)
	size := math.Log10(max(fact(w, features.CtxReadSizeMean, 4096), 1))
	small := clamp((largeReads-size)/(largeReads-smallReads), leastReread, 1)
	return share * small * math.Sqrt(max(fact(w, features.CtxReadShare, 1), 0))
}

// gap is stall_gap held against the host's own pauses and the window's median. Where
// many wait, the median may be that of those that hung; what nothing completes for is
// then held against the time between completions, by Little's law the median over
// those in flight.
func gap(w *features.Window) float64 {
	s := w.Context[features.CtxStallSeconds]
	if math.IsNaN(s) {
		return w.Vector[features.StallGap]
	}
	limit := max(hostPause, longMedians*fact(w, features.CtxLatencyP50, 0)/1e3*min(1, manyWaiting/max(fact(w, features.CtxStallWaiting, 0), 1)))
	return max(math.Log10(max(s, 1e-3)/limit), 0)
}

// FloodShare is the share of the covered time that the window's writes take:
// what their bytes take at the group's best rate or, if that is more and many
// are in flight, what the device spent on them here: by Little's law the sum of
// their latencies over the depth. So a device that writes slower than its like,
// or than any of its group was seen to, is believed; one in flight says nothing
// of how much it could write. It is NaN if the bytes aren't known.
func FloodShare(p *Point) float64 {
	c := &p.Window.Context
	best := c[features.CtxWriteBytesShare] * c[features.CtxBytesPerS] / p.Normal.Rate
	spent := c[features.CtxIOPS] * c[features.CtxWriteShare] * c[features.CtxWriteLatencyMean] / 1e3 / c[features.CtxMeanDepth]
	if spent > best && c[features.CtxMeanDepth] >= standing { // not where one is missing
		return min(spent, p.Window.Vector[features.BusyFraction])
	}
	return best
}

func clamp(x, low, high float64) float64 { return min(max(x, low), high) }
