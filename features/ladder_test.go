package features

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

// stagedEvent is a read with its four stages, in ns; insert < 0: it is never inserted.
func stagedEvent(end, get, plug, insert, device int64) ingest.Event {
	e := ingest.NewEvent()
	e.TimeNS, e.Kind, e.Op, e.SizeBytes, e.OffsetBytes = end, ingest.KindQ2C, ingest.OpRead, 4096, 0
	e.QueueNS, e.GetNS, e.InsertNS = get+plug+max(insert, 0), plug+max(insert, 0), insert
	e.LatencyNS = e.QueueNS + device
	return e
}

// TestLadder holds the figures of 10,000 requests against their own sorted
// times: counts, means and deviations exactly, quantiles within a bucket's 6 %.
func TestLadder(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	var whole, a, b Ladder
	times := map[Stage][]int64{}
	for i := range 10_000 {
		part := func(mean float64) int64 { return int64(r.ExpFloat64()*mean) + 1 }
		get, plug, insert, device := part(2e3), part(5e4), part(3e6), part(8e5)
		if i%4 == 0 {
			insert = -1
		}
		e := stagedEvent(1e15, get, plug, insert, device)
		whole.AddEvent(&e)
		if i%3 == 0 {
			a.AddEvent(&e)
		} else {
			b.AddEvent(&e)
		}
		add := func(s Stage, ns int64) { times[s] = append(times[s], ns) }
		add(StageBlock, e.LatencyNS)
		add(StageQueue, e.QueueNS)
		add(StageGet, get)
		if insert >= 0 {
			add(StagePlug, plug)
			add(StageScheduler, insert)
		} else {
			add(StageDirect, plug)
		}
		add(StageDevice, device)
	}
	steps := whole.Steps()
	if len(steps) != 7 {
		t.Fatalf("%d stages", len(steps))
	}
	at := 0
	for s := range Stages {
		all := times[s]
		if all == nil {
			continue
		}
		got := steps[at]
		at++
		slices.Sort(all)
		var sum, squares float64
		for _, v := range all {
			sum += float64(v)
		}
		mean := sum / float64(len(all))
		for _, v := range all {
			squares += (float64(v) - mean) * (float64(v) - mean)
		}
		near := func(what string, got, want, within float64) {
			if math.Abs(got/want-1) > within {
				t.Errorf("%s: %s %g, want %g", s, what, got, want)
			}
		}
		if got.Name != s.String() || got.N != int64(len(all)) || got.ClockNS != 0 {
			t.Errorf("%s: %+v of %d", s, got, len(all))
		}
		near("mean", got.MeanNS, mean, 1e-9)
		near("deviation", got.DevNS, math.Sqrt(squares/float64(len(all))), 1e-6)
		near("P50", got.P50NS, float64(all[len(all)/2]), 0.06)
		near("P99", got.P99NS, float64(all[len(all)*99/100]), 0.06)
	}
	if b.Merge(&a); b != whole {
		t.Error("parts do not add up to the whole")
	}
	var back Ladder
	for _, l := range []*Ladder{&a, {}} {
		if err := back.AddPacked(l.Pack()); err != nil {
			t.Fatal(err)
		}
	}
	if back != a {
		t.Error("packing changes a ladder")
	}
	if p := whole.Pack(); len(p) > 2000 {
		t.Errorf("%d bytes packed", len(p))
	}
}

func TestLadderBuckets(t *testing.T) {
	last := 0
	for _, ns := range []int64{0, 1, 127, 128, 143, 144, 1000, 1 << 20, 1<<39 - 1, 1 << 39, math.MaxInt64} {
		b := ladderBucket(ns)
		from, to := ladderFrom(b), ladderFrom(b+1)
		if b < last || b >= ladderBuckets || float64(ns) < from || float64(ns) >= to && b < ladderBuckets-1 {
			t.Errorf("%d ns is in bucket %d, from %g to %g", ns, b, from, to)
		}
		last = b
	}
}

// FuzzLadder reads anything as a packed ladder: what is taken packs to itself.
func FuzzLadder(f *testing.F) {
	var l Ladder
	e := stagedEvent(1e15, 1000, 2000, 3000, 1e6)
	l.AddEvent(&e)
	f.Add(string(l.Pack()))
	f.Add(string(l.Pack()[:9]))
	f.Add("\x01\x02")
	f.Add("\xff")
	f.Fuzz(func(t *testing.T, p string) {
		var l, again Ladder
		if l.AddPacked(Packed(p)) != nil {
			if l != again {
				t.Error("a damaged ladder leaves counts")
			}
			return
		}
		if err := again.AddPacked(l.Pack()); err != nil || again != l {
			t.Errorf("%v: not its own", err)
		}
	})
}
