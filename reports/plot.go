package reports

import (
	"fmt"
	"html/template"
	"math"
	"strings"
)

// picture is a figure as SVG. Its body holds numbers, words of ours and
// escaped names, never a text from a log as it is, so it may stand in the page
// as markup; colours are the page's variables.
type picture struct {
	wide, high int
	label      string // what it shows, for who can't see it
	class      string
	stretch    bool // to whatever size its place has
	body       string
}

func (p *picture) empty() bool { return p.body == "" }

// inline is the picture as part of the page.
func (p *picture) inline() template.HTML {
	if p.empty() {
		return ""
	}
	more := ""
	if p.stretch {
		more = ` preserveAspectRatio="none"`
	}
	svg := fmt.Sprintf(`<svg class="%s" viewBox="0 0 %d %d"%s role="img" aria-label="%s">%s</svg>`,
		p.class, p.wide, p.high, more, template.HTMLEscapeString(p.label), p.body)
	if !p.stretch { // on a narrow screen it keeps its letters' size, and scrolls
		svg = `<div class="fit">` + svg + `</div>`
	}
	return template.HTML(svg)
}

// axis maps values to a place along a side of a plot.
type axis struct {
	lo, hi float64
	log    bool
	label  string
	words  func(float64) string
	marks  []float64 // where it is labelled; nil for what the span suggests
}

// at is the place of a value, 0 at lo and 1 at hi.
func (a *axis) at(v float64) float64 {
	lo, hi := a.lo, a.hi
	if a.log {
		lo, hi, v = math.Log(lo), math.Log(hi), math.Log(v)
	}
	if !(hi > lo) {
		return 0.5
	}
	return max(0, min((v-lo)/(hi-lo), 1))
}

// ticks are the labelled values: decades (with 2 and 5 between few of them),
// or steps of 1, 2 or 5.
func (a *axis) ticks() []float64 {
	if a.marks != nil {
		return a.marks
	}
	var out []float64
	if a.log {
		decades := math.Log10(a.hi / a.lo)
		every := math.Max(1, math.Ceil(decades/8))
		for e := math.Floor(math.Log10(a.lo)); e <= math.Ceil(math.Log10(a.hi)); e++ {
			for _, m := range []float64{1, 2, 5} {
				v := m * math.Pow10(int(e))
				if v >= a.lo*0.999 && v <= a.hi*1.001 && (m == 1 && math.Mod(e, every) == 0 || decades < 2.5) {
					out = append(out, v)
				}
			}
		}
		return out
	}
	if !(a.hi > a.lo) {
		return nil
	}
	step := math.Pow10(int(math.Floor(math.Log10((a.hi - a.lo) / 4))))
	for _, m := range []float64{1, 2, 5, 10} {
		if (a.hi-a.lo)/(step*m) <= 6 {
			step *= m
			break
		}
	}
	for v := math.Ceil(a.lo/step) * step; v <= a.hi+step/1e6; v += step {
		out = append(out, math.Round(v/step)*step)
	}
	return out
}

// plot is a picture with two axes.
type plot struct {
	b                        strings.Builder
	wide, high               int
	left, right, top, bottom float64 // of the area between the axes
	x, y                     axis
}

func newPlot(wide, high int, x, y axis) *plot {
	return &plot{wide: wide, high: high, left: 54, right: float64(wide - 12), top: 10, bottom: float64(high - 38), x: x, y: y}
}

func (p *plot) px(v float64) float64 { return p.left + (p.right-p.left)*p.x.at(v) }
func (p *plot) py(v float64) float64 { return p.bottom - (p.bottom-p.top)*p.y.at(v) }

// frame draws grid, labels and names of the axes.
func (p *plot) frame() {
	for _, v := range p.y.ticks() {
		y := p.py(v)
		fmt.Fprintf(&p.b, `<path class="grid" d="M%.1f %.1fH%.1f"/><text x="%.1f" y="%.1f" text-anchor="end">%s</text>`, p.left, y, p.right, p.left-6, y+3.5, p.y.words(v))
	}
	for _, v := range p.x.ticks() {
		x := p.px(v)
		anchor := "middle"
		if x > p.right-24 {
			anchor = "end"
		}
		fmt.Fprintf(&p.b, `<path class="grid" d="M%.1f %.1fV%.1f"/><text x="%.1f" y="%.1f" text-anchor="%s">%s</text>`, x, p.top, p.bottom, x, p.bottom+14, anchor, p.x.words(v))
	}
	fmt.Fprintf(&p.b, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`, (p.left+p.right)/2, p.high-6, template.HTMLEscapeString(p.x.label))
	fmt.Fprintf(&p.b, `<text transform="translate(11 %.1f) rotate(-90)" text-anchor="middle">%s</text>`, (p.top+p.bottom)/2, template.HTMLEscapeString(p.y.label))
}

// dots draws points of one colour as one path.
func (p *plot) dots(colour string, size, opacity float64, at [][2]float64) {
	if len(at) == 0 {
		return
	}
	fmt.Fprintf(&p.b, `<path fill="none" stroke="%s" stroke-width="%g" stroke-linecap="round" stroke-opacity="%g" d="`, colour, size, opacity)
	for _, v := range at {
		fmt.Fprintf(&p.b, "M%.1f %.1fh0", p.px(v[0]), p.py(v[1]))
	}
	p.b.WriteString(`"/>`)
}

// line joins points; dash is "" or a pattern.
func (p *plot) line(colour, dash string, at ...[2]float64) {
	fmt.Fprintf(&p.b, `<path fill="none" stroke="%s" stroke-width="1.4" stroke-dasharray="%s" d="`, colour, dash)
	for i, v := range at {
		fmt.Fprintf(&p.b, "%c%.1f %.1f", "ML"[min(i, 1)], p.px(v[0]), p.py(v[1]))
	}
	p.b.WriteString(`"/>`)
}

func (p *plot) picture(label string) picture {
	return picture{wide: p.wide, high: p.high, label: label, class: "figure", body: p.b.String()}
}

// spread is the span of some values, a little wider.
func spread(values []float64) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, v := range values {
		lo, hi = min(lo, v), max(hi, v)
	}
	if !(hi > lo) {
		return lo - 1, lo + 1
	}
	pad := (hi - lo) * 0.04
	return lo - pad, hi + pad
}
