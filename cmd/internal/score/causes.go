package score

import (
	"cmp"
	"slices"
)

// CauseScore is how often the cause of one kind of fault was found, by device.
type CauseScore struct {
	Label     string         `json:"label"`
	What      string         `json:"what"` // was done
	Accepted  []string       `json:"accepted"`
	Devices   int            `json:"devices"`
	Right     int            `json:"right"`
	Wrong     int            `json:"wrong"`
	Abstained int            `json:"abstained"` // named right, and no cause
	Unnamed   int            `json:"unnamed"`   // no window of the fault has the right name
	Said      map[string]int `json:"said"`      // causes, by devices
}

// causes scores the cause of each device whose fault's cause is known: the one
// that most of its rightly named sick windows give, equal ones by name.
func (s *scoring) causes(m *Measures) {
	votes := map[*Device]map[string]int{}
	label := map[*Device]string{}
	var order []*Device
	for i := range s.rows {
		r := &s.rows[i]
		if r.device.Cause.What == "" || r.truth == healthy {
			continue
		}
		if votes[r.device] == nil {
			votes[r.device] = map[string]int{}
			label[r.device] = r.truth
			order = append(order, r.device)
		}
		if r.said == r.truth {
			votes[r.device][r.cause]++
		}
	}
	for _, d := range order {
		at := slices.IndexFunc(m.Causes, func(c CauseScore) bool { return c.Label == label[d] && c.What == d.Cause.What })
		if at < 0 {
			at = len(m.Causes)
			m.Causes = append(m.Causes, CauseScore{Label: label[d], What: d.Cause.What, Accepted: d.Cause.Right, Said: map[string]int{}})
		}
		c := &m.Causes[at]
		c.Devices++
		cause, windows := "", 0
		for id, n := range votes[d] {
			if id != "" && (n > windows || n == windows && id < cause) {
				cause, windows = id, n
			}
		}
		switch {
		case len(votes[d]) == 0:
			c.Unnamed++
		case cause == "":
			c.Abstained++
		case slices.Contains(d.Cause.Right, cause):
			c.Right++
			c.Said[cause]++
		default:
			c.Wrong++
			c.Said[cause]++
		}
	}
	slices.SortFunc(m.Causes, func(a, b CauseScore) int {
		return cmp.Or(cmp.Compare(slices.Index(s.classes, a.Label), slices.Index(s.classes, b.Label)), cmp.Compare(a.What, b.What))
	})
}
