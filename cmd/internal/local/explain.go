package local

import (
	"fmt"
	"strings"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cluster/analysis"
	"github.com/iopathy/iopathy/reduce"
)

// Explained is one window: what is said of it, and why.
type Explained struct {
	Point      reduce.Point
	Diagnosis  cluster.Diagnosis
	Why        cluster.Explanation
	Neighbours []cluster.Diagnosis // of the device, in time, the window among them
	Twins      []TwinWindow        // past windows most like it
}

// Ladder is what the window's requests spent in each stage, and the pressure
// that is known of it.
func (e *Explained) Ladder() (l *analysis.Ladder, pressure string) {
	l = &analysis.Ladder{}
	l.Add(e.Point.Window)
	if e.Diagnosis.Verdict == cluster.Sick {
		pressure = analysis.PressureOf(e.Diagnosis.Pathology, e.Diagnosis.Causes)
	}
	return l, pressure
}

// TwinWindow is a past window that resembles another, and what was said of it.
type TwinWindow struct {
	cluster.Diagnosis
	Distance float64
}

// twinsShown is how many twins are looked for.
const twinsShown = 10

// twins gives the past windows most like one, with their labels.
func (d *Diagnosed) twins(at int) []TwinWindow {
	var out []TwinWindow
	for _, t := range cluster.Twins(d.Points, d.Result.Diagnoses, at, twinsShown) {
		out = append(out, TwinWindow{d.Result.Diagnoses[t.At], t.Distance})
	}
	return out
}

// neighbours is how many windows before and after a window are shown.
const neighbours = 3

// Explain tells why the window number at is labelled as it is.
func (j *Job) Explain(d *Diagnosed, at int, rules *cluster.Rules) (Explained, error) {
	e := Explained{Point: d.Points[at], Diagnosis: d.Result.Diagnoses[at]}
	shift := 0 // of class ids
	for k, m := range d.Models {
		if m.Reduce == e.Point.Space {
			var points []reduce.Point
			var said []cluster.Diagnosis
			here := 0
			for i := range d.Points {
				if d.Points[i].Space != m.Reduce {
					continue
				}
				if i == at {
					here = len(points)
				}
				points, said = append(points, d.Points[i]), append(said, d.Result.Diagnoses[i])
			}
			e.Why = m.Cluster.Explain(points, said, here, rules, j.Config.Cluster)
			shift = shifts(d.Models)[k]
			break
		}
	}
	for i := range e.Why.Classes {
		e.Why.Classes[i].ID += shift
	}
	first, last := at, at
	for first > 0 && at-first < neighbours && d.Windows[first-1].Key == d.Windows[at].Key {
		first--
	}
	for last+1 < len(d.Windows) && last-at < neighbours && d.Windows[last+1].Key == d.Windows[at].Key {
		last++
	}
	e.Neighbours = d.Result.Diagnoses[first : last+1]
	e.Twins = d.twins(at)
	past, err := j.nightsBefore(&e.Point)
	if err != nil {
		return e, err
	}
	for f := range e.Why.Axes {
		e.Why.Axes[f].Nights = past.Week(&e.Point, f)
	}
	return e, nil
}

// Find gives the window of a device, HOST/DEVICE, that holds a moment. The
// errors say what there is instead.
func (d *Diagnosed) Find(device, moment string) (int, error) {
	first, last := -1, -1
	var others []string
	for i := range d.Windows {
		w := &d.Windows[i]
		name := w.Host + "/" + w.Device
		if name == device {
			if first < 0 {
				first = i
			}
			last = i
			continue
		}
		if i == 0 || d.Windows[i-1].Key != w.Key {
			others = append(others, name)
		}
	}
	if first < 0 {
		more := ""
		if len(others) > 5 {
			others, more = others[:5], fmt.Sprintf(" and %d more", len(others)-5)
		}
		return 0, fmt.Errorf("the lake holds no windows of %s; it has %s%s", Printable(device), Printable(strings.Join(others, ", ")), more)
	}
	t, err := Times{FirstNS: d.Windows[first].StartNS, LastNS: d.Windows[last].EndNS}.Moment(moment)
	if err != nil {
		return 0, err
	}
	for i := first; i <= last; i++ {
		if w := &d.Windows[i]; w.StartNS <= t && t < w.EndNS {
			return i, nil
		}
	}
	return 0, fmt.Errorf("no window of %s holds %s: its windows go from %s to %s, maybe with gaps",
		Printable(device), Stamp(t), Stamp(d.Windows[first].StartNS), Stamp(d.Windows[last].EndNS))
}
