package features

import (
	"cmp"
	"math"
	"slices"

	"github.com/iopathy/iopathy/ingest"
)

// Stretch is time [FromNS, ToNS), of whole ticks, in which one recording
// stands for the device.
type Stretch struct {
	Extent
	Recording int
	Kind      ingest.LatencyKind
}

// Plan says which of a device's recordings stands for it, tick by tick.
type Plan struct {
	Stretches []Stretch         // by time
	Seen      map[int64]float64 // by number of the window: the share of the I/O that was seen, where it is not all
	windowNS  int64
}

// At gives the recording that stands for the device at a time, -1 if none does.
func (p *Plan) At(ns int64) int {
	i, found := slices.BinarySearchFunc(p.Stretches, ns, func(s Stretch, ns int64) int { return cmp.Compare(s.FromNS, ns) })
	if !found {
		i--
	}
	if i < 0 || ns >= p.Stretches[i].ToNS {
		return -1
	}
	return p.Stretches[i].Recording
}

// Segment is the time [FromNS, ToNS), of whole windows, of one latency kind:
// one fold.
type Segment struct {
	Extent
	Kind ingest.LatencyKind
}

// Segments cuts the plan where the latency kind changes.
func (p *Plan) Segments() []Segment {
	var out []Segment
	for _, s := range p.Stretches {
		from, to := floorDiv(s.FromNS, p.windowNS)*p.windowNS, -floorDiv(-s.ToNS, p.windowNS)*p.windowNS
		if n := len(out); n > 0 && out[n-1].Kind == s.Kind {
			out[n-1].ToNS = max(out[n-1].ToNS, to)
			continue
		}
		out = append(out, Segment{Extent{from, to}, s.Kind})
	}
	return out
}

// Times gives the time that the plan gives to each of n recordings.
func (p *Plan) Times(n int) []int64 {
	out := make([]int64, n)
	for _, s := range p.Stretches {
		out[s.Recording] += s.ToNS - s.FromNS
	}
	return out
}

// Look lowers what a window tells of its I/O by the share of it that was seen.
// A window of which most was missed is not idle.
func (p *Plan) Look(w *Window) {
	seen, ok := p.Seen[floorDiv(w.StartNS, p.windowNS)]
	if !ok {
		return
	}
	w.Known *= seen
	w.Coverage *= seen
	if seen < 0.5 && w.Missing != 1<<N-1 {
		w.Idle = false
	}
}

// Owner is the recording that stands for the device at a time, or stood for it
// last before, or stands first: whose an I/O is that never completed.
func (p *Plan) Owner(ns int64) int {
	owner := -1
	for _, s := range p.Stretches {
		if owner >= 0 && s.FromNS > ns {
			break
		}
		owner = s.Recording
	}
	return owner
}

// Coverage is the share of the I/O that was seen, over the windows of the plan.
func (p *Plan) Coverage() float64 {
	windows, missed := 0, 0.0
	last := int64(math.MinInt64)
	for _, s := range p.Stretches {
		for w := max(floorDiv(s.FromNS, p.windowNS), last+1); w <= floorDiv(s.ToNS-1, p.windowNS); w++ {
			windows++
			last = w
			if seen, ok := p.Seen[w]; ok {
				missed += 1 - seen
			}
		}
	}
	if windows == 0 {
		return 1
	}
	return 1 - missed/float64(windows)
}
