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
	worst := -1
	for _, i := range d.windows {
		r := &f.in.Result.Diagnoses[i]
		if r.Verdict == cluster.Sick && r.StartNS >= e.FromNS && r.EndNS <= e.ToNS && (worst < 0 || r.Severity > f.in.Result.Diagnoses[worst].Severity) {
			worst = i
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
	w := &f.in.Windows[i]
	if fact == cluster.LatencyOverNormal {
		if !w.Missing.Has(features.LatencyLoadResidual) || len(f.in.Points) == 0 {
			return math.NaN()
		}
		return math.Pow(10, f.in.Points[i].Vector[features.LatencyLoadResidual])
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
	var v []float64
	for _, n := range d.windows {
		v = f.healthy(v, n, k)
	}
	if len(v) == 0 && len(f.in.Points) > 0 {
		if f.byGroup == nil {
			f.byGroup = map[string][]int{}
			for n := range f.in.Points {
				if f.in.Result.Diagnoses[n].Verdict == cluster.Healthy {
					g := f.in.Points[n].Normal.Group
					f.byGroup[g] = append(f.byGroup[g], n)
				}
			}
		}
		for _, n := range f.byGroup[f.in.Points[i].Normal.Group] {
			v = f.healthy(v, n, k)
		}
	}
	if len(v) == 0 {
		return math.NaN()
	}
	slices.Sort(v)
	return v[(len(v)-1)/2]
}

// healthy adds a fact of window n if the window is healthy and tells it.
func (f *facts) healthy(v []float64, n, fact int) []float64 {
	if x := f.in.Windows[n].Context[fact]; f.in.Result.Diagnoses[n].Verdict == cluster.Healthy && !math.IsNaN(x) {
		v = append(v, x)
	}
	return v
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
