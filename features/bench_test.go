package features

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

// stream is a device under load: n events at a mean depth of about 8, in the
// total order, with their largest latency.
func stream(n int, reads float64, seed uint64) (events []ingest.Event, lookAhead int64) {
	r := rand.New(rand.NewPCG(seed, 1))
	events = make([]ingest.Event, n)
	now := int64(1_700_000_003_000_000_000)
	for i := range events {
		e := ingest.NewEvent()
		now += 1 + int64(r.ExpFloat64()*100e3)
		e.LatencyNS = 200e3 + int64(r.ExpFloat64()*600e3)
		e.TimeNS = now + e.LatencyNS
		e.QueueNS = e.LatencyNS / 4
		e.Kind = ingest.KindQ2C
		e.Comm = ingest.Name(1 + r.IntN(3))
		e.SizeBytes = 4096 << r.IntN(4)
		e.OffsetBytes = r.Int64N(1<<20) * 4096
		e.Op = ingest.OpWrite
		if r.Float64() < reads {
			e.Op = ingest.OpRead
		}
		e.Flags = ingest.Flags(r.IntN(3))
		e.Position = int64(i) * 100
		events[i] = e
		lookAhead = max(lookAhead, e.LatencyNS)
	}
	inOrder(events)
	return events, lookAhead
}

// inOrder sorts events into the total order.
func inOrder(events []ingest.Event) {
	slices.SortStableFunc(events, func(a, b ingest.Event) int {
		switch {
		case a.TimeNS != b.TimeNS:
			return int(min(max(a.TimeNS-b.TimeNS, -1), 1))
		case a.StartNS() != b.StartNS():
			return int(min(max(a.StartNS()-b.StartNS(), -1), 1))
		}
		return int(min(max(a.Position-b.Position, -1), 1))
	})
}

func BenchmarkFold(b *testing.B) {
	for _, load := range []struct {
		name  string
		reads float64
	}{{"reads=0", 0}, {"reads=0.6", 0.6}, {"reads=1", 1}} {
		b.Run(load.name, func(b *testing.B) {
			events, lookAhead := stream(1_000_000, load.reads, 7)
			b.ReportAllocs()
			for b.Loop() {
				f := NewFold(Key{"h", "d"}, DefaultOptions(), lookAhead, nil, func(*Window) {})
				for i := range events {
					f.Add(&events[i])
				}
				f.Close(0)
			}
			b.ReportMetric(float64(b.N)*float64(len(events))/b.Elapsed().Seconds()/1e6, "Mevents/s")
		})
	}
}
