package analysis

import (
	"math"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
)

// staged gives the windows of 2,000 requests, one each 10 ms, of the stages
// that way gives, in ns: request, plug, scheduler, device; a scheduler below 0
// is one that isn't there.
func staged(way func(i int) [4]int64) (ws []features.Window) {
	f := features.NewFold(features.Key{Host: "h", Device: "d"}, features.DefaultOptions(), 10e9, nil, func(w *features.Window) { ws = append(ws, *w) })
	for i := range 2000 {
		s := way(i)
		e := ingest.NewEvent()
		e.Kind, e.Op, e.SizeBytes, e.OffsetBytes = ingest.KindQ2C, ingest.OpWrite, 4096, int64(i)*8192
		e.TimeNS, e.InsertNS = 1e15+int64(i)*10e6, s[2]
		e.GetNS = s[1] + max(s[2], 0)
		e.QueueNS = s[0] + e.GetNS
		e.LatencyNS = e.QueueNS + s[3]
		f.Add(&e)
	}
	f.Close(0)
	return ws
}

func TestLadderOfWindows(t *testing.T) {
	check := func(name, pressure string, layer Layer, stage string, share float64, says string, way func(i int) [4]int64) {
		t.Helper()
		var l Ladder
		ws := staged(way)
		for i := range ws {
			l.Add(&ws[i])
		}
		if l.Windows < 2 || l.N(features.StageDevice) != 2000 {
			t.Fatalf("%s: %d of %d windows, %d requests", name, l.Windows, len(ws), l.N(features.StageDevice))
		}
		a, ok := l.Attribute(pressure)
		if !ok || a.Layer != layer || a.Stage != stage || math.Abs(a.Shares[layer]-share) > 0.001 || !strings.Contains(a.Says, says) {
			t.Errorf("%s: %+v, want %s, %s, %.3f, %q", name, a, layer, stage, share, says)
		}
		order := []int{strings.Index(a.Says, "Pressure:"), strings.Index(a.Says, "device:"), strings.Index(a.Says, "kernel:"), strings.Index(a.Says, "application:")}
		for i := 1; i < len(order); i++ {
			if order[i] <= order[i-1] {
				t.Errorf("%s: not in the order of causes: %s", name, a.Says)
			}
		}
	}
	// Of 10 ms each: the shares follow by hand.
	check("a slow device", "", LayerDevice, "", 0.9, "device: 90 %", func(int) [4]int64 { return [4]int64{1e5, 1e5, 8e5, 9e6} })
	check("a scheduler that holds", "", LayerKernel, "scheduler", 0.95, "scheduler 94 %", func(int) [4]int64 { return [4]int64{5e4, 5e4, 94e5, 5e5} })
	check("out of tags", "", LayerKernel, "requests (tags)", 0.95, "requests (tags) 94 %", func(int) [4]int64 { return [4]int64{94e5, 5e4, 5e4, 5e5} })
	check("plugged", "", LayerKernel, "plug or a flush first", 0.95, "plug or a flush first 94 %", func(int) [4]int64 { return [4]int64{5e4, 94e5, 5e4, 5e5} })
	check("no scheduler", "", LayerKernel, "dispatch past the scheduler", 0.95, "dispatch past the scheduler 95 %", func(int) [4]int64 { return [4]int64{1e4, 949e4, -1, 5e5} })
	check("throttled write-back", "write-back", LayerPressure, "write-back", 0.94, "Pressure: write-back, which the wait for requests, 94 % of the time", func(int) [4]int64 { return [4]int64{94e5, 5e4, 5e4, 5e5} })
	check("write-back and a slow device", "write-back", LayerDevice, "", 0.9, "Pressure: write-back", func(int) [4]int64 { return [4]int64{1e5, 1e5, 8e5, 9e6} })

	var l Ladder
	if _, ok := l.Attribute(""); ok {
		t.Error("the empty ladder is attributed")
	}
	l.Add(&features.Window{Ladder: "no ladder"})
	if l.Windows != 0 || !l.Empty() {
		t.Error("a damaged ladder counts")
	}
}

// What a call takes beyond the block layer is the application's.
func TestLadderOfCalls(t *testing.T) {
	var l Ladder
	for _, w := range staged(func(int) [4]int64 { return [4]int64{1e5, 1e5, 8e5, 1e6} }) {
		l.Add(&w)
	}
	e := ingest.NewEvent()
	e.Kind, e.LatencyNS = ingest.KindSyscall, 50e6
	l.AddEvent(&e)
	a, ok := l.Attribute("")
	if !ok || a.Layer != LayerApplication || !strings.Contains(a.Says, "25 times as long") {
		t.Errorf("%+v", a)
	}
}

// Where a source tells no more than queue and device, the time before the driver is not
// told apart.
func TestLadderOfQueueAlone(t *testing.T) {
	var l Ladder
	e := ingest.NewEvent()
	e.Kind, e.LatencyNS, e.QueueNS = ingest.KindQ2C, 10e6, 8e6
	l.AddEvent(&e)
	a, ok := l.Attribute("")
	if !ok || a.Layer != LayerKernel || a.Stage != "" || !strings.Contains(a.Says, "kernel: 80 % (not told apart 80 %)") {
		t.Errorf("%+v", a)
	}
}
