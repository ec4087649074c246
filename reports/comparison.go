package reports

import (
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"

	"github.com/iopathy/iopathy/cluster/compare"
)

type comparisonView struct {
	Style           template.CSS
	Title, Headline string
	Tone, Version   string
	More            []string
	Sides           []fact
	Notes           []string
	Rows, Devices   []effectView
	Scale           string
	DevicesMore     string
}

type effectView struct {
	Name, A, B, Change, Interval, Size string
	Bar                                template.HTML
	Worse                              bool
}

// comparedDevices is how many devices the page lists.
const comparedDevices = 200

// ComparisonHTML writes the page of a comparison: words are its answer, the
// first of them the headline. It asks nothing of any network.
func ComparisonHTML(w io.Writer, c *compare.Comparison, words []string, version string) error {
	if c == nil || len(words) == 0 {
		return fmt.Errorf("comparison: nothing to tell")
	}
	t, err := template.ParseFS(templates, "templates/*.html")
	if err != nil {
		return fmt.Errorf("comparison: %w", err)
	}
	v := comparisonView{Style: template.CSS(asset("style.css")), Title: sentence(c.A) + " against " + sentence(c.B), Headline: sentence(words[0]), Tone: "good", Version: version,
		Sides: []fact{
			{"A", plural(c.DevicesA, "device"), plural(c.WindowsA, "window") + ": " + label(c.A)},
			{"B", plural(c.DevicesB, "device"), plural(c.WindowsB, "window") + ": " + label(c.B)},
		}}
	if c.Jobs {
		v.Sides = []fact{{"A", plural(c.DevicesA, "job"), label(c.A)}, {"B", plural(c.DevicesB, "job"), label(c.B)}}
	}
	switch {
	case c.Alarm:
		v.Tone = "bad"
	case c.TooFew:
		v.Tone = "warn"
	}
	for _, s := range words[1:] {
		v.More = append(v.More, sentence(s))
	}
	for _, s := range c.Notes {
		v.Notes = append(v.Notes, sentence(s))
	}
	reach := effectReach(c)
	v.Scale = fmt.Sprintf("Bars: the change with its interval of %g %%, from x %s to x %s on a logarithmic scale, shares from -100 to +100 points; the line in the middle is no change.", 100*c.Level, three(math.Exp(-reach)), three(math.Exp(reach)))
	for i := range c.Effects {
		v.Rows = append(v.Rows, effectRow(&c.Effects[i], strings.ReplaceAll(c.Effects[i].Metric, "_", " "), reach))
	}
	if c.Paired && len(c.Devices) > 1 {
		for i := range c.Devices {
			if i == comparedDevices {
				v.DevicesMore = plural(len(c.Devices)-i, "more device")
				break
			}
			d := &c.Devices[i]
			for k := range d.Effects {
				if d.Effects[k].Metric == "latency_at_load" {
					v.Devices = append(v.Devices, effectRow(&d.Effects[k], label(d.Host)+"/"+label(d.Device), reach))
				}
			}
		}
	}
	out := &sink{w: w}
	out.template(t, "comparison.html", v)
	return out.err
}

// effectReach is how far the scale of ratios goes on each side, as a logarithm:
// to the largest change, at least x 2 and at most x 32.
func effectReach(c *compare.Comparison) float64 {
	reach := math.Log(2)
	take := func(e *compare.Effect) {
		if l := math.Abs(math.Log(e.Change)); e.Ratio && l <= math.MaxFloat64 {
			reach = max(reach, l*1.2)
		}
	}
	for i := range c.Effects {
		take(&c.Effects[i])
	}
	for i := range c.Devices {
		for k := range c.Devices[i].Effects {
			take(&c.Devices[i].Effects[k])
		}
	}
	return min(reach, math.Log(32))
}

func effectRow(e *compare.Effect, name string, reach float64) effectView {
	v := effectView{Name: name, Size: fmt.Sprintf("%+.2f", e.Size), Worse: e.Alarm}
	ends := func(form string, scale float64) string {
		end := func(x compare.Bound) string {
			if f := float64(x) * scale; math.Abs(f) <= 1e6 {
				return fmt.Sprintf(form, f)
			}
			return "–" // nothing limits it
		}
		return end(e.Low) + " to " + end(e.High)
	}
	if !e.Ratio {
		v.A, v.B, v.Change, v.Interval = percent(e.A), percent(e.B), fmt.Sprintf("%+.1f points", 100*e.Change), ends("%+.1f", 100)
		v.Bar = effectBar(e.Change, float64(e.Low), float64(e.High), 1, e.Alarm)
		return v
	}
	unit := ""
	if e.Unit != "1" {
		unit = " " + e.Unit
	}
	v.A, v.B = three(e.A)+unit, three(e.B)+unit
	if e.Unit == "B/s" {
		v.A, v.B = volume(e.A)+"/s", volume(e.B)+"/s"
	}
	v.Change, v.Interval = fmt.Sprintf("x %.3f", e.Change), ends("%.3f", 1)
	v.Bar = effectBar(math.Log(e.Change), math.Log(float64(e.Low)), math.Log(float64(e.High)), reach, e.Alarm)
	return v
}

// effectBar draws a change with its interval about a line of no change.
func effectBar(change, low, high, reach float64, alarm bool) template.HTML {
	const wide, mid = 240, 120
	at := func(v float64) float64 {
		if math.IsNaN(v) {
			return mid
		}
		return mid + (mid-4)*max(-1, min(1, v/reach))
	}
	class := "c4"
	if alarm {
		class = "c1"
	}
	return template.HTML(fmt.Sprintf(`<svg class="incident" viewBox="0 0 %d 16" aria-hidden="true"><line class="grid" x1="0" x2="%d" y1="8" y2="8"/><line class="axis" x1="%d" x2="%d" y1="0" y2="16"/><path class="%s" d="M%.1f 8H%.1f M%.1f 4V12 M%.1f 4V12"/><circle class="%s" cx="%.1f" cy="8" r="3.5"/></svg>`,
		wide, wide, mid, mid, class, at(low), at(high), at(low), at(high), class, at(change)))
}
