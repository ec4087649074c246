package analysis

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/iopathy/iopathy/cluster/knee"
	"github.com/iopathy/iopathy/features"
)

const (
	fewRequests   = 100   // of a device that tell of their shape
	misaligned    = 0.1   // of reads and writes, from which on it is something to act upon
	sequential    = 0.5   // of reads and writes, from which on merging would pay
	smallBytes    = 32768 // below which requests in a row could be merged
	mergedShare   = 0.1   // from which on they are merged
	metadataShare = 0.5   // of the requests of a device whose knee is one of operations
)

func sortBy(at []int, value func(i int) float64) {
	slices.SortStableFunc(at, func(a, b int) int { return cmp.Compare(value(a), value(b)) })
}

// weighed is the mean of a fact over windows, each weighed by its requests;
// NaN where no window tells it.
func weighed(windows []features.Window, fact int) (mean float64, requests int64) {
	var sum float64
	for i := range windows {
		if v := windows[i].Context[fact]; v == v {
			sum += v * float64(windows[i].Requests)
			requests += windows[i].Requests
		}
	}
	if requests == 0 {
		return math.NaN(), 0
	}
	return sum / float64(requests), requests
}

// Alignment tells how many reads and writes begin or end off the 4 KiB grid,
// so that the device or the file system must read before it writes.
func Alignment(key features.Key, windows []features.Window) Finding {
	f := Finding{Kind: Misalignment, Key: key}
	share, n := weighed(windows, features.CtxMisalignedShare)
	if n < fewRequests {
		f.Says = "whether requests are aligned can't be told: the source gives no offsets and sizes, or too few"
		return f
	}
	f.Told, f.Holds = true, share >= misaligned
	f.Figures = append(f.Figures, figure("share of reads and writes off the 4 KiB grid", "0..1", share))
	f.Says = fmt.Sprintf("%.2g %% of its reads and writes begin or end off the 4 KiB grid", 100*share)
	if f.Holds {
		written, _ := weighed(windows, features.CtxWriteShare)
		f.Says += fmt.Sprintf("; %.0f %% of its requests are writes, of which those that are off it cost a read as well", 100*written)
	}
	return f
}

// Merging tells whether small requests in a row reach the device unmerged.
func Merging(key features.Key, windows []features.Window) Finding {
	f := Finding{Kind: MergeFailure, Key: key}
	row, n := weighed(windows, features.CtxSequentialShare)
	size, _ := weighed(windows, features.CtxSizeMean)
	if n < fewRequests || size != size {
		f.Says = "whether requests could be merged can't be told: the source gives no offsets and sizes, or too few"
		return f
	}
	merged, known := weighed(windows, features.CtxMergeShare)
	f.Told = true
	f.Figures = append(f.Figures, figure("share of reads and writes that follow one another", "0..1", row), figure("mean size", "B", size))
	if known > 0 {
		f.Figures = append(f.Figures, figure("share that is merged", "0..1", merged))
	}
	switch {
	case row < sequential || size >= smallBytes:
		f.Says = fmt.Sprintf("%.0f %% of its reads and writes follow one another, of %.3g KiB on the mean: there is little to merge", 100*row, size/1024)
	case known > 0 && merged >= mergedShare:
		f.Says = fmt.Sprintf("%.0f %% of its reads and writes follow one another, and %.0f %% are merged", 100*row, 100*merged)
	default:
		f.Holds = true
		f.Says = fmt.Sprintf("%.0f %% of its reads and writes follow one another, but reach it as %.3g KiB each", 100*row, size/1024)
		if known > 0 {
			f.Says += fmt.Sprintf(", of which %.2g %% are merged", 100*merged)
		}
		f.Says += fmt.Sprintf(": of 128 KiB they would be %.0f times fewer", 131072/math.Max(size, 512))
	}
	return f
}

// MetadataKnee reads the knee of a device that serves metadata (flushes, FUA,
// metadata and what is neither read nor write are most of its requests) as
// operations a second against concurrency. It is false for other devices.
func MetadataKnee(windows []features.Window, saturation *Finding) (Finding, bool) {
	f := Finding{Kind: MetadataOperations, Key: saturation.Key}
	share := 0.0
	for _, k := range []int{features.CtxMetaShare, features.CtxFUAShare, features.CtxFlushShare} {
		if v, n := weighed(windows, k); n > 0 {
			share += v
		}
	}
	other, known := 1.0, false
	for _, k := range []int{features.CtxReadShare, features.CtxWriteShare, features.CtxFlushShare, features.CtxDiscardShare} {
		if v, n := weighed(windows, k); n > 0 {
			other -= v
			known = true
		}
	}
	if known {
		share += math.Max(other, 0)
	}
	share = math.Min(share, 1)
	if share < metadataShare {
		return f, false
	}
	f.Figures = append(f.Figures, figure("share of metadata, flushes and FUA", "0..1", share))
	c := saturation.Curve
	if !saturation.Told || c == nil {
		f.Says = fmt.Sprintf("%.0f %% of its requests are metadata, flushes or FUA; at what concurrency it is full can't be told", 100*share)
		return f, true
	}
	f.Told = true
	last := c.Points[len(c.Points)-1]
	if c.Knee.State != knee.Found && (c.Knee.State != knee.Below || c.Points[0].Depth > serial) {
		f.Says = fmt.Sprintf("%.0f %% of its requests are metadata, flushes or FUA; up to %.3g at once it does %s, %s each, with no knee between", 100*share, last.Depth, perSecond(last.RatePerS), seconds(last.LatencyS))
		return f, true
	}
	at := c.Knee.Depth
	if c.Knee.State == knee.Below {
		at = 1
	}
	f.Holds = last.Depth > 1.5*at
	f.Figures = append(f.Figures, Figure{"knee", "at once", at, c.Knee.Low, c.Knee.High}, figure("operations", "1/s", c.ceiling()), figure("latency at the most at once", "s", last.LatencyS))
	f.Says = fmt.Sprintf("%.0f %% of its requests are metadata, flushes or FUA: more than %.3g at once give no more operations (at most %s), and at %.3g each takes %s", 100*share, at, perSecond(c.ceiling()), last.Depth, seconds(last.LatencyS))
	return f, true
}
