package reports

import (
	"errors"
	"fmt"
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
