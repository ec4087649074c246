package reduce

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
)

// fleetWindow is a window of a device whose requests of size bytes take level
// (log10 ns) plus their transfer at rate, at a depth.
func fleetWindow(host, device string, start int64, level, rate, size, depth float64) features.Window {
	w := features.Window{
		Key: features.Key{Host: host, Device: device}, StartNS: start * 10e9, EndNS: (start + 1) * 10e9,
		Kind: ingest.KindQ2C, TickNS: 100e6, Requests: 1000, Coverage: 1, Known: 1, CoveredTicks: 100,
	}
	for i := range w.Context {
		w.Context[i] = math.NaN()
	}
	ns := math.Pow(10, level) + size/rate*1e9
	w.Vector = priorCentre
	w.Vector[features.LatencyLoadResidual] = math.Log10(ns / features.LatencyUnitNS)
	w.Vector[features.QueueDepthLevel] = math.Log10(depth)
	w.Vector[features.BusyFraction] = 0.2
	w.Context[features.CtxSizeMean] = size
	w.Context[features.CtxBytesPerS] = 0.2 * size / ns * 1e9 * depth
	w.Context[features.CtxSequentialShare] = 0
	return w
}

func fleet() ([]features.Window, Inventory) {
	rng := rand.New(rand.NewPCG(4, 2))
	inv := Inventory{}
	var ws []features.Window
	for d := range 6 {
		k := features.Key{Host: "h1", Device: string(rune('a' + d))}
		level, rate, model, rot := 5.0, otherRate, "FLASH", "0"
		if d%2 == 1 {
			level, rate, model, rot = 6.9, diskRate, "DISK", "1"
		}
		inv[k] = Device{Model: model, Rotational: rot}
		for i := range 20 {
			w := fleetWindow(k.Host, k.Device, int64(i), level+0.02*rng.NormFloat64(), rate, 4096*float64(1+i%8), 1)
			if d == 0 && i >= 10 { // falls ill at half time
				w.Vector[features.LatencyLoadResidual]++
			}
			ws = append(ws, w)
		}
	}
	return ws, inv
}

func TestNormalsOfGroups(t *testing.T) {
	ws, inv := fleet()
	m, err := Fit(features.List(ws), inv, nil, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	check := func(name string, want, within float64) {
		t.Helper()
		g := m.group(name)
		if g == nil || math.Abs(g.Level-want) > within {
			t.Errorf("level of %q is %+v, want %v", name, g, want)
		}
	}
	check("FLASH", 5.0, 0.05)
	check("DISK", 6.9, 0.05)
	check("rotational 1", 6.9, 0.05)
	for i, p := range m.Project(ws, inv) {
		want := 0.0
		if p.Window.Device == "a" && i >= 10 {
			want = 1
		}
		if got := p.Vector[features.LatencyLoadResidual]; math.Abs(got-want) > 0.15 {
			t.Errorf("residual of %s window %d is %v, want about %v", p.Window.Device, i, got, want)
		}
		if p.Normal.Source != "group" {
			t.Errorf("normal of %s comes from %s", p.Window.Device, p.Normal.Source)
		}
	}
}

// A device of unknown kind is held against itself, whatever else there is.
func TestNormalOfUnknownDevices(t *testing.T) {
	ws, _ := fleet()
	m, err := Fit(features.List(ws), nil, nil, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range m.Project(ws, nil) {
		want := 0.0
		if p.Window.Device == "a" && i >= 10 {
			want = 1
		}
		if got := p.Vector[features.LatencyLoadResidual]; math.Abs(got-want) > 0.35 {
			t.Errorf("residual of %s window %d is %v, want about %v", p.Window.Device, i, got, want)
		}
	}
}

// A night in which a device is sick from beginning to end doesn't become its
// normal: the next fit knows only what the gate let pass, within a bound.
func TestSickNightIsNotNormal(t *testing.T) {
	ws, inv := fleet()
	healthy := make([]bool, len(ws))
	for i := range ws {
		if ws[i].Device == "a" {
			ws[i] = fleetWindow("h1", "a", int64(i), 6, 400e6, 4096, 1)
		}
		healthy[i] = ws[i].Device != "a"
	}
	first, err := Refit(features.List(ws), inv, nil, healthy, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	second, err := Refit(features.List(ws), inv, first, healthy, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range second.Project(ws, inv) {
		if p.Window.Device == "a" && p.Vector[features.LatencyLoadResidual] < 0.7 {
			t.Fatalf("residual is %v on the second night", p.Vector[features.LatencyLoadResidual])
		}
		if p.Window.Device == "c" && p.Normal.Source != "device" {
			t.Fatalf("the second night holds c against its %s", p.Normal.Source)
		}
	}
}

// A few devices of one model that are slower than any healthy device of their
// kind don't make their own normal; many that agree do, and so does a slow one
// within what the kind can do.
func TestSlowestNormal(t *testing.T) {
	check := func(devices int, rotational string, level, want float64) {
		t.Helper()
		var ws []features.Window
		inv := Inventory{}
		for d := range devices {
			k := features.Key{Host: "h1", Device: string(rune('a' + d))}
			inv[k] = Device{Model: "M", Rotational: rotational}
			for i := range 200 {
				ws = append(ws, fleetWindow(k.Host, k.Device, int64(i), level, diskRate, 4096, 1))
			}
		}
		m, err := Fit(features.List(ws), inv, nil, DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Project(ws, inv)[0].Vector[features.LatencyLoadResidual]; math.Abs(got-want) > 0.05 {
			t.Errorf("%d devices of kind %s at %v: residual %v, want %v", devices, rotational, level, got, want)
		}
	}
	check(1, "0", 7.2, 7.2-slowestFlat)
	check(fewDevices, "0", 7.2, 0)
	check(1, "0", 6.3, 0)
	check(1, "1", 7.2, 0)
	check(2, "1", 8.2, 8.2-slowestDisk)
}

// A device of unknown kind that was seen for a few windows may be a disk or
// flash: only what is slow for a disk, too, is held against it.
func TestNormalOfAGlimpse(t *testing.T) {
	check := func(windows int, level, want float64) {
		t.Helper()
		var ws []features.Window
		for i := range windows {
			ws = append(ws, fleetWindow("h1", "a", int64(i), level, otherRate, 4096, 1))
		}
		for d := range 9 {
			for i := range 20 {
				ws = append(ws, fleetWindow("h1", string(rune('b'+d)), int64(i), 5, otherRate, 4096, 1))
			}
		}
		m, err := Fit(features.List(ws), nil, nil, DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Project(ws, nil)[0].Vector[features.LatencyLoadResidual]; math.Abs(got-want) > 0.05 {
			t.Errorf("%d windows at %v: residual %v, want %v", windows, level, got, want)
		}
	}
	check(fewHealthy-1, 6.8, 0)
	check(fewHealthy-1, 8.4, 0.6) // (8.4 - 6.9) x 2 windows of 5
}

func TestMixedKindsAreRefused(t *testing.T) {
	ws, inv := fleet()
	ws[3].Kind = ingest.KindSyscall
	if _, err := Fit(features.List(ws), inv, nil, DefaultOptions()); err == nil || !strings.Contains(err.Error(), "syscall") {
		t.Errorf("error is %v", err)
	}
	ws, _ = fleet()
	ws[3].TickNS = 1e9
	if _, err := Fit(features.List(ws), inv, nil, DefaultOptions()); err == nil || !strings.Contains(err.Error(), "ticks") {
		t.Errorf("error is %v", err)
	}
}

func TestModelRefusesOthers(t *testing.T) {
	ws, inv := fleet()
	m, err := Fit(features.List(ws), inv, nil, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Check(features.List(ws)); err != nil {
		t.Error(err)
	}
	other, _ := fleet()
	other[0].Kind = ingest.KindD2C
	if err := m.Check(features.List(other)); err == nil || !strings.Contains(err.Error(), "d2c") {
		t.Errorf("another kind: %v", err)
	}
	other, _ = fleet()
	other[0].EndNS += 10e9
	if err := m.Check(features.List(other)); err == nil {
		t.Error("another window length is taken")
	}
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var back Model
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(*m, back) {
		t.Error("the model changes when it is written and read")
	}
	if err := json.Unmarshal([]byte(strings.Replace(string(data), `"schema":1`, `"schema":99`, 1)), &back); err == nil {
		t.Error("a model of schema 99 is read")
	}
	s := m.Shipped()
	if len(s.Devices) != 0 || s.group("FLASH") != nil || s.group("rotational 0") == nil {
		t.Errorf("shipped model knows %+v and %+v", s.Devices, s.Groups)
	}
}

func TestFitIsIndependentOfOrder(t *testing.T) {
	ws, inv := fleet()
	want, err := Fit(features.List(ws), inv, nil, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(8, 8))
	rng.Shuffle(len(ws), func(i, j int) { ws[i], ws[j] = ws[j], ws[i] })
	got, err := Fit(features.List(ws), inv, nil, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Error("another order of windows gives another model")
	}
}

func TestFitOfNothing(t *testing.T) {
	idle := features.Window{Idle: true}
	for _, ws := range [][]features.Window{nil, {idle}} {
		m, err := Fit(features.List(ws), nil, nil, DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range m.Project(ws, nil) {
			if p.Z != (features.Vector{}) {
				t.Errorf("z of an idle window is %v", p.Z)
			}
			for _, y := range p.Y {
				if y != 0 {
					t.Errorf("y of an idle window is %v", p.Y)
				}
			}
		}
	}
}

func TestAxes(t *testing.T) {
	base := func(set func(*features.Window)) *features.Window {
		w := fleetWindow("h", "d", 0, 5, 400e6, 4096, 1)
		set(&w)
		return &w
	}
	check := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-9 {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	ceil := func(depth, spread, v float64) float64 {
		return ceiling(base(func(w *features.Window) {
			w.Vector[features.QueueDepthLevel] = depth
			w.Context[features.CtxFullSeconds] = 1
			w.Context[features.CtxCeilingSpread] = spread
			w.Context[features.CtxCeiling] = v
		}))
	}
	check("a ceiling at a shallow queue", ceil(1, 0, 0.8), 0.8)
	check("a ceiling half way to the deep", ceil(1.8, 0, 0.8), 0.4)
	check("a ceiling before a deep queue", ceil(2.2, 0, 0.8), 0)
	check("a ceiling of too few seconds", ceil(1, math.NaN(), 0.8), 0)
	check("a plateau of a source without seconds", ceiling(base(func(w *features.Window) { w.Vector[features.ThroughputPlateau] = 0.3 })), 0.3)

	burst := func(busy, depth, residual float64) float64 {
		return bursts(base(func(w *features.Window) {
			w.Vector[features.BusyFraction], w.Vector[features.QueueDepthLevel] = busy, depth
		}), residual)
	}
	check("a burst that queues", burst(0.1, 2-math.Log10(0.9), 0), math.Sqrt(1)*0.9)
	check("a burst served in parallel", burst(0.1, 1.2, -1.2), 0)
	check("a queue that the use explains", burst(0.9, 1, 0), 0)

	reread := func(share, meta, size, reads float64) float64 {
		return rereads(base(func(w *features.Window) {
			w.Context[features.CtxReread], w.Context[features.CtxMetaReadShare] = share, meta
			w.Context[features.CtxReadSizeMean], w.Context[features.CtxReadShare] = size, reads
		}))
	}
	check("small reads again and again", reread(0.8, 0, 4096, 1), 0.8)
	check("metadata again and again", reread(0.8, 0.9, 4096, 1), 0)
	check("a scan in large reads", reread(0.8, 0, 1<<20, 1), 0.2)
	check("few reads among writes", reread(0.8, 0, 4096, 0.25), 0.4)

	stall := func(s, median, waiting float64) float64 {
		return gap(base(func(w *features.Window) {
			w.Context[features.CtxStallSeconds], w.Context[features.CtxLatencyP50], w.Context[features.CtxStallWaiting] = s, median, waiting
		}))
	}
	check("a gap of 2.5 s", stall(2.5, 1, 30), 1)
	check("a pause of the host", stall(0.2, 1, 30), 0)
	check("a gap that is nothing to such latencies", stall(2.5, 1000, 4), 0)
	check("a gap in which so many waited that their latency is its own", stall(2.5, 2000, 640), 1)
	check("a gap of a source that doesn't tell who waited", stall(2.5, 1000, math.NaN()), 0)

	p := Point{Window: base(func(w *features.Window) {
		w.Vector[features.WriteFlood] = 0.7
		w.Context[features.CtxWriteBytesShare], w.Context[features.CtxBytesPerS] = 1, 4e6
	})}
	p.Normal.Rate = 100e6 // 4 % of the time: ten times the least
	check("a flood of 4 % of the time", flood(&p), 0.7)
	p.Normal.Rate = 2e9
	check("a flood that the device swallows", flood(&p), 0)
}

func TestOptionsNameWhatIsWrong(t *testing.T) {
	for name, set := range map[string]func(*Options){
		"quantile": func(o *Options) { o.Quantile = 0 },
		"shrink":   func(o *Options) { o.Shrink = -1 },
		"clip":     func(o *Options) { o.Clip = 0 },
		"variance": func(o *Options) { o.Variance = 2 },
	} {
		o := DefaultOptions()
		set(&o)
		if err := o.Validate(); err == nil || !strings.HasPrefix(err.Error(), name) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}
