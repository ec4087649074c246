package cluster

import (
	"math"
	"slices"

	"github.com/iopathy/iopathy/features"
)

// hear lets the neighbouring windows of a device have their say, as an
// engineer reads a trace rather than a row of it. They stand in time. The steps,
// each on the outcome of the one before:
//
//  1. a sick window takes the pathology for which it and its sick neighbours
//     speak best;
//  2. what needs time to show (WarmUpS of the catalogue) reaches back over
//     windows of the same load: a working set must be read once before it can
//     be read again;
//  3. the neighbour of a sick window that leans the same way is sick at a
//     lower severity (Options.Hysteresis);
//  4. one well window between two of the same pathology belongs to them: a
//     period may be longer than a window;
//  5. sick windows in a row must stand over the gate by Options.Excess in sum: a
//     gate is a quantile, so that some healthy windows always lie just beyond
//     it, one here and one there. One window must be severe, several together
//     may be mild, and a long one says more than a short one. (The sum is that
//     of Page's test, 1954.)
//
// It looks one window ahead, WarmUpS for step 2, and to the end of the row for
// step 5. Windows are neighbours when one ends where the next starts.
func (s *sequence) hear() {
	s.vote()
	s.reachBack()
	s.hysteresis()
	s.fill()
	s.mild()
}

// sequence is windows of a device.
type sequence struct {
	steps []step
	looks []look
	said  []saying
	j     *judge
}

// step is what a window's neighbours need of it.
type step struct {
	window         int32 // its number
	startNS, endNS int64
	load           load
}

// load is what a device is asked for in a window; NaN is unknown.
type load struct{ iops, readSize, readShare float64 }

func stepOf(window int, w *features.Window) step {
	return step{window: int32(window), startNS: w.StartNS, endNS: w.EndNS,
		load: load{w.Context[features.CtxIOPS], w.Context[features.CtxReadSizeMean], w.Context[features.CtxReadShare]}}
}

// neighbour gives the position beside i in time, or -1.
func (s *sequence) neighbour(i, step int) int {
	k := i + step
	if k < 0 || k >= len(s.steps) || s.steps[min(i, k)].endNS != s.steps[max(i, k)].startNS {
		return -1
	}
	return k
}

func (s *sequence) at(i int) *saying { return &s.said[i] }

func (s *sequence) sick(i int) bool { return i >= 0 && s.at(i).verdict == Sick }

// open reports whether the neighbours may change what is said of a window.
func (s *sequence) open(i int) bool {
	v := s.at(i).verdict
	return v == Healthy || v == Sick
}

// snapshot copies what is said now, so that a step doesn't see its own work.
func (s *sequence) snapshot() []saying { return slices.Clone(s.said) }

func (s *sequence) vote() {
	before := s.snapshot()
	for i := range s.steps {
		if before[i].verdict != Sick {
			continue
		}
		l := &s.looks[i]
		best, bestScore := before[i].entry, math.Inf(-1)
		for e := range l.score {
			x := l.score[e]
			if e == before[i].entry {
				x += voteTie
			}
			for _, step := range []int{-1, 1} {
				if k := s.neighbour(i, step); k >= 0 && before[k].verdict == Sick && before[k].entry == e {
					x += s.j.o.Vote
				}
			}
			if x > bestScore {
				best, bestScore = e, x
			}
		}
		if best >= 0 && bestScore >= s.j.o.MinScore && s.j.severity(l, best) > 1 {
			s.at(i).entry = best
		}
	}
}

// voteTie lets what was said of a window stand against an equal score.
const voteTie = 1e-9

func (s *sequence) reachBack() {
	for e := range s.j.r.entries {
		warm := int64(s.j.r.entries[e].WarmUpS * 1e9)
		if warm <= 0 {
			continue
		}
		end := int64(math.MinInt64) // of the reach: the start of the last window that showed it by itself
		for i := len(s.steps) - 1; i >= 0; i-- {
			if s.sick(i) && s.at(i).entry == e {
				end = s.steps[i].startNS
				continue
			}
			k := s.neighbour(i, 1)
			if k < 0 || !s.sick(k) || s.at(k).entry != e || !s.open(i) {
				continue
			}
			if end-s.steps[i].endNS >= warm || !s.twice(k, e) || !s.steps[i].load.same(&s.steps[k].load) {
				continue
			}
			*s.at(i) = *s.at(k)
		}
	}
}

// twice reports whether a pathology shows in the window and in another of the
// next three: one window doesn't reach back.
func (s *sequence) twice(i, e int) bool {
	for k, n := s.neighbour(i, 1), 0; k >= 0 && n < 3; k, n = s.neighbour(k, 1), n+1 {
		if s.sick(k) && s.at(k).entry == e {
			return true
		}
	}
	return s.neighbour(i, 1) < 0
}

// same compares rate, size and mix of requests: within a factor of 1.4 and
// 15 points. The rate must be known; a size or mix that can't be told doesn't
// part two windows.
func (a *load) same(b *load) bool {
	const factor, mix = 0.15, 0.15
	if math.IsNaN(a.iops + b.iops) {
		return false
	}
	near := func(x, y float64) bool {
		if math.IsNaN(x) || math.IsNaN(y) {
			return true
		}
		return math.Abs(math.Log10(max(x, 1e-9))-math.Log10(max(y, 1e-9))) < factor
	}
	return near(a.iops, b.iops) && near(a.readSize, b.readSize) && !(math.Abs(a.readShare-b.readShare) >= mix)
}

func (s *sequence) hysteresis() {
	before := s.snapshot()
	for i := range s.steps {
		if before[i].verdict != Healthy {
			continue
		}
		l := &s.looks[i]
		for _, step := range []int{-1, 1} {
			k := s.neighbour(i, step)
			if k >= 0 && before[k].verdict == Sick && before[k].entry >= 0 && l.lean == before[k].entry && l.severity > s.j.o.Hysteresis {
				*s.at(i) = before[k]
			}
		}
	}
}

func (s *sequence) fill() {
	before := s.snapshot()
	for i := range s.steps {
		a, b := s.neighbour(i, -1), s.neighbour(i, 1)
		if before[i].verdict == Healthy && a >= 0 && b >= 0 && before[a].verdict == Sick && before[b].verdict == Sick &&
			before[a].entry == before[b].entry {
			*s.at(i) = before[a]
		}
	}
}

func (s *sequence) mild() {
	for from := 0; from < len(s.steps); {
		if !s.sick(from) {
			from++
			continue
		}
		to, excess := from, 0.0
		for next := from; s.sick(next); next = s.neighbour(next, 1) {
			to = next + 1
			l, severity := &s.looks[next], 0.0
			if severity = l.severity; s.at(next).entry >= 0 {
				severity = s.j.severity(l, s.at(next).entry)
			}
			excess += max(severity-1, 0) * lengthWeight(s.steps[next].endNS-s.steps[next].startNS)
		}
		if excess < s.j.o.Excess {
			for i := from; i < to; i++ {
				*s.at(i) = saying{verdict: Healthy, entry: -1, class: -1}
			}
		}
		from = to
	}
}

// lengthWeight is what a window says against one of 10 s, within limits: what
// makes healthy windows differ doesn't average out for ever.
func lengthWeight(ns int64) float64 {
	return min(max(float64(ns)/10e9, 0.5), 2)
}
