package reduce

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/iopathy/iopathy/features"
)

// alone is the axis of small reads, one at a time.
const alone = features.N

// nightOf is a night of n windows of small reads, all at one level.
func nightOf(device string, day int, level float64, n int64) Night {
	at := int64(math.Floor(level / axisWidth(alone)))
	return Night{
		Key: features.Key{Host: "h", Device: device}, Model: "M", Rotational: "0", Kind: "q2c", TickNS: 100e6, WindowNS: 10e9,
		DayNS: int64(day) * dayNS, Axes: map[int]Sketch{features.LatencyLoadResidual: {{at, n}}, alone: {{at, n}}},
	}
}

// readsOn is a window of small reads on a day.
func readsOn(day int) features.Window {
	w := features.Window{Key: features.Key{Host: "h", Device: "a"}, StartNS: int64(day)*dayNS + 3600e9, Missing: 0}
	for i := range w.Context {
		w.Context[i] = math.NaN()
	}
	w.Context[features.CtxReadShare], w.Context[features.CtxSizeMean] = 1, 4096
	return w
}

// TestHistoryRefines holds the normal 5.4 of the windows at hand against nights.
// Levels lie in the middle of their buckets, so that they come back as they are:
// x.x25 of widths of 0.05. The slack is 0.3 over the nights that count.
func TestHistoryRefines(t *testing.T) {
	const fast, slow = 5.025, 6.025
	check := func(what string, nights []Night, d Device, g *Group, want float64, source string) {
		t.Helper()
		w := readsOn(20)
		n := Normal{Value: 5.4, Source: "device", Alone: true}
		(&Model{history: NewHistory(nights)}).recall().refine(&n, &w, d, g)
		if math.Abs(n.Value-want) > 1e-9 || n.Source != source || n.Alone != (want == 5.4) {
			t.Errorf("%s: %+v, want %v by %s", what, n, want, source)
		}
	}
	var lone Device
	a := func(day int, level float64) Night { return nightOf("a", day, level, 10) }
	check("nothing", nil, lone, nil, 5.4, "device")
	check("one fast night", []Night{a(19, fast)}, lone, nil, fast+0.3, "nights")
	check("one slow night is no habit", []Night{a(19, slow)}, lone, nil, 5.4, "device")
	check("two slow nights are", []Night{a(18, slow), a(19, slow)}, lone, nil, slow+0.15, "nights")
	check("slow, then fast", []Night{a(18, slow), a(19, fast)}, lone, nil, fast+0.3, "nights")
	check("one sick night of four", []Night{a(16, fast), a(17, slow), a(18, fast), a(19, fast)}, lone, nil, fast+0.1, "nights")
	check("a day is not its own baseline", []Night{a(20, fast)}, lone, nil, 5.4, "device")
	check("the days after it count where few are before", []Night{a(20, slow), a(21, fast), a(22, fast)}, lone, nil, fast+0.15, "nights")
	check("and not where there are three", []Night{a(17, fast), a(18, fast), a(19, fast), a(21, 4.025), a(22, 4.025)}, lone, nil, fast+0.1, "nights")
	check("too long ago", []Night{a(5, fast)}, lone, nil, 5.4, "device")
	check("just not", []Night{a(6, fast)}, lone, nil, fast+0.3, "nights")
	check("too few windows", []Night{nightOf("a", 19, fast, 3)}, lone, nil, 5.4, "device")
	other := a(19, fast)
	other.Axes = map[int]Sketch{alone + 1: other.Axes[alone]}
	check("other work", []Night{other}, lone, nil, 5.4, "device")

	flash := Device{Model: "M", Rotational: "0"}
	peers := func(level float64) []Night {
		var all []Night
		for _, d := range []string{"b", "c", "d"} {
			all = append(all, nightOf(d, 19, level, 10))
		}
		return all
	}
	check("peers alone", peers(fast), flash, nil, fast, "peers")
	check("a device whose habit is slow beside its peers", append(peers(fast), a(18, slow), a(19, slow)), flash, nil, fast+ownBound, "nights")
	check("of another model", append(peers(fast), a(18, slow), a(19, slow)), Device{Model: "N"}, nil, slow+0.15, "nights")
	// (3 x 5.025 + 5 x 5.4) / 8
	check("peers beside five devices at hand", peers(fast), flash, &Group{Name: "M", Devices: 6}, 5.259375, "device")
	check("nothing healthy of the kind is so slow", []Night{a(18, 7.025), a(19, 7.025)}, flash, nil, slowestFlat, "nights")
}

// Nights come in any order, cut in parts, and mean the same.
func TestHistoryOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	var nights []Night
	for day := range 10 {
		for _, d := range []string{"a", "b", "c"} {
			nights = append(nights, nightOf(d, day+8, 5+rng.Float64(), 5+int64(day)))
		}
	}
	flash := Device{Model: "M", Rotational: "0"}
	of := func(nights []Night) []Normal {
		var out []Normal
		m := &Model{history: NewHistory(nights)}
		for day := range 20 {
			w := readsOn(day)
			n := Normal{Value: 5.4}
			m.recall().refine(&n, &w, flash, nil)
			out = append(out, n)
		}
		return out
	}
	want := of(nights)
	for range 20 {
		var parts []Night
		for _, n := range nights {
			a, b := n, n
			a.Axes, b.Axes = map[int]Sketch{}, map[int]Sketch{}
			for axis, s := range n.Axes {
				a.Axes[axis], b.Axes[axis] = Sketch{{s[0].Bucket, 2}}, Sketch{{s[0].Bucket, s[0].Windows - 2}}
			}
			parts = append(parts, a, b)
		}
		rng.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		if d := cmp.Diff(want, of(parts)); d != "" {
			t.Fatal(d)
		}
	}
}

// What Learn makes goes into columns and back, and the quantiles of a day lie
// where its windows do.
func TestNightsOfPoints(t *testing.T) {
	m := &Model{LatencyKind: "q2c"}
	var points []Point
	var use []bool
	for i := range 40 {
		w := readsOn(3 + i/20)
		w.TickNS, w.EndNS = 100e6, w.StartNS+10e9
		w.Vector[features.LatencyLoadResidual] = 2 // 100 us
		w.Vector[features.BusyFraction] = float64(i%20) / 20
		w.Vector[features.QueueDepthLevel] = float64(i % 2)
		points = append(points, Point{Window: &w, Vector: w.Vector, Space: m, Normal: Normal{Rate: 1e12, Value: 5}, Device: Device{Model: "M", Rotational: "0"}})
		use = append(use, i != 39)
	}
	nights := Learn(points, use)
	if len(nights) != 2 || nights[0].DayNS != 3*dayNS || nights[1].DayNS != 4*dayNS {
		t.Fatalf("%d nights: %+v", len(nights), nights)
	}
	if n, o := nights[0].Axes[alone].windows(), nights[0].Axes[alone+2].windows(); n != 10 || o != 10 {
		t.Errorf("%d windows of one at a time and %d of many, want 10 and 10", n, o)
	}
	if n := nights[1].Axes[features.BusyFraction].windows(); n != 19 {
		t.Errorf("%d windows of the second day, want 19", n)
	}
	later := points[0]
	w := readsOn(5)
	later.Window = &w
	h := NewHistory(nights)
	busy, level := h.Week(&later, features.BusyFraction), h.Week(&later, features.LatencyLoadResidual)
	if busy.Nights != 2 || busy.Windows != 39 || math.Abs(busy.Median-0.45) > 0.07 || math.Abs(busy.Low-0.1) > 0.07 || math.Abs(busy.High-0.9) > 0.07 {
		t.Errorf("busy fraction over the nights: %+v", busy)
	}
	if math.Abs(level.Median) > 0.05 { // as slow as its normal: no residual
		t.Errorf("residual over the nights: %+v", level)
	}
	all := func(features.Key, string, bool) bool { return true }
	back, err := NightsFromColumns(NightColumns(nights), all)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(nights, back); d != "" {
		t.Error(d)
	}
	levels, err := NightsFromColumns(NightColumns(nights), func(_ features.Key, _ string, level bool) bool { return level })
	if err != nil || len(levels) != 2 || len(levels[0].Axes) != 2 {
		t.Errorf("the levels alone: %+v, %v", levels, err)
	}
	for axis := range features.N + works {
		if axisOf(axisName(axis)) != axis {
			t.Errorf("axis %d is named %s", axis, axisName(axis))
		}
	}
	cols := NightColumns(nights)
	bad := slices.Clone(cols)
	bad[9].Data = bad[9].Data.([]int64)[1:]
	if _, err := NightsFromColumns(bad, all); err == nil {
		t.Error("a column that is too short is taken")
	}
	if _, err := NightsFromColumns(cols[:10], all); err == nil {
		t.Error("no windows, no error")
	}
	none := slices.Clone(cols)
	none[10].Data = make([]int64, len(cols[10].Data.([]int64)))
	if _, err := NightsFromColumns(none, all); err == nil {
		t.Error("counts of 0 are taken")
	}
}
