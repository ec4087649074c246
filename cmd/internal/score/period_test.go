package score

import (
	"math"
	"testing"
)

// By hand: 0.52 s of 0.5 s is right, the double is not, no window is untold;
// windows outside the fault don't count.
func TestPeriods(t *testing.T) {
	bursts := func(device string, period float64) Device {
		return Device{Key: Key{"h", device}, Faults: []Fault{{Label: burst, FromNS: 10, ToNS: 40}}, Period: period}
	}
	told := []Told{
		{Key{"h", "a"}, 0, 10, 3}, {Key{"h", "a"}, 10, 20, 0.52}, {Key{"h", "a"}, 20, 30, 0.5}, {Key{"h", "a"}, 30, 40, 0.53},
		{Key{"h", "b"}, 10, 20, 1}, {Key{"h", "c"}, 10, 20, math.NaN()}, {Key{"h", "x"}, 10, 20, 1},
	}
	s := Periods(told, []Device{bursts("a", 0.5), bursts("b", 0.5), bursts("c", 0.5), {Key: Key{"h", "x"}}})
	if s.Devices != 3 || s.Right != 1 || s.Untold != 1 || len(s.Wrong) != 1 || s.Wrong[0] != (PeriodMissed{"h", "b", 0.5, 1}) {
		t.Errorf("%+v", s)
	}
	if s := Periods(told, []Device{{Key: Key{"h", "x"}}}); s != nil {
		t.Errorf("without a truth: %+v", s)
	}
}
