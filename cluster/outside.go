package cluster

import (
	"fmt"
	"slices"
	"strings"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/reduce"
)

// Elsewhere is what explains an episode by other than its storage: CPUs, memory
// or GPUs. It never makes a window sick or well; it says where to look first.
type Elsewhere struct {
	Note     `yaml:",inline"`
	Standing bool `yaml:"standing" json:"standing,omitempty"` // it counts though the device's healthy windows show the same
}

// Outside is an Elsewhere that holds for an episode.
type Outside struct {
	ID, Says, Advice string
	Votes, Of        int       // sick windows of the episode in which it holds, and which can tell
	Well, WellOf     int       // the same of the device's healthy windows
	Readings         []Reading // of the episode's windows, the largest of each query
}

// outsider is a compiled Elsewhere.
type outsider struct {
	Elsewhere
	expression
}

// outside gives the episodes what explains them by other than storage: what
// holds in at least half of the windows that can tell, and less than half as
// often in the device's healthy windows, as far as there are any. What is
// always so is not what went wrong, unless it is Standing.
func (r *Rules) outside(points []reduce.Point, d []Diagnosis, all []Episode, w *Witness) {
	if len(r.outsiders) == 0 || len(all) == 0 {
		return
	}
	of := map[features.Key][]int{} // episodes of a device
	for i := range all {
		of[all[i].Key] = append(of[all[i].Key], i)
	}
	type tally struct {
		votes, of int
		readings  []Reading
	}
	sick := make([][]tally, len(all))
	well := map[features.Key][]tally{}
	for i := range points {
		win := points[i].Window
		mine := of[win.Key]
		if len(mine) == 0 || len(win.Evidence) == 0 || d[i].Verdict != Sick && d[i].Verdict != Healthy {
			continue
		}
		var into []tally
		if d[i].Verdict == Healthy {
			if well[win.Key] == nil {
				well[win.Key] = make([]tally, len(r.outsiders))
			}
			into = well[win.Key]
		} else {
			k := slices.IndexFunc(mine, func(k int) bool {
				return all[k].FromNS <= win.StartNS && win.EndNS <= all[k].ToNS && all[k].Pathology == d[i].Pathology
			})
			if k < 0 {
				continue
			}
			if sick[mine[k]] == nil {
				sick[mine[k]] = make([]tally, len(r.outsiders))
			}
			into = sick[mine[k]]
		}
		w.look(&points[i])
		for n := range r.outsiders {
			yes, told := w.holds(&r.outsiders[n].expression)
			if !told {
				continue
			}
			into[n].of++
			if yes {
				into[n].votes++
				into[n].readings = w.asked(into[n].readings, &r.outsiders[n].expression, &points[i])
			}
		}
	}
	for k := range all {
		for n := range sick[k] {
			s, o := &sick[k][n], &r.outsiders[n]
			if s.votes == 0 || 2*s.votes < s.of {
				continue
			}
			x := Outside{ID: o.ID, Says: o.Says, Advice: o.Advice, Votes: s.votes, Of: s.of, Readings: s.readings}
			if h := well[all[k].Key]; h != nil {
				x.Well, x.WellOf = h[n].votes, h[n].of
			}
			if !o.Standing && 2*x.Well*x.Of > x.Votes*x.WellOf {
				continue
			}
			all[k].Outside = append(all[k].Outside, x)
		}
	}
}

// Words says it in one sentence, with what it rests on.
func (o *Outside) Words() string {
	var values []string
	for _, x := range o.Readings {
		values = append(values, fmt.Sprintf("%s up to %.3g", x.Query, x.Value))
	}
	s := fmt.Sprintf("%s, in %d of %d of its windows", o.Says, o.Votes, o.Of)
	if len(values) > 0 {
		s += " (" + strings.Join(values, ", ") + ")"
	}
	if o.WellOf == 0 {
		return s + "; no healthy window of the device can be held against it"
	}
	return fmt.Sprintf("%s, against %d of %d healthy ones", s, o.Well, o.WellOf)
}
