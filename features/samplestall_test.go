package features

import (
	"math"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

// A source that tells no depth shows a stall by what comes back after it: by
// hand, 7 intervals of 1 s without completions, then requests that took 7.6 s.
// Where they took less, nothing hung. A depth that contradicts the latencies is
// told by its ratio: 9 in flight over 1000/s x 2 ms = 2.
func TestSampleStallAndLittle(t *testing.T) {
	check := func(what string, backNS, inFlight int64, stall, little float64) {
		t.Helper()
		var got []Window
		f := NewSampleFold(Key{Host: "h", Device: "d"}, DefaultOptions(), nil, func(w *Window) { got = append(got, *w) })
		for at := range int64(24) {
			s := ingest.Sample{TimeNS: (at + 1) * 1e9, IntervalNS: 1e9, Reads: 1000, Writes: 0, ReadBytes: 4096e3, ReadNS: 1000 * 2e6, InFlightNS: inFlight, Discards: -1, Flushes: -1, TotalIOs: -1, TotalBytes: -1, TotalNS: -1, BusyNS: -1, ReadMerges: -1, WriteMerges: -1}
			switch {
			case at >= 10 && at < 17:
				s.Reads, s.ReadBytes, s.ReadNS = 0, 0, 0
				s.InFlightNS = min(inFlight, 0)
			case at == 17:
				s.ReadNS = 1000 * backNS
				if inFlight >= 0 {
					s.InFlightNS = inFlight / 2e9 * s.ReadNS
				}
			}
			f.Add(&s)
		}
		f.Close()
		if len(got) != 1 {
			t.Fatalf("%s: %d windows", what, len(got))
		}
		c := got[0].Context
		if c[CtxStallSeconds] != stall || !(math.Abs(c[CtxDepthOverLittle]-little) < 0.1 || math.IsNaN(little) && math.IsNaN(c[CtxDepthOverLittle])) {
			t.Errorf("%s: stall of %v s, depth over Little's %v; want %v and %v", what, c[CtxStallSeconds], c[CtxDepthOverLittle], stall, little)
		}
	}
	check("what came back had hung", 7.6e9, -1, 7, math.NaN())
	check("nothing hung", 2e6, -1, 0, math.NaN())
	check("the columns agree", 2e6, 2e9, 0, 1)
	check("the depth is four times too large", 2e6, 8e9, 0, 4)
}
