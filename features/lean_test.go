package features

import (
	"math/rand/v2"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

// A fold of vectors alone gives those of one of everything, however its events
// are cut; also in the memory of another fold.
func TestVectorsOnly(t *testing.T) {
	o := short()
	o.RereadNS, o.RereadBlocks = 3000, 300
	r := rand.New(rand.NewPCG(9, 9))
	var closed *Fold
	for trial := range 40 {
		events := randomEvents(r, 50+r.IntN(4000))
		for i := range events {
			e := &events[i]
			e.OffsetBytes = r.Int64N(2000) * 4096
			switch r.IntN(30) {
			case 0:
				e.LatencyNS = ingest.Missing
			case 1:
				e.SizeBytes = ingest.Missing
			case 2:
				e.OffsetBytes = ingest.Missing
			case 3:
				e.Op = ingest.Op(200)
			}
		}
		inOrder(events)
		var open []int64
		if trial%3 == 0 {
			open = []int64{events[len(events)/2].StartNS()}
		}
		_, want := fold(o, events, lookAheadOf(events), open, 0)
		for i := range want {
			want[i].Context = missingContext()
		}
		var got []Window
		f := NewFold(Key{"h", "d"}, o, lookAheadOf(events), func(*Tick) { t.Fatal("a tick") }, func(w *Window) { got = append(got, *w) })
		f.VectorsOnly()
		if closed != nil {
			f.Take(closed)
		}
		for _, start := range open {
			f.AddOpen(start)
		}
		for rest := events; len(rest) > 0; {
			n := 1 + r.IntN(min(len(rest), 100))
			if n == 1 {
				f.Add(&rest[0])
			} else {
				f.AddAll(rest[:n])
			}
			rest = rest[n:]
		}
		f.Close(0)
		closed = f
		if diff := same(got, want); diff != "" {
			t.Fatalf("trial %d: %s", trial, diff)
		}
	}
	events := randomEvents(r, 3000)
	var windows []Window
	full := NewFold(Key{"h", "d"}, o, lookAheadOf(events), nil, func(w *Window) { windows = append(windows, *w) })
	full.Take(closed)
	full.AddAll(events)
	full.Close(0)
	if _, want := fold(o, events, lookAheadOf(events), nil, 0); same(windows, want) != "" {
		t.Error("a fold of everything in the memory of one of vectors alone is another")
	}
}
