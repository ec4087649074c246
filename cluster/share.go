package cluster

import (
	"math"
	"slices"
)

// Share is what is said of all windows of some hosts together, beside what is said of
// each. It has no meaning but to Join, which takes it from others that have written it
// down: no host may be of two shares.
type Share struct {
	Episodes []Episode    // by device and time
	Classes  []Membership // in the order of the model's
	Of       []int        // class of each member, as an index of these
	Near     []float64    // the members' directions, len(Near)/len(Of) numbers each
	Short    Shortfall
	Paces    []string   // of hosts
	Notes    [][]string // of hosts, by note
}

// share ends the tally.
func (t *tally) share(episodes []Episode) *Share {
	t.paces.end()
	t.notes.end()
	return &Share{Episodes: episodes, Classes: t.classes, Of: t.of, Near: t.near.rows, Short: t.short, Paces: t.paces.lines, Notes: t.notes.lines}
}

// Join gives what LabelRows says of the windows of all shares. They come in the order
// of their hosts, and were labelled by this model and these rules.
func (m *Model) Join(shares []*Share, r *Rules) Result {
	var all Share
	all.Classes = make([]Membership, len(m.Classes))
	all.Notes = make([][]string, len(r.remarks))
	for _, s := range shares {
		all.Episodes = append(all.Episodes, s.Episodes...)
		for c := range s.Classes {
			all.Classes[c].add(&s.Classes[c])
		}
		all.Of, all.Near = append(all.Of, s.Of...), append(all.Near, s.Near...)
		all.Short.add(&s.Short)
		all.Paces = append(all.Paces, s.Paces...)
		for n := range s.Notes {
			all.Notes[n] = append(all.Notes[n], s.Notes[n]...)
		}
	}
	worstFirst(all.Episodes)
	return Result{
		Model: m.Kind, Why: m.Provenance, Top: m.top, Cuts: m.cuts, Silhouette: m.silhouette, Episodes: all.Episodes,
		Classes:  all.described(m, r),
		Warnings: slices.Concat(all.Short.warnings(), all.Short.briefly(), all.Paces, slices.Concat(all.Notes...)),
	}
}

func (c *Membership) add(o *Membership) {
	c.Members, c.Devices, c.Own, c.Of = c.Members+o.Members, c.Devices+o.Devices, c.Own+o.Own, c.Of+o.Of
	for i, n := range o.Votes {
		if i == len(c.Votes) {
			c.Votes = append(c.Votes, 0)
		}
		c.Votes[i] += n
	}
}

func (s *Shortfall) add(o *Shortfall) {
	s.Artefacts, s.Prior, s.Brief, s.Alone = s.Artefacts+o.Artefacts, s.Prior+o.Prior, s.Brief+o.Brief, s.Alone+o.Alone
}

// described gives the model's classes by the windows that were labelled.
func (s *Share) described(m *Model, r *Rules) []Class {
	silhouettes := s.silhouettes()
	out := make([]Class, len(s.Classes))
	for c := range out {
		p, n := &m.Classes[c], &s.Classes[c]
		x := Class{ID: p.ID, Pathology: p.Pathology, Nearest: p.Nearest, Score: p.Score, Prototype: p.Direction, Members: n.Members, Devices: n.Devices, Silhouette: silhouettes[c]}
		if n.Members > 0 {
			x.Purity = float64(n.Own) / float64(n.Members)
		}
		if entry := r.index(p.Pathology); entry >= 0 {
			votes := ballot{n.Votes, n.Of}
			x.Causes = votes.count(&r.entries[entry])
		}
		x.Deciding = deciding(p.Direction)
		out[c] = x
	}
	return out
}

// silhouettes is the mean silhouette of each class over the labelled members.
func (s *Share) silhouettes() []float64 {
	out, n := make([]float64, len(s.Classes)), make([]float64, len(s.Classes))
	g := gathering{n: len(s.Of), rows: s.Near}
	if g.n > 0 {
		g.d = len(s.Near) / g.n
	}
	for i, v := range g.silhouettes(s.Of) {
		if !math.IsNaN(v) {
			out[s.Of[i]] += v
			n[s.Of[i]]++
		}
	}
	for c := range out {
		if n[c] > 0 {
			out[c] /= n[c]
		}
	}
	return out
}

// Grouping is what a fit tells of how it came to its classes. It doesn't stand in the
// model's file.
type Grouping struct {
	Top        []Merge
	Cuts       []Cut
	Silhouette float64
}

// Grouping is that of the model's fit; empty for one that comes from its file.
func (m *Model) Grouping() Grouping { return Grouping{m.top, m.cuts, m.silhouette} }

// Grouped is the model with what its fit has told.
func (m *Model) Grouped(g Grouping) *Model {
	c := *m
	c.top, c.cuts, c.silhouette = g.Top, g.Cuts, g.Silhouette
	return &c
}

// Unlabelled gives the model's classes without members, as far as Registry.Match
// needs them to give ids where nothing is known.
func (m *Model) Unlabelled() []Class {
	out := make([]Class, len(m.Classes))
	for i := range m.Classes {
		p := &m.Classes[i]
		out[i] = Class{ID: p.ID, Pathology: p.Pathology, Nearest: p.Nearest, Prototype: p.Direction}
	}
	return out
}
