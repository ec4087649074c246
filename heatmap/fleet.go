package heatmap

import (
	"cmp"
	"math"
	"slices"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
)

// Order is how a fleet map sorts its devices, from the top.
type Order uint8

// The orders: BySeverity puts the worst device first, ByName sorts by host,
// then device.
const (
	BySeverity Order = iota
	ByName
)

// FleetOptions tune a fleet map; DefaultFleetOptions are the defaults.
type FleetOptions struct {
	Order      Order `mapstructure:"-"`           // the page offers both
	MaxColumns int   `mapstructure:"max_columns"` // above it, columns are aggregated
	MaxRows    int   `mapstructure:"max_rows"`    // above it, only the worst devices are drawn
	MaxCells   int   `mapstructure:"max_cells"`   // columns are aggregated until the grid is no larger

	// Worst is the place of each device among the worst, where the caller knows better
	// than by its worst window; nil: by that.
	Worst map[features.Key]int `mapstructure:"-" json:"-"`
}

// DefaultFleetOptions: a screen has no more than about 4,000 pixels.
func DefaultFleetOptions() FleetOptions {
	return FleetOptions{Order: BySeverity, MaxColumns: 4000, MaxRows: 4000, MaxCells: 2_000_000}
}

// Row is a device's line in a fleet map.
type Row struct {
	features.Key
	OriginNS int64   // time of column 0 in this row
	Worst    float64 // largest severity of its sick windows
	Sick     int     // sick windows
	Windows  int
	// Normal is the median colour of its healthy windows, against which the
	// change is drawn; without any, of all its windows.
	Normal RGB
}

// Fleet is devices by time. A cell of several windows shows the worst of them
// (largest severity, then the earliest), with that window's own values.
type Fleet struct {
	Raster
	Devices []Row
	Omitted int   // devices beyond MaxRows
	StartNS int64 // time of column 0; 0 if Aligned
	StepNS  int64 // time of a column
	Merged  int   // windows a column holds, 1 unless aggregated
	// Aligned: the devices were recorded at different times, so that a common
	// axis would be mostly empty; each row starts at its own first window.
	Aligned  bool
	Severity []float32 // by cell; 0 unless judged
	Class    []uint8   // by cell: 0 not sick, else 1 + index into Pathologies
	Window   []int32   // by cell: index into the windows; -1 gap
	// Pathologies are the slugs that Class refers to, sorted.
	Pathologies []string
}

// alignedBelow is the filled share of the common grid under which devices are
// aligned at their starts.
const alignedBelow = 0.125

// NewFleet lays the windows on the grid. Their order doesn't matter.
func NewFleet(windows Cells, s Scale, o FleetOptions) *Fleet {
	f := &Fleet{Merged: 1}
	order := inOrder(windows)
	f.rows(windows, order, o)
	if len(f.Devices) == 0 {
		return f
	}
	index := make(map[features.Key]int, len(f.Devices))
	for i, d := range f.Devices {
		index[d.Key] = i
	}
	f.grid(windows, index, o)
	f.Severity = make([]float32, f.Cols*f.Rows)
	f.Class = make([]uint8, f.Cols*f.Rows)
	f.Window = make([]int32, f.Cols*f.Rows)
	for i := range f.Window {
		f.Window[i] = -1
	}
	f.pathologies(windows)
	row, ok := 0, false
	var key features.Key
	for n, w := range order {
		win := windows.Cell(int(w))
		if n == 0 || win.Key != key {
			key = win.Key
			row, ok = index[key]
		}
		if !ok {
			continue
		}
		from := f.column(row, win.StartNS)
		to := max(from+1, f.column(row, win.EndNS-1)+1)
		for col := from; col < min(to, f.Cols); col++ {
			f.put(row*f.Cols+col, &win, w, s)
		}
	}
	f.normals(windows)
	return f
}

// inOrder gives the windows' indices by device, then time. Windows mostly come
// so device by device, and then only their runs need be put in order.
func inOrder(windows Cells) []int32 {
	type run struct{ from, to int }
	var runs []run
	straight := true
	var key features.Key
	last := int64(0)
	for i := 0; i < windows.Len() && straight; i++ {
		w := windows.Cell(i)
		if i == 0 || w.Key != key {
			runs, key = append(runs, run{from: i}), w.Key
		} else {
			straight = last <= w.StartNS
		}
		runs[len(runs)-1].to, last = i+1, w.StartNS
	}
	order := make([]int32, 0, windows.Len())
	if straight {
		slices.SortStableFunc(runs, func(a, b run) int { return compareCells(windows.Cell(a.from), windows.Cell(b.from)) })
		for i, r := range runs {
			straight = straight && (i == 0 || windows.Cell(runs[i-1].from).Key != windows.Cell(r.from).Key)
			for w := r.from; w < r.to; w++ {
				order = append(order, int32(w))
			}
		}
	}
	if !straight {
		order = order[:0]
		for i := range windows.Len() {
			order = append(order, int32(i))
		}
		slices.SortStableFunc(order, func(a, b int32) int { return compareCells(windows.Cell(int(a)), windows.Cell(int(b))) })
	}
	return order
}

func compareCells(a, b Cell) int {
	return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Device, b.Device), cmp.Compare(a.StartNS, b.StartNS))
}

// rows finds the devices and sorts them.
func (f *Fleet) rows(windows Cells, order []int32, o FleetOptions) {
	for _, i := range order {
		w := windows.Cell(int(i))
		if n := len(f.Devices); n == 0 || f.Devices[n-1].Key != w.Key {
			f.Devices = append(f.Devices, Row{Key: w.Key, OriginNS: w.StartNS})
		}
		d := &f.Devices[len(f.Devices)-1]
		d.Windows++
		if w.Verdict == cluster.Sick {
			d.Sick++
			d.Worst = max(d.Worst, w.Severity)
		}
	}
	bySeverity := func(a, b Row) int {
		return cmp.Or(cmp.Compare(o.Worst[a.Key], o.Worst[b.Key]), cmp.Compare(b.Worst, a.Worst), cmp.Compare(b.Sick, a.Sick),
			cmp.Compare(a.Host, b.Host), cmp.Compare(a.Device, b.Device))
	}
	slices.SortFunc(f.Devices, bySeverity)
	if o.MaxRows > 0 && len(f.Devices) > o.MaxRows {
		f.Omitted = len(f.Devices) - o.MaxRows
		f.Devices = f.Devices[:o.MaxRows]
	}
	if o.Order == ByName {
		slices.SortFunc(f.Devices, func(a, b Row) int {
			return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Device, b.Device))
		})
	}
}

// grid fixes origin, step and size.
func (f *Fleet) grid(windows Cells, index map[features.Key]int, o FleetOptions) {
	step, first, last, longest, filled := int64(math.MaxInt64), int64(math.MaxInt64), int64(math.MinInt64), int64(0), int64(0)
	row, ok := 0, false
	var key features.Key
	for i := range windows.Len() {
		w := windows.Cell(i)
		if i == 0 || w.Key != key {
			key = w.Key
			row, ok = index[key]
		}
		if !ok {
			continue
		}
		step = min(step, max(w.EndNS-w.StartNS, 1))
		first, last = min(first, w.StartNS), max(last, w.EndNS)
		longest = max(longest, w.EndNS-f.Devices[row].OriginNS)
		filled += w.EndNS - w.StartNS
	}
	span := last - first
	f.StartNS = first
	if float64(filled) < alignedBelow*float64(span)*float64(len(f.Devices)) && len(f.Devices) > 1 {
		f.Aligned, f.StartNS, span = true, 0, longest
	}
	for i := range f.Devices {
		if !f.Aligned {
			f.Devices[i].OriginNS = first
		}
	}
	limit := int64(1)
	if o.MaxColumns > 0 {
		limit = int64(o.MaxColumns)
	} else {
		limit = math.MaxInt32
	}
	if o.MaxCells > 0 {
		limit = max(min(limit, int64(o.MaxCells/len(f.Devices))), 1)
	}
	cols := (span + step - 1) / step
	f.Merged = int((cols + limit - 1) / limit)
	f.StepNS = step * int64(f.Merged)
	f.Raster = newRaster(int((span+f.StepNS-1)/f.StepNS), len(f.Devices))
}

func (f *Fleet) column(row int, ns int64) int {
	return int((ns - f.Devices[row].OriginNS) / f.StepNS)
}

func (f *Fleet) pathologies(windows Cells) {
	seen, last := map[string]bool{}, ""
	for i := range windows.Len() {
		if d := windows.Cell(i); d.Pathology != last && d.Verdict == cluster.Sick && !seen[d.Pathology] && len(seen) < 254 {
			seen[d.Pathology], last = true, d.Pathology
			f.Pathologies = append(f.Pathologies, d.Pathology)
		}
	}
	slices.Sort(f.Pathologies)
}

// put draws window w in cell i unless a worse or equal one stands there.
func (f *Fleet) put(i int, win *Cell, w int32, s Scale) {
	state, severity, class := Shown, 0.0, uint8(0)
	if win.Idle {
		state = Idle
	}
	switch win.Verdict {
	case cluster.Idle:
		state = Idle
	case cluster.Artefact:
		state = Lossy
	case cluster.Sick:
		at, _ := slices.BinarySearch(f.Pathologies, win.Pathology)
		class = uint8(at + 1)
	}
	if state == Shown && win.Verdict != "" {
		severity = win.Severity
	}
	if f.Window[i] >= 0 {
		// A judged window stands before an idle one, a sick one before both.
		was := f.rank(i)
		now := rank(state, class, severity)
		if slices.Compare(now[:], was[:]) <= 0 {
			return
		}
		copy(f.Pix[4*i:], []uint8{0, 0, 0, 0})
	}
	f.Window[i], f.Severity[i], f.Class[i] = w, float32(severity), class
	f.set(i, s, state, win.Values[0], win.Values[1], win.Values[2])
}

func (f *Fleet) rank(i int) [3]float32 {
	return rank(f.State[i], f.Class[i], float64(f.Severity[i]))
}

func rank(state State, class uint8, severity float64) [3]float32 {
	r := [3]float32{0, 0, float32(severity)}
	if class > 0 {
		r[0] = 1
	}
	if state != Idle {
		r[1] = 1
	}
	return r
}

// normals finds each row's median colour over its healthy cells.
func (f *Fleet) normals(windows Cells) {
	for row := range f.Devices {
		var healthy, all [3][256]int
		nh, na := 0, 0
		for col := range f.Cols {
			i := row*f.Cols + col
			if f.State[i] != Shown && f.State[i] != Lossy {
				continue
			}
			c, _ := f.At(col, row)
			verdict := windows.Cell(int(f.Window[i])).Verdict
			ok := verdict == "" || verdict == cluster.Healthy
			na++
			if ok {
				nh++
			}
			for k, v := range c {
				all[k][v]++
				if ok {
					healthy[k][v]++
				}
			}
		}
		h, n := &healthy, nh
		if nh == 0 {
			h, n = &all, na
		}
		for k := range 3 {
			f.Devices[row].Normal[k] = median(&h[k], n)
		}
	}
}

// median is the lower median of n values counted in h.
func median(h *[256]int, n int) uint8 {
	sum := 0
	for v, c := range h {
		sum += c
		if 2*sum >= n && n > 0 {
			return uint8(v)
		}
	}
	return 0
}
