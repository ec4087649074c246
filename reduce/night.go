package reduce

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/iopathy/iopathy/features"
)

// A night is what the healthy windows of one device were like on one day (UTC):
// counts of windows by value, in buckets of fixed width. Counts add up the same
// in any order, and a day that is judged again takes its own place.
//
// The axes of a night are the 12 features, as they were held against healthy,
// and after them the levels of latency by the kind of work. The axis of
// features.LatencyLoadResidual holds the level itself (log10 ns, see service)
// rather than the residual: the normal that a residual is taken from is another
// each night.
type Night struct {
	features.Key
	Model      string // of the inventory, as it was then
	Rotational string
	Kind       string // of the latencies
	TickNS     int64
	WindowNS   int64
	DayNS      int64          // start of the day
	Axes       map[int]Sketch // by number of the axis; without an entry nothing was seen
}

// Sketch counts windows by bucket, the buckets in ascending order.
type Sketch []Bin

// Bin is the windows whose value lies in [Bucket, Bucket+1) widths of the axis.
type Bin struct{ Bucket, Windows int64 }

// Kinds of work: what kind of requests (mostly reads, mostly writes, writes
// that must be durable), small or large, few, some or many at once. A device
// takes to each of them its own time even when nothing is wrong: a flash drive
// shows 80 us at one in flight and 3 us at 32 by latency over depth, and a
// write that the cache takes and one that it must not differ as much. A habit
// is held only against work of its own kind.
const (
	workSync  = 0.3   // share of flush, FUA, metadata and sync writes from which writes must be durable
	workLarge = 32768 // bytes of the mean request
	workSome  = 0.3   // log10 of the mean depth: 2
	workMany  = 0.9   // 8
	works     = 3 * 2 * 3
)

// workOf is the kind of work of a window, 0 to works-1.
func workOf(w *features.Window) int {
	op := 1
	switch {
	case fact(w, features.CtxReadShare, 0) >= 0.5:
		op = 0
	case durable(w):
		op = 2
	}
	size, depth := 0, 0
	if fact(w, features.CtxSizeMean, 0) >= workLarge {
		size = 1
	}
	switch d := w.Vector[features.QueueDepthLevel]; {
	case d >= workMany:
		depth = 2
	case d >= workSome:
		depth = 1
	}
	return (op*2+size)*3 + depth
}

// durable says that many of the requests must reach the medium.
func durable(w *features.Window) bool {
	flushes := fact(w, features.CtxFlushShare, 0) + fact(w, features.CtxFUAShare, 0) + fact(w, features.CtxMetaShare, 0)
	return max(flushes, fact(w, features.CtxSyncShare, 0)) >= workSync
}

// axisWidth is the width of an axis' buckets: an eighth of the healthy scale,
// 0.05 (12 %) of a level.
func axisWidth(axis int) float64 {
	if axis == features.LatencyLoadResidual || axis >= features.N {
		return 0.05
	}
	return priorScale[axis] / 8
}

// axisName names an axis in the table of nights.
func axisName(axis int) string {
	if axis < features.N {
		return features.Features[axis].Name
	}
	k := axis - features.N
	return fmt.Sprintf("level_%s_%s_%s", [...]string{"read", "write", "sync"}[k/6], [...]string{"small", "large"}[k/3%2], [...]string{"1", "2", "8"}[k%3])
}

// axisOf is the inverse of axisName; -1 for a word that it never gives.
func axisOf(name string) int {
	for axis := range features.N + works {
		if axisName(axis) == name {
			return axis
		}
	}
	return -1
}

// middle is the value of a bucket.
func middle(axis int, bucket int64) float64 { return (float64(bucket) + 0.5) * axisWidth(axis) }

// Learn makes the nights of the points for which use is true, by device and day.
// Points whose latency is not known count for the other axes.
func Learn(points []Point, use []bool) []Night {
	type at struct {
		features.Key
		day int64
	}
	nights := map[at]*Night{}
	counts := map[*Night]map[int]map[int64]int64{}
	for i := range points {
		w := points[i].Window
		if !use[i] || w.Idle {
			continue
		}
		k := at{w.Key, dayOf(w.StartNS)}
		n := nights[k]
		if n == nil {
			d := points[i].Device
			n = &Night{Key: w.Key, Model: d.Model, Rotational: d.Rotational, Kind: points[i].Space.LatencyKind, TickNS: w.TickNS, WindowNS: w.EndNS - w.StartNS, DayNS: k.day}
			nights[k], counts[n] = n, map[int]map[int64]int64{}
		}
		add := func(axis int, v float64) {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return
			}
			if counts[n][axis] == nil {
				counts[n][axis] = map[int64]int64{}
			}
			counts[n][axis][int64(math.Floor(v/axisWidth(axis)))]++
		}
		for f := range features.N {
			if f != features.LatencyLoadResidual && w.Missing.Has(f) {
				add(f, points[i].Vector[f])
			}
		}
		if usable(w) {
			level := service(w, points[i].Normal.Rate, points[i].Device.Rotational == "1")
			add(features.LatencyLoadResidual, level)
			add(features.N+workOf(w), level)
		}
	}
	out := make([]Night, 0, len(nights))
	for _, n := range nights {
		n.Axes = map[int]Sketch{}
		for axis, c := range counts[n] {
			n.Axes[axis] = sketchOf(c)
		}
		out = append(out, *n)
	}
	sortNights(out)
	return out
}

// dayOf is the start of the day (UTC) of a moment.
func dayOf(ns int64) int64 {
	day := ns / dayNS
	if ns%dayNS < 0 {
		day--
	}
	return day * dayNS
}

const dayNS = 86400e9

func sketchOf(c map[int64]int64) Sketch {
	s := make(Sketch, 0, len(c))
	for b, n := range c {
		s = append(s, Bin{b, n})
	}
	slices.SortFunc(s, func(a, b Bin) int { return cmp.Compare(a.Bucket, b.Bucket) })
	return s
}

func sortNights(all []Night) {
	slices.SortFunc(all, func(a, b Night) int {
		return cmp.Or(strings.Compare(a.Host, b.Host), strings.Compare(a.Device, b.Device), cmp.Compare(a.DayNS, b.DayNS), strings.Compare(a.Kind, b.Kind), cmp.Compare(a.TickNS, b.TickNS), cmp.Compare(a.WindowNS, b.WindowNS))
	})
}

// merge adds up sketches of one axis; the order doesn't count.
func merge(all ...Sketch) Sketch {
	c := map[int64]int64{}
	for _, s := range all {
		for _, b := range s {
			c[b.Bucket] += b.Windows
		}
	}
	return sketchOf(c)
}

// windows is the number of windows in a sketch.
func (s Sketch) windows() int {
	n := int64(0)
	for _, b := range s {
		n += b.Windows
	}
	return int(n)
}

// quantile is the middle of the bucket that holds the q-quantile (type 1 of
// Hyndman and Fan, 1996); NaN of none.
func (s Sketch) quantile(axis int, q float64) float64 {
	rank := int64(math.Ceil(q * float64(s.windows())))
	for _, b := range s {
		if rank -= b.Windows; rank <= 0 {
			return middle(axis, b.Bucket)
		}
	}
	return math.NaN()
}

// NightColumns lays nights out as columns of one table in long form: host,
// device, model, rotational, latency_kind, tick_ns, window_ns, day_ns, axis,
// bucket, windows, and from and to, the bounds of the bucket.
func NightColumns(all []Night) []features.Column {
	type row struct {
		n    *Night
		axis int
		Bin
	}
	var rows []row
	for i := range all {
		for axis := range features.N + works {
			for _, b := range all[i].Axes[axis] {
				rows = append(rows, row{&all[i], axis, b})
			}
		}
	}
	return []features.Column{
		filled("host", rows, func(r *row) string { return r.n.Host }),
		filled("device", rows, func(r *row) string { return r.n.Device }),
		filled("model", rows, func(r *row) string { return r.n.Model }),
		filled("rotational", rows, func(r *row) string { return r.n.Rotational }),
		filled("latency_kind", rows, func(r *row) string { return r.n.Kind }),
		filled("tick_ns", rows, func(r *row) int64 { return r.n.TickNS }),
		filled("window_ns", rows, func(r *row) int64 { return r.n.WindowNS }),
		filled("day_ns", rows, func(r *row) int64 { return r.n.DayNS }),
		filled("axis", rows, func(r *row) string { return axisName(r.axis) }),
		filled("bucket", rows, func(r *row) int64 { return r.Bucket }),
		filled("windows", rows, func(r *row) int64 { return r.Windows }),
		filled("from", rows, func(r *row) float64 { return float64(r.Bucket) * axisWidth(r.axis) }),
		filled("to", rows, func(r *row) float64 { return float64(r.Bucket+1) * axisWidth(r.axis) }),
	}
}

func filled[R, T any](name string, rows []R, of func(*R) T) features.Column {
	data := make([]T, len(rows))
	for i := range rows {
		data[i] = of(&rows[i])
	}
	return features.Column{Name: name, Data: data}
}

// NightsFromColumns is the inverse of NightColumns, for rows of which a device
// and day stand together, and of the axes for which use is true. Rows of axes
// that are not known (of a later version) are passed over. A column that is
// absent, of another type or of another length is an error, and so is a count
// that is not positive.
func NightsFromColumns(cols []features.Column, use func(key features.Key, model string, level bool) bool) ([]Night, error) {
	byName := map[string]features.Column{}
	for _, c := range cols {
		byName[c.Name] = c
	}
	var err error
	texts := map[string][]string{}
	numbers := map[string][]int64{}
	rows := -1
	check := func(name string, n int, ok bool) {
		switch {
		case err != nil:
		case !ok:
			err = fmt.Errorf("reduce: nights: no column %s of the right type", name)
		case rows >= 0 && n != rows:
			err = fmt.Errorf("reduce: nights: column %s has %d rows, want %d", name, n, rows)
		}
		rows = n
	}
	for _, name := range []string{"host", "device", "model", "rotational", "latency_kind", "axis"} {
		v, ok := byName[name].Data.([]string)
		texts[name] = v
		check(name, len(v), ok)
	}
	for _, name := range []string{"tick_ns", "window_ns", "day_ns", "bucket", "windows"} {
		v, ok := byName[name].Data.([]int64)
		numbers[name] = v
		check(name, len(v), ok)
	}
	if err != nil {
		return nil, err
	}
	axes := map[string]int{}
	var all []Night
	for i := range rows {
		axis, ok := axes[texts["axis"][i]]
		if !ok {
			axis = axisOf(texts["axis"][i])
			axes[texts["axis"][i]] = axis
		}
		k := features.Key{Host: texts["host"][i], Device: texts["device"][i]}
		if axis < 0 || !use(k, texts["model"][i], axis >= features.N) {
			continue
		}
		if numbers["windows"][i] <= 0 {
			return nil, fmt.Errorf("reduce: nights: row %d of %s/%s counts %d windows", i, k.Host, k.Device, numbers["windows"][i])
		}
		n := Night{Key: k, Model: texts["model"][i], Rotational: texts["rotational"][i], Kind: texts["latency_kind"][i],
			TickNS: numbers["tick_ns"][i], WindowNS: numbers["window_ns"][i], DayNS: numbers["day_ns"][i]}
		if at := len(all) - 1; at < 0 || !all[at].same(&n) {
			n.Axes = map[int]Sketch{}
			all = append(all, n)
		}
		last := &all[len(all)-1]
		last.Axes[axis] = append(last.Axes[axis], Bin{numbers["bucket"][i], numbers["windows"][i]})
	}
	return all, nil
}

func (n *Night) same(o *Night) bool {
	return n.Key == o.Key && n.DayNS == o.DayNS && n.Kind == o.Kind && n.TickNS == o.TickNS && n.WindowNS == o.WindowNS
}
