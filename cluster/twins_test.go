package cluster

import (
	"testing"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/reduce"
)

func TestTwins(t *testing.T) {
	space, other := &reduce.Model{}, &reduce.Model{}
	var points []reduce.Point
	var said []Diagnosis
	add := func(device string, at int64, z0, z1 float64, v Verdict, s *reduce.Model) {
		w := &features.Window{Key: features.Key{Host: "h", Device: device}, StartNS: at * 10e9, EndNS: (at + 1) * 10e9}
		p := reduce.Point{Window: w, Space: s}
		p.Z[0], p.Z[1] = z0, z1
		points = append(points, p)
		said = append(said, Diagnosis{Key: w.Key, StartNS: w.StartNS, Verdict: v})
	}
	add("a", 0, 4, 0, Sick, space)      // 0: the same
	add("a", 1, 4, 1, Sick, space)      // 1: near
	add("a", 2, 4, 0.5, Sick, space)    // 2: nearer, but a third of its device
	add("b", 3, 0, 4, Sick, space)      // 3: another kind
	add("c", 4, 0.1, 0, Healthy, space) // 4: the kind, hardly
	add("d", 5, 4, 0, Idle, space)      // 5: not judged
	add("e", 6, 4, 0, Sick, other)      // 6: of another model
	add("x", 50, 4, 0, Sick, space)     // 7: of the same incident
	add("x", 55, 4, 0, Sick, space)     // 8: the one
	add("f", 60, 4, 0, Sick, space)     // 9: later
	got := Twins(points, said, 8, 10)
	var order []int
	for _, tw := range got {
		order = append(order, tw.At)
		if tw.Distance < 0 || tw.Distance > 1 {
			t.Errorf("distance to %d is %g", tw.At, tw.Distance)
		}
	}
	want := []int{0, 2, 3, 4}
	if len(order) != len(want) {
		t.Fatalf("twins are %v, want %v", order, want)
	}
	for i := range want {
		if order[i] != want[i] {
			t.Fatalf("twins are %v, want %v", order, want)
		}
	}
	if got[0].Distance != 0 || got[3].Distance < got[2].Distance {
		t.Errorf("distances are %+v", got)
	}
	if n := len(Twins(points, said, 8, 1)); n != 1 {
		t.Errorf("%d twins of 1", n)
	}
	if n := len(Twins(points, said, 0, 10)); n != 0 {
		t.Errorf("the first window has %d twins in the past", n)
	}
}
