package cluster

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/reduce"
)

// Twin is a past window that resembles another, and what was said of it.
type Twin struct {
	Diagnosis
	Distance float64 // 0 the same, 1 nothing in common
}

// twinsOfDevice is how many twins one device may give: more of them tell the
// same incident again.
const twinsOfDevice = 2

// twinGap is how many windows before a window its own incident may go back.
const twinGap = 12

// TwinSearch finds the past windows most like one, of those that are offered
// one after another. It holds no more than are asked for.
type TwinSearch struct {
	self   *reduce.Point
	length float64 // of its z
	gap    int64
	most   int
	found  []Twin // the nearest first
}

// NewTwinSearch begins the search for the windows most like one, at most so many.
func NewTwinSearch(self *reduce.Point, most int) *TwinSearch {
	return &TwinSearch{self: self, length: norm(&self.Z), gap: twinGap * (self.Window.EndNS - self.Window.StartNS), most: most}
}

// Offer holds a window against the one: its z of the same space, and what was
// said of it. Only judged windows that ended before the one count, and of the
// same device none less than twinGap windows ago, which are of the same
// incident. Likeness is the distance of the z vectors over the sum of their
// lengths, so that both the kind of sickness and its degree count. The outcome
// does not depend on the order in which windows are offered.
func (s *TwinSearch) Offer(z *features.Vector, d *Diagnosis) {
	w := s.self.Window
	if s.most < 1 || d.EndNS > w.StartNS || d.Verdict != Sick && d.Verdict != Healthy || d.Key == w.Key && w.StartNS-d.EndNS < s.gap {
		return
	}
	far, sum := 0.0, s.length+norm(z)
	for k := range z {
		far += (s.self.Z[k] - z[k]) * (s.self.Z[k] - z[k])
	}
	t := Twin{Diagnosis: *d}
	if sum > 0 {
		t.Distance = math.Sqrt(far) / sum
	}
	if len(s.found) == s.most && nearer(&t, &s.found[len(s.found)-1]) >= 0 {
		return
	}
	// What falls out here can't come back: as many nearer ones stay.
	of, last := 0, 0
	for i := range s.found {
		if s.found[i].Key == d.Key {
			of, last = of+1, i
		}
	}
	switch {
	case of == twinsOfDevice && nearer(&t, &s.found[last]) >= 0:
		return
	case of == twinsOfDevice:
		s.found = slices.Delete(s.found, last, last+1)
	case len(s.found) == s.most:
		s.found = s.found[:s.most-1]
	}
	at, _ := slices.BinarySearchFunc(s.found, &t, func(a Twin, b *Twin) int { return nearer(&a, b) })
	s.found = slices.Insert(s.found, at, t)
}

// Found gives the nearest of the windows that were offered, the nearest first,
// at most twinsOfDevice of a device.
func (s *TwinSearch) Found() []Twin { return s.found }

// nearer is the order of twins: by distance, the latest first of equals.
func nearer(a, b *Twin) int {
	return cmp.Or(cmp.Compare(a.Distance, b.Distance), -cmp.Compare(a.StartNS, b.StartNS), strings.Compare(a.Host, b.Host), strings.Compare(a.Device, b.Device))
}
