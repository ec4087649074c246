package cluster

import (
	"cmp"
	"math"
	"slices"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/reduce"
)

// Explanation is everything that decided one window.
type Explanation struct {
	Axes    [features.N]Axis `json:"axes"`    // by feature
	Entries []Lean           `json:"scores"`  // in the order of the catalogue
	Classes []Nearness       `json:"classes"` // of the model, nearest first
	Alone   Diagnosis        `json:"-"`       // by the window itself, before the neighbours are heard
	Row     Row              `json:"row"`     // of sick windows that it stands among
	Flips   []Flip           `json:"flips"`   // what would change Alone, smallest change first
	Notes   []Heard          `json:"notes"`   // of the catalogue, held against the window: whether what is slow is not storage (of a sick one its outside, else its notes)
}

// Axis is one feature of the window as it was judged.
type Axis struct {
	Feature string  `json:"feature"`
	Missing bool    `json:"missing"` // the source doesn't tell; Value is neutral
	Value   float64 `json:"value"`
	Centre  float64 `json:"centre"` // of healthy windows
	Scale   float64 `json:"scale"`
	Z       float64 `json:"z"`
	Own     Median  `json:"own"`   // of the device's other healthy windows
	Group   Median  `json:"group"` // of healthy windows of other devices of its group

	Nights reduce.Quantiles `json:"own_nights"` // of the device's healthy windows of other days; the caller fills it in
}

// Median of so many windows; 0 of none.
type Median struct {
	Value   float64 `json:"median"`
	Windows int     `json:"windows"`
}

// Lean is how far a window goes towards one pathology.
type Lean struct {
	Pathology  string  `json:"pathology"`
	Score      float64 `json:"score"`      // Cosine + Evidence
	Cosine     float64 `json:"cosine"`     // of the window's direction with the signature
	Evidence   float64 `json:"evidence"`   // weight of the rules that hold
	Margin     float64 `json:"margin"`     // Score less that of the best other
	Projection float64 `json:"projection"` // on the signature, times 1 + Evidence
	Gate       float64 `json:"gate"`
	Severity   float64 `json:"severity"` // Projection over Gate, 0..10
	Untold     float64 `json:"untold"`   // share of the signature that the source doesn't tell; over half of it: impossible
	Rules      []Heard `json:"rules"`
	Causes     []Heard `json:"causes"`
}

// Heard is a rule or cause of the catalogue, held against the window.
type Heard struct {
	ID     string  `json:"id,omitempty"` // of a cause
	Says   string  `json:"says"`         // in words
	When   string  `json:"when"`         // the expression
	Weight float64 `json:"weight,omitempty"`
	Told   bool    `json:"told"` // false: a fact is missing, so it abstains
	Holds  bool    `json:"holds"`
	Votes  bool    `json:"votes,omitempty"` // of the causes: the one that gets the window's vote
	Facts  []Given `json:"facts"`           // that the expression uses
}

// Given is the value of a fact; nil: missing.
type Given struct {
	Name  string   `json:"name"`
	Value *float64 `json:"value"`
}

// Nearness is how far a window lies from a class.
type Nearness struct {
	ID        int     `json:"id"`
	Pathology string  `json:"pathology"`
	Distance  float64 `json:"distance"` // cosine
	Members   int     `json:"members"`  // windows that it was found on
}

// Flip is a change of one axis, all else as it is, that changes what is said
// of the window by itself. Facts that aren't features stay as they are.
type Flip struct {
	Feature string  `json:"feature"`
	From    float64 `json:"from"`
	To      float64 `json:"to"`
	Z       float64 `json:"dz"` // the change in healthy scales
	Becomes string  `json:"becomes"`
}

// Explain tells how points[at] came to its label. d is what Label said of the
// points; their windows may be healthy or not, so that baselines are taken
// from the healthy ones. It is pure.
func (m *Model) Explain(points features.Rows[reduce.Point], d features.Rows[Diagnosis], at int, r *Rules, o Options) Explanation {
	own, group := habits(points, d, at)
	return m.ExplainAgainst(own, group, points, d, at, r, o)
}

// ExplainAgainst is Explain where it is known what the device's other healthy windows
// are, and those of other devices of its group, so that points need only hold the
// windows of the device.
func (m *Model) ExplainAgainst(own, group [features.N]Median, points features.Rows[reduce.Point], d features.Rows[Diagnosis], at int, r *Rules, o Options) Explanation {
	p := points.At(at)
	var x Explanation
	for f := range x.Axes {
		x.Axes[f] = Axis{
			Feature: features.Features[f].Name, Missing: !p.Window.Missing.Has(f),
			Value: p.Vector[f], Centre: p.Space.Centre[f], Scale: p.Space.Scale[f], Z: p.Z[f],
			Own: own[f], Group: group[f],
		}
	}
	j := newJudge(r, m, o)
	one := []reduce.Point{*p}
	l := j.look(p)
	j.w.look(p)
	for i := range r.entries {
		e := &r.entries[i]
		lean := Lean{
			Pathology: e.Slug, Score: l.score[i], Cosine: l.score[i] - l.evidence[i], Evidence: l.evidence[i],
			Projection: l.projection[i], Gate: j.gates[i], Severity: j.severity(&l, i), Untold: j.w.untold(i),
		}
		if l.lean >= 0 {
			lean.Margin = margin(l.score, i)
		}
		for k, rule := range e.Evidence {
			h := j.w.hear(&e.evidence[k], rule.Says, rule.When)
			h.Weight = rule.Weight
			lean.Rules = append(lean.Rules, h)
		}
		vote, _ := j.w.cause(i)
		for k, cause := range e.Causes {
			h := j.w.hear(&e.causes[k], cause.Name, cause.When)
			h.ID, h.Votes = cause.ID, k == vote
			lean.Causes = append(lean.Causes, h)
		}
		x.Entries = append(x.Entries, lean)
	}
	x.Classes = m.nearness(p)
	alone := o
	alone.Alone = true
	x.Alone = *m.Label(one, r, alone).Diagnoses.At(0)
	if d.At(at).Verdict == Sick || x.Alone.Verdict == Sick {
		x.Row = m.row(points, at, r, o)
	}
	x.Flips = m.flips(p, j)
	j.w.look(p)
	note := func(n *Note, e *expression) {
		h := j.w.hear(e, n.Says, n.When)
		h.ID = n.ID
		x.Notes = append(x.Notes, h)
	}
	if d.At(at).Verdict == Sick {
		for i := range r.outsiders {
			note(&r.outsiders[i].Note, &r.outsiders[i].expression)
		}
		return x
	}
	for i := range r.remarks {
		note(&r.remarks[i].Note, &r.remarks[i].expression)
	}
	return x
}

// habits are the medians of the device's other healthy windows, and of those of other
// devices of its group.
func habits(points features.Rows[reduce.Point], d features.Rows[Diagnosis], at int) (own, group [features.N]Median) {
	p := points.At(at)
	var ours, theirs [features.N][]float64
	for i := range points.Len() {
		if i == at || d.At(i).Verdict != Healthy {
			continue
		}
		q, of := points.At(i), &ours
		if q.Window.Key != p.Window.Key {
			if of = &theirs; q.Normal.Group != p.Normal.Group {
				continue
			}
		}
		for f := range of {
			if q.Window.Missing.Has(f) {
				of[f] = append(of[f], q.Vector[f])
			}
		}
	}
	for f := range own {
		own[f], group[f] = MedianOf(ours[f]), MedianOf(theirs[f])
	}
	return own, group
}

// hear holds an expression against the point looked at.
func (w *Witness) hear(e *expression, says, when string) Heard {
	h := Heard{Says: says, When: when}
	h.Holds, h.Told = w.holds(e)
	for _, i := range e.needs {
		g := Given{Name: w.r.facts[i].Name}
		if w.known[i] {
			if v, ok := w.env[g.Name].(float64); ok {
				g.Value = &v
			}
		}
		h.Facts = append(h.Facts, g)
	}
	return h
}

// nearness lists the classes by their distance in the reduced space; none for
// a window without a direction.
func (m *Model) nearness(p *reduce.Point) []Nearness {
	y := bearing(p)
	if len(y) == 0 || dotAll(y, y) == 0 {
		return nil
	}
	var all []Nearness
	for i, c := range m.directions(p.Space) {
		k := &m.Classes[i]
		all = append(all, Nearness{ID: k.ID, Pathology: k.Pathology, Distance: max(1-dotAll(y, c), 0), Members: k.Members})
	}
	slices.SortStableFunc(all, func(a, b Nearness) int { return cmp.Compare(a.Distance, b.Distance) })
	return all
}

// Search of a flip: steps of z, halvings of the step that brackets it.
const (
	flipStep     = 0.1
	flipHalvings = 20
)

// flips finds, axis by axis, the smallest change that changes what is said of
// the window by itself, as far as the axis goes.
func (m *Model) flips(p *reduce.Point, j *judge) []Flip {
	now, ok := m.word(p, j)
	if !ok {
		return nil
	}
	var all []Flip
	for f := range features.N {
		if !p.Window.Missing.Has(f) {
			continue
		}
		low, high := reach(p, f)
		best := Flip{Z: math.Inf(1)}
		for _, sign := range []float64{-1, 1} {
			end := (low - p.Z[f]) * sign
			if sign > 0 {
				end = high - p.Z[f]
			}
			if by, word := m.flip(p, j, f, sign, min(end, math.Abs(best.Z)), now); word != "" {
				best = Flip{Z: by, Becomes: word}
			}
		}
		if best.Becomes == "" {
			continue
		}
		best.Feature, best.From = features.Features[f].Name, p.Vector[f]
		best.To = p.Space.Centre[f] + (p.Z[f]+best.Z)*p.Space.Scale[f]
		all = append(all, best)
	}
	slices.SortStableFunc(all, func(a, b Flip) int { return cmp.Compare(math.Abs(a.Z), math.Abs(b.Z)) })
	return all
}

// reach is how far z can go on an axis: the clip, and what the feature can be.
func reach(p *reduce.Point, f int) (low, high float64) {
	s := p.Space
	low, high = -s.Clip, s.Clip
	unit := features.Features[f].Unit
	if unit == "0..1" || f == features.QueueDepthLevel || f == features.StallGap {
		low = max(low, -s.Centre[f]/s.Scale[f])
	}
	if unit == "0..1" {
		high = min(high, (1-s.Centre[f])/s.Scale[f])
	}
	return low, high
}

// flip walks one way along an axis, at most so far, until the word changes,
// then narrows down where.
func (m *Model) flip(p *reduce.Point, j *judge, f int, sign, far float64, now string) (by float64, word string) {
	at := func(d float64) string {
		moved := *p
		moved.Z[f] += sign * d
		moved.Vector[f] = p.Space.Centre[f] + moved.Z[f]*p.Space.Scale[f]
		moved.Y = make([]float64, len(p.Y))
		p.Space.Rotate(&moved.Z, moved.Y)
		word, _ := m.word(&moved, j)
		return word
	}
	for from := 0.0; from < far; from += flipStep {
		to := min(from+flipStep, far)
		word := at(to)
		if word == now {
			continue
		}
		for range flipHalvings {
			half := (from + to) / 2
			if w := at(half); w == now {
				from = half
			} else {
				to, word = half, w
			}
		}
		return sign * to, word
	}
	return 0, ""
}

// word is what is said of a window by itself: healthy or a pathology. It is
// not ok for a window that can't be judged.
func (m *Model) word(p *reduce.Point, j *judge) (string, bool) {
	l, near := j.look(p), assigner{m: m}
	s := m.first(&l, near.class(p, &l), j.r, j.o)
	switch {
	case s.verdict == Healthy:
		return string(Healthy), true
	case s.verdict != Sick:
		return "", false
	case s.entry < 0:
		return Unrecognised, true
	}
	return j.r.entries[s.entry].Slug, true
}
