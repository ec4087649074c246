package reports

import "github.com/iopathy/iopathy/cluster"

// maxFindings bounds those that the page shows.
const maxFindings = 50

// findingView is what other logs tell of a device whose I/O nobody
// recorded, or shows nothing of it.
type findingView struct {
	Device, Name, When, Cause, Advice string
	Readings                          []fact
}

// findings fills the page's list.
func (f *facts) findings(p *pageView) {
	for i := range f.in.Result.Findings {
		if i == maxFindings {
			p.FindingsLeft = len(f.in.Result.Findings) - maxFindings
			break
		}
		x := &f.in.Result.Findings[i]
		v := findingView{Device: deviceLabel(x.Key), Name: f.pathologyName(x.Pathology), Cause: sentence(x.Name), Advice: sentence(x.Advice), When: "at a time that they don't tell"}
		if x.FromNS != 0 {
			v.When = "at " + newMoments(x.FromNS, x.ToNS).full(x.FromNS)
		}
		if x.Recorded {
			v.Name = "no episode of its I/O shows it"
		}
		v.Readings = f.readings(nil, x.Readings)
		p.Findings = append(p.Findings, v)
	}
}

type jsonFinding struct {
	Host      string        `json:"host"`
	Device    string        `json:"device"`
	FromNS    int64         `json:"from_ns"` // 0: the source tells no time
	ToNS      int64         `json:"to_ns"`
	Pathology string        `json:"pathology"`
	Cause     string        `json:"cause"`
	Name      string        `json:"name"`
	Advice    string        `json:"advice"`
	Readings  []jsonReading `json:"readings"`
	Recorded  bool          `json:"recorded"` // its I/O was, and shows nothing of it
}

func jsonFindings(all []cluster.Finding) []jsonFinding {
	out := make([]jsonFinding, 0, len(all))
	for _, x := range all {
		out = append(out, jsonFinding{x.Host, x.Device, x.FromNS, x.ToNS, x.Pathology, x.Cause, x.Name, x.Advice, jsonReadings(x.Readings), x.Recorded})
	}
	return out
}
