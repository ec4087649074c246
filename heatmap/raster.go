package heatmap

import "math"

// State says how a cell is to be drawn.
type State uint8

// The states. Gap: no window, nothing is drawn. Shown: colours count. Idle:
// too little happened for a colour. Lossy: colours count, but part of the
// window was lost or its numbers are impossible; it is drawn hatched.
const (
	Gap State = iota
	Shown
	Idle
	Lossy
)

// Raster is a grid of cells, row 0 first. All slices have Cols x Rows
// elements (Pix four times as many); a cell's index is row x Cols + column.
type Raster struct {
	Cols, Rows int
	Pix        []uint8   // RGBA; alpha 0 in a gap, and for Idle cells
	IOPS       []float32 // 1/s; NaN missing
	LatencyMS  []float32
	Depth      []float32
	State      []State
}

// newRaster is a grid of gaps.
func newRaster(cols, rows int) Raster {
	n := cols * rows
	r := Raster{
		Cols: cols, Rows: rows,
		Pix:  make([]uint8, 4*n),
		IOPS: make([]float32, n), LatencyMS: make([]float32, n), Depth: make([]float32, n),
		State: make([]State, n),
	}
	nan := float32(math.NaN())
	for i := range n {
		r.IOPS[i], r.LatencyMS[i], r.Depth[i] = nan, nan, nan
	}
	return r
}

// set writes a cell's values and colour.
func (r *Raster) set(i int, s Scale, state State, iops, latencyMS, depth float64) {
	r.State[i] = state
	r.IOPS[i], r.LatencyMS[i], r.Depth[i] = float32(iops), float32(latencyMS), float32(depth)
	if state == Gap || state == Idle {
		return
	}
	c := s.Color(iops, latencyMS, depth)
	copy(r.Pix[4*i:], []uint8{c[0], c[1], c[2], 255})
}

// At gives a cell's colour and state.
func (r *Raster) At(col, row int) (RGB, State) {
	i := row*r.Cols + col
	return RGB{r.Pix[4*i], r.Pix[4*i+1], r.Pix[4*i+2]}, r.State[i]
}
