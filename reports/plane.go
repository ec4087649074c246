package reports

import (
	"fmt"
	"html/template"
	"math"
	"slices"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
)

// The busy-or-sick plane holds latency against load, so that a device that is
// slow because it is busy is told from one that is slow: the x axis is the mean
// depth while busy, the y axis the latency over the normal latency of one
// request alone. Normal is that latency grows as depth does, the diagonal;
// the band is what healthy windows deviate from it.

// planeView is the plane of all devices.
type planeView struct {
	Picture template.HTML
	Caption string
	Rows    []planeRow
}

type planeRow struct {
	Name                           string
	Colour                         template.CSS
	Windows, Above, Depth, Latency string
}

// The band holds all but bandTail of the healthy windows on either side, if
// there are at least bandLeast; else it reaches bandScales healthy scales of
// the model.
const (
	bandTail   = 0.01
	bandLeast  = 50
	bandScales = 3
)

// band is where healthy windows lie about the diagonal.
type band struct {
	low, high float64 // log10 of latency over the diagonal
	words     string
}

// onPlane is a window's depth and latency over normal, and the distance from
// the diagonal in log10.
func (f *facts) onPlane(i int) (depth, latency, off float64, ok bool) {
	r := f.all.row(i)
	if r.flags&rowPlane == 0 {
		return 0, 0, 0, false
	}
	depth, off = max(r.values[2], 1), r.residual
	latency = depth * math.Pow(10, off)
	return depth, latency, off, latency > 0 && !math.IsInf(latency, 0)
}

// healthyBand finds the band, once.
func (f *facts) healthyBand() band {
	if f.band != nil {
		return *f.band
	}
	var offs []float64
	for _, g := range f.groups {
		if g.name != "Healthy" {
			continue
		}
		step := max(len(g.windows)/20000, 1) // a sample tells the tails
		for n := 0; n < len(g.windows); n += step {
			if _, _, off, ok := f.onPlane(int(g.windows[n])); ok {
				offs = append(offs, off)
			}
		}
	}
	f.band = &band{math.Inf(-1), math.Inf(1), ""}
	if n := len(offs); n >= bandLeast {
		slices.Sort(offs)
		tail := int(bandTail * float64(n))
		f.band = &band{offs[tail], offs[n-1-tail], fmt.Sprintf("dashed: between them lie %s of the healthy windows", percent(1-2*bandTail))}
	} else if space, _ := f.commonSpace(); space != nil {
		c, s := space.Centre[features.LatencyLoadResidual], space.Scale[features.LatencyLoadResidual]
		f.band = &band{c - bandScales*s, c + bandScales*s, fmt.Sprintf("dashed: %d healthy scales of the model", bandScales)}
	}
	return *f.band
}

// planePlot has the axes, the diagonal and the band, with room for the points.
func (f *facts) planePlot(wide, high int, at ...[][2]float64) *plot {
	top, least, most := 10.0, 0.5, 10.0
	for _, group := range at {
		for _, v := range group {
			top, least, most = max(top, v[0]), min(least, v[1]), max(most, v[1])
		}
	}
	p := newPlot(wide, high, axis{lo: 1, hi: top * 1.1, log: true, label: "mean depth while busy", words: three},
		axis{lo: least * 0.8, hi: most * 1.2, log: true, label: "latency over normal", words: three})
	p.frame()
	if b := f.healthyBand(); b.words != "" {
		p.line("var(--muted)", "4 3", p.diagonal(math.Pow(10, b.low))...)
		p.line("var(--muted)", "4 3", p.diagonal(math.Pow(10, b.high))...)
	}
	p.line("var(--text)", "", p.diagonal(1)...)
	return p
}

// diagonal is y = factor x depth, within the plot.
func (p *plot) diagonal(factor float64) [][2]float64 {
	from, to := max(p.x.lo, p.y.lo/factor), min(p.x.hi, p.y.hi/factor)
	if !(to > from) {
		return nil
	}
	return [][2]float64{{from, from * factor}, {to, to * factor}}
}

// plane draws the windows of all devices.
func (f *facts) plane(p *pageView) picture {
	total := 0
	for _, g := range f.groups {
		total += len(g.windows)
	}
	step := max((total+maxScatter-1)/maxScatter, 1)
	at := make([][][2]float64, len(f.groups))
	shown, above, high := 0, 0, f.healthyBand().high
	var rows []planeRow
	most := 0
	for _, g := range f.groups {
		most = max(most, len(g.windows))
	}
	depths, latencies := make([]float64, 0, most), make([]float64, 0, most)
	for k, g := range f.groups {
		depths, latencies, above = depths[:0], latencies[:0], 0
		for n, i := range g.windows {
			depth, latency, off, ok := f.onPlane(int(i))
			if !ok {
				continue
			}
			depths, latencies = append(depths, depth), append(latencies, latency)
			if off > high {
				above++
			}
			if n%step == 0 {
				at[k] = append(at[k], [2]float64{depth, latency})
				shown++
			}
		}
		if len(depths) > 0 {
			rows = append(rows, planeRow{g.name, template.CSS(g.colour), count(int64(len(depths))), percent(float64(above) / float64(len(depths))), three(lowerMedian(depths)), three(lowerMedian(latencies))})
		}
	}
	if shown == 0 {
		return picture{}
	}
	pl := f.planePlot(plotWide, plotHigh, at...)
	for k, g := range f.groups {
		pl.dots(g.colour, dotSize-1, opacity(g.name), at[k])
	}
	pic := pl.picture("Busy or sick: latency over normal against depth; the table beside it holds the groups")
	p.Plane = planeView{Picture: pic.inline(), Rows: rows, Caption: fmt.Sprintf(
		"%s of %s windows. The line: latency as the normals expect it at that depth; %s. Along the line a device is busy, above the band it is slow for its load.",
		count(int64(shown)), count(int64(f.in.Windows.Len())), f.healthyBand().words)}
	return pic
}

// devicePlane draws one device's windows, in the colour of their verdicts.
func (f *facts) devicePlane(d *device) (picture, string) {
	if f.in.Points.Len() == 0 {
		return picture{}, ""
	}
	step := max((len(d.windows)+maxPlane-1)/maxPlane, 1)
	at, order := map[string][][2]float64{}, []string{}
	shown, above := 0, 0
	for n, i := range d.windows {
		depth, latency, off, ok := f.onPlane(i)
		if !ok || n%step != 0 {
			continue
		}
		shown++
		if off > f.healthyBand().high {
			above++
		}
		colour := "var(--muted)"
		if r := f.all.row(i); r.verdict() == cluster.Sick {
			colour = f.colour(f.all.slugs[r.slug])
		}
		if at[colour] == nil {
			order = append(order, colour)
		}
		at[colour] = append(at[colour], [2]float64{depth, latency})
	}
	if shown == 0 {
		return picture{}, ""
	}
	var all [][][2]float64
	for _, c := range order {
		all = append(all, at[c])
	}
	p := f.planePlot(420, 260, all...)
	for k, c := range order {
		p.dots(c, dotSize+1, 0.8, all[k])
	}
	return p.picture("Busy or sick: the device's windows by depth and latency over normal"),
		fmt.Sprintf("%s, healthy ones grey; %s above the band: slow for their load. The line is the latency that the normals expect; %s.", plural(shown, "window"), count(int64(above)), f.healthyBand().words)
}

// maxPlane bounds the dots of a device's plane.
const maxPlane = 500
