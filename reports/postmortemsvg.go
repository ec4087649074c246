package reports

import (
	"fmt"
	"html/template"
	"math"
	"strings"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
)

// The pictures of an incident hold numbers and checked colours, and names made
// fit by label and escaped.

const (
	lineWide = 1000
	lineLeft = 190
	lineRow  = 22
	lineTop  = 8
)

// x places a moment of the page's span between left and wide.
func (pm *Postmortem) x(ns int64, left float64) float64 {
	first, last := pm.FromNS-pm.MarginNS, pm.ToNS+pm.MarginNS
	share := float64(ns-first) / float64(last-first)
	return left + (lineWide-left)*math.Max(0, math.Min(1, share))
}

// timeline draws the devices of the page by time: a bar for each run of sick
// windows in its pathology's colour, the incident shaded.
func (pm *Postmortem) timeline(f *facts) (template.HTML, []timelineRow) {
	high := lineTop + lineRow*len(pm.Devices)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="incident" viewBox="0 0 %d %d" role="img" aria-label="Sick windows of the devices over time; the incident is shaded">`, lineWide, high+24)
	fmt.Fprintf(&b, `<rect class="shade" x="%.1f" width="%.1f" y="0" height="%d"/>`, pm.x(pm.FromNS, lineLeft), pm.x(pm.ToNS, lineLeft)-pm.x(pm.FromNS, lineLeft), high)
	var rows []timelineRow
	for i := range pm.Devices {
		d := &pm.Devices[i]
		y := lineTop + lineRow*i
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%s</text><line class="grid" x1="%d" x2="%d" y1="%d" y2="%d"/>`, lineLeft-8, y+13, template.HTMLEscapeString(shortened(deviceLabel(d.Key), 26)), lineLeft, lineWide, y+lineRow-3, y+lineRow-3)
		row := timelineRow{Device: deviceLabel(d.Key)}
		for _, at := range pm.inside(d.Key) {
			w, r := pm.Windows.At(at), pm.Diagnoses.At(at)
			colour := ""
			switch r.Verdict {
			case cluster.Sick:
				colour = f.colour(r.Pathology)
				row.Spans = append(row.Spans, fmt.Sprintf("%s %s, severity %.1f", f.time.at(w.StartNS), f.verdictName(r), r.Severity))
			case cluster.Healthy:
				colour = "var(--healthy)"
			case cluster.Artefact:
				colour = "var(--lost)"
			default:
				continue
			}
			from, to := pm.x(w.StartNS, lineLeft), pm.x(w.EndNS, lineLeft)
			fmt.Fprintf(&b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>`, from, y, math.Max(to-from-0.4, 0.6), lineRow-6, colour)
		}
		rows = append(rows, row)
	}
	for _, t := range []int64{pm.FromNS - pm.MarginNS, pm.FromNS, pm.ToNS, pm.ToNS + pm.MarginNS} {
		anchor := "middle"
		if t == pm.ToNS+pm.MarginNS {
			anchor = "end"
		}
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="%s">%s</text>`, pm.x(t, lineLeft), high+16, anchor, template.HTMLEscapeString(f.time.at(t)))
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String()), rows
}

// shortened cuts a name for a picture.
func shortened(s string, runes int) string {
	r := []rune(s)
	if len(r) <= runes {
		return s
	}
	return string(r[:runes-1]) + "…"
}

// courseLines are the curves of a device's picture, each on a scale of its own.
var courseLines = []struct {
	fact  int
	name  string
	class string
	log   bool
}{
	{features.CtxLatencyP99, "P99 latency, ms (log)", "c1", true},
	{features.CtxLatencyP50, "median latency, ms (log)", "c2", true},
	{features.CtxBytesPerS, "bytes per second", "c3", false},
	{features.CtxMeanDepth, "in flight while busy", "c4", false},
}

const panelHigh = 64

// course draws a device's windows over time: latency, throughput, depth, one
// panel each, with their largest value.
func (pm *Postmortem) course(f *facts, k features.Key) template.HTML {
	at := pm.inside(k)
	var b strings.Builder
	high := panelHigh * len(courseLines)
	fmt.Fprintf(&b, `<svg class="incident" viewBox="0 0 %d %d" role="img" aria-label="Latency, throughput and depth of the device over time; the incident is shaded">`, lineWide, high+20)
	fmt.Fprintf(&b, `<rect class="shade" x="%.1f" width="%.1f" y="0" height="%d"/>`, pm.x(pm.FromNS, lineLeft), pm.x(pm.ToNS, lineLeft)-pm.x(pm.FromNS, lineLeft), high)
	for n, l := range courseLines {
		top := float64(n * panelHigh)
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, i := range at {
			if v := pm.Windows.At(i).Context[l.fact]; v > 0 || v == 0 && !l.log {
				lo, hi = math.Min(lo, v), math.Max(hi, v)
			}
		}
		fmt.Fprintf(&b, `<line class="grid" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`, lineLeft, lineWide, top+panelHigh-6, top+panelHigh-6, lineLeft-8, top+panelHigh/2-4, template.HTMLEscapeString(l.name))
		if math.IsInf(lo, 0) {
			continue
		}
		y := func(v float64) float64 {
			share := v / math.Max(hi, 1e-300)
			if l.log {
				share = math.Log(v/lo*1.1) / math.Log(math.Max(hi/lo, 1.01)*1.1)
			}
			return top + panelHigh - 6 - (panelHigh-14)*math.Max(0, math.Min(1, share))
		}
		text := fmt.Sprintf("%s to %s", three(lo), three(hi))
		if l.fact == features.CtxBytesPerS {
			text = "up to " + volume(hi) + "/s"
		}
		fmt.Fprintf(&b, `<text class="muted" x="%d" y="%.1f" text-anchor="end">%s</text><path class="%s" d="`, lineLeft-8, top+panelHigh/2+10, template.HTMLEscapeString(text), l.class)
		pen, last := "M", int64(0)
		for _, i := range at {
			w := pm.Windows.At(i)
			v := w.Context[l.fact]
			if !(v > 0 || v == 0 && !l.log) {
				pen = "M"
				continue
			}
			if last != 0 && w.StartNS > last {
				pen = "M"
			}
			fmt.Fprintf(&b, "%s%.1f %.1fH%.1f", pen, pm.x(w.StartNS, lineLeft), y(v), pm.x(w.EndNS, lineLeft))
			pen, last = "L", w.EndNS
		}
		b.WriteString(`"/>`)
	}
	for _, t := range []int64{pm.FromNS, pm.ToNS} {
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`, pm.x(t, lineLeft), high+14, template.HTMLEscapeString(f.time.at(t)))
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String())
}
