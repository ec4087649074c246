package analysis

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
)

// comers folds arrivals, in ns by command, each with a latency of 1 ms.
func comers(commands map[string][]int64) *features.Profile {
	o := features.DefaultOptions()
	p := features.NewProfile(o)
	var names ingest.Names
	p.UseNames(&names)
	var events []ingest.Event
	var sorted []string
	for c := range commands {
		sorted = append(sorted, c)
	}
	slices.Sort(sorted)
	for _, c := range sorted {
		for _, at := range commands[c] {
			e := ingest.NewEvent()
			e.TimeNS, e.LatencyNS, e.Op, e.Kind, e.Comm = at+1e6, 1e6, ingest.OpRead, ingest.KindQ2C, names.InternString(c)
			events = append(events, e)
		}
	}
	sortEvents(events)
	for i := range events {
		p.AddEvent(&events[i])
	}
	return p
}

const rhythmStart = int64(1_795_967_040e9)

// poisson gives arrivals at a rate a second.
func poisson(m *mixed, rate, lengthS float64) (all []int64) {
	for at := 0.0; ; {
		if at += -math.Log(1-m.next()) / rate; at > lengthS {
			return all
		}
		all = append(all, rhythmStart+int64(at*1e9))
	}
}

// bursts gives n arrivals within 20 ms, every so often.
func bursts(m *mixed, n int, everyS, fromS, toS float64) (all []int64) {
	for at := fromS; at < toS; at += everyS {
		for range n {
			all = append(all, rhythmStart+int64((at+0.02*m.next())*1e9))
		}
	}
	return all
}

func TestPeriodic(t *testing.T) {
	var m mixed
	check := func(name, culprit string, periodS, offsetS float64, commands map[string][]int64) Finding {
		t.Helper()
		p := comers(commands)
		f := Periodic(features.Key{}, p)
		if !f.Told || !f.Holds || !strings.Contains(f.Says, "of "+culprit+" come") {
			t.Errorf("%s: told %v, holds %v: %s", name, f.Told, f.Holds, f.Says)
			return f
		}
		x := f.Figures[0]
		if x.Low > periodS || x.High < periodS || x.High-x.Low > 0.05 {
			t.Errorf("%s: period %.5f (%.5f to %.5f), want %g", name, x.Value, x.Low, x.High, periodS)
		}
		off := f.Figures[1].Value - float64(rhythmStart%86_400e9)/1e9 - offsetS
		if off -= math.Round(off/periodS) * periodS; math.Abs(off) > 0.06 {
			t.Errorf("%s: phase is %.3f s off", name, off)
		}
		// What the lake keeps tells the same.
		d := features.DeviceProfile{TickNS: p.TickNS(), Rows: p.Rows()}
		if again := Periodic(features.Key{}, d.Profile()); again.Says != f.Says {
			t.Errorf("%s: from rows: %s\nbefore: %s", name, again.Says, f.Says)
		}
		return f
	}
	check("timer", "timer", 1.7, 0.71, map[string][]int64{"timer": bursts(&m, 40, 1.7, 0.7, 120), "web": poisson(&m, 50, 120)})
	check("between bins", "timer", 1.237, 0.31, map[string][]int64{"timer": bursts(&m, 40, 1.237, 0.3, 60), "web": poisson(&m, 30, 60)})
	check("half of the time", "timer", 2, 60.01, map[string][]int64{"timer": bursts(&m, 60, 2, 60, 120), "web": poisson(&m, 50, 120)})
	check("long", "cron", 30, 5.01, map[string][]int64{"cron": bursts(&m, 900, 30, 5, 200), "web": poisson(&m, 20, 200)})
	f := check("two", "backup", 5, 1.01, map[string][]int64{"backup": bursts(&m, 300, 5, 1, 150), "timer": bursts(&m, 40, 1.7, 0.7, 150), "web": poisson(&m, 50, 150)})
	if !strings.Contains(f.Says, "also timer every 1.7 s") {
		t.Errorf("two: %s", f.Says)
	}
	// A timer that many others outdo in its own peaks is not the culprit.
	f = Periodic(features.Key{}, comers(map[string][]int64{"timer": bursts(&m, 10, 1.7, 0.7, 150), "web": poisson(&m, 500, 150)}))
	if !f.Told || f.Holds || !strings.Contains(f.Says, "not what fills them") {
		t.Errorf("outdone: %v %v %s", f.Told, f.Holds, f.Says)
	}
	// Without commands the period is known, the culprit not.
	f = Periodic(features.Key{}, comers(map[string][]int64{"": bursts(&m, 40, 1.7, 0.7, 120)}))
	if !f.Told || math.Abs(f.Figures[0].Value-1.7) > 1e-3 || !strings.Contains(f.Says, "can't be told") {
		t.Errorf("no commands: %v %s", f.Told, f.Says)
	}
}

func TestPeriodicAbstains(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it works side by side: not for the race detector")
	}
	m := mixed(7)
	found := 0
	for i := range 100 {
		length := []float64{30, 60, 200}[i%3]
		f := Periodic(features.Key{}, comers(map[string][]int64{"a": poisson(&m, 20, length), "b": poisson(&m, 200, length), "c": poisson(&m, 2, length)}))
		if f.Told {
			found++
		} else if !strings.Contains(f.Says, "no period") {
			t.Errorf("%s", f.Says)
		}
	}
	if found > 5 {
		t.Errorf("a period in %d of 100 series of Poisson arrivals", found)
	}
	check := func(name string, commands map[string][]int64) {
		t.Helper()
		if f := Periodic(features.Key{}, comers(commands)); f.Told || f.Says == "" {
			t.Errorf("%s: %s", name, f.Says)
		}
	}
	check("two bursts", map[string][]int64{"x": bursts(&m, 500, 7, 10, 20), "web": poisson(&m, 20, 60)})
	check("a step", map[string][]int64{"x": append(poisson(&m, 5, 30), bursts(&m, 40, 0.0311, 30, 60)...)})
	check("short", map[string][]int64{"x": bursts(&m, 50, 1, 0, 8)})
	check("nothing", nil)
	// Periods too short for the bins are not taken for their multiples.
	for _, short := range []float64{0.15, 0.22, 0.25, 0.05, 0.125} {
		check("too short", map[string][]int64{"x": bursts(&m, 40, short, 0, 100), "web": poisson(&m, 20, 100)})
	}
}
