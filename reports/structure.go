package reports

import (
	"fmt"
	"html/template"
	"math"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
)

// structureView is how the classes lie: components, loadings, tree, cuts.
type structureView struct {
	Scatter    template.HTML
	Shown, Of  string
	Centres    []centreView
	Components []string
	Loadings   []loadingRow
	Kept       string
	Tree       template.HTML
	Merges     []fact
	Cuts       []cutView
	Silhouette string
}

type centreView struct {
	Name    string
	Colour  template.CSS
	Windows string
	X, Y    string
}

type loadingRow struct {
	Name  string
	Cells []loadingCell
}

type loadingCell struct {
	Text  string
	Style template.CSS
}

type cutView struct {
	K                  int
	Silhouette, Height string
	Stability          string
	X                  string
	Chosen             bool
}

// shownComponents bounds the columns of the table of loadings.
const shownComponents = 4

func (f *facts) structure(p *pageView) {
	in, s := f.in, &p.Structure
	kept := 0.0
	for i, a := range in.Axes {
		kept += a.Share
		if i < shownComponents {
			s.Components = append(s.Components, fmt.Sprintf("PC%d (%s)", i+1, percent(a.Share)))
		}
	}
	if len(in.Axes) > 0 {
		s.Kept = fmt.Sprintf("%s keep %s of the second moment", plural(len(in.Axes), "component"), percent(kept))
		for k, t := range features.Features {
			row := loadingRow{Name: t.Name}
			for _, a := range in.Axes[:min(shownComponents, len(in.Axes))] {
				row.Cells = append(row.Cells, newLoadingCell(a.Loading[k]))
			}
			s.Loadings = append(s.Loadings, row)
		}
	}
	tree := f.dendrogram()
	s.Tree = tree.inline()
	for i, m := range in.Result.Top[:min(12, len(in.Result.Top))] {
		s.Merges = append(s.Merges, fact{Name: fmt.Sprintf("%d classes become %d", i+2, i+1), Value: three(m.Height), Note: three(m.Size)})
	}
	best := 0.0
	for _, c := range in.Result.Cuts {
		best = max(best, c.Silhouette)
	}
	for _, c := range in.Result.Cuts {
		v := cutView{K: c.K, Silhouette: three(c.Silhouette), Height: three(c.Height), Stability: three(c.Stability), X: "0", Chosen: c.K == len(in.Result.Classes)}
		if best > 0 {
			v.X = pct(c.Silhouette / best)
		}
		s.Cuts = append(s.Cuts, v)
	}
	if len(in.Result.Cuts) > 0 {
		s.Silhouette = three(in.Result.Silhouette)
	}
	f.centres(s)
}

func newLoadingCell(v float64) loadingCell {
	if math.IsNaN(v) {
		return loadingCell{Text: "–"}
	}
	hue := "var(--plus-rgb)"
	if v < 0 {
		hue = "var(--minus-rgb)"
	}
	return loadingCell{
		Text:  fmt.Sprintf("%+.2f", v),
		Style: template.CSS(fmt.Sprintf("background:rgba(%s,%.2f)", hue, 0.75*min(abs(v), 1))),
	}
}

// centres is the table behind the scatter: the mean place of each group.
func (f *facts) centres(s *structureView) {
	for _, g := range f.groups {
		x, y := 0.0, 0.0
		for _, i := range g.windows {
			at := f.all.row(int(i)).y
			x += at[0]
			y += at[1]
		}
		n := float64(len(g.windows))
		s.Centres = append(s.Centres, centreView{g.name, template.CSS(g.colour), count(int64(len(g.windows))), signed(x / n), signed(y / n)})
	}
}

// group is the windows of one colour in the scatter.
type group struct {
	name, colour string
	windows      []int32 // rising
}

// scatterGroups sorts windows with at least two coordinates by what they are:
// healthy first, so that the sick are drawn above.
func (f *facts) scatterGroups() []group {
	if f.in.Points.Len() == 0 {
		return nil
	}
	slugs := f.slugs()
	at := map[string]int{}
	out := []group{{name: "Healthy", colour: "#9AA3AF"}}
	out[0].windows = make([]int32, 0, f.verdicts[cluster.Healthy])
	for i, s := range slugs {
		at[s] = i + 1
		out = append(out, group{f.pathologyName(s), f.colour(s), make([]int32, 0, f.byPathology[s])})
	}
	for i := range f.in.Points.Len() {
		r := f.all.row(i)
		if r.flags&rowPlaced == 0 {
			continue
		}
		switch r.verdict() {
		case cluster.Healthy:
			out[0].windows = append(out[0].windows, int32(i))
		case cluster.Sick:
			g := &out[at[f.all.slugs[r.slug]]]
			g.windows = append(g.windows, int32(i))
		}
	}
	kept := out[:0]
	for _, g := range out {
		if len(g.windows) > 0 {
			kept = append(kept, g)
		}
	}
	return kept
}
