package reports

import (
	"fmt"
	"html/template"
	"math"
	"regexp"
	"strings"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"
	"github.com/go-echarts/go-echarts/v2/types"

	"github.com/iopathy/iopathy/reports/assets"
)

// chart is a go-echarts chart cut up for the page: a place for it, and the
// options as a JavaScript expression. No text from a log ever stands in
// options (go-echarts doesn't escape it): series have numbers for names, and
// the page's script puts the words in.
type chart struct {
	ID      string
	Element template.HTML
	Option  string
}

// snippet renders by go-echarts; every chart has a fixed id, which is random
// by default.
func snippet(id string, c interface {
	RenderSnippet() (element, option string)
}) chart {
	element, option := c.RenderSnippet()
	option = calls.ReplaceAllString(strings.TrimSpace(option), "$1")
	return chart{ID: id, Element: template.HTML(element), Option: assets.Inline(option)}
}

// calls finds our functions in options: a snippet's Option (unlike its Script)
// leaves them as strings.
var calls = regexp.MustCompile(`"(function\([a-z,]*\)\{return iopathy\.[^"]*\})"`)

type custom struct{ *charts.Custom }

func (c custom) RenderSnippet() (string, string) {
	s := c.Custom.RenderSnippet()
	return s.Element, s.Option
}

type bars struct{ *charts.Bar }

func (c bars) RenderSnippet() (string, string) {
	s := c.Bar.RenderSnippet()
	return s.Element, s.Option
}

func base(id string, height int) charts.GlobalOpts {
	return charts.WithInitializationOpts(opts.Initialization{ChartID: id, Width: "100%", Height: fmt.Sprintf("%dpx", height), Renderer: "canvas"})
}

// raster is the frame of a packed map: axes and zoom by go-echarts, one item
// that the page's script fills with the painted canvas.
func raster(id string, height, cols, rows int, x, y opts.AxisLabel, grid opts.Grid) chart {
	c := charts.NewCustom()
	c.SetGlobalOptions(
		base(id, height),
		charts.WithTooltipOpts(opts.Tooltip{Show: opts.Bool(false)}),
		charts.WithLegendOpts(opts.Legend{Show: opts.Bool(false)}),
		charts.WithGridOpts(grid),
		charts.WithXAxisOpts(opts.XAxis{Type: "value", Min: 0, Max: cols, AxisLabel: &x, SplitLine: &opts.SplitLine{Show: opts.Bool(false)}}),
		charts.WithYAxisOpts(opts.YAxis{Type: "value", Min: 0, Max: rows, Inverse: opts.Bool(true), AxisLabel: &y, SplitLine: &opts.SplitLine{Show: opts.Bool(false)}}),
		// The default filter drops the single item as soon as it is zoomed.
		charts.WithDataZoomOpts(
			opts.DataZoom{Type: "inside", XAxisIndex: []int{0}, FilterMode: "none"},
			opts.DataZoom{Type: "inside", YAxisIndex: []int{0}, FilterMode: "none"},
		),
	)
	c.Animation = opts.Bool(false)
	c.MultiSeries = append(c.MultiSeries, charts.SingleSeries{
		Name: "cells", Type: types.ChartCustom, Data: []any{[]int{0, 0, 0}},
		RenderItem: opts.FuncOpts("function(p,a){return iopathy.item('" + id + "',p,a)}"),
	})
	return snippet(id, custom{c})
}

func formatter(call string) opts.AxisLabel {
	return opts.AxisLabel{Formatter: opts.FuncOpts("function(v){return " + call + "}")}
}

// stacked draws counts over time, one series a name; labels are the page's.
func stacked(id string, height int, labels []string, series [][]int, colours []string) chart {
	c := charts.NewBar()
	c.SetGlobalOptions(
		base(id, height),
		charts.WithGridOpts(opts.Grid{Left: "44", Right: "12", Top: "12", Bottom: "28"}),
		charts.WithTooltipOpts(opts.Tooltip{Show: opts.Bool(true), Trigger: "axis", Formatter: opts.FuncOpts("function(p){return iopathy.stackTip(p)}")}),
		charts.WithLegendOpts(opts.Legend{Show: opts.Bool(false)}),
		charts.WithXAxisOpts(opts.XAxis{Type: "category"}),
		charts.WithYAxisOpts(opts.YAxis{Type: "value", MinInterval: 1}),
	)
	c.Animation = opts.Bool(false)
	c.SetXAxis(labels)
	for i, s := range series {
		data := make([]opts.BarData, len(s))
		for k, v := range s {
			data[k] = opts.BarData{Value: v}
		}
		c.AddSeries(fmt.Sprint(i), data,
			charts.WithBarChartOpts(opts.BarChart{Stack: "all", BarCategoryGap: "8%"}),
			charts.WithItemStyleOpts(opts.ItemStyle{Color: colours[i]}))
	}
	return snippet(id, bars{c})
}

// maxScatter bounds the dots of the scatter.
const maxScatter = 4000

// The size of a scatter.
const (
	plotWide = 600
	plotHigh = 360
	dotSize  = 5
)

// opacity of a group's dots: the healthy stay behind the sick.
func opacity(name string) float64 {
	if name == "Healthy" {
		return 0.35
	}
	return 0.75
}

// components draws the first two coordinates of the points; every nth window
// of a group where there are too many, so that the picture is the same each
// time.
func (f *facts) components() (picture, int) {
	total, shown := 0, 0
	for _, g := range f.groups {
		total += len(g.windows)
	}
	step := max((total+maxScatter-1)/maxScatter, 1)
	data := make([][][2]float64, len(f.groups))
	var xs, ys []float64
	for i, g := range f.groups {
		for k := 0; k < len(g.windows); k += step {
			y := f.all.row(int(g.windows[k])).y
			at := [2]float64{round3(y[0]), round3(y[1])}
			data[i] = append(data[i], at)
			xs, ys = append(xs, at[0]), append(ys, at[1])
		}
		shown += len(data[i])
	}
	x, y := axis{label: "PC1", words: three}, axis{label: "PC2", words: three}
	x.lo, x.hi = spread(xs)
	y.lo, y.hi = spread(ys)
	p := newPlot(plotWide, plotHigh, x, y)
	p.frame()
	for i, g := range f.groups {
		p.dots(g.colour, dotSize, opacity(g.name), data[i])
	}
	return p.picture("Windows along the first two principal components; the table beside it holds the centres"), shown
}

func round3(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return math.Round(v*1000) / 1000
}
