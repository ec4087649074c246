package reports

import (
	"fmt"
	"html/template"
	"slices"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/reduce"
)

// neighbourView is the map of windows by UMAP: a picture, nothing else.
type neighbourView struct {
	Picture template.HTML
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
func (f *facts) neighbourhood(p *pageView) picture {
	in := f.in
	space, n := f.commonSpace()
	o := reduce.DefaultMapOptions()
	o.Seed = in.Seed
	at := reduce.MapPoints(f.all.n, func(i int) (features.Key, int64) {
		r := f.all.row(i)
		return f.all.keys[r.device], r.startNS
	}, func(i int) bool {
		r := f.all.row(i)
		return judged(r.verdict()) && r.flags&rowPlaced != 0 && f.all.spaces[r.space] == space
	}, o)
	if n == 0 || len(at) < minMap {
		return picture{}
	}
	d := len(in.Points.At(at[0]).Y)
	rows := make([]float64, 0, len(at)*d)
	for _, i := range at {
		rows = append(rows, in.Points.At(i).Y...)
	}
	places := reduce.Map(rows, d, o)
	nearest := reduce.Nearest(places)

	groupOf := map[int]int{}
	for _, i := range at {
		for g := range f.groups {
			if _, ok := slices.BinarySearch(f.groups[g].windows, int32(i)); ok {
				groupOf[i] = g
			}
		}
	}
	drawn, beside := make([]int, len(f.groups)), make([]int, len(f.groups))
	data := make([][][2]float64, len(f.groups))
	var xs, ys []float64
	for k, i := range at {
		g := groupOf[i]
		drawn[g]++
		if groupOf[at[nearest[k]]] == g {
			beside[g]++
		}
		x, y := round3(places[k][0]), round3(places[k][1])
		data[g] = append(data[g], [2]float64{x, y})
		xs, ys = append(xs, x), append(ys, y)
	}
	var pl plot
	pl.wide, pl.high, pl.left, pl.right, pl.top, pl.bottom = plotWide, plotHigh, 8, plotWide-8, 8, plotHigh-8
	pl.x.lo, pl.x.hi = spread(xs)
	pl.y.lo, pl.y.hi = spread(ys)
	view := neighbourView{Caption: fmt.Sprintf(
		"UMAP of %s of %s windows (smallest hash of device and time; seed %d). Like windows lie side by side. A picture only: "+
			"distances between groups and their sizes mean nothing, and no verdict, class or distance is taken from it.", count(int64(len(at))), count(int64(in.Windows.Len())), o.Seed)}
	for g := range f.groups {
		if drawn[g] == 0 {
			continue
		}
		name, colour := f.groups[g].name, f.groups[g].colour
		pl.dots(colour, dotSize, opacity(name), data[g])
		view.Rows = append(view.Rows, neighbourRow{name, template.CSS(colour), count(int64(len(f.groups[g].windows))), count(int64(drawn[g])), percent(float64(beside[g]) / float64(drawn[g]))})
	}
	s := pl.picture("Map of windows by UMAP; the table beside it holds how the groups lie")
	view.Picture = s.inline()
	p.Neighbours = view
	return s
}

// minMap is the number of windows below which a map shows nothing.
const minMap = 20

// commonSpace is the space of most points, of equal ones the first.
func (f *facts) commonSpace() (*reduce.Model, int) {
	counts := map[*reduce.Model]int{}
	var order []*reduce.Model
	for i := range f.in.Points.Len() {
		s := f.all.spaces[f.all.row(i).space]
		if counts[s] == 0 {
			order = append(order, s)
		}
		counts[s]++
	}
	var best *reduce.Model
	for _, s := range order {
		if counts[s] > counts[best] {
			best = s
		}
	}
	return best, counts[best]
}
