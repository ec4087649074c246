package ingest

import (
	"fmt"
	"math"
	"time"
)

// StepsBack are the places of an input at which its clock was set back: from one row
// to the next both start and completion go back by 10 s or more, and the
// device is one of the rows before. So neither I/Os that complete late nor
// logs that stand device by device count. It is found within chunks: a step just
// between two is not seen.
type StepsBack struct {
	N      int64 `json:"n"`
	MostNS int64 `json:"most_ns"` // the largest
	At     int64 `json:"at"`      // byte of the line behind the first
	FromNS int64 `json:"from_ns"` // completion before the first, and behind it
	ToNS   int64 `json:"to_ns"`
}

const (
	// leastStepNS is what neither the buffers of a tracer nor stamps in whole seconds do:
	// a window of the usual length.
	leastStepNS = 10 * int64(time.Second)
	// beforeStep is how many rows before a step are looked at for its device.
	beforeStep = 4096
	// mostSteps is how many steps back a clock may take: beyond, the rows of the log
	// stand in no order of time.
	mostSteps = 8
)

// Told says whether they are worth a word: a log with very many stands in another
// order than that of time.
func (s StepsBack) Told() bool { return s.N > 0 && s.N <= mostSteps }

// String says them in words.
func (s StepsBack) String() string {
	how := "its clock is set back"
	if s.N > 1 {
		how = fmt.Sprintf("its clock is set back %d times, at most", s.N)
	}
	return fmt.Sprintf("%s by %v (first at byte %d, from %s to %s): what it tells of a time that it has twice is counted together", how,
		time.Duration(s.MostNS).Round(time.Millisecond), s.At, time.Unix(0, s.FromNS).UTC().Format(time.DateTime), time.Unix(0, s.ToNS).UTC().Format(time.DateTime))
}

// then adds what a later stretch of the same input has.
func (s StepsBack) then(later StepsBack) StepsBack {
	if s.N == 0 {
		return later
	}
	s.N, s.MostNS = s.N+later.N, max(s.MostNS, later.MostNS)
	return s
}

// step notes the step between two rows.
func (s *StepsBack) step(from, to, position int64) {
	*s = s.then(StepsBack{1, back(from, to), position, from, to})
}

// back is how far a time lies before another; stamps that are broken may lie as far
// apart as numbers go.
func back(from, to int64) int64 {
	if d := from - to; to > from || d >= 0 {
		return d
	}
	return math.MaxInt64
}

func behind(from, to int64) bool { return to < from && back(from, to) >= leastStepNS }

// events looks for steps among the events from one on; those before it stand in
// the same chunk.
func (s *StepsBack) events(all []Event, from int) {
	for i := max(from, 1); i < len(all); i++ {
		a, b := &all[i-1], &all[i]
		if !behind(a.TimeNS, b.TimeNS) || !behind(a.TimeNS-max(a.LatencyNS, 0), b.TimeNS-max(b.LatencyNS, 0)) {
			continue
		}
		for k := i - 1; k >= max(i-beforeStep, 0); k-- {
			if all[k].Device == b.Device && all[k].Host == b.Host {
				s.step(a.TimeNS, b.TimeNS, b.Position)
				break
			}
		}
	}
}

// samples does so among samples.
func (s *StepsBack) samples(all []Sample, from int) {
	for i := max(from, 1); i < len(all); i++ {
		a, b := &all[i-1], &all[i]
		if !behind(a.TimeNS, b.TimeNS) || !behind(a.TimeNS-a.IntervalNS, b.TimeNS-b.IntervalNS) {
			continue
		}
		for k := i - 1; k >= max(i-beforeStep, 0); k-- {
			if all[k].Device == b.Device && all[k].Host == b.Host {
				s.step(a.TimeNS, b.TimeNS, b.Position)
				break
			}
		}
	}
}
