// Package reports writes everything that was found as one HTML file that asks
// nothing of any network, as report.json and as labels.csv.
//
//  1. The caller fills an Input: windows, points, the Result, the catalogue,
//     the account of what was read.
//  2. Its facts are counted once, so that page and JSON can't differ.
//  3. HTML sets the words by html/template, frames the pictures by go-echarts
//     and packs the maps' cells as compressed bytes that the page's own script
//     paints; JSON and LabelsCSV write the same for programs.
//
// All that comes from logs is untrusted text: it is set as text by the
// template, or stands as JSON in a data block and is put in as text by the
// script; it never becomes markup, script or part of a chart's options. The
// same Input gives the same bytes: no clock, path or run id is read.
package reports

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"

	"github.com/iopathy/iopathy/heatmap"
	"github.com/iopathy/iopathy/reports/assets"
)

//go:embed templates
var templates embed.FS

// HTML writes the report as one page.
func HTML(w io.Writer, in *Input) error {
	t, err := template.ParseFS(templates, "templates/*.html")
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	f, err := gather(in)
	if err != nil {
		return err
	}
	// The maps' cells and the map of windows take as long as all the rest, and
	// need nothing of it.
	var side aside
	defer side.all.Wait() // whatever ends the call: nothing reads on behind its back
	cells, beside := newCells(f), &pageView{}
	side.do(cells.draw)
	side.do(func() {
		if len(f.groups) > 0 {
			f.neighbourhood(beside)
		}
	})
	p := newPage(f)
	if len(f.groups) > 0 {
		c, shown := f.components()
		p.Structure.Scatter, p.Structure.Shown = c.inline(), count(int64(shown))
		p.Structure.Of = count(int64(in.Windows.Len()))
		f.plane(p)
	}
	side.wait()
	p.Neighbours = beside.Neighbours

	fleet, joint := cells.fleet, cells.joint
	maps := map[string]mapData{}
	var all []chart
	add := func(c chart, data mapData, packed *heatmap.Packed) {
		if c.ID != "" {
			data.Codes, data.Steps = packed.Codes, packed.Steps
			all = append(all, c)
			maps[c.ID] = data
		}
	}
	c, data := f.fleetMap(p, fleet)
	add(c, data, &cells.fleetPacked)
	c, data = f.jointMap(p, joint)
	add(c, data, &cells.jointPacked)
	if c, _ := f.course(p, fleet); c.ID != "" {
		all = append(all, c)
	}
	script, version := assets.Script(in.Echarts)
	p.Echarts = version

	folded := &parts{t: t}
	folded.fold(p)
	out := &sink{w: w}
	style, app := asset("style.css"), pageScript()
	out.template(t, "head.html", p)
	out.text("<style>", style, "</style>\n")
	out.template(t, "body.html", p)
	out.json("iopathy-data", pageData(f, p, maps))
	if fleet.Rows > 0 {
		out.packed("fleet-bytes", cells.fleetStream)
	}
	if joint.Total > 0 {
		out.packed("joint-bytes", cells.jointStream)
	}
	out.text("<script>", assets.Inline(script), "</script>\n<script>", app, "\n")
	for _, c := range all {
		out.text("iopathy.add(\"", c.ID, "\",function(){return ", c.Option, "});\n")
	}
	out.text("iopathy.start();</script>\n")
	out.parts(folded) // after what the first screen needs
	out.text("</body>\n</html>\n")
	if out.err != nil {
		return fmt.Errorf("report: writing the page: %w", out.err)
	}
	return nil
}

// pageScript is the page's own script. Its files share one block, so that only
// what they mean to be seen is seen outside.
func pageScript() string {
	return asset("unpack.js") + "{\n" + asset("words.js") + asset("cells.js") + asset("maps.js") + asset("app.js") + "}\n"
}

// cells are the maps and their bytes for the page.
type cells struct {
	f                        *facts
	fleet                    *heatmap.Fleet
	joint                    *heatmap.Joint
	fleetPacked, jointPacked heatmap.Packed
	fleetStream, jointStream []byte
}

func newCells(f *facts) *cells { return &cells{f: f} }

func (c *cells) draw() {
	f := c.f
	c.fleet = heatmap.NewFleet(f.all, f.scale, f.fleetOptions())
	if c.fleet.Rows > 0 {
		c.fleetPacked = c.fleet.Pack(f.scale)
		c.fleetStream = deflated(append(halves(c.fleetPacked.Values), c.fleetPacked.State, c.fleet.Class, quantise(c.fleet))...)
	}
	c.joint = heatmap.NewJoint(f.all, f.scale)
	if c.joint.Total > 0 {
		c.jointPacked = c.joint.Pack(f.scale)
		c.jointStream = deflated(c.jointPacked.Values, c.jointPacked.State, alphas(&c.joint.Raster))
	}
}

// halves cuts the values into their six planes, which are unlike one another.
func halves(values []byte) [][]byte {
	n := len(values) / 6
	var out [][]byte
	for k := range 6 {
		out = append(out, values[k*n:(k+1)*n])
	}
	return out
}

// pageJSON is the data block of the page's script.
type pageJSON struct {
	Maps     map[string]mapData `json:"maps"`
	Course   []string           `json:"course"`
	Relative bool               `json:"relative"`
	Day      bool               `json:"day"`
	Drill    bool               `json:"drill,omitempty"`
	Ramps    [2][]string        `json:"ramps"` // of severity, and safe for any colour vision
}

func pageData(f *facts, p *pageView, maps map[string]mapData) pageJSON {
	return pageJSON{Maps: maps, Course: append([]string{}, p.Course.Head...), Relative: f.time.relative, Day: f.time.day, Drill: f.in.Drill, Ramps: [2][]string{hexes(heatmap.SickRamp), hexes(heatmap.SafeRamp)}}
}

func hexes(ramp []heatmap.RGB) []string {
	out := make([]string, len(ramp))
	for i, c := range ramp {
		out[i] = c.Hex()
	}
	return out
}

// alphas are the opacities of a raster.
func alphas(r *heatmap.Raster) []byte {
	out := make([]byte, r.Cols*r.Rows)
	for i := range out {
		out[i] = r.Pix[4*i+3]
	}
	return out
}

// asset is an embedded file of ours; that it is there is fixed at build time.
func asset(name string) string {
	b, err := templates.ReadFile("templates/" + name)
	if err != nil {
		panic("reports: " + err.Error())
	}
	return string(b)
}

// sink writes until the first error.
type sink struct {
	w   io.Writer
	err error
}

func (s *sink) text(parts ...string) {
	for _, p := range parts {
		if s.err == nil {
			_, s.err = io.WriteString(s.w, p)
		}
	}
}

func (s *sink) template(t *template.Template, name string, data any) {
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, name, data); err != nil && s.err == nil {
		s.err = err
	}
	s.text(b.String())
}

// json writes a data block; encoding/json escapes <, > and &, so that no text
// in it can end the block.
func (s *sink) json(id string, v any) {
	b, err := json.Marshal(v)
	if err != nil && s.err == nil {
		s.err = err
	}
	s.text(`<script type="application/json" id="`, id, `">`, string(b), "</script>\n")
}
