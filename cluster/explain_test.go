package cluster

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/iopathy/iopathy/features"
)

// An explanation says what Label says, and its sums are those that decide.
func TestExplanationIsTheDiagnosis(t *testing.T) {
	r, o := shippedRules(t), DefaultOptions()
	ws, inv := fleetOf(t, r, 2)
	points := placed(t, ws, inv, r)
	res, m, err := Diagnose(points, r, &Model{Kind: Shipped}, "", o)
	if err != nil {
		t.Fatal(err)
	}
	for at := range points {
		if points[at].Window.StartNS != 150e9 || at%3 == 1 {
			continue
		}
		d := res.Diagnoses.At(at)
		x := m.Explain(features.List(points), res.Diagnoses, at, r, o)
		if x.Alone.Verdict != d.Verdict || x.Alone.Pathology != d.Pathology || x.Alone.ClassID != d.ClassID {
			t.Errorf("%s: by itself %s %q, among its like %s %q", d.Device, x.Alone.Verdict, x.Alone.Pathology, d.Verdict, d.Pathology)
		}
		for i, l := range x.Entries {
			sum := 0.0
			for _, h := range l.Rules {
				if h.Holds {
					sum += h.Weight
				}
				if h.Holds && !h.Told || len(h.Facts) == 0 {
					t.Errorf("%s: rule %q holds %v, told %v, facts %v", l.Pathology, h.When, h.Holds, h.Told, h.Facts)
				}
			}
			if math.Abs(l.Evidence-sum) > 1e-12 || math.Abs(l.Score-l.Cosine-l.Evidence) > 1e-12 || l.Score != d.Scores[i] {
				t.Errorf("%s: score %v of cosine %v and evidence %v (rules %v), Label says %v", l.Pathology, l.Score, l.Cosine, l.Evidence, sum, d.Scores[i])
			}
			votes := ""
			for _, c := range l.Causes {
				if c.Votes {
					votes += c.ID
				}
			}
			if l.Pathology == d.Pathology && votes != x.Alone.RootCause {
				t.Errorf("%s votes for %q, Label says %q", d.Device, votes, x.Alone.RootCause)
			}
			if l.Pathology == d.Pathology && (l.Margin != d.Margin || l.Severity != d.Severity) {
				t.Errorf("%s: margin %v, severity %v, Label says %v and %v", d.Device, l.Margin, l.Severity, d.Margin, d.Severity)
			}
		}
		if d.ClassID > 0 && x.Classes[0].ID != d.ClassID {
			t.Errorf("%s: nearest class %d, Label says %d", d.Device, x.Classes[0].ID, d.ClassID)
		}
		for i := 1; i < len(x.Classes); i++ {
			if x.Classes[i].Distance < x.Classes[i-1].Distance {
				t.Errorf("classes by distance: %+v", x.Classes)
			}
		}
		if _, err := json.Marshal(x); err != nil {
			t.Errorf("%s: %v", d.Device, err)
		}
	}
}

// A flip is what it says: with it the label is another, just short of it the
// label is the same.
func TestFlipsFlip(t *testing.T) {
	r, o := shippedRules(t), DefaultOptions()
	ws, inv := fleetOf(t, r, 2)
	points := placed(t, ws, inv, r)
	res, m, err := Diagnose(points, r, &Model{Kind: Shipped}, "", o)
	if err != nil {
		t.Fatal(err)
	}
	j := newJudge(r, m, o)
	found, toHealthy := 0, 0
	for at := range points {
		if points[at].Window.StartNS != 150e9 {
			continue
		}
		x := m.Explain(features.List(points), res.Diagnoses, at, r, o)
		now, _ := m.word(&points[at], j)
		last := 0.0
		for _, flip := range x.Flips {
			found++
			if flip.Becomes == "healthy" {
				toHealthy++
			}
			if math.Abs(flip.Z) < last {
				t.Errorf("%s: flips by size: %+v", points[at].Window.Device, x.Flips)
			}
			last = math.Abs(flip.Z)
			f := 0
			for features.Features[f].Name != flip.Feature {
				f++
			}
			moved := func(by float64) string {
				p := points[at]
				p.Z[f] += by
				p.Vector[f] = p.Space.Centre[f] + p.Z[f]*p.Space.Scale[f]
				p.Y = make([]float64, len(p.Y))
				p.Space.Rotate(&p.Z, p.Y)
				word, _ := m.word(&p, j)
				return word
			}
			if got := moved(flip.Z); got != flip.Becomes || got == now {
				t.Errorf("%s: %s by %v gives %q, want %q", points[at].Window.Device, flip.Feature, flip.Z, got, flip.Becomes)
			}
			if short := flip.Z - math.Copysign(1e-5, flip.Z); math.Abs(flip.Z) > 1e-5 && moved(short) != now {
				t.Errorf("%s: %s by %v flips already", points[at].Window.Device, flip.Feature, short)
			}
			if p := &points[at]; math.Abs(p.Vector[f]-flip.From) > 1e-12 || math.Abs(flip.To-p.Space.Centre[f]-(p.Z[f]+flip.Z)*p.Space.Scale[f]) > 1e-12 {
				t.Errorf("%s: %s from %v to %v", p.Window.Device, flip.Feature, flip.From, flip.To)
			}
		}
	}
	if found < 20 || toHealthy < 3 {
		t.Errorf("only %d flips, %d of them to healthy", found, toHealthy)
	}
}

func TestExplainIdle(t *testing.T) {
	r, o := shippedRules(t), DefaultOptions()
	ws := []features.Window{healthyWindow("a", 0), healthyWindow("a", 1)}
	ws[1].Idle = true
	points := placed(t, ws, nil, r)
	m := &Model{Kind: Shipped, Classes: []Prototype{{ID: 1, Pathology: "cache-thrash", Direction: features.Vector{features.RereadShare: 1}}}}
	res := m.Label(points, r, o)
	x := m.Explain(features.List(points), res.Diagnoses, 1, r, o)
	if x.Alone.Verdict != Idle || len(x.Flips) != 0 || len(x.Classes) != 0 {
		t.Errorf("of an idle window: %+v", x)
	}
	if x.Axes[0].Own.Windows != 1 || x.Axes[0].Group.Windows != 0 {
		t.Errorf("baselines of %d and %d windows, want 1 and 0", x.Axes[0].Own.Windows, x.Axes[0].Group.Windows)
	}
}

// What a row of sick windows must stand over the gate by is told, as it decides.
func TestExplainTellsTheRow(t *testing.T) {
	r, o := shippedRules(t), DefaultOptions()
	ws, inv := fleetOf(t, r, 1)
	points := placed(t, ws, inv, r)
	m, err := Fit(features.List(points), r, nil, o)
	if err != nil {
		t.Fatal(err)
	}
	at := -1
	for i := range ws {
		if ws[i].Device == "queue-saturationa" && ws[i].StartNS == 150e9 {
			at = i
		}
	}
	d := m.Label(points, r, o).Diagnoses
	if at < 0 || d.At(at).Verdict != Sick {
		t.Fatalf("window %d is not sick", at)
	}
	row := m.Explain(features.List(points), d, at, r, o).Row
	if row.Windows != 10 || row.Needs != o.Excess || !(row.Excess > o.Excess) {
		t.Errorf("%+v, want the 10 sick windows, which stand over the gate by more than %v", row, o.Excess)
	}
	// The same windows are let go where more is asked for, and the row says why.
	o.Excess = row.Excess + 1
	d = m.Label(points, r, o).Diagnoses
	again := m.Explain(features.List(points), d, at, r, o)
	if d.At(at).Verdict != Healthy || again.Row.Windows != 10 || again.Row.Excess != row.Excess || again.Row.Needs != o.Excess {
		t.Errorf("%s, %+v: want healthy, and the same row short of %v", d.At(at).Verdict, again.Row, o.Excess)
	}
}
