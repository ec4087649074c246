package cluster

import (
	"cmp"
	"math"
	"slices"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/reduce"
)

// Twin is a past window that resembles another.
type Twin struct {
	At       int     // of the points
	Distance float64 // 0 the same, 1 nothing in common
}

// twinsOfDevice is how many twins one device may give: more of them tell the
// same incident again.
const twinsOfDevice = 2

// twinGap is how many windows before a window its own incident may go back.
const twinGap = 12

// Twins gives the past windows most like points[at], the nearest first, at most
// so many: judged windows that ended before it, of the same space. Likeness is
// the distance of the z vectors over the sum of their lengths, so that both
// the kind of sickness and its degree count. Windows of the same device less
// than twinGap windows ago belong to the same incident and are left out.
func Twins(points []reduce.Point, d []Diagnosis, at, most int) []Twin {
	self := &points[at]
	z := self.Z
	length := norm(&z)
	gap := twinGap * (self.Window.EndNS - self.Window.StartNS)
	var all []Twin
	for i := range points {
		p := &points[i]
		if i == at || p.Space != self.Space || p.Window.EndNS > self.Window.StartNS || d[i].Verdict != Sick && d[i].Verdict != Healthy {
			continue
		}
		if p.Window.Key == self.Window.Key && self.Window.StartNS-p.Window.EndNS < gap {
			continue
		}
		far, sum := 0.0, length+norm(&p.Z)
		for k := range z {
			far += (z[k] - p.Z[k]) * (z[k] - p.Z[k])
		}
		t := Twin{At: i}
		if sum > 0 {
			t.Distance = math.Sqrt(far) / sum
		}
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b Twin) int {
		x, y := points[a.At].Window, points[b.At].Window
		return cmp.Or(cmp.Compare(a.Distance, b.Distance), -cmp.Compare(x.StartNS, y.StartNS), cmp.Compare(x.Host, y.Host), cmp.Compare(x.Device, y.Device))
	})
	of := map[features.Key]int{}
	var out []Twin
	for _, t := range all {
		k := points[t.At].Window.Key
		if of[k] < twinsOfDevice && len(out) < most {
			of[k]++
			out = append(out, t)
		}
	}
	return out
}
