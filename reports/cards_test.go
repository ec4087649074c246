package reports

import (
	"math"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/reduce"
)

// carded gives the worst device of made data a card in which all that comes
// from a log is hostile.
func carded(in *Input) features.Key {
	e := in.Result.Episodes[0]
	g := features.NewLatencyGrid(e.FromNS, e.ToNS, 20, 1e8)
	for i := range int64(400) {
		g.Add(e.FromNS+i*(e.ToNS-e.FromNS)/400, 2e6+i%7*1e5, 1)
	}
	g.Add(e.FromNS, 3e9, 2)
	bad := "</script><img src=x onerror=alert(1)>\n\u202e" + strings.Repeat("x", 10000)
	slow := SlowLine{SlowIO: features.SlowIO{Event: ingest.NewEvent(), Comm: bad, File: bad, Cgroup: bad}, Source: bad, Raw: bad}
	slow.Event.TimeNS, slow.Event.LatencyNS, slow.Event.Position = e.FromNS+5e9, 3e9, 4711
	var actor features.Actor
	actor.Name = bad
	actor.Phase[features.During] = features.ActorPhase{Requests: 9, Bytes: 4096, DelayNS: 1e9}
	why := &cluster.Explanation{Classes: []cluster.Nearness{{ID: 3, Pathology: e.Pathology, Distance: 0.1}, {ID: 4, Pathology: cluster.Unrecognised, Distance: 0.4}}}
	why.Axes[0] = cluster.Axis{Feature: "latency_load_residual", Value: 1.2, Z: 5, Own: cluster.Median{Value: 0.1, Windows: 9}, Nights: reduce.Quantiles{Low: 0.02, Median: 0.07, High: 0.31, Windows: 60, Nights: 4}}
	why.Axes[11] = cluster.Axis{Feature: "stall_gap", Value: 0.8, Z: 2}
	why.Flips = []cluster.Flip{{Feature: "stall_gap", From: 1, To: 0.2, Becomes: "healthy"}}
	in.Cards = []Card{{Key: e.Key, Grid: g, ActorFrom: e.FromNS, ActorTo: e.ToNS, Why: why, Actors: map[string][]features.Actor{"comm": {actor}},
		Exemplars: []Exemplar{{StartNS: e.FromNS, EndNS: e.FromNS + windowNS, Severity: 5, Ranges: []ByteRange{{Source: bad, First: 1000, Last: 52000, Requests: 402}}, Slowest: []SlowLine{slow}}}}}
	return e.Key
}

func TestCardTellsWhatDecided(t *testing.T) {
	in := made(20, 40, 6, 3)
	plain := markup(render(t, in))
	carded(in)
	page := render(t, in)
	for _, want := range []string{
		"402 requests by time of completion", "Requests by latency and time", "What decided the worst window", "0.1 (9 windows)", "0.07 (0.02 to 0.31, 4 nights)", "no baseline yet",
		"Nearest class: 3, ", "; next: 4, Unrecognised (cosine distance 0.4)", "stall_gap from 1 to 0.2 would make it healthy",
		"Who did it", "402 requests in the lines that begin at bytes 1,000 to 52,000", "byte 4711", "Busy or sick", "above the band",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	got := markup(page)
	if got["img"] != plain["img"] || got["script"] != plain["script"] {
		t.Errorf("elements %v, those without the card %v", got, plain)
	}
	if strings.Contains(page, strings.Repeat("x", 1000)) || strings.Contains(page, "\u202e") {
		t.Error("a name from a log is shown as it is")
	}
}

// report.json has the card of every sick device, with all that the page tells of it.
func TestCardsInJSON(t *testing.T) {
	in := made(20, 40, 6, 3)
	key := carded(in)
	cards := gathered(t, in).jsonCards()
	if len(cards) != 6 || cards[0].Host != key.Host || cards[0].Device != key.Device {
		t.Fatalf("%d cards, the first of %s/%s", len(cards), cards[0].Host, cards[0].Device)
	}
	c := cards[0]
	if c.Requests != 402 || len(c.Latencies) != 12 || c.Latencies[1].Requests != 342 || c.Latencies[1].FromNS != 1<<21 {
		t.Errorf("%d requests, by latency %+v", c.Requests, c.Latencies)
	}
	if len(c.Deciding) != 2 || c.Deciding[0].Own != 0.1 || c.Deciding[0].OwnWindows != 9 || c.Deciding[0].PeersWindows != 0 || c.Deciding[0].Peers == c.Deciding[0].Peers {
		t.Errorf("deciding %+v, want a median of 9 own windows and none of peers", c.Deciding)
	}
	if n, none := c.Deciding[0].OwnNights, c.Deciding[1].OwnNights; n.Median != 0.07 || n.Nights != 4 || none.Windows != 0 || none.Median == none.Median {
		t.Errorf("other nights %+v and %+v, want a median of 4 nights and none", n, none)
	}
	if len(c.Nearest) != 2 || c.Nearest[1].Distance != 0.4 || len(c.Flips) != 1 || c.Flips[0].Becomes != "healthy" {
		t.Errorf("nearest %+v, flips %+v", c.Nearest, c.Flips)
	}
	if len(c.Exemplars) != 1 || c.Exemplars[0].Ranges[0].Last != 52000 || c.Exemplars[0].Slowest[0].Offset != 4711 || len(c.Actors) != 1 || c.Actors[0].DelayNS != 1e9 {
		t.Errorf("exemplars %+v, actors %+v", c.Exemplars, c.Actors)
	}
	for _, c := range cards {
		w, r := in.Windows.Slice(), in.Result.Diagnoses.Slice()
		worst := 0.0
		for i := range w {
			if w[i].Host == c.Host && w[i].Device == c.Device && r[i].Verdict == cluster.Sick {
				worst = max(worst, r[i].Severity)
			}
		}
		if float64(c.Severity) != worst {
			t.Errorf("%s/%s: worst window %v, want %v", c.Host, c.Device, c.Severity, worst)
		}
	}
}

// The rows of the table behind the picture add up to what was counted.
func TestGridTableAddsUp(t *testing.T) {
	in := made(20, 40, 6, 3)
	carded(in)
	rows := gridRows(in.Cards[0].Grid)
	if len(rows) != 12 || rows[0].Count != "58" || rows[1].Count != "342" || rows[11].Count != "2" {
		t.Errorf("rows %v, want 58 and 342 about 2.1 ms and 2 of 3 s", rows) // 7 kinds of latency in turn, 1 of 7 below 2^21 ns
	}
}

// A window stands on the plane where its depth and its residual put it, and
// the band holds the healthy.
func TestPlaneTellsBusyFromSick(t *testing.T) {
	in := made(20, 40, 6, 3)
	f := gathered(t, in)
	healthy, above := 0, 0
	b := f.healthyBand()
	for _, g := range f.groups {
		for _, i := range g.windows {
			depth, latency, off, ok := f.onPlane(int(i))
			if !ok {
				t.Fatalf("window %d is not on the plane", i)
			}
			if want := math.Log10(latency / depth); math.Abs(want-off) > 1e-9 || depth < 1 {
				t.Fatalf("window %d: depth %g, latency %g, off %g", i, depth, latency, off)
			}
			if g.name == "Healthy" {
				if healthy++; off > b.high || off < b.low {
					above++
				}
			}
		}
	}
	if share := float64(above) / float64(healthy); share > 2*bandTail {
		t.Errorf("%g of the healthy windows lie outside the band", share)
	}
	if b.words == "" || !(b.high > b.low) {
		t.Errorf("band %+v", b)
	}
}
