package analysis

import (
	"fmt"
	"math"

	"github.com/iopathy/iopathy/features"
)

const (
	fewestPairs = 24  // of a region whose latency is told
	fewRegions  = 4   // with as many, below which none can stand out
	slowTimes   = 1.5 // as long as elsewhere, from which on a region is slow
	deviations  = 5   // standard errors by which it must stand out: it is the best of many runs
	sixteenths  = 16  // of an octave in RegionSums.Excess
)

// SlowRegion looks for a part of the device's addresses whose reads take longer
// than reads of other parts at the same time (features.RegionSums). Reads that
// are longer by their size are no slow region.
func SlowRegion(key features.Key, p *features.Profile) Finding {
	f := Finding{Kind: SlowAddresses, Key: key}
	all := p.Regions()
	var told []features.RegionSums
	var pairs, reads, latency int64
	for _, r := range all {
		reads, latency = reads+r.Reads, latency+r.LatencyNS
		pairs += r.Pairs
	}
	told, pairs = enough(all, pairs)
	if len(told) < fewRegions {
		f.Says = fmt.Sprintf("whether a part of its addresses is slow can't be told: of regions read beside others at the same time there are %d, %d are needed", len(told), fewRegions)
		return f
	}
	f.Told = true
	centre := middle(told, pairs)
	// The run of neighbouring regions with the largest excess over half of what
	// makes one slow (the largest sum of consecutive numbers).
	var best, run features.RegionSums
	most, sum := 0.0, 0.0
	for _, r := range told {
		more := float64(r.Excess) - (centre+sixteenths*math.Log2(slowTimes)/2)*float64(r.Pairs)
		if sum <= 0 {
			run, sum = features.RegionSums{FromBytes: r.FromBytes}, 0
		}
		sum += more
		run.ToBytes = r.ToBytes
		run.Reads, run.Bytes, run.LatencyNS = run.Reads+r.Reads, run.Bytes+r.Bytes, run.LatencyNS+r.LatencyNS
		run.Pairs, run.Excess, run.Squares = run.Pairs+r.Pairs, run.Excess+r.Excess, run.Squares+r.Squares
		if sum > most {
			best, most = run, sum
		}
	}
	if best.Pairs > 0 {
		mean := float64(best.Excess) / float64(best.Pairs)
		sd := math.Sqrt(math.Max(float64(best.Squares)/float64(best.Pairs)-mean*mean, 1))
		if mean-centre < sixteenths*math.Log2(slowTimes) || (mean-centre)*math.Sqrt(float64(best.Pairs)) < deviations*sd {
			best = features.RegionSums{}
		}
	}
	rest := reads - best.Reads
	if best.Reads == 0 || rest == 0 || 2*best.Pairs > pairs {
		f.Says = fmt.Sprintf("no part of its addresses is slower than the rest: %d regions were read side by side", len(told))
		return f
	}
	var bytes int64
	for _, r := range all {
		bytes += r.Bytes
	}
	larger := ratio(best.Bytes, best.Reads) / math.Max(ratio(bytes-best.Bytes, rest), 1)
	mean := float64(best.Excess)/float64(best.Pairs) - centre
	sd := math.Sqrt(math.Max(float64(best.Squares)/float64(best.Pairs)-math.Pow(mean+centre, 2), 1) / float64(best.Pairs))
	times := func(v float64) float64 { return math.Exp2(v / sixteenths) } // as long
	if larger > slowTimes && larger > times(mean)/slowTimes {
		f.Says = fmt.Sprintf("reads of %s to %s take %.2g times as long as others, but are %.2g times as large", gib(best.FromBytes), gib(best.ToBytes), times(mean), larger)
		return f
	}
	f.Holds = true
	share := ratio(best.Reads, reads)
	f.Figures = append(f.Figures, figure("from", "B", float64(best.FromBytes)), figure("to", "B", float64(best.ToBytes)),
		Figure{"times as long as reads elsewhere", "1", times(mean), times(mean - 1.96*sd), times(mean + 1.96*sd)},
		figure("mean latency there", "s", ratio(best.LatencyNS, best.Reads)/1e9), figure("mean latency elsewhere", "s", ratio(latency-best.LatencyNS, rest)/1e9),
		figure("share of reads", "0..1", share), figure("share of the time of reads", "0..1", ratio(best.LatencyNS, latency)))
	f.Says = fmt.Sprintf("reads of the addresses from %s to %s typically take %.2g times as long (95 %% interval %.2g to %.2g) as reads elsewhere at the same time: on the mean %s against %s; %.0f %% of the reads go there, and %.0f %% of their time",
		gib(best.FromBytes), gib(best.ToBytes), times(mean), times(mean-1.96*sd), times(mean+1.96*sd), seconds(ratio(best.LatencyNS, best.Reads)/1e9), seconds(ratio(latency-best.LatencyNS, rest)/1e9), 100*share, 100*ratio(best.LatencyNS, latency))
	return f
}

// enough joins neighbouring regions, as long as there are some to compare, until
// most pairs lie in regions that have enough of them.
func enough(all []features.RegionSums, pairs int64) (told []features.RegionSums, within int64) {
	for {
		told, within = nil, 0
		for _, r := range all {
			if r.Pairs >= fewestPairs {
				told = append(told, r)
				within += r.Pairs
			}
		}
		if 5*within >= 4*pairs || len(all) < 4*fewRegions {
			return told, within
		}
		var joined []features.RegionSums
		for _, r := range all {
			long := 2 * (r.ToBytes - r.FromBytes)
			from := r.FromBytes / long * long
			if n := len(joined); n > 0 && joined[n-1].FromBytes == from {
				j := &joined[n-1]
				j.Reads, j.Bytes, j.LatencyNS = j.Reads+r.Reads, j.Bytes+r.Bytes, j.LatencyNS+r.LatencyNS
				j.Pairs, j.Excess, j.Squares = j.Pairs+r.Pairs, j.Excess+r.Excess, j.Squares+r.Squares
				continue
			}
			r.FromBytes, r.ToBytes = from, from+long
			joined = append(joined, r)
		}
		all = joined
	}
}

// middle is the median of the regions' mean excess, each weighed by its pairs.
func middle(told []features.RegionSums, pairs int64) float64 {
	at := make([]int, len(told))
	for i := range at {
		at[i] = i
	}
	mean := func(i int) float64 { return float64(told[i].Excess) / float64(told[i].Pairs) }
	sortBy(at, mean)
	sum := int64(0)
	for _, i := range at {
		if sum += told[i].Pairs; 2*sum >= pairs {
			return mean(i)
		}
	}
	return 0
}

func gib(b int64) string { return fmt.Sprintf("%.4g GiB", float64(b)/(1<<30)) }
