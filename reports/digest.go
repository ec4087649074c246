package reports

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/heatmap"
	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/reduce"
)

// PieceRows is how many windows are gone through at once.
const PieceRows = 64 << 10

// Labels takes the labels of all windows, PieceRows at a time. Either function may be
// nil.
type Labels struct {
	// Pack may be called by several at once; columns hold until it returns.
	Pack func(columns []Column) (any, error)
	// Take gets the rows as CSV and what Pack has made of them, one piece after another.
	// text holds until it returns.
	Take func(text []byte, packed any) error
}

// Digest is what the pages ask of every window: a hundred bytes of each lie in memory,
// whatever the windows themselves lie in. All else is asked of few windows.
type Digest struct {
	n             int
	keys          []features.Key // of the devices, as they come
	blocks        [][]digestRow  // of PieceRows each
	slugs, groups []string
	spaces        []*reduce.Model

	// straight: the windows of each device stand together, by time. Then what follows
	// is known.
	straight bool
	runs     []deviceRun // by device
	covered  float64     // sum over the judged windows of what was seen of them
	judged   int
	low      int // of them, seen for less than half
}

// digestRow is what is kept of a window.
type digestRow struct {
	startNS, endNS int64
	severity       float64
	values         [3]float64 // see heatmap.Cell
	residual       float64    // latency over normal at its load, log10
	y              [2]float64 // its first coordinates
	device, class  int32
	group          int32
	space, slug    uint16
	kind           uint8
	said           uint8 // place in verdicts
	flags          rowFlags
}

// verdicts in a byte each.
var verdicts = [...]cluster.Verdict{"", cluster.Healthy, cluster.Sick, cluster.Idle, cluster.Artefact}

func (r *digestRow) verdict() cluster.Verdict { return verdicts[r.said] }

type rowFlags uint8

const (
	rowIdle   rowFlags = 1 << iota
	rowPlaced          // has coordinates
	rowPlane           // has a place on the busy-or-sick plane
	rowLadder          // its stages are told
	rowFaults          // its page faults are told
)

// deviceRun is the windows of a device, and what they are when healthy.
type deviceRun struct {
	from, to int
	usual    []float64                   // median of each told fact; nil: the device is not sick
	own      *[features.N]cluster.Median // of each feature; nil likewise
}

// tellFacts are the facts that tell how bad an episode is, of all pathologies.
func tellFacts(c *cluster.Catalogue) []int {
	var facts []int
	for i := range c.Pathologies {
		for _, t := range c.Pathologies[i].Tells {
			if k := factIndex(t.Fact); k >= 0 && !slices.Contains(facts, k) {
				facts = append(facts, k)
			}
		}
	}
	return facts
}

// NewDigest goes through the windows once, by several workers, and gives the labels to
// who takes them. It fails where the parts of the input don't belong together.
func NewDigest(in *Input, workers int, to Labels) (*Digest, error) {
	if err := in.fits(); err != nil {
		return nil, err
	}
	workers = max(workers, 1)
	g := &Digest{n: in.Windows.Len(), straight: true}
	join := joiner{g: g, facts: tellFacts(&in.Catalogue), device: -1}
	join.healthy = make([][]float64, features.N+len(join.facts))
	readers, spare := make([]*stretchReader, workers), []*stretch{}
	for k := range readers {
		readers[k] = newStretchReader(in, join.facts, to)
	}
	begin := func(from int) (*aside, []*stretch) {
		side, batch := &aside{}, []*stretch{}
		for k := 0; k < workers && from < g.n; k++ {
			p := &stretch{}
			if n := len(spare); n > 0 {
				p, spare = spare[n-1], spare[:n-1]
			}
			p.from, p.to = from, min(from+PieceRows, g.n)
			side.do(func() { readers[k].read(p) })
			batch, from = append(batch, p), p.to
		}
		return side, batch
	}
	side, batch := begin(0)
	defer func() { side.all.Wait() }() // whatever ends the call: nothing reads on behind its back
	for len(batch) > 0 {
		side.wait()
		done := batch
		side, batch = begin(done[len(done)-1].to)
		for _, p := range done {
			if p.err != nil {
				return nil, p.err
			}
			if to.Take != nil {
				if err := to.Take(p.text, p.packed); err != nil {
					return nil, err
				}
			}
			join.add(p)
		}
		spare = append(spare, done...)
	}
	join.end()
	return g, nil
}

// fits refuses an Input whose parts are not as many as one another.
func (in *Input) fits() error {
	if in == nil {
		return errors.New("report: no input")
	}
	if n := in.Result.Diagnoses.Len(); n != in.Windows.Len() {
		return fmt.Errorf("report: %d diagnoses for %d windows", n, in.Windows.Len())
	}
	if n := in.Points.Len(); n != 0 && n != in.Windows.Len() {
		return fmt.Errorf("report: %d points for %d windows", n, in.Windows.Len())
	}
	return nil
}

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

// joiner joins pieces, in their order.
type joiner struct {
	g     *Digest
	facts []int
	names names

	device  int32 // in hand; -1: none
	sick    bool
	healthy [][]float64 // its healthy windows', by feature and fact

	last            digestRow // of the device in hand
	first           bool      // it is its first
	coverage, known float64   // of last
	touches         bool      // last, to the window before it
}

// add takes the next piece.
func (j *joiner) add(p *stretch) {
	devices, groups := p.names.keys.among(&j.names.keys), p.names.groups.among(&j.names.groups)
	slugs, spaces := p.names.slugs.among(&j.names.slugs), p.names.spaces.among(&j.names.spaces)
	for i := range p.rows {
		row := &p.rows[i]
		row.device, row.slug = devices[row.device], uint16(slugs[row.slug])
		if len(groups) > 0 {
			row.group, row.space = groups[row.group], uint16(spaces[row.space])
		}
		j.row(row, p, i)
	}
	j.g.blocks = append(j.g.blocks, p.rows)
}

// row takes what depends on the windows before and after a window.
func (j *joiner) row(row *digestRow, p *stretch, i int) {
	g := j.g
	if !g.straight {
		return
	}
	at := p.from + i
	touches := false
	if row.device != j.device {
		j.closeDevice(at)
		if int(row.device) != len(g.runs) { // it was in hand before
			g.straight = false
			return
		}
		g.runs = append(g.runs, deviceRun{from: at, to: at})
		j.device, j.first = row.device, true
	} else {
		if row.startNS < j.last.startNS {
			g.straight = false
			return
		}
		touches = j.last.endNS == row.startNS
		j.seen(touches)
		j.first = false
	}
	j.last, j.coverage, j.known, j.touches = *row, p.coverage[i], p.known[i], touches
	switch row.verdict() {
	case cluster.Sick:
		j.sick = true
	case cluster.Healthy:
		for k := range j.healthy {
			if v := p.facts[k][i]; v == v {
				j.healthy[k] = append(j.healthy[k], v)
			}
		}
	}
}

// seen counts what was seen of the last window, which the one after it touches or not:
// see facts.cover.
func (j *joiner) seen(touches bool) {
	if j.last.flags&rowIdle != 0 {
		return
	}
	seen := j.coverage
	if !j.touches || !touches {
		seen = j.known
	}
	j.g.covered += seen
	j.g.judged++
	if seen < 0.5 {
		j.g.low++
	}
}

// closeDevice ends the device in hand, whose windows end before one.
func (j *joiner) closeDevice(at int) {
	if j.device < 0 {
		return
	}
	j.seen(false)
	run := &j.g.runs[j.device]
	run.to = at
	if j.sick {
		run.own = new([features.N]cluster.Median)
		for k := range features.N {
			run.own[k] = cluster.MedianOf(j.healthy[k])
		}
		for _, v := range j.healthy[features.N:] {
			usual := math.NaN()
			if len(v) > 0 {
				usual = lowerMedian(v)
			}
			run.usual = append(run.usual, usual)
		}
	}
	j.sick = false
	for k := range j.healthy {
		j.healthy[k] = j.healthy[k][:0]
	}
}

func (j *joiner) end() {
	g := j.g
	if g.straight {
		j.closeDevice(g.n)
	}
	if !g.straight {
		g.runs = nil
	}
	g.keys, g.slugs, g.groups, g.spaces = j.names.keys.all, j.names.slugs.all, j.names.groups.all, j.names.spaces.all
}

func (g *Digest) row(i int) *digestRow { return &g.blocks[i/PieceRows][i%PieceRows] }

// Len is the number of windows.
func (g *Digest) Len() int { return g.n }

// Cell is what the maps show of window i.
func (g *Digest) Cell(i int) heatmap.Cell {
	r := g.row(i)
	return heatmap.Cell{Key: g.keys[r.device], StartNS: r.startNS, EndNS: r.endNS, Idle: r.flags&rowIdle != 0,
		Verdict: r.verdict(), Pathology: g.slugs[r.slug], Severity: r.severity, Values: r.values}
}

// Verdict is what is said of window i.
func (g *Digest) Verdict(i int) cluster.Verdict { return g.row(i).verdict() }

// Kind is that of the latencies of window i.
func (g *Digest) Kind(i int) ingest.LatencyKind { return ingest.LatencyKind(g.row(i).kind) }

// Key is the device of window i.
func (g *Digest) Key(i int) features.Key { return g.keys[g.row(i).device] }

// Runs gives the windows of each device, from one to another, which is not among them;
// nil where they don't stand together.
func (g *Digest) Runs() map[features.Key][2]int {
	if !g.straight {
		return nil
	}
	out := make(map[features.Key][2]int, len(g.runs))
	for i, r := range g.runs {
		out[g.keys[i]] = [2]int{r.from, r.to}
	}
	return out
}

// Healthy are the medians of the features over a sick device's healthy windows; nil of
// another, or where they are not known.
func (g *Digest) Healthy(k features.Key) *[features.N]cluster.Median {
	for i := range g.runs {
		if g.keys[i] == k {
			return g.runs[i].own
		}
	}
	return nil
}

// Layered says whether windows from one to another are of more than one layer of a
// host, or tell of page faults: without, nothing can be held against another layer.
func (g *Digest) Layered(from, to int) bool {
	disk, other := false, false
	for i := from; i < to; i++ {
		r := g.row(i)
		if r.flags&rowFaults != 0 {
			return true
		}
		switch ingest.LatencyKind(r.kind) {
		case ingest.KindSyscall, ingest.KindApp:
			other = true
		default:
			disk = true
		}
	}
	return disk && other
}
