package cluster

import (
	"fmt"
	"math"
	"slices"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/reduce"
)

// Diagnose labels points by classes of their own when there are enough sick
// windows and devices, else by the shipped ones; the result says which and
// why. The model that labelled comes back for the lake. force is Shipped,
// Fitted or empty.
func Diagnose(points []reduce.Point, r *Rules, shipped *Model, force string, o Options) (Result, *Model, error) {
	why := ""
	if force != Shipped {
		looks := newJudge(r, shipped, o).looks(points)
		sick := sickPoints(points, looks)
		n := len(devices(points, sortedByKey(points)))
		switch {
		case force == Fitted:
		case len(sick) < o.MinSick:
			why = fmt.Sprintf("%d sick windows, fewer than %d", len(sick), o.MinSick)
		case n < o.MinDevices:
			why = fmt.Sprintf("%d devices, fewer than %d", n, o.MinDevices)
		}
		if why == "" && len(sick) > 0 {
			m, err := Fit(points, r, shipped, o)
			if err != nil {
				return Result{}, nil, err
			}
			return m.Label(points, r, o), m, nil
		}
		if why == "" {
			why = "no window is sick"
		}
	} else {
		why = "asked for"
	}
	res := shipped.Label(points, r, o)
	res.Why = why
	return res, shipped, nil
}

// Label diagnoses every point. It is pure.
func (m *Model) Label(points []reduce.Point, r *Rules, o Options) Result {
	j := newJudge(r, m, o)
	looks := j.looks(points)
	res := Result{Model: m.Kind, Why: m.Provenance, Top: m.top, Cuts: m.cuts, Silhouette: m.silhouette}
	class := m.assign(points, looks)
	said := m.first(looks, class, r, o)
	order := sortedByKey(points)
	if !o.Alone {
		for _, run := range devices(points, order) {
			hear(points, looks, said, run, j)
		}
	}
	res.Diagnoses = make([]Diagnosis, len(points))
	causes := make([]int, len(points)) // cause voted for: index, -1 none held, -2 abstained
	for i := range points {
		if s := &said[i]; s.entry >= 0 && len(r.entries[s.entry].known) > 0 {
			if j.w.look(&points[i]); j.w.guesses(s.entry) {
				s.entry = -1
			}
		}
		res.Diagnoses[i] = m.diagnosis(&points[i], &looks[i], &said[i], j, &causes[i])
	}
	res.Episodes = episodes(points, res.Diagnoses, said, causes, order, r)
	r.outside(points, res.Diagnoses, res.Episodes, j.w)
	res.Classes = m.classes(points, looks, said, causes, res.Diagnoses, r)
	res.Warnings = slices.Concat(warnings(points, res.Diagnoses), brief(points, res.Diagnoses), samePace(points, res.Diagnoses), r.notes(points, res.Diagnoses, j.w))
	return res
}

// saying is what is said of a window while the neighbours are heard.
type saying struct {
	verdict Verdict
	entry   int // pathology by index; -1 none or unrecognised
	class   int // index into the model's classes; -1 none
}

// assign gives each window with a direction its nearest class, by
// muesli/clusters' Nearest over the reduced space.
func (m *Model) assign(points []reduce.Point, looks []look) []int {
	out := make([]int, len(points))
	var space *reduce.Model
	c := centres(nil)
	for i := range points {
		out[i] = -1
		if looks[i].lean < 0 || len(m.Classes) == 0 {
			continue
		}
		if points[i].Space != space {
			space = points[i].Space
			c = centres(m.directions(space))
		}
		y := slices.Clone(points[i].Y)
		normalise(y)
		out[i] = c.Nearest(observation(y))
	}
	return out
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

// first says what each window is by itself: a sick one takes its class's
// pathology unless its own direction and evidence point elsewhere by a clear
// margin.
func (m *Model) first(looks []look, class []int, r *Rules, o Options) []saying {
	said := make([]saying, len(looks))
	for i := range looks {
		l := &looks[i]
		s := saying{verdict: l.verdict, entry: -1, class: -1}
		if l.verdict == Sick {
			s.class = class[i]
			s.entry = l.lean
			if s.class >= 0 {
				if of := r.index(m.Classes[s.class].Pathology); of >= 0 && l.score[l.lean]-l.score[of] <= o.Override {
					s.entry = of
				}
			}
			if l.score[s.entry] < o.MinScore {
				s.entry = -1
			}
		}
		said[i] = s
	}
	return said
}

// sortedByKey lists the points by host, device and start.
func sortedByKey(points []reduce.Point) []int {
	order := make([]int, len(points))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return byKey(points[a].Window, points[b].Window) })
	return order
}

// devices cuts an order by key into the runs of one device.
func devices(points []reduce.Point, order []int) [][]int {
	var runs [][]int
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && points[order[to]].Window.Key == points[order[from]].Window.Key {
			to++
		}
		runs = append(runs, order[from:to])
		from = to
	}
	return runs
}

// aloneTrust is what is left of the confidence in a healthy window of a device
// that could be held against nothing but itself: were it slow all the time, it
// would look the same.
const aloneTrust = 0.8

// diagnosis puts what is said of a window into words and numbers.
func (m *Model) diagnosis(p *reduce.Point, l *look, s *saying, j *judge, cause *int) Diagnosis {
	w := p.Window
	*cause = -2
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

// trust scales confidence by what could be seen: the share of the window and
// of its I/O that is covered where that is low, and the share of the axes that
// aren't missing.
func trust(w *features.Window, l *look, j *judge) float64 {
	t := 1.0
	if w.Coverage < j.o.Coverage {
		t = max(w.Coverage, 0) / j.o.Coverage
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

func warnings(points []reduce.Point, d []Diagnosis) []string {
	var w []string
	artefacts, prior := 0, 0
	alone := map[features.Key]bool{}
	for i := range d {
		switch {
		case d[i].Verdict == Artefact:
			artefacts++
		case d[i].Verdict != Idle && points[i].Normal.Source == "prior":
			prior++
		case d[i].Verdict == Healthy && points[i].Normal.Alone:
			alone[d[i].Key] = true
		}
	}
	if artefacts > 0 {
		w = append(w, fmt.Sprintf("%d windows can't be judged: most of their I/O was not seen, or its latency is unknown", artefacts))
	}
	if prior > 0 {
		w = append(w, fmt.Sprintf("%d windows were held against a general normal: nothing is known of their devices (an inventory helps)", prior))
	}
	if len(alone) > 0 {
		w = append(w, fmt.Sprintf("no baseline yet for %d devices: there is no earlier night of theirs and no peer with windows, so one that is slow from beginning to end would pass for healthy; their healthy windows have a lower confidence", len(alone)))
	}
	return w
}
