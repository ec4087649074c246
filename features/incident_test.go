package features

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

// A reader of 1 ms reads meets a writer whose requests of 100 ms stand in the
// queue from 100 s to 200 s; then it is gone.
func incidentEvents(names *ingest.Names) []ingest.Event {
	var out []ingest.Event
	add := func(comm string, op ingest.Op, end, latency, queue, size, position int64) {
		e := ingest.NewEvent()
		e.TimeNS, e.LatencyNS, e.QueueNS, e.SizeBytes, e.Position = end, latency, queue, size, position
		e.Op, e.Kind, e.Comm = op, ingest.KindQ2C, names.InternString(comm)
		out = append(out, e)
	}
	for ms := int64(0); ms < 300_000; ms += 10 {
		latency := int64(1e6)
		if ms >= 100_000 && ms < 200_000 {
			latency = 9e6
		}
		add("reader", ingest.OpRead, ms*1e6+latency, latency, latency/2, 4096, ms)
	}
	for ms := int64(100_000); ms < 200_000; ms += 100 {
		for k := range int64(4) {
			add("backup", ingest.OpWrite, (ms+100)*1e6, 100e6, 80e6, 1<<20, 1e6+ms+k)
		}
	}
	add("backup", ingest.OpFlush, 150.05e9, 50e6, 0, 0, 2e6)
	return out
}

func folded(events []ingest.Event, names *ingest.Names) *Incident {
	f := NewIncident(100e9, 200e9, 60e9, ingest.KindQ2C, names)
	for i := range events {
		f.Add(&events[i], "log")
	}
	return f
}

func TestIncident(t *testing.T) {
	var names ingest.Names
	events := incidentEvents(&names)
	f := folded(events, &names)
	near := func(what string, got, want, share float64) {
		t.Helper()
		if !(math.Abs(got-want) <= share*math.Abs(want)) {
			t.Errorf("%s is %g, want %g", what, got, want)
		}
	}
	p := f.Phases()
	near("reads before", float64(p[Before].Reads), 6000, 0.001)
	near("requests during", float64(p[During].Requests), 10000+3996+1, 0.001)
	near("bytes written", float64(p[During].WriteBytes), 3996*(1<<20), 0.001)
	near("flushes", float64(p[During].Flushes), 1, 0)
	near("p50 before", p[Before].P50NS, 1e6, 0.032)
	near("p99 during", p[During].P99NS, 100e6, 0.032)
	near("max", p[During].MaxNS, 100e6, 0)
	near("depth before", p[Before].MeanDepth, 0.1, 0.001)
	near("depth during", p[During].MeanDepth, 4+0.9, 0.001)
	if len(p[During].Ladder) != 3 || p[During].Ladder[0].Name != "block layer (Q2C)" {
		t.Fatalf("ladder is %+v", p[During].Ladder)
	}
	queue, device := p[Before].Ladder[1], p[Before].Ladder[2]
	near("queue", queue.MeanNS, 0.5e6, 1e-9)
	near("device", device.MeanNS, 0.5e6, 1e-9)
	near("spread", device.DevNS+1, 1, 1e-9)

	who := f.Actors(ByComm)
	if len(who) != 2 || who[0].Name != "backup" {
		t.Fatalf("actors are %+v", who)
	}
	b, r := who[0].Phase[During], who[1].Phase[During]
	near("backup's flushes", float64(b.Flushes), 1, 0)
	near("backup's queue time", float64(b.QueueNS), 3996*80e6, 0.001)
	near("backup's time in flight", float64(b.InFlightNS), 400e9, 0.01)
	// Of the reader's 90 s in flight the backup is answerable for 4/4.9.
	near("delay by backup", b.DelayNS, 90e9*4/4.9, 0.01)
	near("delay by reader", r.DelayNS, 90e9*4/4.9, 0.01)
	near("delay before", who[0].Phase[Before].DelayNS+1, 1, 0)
	if len(f.Actors(ByFile)) != 0 {
		t.Error("files are told where there are none")
	}

	slow := f.Slowest()
	if len(slow) != slowestKept || slow[0].Event.LatencyNS != 100e6 || slow[0].Comm != "backup" || slow[0].Event.Position != 1e6+100_000 || slow[0].Input != "log" {
		t.Errorf("%d slowest, the first: %+v", len(slow), slow[0])
	}
}

// The order of the events has no say.
func TestIncidentOrder(t *testing.T) {
	var names ingest.Names
	events := incidentEvents(&names)
	want := folded(events, &names)
	r := rand.New(rand.NewPCG(1, 1))
	r.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
	got := folded(events, &names)
	if a, b := want.Phases(), got.Phases(); a[During].latency != b[During].latency || a[During].MeanDepth != b[During].MeanDepth {
		t.Error("figures differ")
	}
	for i, a := range want.Actors(ByComm) {
		b := got.Actors(ByComm)[i]
		a.at, b.at = 0, 0
		if a != b {
			t.Errorf("%+v, in another order %+v", a, b)
		}
	}
	for i, s := range want.Slowest() {
		if got.Slowest()[i] != s {
			t.Errorf("slowest %d differs", i)
		}
	}
}

// Thousands of names cost no more than some hundred.
func TestIncidentBounds(t *testing.T) {
	var names ingest.Names
	f := NewIncident(0, 1e9, 1e9, ingest.KindQ2C, &names)
	for i := range int64(5000) {
		e := ingest.NewEvent()
		e.TimeNS, e.LatencyNS, e.SizeBytes, e.Kind, e.Op = i*1e5+1e6, 1e6, 512, ingest.KindQ2C, ingest.OpRead
		e.Comm = names.InternString("worker" + string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676)))
		f.Add(&e, "log")
	}
	all := f.Actors(ByComm)
	if len(all) != actorsKept+1 {
		t.Fatalf("%d actors", len(all))
	}
	var requests int64
	for _, a := range all {
		requests += a.Phase[During].Requests
	}
	if requests != 5000 {
		t.Errorf("%d requests of 5000 are told", requests)
	}
	// Long requests, and such as end beyond the span, are counted within it.
	e := ingest.NewEvent()
	e.TimeNS, e.LatencyNS, e.Kind, e.Comm = 1e15, 1e15, ingest.KindQ2C, names.InternString("long")
	f.Add(&e, "log")
	if p := f.Phases(); math.Abs(p[Before].MeanDepth) > 1 || p[During].MeanDepth < 1 {
		t.Errorf("depths are %g, %g", p[Before].MeanDepth, p[During].MeanDepth)
	}
}
