package reports

import (
	"math"
	"slices"
	"strings"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
)

// mostTells bounds the facts that an episode is told by.
const mostTells = 2

// tells says how bad an episode is: the facts that its pathology's entry names
// for that, in the episode's worst window, beside what they are in the healthy
// windows of the device, or of its group where it has none.
func (f *facts) tells(d *device, e *cluster.Episode) []string {
	p := f.in.pathology(e.Pathology)
	if p == nil || d == nil {
		return nil
	}
	worst, severity := -1, 0.0
	for _, i := range d.windows {
		r := f.all.row(i)
		if r.verdict() == cluster.Sick && r.startNS >= e.FromNS && r.endNS <= e.ToNS && (worst < 0 || r.severity > severity) {
			worst, severity = i, r.severity
		}
	}
	if worst < 0 {
		return nil
	}
	var out []string
	for _, t := range p.Tells {
		v := f.told(worst, t.Fact)
		if math.IsNaN(v) || v < t.From || v == 0 || len(out) == mostTells {
			continue
		}
		s := strings.Replace(sentence(t.Says), "{}", inUnit(t.Fact, v), 1)
		if usual := f.usual(d, worst, t.Fact); t.Fact != cluster.LatencyOverNormal && !math.IsNaN(usual) {
			s += " (when healthy " + inUnit(t.Fact, usual) + ")"
		}
		out = append(out, s)
	}
	return out
}

// told is a fact of window i by name; NaN if it is unknown.
func (f *facts) told(i int, fact string) float64 {
	w := f.in.Windows.At(i)
	if fact == cluster.LatencyOverNormal {
		if !w.Missing.Has(features.LatencyLoadResidual) || f.in.Points.Len() == 0 {
			return math.NaN()
		}
		return math.Pow(10, f.all.row(i).residual)
	}
	if k := factIndex(fact); k >= 0 {
		return w.Context[k]
	}
	return math.NaN()
}

// usual is the median of a fact over a device's healthy windows; where it has
// none, over those of the group that window i is compared with.
func (f *facts) usual(d *device, i int, fact string) float64 {
	k := factIndex(fact)
	if k < 0 {
		return math.NaN()
	}
	of := usualOf{Key: d.Key, fact: k}
	if d.verdicts[cluster.Healthy] > 0 {
		at := slices.Index(tellFacts(&f.in.Catalogue), k)
		var x float64
		if d.run != nil && at >= 0 && at < len(d.run.usual) {
			x = d.run.usual[at]
		} else {
			x = f.usually(of, d.windows)
		}
		if !math.IsNaN(x) {
			return x
		}
	}
	if f.in.Points.Len() == 0 {
		return math.NaN()
	}
	if f.byGroup == nil {
		f.byGroup = map[string][]int{}
		for n := range f.in.Points.Len() {
			if r := f.all.row(n); r.verdict() == cluster.Healthy {
				g := f.all.groups[r.group]
				f.byGroup[g] = append(f.byGroup[g], n)
			}
		}
	}
	of = usualOf{group: f.all.groups[f.all.row(i).group], fact: k}
	return f.usually(of, f.byGroup[of.group])
}

// usualOf is whose median a fact's is: of a device, or of a group.
type usualOf struct {
	features.Key
	group string
	fact  int
}

// usually is the median of a fact over the healthy ones of windows, NaN of none.
// It is asked once: the episodes of a device, or of a group, ask the same.
func (f *facts) usually(of usualOf, windows []int) float64 {
	if x, ok := f.usuals[of]; ok {
		return x
	}
	var v []float64
	for _, n := range windows {
		if f.all.row(n).verdict() != cluster.Healthy {
			continue
		}
		if x := f.in.Windows.At(n).Context[of.fact]; !math.IsNaN(x) {
			v = append(v, x)
		}
	}
	x := math.NaN()
	if len(v) > 0 {
		slices.Sort(v)
		x = v[(len(v)-1)/2]
	}
	if f.usuals == nil {
		f.usuals = map[usualOf]float64{}
	}
	f.usuals[of] = x
	return x
}

func factIndex(name string) int {
	return slices.IndexFunc(features.ContextTable[:], func(t features.ContextFact) bool { return t.Name == name })
}

// inUnit writes a fact's value with its unit.
func inUnit(fact string, v float64) string {
	unit := ""
	if k := factIndex(fact); k >= 0 {
		unit = features.ContextTable[k].Unit
	}
	switch unit {
	case "B/s":
		return volume(v) + "/s"
	case "B":
		return volume(v)
	case "0..1":
		return percent(v)
	case "ms":
		if v >= 1000 {
			return inSeconds(v / 1000)
		}
		return three(v) + " ms"
	case "s":
		if v > 0 && v < 0.0995 {
			return three(v*1000) + " ms"
		}
		return inSeconds(v)
	}
	return three(v)
}

func inSeconds(v float64) string {
	if v >= 60 {
		return span(v)
	}
	return three(v) + " s"
}
