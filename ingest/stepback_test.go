package ingest

import (
	"math"
	"testing"
	"time"
)

func TestStepsBack(t *testing.T) {
	// check takes the completions of rows in seconds, each of a device, and wants the steps.
	check := func(name string, want StepsBack, rows ...Event) {
		t.Helper()
		for cut := range len(rows) + 1 { // seen in one go or in two
			var s rowSpan
			b := Batch{Events: rows[:cut]}
			s.see(&b)
			b.Events = rows
			s.see(&b)
			if s.back != want {
				t.Errorf("%s, cut at %d: %+v, want %+v", name, cut, s.back, want)
			}
		}
	}
	at := func(seconds float64, device Name, took time.Duration) Event {
		ns := int64(seconds * 1e9)
		return Event{TimeNS: ns, LatencyNS: took.Nanoseconds(), Device: device, Position: ns / 1e9}
	}
	hour := func(n int64, position int64) StepsBack {
		return StepsBack{N: n, MostNS: 3600e9, At: position, FromNS: 4000e9, ToNS: 400e9}
	}
	check("none", StepsBack{})
	check("in order", StepsBack{}, at(1, 1, 0), at(2, 1, 0), at(2, 1, 0))
	check("an hour", hour(1, 400), at(3999, 1, 0), at(4000, 2, 0), at(400, 1, 0), at(401, 2, 0))
	check("twice", hour(2, 400), at(4000, 1, 0), at(400, 1, 0), at(4000, 1, 0), at(4001, 1, 0), at(500, 1, 0))
	check("device by device", StepsBack{}, at(1, 1, 0), at(4000, 1, 0), at(1, 2, 0), at(4000, 2, 0), at(1, 3, 0))
	check("less than ten seconds", StepsBack{}, at(20, 1, 0), at(10.5, 1, 0))
	check("one that was in flight for long, told when it was issued", StepsBack{}, at(100, 1, 99*time.Second), at(20, 1, 0))
	check("one that was in flight for long, told when it completed", StepsBack{}, at(99, 1, 0), at(100, 1, 99*time.Second), at(101, 1, 0))
	check("without latencies", StepsBack{N: 1, MostNS: 50e9, At: 50, FromNS: 100e9, ToNS: 50e9}, Event{TimeNS: 100e9, LatencyNS: Missing, Device: 1}, Event{TimeNS: 50e9, LatencyNS: Missing, Device: 1, Position: 50})

	var s StepsBack
	s.samples([]Sample{{TimeNS: 60e9, IntervalNS: 10e9, Device: 1}, {TimeNS: 60e9, IntervalNS: 10e9, Device: 2}, {TimeNS: 30e9, IntervalNS: 10e9, Device: 1, Position: 7}, {TimeNS: 30e9, IntervalNS: 10e9, Device: 2}}, 0)
	if (s != StepsBack{N: 1, MostNS: 30e9, At: 7, FromNS: 60e9, ToNS: 30e9}) {
		t.Errorf("samples: %+v", s)
	}
	if got := back(math.MaxInt64, math.MinInt64); got != math.MaxInt64 || !behind(math.MaxInt64, math.MinInt64) || behind(math.MinInt64, math.MaxInt64) {
		t.Errorf("broken stamps are %d apart", got)
	}
	for n, told := range map[int64]bool{0: false, 1: true, mostSteps: true, mostSteps + 1: false} {
		if (StepsBack{N: n}).Told() != told {
			t.Errorf("%d steps are told: %t", n, !told)
		}
	}
	const words = "its clock is set back 2 times, at most by 1h0m0s (first at byte 400, from 1970-01-01 01:06:40 to 1970-01-01 00:06:40): what it tells of a time that it has twice is counted together"
	if got := hour(2, 400).String(); got != words {
		t.Errorf("%s", got)
	}
}
