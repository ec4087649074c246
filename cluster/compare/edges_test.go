package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/features"
)

// latencies are the figures that a slower device has higher.
var latencies = []int{features.CtxLatencyMean, features.CtxLatencyP50, features.CtxLatencyP99}

func slowed(ws []features.Window, by float64, which func(*features.Window) bool) {
	for i := range ws {
		for _, f := range latencies {
			if which(&ws[i]) {
				ws[i].Context[f] *= by
			}
		}
	}
}

func everywhere(*features.Window) bool { return true }

// A worsening of a fifth is found in a week of a fleet, where it is, with the
// truth in its interval, which is narrow enough to mean something.
func TestAFifthSlower(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it works side by side: not for the race detector")
	}
	found, inside, where := 0, 0, 0
	for k := range uint64(20) {
		r := rand.New(rand.NewPCG(13, k))
		a, b := halves(r, healthy(r, 12, 200), false)
		slowed(b, 1.2, everywhere)
		c := trial(t, a, b, k)
		for _, e := range c.Effects {
			if e.Metric != atLoad {
				continue
			}
			if e.Alarm {
				found++
			}
			if e.Low <= 1.2 && 1.2 <= e.High && e.High-e.Low < 0.15 {
				inside++
			}
		}
		if k >= 8 {
			continue
		}
		// One device of many.
		a, b = halves(r, healthy(r, 12, 600), false)
		slowed(b, 1.2, func(w *features.Window) bool { return w.Device == "sd005" })
		if c = trial(t, a, b, k); c.Alarm && c.Devices[0].Device == "sd005" {
			where++
		}
	}
	if found < 20 || inside < 17 || where < 7 {
		t.Errorf("of 20: found %d, the truth in %d narrow intervals; the one device named %d times of 8", found, inside, where)
	}
}

// Fleets that differ are compared on what both have; the rest has its name
// and its reason.
func TestUnequalFleets(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 1))
	ws := healthy(r, 12, 40)
	a, b := halves(r, ws, false)
	seen := 0
	b = slices.DeleteFunc(b, func(w features.Window) bool {
		if w.Device == "sd002" { // two windows are left
			seen++
			return seen > 2
		}
		return w.Device < "sd002"
	})
	a = slices.DeleteFunc(a, func(w features.Window) bool { return w.Device == "sd011" })
	for i := range b {
		if b[i].Device == "sd010" {
			b[i].Idle = true
		}
	}
	c := trial(t, a, b, 1)
	var got []string
	for _, l := range c.LeftOut {
		got = append(got, l.Device+" "+l.Why)
	}
	want := "sd002 fewer than 3 windows in which something happened in B|sd000 only in A|sd001 only in A|sd010 only in A|sd011 only in B"
	if !c.Paired || len(c.Devices) != 7 || strings.Join(got, "|") != want {
		t.Errorf("paired %v, %d devices, left out %q", c.Paired, len(c.Devices), got)
	}
	if notes := strings.Join(c.Notes, "\n"); !strings.Contains(notes, "3 left out, only in A: h/sd000, h/sd001, h/sd010") {
		t.Errorf("notes %q", notes)
	}
	for _, d := range c.Devices {
		if d.Device < "sd003" || d.Device > "sd009" {
			t.Errorf("%s is compared", d.Device)
		}
	}
}

// What no window of a side tells is not told, not 0.
func TestNotTold(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 1))
	a, b := halves(r, healthy(r, 8, 30), false)
	for i := range b {
		b[i].Missing |= 1 << features.BusyFraction
		b[i].Context[features.CtxLatencyP99] = math.NaN()
	}
	c := trial(t, a, b, 1)
	if !slices.Equal(c.NotTold, []string{"latency_p99", "io_wait_share"}) || !strings.Contains(strings.Join(c.Notes, "\n"), "not told by both sides, so not compared: latency_p99, io_wait_share") {
		t.Errorf("not told %q, notes %q", c.NotTold, c.Notes)
	}
	for _, e := range c.Effects {
		if e.Metric == "io_wait_share" || e.Metric == "latency_p99" {
			t.Errorf("%s is %g and %g", e.Metric, e.A, e.B)
		}
	}
}

// Sizes that differ by orders of magnitude, halves of unequal length and
// windows that resemble their neighbours for minutes make no alarm.
func TestSkewedAndSlow(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it works side by side: not for the race detector")
	}
	for _, share := range []int{2, 10} {
		alarms := 0
		for k := range uint64(100) {
			r := rand.New(rand.NewPCG(16, k))
			var a, b []features.Window
			for _, w := range skewed(r, 12, 180) {
				if r.IntN(share) == 0 {
					b = append(b, w)
				} else {
					a = append(a, w)
				}
			}
			if trial(t, a, b, k).Alarm {
				alarms++
			}
		}
		t.Logf("a window in %d: %d alarms of 100", share, alarms)
		if alarms > 5 {
			t.Errorf("a window in %d: %d alarms of 100", share, alarms)
		}
	}
}

// skewed makes devices of loads from 1 to some thousands, whose latency has a
// heavy tail and wanders slowly (0.9 from window to window).
func skewed(r *rand.Rand, devices, windows int) []features.Window {
	ws := healthy(r, devices, windows)
	for d := range devices {
		load, x := math.Exp(3*r.NormFloat64()), r.NormFloat64()
		for i := range windows {
			w := &ws[d*windows+i]
			if w.Device != fmt.Sprintf("sd%03d", d) {
				panic("order")
			}
			x = 0.9*x + math.Sqrt(1-0.81)*r.NormFloat64()
			w.Requests = max(1, int64(float64(w.Requests)*load))
			w.Context[features.CtxIOPS] *= load
			w.Context[features.CtxBytesPerS] *= load
			spike := 1.0
			if r.IntN(50) == 0 {
				spike = 30 * r.ExpFloat64()
			}
			for _, f := range latencies {
				w.Context[f] *= math.Exp(0.3*x) * max(1, spike)
			}
		}
	}
	return ws
}

// Sums of jobs are compared by the jobs' names; what chance does is what the
// jobs' changes differ by.
func TestRuns(t *testing.T) {
	nan := math.NaN()
	side := func(name string, by float64, jobs ...string) Side {
		s := Side{Name: name}
		for i, j := range jobs {
			wobble := 1 + 0.01*float64(i%3) // by job, alike on both sides but for the last factor
			ms := by * float64(i+1) * (1 + 0.002*float64(len(name)*i%5))
			s.Runs = append(s.Runs, Run{Name: j, BytesPerS: 1e8 * wobble / by, IOPS: 1e4 / by, P50MS: ms, P99MS: 4 * ms, CPU: nan})
		}
		return s
	}
	jobs := []string{"a", "b", "c", "d", "e", "e", "f", "g"}
	c, err := Compare(side("A", 1, append(jobs, "old")...), side("BB", 1.2, append(jobs, "new")...), DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	if !c.Alarm || !c.Jobs || len(c.Devices) != 8 || c.Devices[5].Device != "e #2" {
		t.Errorf("alarm %v, jobs %v", c.Alarm, c.Devices)
	}
	for _, e := range c.Effects {
		if e.Metric == "latency_p99" && (!e.Alarm || e.Low > 1.2 || e.High < 1.2 || e.High-e.Low > 0.05) {
			t.Errorf("%+v", e)
		}
	}
	if len(c.LeftOut) != 2 || c.LeftOut[0] != (LeftOut{Device: "old", Why: "only in A"}) || c.LeftOut[1] != (LeftOut{Device: "new", Why: "only in B"}) {
		t.Errorf("left out %+v", c.LeftOut)
	}
	if !slices.Contains(c.NotTold, "io_wait_share") || !slices.Contains(c.NotTold, "cpu_share") || slices.Contains(c.NotTold, "iops") {
		t.Errorf("not told %v", c.NotTold)
	}
	// One job has a change and no interval; jobs and windows are no pair.
	c, err = Compare(side("A", 1, "x"), side("B", 2, "x"), DefaultOptions())
	if err != nil || c.Alarm || !c.TooFew || math.Abs(c.Effects[2].Change-2) > 1e-9 || !math.IsInf(float64(c.Effects[2].High), 1) {
		t.Errorf("one job: %v %+v", err, c)
	}
	if _, err := Compare(side("A", 1, "x"), labelled(healthy(rand.New(rand.NewPCG(1, 1)), 1, 5)), DefaultOptions()); err == nil {
		t.Error("jobs are compared with windows")
	}
	if _, err := Compare(side("A", 1, "x"), side("B", 1, "y"), DefaultOptions()); err == nil {
		t.Error("other jobs are compared")
	}
}
