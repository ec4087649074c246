package features

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

// short are options of small ticks, so that random times collide: a tick of
// 10 ns, a window of 24 ticks.
func short() Options {
	o := DefaultOptions()
	o.TickNS, o.WindowNS = 10, 240
	o.MinStallNS = 50
	return o
}

func event(start, latency int64, op ingest.Op) ingest.Event {
	e := ingest.NewEvent()
	e.TimeNS, e.LatencyNS, e.Op, e.Kind = start+latency, latency, op, ingest.KindQ2C
	e.SizeBytes, e.OffsetBytes = 4096, 0
	return e
}

func lookAheadOf(events []ingest.Event) int64 {
	l := int64(0)
	for i := range events {
		l = max(l, events[i].LatencyNS)
	}
	return l
}

// fold runs a fold over events and keeps what it emits.
func fold(o Options, events []ingest.Event, lookAhead int64, open []int64, endNS int64) (ticks []Tick, windows []Window) {
	f := NewFold(Key{"h", "d"}, o, lookAhead,
		func(t *Tick) { ticks = append(ticks, *t) },
		func(w *Window) { windows = append(windows, *w) })
	for _, start := range open {
		f.AddOpen(start)
	}
	for i := range events {
		f.Add(&events[i])
	}
	f.Close(endNS)
	return ticks, windows
}

// same reports the first difference of two lists of windows, bit for bit.
func same(a, b []Window) string {
	if len(a) != len(b) {
		return fmt.Sprintf("%d windows and %d", len(a), len(b))
	}
	for i := range a {
		if x, y := fmt.Sprintf("%+v", a[i]), fmt.Sprintf("%+v", b[i]); x != y {
			return fmt.Sprintf("window %d:\n%s\n%s", i, x, y)
		}
	}
	return ""
}

func randomEvents(r *rand.Rand, n int) []ingest.Event {
	events := make([]ingest.Event, n)
	now := int64(100_000)
	for i := range events {
		now += int64(r.ExpFloat64() * 6)
		if r.IntN(50) == 0 {
			now += r.Int64N(900)
		}
		latency := int64(r.ExpFloat64() * 8)
		if r.IntN(60) == 0 {
			latency += r.Int64N(1500)
		}
		e := event(now, latency, ingest.Op(r.IntN(5)))
		e.OffsetBytes = r.Int64N(64) * 4096
		e.SizeBytes = r.Int64N(5) * 4096
		e.Flags = ingest.Flags(r.IntN(32))
		e.Position = int64(i)
		events[i] = e
	}
	inOrder(events)
	return events
}

// slowTick computes a tick from its definition, in time events x points.
func slowTick(events []ingest.Event, start, length int64) Tick {
	t := Tick{StartNS: start}
	end := start + length
	points := []int64{start, end}
	depthAt := func(at int64) (d int64) { // just after at, I/Os of no length still seen
		for i := range events {
			s, e := events[i].StartNS(), events[i].TimeNS
			if s <= at && (at < e || s == at && e == at) {
				d++
			}
		}
		return d
	}
	peak := int64(0)
	for i := range events {
		ev := &events[i]
		s, e := ev.StartNS(), ev.TimeNS
		if s < start && e >= start {
			peak++
		}
		t.InFlightNS += max(min(e, end)-max(s, start), 0)
		if s >= start && s < end {
			t.Arrivals++
			points = append(points, s)
		}
		if e >= start && e < end {
			points = append(points, e)
			switch ev.Op {
			case ingest.OpRead:
				t.Reads++
				t.ReadBytes += ev.SizeBytes
				t.TimedReads++
				t.ReadLatencyNS += ev.LatencyNS
			case ingest.OpWrite:
				t.Writes++
				t.WriteBytes += ev.SizeBytes
			default:
				t.Others++
			}
			t.Timed++
			t.LatencyNS += ev.LatencyNS
			t.MaxLatencyNS = max(t.MaxLatencyNS, ev.LatencyNS)
		}
	}
	slices.Sort(points)
	for i, at := range points {
		if at < end {
			peak = max(peak, depthAt(at))
		}
		if i+1 < len(points) && points[i+1] > at {
			for j := range events {
				if events[j].StartNS() <= at && events[j].TimeNS > at {
					t.BusyNS += points[i+1] - at
					break
				}
			}
		}
	}
	t.PeakDepth = int32(peak)
	return t
}

// slowGap is the longest gap with I/O waiting within [from, to).
func slowGap(events []ingest.Event, from, to int64) int64 {
	longest := int64(0)
	piece := func(a, b int64) { longest = max(longest, min(b, to)-max(a, from)) }
	starts := make([]int64, len(events))
	for i := range events {
		starts[i] = events[i].StartNS()
	}
	slices.Sort(starts)
	piece(starts[0], events[0].TimeNS)
	for i := 0; i+1 < len(events); i++ {
		done := events[i].TimeNS
		began := 0
		for _, s := range starts {
			if s <= done {
				began++
			}
		}
		since := done
		if began == i+1 { // nothing waits: the gap begins with the next arrival
			since = starts[i+1]
		}
		piece(since, events[i+1].TimeNS)
	}
	return longest
}

func TestFoldAgainstDefinition(t *testing.T) {
	o := short()
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 2))
		events := randomEvents(r, 20+r.IntN(300))
		ticks, windows := fold(o, events, lookAheadOf(events), nil, 0)
		last := events[len(events)-1].TimeNS
		first := last
		for i := range events {
			first = min(first, events[i].StartNS())
		}
		i := 0
		for start := first / 10 * 10; start <= last; start += 10 {
			want := slowTick(events, start, 10)
			if want.Quiet() {
				continue
			}
			if i >= len(ticks) || ticks[i] != want {
				t.Fatalf("seed %d: tick %d:\n got %+v\nwant %+v", seed, i, ticks[min(i, len(ticks)-1)], want)
			}
			i++
		}
		if i != len(ticks) {
			t.Fatalf("seed %d: %d ticks, want %d", seed, len(ticks), i)
		}
		at := first / 240 * 240
		requests := int64(0)
		for _, w := range windows {
			if w.StartNS != at || w.EndNS != at+240 {
				t.Fatalf("seed %d: window at %d, want %d: a gap in the span", seed, w.StartNS, at)
			}
			at += 240
			requests += w.Requests
			want := slowGap(events, max(w.StartNS, first), min(w.EndNS, last))
			if got := w.Context[CtxStallSeconds]; !math.IsNaN(got) && math.Abs(got*1e9-float64(max(want, 0))) > 1e-6 {
				t.Fatalf("seed %d: window %d: gap %g ns, want %d", seed, w.StartNS, got*1e9, want)
			}
		}
		if at <= last || at-240 > last {
			t.Fatalf("seed %d: the last window ends at %d, the span at %d", seed, at, last)
		}
		if requests != int64(len(events)) {
			t.Fatalf("seed %d: %d requests, want %d", seed, requests, len(events))
		}
	}
}

// A larger look-ahead, or a smaller one with the long I/Os announced, gives
// the same windows.
func TestFoldLookAhead(t *testing.T) {
	o := short()
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 3))
		events := randomEvents(r, 400)
		l := lookAheadOf(events)
		wantTicks, want := fold(o, events, l, nil, 0)
		for _, more := range []int64{1, 10, 777, 100_000} {
			ticks, got := fold(o, events, l+more, nil, 0)
			if d := same(got, want); d != "" {
				t.Fatalf("look-ahead %d: %s", l+more, d)
			}
			if !slices.Equal(ticks, wantTicks) {
				t.Fatalf("look-ahead %d: ticks differ", l+more)
			}
		}
		for _, less := range []int64{0, 3, 20, l / 2} {
			var got []Window
			f := NewFold(Key{"h", "d"}, o, less, nil, func(w *Window) { got = append(got, *w) })
			for i := range events {
				if events[i].LatencyNS > less {
					f.AddLong(events[i].StartNS())
				}
			}
			for i := range events {
				f.Add(&events[i])
			}
			f.Close(0)
			if d := same(got, want); d != "" {
				t.Fatalf("look-ahead %d: %s", less, d)
			}
		}
	}
}

// Any cut at a window's border, folded again from a halo before it, gives the
// windows after it.
func TestFoldCut(t *testing.T) {
	o := short()
	o.RereadNS = 400
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 4))
		events := randomEvents(r, 600)
		l := lookAheadOf(events)
		_, want := fold(o, events, l, nil, 0)
		for _, k := range []int{4, 7, len(want) / 2} {
			cut := want[k].StartNS
			var halo []ingest.Event
			for i := range events {
				if events[i].TimeNS >= cut-o.HaloNS() {
					halo = append(halo, events[i])
				}
			}
			_, got := fold(o, halo, l, nil, 0)
			for len(got) > 0 && got[0].StartNS < cut {
				got = got[1:]
			}
			if d := same(got, want[k:]); d != "" {
				t.Fatalf("seed %d, cut at window %d: %s", seed, k, d)
			}
		}
	}
}

func TestFoldOutOfOrder(t *testing.T) {
	for _, gap := range []int64{1, 1e9} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("events %d ns out of order are taken", gap)
				}
			}()
			a, b := event(5e9+gap, 10, ingest.OpRead), event(5e9, 10, ingest.OpRead)
			fold(DefaultOptions(), []ingest.Event{a, b}, 10, nil, 0)
		}()
	}
}

// Events that differ only in what the total order ends with may come in any
// order among themselves.
func TestFoldEqualEvents(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	events := randomEvents(r, 500)
	for i := range events {
		events[i].OffsetBytes, events[i].SizeBytes, events[i].Op, events[i].Flags = 0, 4096, ingest.OpWrite, 0
	}
	inOrder(events)
	_, want := fold(short(), events, lookAheadOf(events), nil, 0)
	for i := range events {
		events[i].Position = -events[i].Position
	}
	inOrder(events)
	_, got := fold(short(), events, lookAheadOf(events), nil, 0)
	if d := same(got, want); d != "" {
		t.Fatal(d)
	}
}

func TestFoldAllocations(t *testing.T) {
	events, l := stream(200_000, 0.5, 3)
	f := NewFold(Key{"h", "d"}, DefaultOptions(), l, func(*Tick) {}, func(*Window) {})
	half := len(events) / 2
	for i := range events[:half] {
		f.Add(&events[i])
	}
	next := half
	if n := testing.AllocsPerRun(1, func() {
		for range half / 2 {
			f.Add(&events[next])
			next++
		}
	}); n > 60 {
		t.Errorf("%g allocations for %d events", n, half/2)
	}
}

// A fold in the memory of others gives what it gives in its own.
func TestFoldTake(t *testing.T) {
	o := short()
	o.RereadNS, o.RereadBlocks = 3000, 300
	r := rand.New(rand.NewPCG(21, 21))
	var closed *Fold
	for trial := range 12 {
		events := randomEvents(r, 200+r.IntN(6000))
		for i := range events {
			events[i].OffsetBytes = r.Int64N(2000) * 4096
		}
		_, want := fold(o, events, lookAheadOf(events), nil, 0)
		var got []Window
		f := NewFold(Key{"h", "d"}, o, lookAheadOf(events), nil, func(w *Window) { got = append(got, *w) })
		if closed != nil {
			f.Take(closed)
		}
		for i := range events {
			f.Add(&events[i])
		}
		f.Close(0)
		closed = f
		if diff := same(got, want); diff != "" {
			t.Fatalf("trial %d: %s", trial, diff)
		}
	}
}
