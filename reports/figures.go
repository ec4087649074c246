package reports

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"html/template"
	"image"
	"image/png"
	"io"
	"strings"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/heatmap"
)

// Put takes a file of the figures: its name, which is ours whatever the logs
// hold, and what writes it.
type Put func(name string, write func(io.Writer) error) error

// FigureIndex is the name of the list of the figures.
const FigureIndex = "index.csv"

// figureFile is a figure that stands by itself.
type figureFile struct {
	name, title, caption string
	device               string // "" where it is of all
	pic                  picture
	legend               []legendView
	cells                []byte // as PNG, a pixel a cell; nil for none
}

// Figures gives every picture of the report as an SVG file that stands by
// itself, the maps' cells also as PNG files with a pixel a cell, and index.csv,
// which tells what each shows and of which device. The same Input gives the
// same files.
func Figures(in *Input, put Put) error {
	f, err := gather(in)
	if err != nil {
		return err
	}
	all, err := f.figures()
	if err != nil {
		return err
	}
	index := [][]string{{"file", "title", "device", "caption"}}
	for _, v := range all {
		if v.pic.empty() {
			continue
		}
		if err := put(v.name+".svg", func(w io.Writer) error { return v.write(w) }); err != nil {
			return err
		}
		index = append(index, []string{v.name + ".svg", v.title, v.device, v.caption})
		if v.cells == nil {
			continue
		}
		if err := put(v.name+".png", func(w io.Writer) error { _, err := w.Write(v.cells); return err }); err != nil {
			return err
		}
		index = append(index, []string{v.name + ".png", v.title + ", a pixel a cell", v.device, v.caption})
	}
	return put(FigureIndex, func(w io.Writer) error { return csv.NewWriter(w).WriteAll(index) })
}

// figures draws them in the order of the report.
func (f *facts) figures() ([]figureFile, error) {
	p := newPage(f)
	var all []figureFile
	fleet := heatmap.NewFleet(f.all, f.scale, f.fleetOptions())
	if fleet.Rows > 0 {
		f.fleetMap(p, fleet)
		palette := f.palette(fleet)
		for v, name := range heatmap.Views {
			cells, err := pngOf(fleet.Paint(heatmap.View(v), palette), fleet.Cols, fleet.Rows)
			if err != nil {
				return nil, err
			}
			all = append(all, figureFile{name: "fleet-" + name, title: "Fleet map: " + name, caption: p.Fleet.Caption, pic: f.fleetPicture(p, fleet, heatmap.View(v), cells), cells: cells})
		}
		_, series := f.course(p, fleet)
		all = append(all, figureFile{name: "course", title: "Sick windows over time", caption: "Bars of " + p.Course.Step, pic: series, legend: p.Course.Legend})
	}
	if joint := heatmap.NewJoint(f.all, f.scale); joint.Total > 0 {
		f.jointMap(p, joint)
		cells, err := pngOf(joint.Pix, joint.Cols, joint.Rows)
		if err != nil {
			return nil, err
		}
		all = append(all, figureFile{name: "joint", title: "Throughput against latency", caption: p.Joint.Caption, pic: jointPicture(joint, cells), cells: cells})
	}
	if len(f.groups) > 0 {
		pic, shown := f.components()
		all = append(all, figureFile{name: "components", title: "Windows along the first two principal components", pic: pic, legend: f.groupLegend(),
			caption: fmt.Sprintf("%s of %s windows; the origin is healthy", count(int64(shown)), count(int64(f.in.Windows.Len())))})
		pic = f.neighbourhood(p)
		all = append(all, figureFile{name: "umap", title: "Map of windows by UMAP", caption: p.Neighbours.Caption, pic: pic, legend: f.groupLegend()})
		pic = f.plane(p)
		all = append(all, figureFile{name: "busy-or-sick", title: "Busy or sick", caption: p.Plane.Caption, pic: pic, legend: f.groupLegend()})
	}
	all = append(all,
		figureFile{name: "dendrogram", title: "Last merges of the linkage", caption: "Cosine distance; the dashed line is the cut into classes", pic: f.dendrogram()})
	drawn := 0
	for _, d := range f.devices { // those whose cards have pictures
		if d.verdicts[cluster.Sick] > 0 && f.anchor(d) != "" && drawn < f.drawnCards {
			all = append(all, f.deviceFigures(d)...)
			drawn++
		}
	}
	return all, nil
}

// groupLegend names the colours of the scatters.
func (f *facts) groupLegend() []legendView {
	var out []legendView
	for _, g := range f.groups {
		out = append(out, legendView{Name: g.name, Words: count(int64(len(g.windows))), Colour: template.CSS(g.colour)})
	}
	return out
}

// deviceFigures are those of one sick device; they are numbered as in the
// report, since names from logs are no names of files.
func (f *facts) deviceFigures(d *device) []figureFile {
	name := fmt.Sprintf("device-%03d-", d.place+1)
	plane, planeText := f.devicePlane(d)
	var grid picture
	gridText := ""
	if c := f.card(d.Key); c != nil {
		grid, gridText = f.gridPicture(c)
	}
	var curve picture
	curveText := ""
	for i := range f.in.Analyses {
		if x := &f.in.Analyses[i]; x.Key == d.Key && x.Curve != nil && x.Told {
			curve, curveText = saturationCurve(x.Curve), upper(sentences(x.Says))
		}
	}
	return []figureFile{
		{name: name + "saturation", title: "Throughput and latency against queue depth", caption: curveText, device: deviceLabel(d.Key), pic: curve},
		{name: name + "latency", title: "Latency over time", caption: gridText, device: deviceLabel(d.Key), pic: grid},
		{name: name + "busy-or-sick", title: "Busy or sick", caption: planeText, device: deviceLabel(d.Key), pic: plane},
		{name: name + "severity", title: "Severity over time", caption: "0 to 10; the dashed line is the gate", device: deviceLabel(d.Key), pic: f.spark(d)},
	}
}

func (f *facts) fleetOptions() heatmap.FleetOptions {
	o := f.in.Fleet
	if o.MaxColumns == 0 && o.MaxRows == 0 && o.MaxCells == 0 {
		o = heatmap.DefaultFleetOptions()
	}
	o.Worst = make(map[features.Key]int, len(f.devices)) // the order of the verdict
	for _, d := range f.devices {
		o.Worst[d.Key] = d.place
	}
	o.Order = heatmap.BySeverity // the page sorts by name itself
	return o
}

// palette is the colours of the light page.
func (f *facts) palette(m *heatmap.Fleet) heatmap.Palette {
	p := heatmap.Palette{Idle: rgbOf(paper["--idle"]), Quiet: rgbOf(paper["--healthy"])}
	for _, slug := range m.Pathologies {
		p.Classes = append(p.Classes, rgbOf(f.colour(slug)))
	}
	return p
}

func rgbOf(hex string) (c heatmap.RGB) {
	fmt.Sscanf(hex, "#%02x%02x%02x", &c[0], &c[1], &c[2]) // ours or checked
	return c
}

func pngOf(pix []uint8, cols, rows int) ([]byte, error) {
	var b bytes.Buffer
	if err := png.Encode(&b, &image.NRGBA{Pix: pix, Stride: 4 * cols, Rect: image.Rect(0, 0, cols, rows)}); err != nil {
		return nil, fmt.Errorf("report: a map as PNG: %w", err)
	}
	return b.Bytes(), nil
}

// paper is the page's variables as colours, for pictures that stand alone:
// those of the light page, which prints.
var paper = map[string]string{
	"--text": "#1a222c", "--muted": "#5c6775", "--line": "#e0e4e9", "--grid": "#edf0f3", "--accent": "#1f5fa8", "--bad": "#b3261e",
	"--warn": "#8a5a00", "--good": "#17734a", "--quiet": "#c5ccd5", "--healthy": "#e8ebef", "--idle": "#c9ced6", "--lost": "#6b7280", "--panel": "#ffffff",
}

// figureStyle is what the page's style sheet says of pictures.
const figureStyle = `text{font:11px system-ui,"Noto Sans","Liberation Sans",Arial,sans-serif;fill:var(--muted)}.title{font-size:14px;font-weight:600;fill:var(--text)}.grid{stroke:var(--grid);fill:none}` +
	`.tree path{fill:none;stroke:var(--text);stroke-width:1.3}.tree .cut{stroke:var(--bad);stroke-dasharray:5 4}.tree .cutlabel{fill:var(--bad)}.gate{stroke:var(--muted);stroke-dasharray:3 3}` +
	`.curve .axis{fill:none;stroke:var(--muted)}.curve .law{fill:none;stroke:var(--text);stroke-width:1.3}.curve circle{fill:var(--accent)}.curve .knee{stroke:var(--bad);stroke-dasharray:5 4}.curve .band{fill:var(--bad);opacity:.12}`

// The margins around a picture that stands alone.
const (
	figureTop  = 30
	figureLine = 15
)

// write writes the figure as an SVG file with its title and caption. Colours
// stand as such: few programs but browsers know variables.
func (v *figureFile) write(w io.Writer) error {
	title := v.title
	if v.device != "" {
		title = v.device + ": " + title
	}
	lines := wrapped(v.caption, max(v.pic.wide/6, 40))
	columns := max(v.pic.wide/180, 1)
	legend := (len(v.legend) + columns - 1) / columns
	below := v.pic.high + figureTop + figureLine*legend
	wide, high := v.pic.wide+16, below+figureLine*len(lines)+12
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="%s"><style>%s</style><rect width="%d" height="%d" fill="var(--panel)"/>`,
		wide, high, wide, high, escape(v.pic.label), figureStyle, wide, high)
	fmt.Fprintf(&b, `<text class="title" x="8" y="20">%s</text><g class="%s" transform="translate(8 %d)">%s</g>`, escape(title), v.pic.class, figureTop, v.pic.body)
	for i, l := range v.legend {
		x, y := 8+180*(i%columns), v.pic.high+figureTop+figureLine*(i/columns+1)
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="11" height="11" fill="%s"/><text x="%d" y="%d">%s</text>`, x, y-10, l.Colour, x+16, y, escape(l.Name+" "+l.Words))
	}
	for i, l := range lines {
		fmt.Fprintf(&b, `<text x="8" y="%d">%s</text>`, below+figureLine*(i+1), escape(l))
	}
	b.WriteString("</svg>\n")
	s := b.String()
	for name, colour := range paper {
		s = strings.ReplaceAll(s, "var("+name+")", colour)
	}
	_, err := io.WriteString(w, s)
	return err
}

// escape makes a text fit for SVG.
func escape(s string) string { return template.HTMLEscapeString(strings.Map(printable, s)) }

// wrapped breaks a text into lines of at most so many characters.
func wrapped(s string, most int) []string {
	var out []string
	line := ""
	for _, word := range strings.Fields(s) {
		if line != "" && len(line)+len(word) >= most {
			out, line = append(out, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" {
		out = append(out, line)
	}
	return out
}
