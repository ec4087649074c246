package heatmap

import "math"

// Joint is the map of IOPS by latency: both axes are logarithmic, a cell's
// colour is the mean of each channel over the windows in it, its opacity
// (alpha) grows with the logarithm of their count.
type Joint struct {
	Raster
	Count      []int32 // by cell
	Total      int     // windows counted
	Left       int     // windows without throughput or latency
	IOPSDecade int     // column 0 starts at 10^IOPSDecade; PerDecade columns a decade
	// LatencyDecade: row Rows-1 starts at 10^LatencyDecade ms; rows run from
	// the slowest (0) to the fastest.
	LatencyDecade int
	PerDecade     int
}

// PerDecade is the number of bins a decade of a joint map.
const PerDecade = 10

// NewJoint counts the windows that aren't idle.
func NewJoint(windows Cells, s Scale) *Joint {
	j := &Joint{PerDecade: PerDecade}
	lo, hi := [2]int{math.MaxInt, math.MaxInt}, [2]int{math.MinInt, math.MinInt}
	bins := make([][2]int32, windows.Len())
	for i := range windows.Len() {
		w := windows.Cell(i)
		b, ok := bin(&w)
		if !ok {
			bins[i][0] = math.MinInt32
			if !w.Idle {
				j.Left++
			}
			continue
		}
		j.Total++
		bins[i] = [2]int32{int32(b[0]), int32(b[1])}
		for a := range 2 {
			lo[a], hi[a] = min(lo[a], b[a]), max(hi[a], b[a])
		}
	}
	if j.Total == 0 {
		return j
	}
	j.IOPSDecade, j.LatencyDecade = floorDiv(lo[0], PerDecade), floorDiv(lo[1], PerDecade)
	cols := (floorDiv(hi[0], PerDecade) + 1 - j.IOPSDecade) * PerDecade
	rows := (floorDiv(hi[1], PerDecade) + 1 - j.LatencyDecade) * PerDecade
	j.Raster = newRaster(cols, rows)
	j.Count = make([]int32, cols*rows)
	sums := make([][3]int64, cols*rows)
	values := make([][3]float64, cols*rows)
	for i := range windows.Len() {
		if bins[i][0] == math.MinInt32 {
			continue
		}
		c := windows.Cell(i).Values
		cell := (rows-1-(int(bins[i][1])-j.LatencyDecade*PerDecade))*cols + int(bins[i][0]) - j.IOPSDecade*PerDecade
		j.Count[cell]++
		color := s.Color(c[0], c[1], c[2])
		for k := range 3 {
			sums[cell][k] += int64(color[k])
			if v := c[k]; !math.IsNaN(v) {
				values[cell][k] += v
			}
		}
	}
	most := int32(0)
	for _, n := range j.Count {
		most = max(most, n)
	}
	for i, n := range j.Count {
		if n == 0 {
			continue
		}
		j.State[i] = Shown
		for k := range 3 {
			j.Pix[4*i+k] = uint8(sums[i][k] / int64(n))
		}
		j.Pix[4*i+3] = opacity(n, most)
		j.IOPS[i] = float32(values[i][0] / float64(n))
		j.LatencyMS[i] = float32(values[i][1] / float64(n))
		j.Depth[i] = float32(values[i][2] / float64(n))
	}
	return j
}

// faintest is the opacity of a single window: it must still be seen.
const faintest = 70

// opacity grows from faintest at one to 255 at most, by the logarithm.
func opacity(n, most int32) uint8 {
	if most <= 1 {
		return 255
	}
	return uint8(faintest + (255-faintest)*math.Log(float64(n))/math.Log(float64(most)))
}

// bin gives the log bins of IOPS and latency.
func bin(w *Cell) ([2]int, bool) {
	x, y := w.Values[0], w.Values[1]
	if w.Idle || !(x > 0) || !(y > 0) || math.IsInf(x, 0) || math.IsInf(y, 0) {
		return [2]int{}, false
	}
	return [2]int{int(math.Floor(math.Log10(x) * PerDecade)), int(math.Floor(math.Log10(y) * PerDecade))}, true
}

func floorDiv(a, b int) int { return int(math.Floor(float64(a) / float64(b))) }
