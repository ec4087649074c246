package local

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
)

// latencyBucketFact is the name of the facts that are a bucket of a histogram
// of latencies.
const latencyBucketFact = "latency_bucket_ns"

// allDisks is the device of histograms that tell of none: they are of all that
// the host has.
const allDisks = "all-disks"

// mostBuckets bounds the buckets of a host's histograms that are held.
const mostBuckets = 4 << 20

// latencies is a host's histograms by device, input and time.
type latencies struct {
	devices map[string]map[string]map[int64][]features.LatencyBucket
	buckets int
}

// add takes a fact: "128000..256000 flags=Read" and its count.
func (l *latencies) add(device, input string, ns int64, text string, value float64) {
	bounds, of, _ := strings.Cut(text, " ")
	low, high, ok := strings.Cut(bounds, "..")
	from, err1 := strconv.ParseInt(low, 10, 64)
	to, err2 := strconv.ParseInt(high, 10, 64)
	if !ok || err1 != nil || err2 != nil || from < 0 || to <= from || to > ingest.MaxLatencyNS ||
		!(value >= 1 && value*float64(to) <= features.MostLatencySum) || l.buckets == mostBuckets {
		return
	}
	l.buckets++
	if l.devices == nil {
		l.devices = map[string]map[string]map[int64][]features.LatencyBucket{}
	}
	device = cmp.Or(device, allDisks)
	if l.devices[device] == nil {
		l.devices[device] = map[string]map[int64][]features.LatencyBucket{}
	}
	if l.devices[device][input] == nil {
		l.devices[device][input] = map[int64][]features.LatencyBucket{}
	}
	times := l.devices[device][input]
	times[ns] = append(times[ns], features.LatencyBucket{LowNS: from, HighNS: to, N: int64(value), Op: opOf(of)})
}

// opOf reads the operation of biolatency -F: "flags=Sync-Write".
func opOf(of string) ingest.Op {
	flags, ok := strings.CutPrefix(of, "flags=")
	switch words := strings.Split(flags, "-"); {
	case !ok:
	case slices.Contains(words, "Read"):
		return ingest.OpRead
	case slices.Contains(words, "Write"):
		return ingest.OpWrite
	case slices.Contains(words, "Flush"):
		return ingest.OpFlush
	case slices.Contains(words, "Discard"):
		return ingest.OpDiscard
	}
	return ingest.OpOther
}

// of gives a device's histograms by time: those of the input that has most, of
// equals the least identity.
func (l *latencies) of(device string) []features.LatencyHistogram {
	var best map[int64][]features.LatencyBucket
	for _, input := range sortedKeys(l.devices[device]) {
		if times := l.devices[device][input]; len(times) > len(best) {
			best = times
		}
	}
	var all []features.LatencyHistogram
	for ns, buckets := range best {
		all = append(all, features.LatencyHistogram{TimeNS: ns, Buckets: buckets})
	}
	slices.SortFunc(all, func(a, b features.LatencyHistogram) int { return cmp.Compare(a.TimeNS, b.TimeNS) })
	return all
}

// foldHistograms folds a device of which there is nothing better. Histograms of
// all disks count where the host has no other recording.
func foldHistograms(key features.Key, f *folding, all []features.LatencyHistogram) {
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].TimeNS-all[n-1].TimeNS <= breakNS {
			n++
		}
		features.FoldHistograms(key, f.o, all[:n], f.addTick, f.addWindow)
		all = all[n:]
	}
}

// histogramsOf counts the histograms of latencies among facts in their order.
func histogramsOf(b *ingest.Batch, rows []int32) (n int64) {
	type one struct {
		host, device ingest.Name
		ns           int64
	}
	seen := map[one]bool{}
	for _, i := range rows {
		f := &b.Evidence[i]
		if b.Names.String(f.Name) == latencyBucketFact {
			seen[one{f.Host, f.Device, f.TimeNS}] = true
		}
	}
	return int64(len(seen))
}
