package cluster

import (
	"fmt"
	"math"
	"slices"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/reduce"
)

// tally is what is said of all windows together. They come by host, device and
// time.
type tally struct {
	m       *Model
	j       *judge
	classes []membership
	near    gathering // the members of all classes
	of      []int     // class of each
	short   shortfall
	paces   paces
	notes   *noted
}

// membership is the windows of a class.
type membership struct {
	members, devices, own int
	last                  features.Key // device
	ballot
}

// shortfall is what the windows lack.
type shortfall struct {
	artefacts, prior, brief int
	alone                   int // devices
	last                    features.Key
}

func newTally(m *Model, j *judge) *tally {
	return &tally{m: m, j: j, classes: make([]membership, len(m.Classes)), notes: newNoted(j.w)}
}

// add takes the next window, and the cause that it votes for.
func (t *tally) add(p *reduce.Point, s *saying, d *Diagnosis, cause int) {
	if s.verdict == Sick && s.class >= 0 {
		c := &t.classes[s.class]
		if c.members == 0 || c.last != d.Key {
			c.last = d.Key
			c.devices++
		}
		c.members++
		if d.Pathology == t.m.Classes[s.class].Pathology {
			c.own++
			c.ballot.add(cause)
		}
		t.near.d = len(p.Y)
		t.near.rows = append(t.near.rows, p.Y...)
		normalise(t.near.rows[len(t.near.rows)-t.near.d:])
		t.of = append(t.of, s.class)
	}
	t.short.add(p, d)
	t.paces.add(p.Window, d.Verdict)
	t.notes.add(p, d.Verdict)
}

// described gives the model's classes by the windows that were labelled.
func (t *tally) described() []Class {
	silhouettes := t.silhouettes()
	out := make([]Class, len(t.classes))
	for c := range out {
		p, n := &t.m.Classes[c], &t.classes[c]
		x := Class{ID: p.ID, Pathology: p.Pathology, Nearest: p.Nearest, Score: p.Score, Prototype: p.Direction, Members: n.members, Devices: n.devices, Silhouette: silhouettes[c]}
		if n.members > 0 {
			x.Purity = float64(n.own) / float64(n.members)
		}
		if entry := t.j.r.index(p.Pathology); entry >= 0 {
			x.Causes = n.count(&t.j.r.entries[entry])
		}
		x.Deciding = deciding(p.Direction)
		out[c] = x
	}
	return out
}

// silhouettes is the mean silhouette of each class over the labelled members.
func (t *tally) silhouettes() []float64 {
	out, n := make([]float64, len(t.classes)), make([]float64, len(t.classes))
	for i, s := range t.near.silhouettes(t.of) {
		if !math.IsNaN(s) {
			out[t.of[i]] += s
			n[t.of[i]]++
		}
	}
	for c := range out {
		if n[c] > 0 {
			out[c] /= n[c]
		}
	}
	return out
}

func (t *tally) warnings() []string {
	return slices.Concat(t.short.warnings(), t.short.briefly(), t.paces.warnings(), t.notes.warnings())
}

func (s *shortfall) add(p *reduce.Point, d *Diagnosis) {
	switch {
	case d.Verdict == Artefact:
		s.artefacts++
	case d.Verdict != Idle && p.Normal.Source == "prior":
		s.prior++
	case d.Verdict == Healthy && p.Normal.Alone && (s.alone == 0 || s.last != d.Key):
		s.last = d.Key
		s.alone++
	}
	if w := p.Window; d.Verdict == Sick && w.Kind == ingest.KindSample && w.CoveredTicks < fewSamples {
		s.brief++
	}
}

func (s *shortfall) warnings() []string {
	var w []string
	if s.artefacts > 0 {
		w = append(w, fmt.Sprintf("%s can't be judged: most of the I/O was not seen, or its latency is unknown", Counted(s.artefacts, "window")))
	}
	if s.prior > 0 {
		were, devices := "were", "their devices"
		if s.prior == 1 {
			were, devices = "was", "its device"
		}
		w = append(w, fmt.Sprintf("%s %s held against a general normal: nothing is known of %s (an inventory helps)", Counted(s.prior, "window"), were, devices))
	}
	if s.alone > 0 {
		w = append(w, fmt.Sprintf("no baseline yet for %s: there is no earlier night and no peer with windows to compare with, so that a device that is slow from beginning to end would pass for healthy; healthy windows without a baseline have a lower confidence", Counted(s.alone, "device")))
	}
	return w
}

// briefly says how many sick windows rest on counters of one or two intervals.
func (s *shortfall) briefly() []string {
	if s.brief == 0 {
		return nil
	}
	rest := "rests"
	if s.brief != 1 {
		rest = "rest"
	}
	return []string{fmt.Sprintf("%s %s on one or two intervals of counters: these can't tell whether it lasts, nor from since when; record more", Counted(s.brief, "sick window"), rest)}
}
