package reports

import (
	"encoding/base64"
	"fmt"
	"math"
	"strings"

	"github.com/iopathy/iopathy/heatmap"
)

// cellsImage places a map's cells as an image with hard edges.
func cellsImage(b *strings.Builder, png []byte, x, y, wide, high float64) {
	fmt.Fprintf(b, `<image x="%.1f" y="%.1f" width="%.1f" height="%.1f" preserveAspectRatio="none" style="image-rendering:pixelated" xlink:href="data:image/png;base64,%s"/>`,
		x, y, wide, high, base64.StdEncoding.EncodeToString(png))
}

// fleetPicture is a view of the fleet map with its axes, the names of its
// rows as far as they fit, and its legend.
func (f *facts) fleetPicture(p *pageView, m *heatmap.Fleet, view heatmap.View, cells []byte) picture {
	const wide, left = 1000, 150
	row := max(min(12, 800/float64(m.Rows)), 0.5)
	high := row * float64(m.Rows)
	area := float64(wide - left - 20)
	var b strings.Builder
	cellsImage(&b, cells, left, 6, area, high)
	lossy := `<pattern id="lost" width="4" height="4" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="2" height="4" fill="#000"/><rect x="2" width="2" height="4" fill="#fff"/></pattern>`
	b.WriteString(lossy)
	cell := area / float64(m.Cols)
	for i := 0; i < len(m.State); i++ {
		if m.State[i] != heatmap.Lossy {
			continue
		}
		from := i
		for i+1 < len(m.State) && m.State[i+1] == heatmap.Lossy && (i+1)%m.Cols != 0 {
			i++
		}
		fmt.Fprintf(&b, `<rect fill="url(#lost)" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`, left+cell*float64(from%m.Cols), 6+row*float64(from/m.Cols), cell*float64(i-from+1), row)
	}
	every := max(1, int(math.Ceil(8/row)))
	for i := 0; i < m.Rows; i += every {
		fmt.Fprintf(&b, `<text x="%d" y="%.1f" text-anchor="end" style="font-size:%dpx">%s</text>`, left-6, 6+row*(float64(i)+0.5)+3.5, max(8, min(11, int(row*float64(every)))), escape(shortName(deviceLabel(m.Devices[i].Key))))
	}
	for k := range 7 {
		at := int64(float64(k) / 6 * float64(m.Cols) * float64(m.StepNS))
		words := "+" + span(float64(at)/1e9)
		if !m.Aligned {
			words = f.time.at(m.StartNS + at)
		}
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>`, left+area*float64(k)/6, 6+high+14, [...]string{"middle", "end"}[k/6], words)
	}
	y := 6 + high + 30
	text := func(x float64, s string) {
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f">%s</text>`, x, y, escape(s))
	}
	swatch := func(x float64, colour string) {
		fmt.Fprintf(&b, `<rect x="%.1f" y="%.1f" width="11" height="11" fill="%s"/>`, x, y-9, colour)
	}
	text(left, p.Fleet.Axis)
	y += 18
	switch view {
	case heatmap.Pathology:
		x := float64(left)
		for _, c := range append(p.Fleet.Classes, legendView{Name: "healthy", Colour: "var(--healthy)"}) {
			swatch(x, string(c.Colour))
			text(x+16, c.Name)
			if x += 170; x > wide-170 {
				x, y = left, y+16
			}
		}
		y += 16
	case heatmap.Severity:
		for k := range 10 {
			swatch(left+11*float64(k), heatmap.Ramp(heatmap.SickRamp, float64(k)/9).Hex())
		}
		text(left+118, "window severity 1 to 10; light: healthy")
		y += 16
	case heatmap.Change:
		text(left, "grey: as in the device's healthy windows; redder, greener, bluer: more throughput, shorter latency, deeper queue")
		y += 16
	default:
		for k, c := range p.Fleet.Legend {
			if view == heatmap.AllChannels || int(view-heatmap.Throughput) == k {
				swatch(left, string(c.Colour))
				text(left+16, c.Name+": "+c.Words)
				y += 16
			}
		}
		if view == heatmap.AllChannels {
			for _, e := range p.Fleet.Examples {
				swatch(left, e.Hex)
				text(left+16, e.Hex+": "+e.Words)
				y += 16
			}
		}
	}
	y += 4
	swatch(left, "var(--idle)")
	text(left+16, "idle")
	swatch(left+70, "url(#lost)")
	text(left+86, "loss or impossible numbers")
	text(left+270, "white: gap, no window")
	return picture{wide: wide, high: int(y) + 8, label: "Fleet map, devices by time", class: "figure", body: b.String()}
}

// shortName fits a name into a margin.
func shortName(s string) string {
	if r := []rune(s); len(r) > 22 {
		return string(r[:21]) + "…"
	}
	return s
}

// jointPicture is the joint map with its axes.
func jointPicture(m *heatmap.Joint, cells []byte) picture {
	p := newPlot(plotWide, plotHigh,
		axis{lo: math.Pow10(m.IOPSDecade), hi: math.Pow10(m.IOPSDecade + m.Cols/m.PerDecade), log: true, label: "IOPS", words: three},
		axis{lo: math.Pow10(m.LatencyDecade), hi: math.Pow10(m.LatencyDecade + m.Rows/m.PerDecade), log: true, label: "mean latency (ms)", words: three})
	p.frame()
	cellsImage(&p.b, cells, p.left, p.top, p.right-p.left, p.bottom-p.top)
	return p.picture("Windows by IOPS and latency; colour: mean of the channels, opacity: number of windows")
}

// stackedPicture is counts over time, a colour a series.
func stackedPicture(labels []string, series [][]int, colours []string) picture {
	most := 1
	for i := range labels {
		sum := 0
		for _, s := range series {
			sum += s[i]
		}
		most = max(most, sum)
	}
	n := len(labels)
	marks := []float64{}
	for i := 0; i < n; i += max(1, (n+5)/6) {
		marks = append(marks, float64(i))
	}
	p := newPlot(plotWide, plotHigh, axis{lo: 0, hi: float64(n), label: "time", marks: marks, words: func(v float64) string { return labels[int(v)] }},
		axis{lo: 0, hi: float64(most), label: "sick windows", words: three})
	p.frame()
	wide := (p.right - p.left) / float64(n)
	for i := range labels {
		sum := 0
		for k, s := range series {
			if s[i] > 0 {
				top := p.py(float64(sum + s[i]))
				fmt.Fprintf(&p.b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`, p.px(float64(i)), top, max(wide-1, wide/2), p.py(float64(sum))-top, colours[k])
				sum += s[i]
			}
		}
	}
	return p.picture("Sick windows by pathology over time")
}
