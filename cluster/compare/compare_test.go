package compare

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
)

// healthy makes devices whose load and latency wander from window to window
// (each resembles the one before) about levels that differ between devices.
func healthy(r *rand.Rand, devices, windows int) []features.Window {
	var ws []features.Window
	for d := range devices {
		base, speed := math.Exp(r.NormFloat64()), math.Exp(r.NormFloat64())
		x, y := r.NormFloat64(), r.NormFloat64()
		for i := range windows {
			x = 0.6*x + 0.8*r.NormFloat64()
			y = 0.6*y + 0.8*r.NormFloat64()
			w := features.Window{Key: features.Key{Host: "h", Device: fmt.Sprintf("sd%03d", d)}, StartNS: int64(i) * 10e9, EndNS: int64(i+1) * 10e9, TickNS: 1e8, Kind: ingest.KindQ2C, CoveredTicks: 100}
			for k := range w.Context {
				w.Context[k] = math.NaN()
			}
			iops := 200 * base * math.Exp(0.4*x)
			depth := 1 + 2*math.Exp(0.3*x)
			ms := 2 * speed * depth * math.Exp(0.2*y)
			w.Requests = int64(iops * 10)
			w.Context[features.CtxIOPS], w.Context[features.CtxBytesPerS] = iops, iops*16384
			w.Context[features.CtxMeanDepth] = depth
			w.Context[features.CtxLatencyMean], w.Context[features.CtxLatencyP50], w.Context[features.CtxLatencyP99] = ms, 0.8*ms, 4*ms*math.Exp(0.2*r.NormFloat64())
			w.Vector[features.BusyFraction] = 1 - math.Exp(-base)
			ws = append(ws, w)
		}
	}
	return ws
}

func labelled(ws []features.Window) Side {
	s := Side{Windows: ws}
	for range ws {
		s.Labels = append(s.Labels, Label{Verdict: cluster.Healthy})
	}
	return s
}

// halves splits windows at random: single windows, or whole devices.
func halves(r *rand.Rand, ws []features.Window, whole bool) (a, b []features.Window) {
	coin := map[features.Key]bool{}
	for _, w := range ws {
		coin[w.Key] = false
	}
	for n, d := range r.Perm(len(coin)) {
		coin[features.Key{Host: "h", Device: fmt.Sprintf("sd%03d", d)}] = n%2 == 0
	}
	for _, w := range ws {
		to := r.IntN(2) == 0
		if whole {
			to = coin[w.Key]
		}
		if to {
			a = append(a, w)
		} else {
			b = append(b, w)
		}
	}
	return a, b
}

func trial(t *testing.T, a, b []features.Window, seed uint64) *Comparison {
	t.Helper()
	o := DefaultOptions()
	o.Seed, o.Resamples = seed, 300
	c, err := Compare(labelled(a), labelled(b), o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Two random halves of the same healthy data raise an alarm in at most 5 of
// 100 trials.
func TestEqualsRaiseNoAlarm(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it works side by side: not for the race detector")
	}
	for _, c := range []struct {
		name             string
		devices, windows int
		whole            bool
	}{{"windows of 1 device", 1, 120, false}, {"windows of 10 devices", 10, 60, false}, {"40 devices", 40, 12, true}, {"12 devices", 12, 30, true}} {
		t.Run(c.name, func(t *testing.T) {
			alarms, able := 0, 0
			for k := range uint64(100) {
				r := rand.New(rand.NewPCG(7, k))
				a, b := halves(r, healthy(r, c.devices, c.windows), c.whole)
				if len(a) == 0 || len(b) == 0 {
					continue
				}
				got := trial(t, a, b, k)
				if got.Paired == c.whole {
					t.Fatalf("paired is %v", got.Paired)
				}
				if got.Alarm {
					alarms++
				}
				if !got.TooFew {
					able++
				}
			}
			if alarms > 5 || able < 90 {
				t.Errorf("%d alarms of 100, %d trials could have raised one", alarms, able)
			}
		})
	}
}

// The first and the second half in time: neighbours resemble each other, and
// the blocks know it.
func TestHalvesInTime(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it works side by side: not for the race detector")
	}
	alarms := 0
	for k := range uint64(100) {
		r := rand.New(rand.NewPCG(9, k))
		var a, b []features.Window
		for _, w := range healthy(r, 8, 80) {
			if w.StartNS < 400e9 {
				a = append(a, w)
			} else {
				b = append(b, w)
			}
		}
		if trial(t, a, b, k).Alarm {
			alarms++
		}
	}
	if alarms > 5 {
		t.Errorf("%d alarms of 100", alarms)
	}
}

// What was made slower by 1.5 is found, with the truth in its interval.
func TestSlowerIsFound(t *testing.T) {
	check := func(name string, whole bool, devices, windows int) {
		t.Helper()
		found, inside := 0, 0
		for k := range uint64(20) {
			r := rand.New(rand.NewPCG(11, k))
			a, b := halves(r, healthy(r, devices, windows), whole)
			for i := range b {
				for _, f := range []int{features.CtxLatencyMean, features.CtxLatencyP50, features.CtxLatencyP99} {
					b[i].Context[f] *= 1.5
				}
			}
			c := trial(t, a, b, k)
			if c.Alarm {
				found++
			}
			for _, e := range c.Effects {
				if e.Metric == atLoad && e.Low <= 1.5 && 1.5 <= e.High {
					inside++
				}
			}
		}
		if !whole && found < 20 || inside < 17 {
			t.Errorf("%s: found %d of 20, the truth is in %d of 20 intervals", name, found, inside)
		}
	}
	check("same devices", false, 10, 40)
	check("one device", false, 1, 150)
	check("other devices", true, 40, 20)
}

func TestOneDeviceOfMany(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	a, b := halves(r, healthy(r, 30, 60), false)
	for i := range b {
		if b[i].Device == "sd017" {
			b[i].Context[features.CtxLatencyMean] *= 4
		}
	}
	c := trial(t, a, b, 1)
	if !c.Alarm || c.Devices[0].Device != "sd017" {
		t.Fatalf("alarm %v, slowest %s", c.Alarm, c.Devices[0].Device)
	}
	for _, d := range c.Devices {
		for _, e := range d.Effects {
			if e.Alarm != (d.Device == "sd017" && e.Metric == atLoad) {
				t.Errorf("%s %s: alarm %v", d.Device, e.Metric, e.Alarm)
			}
		}
	}
	for _, e := range c.Effects {
		if e.Alarm {
			t.Errorf("the whole is said to be worse in %s", e.Metric)
		}
	}
}

// An asked threshold is what the worsening must pass.
func TestAbove(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	a, b := halves(r, healthy(r, 12, 60), false)
	for i := range b {
		b[i].Context[features.CtxLatencyMean] *= 2
		b[i].Context[features.CtxLatencyP50] *= 2
		b[i].Context[features.CtxLatencyP99] *= 2
	}
	for _, c := range []struct {
		above float64
		want  bool
	}{{0, true}, {0.5, true}, {1.5, false}} {
		o := DefaultOptions()
		o.Above = c.above
		got, err := Compare(labelled(a), labelled(b), o)
		if err != nil || got.Alarm != c.want {
			t.Errorf("above %g: alarm %v (%v)", c.above, got.Alarm, err)
		}
		back, err := Compare(labelled(b), labelled(a), o)
		if err != nil || back.Alarm {
			t.Errorf("above %g: faster is an alarm (%v)", c.above, err)
		}
	}
}

func TestClassMix(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	a, b := halves(r, healthy(r, 12, 60), false)
	sa, sb := labelled(a), labelled(b)
	for i := range sb.Labels {
		if i%2 == 0 {
			sb.Labels[i] = Label{cluster.Sick, "sudden-stall"}
		}
	}
	c, err := Compare(sa, sb, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, e := range c.Effects {
		if e.Metric == "sick_share" || e.Metric == "share_sudden-stall" {
			found++
			if e.Ratio || math.Abs(e.Change-0.5) > 0.05 || e.Low > 0.5 || e.High < 0.5 || e.A != 0 {
				t.Errorf("%s: %+v", e.Metric, e)
			}
			if e.Alarm != (e.Metric == "sick_share") {
				t.Errorf("%s: alarm %v", e.Metric, e.Alarm)
			}
		}
	}
	if found != 2 {
		t.Errorf("%d of 2 shares are told", found)
	}
}

func TestRefusals(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	ws := healthy(r, 2, 10)
	check := func(name string, want string, change func(w *features.Window)) {
		t.Helper()
		other := append([]features.Window{}, ws...)
		for i := range other {
			change(&other[i])
		}
		if _, err := Compare(labelled(ws), labelled(other), DefaultOptions()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	check("kind", "q2c can't be held against those of kind d2c", func(w *features.Window) { w.Kind = ingest.KindD2C })
	check("tick", "make both alike", func(w *features.Window) { w.TickNS = 1e9 })
	check("idle", "no device with enough windows", func(w *features.Window) { w.Idle = true })
	if _, err := Compare(Side{}, labelled(ws), DefaultOptions()); err == nil {
		t.Error("nothing is compared")
	}
	// An order of its own has no say.
	a, b := halves(r, ws, false)
	one, _ := json.Marshal(trial(t, a, b, 1))
	two, _ := json.Marshal(trial(t, a, b, 1))
	if string(one) != string(two) {
		t.Error("the same comparison gives other bytes")
	}
}
