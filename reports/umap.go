package reports

import (
	"fmt"
	"html/template"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/reduce"
)

// neighbourView is the map of windows by UMAP: a picture, nothing else.
type neighbourView struct {
	Element template.HTML
	Caption string
	Rows    []neighbourRow
}

// neighbourRow is one group on the map.
type neighbourRow struct {
	Name          string
	Colour        template.CSS
	Windows       string // of the group
	Drawn, Beside string
}

// neighbourhood draws healthy and sick windows so that like ones lie beside
// one another. The windows are those of one space: coordinates of several
// can't be compared.
func (f *facts) neighbourhood(p *pageView) chart {
	in := f.in
	space, n := f.commonSpace()
	o := reduce.DefaultMapOptions()
	o.Seed = in.Seed
	at := reduce.MapPoints(in.Points, func(i int) bool {
		v := in.Result.Diagnoses[i].Verdict
		return in.Points[i].Space == space && len(in.Points[i].Y) >= 2 && (v == cluster.Healthy || v == cluster.Sick)
	}, o)
	if n == 0 || len(at) < minMap {
		return chart{}
	}
	d := len(in.Points[at[0]].Y)
	rows := make([]float64, 0, len(at)*d)
	for _, i := range at {
		rows = append(rows, in.Points[i].Y...)
	}
	places := reduce.Map(rows, d, o)
	nearest := reduce.Nearest(places)

	groupOf := map[int32]int{}
	for g := range f.groups {
		for _, i := range f.groups[g].windows {
			groupOf[i] = g
		}
	}
	drawn, beside := make([]int, len(f.groups)), make([]int, len(f.groups))
	data := make([][]opts.ScatterData, len(f.groups))
	for k, i := range at {
		g := groupOf[int32(i)]
		drawn[g]++
		if groupOf[int32(at[nearest[k]])] == g {
			beside[g]++
		}
		data[g] = append(data[g], opts.ScatterData{Value: []float64{round3(places[k][0]), round3(places[k][1])}, SymbolSize: 5})
	}
	c := charts.NewScatter()
	c.SetGlobalOptions(
		base("neighbourhood", 360),
		charts.WithGridOpts(opts.Grid{Left: "12", Right: "12", Top: "12", Bottom: "12"}),
		charts.WithTooltipOpts(opts.Tooltip{Show: opts.Bool(false)}),
		charts.WithLegendOpts(opts.Legend{Show: opts.Bool(false)}),
		charts.WithXAxisOpts(opts.XAxis{Type: "value", Show: opts.Bool(false), Scale: opts.Bool(true)}),
		charts.WithYAxisOpts(opts.YAxis{Type: "value", Show: opts.Bool(false), Scale: opts.Bool(true)}),
	)
	c.Animation = opts.Bool(false)
	view := neighbourView{Caption: fmt.Sprintf(
		"UMAP of %s of %s windows (smallest hash of device and time; seed %d). Like windows lie side by side. A picture only: "+
			"distances between groups and their sizes mean nothing, and no verdict, class or distance is taken from it.", count(int64(len(at))), count(int64(len(in.Windows))), o.Seed)}
	for g := range f.groups {
		if drawn[g] == 0 {
			continue
		}
		name, colour := f.groups[g].name, f.groups[g].colour
		opacity := 0.75
		if name == "Healthy" {
			opacity = 0.35
		}
		c.AddSeries(fmt.Sprint(g), data[g], charts.WithItemStyleOpts(opts.ItemStyle{Color: colour, Opacity: opts.Float(float32(opacity))}))
		view.Rows = append(view.Rows, neighbourRow{name, template.CSS(colour), count(int64(len(f.groups[g].windows))), count(int64(drawn[g])), percent(float64(beside[g]) / float64(drawn[g]))})
	}
	s := snippet("neighbourhood", scatter{c})
	view.Element = s.Element
	p.Neighbours = view
	return s
}

// minMap is the number of windows below which a map shows nothing.
const minMap = 20

// commonSpace is the space of most points, of equal ones the first.
func (f *facts) commonSpace() (*reduce.Model, int) {
	counts := map[*reduce.Model]int{}
	var best *reduce.Model
	for i := range f.in.Points {
		counts[f.in.Points[i].Space]++
	}
	for i := range f.in.Points {
		if s := f.in.Points[i].Space; best == nil && counts[best] < counts[s] || counts[s] > counts[best] {
			best = s
		}
	}
	return best, counts[best]
}
