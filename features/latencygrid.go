package features

import "math/bits"

// The rows of a LatencyGrid: four an octave from 2^gridLow ns (about 1 µs) up
// to 2^37 ns (137 s); what is beyond an end counts in the last row there.
const (
	gridLow    = 10
	gridPerOct = 4
	gridRows   = (37 - gridLow) * gridPerOct
)

// LatencyGrid counts requests by the time of their completion and by latency,
// in equal steps of time and logarithmic steps of latency. It is a fold of
// integers: the order of the requests doesn't matter.
type LatencyGrid struct {
	FromNS, StepNS int64
	Cols           int
	Count          []int64 // gridRows x Cols, the fastest row first
	Total          int64
	Outside        int64 // requests before or after its time
}

// NewLatencyGrid is an empty grid over [fromNS, toNS) of at most cols columns,
// none shorter than least.
func NewLatencyGrid(fromNS, toNS int64, cols int, least int64) *LatencyGrid {
	step := max((toNS-fromNS+int64(cols)-1)/int64(cols), least, 1)
	n := int(max((toNS-fromNS+step-1)/step, 1))
	return &LatencyGrid{FromNS: fromNS, StepNS: step, Cols: n, Count: make([]int64, gridRows*n)}
}

// Add counts n requests of a latency that ended at a time.
func (g *LatencyGrid) Add(timeNS, latencyNS, n int64) {
	col := (timeNS - g.FromNS) / g.StepNS
	if timeNS < g.FromNS || col >= int64(g.Cols) || latencyNS < 0 {
		g.Outside += n
		return
	}
	g.Count[gridRow(latencyNS)*g.Cols+int(col)] += n
	g.Total += n
}

// gridRow is the row of a latency: its power of two, and the two bits below.
func gridRow(ns int64) int {
	if ns < 1<<gridLow {
		return 0
	}
	e := 63 - bits.LeadingZeros64(uint64(ns))
	return min((e-gridLow)*gridPerOct+int(ns>>(e-2)&3), gridRows-1)
}

// Row gives the latencies, in ns, that a row holds: at least low, below high.
func (g *LatencyGrid) Row(row int) (low, high int64) {
	at := func(r int) int64 { return int64(4+r%gridPerOct) << (gridLow + r/gridPerOct - 2) }
	return at(row), at(row + 1)
}

// Rows are the first row that holds anything and the one after the last.
func (g *LatencyGrid) Rows() (from, to int) {
	for i, n := range g.Count {
		if n > 0 {
			if to == 0 {
				from = i / g.Cols
			}
			to = i/g.Cols + 1
		}
	}
	return from, to
}
