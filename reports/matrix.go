package reports

import (
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/iopathy/iopathy/cluster/matrix"
)

// TestMatrix is what the page of a test matrix is made of.
type TestMatrix struct {
	Matrix  *matrix.Matrix
	Effects map[string][]matrix.Effect // by measure; none of one that too few runs tell
	Bends   []string                   // where along a factor things take off, in words
	Version string
}

type matrixView struct {
	Style             template.CSS
	Headline, Version string
	Facts             []fact
	Effects           []matrixEffects
	Bends             []string
	Across, Down      string
	Columns           []string
	Grids             []matrixGrid
	Empty             []string
	EmptyMore         string
}

type matrixEffects struct {
	Name, Note string
	Rows       []matrixEffect
}

type matrixEffect struct {
	Name, Share, Interval, Ratio, At string
	Width, Left, Span                string // percent: the share, its interval
	Found                            bool
}

type matrixGrid struct {
	Name string
	Rows []matrixRow
}

type matrixRow struct {
	Name  string
	Cells []matrixCell
}

type matrixCell struct {
	Text  string
	Style template.CSS
	None  bool
}

// The most empty cells that are named, and rows and columns of a picture.
const (
	emptyNamed     = 100
	pictureRows    = 400
	pictureColumns = 64
)

// matrixFigures are the pictures, in order.
var matrixFigures = []struct {
	name string
	of   func(*matrix.Figures) float64
	say  func(float64) string
}{
	{"Throughput", func(f *matrix.Figures) float64 { return f.BytesPerS }, func(v float64) string { return volume(v) + "/s" }},
	{"IOPS", func(f *matrix.Figures) float64 { return f.IOPS }, three},
	{"Latency, P50", func(f *matrix.Figures) float64 { return f.P50MS }, func(v float64) string { return three(v) + " ms" }},
	{"Latency, P99", func(f *matrix.Figures) float64 { return f.P99MS }, func(v float64) string { return three(v) + " ms" }},
	{"CPU share of one core", func(f *matrix.Figures) float64 { return f.CPUShare }, percent},
	{"Time with an I/O in flight", func(f *matrix.Figures) float64 { return f.IOWait }, percent},
}

// MatrixHTML writes the page of a test matrix: what latency hangs on, and each
// figure as a small picture of all cells, empty ones marked. It asks nothing of
// any network.
func MatrixHTML(w io.Writer, tm *TestMatrix) error {
	if tm == nil || tm.Matrix == nil || len(tm.Matrix.Factors) == 0 {
		return fmt.Errorf("matrix: nothing to tell")
	}
	t, err := template.ParseFS(templates, "templates/*.html")
	if err != nil {
		return fmt.Errorf("matrix: %w", err)
	}
	m := tm.Matrix
	v := matrixView{Style: template.CSS(asset("style.css")), Version: tm.Version, Headline: "No factor moves latency beyond chance",
		Facts: []fact{
			{"runs", count(int64(m.Runs)), plural(len(m.Factors), "factor")},
			{"cells", count(int64(len(m.Cells))), plural(len(m.Empty), "more cell") + " without a run"},
		}}
	for _, s := range tm.Bends {
		v.Bends = append(v.Bends, sentence(s))
	}
	said := false
	for _, of := range matrix.Measures {
		block := matrixEffects{Name: strings.ReplaceAll(of.Name, "_", " ")}
		effects, ok := tm.Effects[of.Name]
		if !ok {
			block.Note = "Too few runs to tell what it hangs on."
		}
		for _, e := range effects {
			row := effectOfFactors(&e)
			block.Rows = append(block.Rows, row)
			if e.Found && !said {
				said = true
				v.Headline = fmt.Sprintf("%s hangs most on %s: %s of its variation, %s (%s)", block.Name, row.Name, row.Share, row.Ratio, row.At)
			}
		}
		v.Effects = append(v.Effects, block)
	}
	if !said && len(tm.Effects) == 0 {
		v.Headline = "Too few runs to tell what latency hangs on"
	}
	v.grids(m)
	for i, names := range m.Empty {
		if i == emptyNamed {
			v.EmptyMore = plural(len(m.Empty)-i, "more cell")
			break
		}
		v.Empty = append(v.Empty, sentence(strings.Join(names, ", ")))
	}
	out := &sink{w: w}
	out.template(t, "matrix.html", v)
	return out.err
}

func effectOfFactors(e *matrix.Effect) matrixEffect {
	var names []string
	for _, f := range e.Factors {
		names = append(names, label(f))
	}
	row := matrixEffect{Name: strings.Join(names, " x "), Share: percent(e.Share), Interval: percent(e.Low) + " to " + percent(e.High), Ratio: fmt.Sprintf("x %.2f", e.Ratio), Found: e.Found,
		Width: pct(e.Share), Left: pct(e.Low), Span: pct(e.High - e.Low)}
	if len(e.At) == 2 {
		row.At = fmt.Sprintf("%s against %s", label(e.At[0]), label(e.At[1]))
		if len(e.Factors) > 1 {
			row.At = fmt.Sprintf("%s with %s, against what each predicts", label(e.At[0]), label(e.At[1]))
		}
	}
	return row
}

// grids lays each figure out: across goes the factor of numbers with the most
// levels, or the last; down go the combinations of the others.
func (v *matrixView) grids(m *matrix.Matrix) {
	across := len(m.Factors) - 1
	for i, f := range m.Factors {
		if f.Numeric && (!m.Factors[across].Numeric || len(f.Levels) > len(m.Factors[across].Levels)) {
			across = i
		}
	}
	v.Across = label(m.Factors[across].Name)
	var down []string
	for i, f := range m.Factors {
		if i != across {
			down = append(down, label(f.Name))
		}
	}
	v.Down = strings.Join(down, ", ")
	for _, l := range m.Factors[across].Levels[:min(len(m.Factors[across].Levels), pictureColumns)] {
		v.Columns = append(v.Columns, label(l))
	}
	type line struct {
		levels []int
		cells  []*matrix.Cell
	}
	var lines []line
	for i := range m.Cells {
		c := &m.Cells[i]
		at := slices.IndexFunc(lines, func(l line) bool {
			for k := range l.levels {
				if k != across && l.levels[k] != c.Levels[k] {
					return false
				}
			}
			return true
		})
		if at < 0 {
			if len(lines) == pictureRows {
				continue
			}
			at = len(lines)
			lines = append(lines, line{c.Levels, make([]*matrix.Cell, len(m.Factors[across].Levels))})
		}
		lines[at].cells[c.Levels[across]] = c
	}
	for _, figure := range matrixFigures {
		low, high := math.Inf(1), math.Inf(-1)
		for i := range m.Cells {
			if x := figure.of(&m.Cells[i].Figures); x > 0 {
				low, high = min(low, x), max(high, x)
			}
		}
		if low > high {
			continue // no run tells it
		}
		g := matrixGrid{Name: figure.name}
		for _, l := range lines {
			row := matrixRow{}
			var names []string
			for k, level := range l.levels {
				if k != across {
					names = append(names, label(m.Factors[k].Levels[level]))
				}
			}
			row.Name = strings.Join(names, ", ")
			for _, c := range l.cells[:len(v.Columns)] {
				row.Cells = append(row.Cells, matrixShade(c, figure.of, figure.say, low, high))
			}
			g.Rows = append(g.Rows, row)
		}
		v.Grids = append(v.Grids, g)
	}
}

// matrixShade is a cell: its figure, shaded on a logarithmic scale.
func matrixShade(c *matrix.Cell, of func(*matrix.Figures) float64, say func(float64) string, low, high float64) matrixCell {
	if c == nil {
		return matrixCell{Text: "no run", None: true}
	}
	x := of(&c.Figures)
	if math.IsNaN(x) {
		return matrixCell{Text: "–", None: true}
	}
	share := 0.0
	if x > 0 && high > low {
		share = math.Log(x/low) / math.Log(high/low)
	}
	return matrixCell{Text: say(x), Style: template.CSS(fmt.Sprintf("--heat:%.0f%%", 8+72*share))}
}
