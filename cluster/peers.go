package cluster

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/reduce"
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

// samePace says of each host in the windows of one time which of its devices
// serve the same rate at depths that differ.
func samePace(points []reduce.Point, d []Diagnosis) []string {
	groups := map[moment][]int{}
	var order []moment
	for i := range points {
		w := points[i].Window
		if x := &w.Context; d[i].Verdict != Sick || !(x[features.CtxMeanDepth] >= peersQueue) || !(x[features.CtxIOPS] > 0) || math.IsNaN(x[features.CtxSizeMean]) {
			continue
		}
		at := moment{w.Host, features.Span{StartNS: w.StartNS, EndNS: w.EndNS}}
		if groups[at] == nil {
			order = append(order, at)
		}
		groups[at] = append(groups[at], i)
	}
	slices.SortFunc(order, func(a, b moment) int { return cmp.Or(cmp.Compare(a.host, b.host), cmp.Compare(a.StartNS, b.StartNS)) })
	var out []string
	told := map[string]bool{} // a host once: the first time tells it
	for _, at := range order {
		g := groups[at]
		if len(g) < peersLeast || told[at.host] {
			continue
		}
		fact := func(f int) func(i int) float64 { return func(i int) float64 { return points[i].Window.Context[f] } }
		rate, size, depth := fact(features.CtxIOPS), fact(features.CtxSizeMean), fact(features.CtxMeanDepth)
		slices.SortFunc(g, func(a, b int) int {
			return cmp.Or(cmp.Compare(depth(a), depth(b)), cmp.Compare(points[a].Window.Device, points[b].Window.Device))
		})
		if spread(g, rate) > peersRate || spread(g, size) > peersRate || spread(g, depth) < peersDepth {
			continue
		}
		told[at.host] = true
		var names []string
		for _, i := range g {
			if len(names) == peersListed {
				names = append(names, "...")
				break
			}
			names = append(names, fmt.Sprintf("%s %.3g", strings.Map(visible, points[i].Window.Device), depth(i)))
		}
		low, high := rate(slices.MinFunc(g, by(rate))), rate(slices.MaxFunc(g, by(rate)))
		out = append(out, fmt.Sprintf("host %s: %d devices serve the same %.0f to %.0f requests/s of one size with different numbers in flight (%s): the wait is the queue's, not the medium's, and more than %.3g in flight gives nothing (the knee may lie lower)",
			strings.Map(visible, at.host), len(g), low, high, strings.Join(names, ", "), depth(g[0])))
	}
	return out
}

func by(of func(int) float64) func(a, b int) int {
	return func(a, b int) int { return cmp.Compare(of(a), of(b)) }
}

// spread is the largest over the smallest.
func spread(g []int, of func(int) float64) float64 {
	return of(slices.MaxFunc(g, by(of))) / of(slices.MinFunc(g, by(of)))
}

// brief says how many sick windows rest on counters of one or two intervals.
func brief(points []reduce.Point, d []Diagnosis) []string {
	n := 0
	for i := range points {
		if w := points[i].Window; d[i].Verdict == Sick && w.Kind == ingest.KindSample && w.CoveredTicks < fewSamples {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d sick windows rest on one or two intervals of counters: these can't tell whether it lasts, nor from since when; record more", n)}
}
