package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
)

// LeftOut is a device that is not compared, and why: the other side does not
// have it, or a side has too few windows of it in which something happened.
type LeftOut struct {
	Host   string `json:"host"`
	Device string `json:"device"`
	InA    int    `json:"windows_a"`
	InB    int    `json:"windows_b"`
	Why    string `json:"why"`
}

// leftOutNamed bounds the names in a note; the list in JSON holds all.
const leftOutNamed = 5

// judged tells whether a window says something of its device.
func judged(s *Side, i int) bool {
	w := &s.Windows[i]
	return !w.Idle && w.Requests != 0 && (s.Labels == nil || s.Labels[i].Verdict != cluster.Artefact)
}

// leaveOut lists what takes no part, by name, and says so in notes: where
// devices are paired, all that are not in both sides; else those with too few
// windows.
func (c *Comparison) leaveOut(a, b *Side) {
	counts := map[features.Key]*[2]int{}
	for side, s := range []*Side{a, b} {
		for i := range s.Windows {
			k := s.Windows[i].Key
			if counts[k] == nil {
				counts[k] = &[2]int{}
			}
			if judged(s, i) {
				counts[k][side]++
			}
		}
	}
	c.LeftOut = []LeftOut{}
	groups := map[string][]string{}
	for k, n := range counts {
		l := LeftOut{Host: k.Host, Device: k.Device, InA: n[0], InB: n[1]}
		few := fmt.Sprintf("fewer than %d windows in which something happened", fewest)
		switch {
		case !c.Paired && (n[0] == 0 || n[0] >= fewest) && (n[1] == 0 || n[1] >= fewest) && n[0]+n[1] > 0:
			continue
		case n[0] >= fewest && n[1] >= fewest:
			continue
		case n[0] >= fewest && n[1] == 0:
			l.Why = "only in A"
		case n[1] >= fewest && n[0] == 0:
			l.Why = "only in B"
		case n[0] >= fewest:
			l.Why = few + " in B"
		case n[1] >= fewest:
			l.Why = few + " in A"
		default:
			l.Why = few
		}
		c.LeftOut = append(c.LeftOut, l)
	}
	slices.SortFunc(c.LeftOut, func(x, y LeftOut) int {
		return cmp.Or(cmp.Compare(x.Why, y.Why), cmp.Compare(x.Host, y.Host), cmp.Compare(x.Device, y.Device))
	})
	var order []string
	for _, l := range c.LeftOut {
		if groups[l.Why] == nil {
			order = append(order, l.Why)
		}
		groups[l.Why] = append(groups[l.Why], l.Host+"/"+l.Device)
	}
	for _, why := range order {
		names := groups[why]
		more := ""
		if n := len(names) - leftOutNamed; n > 0 {
			names, more = names[:leftOutNamed], fmt.Sprintf(" and %d more", n)
		}
		c.Notes = append(c.Notes, fmt.Sprintf("%d left out, %s: %s%s", len(groups[why]), why, strings.Join(names, ", "), more))
	}
}

// told notes the figures that the windows of a side don't tell: they are
// absent, not 0.
func (c *Comparison) told(metrics []Metric) {
	c.NotTold = []string{}
	for _, m := range metrics {
		if !slices.Contains(c.NotTold, m.Name) && !slices.ContainsFunc(c.Effects, func(e Effect) bool { return e.Metric == m.Name }) {
			c.NotTold = append(c.NotTold, m.Name)
		}
	}
	if len(c.NotTold) > 0 {
		c.Notes = append(c.Notes, "not told by both sides, so not compared: "+strings.Join(c.NotTold, ", "))
	}
}
