package cluster

import (
	"fmt"
	"strings"

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

// aside is what is heard of an outsider in some windows.
type aside struct {
	votes, of int
	readings  []Reading
}

// asides is what is heard of the outsiders in the windows of one device.
type asides struct {
	w    *Witness
	well []aside           // by outsider, of the healthy windows; nil: none was heard
	sick map[int][]aside   // the same by the number of the episode
	ones map[int32][]aside // of each sick window whose episode isn't known yet
}

// hear holds the outsiders against a window; nil where nothing can be heard.
func (a *asides) hear(p *reduce.Point, verdict Verdict) []aside {
	if len(a.w.r.outsiders) == 0 || len(p.Window.Evidence) == 0 || verdict != Sick && verdict != Healthy {
		return nil
	}
	a.w.look(p)
	all := make([]aside, len(a.w.r.outsiders))
	for n := range all {
		e := &a.w.r.outsiders[n].expression
		yes, told := a.w.holds(e)
		if !told {
			continue
		}
		all[n].of = 1
		if yes {
			all[n].votes, all[n].readings = 1, a.w.asked(nil, e, p)
		}
	}
	return all
}

// with adds what is heard in another window.
func with(all, one []aside) []aside {
	if all == nil {
		all = make([]aside, len(one))
	}
	for n := range one {
		all[n].votes += one[n].votes
		all[n].of += one[n].of
		for _, x := range one[n].readings {
			all[n].readings = gatherReading(all[n].readings, x)
		}
	}
	return all
}

// add takes the next window, by its number.
func (a *asides) add(window int32, p *reduce.Point, verdict Verdict) {
	one := a.hear(p, verdict)
	switch {
	case one == nil:
	case verdict == Healthy:
		a.well = with(a.well, one)
	default:
		if a.ones == nil {
			a.ones = map[int32][]aside{}
		}
		a.ones[window] = one
	}
}

// belongs says of which episode a sick window is.
func (a *asides) belongs(window int32, episode int) {
	if one := a.ones[window]; one != nil {
		if a.sick == nil {
			a.sick = map[int][]aside{}
		}
		a.sick[episode] = with(a.sick[episode], one)
	}
}

// end gives the device's episodes what explains them by other than storage: what
// holds in at least half of the windows that can tell, and less than half as
// often in the device's healthy windows, as far as there are any. What is
// always so is not what went wrong, unless it is Standing.
func (a *asides) end(all []Episode) {
	for k := range all {
		for n := range a.sick[k] {
			s, o := &a.sick[k][n], &a.w.r.outsiders[n]
			if s.votes == 0 || 2*s.votes < s.of {
				continue
			}
			x := Outside{ID: o.ID, Says: o.Says, Advice: o.Advice, Votes: s.votes, Of: s.of, Readings: s.readings}
			if a.well != nil {
				x.Well, x.WellOf = a.well[n].votes, a.well[n].of
			}
			if !o.Standing && 2*x.Well*x.Of > x.Votes*x.WellOf {
				continue
			}
			all[k].Outside = append(all[k].Outside, x)
		}
	}
	*a = asides{w: a.w}
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
