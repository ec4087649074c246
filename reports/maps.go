package reports

import (
	"fmt"
	"html/template"
	"math"

	"github.com/go-echarts/go-echarts/v2/opts"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/heatmap"
)

// fleetView is the map of devices by time and its words.
type fleetView struct {
	Element  template.HTML
	Caption  string
	Axis     string
	Examples []exampleView
	Legend   []legendView
	Classes  []legendView
	Empty    bool
}

type exampleView struct {
	Colour     template.CSS
	Hex, Words string
}

type legendView struct {
	Name, Words string
	Colour      template.CSS
}

type jointView struct {
	Element template.HTML
	Caption string
	Cells   []jointRow
	Empty   bool
}

type jointRow struct {
	IOPS, Latency, Windows, Depth, Hex string
	Colour                             template.CSS
}

type courseView struct {
	Element template.HTML
	Legend  []legendView
	Head    []string
	Rows    []courseRow
	Step    string
	Axis    string
	Empty   bool
}

type courseRow struct {
	When   string
	Counts []string
	Total  string
}

// mapData is what the page's script needs to paint a packed map.
type mapData struct {
	Cols    int             `json:"cols"`
	Rows    int             `json:"rows"`
	Codes   [3]heatmap.Code `json:"codes"`
	Steps   [3][255]uint16  `json:"steps"`
	StartNS float64         `json:"startMS"` // ms since the epoch; 0 is where a relative clock starts
	StepNS  float64         `json:"stepMS,omitempty"`
	Merged  int             `json:"merged,omitempty"`
	Aligned bool            `json:"aligned,omitempty"`
	Devices []mapDevice     `json:"devices,omitempty"`
	Classes []mapClass      `json:"classes,omitempty"`
	PerDec  int             `json:"perDecade,omitempty"`
	XDecade int             `json:"xDecade"`
	YDecade int             `json:"yDecade"`
}

type mapDevice struct {
	Name   string  `json:"name"`
	Anchor string  `json:"anchor,omitempty"`
	Origin float64 `json:"origin"`           // ms
	Host   string  `json:"host,omitempty"`   // as the lake has it, where the page is served
	Device string  `json:"device,omitempty"` //
	Normal [3]int  `json:"normal"`
}

type mapClass struct {
	Name   string `json:"name"`
	Colour string `json:"colour"`
}

// fleetHeight gives every device about 9 pixels within what a screen holds.
func fleetHeight(rows int) int { return 40 + max(160, min(9*rows, 760)) }

func (f *facts) fleetMap(p *pageView, m *heatmap.Fleet) (chart, mapData) {
	v := &p.Fleet
	if m.Rows == 0 {
		v.Empty = true
		return chart{}, mapData{}
	}
	c := raster("fleet", fleetHeight(m.Rows), m.Cols, m.Rows,
		formatter("iopathy.timeLabel(v)"), opts.AxisLabel{Show: opts.Bool(false)},
		opts.Grid{Left: "146", Right: "34", Top: "8", Bottom: "30"}) // the page narrows Left where it is narrow
	v.Element = c.Element
	v.Axis = "Time (UTC)"
	switch {
	case m.Aligned:
		v.Axis = "Time since each device's first window (the devices were recorded at different times)"
	case f.time.relative:
		v.Axis = "Time since the start of the trace"
	}
	cell := span(float64(m.StepNS) / 1e9)
	short, long := f.windowLengths()
	if long != short && m.Merged <= 1 {
		v.Axis += fmt.Sprintf("; each cell is %s, windows are of %s to %s", cell, span(float64(short)/1e9), span(float64(long)/1e9))
	} else if m.Merged > 1 {
		v.Axis += fmt.Sprintf("; each cell is %s and shows the worst of its %d windows", cell, m.Merged)
	} else {
		v.Axis += "; each cell is one window of " + cell
	}
	if m.Omitted > 0 {
		v.Axis += fmt.Sprintf("; the %s with the least severity are left out", plural(m.Omitted, "device"))
	}
	v.Caption = f.fleetCaption()
	v.Legend = []legendView{
		{"Red: throughput", "0 to " + three(f.scale.IOPS) + " IOPS and more", "#FF0000"},
		{"Green: speed", "full at 0 ms, none at " + three(f.scale.LatencyMS) + " ms and more", "#00FF00"},
		{"Blue: queue depth", "0 to " + three(f.scale.Depth) + " in flight and more", "#0000FF"},
	}
	for _, e := range [][3]float64{{0.85, 0.06, 0.125}, {0.05, 0.02, 0.01}, {0.42, 0.9, 0.5}, {0.1, 0.95, 1}, {0.02, 0.9, 0.02}} {
		iops, latency, depth := e[0]*f.scale.IOPS, e[1]*f.scale.LatencyMS, e[2]*f.scale.Depth
		hex := f.scale.Color(iops, latency, depth).Hex()
		v.Examples = append(v.Examples, exampleView{template.CSS(hex), hex,
			fmt.Sprintf("%s IOPS, %s ms, depth %s", three(iops), three(latency), three(depth))})
	}
	data := mapData{Cols: m.Cols, Rows: m.Rows}
	data.StartNS, data.StepNS, data.Merged, data.Aligned = float64(m.StartNS)/1e6, float64(m.StepNS)/1e6, m.Merged, m.Aligned
	for _, d := range m.Devices {
		one := mapDevice{
			Name: deviceLabel(d.Key), Anchor: f.anchor(f.index[d.Key]), Origin: float64(d.OriginNS) / 1e6,
			Normal: [3]int{int(d.Normal[0]), int(d.Normal[1]), int(d.Normal[2])},
		}
		if f.in.Drill {
			one.Host, one.Device = d.Host, d.Device
		}
		data.Devices = append(data.Devices, one)
	}
	for _, slug := range m.Pathologies {
		data.Classes = append(data.Classes, mapClass{f.pathologyName(slug), f.colour(slug)})
		v.Classes = append(v.Classes, legendView{Name: f.pathologyName(slug), Colour: f.css(slug)})
	}
	return c, data
}

// windowLengths are the shortest and the longest window: counters come at
// intervals of their own.
func (f *facts) windowLengths() (short, long int64) {
	for i := range f.in.Windows.Len() {
		w := f.all.row(i)
		n := w.endNS - w.startNS
		if i == 0 || n < short {
			short = n
		}
		long = max(long, n)
	}
	return short, long
}

// fleetCaption names the peak of severity and of each channel: what, where,
// when.
func (f *facts) fleetCaption() string {
	in := f.in
	worst, slow := -1, -1
	severity, slowest := 0.0, 0.0
	for i := range in.Windows.Len() {
		r := f.all.row(i)
		if r.verdict() == cluster.Sick && (worst < 0 || r.severity > severity) {
			worst, severity = i, r.severity
		}
		v := r.values[1] // latency
		if r.flags&rowIdle == 0 && v == v && (slow < 0 || v > slowest) {
			slow, slowest = i, v
		}
	}
	s := "No window is sick."
	if worst >= 0 {
		w, d := in.Windows.At(worst), in.Result.Diagnoses.At(worst)
		s = fmt.Sprintf("Worst window: %s at %s, window severity %.1f (%s): %s IOPS, %s ms, depth %s.",
			deviceLabel(w.Key), f.time.at(w.StartNS), d.Severity, f.pathologyName(d.Pathology),
			three(w.Context[features.CtxIOPS]), three(w.Context[features.CtxLatencyMean]), three(w.Context[features.CtxMeanDepth]))
	}
	if slow >= 0 {
		w := in.Windows.At(slow)
		s += fmt.Sprintf(" Highest mean latency: %s ms on %s at %s.", three(w.Context[features.CtxLatencyMean]), deviceLabel(w.Key), f.time.at(w.StartNS))
	}
	return s
}

func (f *facts) jointMap(p *pageView, m *heatmap.Joint) (chart, mapData) {
	v := &p.Joint
	if m.Total == 0 {
		v.Empty = true
		return chart{}, mapData{}
	}
	x, y := formatter("iopathy.decade('joint',0,v)"), formatter("iopathy.decade('joint',1,v)")
	c := raster("joint", 360, m.Cols, m.Rows, x, y, opts.Grid{Left: "72", Right: "34", Top: "8", Bottom: "30"})
	v.Element = c.Element
	top := 0
	for i, n := range m.Count {
		if n > m.Count[top] {
			top = i
		}
	}
	v.Caption = fmt.Sprintf("%s counted; the fullest cell holds %s, near %s IOPS and %s ms.", plural(m.Total, "window"),
		count(int64(m.Count[top])), three(float64(m.IOPS[top])), three(float64(m.LatencyMS[top])))
	if m.Left > 0 {
		v.Caption += fmt.Sprintf(" %s without latency left out.", plural(m.Left, "window"))
	}
	order := largest(m.Count, 20)
	for _, i := range order {
		rgb, _ := m.At(i%m.Cols, i/m.Cols)
		v.Cells = append(v.Cells, jointRow{three(float64(m.IOPS[i])), three(float64(m.LatencyMS[i])), count(int64(m.Count[i])),
			three(float64(m.Depth[i])), rgb.Hex(), template.CSS(rgb.Hex())})
	}
	data := mapData{Cols: m.Cols, Rows: m.Rows}
	data.PerDec, data.XDecade, data.YDecade = m.PerDecade, m.IOPSDecade, m.LatencyDecade
	return c, data
}

// largest gives the indices of the n largest counts, without zeros.
func largest(counts []int32, n int) []int {
	var out []int
	for i, c := range counts {
		if c == 0 {
			continue
		}
		at := len(out)
		for at > 0 && counts[out[at-1]] < c {
			at--
		}
		if at < n {
			out = append(out[:at], append([]int{i}, out[at:]...)...)
			out = out[:min(len(out), n)]
		}
	}
	return out
}

// courseBins bounds the bars of the course.
const courseBins = 60

// course counts sick windows by pathology over time (over time since each
// device's first window, where the fleet map is aligned).
func (f *facts) course(p *pageView, m *heatmap.Fleet) (chart, picture) {
	p.Course = courseView{}
	v := &p.Course
	slugs := f.slugs()
	if len(slugs) == 0 || m.Cols == 0 {
		v.Empty = true
		return chart{}, picture{}
	}
	per := (m.Cols + courseBins - 1) / courseBins
	bins := (m.Cols + per - 1) / per
	at := map[string]int{}
	series := make([][]int, len(slugs))
	colours := make([]string, len(slugs))
	for i, s := range slugs {
		at[s], series[i], colours[i] = i, make([]int, bins), f.colour(s)
		v.Legend = append(v.Legend, legendView{Name: f.pathologyName(s), Colour: f.css(s), Words: count(int64(f.byPathology[s]))})
		v.Head = append(v.Head, f.pathologyName(s))
	}
	step := m.StepNS * int64(per)
	origin := f.first
	for i := range f.in.Windows.Len() {
		r := f.all.row(i)
		if r.verdict() != cluster.Sick {
			continue
		}
		if m.Aligned {
			origin = f.all.row(f.index[f.all.keys[r.device]].windows[0]).startNS
		}
		series[at[f.all.slugs[r.slug]]][min(int((r.startNS-origin)/step), bins-1)]++
	}
	labels := make([]string, bins)
	for b := range bins {
		labels[b] = f.time.at(f.first + int64(b)*step)
		if m.Aligned {
			labels[b] = "+" + span(float64(int64(b)*step)/1e9)
		}
		row, total := courseRow{When: labels[b]}, 0
		for i := range slugs {
			row.Counts = append(row.Counts, count(int64(series[i][b])))
			total += series[i][b]
		}
		row.Total = count(int64(total))
		if total > 0 {
			v.Rows = append(v.Rows, row)
		}
	}
	v.Step = span(float64(step) / 1e9)
	v.Axis = "Sick windows of all devices by the time they begin"
	switch {
	case m.Aligned:
		v.Axis += " (time since each device's first window)"
	case f.time.relative:
		v.Axis += " (time since the start of the trace)"
	default:
		v.Axis += " (UTC)"
	}
	v.Axis += "; each bar is " + v.Step
	c := stacked("course", 330, labels, series, colours)
	v.Element = c.Element
	return c, stackedPicture(labels, series, colours)
}

// quantise puts severity 0..10 into a byte: tenths up to 1, then 24ths. A cell
// that is neither sick nor at the gate is 0: no view shows how far below it is.
func quantise(m *heatmap.Fleet) []byte {
	out := make([]byte, len(m.Severity))
	for i, s := range m.Severity {
		v := math.Max(0, math.Min(float64(s), 10))
		switch {
		case v >= 1:
			out[i] = byte(10 + math.Floor((v-1)*24))
		case m.Class[i] > 0:
			out[i] = byte(math.Floor(v * 10))
		}
	}
	return out
}
