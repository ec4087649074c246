package features

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

const (
	ms  = int64(1e6)
	sec = int64(1e9)
)

// steady is a request every step from from to to, each of a latency.
func steady(from, to, step, latency int64, op ingest.Op) (events []ingest.Event) {
	for at := from; at+latency < to; at += step {
		e := event(at, latency, op)
		e.OffsetBytes = int64(len(events)) * 4096 * 7
		e.Position = int64(len(events))
		events = append(events, e)
	}
	return events
}

func TestWindowEdges(t *testing.T) {
	check := func(name string, events []ingest.Event, open []int64, endNS int64, verify func(ws []Window)) {
		t.Helper()
		inOrder(events)
		_, ws := fold(DefaultOptions(), events, lookAheadOf(events), open, endNS)
		verify(ws)
		for _, w := range ws {
			if w.StartNS%(10*sec) != 0 || w.EndNS != w.StartNS+10*sec {
				t.Errorf("%s: window %d..%d is off the grid", name, w.StartNS, w.EndNS)
			}
			for i, v := range w.Vector {
				if math.IsNaN(v) || math.IsInf(v, 0) {
					t.Errorf("%s: feature %s is %g", name, Features[i].Name, v)
				}
			}
			for i, v := range w.Context {
				if math.IsInf(v, 0) {
					t.Errorf("%s: fact %s is %g", name, ContextTable[i].Name, v)
				}
			}
		}
	}
	count := func(name string, ws []Window, n int) {
		t.Helper()
		if len(ws) != n {
			t.Fatalf("%s: %d windows, want %d", name, len(ws), n)
		}
	}

	check("nothing", nil, nil, 100*sec, func(ws []Window) { count("nothing", ws, 0) })

	check("one event", []ingest.Event{event(12*sec, ms, ingest.OpRead)}, nil, 0, func(ws []Window) {
		count("one event", ws, 1)
		if w := ws[0]; w.CoveredTicks != 1 || !w.Idle || w.Requests != 1 || w.Coverage != 0.01 {
			t.Errorf("one event: %+v", w)
		}
	})

	// From 7.55 s to 12.4 s: ticks 75..99 of the first window, 0..24 of the second.
	check("two edges", steady(7*sec+550*ms, 12*sec+450*ms, 50*ms, ms, ingest.OpRead), nil, 0, func(ws []Window) {
		count("two edges", ws, 2)
		for _, w := range ws {
			if w.CoveredTicks != 25 || w.Coverage != 0.25 || w.Idle {
				t.Errorf("two edges: %d ticks covered, coverage %g, idle %v", w.CoveredTicks, w.Coverage, w.Idle)
			}
			if got, want := w.Vector[BusyFraction], 0.02; math.Abs(got-want) > 1e-3 {
				t.Errorf("two edges: busy %g, want %g: shares are over the covered ticks", got, want)
			}
			if e := w.Vector[ThroughputEntropy]; e > 0.15 {
				t.Errorf("two edges: entropy %g of an even load", e)
			}
		}
	})

	check("short edge", steady(8*sec, 10*sec, 50*ms, ms, ingest.OpRead), nil, 0, func(ws []Window) {
		count("short edge", ws, 1)
		if w := ws[0]; !w.Idle || w.Missing.Has(ThroughputEntropy) || !w.Missing.Has(BusyFraction) {
			t.Errorf("short edge: 20 ticks are too few to judge: %+v", w)
		}
	})

	// An I/O that takes 35 s: the windows it spans are stalls.
	long := append(steady(0, 5*sec, 50*ms, ms, ingest.OpRead), event(5*sec, 35*sec, ingest.OpRead))
	check("stall", append(long, steady(40*sec, 45*sec, 50*ms, ms, ingest.OpRead)...), nil, 0, func(ws []Window) {
		count("stall", ws, 5)
		for _, w := range ws[1:4] {
			if w.Requests != 0 || w.Idle || w.Vector[BusyFraction] != 1 || w.Vector[StallGap] != 2 || w.Context[CtxMeanDepth] != 1 {
				t.Errorf("stall: window %d: %+v", w.StartNS/sec, w)
			}
			if w.Missing.Has(LatencyLoadResidual) {
				t.Errorf("stall: window %d has a latency and nothing completed", w.StartNS/sec)
			}
		}
		// 5 s to 10 s waiting, over 0.1 s.
		if got, want := ws[0].Vector[StallGap], math.Log10(50); math.Abs(got-want) > 1e-3 {
			t.Errorf("stall: gap before the border %g, want %g", got, want)
		}
	})

	check("silence", append(steady(0, 5*sec, 50*ms, ms, ingest.OpRead), steady(60*sec, 65*sec, 50*ms, ms, ingest.OpRead)...), nil, 0, func(ws []Window) {
		count("silence", ws, 7)
		for _, w := range ws[1:6] {
			if !w.Idle || w.Requests != 0 || w.CoveredTicks != 100 {
				t.Errorf("silence: %+v", w)
			}
		}
		if g := ws[0].Vector[StallGap]; g != 0 {
			t.Errorf("silence: a stall of %g with nothing waiting", g)
		}
	})

	// At low load the queue is empty when the stall begins: the gap counts
	// from the arrival, 1.5 s, not from the last completion.
	low := append(steady(0, 4*sec, 500*ms, ms, ingest.OpWrite), event(6*sec, 1500*ms, ingest.OpWrite))
	check("low load", append(low, steady(8*sec, 9*sec, 100*ms, ms, ingest.OpWrite)...), nil, 0, func(ws []Window) {
		if got := ws[0].Context[CtxStallSeconds]; got != 1.5 {
			t.Errorf("low load: stall of %g s, want 1.5", got)
		}
	})

	check("open", steady(0, 5*sec, 50*ms, ms, ingest.OpRead), []int64{2 * sec}, 31*sec, func(ws []Window) {
		count("open", ws, 4)
		if got, want := ws[0].Vector[BusyFraction], 0.8+0.02*0.2; math.Abs(got-want) > 1e-6 {
			t.Errorf("open: busy %g, want %g", got, want)
		}
		for _, w := range ws[1:3] {
			if w.Idle || w.Vector[BusyFraction] != 1 || w.Vector[StallGap] != 2 {
				t.Errorf("open: %+v", w)
			}
		}
		if w := ws[3]; w.CoveredTicks != 10 {
			t.Errorf("open: the last window covers %d ticks, want 10", w.CoveredTicks)
		}
	})

	check("open alone", nil, []int64{12 * sec}, 30*sec, func(ws []Window) { count("open alone", ws, 2) })

	check("few but no stall", append(steady(0, 10*sec, 50*ms, ms, ingest.OpRead), event(15*sec, ms, ingest.OpRead), event(25*sec, ms, ingest.OpRead)), nil, 0, func(ws []Window) {
		count("few but no stall", ws, 3)
		if !ws[1].Idle {
			t.Errorf("one quick request in a window is too little to judge")
		}
	})

	check("no length", steady(0, 20*sec, 50*ms, 0, ingest.OpWrite), nil, 0, func(ws []Window) {
		count("no length", ws, 2)
		if w := ws[0]; w.Vector[BusyFraction] != 0 || w.Context[CtxPeakDepth] != 1 || w.Vector[LatencyLoadResidual] != -3 || w.Idle {
			t.Errorf("no length: %+v", w)
		}
	})

	unknown := steady(0, 20*sec, 50*ms, ms, ingest.OpWrite)
	for i := range unknown {
		unknown[i].LatencyNS, unknown[i].Kind = ingest.Missing, ingest.KindNone
	}
	check("no latency", unknown, nil, 0, func(ws []Window) {
		w := ws[0]
		for i, want := range [N]bool{ThroughputEntropy: true, WriteFlood: true, SyncMetadataShare: true, RereadShare: true} {
			if w.Missing.Has(i) != want {
				t.Errorf("no latency: %s known: %v", Features[i].Name, !want)
			}
		}
		if w.Kind != ingest.KindNone || !math.IsNaN(w.Context[CtxLatencyMean]) || !math.IsNaN(w.Context[CtxMeanDepth]) || w.Known != 1 {
			t.Errorf("no latency: %+v", w)
		}
	})

	half := steady(0, 20*sec, 50*ms, ms, ingest.OpWrite)
	for i := range half {
		if i%2 == 0 {
			half[i].TimeNS, half[i].LatencyNS = half[i].StartNS(), ingest.Missing
		}
	}
	check("half the latencies", half, nil, 0, func(ws []Window) {
		if w := ws[0]; w.Known != 0.5 || w.Coverage != 0.5 || !w.Missing.Has(LatencyLoadResidual) {
			t.Errorf("half the latencies: known %g, coverage %g", w.Known, w.Coverage)
		}
	})

	before := steady(-15*sec, 5*sec, 50*ms, ms, ingest.OpRead)
	check("before the epoch", before, nil, 0, func(ws []Window) {
		count("before the epoch", ws, 3)
		if ws[0].StartNS != -20*sec || ws[1].CoveredTicks != 100 {
			t.Errorf("before the epoch: %+v", ws[0])
		}
	})
}

// Order matters: the same I/Os at shuffled times change at least three
// features (here those that read the course of bursts).
func TestShuffledTimeChangesFeatures(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	var bursts, shuffled []ingest.Event
	for b := range int64(10) {
		for i := range int64(60) {
			e := event(b*sec+i*10_000, 2*ms+i*100_000, ingest.OpWrite)
			e.SizeBytes = 65536
			bursts = append(bursts, e)
			s := e
			s.TimeNS = r.Int64N(10*sec-20*ms) + s.LatencyNS
			shuffled = append(shuffled, s)
		}
	}
	inOrder(bursts)
	inOrder(shuffled)
	_, a := fold(DefaultOptions(), bursts, lookAheadOf(bursts), nil, 0)
	_, b := fold(DefaultOptions(), shuffled, lookAheadOf(shuffled), nil, 0)
	changed := 0
	for i := range a[0].Vector {
		if math.Abs(a[0].Vector[i]-b[0].Vector[i]) > 0.1 {
			changed++
		}
	}
	if changed < 3 {
		t.Errorf("shuffling in time changes %d features\n%v\n%v", changed, a[0].Vector, b[0].Vector)
	}
	if a[0].Context[CtxPeriod] != 1 || a[0].Context[CtxBurstRequests] != 60 {
		t.Errorf("bursts of 60 every second: period %g, burst %g", a[0].Context[CtxPeriod], a[0].Context[CtxBurstRequests])
	}
}

func TestPeriod(t *testing.T) {
	check := func(name string, period int64, perBurst int, seconds int64, want float64) {
		t.Helper()
		var events []ingest.Event
		for at := int64(0); at < seconds*sec; at += period {
			for i := range int64(perBurst) {
				events = append(events, event(at+i*50_000, ms, ingest.OpRead))
			}
		}
		_, ws := fold(DefaultOptions(), events, ms, nil, 0)
		got := ws[len(ws)-2].Context[CtxPeriod]
		if math.IsNaN(got) != math.IsNaN(want) || math.Abs(got-want) > 0.05*want {
			t.Errorf("%s: period %g, want %g", name, got, want)
		}
	}
	check("single requests each 20 ms", 20*ms, 1, 30, 0.02)
	check("bursts each 150 ms", 150*ms, 20, 30, 0.15)
	check("bursts each 2 s", 2*sec, 20, 60, 2)
	check("bursts each 8 s", 8*sec, 200, 100, 8)
}
