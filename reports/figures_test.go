package reports

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cluster/analysis"
	"github.com/iopathy/iopathy/heatmap"
)

// figureFiles gives the files of the figures by name.
func figureFiles(t *testing.T, in *Input) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := Figures(in, func(name string, write func(io.Writer) error) error {
		var b bytes.Buffer
		if _, twice := files[name]; twice {
			t.Errorf("%s is written twice", name)
		}
		files[name] = nil
		err := write(&b)
		files[name] = b.Bytes()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

var (
	safeName = regexp.MustCompile(`^[a-z0-9-]+\.(svg|png|csv)$`)
	outside  = regexp.MustCompile(`(?i)var\(|<script|<foreignObject|href="[^d#]`)
)

func TestFiguresStandAlone(t *testing.T) {
	in := made(40, 30, 9, 3)
	hostile(in)
	files := figureFiles(t, in)
	for _, want := range []string{"fleet-all.svg", "fleet-all.png", "fleet-change.svg", "joint.svg", "course.svg", "components.svg", "umap.svg", "dendrogram.svg", "device-001-severity.svg", "index.csv"} {
		if files[want] == nil {
			t.Errorf("no %s among %v", want, slices.Sorted(maps.Keys(files)))
		}
	}
	for name, data := range files {
		if !safeName.MatchString(name) {
			t.Errorf("%q is no name of ours", name)
		}
		if !strings.HasSuffix(name, ".svg") {
			continue
		}
		if bad := outside.Find(data); bad != nil {
			t.Errorf("%s holds %q", name, bad)
		}
		for d := xml.NewDecoder(bytes.NewReader(data)); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Errorf("%s is no XML: %v", name, err)
				break
			}
		}
	}
	rows, err := csv.NewReader(bytes.NewReader(files[FigureIndex])).ReadAll()
	if err != nil || len(rows) != len(files) { // its header stands for itself
		t.Errorf("the index has %d rows for %d files: %v", len(rows), len(files), err)
	}
	again := figureFiles(t, in)
	for name, data := range files {
		if !bytes.Equal(data, again[name]) {
			t.Errorf("%s differs from run to run", name)
		}
	}
}

// Each picture of the page is a file, those of many devices and curves included.
func TestEveryFigureIsAFile(t *testing.T) {
	in := made(80, 24, 75, 3)
	carded(in)
	worst := gathered(t, in).devices[2].Key
	curve := &analysis.Curve{Points: []analysis.CurvePoint{{Depth: 1, RatePerS: 900, LatencyS: 0.001}, {Depth: 4, RatePerS: 2900, LatencyS: 0.0014}, {Depth: 16, RatePerS: 3000, LatencyS: 0.005}}}
	in.Analyses = append(in.Analyses, analysis.Finding{Kind: analysis.SaturationKnee, Key: worst, Told: true, Says: "beyond 4 in flight nothing is gained", Curve: curve})
	f := gathered(t, in)
	p, files := newPage(f), figureFiles(t, in)
	want := map[string]bool{"dendrogram": p.Structure.Tree != ""}
	for _, name := range []string{"joint", "course", "components", "umap", "busy-or-sick"} {
		want[name] = true
	}
	for _, view := range heatmap.Views {
		want["fleet-"+view] = true
	}
	curves := 0
	for i := range p.Sections {
		s, name := &p.Sections[i], fmt.Sprintf("device-%03d-", i+1)
		want[name+"severity"], want[name+"busy-or-sick"] = s.Spark != "", s.Card.Plane != ""
		want[name+"latency"], want[name+"saturation"] = s.Card.Grid != "", s.Curve != ""
		curves += b2i(s.Curve != "")
	}
	if curves != 1 || len(p.Sections) != 75 {
		t.Fatalf("the page has %d curves and %d cards", curves, len(p.Sections))
	}
	for name, drawn := range want {
		if drawn != (files[name+".svg"] != nil) {
			t.Errorf("%s is drawn on the page: %v, and a file: %v", name, drawn, files[name+".svg"] != nil)
		}
	}
}

func TestFigureOfTheFleetHoldsItsColours(t *testing.T) {
	in := made(40, 30, 9, 3)
	f := gathered(t, in)
	fleet := heatmap.NewFleet(f.all, f.scale, f.fleetOptions())
	files := figureFiles(t, in)
	look := func(view string, col, row int) heatmap.RGB {
		t.Helper()
		img, err := png.Decode(bytes.NewReader(files["fleet-"+view+".png"]))
		if err != nil {
			t.Fatal(err)
		}
		r, g, b, _ := img.At(col, row).RGBA()
		return heatmap.RGB{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8)}
	}
	want, _ := fleet.At(20, 2)
	n := fleet.Devices[2].Normal
	check := func(view string, want heatmap.RGB) {
		t.Helper()
		if got := look(view, 20, 2); got != want {
			t.Errorf("%s: %s, want %s", view, got.Hex(), want.Hex())
		}
	}
	check("all", want)
	check("throughput", heatmap.RGB{want[0], 0, 0})
	check("depth", heatmap.RGB{0, 0, want[2]})
	half := func(k int) uint8 { return uint8(128 + (int(want[k])-int(n[k]))>>1) }
	check("change", heatmap.RGB{half(0), half(1), half(2)})
	d := in.Result.Diagnoses.At(int(fleet.Window[2*fleet.Cols+20]))
	check("pathology", rgbOf(f.colour(d.Pathology)))
	if d.Verdict != cluster.Sick {
		t.Errorf("the cell is %s", d.Verdict)
	}
}

func TestTablesAddUp(t *testing.T) {
	in := made(40, 30, 9, 3)
	hostile(in)
	tables, err := Tables(in)
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]int64{} // of the columns of numbers
	for _, table := range tables {
		var c, j bytes.Buffer
		if err := errors.Join(table.CSV(&c), table.JSON(&j)); err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(&c).ReadAll()
		if err != nil {
			t.Fatalf("%s.csv: %v", table.Name, err)
		}
		var objects []map[string]any
		if err := json.Unmarshal(j.Bytes(), &objects); err != nil {
			t.Fatalf("%s.json: %v", table.Name, err)
		}
		if len(rows) != table.rows()+1 || len(objects) != table.rows() {
			t.Errorf("%s: %d rows in CSV, %d in JSON, want %d", table.Name, len(rows)-1, len(objects), table.rows())
		}
		for i, o := range objects {
			for k, col := range table.Columns {
				if s, ok := o[col.Name].(string); ok && s != string([]rune(rows[i+1][k])) { // JSON holds no broken UTF-8
					t.Errorf("%s: row %d, %s: %q and %q", table.Name, i, col.Name, s, rows[i+1][k])
				}
				if v, ok := o[col.Name].(float64); ok {
					sums[table.Name+"."+col.Name] += int64(v)
				}
			}
		}
	}
	check := func(what string, got, want int64) {
		t.Helper()
		if got != want {
			t.Errorf("%s is %d, want %d", what, got, want)
		}
	}
	f := gathered(t, in)
	check("windows of the devices", sums["devices.windows"], int64(in.Windows.Len()))
	check("verdicts of the devices", sums["devices.healthy"]+sums["devices.idle"]+sums["devices.artefact"]+sums["devices.sick"], sums["devices.windows"])
	check("sick windows of the classes", sums["classes.windows"]+int64(f.byClass[0]), sums["devices.sick"])
	check("rejected and unpaired lines by reason", sums["fates.lines"], sums["inputs.rejects"]+sums["inputs.unpaired"])
	check("episodes of the devices", sums["devices.episodes"], int64(len(in.Result.Episodes)))
}
