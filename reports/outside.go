package reports

import "github.com/iopathy/iopathy/cluster"

// jsonOutside is what explains an episode by other than its storage.
type jsonOutside struct {
	ID       string        `json:"id"`
	Says     string        `json:"says"`
	Advice   string        `json:"advice"`
	Votes    int           `json:"votes"`
	Of       int           `json:"of"`
	Well     int           `json:"healthy_votes"` // of the device's healthy windows, in how many it holds, too
	WellOf   int           `json:"healthy_of"`
	Readings []jsonReading `json:"readings"`
}

func jsonOutsides(all []cluster.Outside) []jsonOutside {
	out := make([]jsonOutside, 0, len(all))
	for i := range all {
		o := &all[i]
		out = append(out, jsonOutside{o.ID, o.Says, o.Advice, o.Votes, o.Of, o.Well, o.WellOf, jsonReadings(o.Readings)})
	}
	return out
}

// elsewhereFirst is the first of what explains an episode by other than its
// storage, to stand behind its cause; "" if nothing does.
func elsewhereFirst(e *cluster.Episode) string {
	if len(e.Outside) == 0 {
		return ""
	}
	return "; but look elsewhere first: " + sentence(e.Outside[0].Words())
}

// outside tells what explains a device's episodes by other than its storage.
func (v *incidentView) outside(pm *Postmortem, d *IncidentDevice) {
	seen := map[string]bool{}
	for i := range pm.Episodes {
		e := &pm.Episodes[i]
		if e.Key != d.Key {
			continue
		}
		for k := range e.Outside {
			o := &e.Outside[k]
			if seen[o.ID] {
				continue
			}
			seen[o.ID] = true
			facts := ""
			for n, x := range o.Readings {
				if n > 0 {
					facts += ", "
				}
				facts += x.Query + " " + three(x.Value)
			}
			v.Outside = append(v.Outside, causeLine{sentence(o.Words()), o.ID, facts})
			if o.Advice != "" {
				v.Next = append(v.Next, sentence(o.Advice))
			}
		}
	}
}
