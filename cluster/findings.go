package cluster

import (
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/reduce"
)

// Finding is what evidence alone tells of a device whose I/O nobody saw, or shows nothing of it: the
// causes whose expressions need nothing but evidence. It has no severity and
// no confidence, which need I/O.
type Finding struct {
	features.Key
	FromNS, ToNS int64 // of the rows; 0: their source tells no time
	Pathology    string
	Cause        string // its id
	Name         string
	Advice       string
	Readings     []Reading
	Recorded     bool // its I/O was recorded, and no episode shows it
}

// Findings holds the causes of all pathologies that rest on evidence alone
// against windows without I/O, in the order of windows and catalogue. Of the
// kinds of question only seen and growth count: a level is no finding.
func (r *Rules) Findings(windows []features.Window) []Finding {
	var all []Finding
	w := r.Witness()
	for i := range windows {
		p := reduce.Point{Window: &windows[i]}
		w.look(&p)
		for k := range r.entries {
			e := &r.entries[k]
			for c := range e.causes {
				if !r.alone(&e.causes[c]) {
					continue
				}
				if yes, _ := w.holds(&e.causes[c]); !yes {
					continue
				}
				f := Finding{Key: windows[i].Key, FromNS: windows[i].StartNS, ToNS: windows[i].EndNS, Pathology: e.Slug}
				f.Cause, f.Name, f.Advice = e.Causes[c].ID, e.Causes[c].Name, e.Causes[c].Advice
				f.Readings = w.asked(nil, &e.causes[c], &p)
				all = append(all, f)
			}
		}
	}
	return all
}

// alone reports whether an expression needs nothing but what was seen or grew.
func (r *Rules) alone(e *expression) bool {
	for _, i := range e.needs {
		q := r.facts[i].query
		if q <= len(standing) {
			return false
		}
		if k := r.asked[q-1].Kind; k != features.EvidenceSeen && k != features.EvidenceGrowth {
			return false
		}
	}
	return len(e.needs) > 0
}

// AskedAlone lists the questions whose answers can be the ground of a finding.
func (r *Rules) AskedAlone() []features.Query {
	var all []features.Query
	for i := range r.entries {
		for c := range r.entries[i].causes {
			if e := &r.entries[i].causes[c]; r.alone(e) {
				for _, n := range e.needs {
					all = append(all, r.asked[r.facts[n].query-1])
				}
			}
		}
	}
	return all
}
