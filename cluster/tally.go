package cluster

import (
	"fmt"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/reduce"
)

// tally is what is said of all windows together. They come by host, device and
// time.
type tally struct {
	m       *Model
	j       *judge
	classes []Membership
	last    []features.Key // device, by class
	near    gathering      // the members of all classes
	of      []int          // class of each
	short   Shortfall
	bare    features.Key // device that had no baseline last
	paces   paces
	notes   *noted
}

// Membership is the windows of a class.
type Membership struct {
	Members, Devices, Own int // Own: whose own label is the class's
	Votes                 []int
	Of                    int // of the votes
}

// Shortfall counts what windows lack.
type Shortfall struct {
	Artefacts, Prior, Brief int
	Alone                   int // devices
}

func newTally(m *Model, j *judge) *tally {
	n := len(m.Classes)
	return &tally{m: m, j: j, classes: make([]Membership, n), last: make([]features.Key, n), notes: newNoted(j.w)}
}

// add takes the next window, and the cause that it votes for.
func (t *tally) add(p *reduce.Point, s *saying, d *Diagnosis, cause int) {
	if s.verdict == Sick && s.class >= 0 {
		c := &t.classes[s.class]
		if last := &t.last[s.class]; c.Members == 0 || *last != d.Key {
			*last = d.Key
			c.Devices++
		}
		c.Members++
		if d.Pathology == t.m.Classes[s.class].Pathology {
			c.Own++
			votes := ballot{c.Votes, c.Of}
			votes.add(cause)
			c.Votes, c.Of = votes.votes, votes.of
		}
		t.near.d = len(p.Y)
		t.near.rows = append(t.near.rows, bearing(p)...)
		t.of = append(t.of, s.class)
	}
	t.lacks(p, d)
	t.paces.add(p.Window, d.Verdict)
	t.notes.add(p, d.Verdict)
}

func (t *tally) lacks(p *reduce.Point, d *Diagnosis) {
	s := &t.short
	switch {
	case d.Verdict == Artefact:
		s.Artefacts++
	case d.Verdict != Idle && p.Normal.Source == "prior":
		s.Prior++
	case d.Verdict == Healthy && p.Normal.Alone && (s.Alone == 0 || t.bare != d.Key):
		t.bare = d.Key
		s.Alone++
	}
	if w := p.Window; d.Verdict == Sick && w.Kind == ingest.KindSample && w.CoveredTicks < fewSamples {
		s.Brief++
	}
}

func (s *Shortfall) warnings() []string {
	var w []string
	if s.Artefacts > 0 {
		w = append(w, fmt.Sprintf("%s can't be judged: most of the I/O was not seen, or its latency is unknown", Counted(s.Artefacts, "window")))
	}
	if s.Prior > 0 {
		were, devices := "were", "their devices"
		if s.Prior == 1 {
			were, devices = "was", "its device"
		}
		w = append(w, fmt.Sprintf("%s %s held against a general normal: nothing is known of %s (an inventory helps)", Counted(s.Prior, "window"), were, devices))
	}
	if s.Alone > 0 {
		w = append(w, fmt.Sprintf("no baseline yet for %s: there is no earlier night and no peer with windows to compare with, so that a device that is slow from beginning to end would pass for healthy; healthy windows without a baseline have a lower confidence", Counted(s.Alone, "device")))
	}
	return w
}

// briefly says how many sick windows rest on counters of one or two intervals.
func (s *Shortfall) briefly() []string {
	if s.Brief == 0 {
		return nil
	}
	rest := "rests"
	if s.Brief != 1 {
		rest = "rest"
	}
	return []string{fmt.Sprintf("%s %s on one or two intervals of counters: these can't tell whether it lasts, nor from since when; record more", Counted(s.Brief, "sick window"), rest)}
}
