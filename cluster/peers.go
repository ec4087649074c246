package cluster

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/iopathy/iopathy/features"
)

// Devices of a host that serve the same rate at different depths show that the
// depth beyond the smallest gives nothing (Little's law: at a fixed rate the
// wait is the depth over the rate), and that the deeper ones are no worse.
const (
	peersLeast  = 3   // devices
	peersRate   = 1.1 // largest over smallest rate, and size
	peersDepth  = 2.0 // largest over smallest depth
	peersQueue  = 4   // a depth from which requests queue
	fewSamples  = 3   // intervals below which a window of counters shows no course
	peersListed = 6
)

// paces finds on each host the devices that serve the same rate at depths that
// differ, in the windows of one time. Hosts come one after another.
type paces struct {
	host  string
	at    map[features.Span][]pace
	lines []string
}

// pace is what one device serves.
type pace struct {
	device            string
	rate, size, depth float64
}

// add takes the next window.
func (s *paces) add(w *features.Window, verdict Verdict) {
	if w.Host != s.host {
		s.end()
		s.host = w.Host
	}
	x := &w.Context
	if verdict != Sick || !(x[features.CtxMeanDepth] >= peersQueue) || !(x[features.CtxIOPS] > 0) || math.IsNaN(x[features.CtxSizeMean]) {
		return
	}
	if s.at == nil {
		s.at = map[features.Span][]pace{}
	}
	at := features.Span{StartNS: w.StartNS, EndNS: w.EndNS}
	s.at[at] = append(s.at[at], pace{w.Device, x[features.CtxIOPS], x[features.CtxSizeMean], x[features.CtxMeanDepth]})
}

// end says what is to be said of the host: once, since the first time tells it.
func (s *paces) end() {
	times := slices.SortedFunc(maps.Keys(s.at), func(a, b features.Span) int {
		return cmp.Or(cmp.Compare(a.StartNS, b.StartNS), cmp.Compare(a.EndNS, b.EndNS))
	})
	for _, at := range times {
		g := s.at[at]
		if len(g) < peersLeast {
			continue
		}
		rate, size, depth := func(p pace) float64 { return p.rate }, func(p pace) float64 { return p.size }, func(p pace) float64 { return p.depth }
		slices.SortFunc(g, func(a, b pace) int {
			return cmp.Or(cmp.Compare(a.depth, b.depth), cmp.Compare(a.device, b.device))
		})
		if spread(g, rate) > peersRate || spread(g, size) > peersRate || spread(g, depth) < peersDepth {
			continue
		}
		var names []string
		for _, p := range g {
			if len(names) == peersListed {
				names = append(names, "...")
				break
			}
			names = append(names, fmt.Sprintf("%s %.3g", strings.Map(visible, p.device), p.depth))
		}
		low, high := slices.MinFunc(g, by(rate)).rate, slices.MaxFunc(g, by(rate)).rate
		s.lines = append(s.lines, fmt.Sprintf("host %s: %d devices serve the same %.0f to %.0f requests/s of one size with different numbers in flight (%s): the wait is the queue's, not the medium's, and more than %.3g in flight gives nothing (the knee may lie lower)",
			strings.Map(visible, s.host), len(g), low, high, strings.Join(names, ", "), g[0].depth))
		break
	}
	s.at = nil
}

func by(of func(pace) float64) func(a, b pace) int {
	return func(a, b pace) int { return cmp.Compare(of(a), of(b)) }
}

// spread is the largest over the smallest.
func spread(g []pace, of func(pace) float64) float64 {
	return of(slices.MaxFunc(g, by(of))) / of(slices.MinFunc(g, by(of)))
}
