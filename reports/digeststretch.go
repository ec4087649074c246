package reports

import (
	"fmt"
	"math"
	"slices"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/heatmap"
	"github.com/iopathy/iopathy/reduce"
)

// stretch is some windows that follow one another.
type stretch struct {
	from, to int
	rows     []digestRow
	names    names
	coverage []float64
	known    []float64
	facts    [][]float64 // of the windows: features, then told facts; NaN unknown
	text     []byte
	packed   any
	err      error
}

// names are what rows of a piece, or of all, refer to by numbers.
type names struct {
	keys          numbered[features.Key]
	slugs, groups numbered[string]
	spaces        numbered[*reduce.Model]
}

// numbered are the values of a list without repeats.
type numbered[T comparable] struct {
	all  []T
	of   map[T]int32
	last T
	at   int32
}

// number gives the place of a value, to which it is added if it is new.
func (l *numbered[T]) number(v T) int32 {
	if v == l.last && len(l.all) > 0 {
		return l.at
	}
	n, ok := l.of[v]
	if !ok {
		if l.of == nil {
			l.of = map[T]int32{}
		}
		n = int32(len(l.all))
		l.all, l.of[v] = append(l.all, v), n
	}
	l.last, l.at = v, n
	return n
}

// among gives the places of all values in another list.
func (l *numbered[T]) among(other *numbered[T]) []int32 {
	out := make([]int32, len(l.all))
	for i, v := range l.all {
		out[i] = other.number(v)
	}
	return out
}

// stretchReader reads one stretch after another.
type stretchReader struct {
	windows func(i int) *features.Window
	points  func(i int) *reduce.Point // nil: there are none
	said    func(i int) *cluster.Diagnosis
	facts   []int
	to      Labels
	rows    labelRows
	text    labelText
}

func newStretchReader(in *Input, facts []int, to Labels) *stretchReader {
	r := &stretchReader{windows: in.Windows.Cursor(), said: in.Result.Diagnoses.Cursor(), facts: facts, to: to}
	if in.Points.Len() > 0 {
		r.points = in.Points.Cursor()
	}
	return r
}

func (r *stretchReader) read(p *stretch) {
	n := p.to - p.from
	p.rows, p.coverage, p.known, p.text = make([]digestRow, 0, n), emptied(p.coverage, n), emptied(p.known, n), p.text[:0]
	if p.facts == nil {
		p.facts = make([][]float64, features.N+len(r.facts))
	}
	for k := range p.facts {
		p.facts[k] = emptied(p.facts[k], n)
	}
	p.names, p.packed, p.err = names{}, nil, nil
	if r.to.Pack != nil {
		r.rows.reset(n)
	}
	for i := p.from; i < p.to; i++ {
		d := r.said(i)
		var point *reduce.Point
		var w *features.Window
		if r.points != nil {
			point = r.points(i)
			w = point.Window
		}
		if w == nil {
			w = r.windows(i)
		}
		if w.Key != d.Key || w.StartNS != d.StartNS {
			p.err = fmt.Errorf("report: diagnosis %d is of another window", i)
			return
		}
		vector := &w.Vector
		if point != nil {
			vector = &point.Vector
		}
		p.add(w, d, point, vector, r.facts)
		if r.to.Pack != nil {
			r.rows.add(w, d, vector)
		}
		if r.to.Take != nil {
			p.text = r.text.append(p.text, w, d, vector)
		}
	}
	if r.to.Pack != nil {
		p.packed, p.err = r.to.Pack(r.rows.columns())
	}
}

// add takes what is kept of a window.
func (p *stretch) add(w *features.Window, d *cluster.Diagnosis, point *reduce.Point, vector *features.Vector, facts []int) {
	row := digestRow{
		startNS: w.StartNS, endNS: w.EndNS, severity: d.Severity, class: int32(d.ClassID), residual: vector[features.LatencyLoadResidual],
		device: p.names.keys.number(w.Key), slug: uint16(p.names.slugs.number(d.Pathology)), kind: uint8(w.Kind),
		said: uint8(max(slices.Index(verdicts[:], d.Verdict), 0)),
	}
	for k, fact := range heatmap.Facts {
		row.values[k] = w.Context[fact]
	}
	flag := func(f rowFlags, is bool) {
		if is {
			row.flags |= f
		}
	}
	flag(rowIdle, w.Idle)
	flag(rowLadder, w.Ladder != "")
	if len(w.Evidence) > 0 {
		_, told := cluster.MajorFaults(w)
		flag(rowFaults, told)
	}
	if point != nil {
		row.group, row.space = p.names.groups.number(point.Normal.Group), uint16(p.names.spaces.number(point.Space))
		if len(point.Y) >= 2 {
			row.flags |= rowPlaced
			row.y = [2]float64{point.Y[0], point.Y[1]}
		}
		flag(rowPlane, w.Missing.Has(features.LatencyLoadResidual) && w.Context[features.CtxMeanDepth] > 0 && !w.Idle && point.Normal.Source != "")
	}
	p.rows = append(p.rows, row)
	p.coverage, p.known = append(p.coverage, w.Coverage), append(p.known, w.Known)
	for k := range features.N {
		v := math.NaN()
		if w.Missing.Has(k) {
			v = vector[k]
		}
		p.facts[k] = append(p.facts[k], v)
	}
	for k, fact := range facts {
		p.facts[features.N+k] = append(p.facts[features.N+k], w.Context[fact])
	}
}
