package reduce

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/iopathy/iopathy/features"
)

// Windows below which a fit keeps the centre or the components of its prior.
const (
	centreShrink  = 200 // windows at which the fit's own centre and spread weigh half
	fewComponents = 100 // windows that are not idle
)

// Fit learns normals, centre, scale and components from windows whose labels
// are unknown. prior is the model of the nights before or the shipped one; nil
// falls back to constants. Its latency levels count only where its latency
// kind is the windows' own; centre, scale and components are dimensionless and
// always count. The windows of one Fit have one latency kind, tick and length.
func Fit(ws features.Rows[features.Window], inv Inventory, prior *Model, o Options) (*Model, error) {
	return Refit(ws, inv, prior, nil, o)
}

// Refit is Fit's second pass: healthy tells, window by window, what the gate
// let pass on the points of the first pass. Normals and the centre are then
// taken from those.
func Refit(ws features.Rows[features.Window], inv Inventory, prior *Model, healthy []bool, o Options) (*Model, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("reduce: %w", err)
	}
	if healthy != nil && len(healthy) != ws.Len() {
		panic("reduce: healthy is not one a window")
	}
	s, err := newSurvey(ws, inv)
	if err != nil {
		return nil, err
	}
	m := &Model{
		Schema: Schema, LatencyKind: s.kind.String(), TickNS: s.tick, WindowNS: s.window, Windows: s.judged,
		Clip: o.Clip, Centre: priorCentre, Scale: priorScale,
	}
	if prior != nil {
		m.Centre, m.Scale = prior.Centre, prior.Scale
	}
	l := learner{survey: s, healthy: healthy, prior: prior, o: o}
	l.sameKnd = prior != nil && prior.LatencyKind == m.LatencyKind
	m.Groups = l.groups(s.groups())
	m.Devices = l.devices(m)
	if prior != nil {
		m.history = prior.history
	}
	p := projection{m: m, inv: inv, past: m.recall()}
	if healthy != nil {
		m.centre(ws, &p, healthy)
	}
	if prior != nil && m.Windows < fewComponents {
		m.Components, m.Variance, m.Kept = prior.Components, prior.Variance, prior.Kept
		return m, nil
	}
	var sum moment
	for i := range ws.Len() {
		if w := ws.At(i); !w.Idle {
			point := p.measure(w)
			m.standardise(&point)
			sum.add(&point)
		}
	}
	m.components(sum.matrix(), o.Variance)
	return m, nil
}

// axesAtOnce is how many axes' values of the healthy windows are held at once
// where the windows are many; of fewer than manyWindows all are.
const (
	axesAtOnce  = 4
	manyWindows = 1 << 16
)

// centre moves the centre towards the median of the healthy windows, by at
// most one scale: a fleet has its habits, but its habits don't define healthy.
// The scale widens to their spread and never narrows.
func (m *Model) centre(ws features.Rows[features.Window], p *projection, healthy []bool) {
	step := features.N
	if ws.Len() >= manyWindows {
		step = axesAtOnce
	}
	values := make([][]float64, step)
	for from := 0; from < features.N; from += step {
		for k := range values {
			values[k] = values[k][:0]
		}
		for i := range ws.Len() {
			if !healthy[i] {
				continue
			}
			w := ws.At(i)
			if w.Idle {
				continue
			}
			point := p.measure(w)
			for k := range values {
				if f := from + k; f < features.N && w.Missing.Has(f) {
					values[k] = append(values[k], point.Vector[f])
				}
			}
		}
		m.centreAxes(from, values)
	}
}

// centreAxes moves the centres of the axes from one on, by their values.
func (m *Model) centreAxes(from int, values [][]float64) {
	for k, x := range values {
		f := from + k
		if len(x) == 0 {
			continue
		}
		slices.Sort(x)
		median := quantile(x, 0.5)
		to := shrink(median, len(x), m.Centre[f], centreShrink)
		m.Centre[f] += min(max(to-m.Centre[f], -m.Scale[f]), m.Scale[f])
		for i := range x {
			x[i] = math.Abs(x[i] - median)
		}
		slices.Sort(x)
		m.Scale[f] = max(m.Scale[f], shrink(madScale*quantile(x, 0.5), len(x), m.Scale[f], centreShrink))
	}
}

// madScale makes the median absolute deviation a standard deviation for
// normal values.
const madScale = 1.4826

// components takes the principal axes of the second moment about the healthy
// origin. Each group weighs the same, in it each device, in it each window.
func (m *Model) components(moment *mat.SymDense, share float64) {
	values, vectors := principal(moment)
	m.Variance = values
	total := 0.0
	for _, v := range values {
		total += v
	}
	m.Components = nil
	kept := 0.0
	for i := range values {
		if total > 0 && kept >= share*total {
			break
		}
		m.Components = append(m.Components, vectors[i])
		kept += values[i]
	}
	m.Kept = 1
	if total > 0 {
		m.Kept = kept / total
	}
}

// Project measures windows against their normals and places them among their
// peers. It is pure. The vector of a Point differs from its window's: the
// latency residual is the raw latency at load less the expected one, and five
// axes are sharpened by the context and the normals (axes.go).
func (m *Model) Project(ws []features.Window, inv Inventory) []Point {
	points := make([]Point, len(ws))
	project := m.Projector(inv)
	for i := range ws {
		points[i] = project(&ws[i])
	}
	return points
}

// Projector gives what Project does, a window at a time; it is not safe for
// concurrent use.
func (m *Model) Projector(inv Inventory) func(w *features.Window) Point {
	p := projection{m: m, inv: inv, past: m.recall()}
	return func(w *features.Window) Point {
		point := p.measure(w)
		m.standardise(&point)
		m.rotate(&point)
		return point
	}
}

// Points gives Project's points of windows that need not lie in memory: each
// is made when it is asked for.
func (m *Model) Points(ws features.Rows[features.Window], inv Inventory) features.Rows[Point] {
	project := m.Projector(inv)
	return features.Fetched(ws.Len(), func(i int) *Point {
		p := project(ws.At(i))
		return &p
	})
}

// projection measures windows against the normals of a model.
type projection struct {
	m    *Model
	inv  Inventory
	past *recall
	last features.Key // whose device is known
	of   Device
}

func (x *projection) measure(w *features.Window) Point {
	if w.Key != x.last {
		x.last, x.of = w.Key, x.inv[w.Key]
	}
	p := Point{Window: w, Space: x.m, Vector: w.Vector, Device: x.of, Normal: x.m.normal(w, x.of, x.past)}
	if w.Idle {
		return p
	}
	known := w.Missing.Has
	if known(features.LatencyLoadResidual) {
		p.Vector[features.LatencyLoadResidual] = rawNS(w) - p.Normal.Expected
	} else {
		p.Vector[features.LatencyLoadResidual] = 0
	}
	set := func(f int, value float64) {
		if known(f) {
			p.Vector[f] = value
		}
	}
	set(features.ThroughputPlateau, ceiling(w))
	set(features.BurstQueueing, bursts(w, p.Vector[features.LatencyLoadResidual]))
	set(features.WriteFlood, flood(&p))
	set(features.RereadShare, rereads(w))
	set(features.StallGap, gap(w))
	return p
}

// normal finds what a window is held against: the device's nights before, its
// peers', its own windows at hand, its group's, its rotational kind's, the
// constants.
func (m *Model) normal(w *features.Window, d Device, past *recall) Normal {
	n := Normal{Group: groupOf(d), Source: "prior", Value: flatLevel, Rate: otherRate}
	rot := d.Rotational == "1"
	if rot {
		n.Value, n.Rate = diskLevel, diskRate
	}
	g := m.group(n.Group)
	if g == nil && d.Rotational != "" {
		g = m.group(kindPrefix + d.Rotational)
	}
	if g != nil {
		n.Value, n.Rate, n.Source, n.Windows = g.Level, g.Rate, g.Source, g.Windows
	}
	if own := m.own(w.Key); own != nil {
		windows, weight := own.Earlier, float64(centreShrink)/10
		if n.Group == "" {
			windows, weight = own.Windows, unknownOwn
			if windows < fewHealthy { // too few to tell a slow device from a slow kind
				n.Value = clamp(own.Level, flatLevel, diskLevel)
			}
		}
		if windows > 0 {
			group := n.Value
			n.Value = shrink(own.Level, windows, group, weight/lengthWeight(m.WindowNS))
			if n.Group != "" {
				n.Value = min(n.Value, group+ownBound)
			}
			if float64(windows)*lengthWeight(m.WindowNS) >= weight {
				n.Source, n.Windows = "device", windows
			}
		}
	}
	n.Alone = g != nil && g.Devices == 1 && (n.Source == "device" || n.Source == "group")
	past.refine(&n, w, d, g)
	n.Expected = expected(w, n.Value, n.Rate, rot)
	return n
}

// standardise fills Z from Vector.
func (m *Model) standardise(p *Point) {
	if !p.Window.Idle {
		p.Z = m.Standardise(&p.Vector, p.Window.Missing.Has)
	}
}

// Standardise gives the z of a Point's vector; a feature that is not known is
// 0, as healthy. It is rounded to 2^-20, so that sums of its products are exact.
func (m *Model) Standardise(vector *features.Vector, known func(feature int) bool) (z features.Vector) {
	for f := range features.N {
		if !known(f) {
			continue
		}
		v := clamp((vector[f]-m.Centre[f])/m.Scale[f], -m.Clip, m.Clip)
		z[f] = math.Round(v*unit) / unit
	}
	return z
}

// rotate fills Y from Z.
func (m *Model) rotate(p *Point) {
	p.Y = make([]float64, len(m.Components))
	m.Rotate(&p.Z, p.Y)
}

// Rotate writes a direction of z-space in the coordinates of the components.
func (m *Model) Rotate(z *features.Vector, y []float64) {
	for i, c := range m.Components {
		s := 0.0
		for f, l := range c {
			s += l * z[f]
		}
		y[i] = s
	}
}
