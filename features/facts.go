package features

import (
	"math"

	"github.com/iopathy/iopathy/ingest"
)

const (
	msPerNS     = 1e-6
	slowNS      = 50e6 // a request slower than this is slow on any device
	outlier     = 10   // medians
	longStall   = 250e6
	slowOctaves = 3 // above that of the median: a read is slow for its region
	fewSlow     = 5 // slow reads that tell a region
)

// facts fills the context of a window; what can't be told stays missing.
func (c *calculator) facts(p *part, timed bool) Context {
	f := missingContext()
	a := p.a
	f[CtxIOPS] = float64(a.requests) / p.seconds
	if p.sizeKnown {
		f[CtxBytesPerS] = float64(a.sizedBytes) / p.seconds
	}
	f[CtxErrors] = float64(a.errors)
	c.shares(&f, a)
	c.places(&f, a)
	if a.timed > 0 {
		c.latencies(&f, p)
	}
	if timed {
		c.depths(&f, p)
	}
	c.course(&f, p, timed)
	return f
}

// over gives a share, missing when the whole is 0.
func over(a, b int64) float64 {
	if b == 0 {
		return math.NaN()
	}
	return float64(a) / float64(b)
}

func (c *calculator) shares(f *Context, a *account) {
	n := a.requests
	f[CtxReadShare] = over(a.ops[ingest.OpRead], n)
	f[CtxWriteShare] = over(a.ops[ingest.OpWrite], n)
	f[CtxFlushShare] = over(a.ops[ingest.OpFlush], n)
	f[CtxDiscardShare] = over(a.ops[ingest.OpDiscard], n)
	if a.told > n/2 { // of most; a caller that tells of O_SYNC alone tells no flags
		f[CtxSyncShare] = over(a.flagged(opCount, ingest.FlagSync), n)
		f[CtxWriteSyncShare] = over(a.flagged(int(ingest.OpWrite), ingest.FlagSync), a.ops[ingest.OpWrite])
		f[CtxMetaShare] = over(a.flagged(opCount, ingest.FlagMeta), n)
		f[CtxMetaReadShare] = over(a.flagged(int(ingest.OpRead), ingest.FlagMeta), a.ops[ingest.OpRead])
		f[CtxFUAShare] = over(a.flagged(opCount, ingest.FlagFUA|ingest.FlagPreflush), n)
		f[CtxReadaheadShare] = over(a.flagged(opCount, ingest.FlagReadahead), n)
	}
	f[CtxWriteBytesShare] = over(a.sizedBytes-a.readBytes, a.sizedBytes)
	f[CtxSmallWriteShare] = over(a.smallWrites, n)
	f[CtxSizeMean] = over(a.sizedBytes, a.sized)
	f[CtxSizeP50] = a.sizes.lowQuantile(0.5)
	f[CtxSizeP95] = a.sizes.lowQuantile(0.95)
	f[CtxReadSizeMean] = over(a.readBytes, a.sizedReads)
	f[CtxWriteSizeMean] = over(a.sizedBytes-a.readBytes, a.sized-a.sizedReads)
	if share, known := a.comms.share(); known {
		f[CtxTopCommShare] = share
		f[CtxComms] = float64(a.comms.used)
	}
	if share, known := a.cgroups.share(); known {
		f[CtxTopCgroupShare] = share
	}
}

func (c *calculator) places(f *Context, a *account) {
	f[CtxSequentialShare] = over(a.sequential, a.placed)
	f[CtxMovedShare] = over(a.moved, a.placed)
	f[CtxMisalignedShare] = over(a.misaligned, a.placed)
	f[CtxReread], f[CtxRereadError] = a.reread.share()
	if a.reread.reads > 0 && a.sizedReads > 0 {
		size := clip((5.3-math.Log10(float64(a.readBytes)/float64(a.sizedReads)))/0.8, 0.25, 1)
		f[CtxRereadThrash] = a.reread.dataShare() * size * math.Sqrt(over(a.ops[ingest.OpRead], a.requests))
	}
	if a.reread.reads > 0 {
		f[CtxReadFootprint] = float64(a.reread.footprint) * blockBytes
	}
	f[CtxSlowRegion] = slowRegion(a, c.reads.quantile(0.5))
}

// slowRegion compares the chance that two slow reads lie in one region with
// the chance that any two reads do (Simpson's index without replacement,
// which is unbiased for few slow reads): (slow - all) / (1 - all), at least 0.
// A read is slow from 4..8 medians on. Missing with fewer than fewSlow.
func slowRegion(a *account, median float64) float64 {
	if math.IsNaN(median) {
		return math.NaN()
	}
	from := min(octaveOf(int64(median))+slowOctaves, regionOctaves)
	var slowHere [regionCount]float64
	slow := 0.0
	for i := range a.regions {
		n := uint64(0)
		for _, k := range a.regions[i][from:] {
			n += uint64(k)
		}
		slowHere[i] = float64(n)
		slow += slowHere[i]
	}
	if slow < fewSlow {
		return math.NaN()
	}
	var all, allPairs, slowPairs float64
	for i := range a.regions {
		n := uint64(0)
		for _, k := range a.regions[i] {
			n += uint64(k)
		}
		here := float64(n)
		all += here
		allPairs += here * (here - 1)
		slowPairs += slowHere[i] * (slowHere[i] - 1)
	}
	allPairs /= all * (all - 1)
	slowPairs /= slow * (slow - 1)
	if allPairs >= 1 {
		return 0
	}
	return math.Max((slowPairs-allPairs)/(1-allPairs), 0)
}

func (c *calculator) latencies(f *Context, p *part) {
	a := p.a
	longest := float64(a.maxLatency)
	at := func(h *tally, q float64) float64 { return min(h.quantile(q), longest) * msPerNS }
	f[CtxLatencyMean] = over(a.latencyNS(), a.timed) * msPerNS
	f[CtxLatencyP05] = at(&c.all, 0.05)
	f[CtxLatencyP25] = at(&c.all, 0.25)
	f[CtxLatencyP50] = p.medianNS * msPerNS
	f[CtxLatencyP95] = at(&c.all, 0.95)
	f[CtxLatencyP99] = at(&c.all, 0.99)
	f[CtxLatencyMax] = longest * msPerNS
	f[CtxTailRatio] = f[CtxLatencyP99] / math.Max(f[CtxLatencyP50], msPerNS)
	f[CtxLatencyCV] = p.latencyCV
	f[CtxReadLatencyMean] = over(a.latencyBy[ingest.OpRead], a.timedBy[ingest.OpRead]) * msPerNS
	f[CtxWriteLatencyMean] = over(a.latencyBy[ingest.OpWrite], a.timedBy[ingest.OpWrite]) * msPerNS
	f[CtxFlushLatencyMean] = over(a.latencyBy[ingest.OpFlush], a.timedBy[ingest.OpFlush]) * msPerNS
	f[CtxReadLatencyP50] = at(&c.reads, 0.5)
	f[CtxWriteLatencyP50] = at(&c.writes, 0.5)
	f[CtxReadLatencyP99] = at(&c.reads, 0.99)
	f[CtxWriteLatencyP99] = at(&c.writes, 0.99)
	slow, _ := c.all.beyond(slowNS)
	f[CtxSlowShare] = over(slow, c.all.n)
	f[CtxOutlierShare] = outliers(&c.all)
	f[CtxReadOutlierShare] = outliers(&c.reads)
	f[CtxWriteOutlierShare] = outliers(&c.writes)
	if a.queued > 0 && a.queuedLatency > 0 {
		f[CtxQueueShare] = math.Min(float64(a.queueNS)/float64(a.queuedLatency), 1)
	}
}

func outliers(h *tally) float64 {
	if h.n == 0 {
		return math.NaN()
	}
	n, _ := h.beyond(outlier * h.quantile(0.5))
	return float64(n) / float64(h.n)
}

func (c *calculator) depths(f *Context, p *part) {
	f[CtxMeanDepth] = p.meanDepth
	f[CtxPeakDepth] = float64(p.line.peak)
	if p.meanDepth > 0 {
		f[CtxPeakOverMean] = float64(p.line.peak) / p.meanDepth
	}
	f[CtxDepthCV] = variation(c.depth)
	f[CtxIdleFraction] = 1 - p.busy
	f[CtxThroughputCV] = p.busyCV
	f[CtxServiceTime] = over(p.line.busyNS, p.a.requests) * msPerNS
	f[CtxStallSeconds] = float64(p.line.gap) / 1e9
	f[CtxStallWaiting] = float64(p.line.waiting)
	f[CtxStallExcess] = stall(float64(p.line.gap), max(longStall, stallMedians*p.medianNS))
	count, _ := c.gapsBeyond(p.line, max(shortestStall, stallMedians*p.medianNS))
	_, inStalls := c.gapsBeyond(p.line, p.stallLimit)
	f[CtxStallCount] = float64(count)
	f[CtxStallShare] = math.Min(inStalls/1e9/p.seconds, 1)
	busy := math.Min(p.busy, 0.999)
	excess := math.Log10(math.Max(p.meanDepth, 1)) + math.Log10(1-busy) - 0.5
	f[CtxQueueExcess] = math.Sqrt(clip(excess/1.5, 0, 1)) * (1 - busy)
}

// gapsBeyond counts and sums the gaps of a window above a limit in ns, those
// that its borders cut among them.
func (c *calculator) gapsBeyond(line *sweep, limit float64) (count int64, sum float64) {
	count, sum = c.gaps.beyond(limit)
	for _, gap := range line.edges {
		if float64(gap) > limit {
			count++
			sum += float64(gap)
		}
	}
	return count, sum
}

func clip(v, low, high float64) float64 { return math.Min(math.Max(v, low), high) }

// course fills the facts that read the ticks in their order.
func (c *calculator) course(f *Context, p *part, timed bool) {
	rows := p.rows
	n := len(rows)
	var arrivals, completions, most, peak float64
	active, runs, before := 0, 0, 0
	for i := range rows {
		requests := float64(rows[i].Requests())
		arrivals += c.arrivals[i]
		completions += requests
		most, peak = max(most, c.arrivals[i]), max(peak, requests)
		now := 0
		if rows[i].Arrivals > 0 {
			now = 1
		}
		active += now
		runs += now &^ before
		before = now
	}
	f[CtxActiveShare] = float64(active) / float64(n)
	if arrivals > 0 {
		f[CtxArrivalCV] = variation(c.arrivals)
		f[CtxArrivalPeakOverMean] = most * float64(n) / arrivals
		f[CtxBurstRequests] = arrivals / float64(runs)
	}
	if p.line.arrivals > 0 {
		f[CtxBurstShare] = float64(p.line.grouped) / float64(p.line.arrivals)
		f[CtxBurstSize] = 0
		if p.line.groups.n > 0 {
			f[CtxBurstSize] = p.line.groups.quantile(0.5)
		}
	}
	if completions > 0 {
		f[CtxCompletionPeakOverMean] = peak * float64(n) / completions
	}
	if p.sizeKnown {
		f[CtxWritePeakShare] = c.topShare(c.written)
		c.seconds(f, p, timed)
		f[CtxThroughputTrend] = trend(sum(c.bytes[:n/2]), sum(c.bytes[n-n/2:]))
	}
	f[CtxPeriod] = c.period(p)
	if timed {
		f[CtxDepthTrend] = trend(sum(c.depth[:n/2]), sum(c.depth[n-n/2:]))
		c.latencyCourse(f, rows)
	}
}

// trend is log10 of the second over the first; missing unless both are above 0.
func trend(first, second float64) float64 {
	if first <= 0 || second <= 0 {
		return math.NaN()
	}
	return math.Log10(second / first)
}

func (c *calculator) latencyCourse(f *Context, rows []Tick) {
	n := len(rows)
	var ns, count [2]int64
	for i := range rows {
		half := 0
		if i >= n-n/2 {
			half = 1
		} else if i >= n/2 {
			continue // the middle of an odd number
		}
		ns[half] += rows[i].LatencyNS
		count[half] += rows[i].Timed
	}
	f[CtxLatencyTrend] = trend(over(ns[0], count[0]), over(ns[1], count[1]))

	latency := room(&c.latency, n)
	for i := range rows {
		if rows[i].Timed > 0 {
			latency[i] = over(rows[i].LatencyNS, rows[i].Timed)
		}
	}
	c.pairs(n)
	for i := 1; i < n; i++ {
		if rows[i].Timed > 0 && rows[i-1].Timed > 0 {
			c.x, c.y = append(c.x, latency[i-1]), append(c.y, latency[i])
		}
	}
	f[CtxLatencyAutocorrelation] = correlation(c.x, c.y)
	c.pairs(n)
	for i := range rows {
		if rows[i].Timed > 0 {
			c.x, c.y = append(c.x, latency[i]), append(c.y, c.depth[i])
		}
	}
	f[CtxLatencyOnDepth] = correlation(c.x, c.y)
	c.pairs(n)
	for i := range rows {
		if r := &rows[i]; r.TimedReads > 0 {
			c.x, c.y = append(c.x, over(r.ReadLatencyNS, r.TimedReads)), append(c.y, c.written[i])
		}
	}
	f[CtxReadLatencyOnWrites] = correlation(c.x, c.y)
	c.pairs(n)
	for i := range rows {
		if rows[i].BusyNS > 0 {
			c.x, c.y = append(c.x, c.bytes[i]), append(c.y, c.depth[i])
		}
	}
	f[CtxThroughputOnDepth] = correlation(c.x, c.y)
}

// pairs begins a list of at most n pairs.
func (c *calculator) pairs(n int) {
	c.x, c.y = room(&c.x, n)[:0], room(&c.y, n)[:0]
}
