package cluster

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/muesli/clusters"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/reduce"
)

// Diagnose labels points by the model that Choose gives, which comes back for
// the lake; the result says which and why.
func Diagnose(points []reduce.Point, r *Rules, shipped *Model, force string, o Options) (Result, *Model, error) {
	m, why, err := Choose(features.List(points), r, shipped, force, o)
	if err != nil {
		return Result{}, nil, err
	}
	res := m.Label(points, r, o)
	res.Why = cmp.Or(why, res.Why)
	return res, m, nil
}

// Choose gives the model to label points by: classes of their own when there are
// enough sick windows and devices, else the shipped ones, and why these. force is
// Shipped, Fitted or empty.
func Choose(points features.Rows[reduce.Point], r *Rules, shipped *Model, force string, o Options) (m *Model, why string, err error) {
	if force == Shipped {
		return shipped, "asked for", nil
	}
	sick, devices := sickPoints(points, newJudge(r, shipped, o))
	switch {
	case force == Fitted:
	case len(sick) < o.MinSick:
		why = fmt.Sprintf("%s, fewer than %d", Counted(len(sick), "sick window"), o.MinSick)
	case devices < o.MinDevices:
		why = fmt.Sprintf("%s, fewer than %d", Counted(devices, "device"), o.MinDevices)
	}
	switch {
	case why != "":
		return shipped, why, nil
	case len(sick) == 0:
		return shipped, "no window is sick", nil
	}
	m, err = fitSick(points, sick, r, shipped, o)
	return m, "", err
}

// Label diagnoses every point. It is pure.
func (m *Model) Label(points []reduce.Point, r *Rules, o Options) Result {
	all := make([]Diagnosis, len(points))
	res := m.LabelRows(features.List(points), r, o, func(i int, d *Diagnosis) { all[i] = *d })
	res.Diagnoses = features.List(all)
	return res
}

// saying is what is said of a window while the neighbours are heard.
type saying struct {
	verdict Verdict
	entry   int // pathology by index; -1 none or unrecognised
	class   int // index into the model's classes; -1 none
}

// assigner finds the nearest class of a window with a direction, by
// muesli/clusters' Nearest over the reduced space.
type assigner struct {
	m     *Model
	space *reduce.Model
	c     clusters.Clusters
}

// class is the index of a point's class, -1 for none.
func (a *assigner) class(p *reduce.Point, l *look) int {
	if l.lean < 0 || len(a.m.Classes) == 0 {
		return -1
	}
	if p.Space != a.space {
		a.space = p.Space
		a.c = centres(a.m.directions(a.space))
	}
	return a.c.Nearest(observation(bearing(p)))
}

func (m *Model) directions(space *reduce.Model) [][]float64 {
	d := make([][]float64, len(m.Classes))
	for i := range d {
		d[i] = make([]float64, len(space.Components))
		space.Rotate(&m.Classes[i].Direction, d[i])
		normalise(d[i])
	}
	return d
}

// first says what a window is by itself: a sick one takes its class's
// pathology unless its own direction and evidence point elsewhere by a clear
// margin.
func (m *Model) first(l *look, class int, r *Rules, o Options) saying {
	s := saying{verdict: l.verdict, entry: -1, class: -1}
	if l.verdict != Sick {
		return s
	}
	s.class = class
	s.entry = l.lean
	if s.class >= 0 {
		if of := r.index(m.Classes[s.class].Pathology); of >= 0 && l.score[l.lean]-l.score[of] <= o.Override {
			s.entry = of
		}
	}
	if l.score[s.entry] < o.MinScore {
		s.entry = -1
	}
	return s
}

// sortedByKey lists the points by host, device and start; nil: they are so
// already.
func sortedByKey(points features.Rows[reduce.Point]) []int {
	var last *features.Window
	sorted := true
	for i := 0; i < points.Len() && sorted; i++ {
		w := points.At(i).Window
		sorted = last == nil || byKey(last, w) <= 0
		last = w
	}
	if sorted {
		return nil
	}
	order := make([]int, points.Len())
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return byKey(points.At(a).Window, points.At(b).Window) })
	return order
}

// nth is the number of the point that stands at a place of an order by key.
func nth(order []int, place int) int {
	if order == nil {
		return place
	}
	return order[place]
}

// aloneTrust is what is left of the confidence in a healthy window of a device
// that could be held against nothing but itself: were it slow all the time, it
// would look the same.
const aloneTrust = 0.8

// diagnosis puts what is said of a window into words and numbers.
func (m *Model) diagnosis(p *reduce.Point, l *look, s *saying, j *judge, cause *int) Diagnosis {
	w := p.Window
	*cause = abstained
	d := Diagnosis{
		Key: w.Key, StartNS: w.StartNS, EndNS: w.EndNS, Verdict: s.verdict,
		Severity: l.severity, Scores: l.score, Coverage: w.Coverage, Model: m.Kind,
	}
	if l.lean >= 0 {
		d.Nearest = j.r.entries[l.lean].Slug
	}
	switch s.verdict {
	case Sick:
		d.Pathology = Unrecognised
		at := l.lean
		if s.entry >= 0 {
			at = s.entry
			d.Pathology = j.r.entries[at].Slug
			j.w.look(p)
			d.Evidence = j.w.says(at)
			c, told := j.w.cause(at)
			if told {
				*cause = c
			}
			d.Readings = j.w.readings(at, c, p)
			d.Severity = j.severity(l, at)
		}
		d.Margin = margin(l.score, at)
		if s.class >= 0 {
			d.ClassID = m.Classes[s.class].ID
		}
		d.Confidence = m.Sick.At(d.Margin)
		if s.entry < 0 {
			d.Confidence = min(d.Confidence, 0.5)
		}
	case Healthy:
		d.Severity = min(l.severity, 1)
		d.Margin = 1 - d.Severity
		d.Confidence = m.Well.At(d.Margin)
		if p.Normal.Alone {
			d.Confidence *= aloneTrust
		}
	case Idle:
		d.Severity, d.Confidence = 0, 1
	case Artefact:
		d.Severity = 0
	}
	d.Confidence *= trust(w, l, j)
	return d
}

// flaglessTrust is what is left of the confidence where the source tells no flags: a
// read of metadata, of a mapped file or ahead of its reader look the same then, and so
// do a write that somebody waits for and one that nobody does.
const flaglessTrust = 0.9

// trust scales confidence by what could be seen: the share of the window and
// of its I/O that is covered where that is low, whether there were flags, and the
// share of the axes that aren't missing.
func trust(w *features.Window, l *look, j *judge) float64 {
	t := 1.0
	if w.Coverage < j.o.Coverage {
		t = max(w.Coverage, 0) / j.o.Coverage
	}
	if math.IsNaN(w.Context[features.CtxMetaShare]) {
		t *= flaglessTrust
	}
	if l.lean >= 0 {
		seen, all := 0.0, 0.0
		for f, x := range j.r.entries[l.lean].direction {
			all += x * x
			if w.Missing.Has(f) {
				seen += x * x
			}
		}
		if all > 0 {
			t *= math.Sqrt(seen / all)
		}
	}
	return t
}

// margin is the score of an entry less the best of the others.
func margin(score []float64, at int) float64 {
	best := math.Inf(-1)
	for i, s := range score {
		if i != at {
			best = max(best, s)
		}
	}
	if math.IsInf(best, -1) {
		return score[at]
	}
	return score[at] - best
}
