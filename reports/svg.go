package reports

import (
	"fmt"
	"strings"

	"github.com/iopathy/iopathy/cluster"
)

// The pictures of this file hold numbers and checked colours only, never a
// text from a log, so they may stand in the page as markup.

const (
	sparkWide = 600
	sparkHigh = 56
)

// sparkBars bounds the bars of a device's picture.
const sparkBars = 300

// spark draws a device's severity over time: a bar a window in its
// pathology's colour, the gate at 1 as a line, gaps as gaps. Where there are
// more windows than bars, a bar shows the worst of its windows.
func (f *facts) spark(d *device) picture {
	first, last := f.all.row(d.windows[0]).startNS, f.all.row(d.windows[len(d.windows)-1]).endNS
	window := f.all.row(d.windows[0]).endNS - first
	step := max((last-first+sparkBars-1)/sparkBars, window, 1)
	wide := sparkWide * float64(step) / float64(max(last-first, 1))
	y := func(severity float64) float64 { return sparkHigh - 2 - (sparkHigh-4)*min(severity, 10)/10 }
	worst := make([]float64, (last-first+step-1)/step)
	colours := make([]string, len(worst))
	for _, i := range d.windows {
		r := f.all.row(i)
		severity, colour := r.severity, "var(--quiet)"
		switch r.verdict() {
		case cluster.Idle:
			continue
		case cluster.Sick:
			colour = f.colour(f.all.slugs[r.slug])
		case cluster.Artefact:
			severity, colour = 0.5, "var(--lost)"
		}
		at := min(int((r.startNS-first)/step), len(worst)-1)
		if colours[at] == "" || severity > worst[at] {
			worst[at], colours[at] = severity, colour
		}
	}
	paths := map[string]*strings.Builder{}
	var order []string
	for i, c := range colours {
		if c == "" {
			continue
		}
		if paths[c] == nil {
			paths[c] = &strings.Builder{}
			order = append(order, c)
		}
		fmt.Fprintf(paths[c], "M%.1f %dV%.1fh%.1fV%d", float64(i)*wide, sparkHigh-2, y(max(worst[i], 0.2)), max(wide-0.5, 0.5*wide), sparkHigh-2)
	}
	var b strings.Builder
	for _, c := range order {
		fmt.Fprintf(&b, `<path fill="%s" d="%s"/>`, c, paths[c])
	}
	fmt.Fprintf(&b, `<line x1="0" x2="%d" y1="%.1f" y2="%.1f" class="gate"/>`, sparkWide, y(1), y(1))
	return picture{wide: sparkWide, high: sparkHigh, label: "Severity over time, 0 to 10", class: "spark", stretch: true, body: b.String()}
}

const (
	treeWide = 560
	treeHigh = 220
	treeLeft = 36
	treeDown = 190 // y of height 0
)

// dendrogram draws the last merges of the linkage: leaves are the clusters
// that stand below the smallest merge shown, the dashed line is the cut into
// the classes.
func (f *facts) dendrogram() picture {
	top := f.in.Result.Top
	if len(top) > 24 {
		top = top[:24]
	}
	if len(top) == 0 {
		return picture{}
	}
	// A merge's own number is that of the step that made it, n + step; the
	// last merge (largest) is step n-2. The children that are no merge shown
	// are leaves.
	made := map[int]int{} // cluster number to index in top
	n := f.points()
	for i := range top {
		made[n+(n-2)-i] = i
	}
	highest := top[0].Height
	if highest <= 0 {
		highest = 1
	}
	y := func(h float64) float64 { return treeDown - (treeDown-14)*max(h, 0)/highest }
	leaves := len(top) + 1
	next := 0
	var b strings.Builder
	step := 0.25
	if highest <= 0.5 {
		step = 0.1
	}
	for h := 0.0; h <= highest; h += step {
		fmt.Fprintf(&b, `<line class="grid" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/><text x="%d" y="%.1f" text-anchor="end">%.2f</text>`, treeLeft, treeWide, y(h), y(h), treeLeft-5, y(h)+3.5, h)
	}
	drawn := map[int]bool{}
	var draw func(cluster int) (x, height float64)
	draw = func(c int) (float64, float64) {
		i, ok := made[c]
		if !ok || drawn[i] {
			x := treeLeft + (float64(next)+0.5)*float64(treeWide-treeLeft)/float64(leaves)
			next++
			return x, 0
		}
		drawn[i] = true
		m := top[i]
		xa, ha := draw(m.A)
		xb, hb := draw(m.B)
		fmt.Fprintf(&b, `<path d="M%.1f %.1fV%.1fH%.1fV%.1f"/>`, xa, y(ha), y(m.Height), xb, y(hb))
		return (xa + xb) / 2, m.Height
	}
	draw(n + n - 2)
	if k := len(f.in.Result.Classes); k >= 2 && k-1 < len(top) {
		cut := (top[k-2].Height + top[k-1].Height) / 2
		fmt.Fprintf(&b, `<line class="cut" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/><text x="%d" y="%.1f" text-anchor="end" class="cutlabel">%d classes</text>`, treeLeft, treeWide, y(cut), y(cut), treeWide-2, y(cut)-4, k)
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d">cosine distance of the merge; leaves are groups of windows</text>`, treeLeft, treeHigh-8)
	return picture{wide: treeWide, high: treeHigh, label: fmt.Sprintf("Dendrogram: the last %s by cosine distance", plural(len(top), "merge")), class: "tree", body: b.String()}
}

// points is the number of points that the linkage started from: its last
// merge joins clusters below n + (n - 2), and one of the two numbers of the
// top merges tells n.
func (f *facts) points() int {
	// Every cluster but the last is a child exactly once, so the largest child
	// among all merges is the one before the last: n + (n-3).
	largest := 0
	for _, m := range f.in.Result.Top {
		largest = max(largest, m.A, m.B)
	}
	return (largest + 3) / 2
}
