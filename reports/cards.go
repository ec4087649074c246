package reports

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
)

// Card is what the single requests of a device tell, and why its worst window
// has its label. The caller makes one for the worst devices.
type Card struct {
	features.Key
	Grid      *features.LatencyGrid // nil: none
	Means     bool                  // Grid holds means of windows: there are no single requests
	Part      bool                  // Grid is of a part of the device's time, around its worst window
	Exemplars []Exemplar            // its worst windows
	Actors    map[string][]features.Actor
	ActorFrom int64 // the time that Actors are of
	ActorTo   int64
	Culprits  []EpisodeCulprits    // of its most severe episodes, in time
	Why       *cluster.Explanation // of the worst window
}

// Exemplar is a sick window and where its requests stand in the inputs.
type Exemplar struct {
	StartNS, EndNS int64
	Severity       float64
	Ranges         []ByteRange
	Slowest        []SlowLine
}

// ByteRange is where an input's lines of a window's requests stand: the bytes,
// after decompression, at which the first and the last of them begin.
type ByteRange struct {
	Source      string // name of the input
	Lines       bool   // it is text
	First, Last int64
	Requests    int64
}

// cardView is the part of a section that a Card fills.
type cardView struct {
	Grid, Plane         template.HTML
	GridText, PlaneText string
	GridRows            []gridRow
	Exemplars           []exemplarView
	Axes                []axisView
	Nearest, Flips      string
	Culprits            []culpritTable
	CulpritText         string
}

type gridRow struct{ From, To, Count, Share string }

type rangeView struct{ Text, Command string }

type exemplarView struct {
	When, Severity string
	Ranges         []rangeView
	Slow           []slowRow
	HasRaw         bool
}

type axisView struct{ Name, Value, Own, Nights, Peers, Z string }

func (f *facts) card(k features.Key) *Card {
	for i := range f.in.Cards {
		if f.in.Cards[i].Key == k {
			return &f.in.Cards[i]
		}
	}
	return nil
}

func (f *facts) cardView(d *device) *cardView {
	v := &cardView{}
	if f.drawing {
		plane, text := f.devicePlane(d)
		v.Plane, v.PlaneText = plane.inline(), text
		f.pictureBytes += len(v.Plane)
	}
	c := f.card(d.Key)
	if c == nil {
		return v
	}
	switch {
	case c.Grid == nil || c.Grid.Total == 0:
	case f.gridBytes < gridBudget:
		grid, text := f.gridPicture(c)
		v.Grid, v.GridText = grid.inline(), text
		f.gridBytes += len(v.Grid)
		f.gridsDrawn++
	default:
		f.gridsLeft++
	}
	v.GridRows = gridRows(c.Grid)
	for _, e := range c.Exemplars {
		x := exemplarView{When: f.time.at(e.StartNS) + " to " + f.time.at(e.EndNS), Severity: fmt.Sprintf("%.1f", e.Severity)}
		for _, r := range e.Ranges {
			x.Ranges = append(x.Ranges, rangeView{fmt.Sprintf("%s: %s in the lines that begin at bytes %s to %s", label(r.Source), plural(int(r.Requests), "request"), count(r.First), count(r.Last)), r.Command()})
		}
		for i := range e.Slowest {
			s := slowView(f, &e.Slowest[i])
			x.HasRaw = x.HasRaw || s.Raw != ""
			x.Slow = append(x.Slow, s)
		}
		v.Exemplars = append(v.Exemplars, x)
	}
	iv := incidentView{}
	iv.culprits(&IncidentDevice{Actors: c.Actors})
	v.Culprits = iv.Culprits
	if len(v.Culprits) > 0 {
		v.CulpritText = "Of the worst episode, " + f.time.at(c.ActorFrom) + " to " + f.time.at(c.ActorTo)
	}
	f.why(v, c.Why)
	return v
}

// mostAxes bounds the deciding features of a card.
const mostAxes = 5

// decidingAxes are the known features that deviate most, by at least a healthy
// scale.
func decidingAxes(x *cluster.Explanation) []cluster.Axis {
	axes := slices.DeleteFunc(slices.Clone(x.Axes[:]), func(a cluster.Axis) bool { return a.Missing || !(abs(a.Z) >= 1) })
	slices.SortStableFunc(axes, func(a, b cluster.Axis) int { return cmp.Compare(abs(b.Z), abs(a.Z)) })
	return axes[:min(len(axes), mostAxes)]
}

// why tells what decided the worst window, what lies next to it, and what
// would change its label.
func (f *facts) why(v *cardView, x *cluster.Explanation) {
	if x == nil {
		return
	}
	median := func(m cluster.Median) string {
		if m.Windows == 0 {
			return "–"
		}
		return fmt.Sprintf("%s (%s)", three(m.Value), plural(m.Windows, "window"))
	}
	for _, a := range decidingAxes(x) {
		v.Axes = append(v.Axes, axisView{a.Feature, three(a.Value), median(a.Own), nightWords(a.Nights), median(a.Group), fmt.Sprintf("%+.1f", a.Z)})
	}
	for i, c := range x.Classes[:min(2, len(x.Classes))] {
		word := []string{"Nearest class: ", "; next: "}[i]
		v.Nearest += fmt.Sprintf("%s%d, %s (cosine distance %s)", word, c.ID, f.pathologyName(c.Pathology), three(c.Distance))
	}
	for i, fl := range x.Flips[:min(3, len(x.Flips))] {
		if i > 0 {
			v.Flips += "; "
		}
		becomes := fl.Becomes
		if f.in.pathology(becomes) != nil {
			becomes = f.pathologyName(becomes)
		}
		v.Flips += fmt.Sprintf("%s from %s to %s would make it %s", fl.Feature, three(fl.From), three(fl.To), becomes)
	}
}

// gridPicture draws the requests of a device by latency and time; opacity
// grows with the logarithm of their number.
func (f *facts) gridPicture(c *Card) (picture, string) {
	g := c.Grid
	if g == nil || g.Total == 0 {
		return picture{}, ""
	}
	from, to := g.Rows()
	from, to = max(from-2, 0), to+2
	low, _ := g.Row(from)
	high, _ := g.Row(to)
	span, end := float64(g.StepNS)*float64(g.Cols), g.FromNS+g.StepNS*int64(g.Cols)
	x := axis{lo: 0, hi: span, label: f.timeAxis(), words: func(v float64) string { return f.time.at(g.FromNS + int64(v)) }}
	x.marks = f.timeMarks(g.FromNS, span)
	y := axis{lo: float64(low) / 1e6, hi: float64(high) / 1e6, log: true, label: "latency (ms)", words: three}
	p := newPlot(900, 260, x, y)
	most, peak := int64(0), 0
	for i, n := range g.Count {
		if n > most {
			most, peak = n, i
		}
	}
	wide := (p.right - p.left) / float64(g.Cols)
	const shades = 8
	cells := make([][]byte, shades) // a path a shade
	var begin [shades]int           // of its last bar
	shade, length, at := -1, 0, -1
	for i, n := range g.Count {
		row, col := i/g.Cols, i%g.Cols
		if n == 0 || row < from || row >= to {
			continue
		}
		lo, hi := g.Row(row)
		top, bottom := p.py(float64(hi)/1e6), p.py(float64(lo)/1e6)
		s := shades - 1
		if most > 1 {
			s = int(float64(shades-1)*math.Log(float64(n))/math.Log(float64(most)) + 0.5)
		}
		if s == shade && at == i-1 && col > 0 { // one bar for cells alike
			cells[s] = cells[s][:begin[s]]
			length++
		} else {
			begin[s], shade, length = len(cells[s]), s, 1
		}
		at = i
		cells[s] = fmt.Appendf(cells[s], "M%.1f %.1fh%.1fv%.1fh-%.1fz", p.left+wide*float64(col+1-length), top, wide*float64(length), bottom-top, wide*float64(length))
	}
	p.frame()
	for s, path := range cells {
		if path != nil {
			fmt.Fprintf(&p.b, `<path fill="var(--accent)" fill-opacity="%.2f" d="%s"/>`, 0.16+0.84*float64(s)/(shades-1), path)
		}
	}
	lo, hi := g.Row(peak / g.Cols)
	text := fmt.Sprintf("%s by time of completion (columns of %s) and latency (4 rows an octave); the stronger the colour, the more, by the logarithm, from 1 to %s. Most in a cell: %s at %s, from %s to %s ms.",
		plural(int(g.Total), "request"), inSeconds(float64(g.StepNS)/1e9), count(most), count(most), f.time.at(g.FromNS+int64(peak%g.Cols)*g.StepNS), three(float64(lo)/1e6), three(float64(hi)/1e6))
	if c.Means {
		text = "No single requests are known: the requests of each window count at its mean latency. " + text
	}
	if c.Part {
		text += fmt.Sprintf(" The part from %s to %s, around the worst window: the device has too many requests to show all.", f.time.full(g.FromNS), f.time.full(end))
	}
	pic := p.picture("Requests by latency and time; the table below holds the counts by latency")
	pic.class += " long"
	return pic, text
}

// timeSteps are what a reader counts in, in seconds.
var timeSteps = []int64{1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1200, 1800, 3600, 7200, 10800, 21600, 43200, 86400}

// timeMarks are the labelled times of an axis of so many ns that begins at
// from: whole steps, five at most where the labels hold dates.
func (f *facts) timeMarks(from int64, span float64) []float64 {
	most := 7.0
	if f.time.day {
		most = 5
	}
	step := int64(1e8)
	for i := 0; span/float64(step) > most; i++ {
		if i < len(timeSteps) {
			step = timeSteps[i] * 1e9
		} else {
			step *= 2
		}
	}
	var out []float64
	for at := (step - from%step) % step; float64(at) <= span; at += step {
		out = append(out, float64(at))
	}
	return out
}

func (f *facts) timeAxis() string {
	if f.time.relative {
		return "time since the start of the trace"
	}
	return "time (UTC)"
}

// octave is the requests of one octave of latency.
type octave struct{ low, high, requests int64 }

func octaves(g *features.LatencyGrid) []octave {
	from, to := g.Rows()
	var out []octave
	for row := from - from%4; row < to; row += 4 {
		n := int64(0)
		for i := row * g.Cols; i < min(row+4, len(g.Count)/g.Cols)*g.Cols; i++ {
			n += g.Count[i]
		}
		low, _ := g.Row(row)
		high, _ := g.Row(row + 4)
		out = append(out, octave{low, high, n})
	}
	return out
}

// gridRows is the table behind the picture: requests by octave of latency.
func gridRows(g *features.LatencyGrid) []gridRow {
	if g == nil {
		return nil
	}
	var out []gridRow
	for _, o := range octaves(g) {
		out = append(out, gridRow{three(float64(o.low) / 1e6), three(float64(o.high) / 1e6), count(o.requests), percent(float64(o.requests) / float64(max(g.Total, 1)))})
	}
	return out
}
