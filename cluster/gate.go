package cluster

import (
	"math"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/reduce"
)

// look is what one window shows: per pathology the score (cosine of its
// direction with the signature plus the weight of the evidence) and the
// projection (matched filter: how far it goes along the signature, scaled by
// one plus the weight of the evidence).
type look struct {
	score      []float64
	projection []float64
	evidence   []float64
	lean       int     // entry with the best score
	severity   float64 // projection on it over its gate, 0..10
	verdict    Verdict // before the neighbours are heard
}

const maxSeverity = 10

// judge looks at points one by one.
type judge struct {
	r     *Rules
	gates []float64
	o     Options
	axes  [][]float64 // signatures in the reduced space, unit length
	space *reduce.Model
	w     *Witness
}

func newJudge(r *Rules, m *Model, o Options) *judge {
	return &judge{r: r, gates: m.gates(r), o: o, w: r.Witness()}
}

// enter turns the signatures into the space of a point.
func (j *judge) enter(space *reduce.Model) {
	if j.space == space && j.axes != nil {
		return
	}
	j.space = space
	j.axes = make([][]float64, len(j.r.entries))
	for i := range j.axes {
		y := make([]float64, len(space.Components))
		space.Rotate(&j.r.entries[i].direction, y)
		normalise(y)
		j.axes[i] = y
	}
}

// looks judges every point.
func (j *judge) looks(points []reduce.Point) []look {
	out := make([]look, len(points))
	for i := range points {
		out[i] = j.look(&points[i])
	}
	return out
}

// look judges a point.
func (j *judge) look(p *reduce.Point) look {
	n := len(j.r.entries)
	b := make([]float64, 2*n)
	l := look{score: make([]float64, n), projection: b[:n:n], evidence: b[n:]} // the score outlives the others
	j.one(p, &l)
	return l
}

func (j *judge) one(p *reduce.Point, l *look) {
	l.lean, l.severity = -1, 0
	switch {
	case p.Window.Idle:
		l.verdict = Idle
		return
	case p.Window.Known < j.o.MinCoverage:
		l.verdict = Artefact // most of its I/O can't be timed; the edges of a span lower Coverage alone
		return
	}
	l.verdict = Healthy
	norm := math.Sqrt(dotAll(p.Y, p.Y))
	if norm == 0 {
		return // a zero vector is healthy by rule
	}
	j.enter(p.Space)
	j.w.look(p)
	j.w.weigh(l.evidence)
	for i, axis := range j.axes {
		along := dotAll(p.Y, axis)
		l.score[i] = along/norm + l.evidence[i]
		l.projection[i] = along * max(1+l.evidence[i], 0)
		if l.lean < 0 || l.score[i] > l.score[l.lean] {
			l.lean = i
		}
	}
	l.severity = j.severity(l, l.lean)
	if l.severity > 1 {
		l.verdict = Sick
	}
}

func (j *judge) severity(l *look, entry int) float64 {
	return min(max(l.projection[entry]/j.gates[entry], 0), maxSeverity)
}

// healthyMask tells, point by point, what the gate lets pass: the mask for the
// second pass of reduce. Idle windows and artefacts don't pass.
func healthyMask(points features.Rows[reduce.Point], r *Rules, m *Model, o Options) []bool {
	j := newJudge(r, m, o)
	mask := make([]bool, points.Len())
	l := j.blank()
	for i := range mask {
		j.one(points.At(i), &l)
		mask[i] = l.verdict == Healthy
	}
	return mask
}

// blank is a look to be filled again and again.
func (j *judge) blank() look {
	n := len(j.r.entries)
	return look{score: make([]float64, n), projection: make([]float64, n), evidence: make([]float64, n)}
}

// normalise scales to unit length and leaves zero vectors alone.
func normalise(y []float64) {
	n := math.Sqrt(dotAll(y, y))
	if n == 0 {
		return
	}
	for i := range y {
		y[i] /= n
	}
}

// Place measures windows and places them among their peers by the space that
// Space finds for them.
func Place(ws []features.Window, inv reduce.Inventory, r *Rules, prior *Model, ro reduce.Options, o Options) ([]reduce.Point, *reduce.Model, error) {
	space, err := Space(features.List(ws), inv, r, prior, ro, o)
	if err != nil {
		return nil, nil, err
	}
	return space.Project(ws, inv), space, nil
}

// Space finds the normals and components of windows in two passes: normals from
// all windows, the gate, normals again from what passed. prior may be nil. The
// windows have one latency kind, tick and length. It reads them some seven times, and
// keeps 41 bytes of each, and 33 where they are many.
func Space(ws features.Rows[features.Window], inv reduce.Inventory, r *Rules, prior *Model, ro reduce.Options, o Options) (*reduce.Model, error) {
	var before *reduce.Model
	if prior != nil {
		before = prior.Reduce
	}
	first, err := reduce.Fit(ws, inv, before, ro)
	if err != nil {
		return nil, err
	}
	return reduce.Refit(ws, inv, before, healthyMask(first.Points(ws, inv), r, prior, o), ro)
}
