package cluster

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/reduce"
)

type offered struct {
	z features.Vector
	d Diagnosis
}

func twinsAmong(self *offered, past []offered, most int) []Twin {
	p := &reduce.Point{Window: &features.Window{Key: self.d.Key, StartNS: self.d.StartNS, EndNS: self.d.EndNS}, Z: self.z}
	s := NewTwinSearch(p, most)
	for i := range past {
		s.Offer(&past[i].z, &past[i].d)
	}
	return s.Found()
}

func TestTwins(t *testing.T) {
	var all []offered
	add := func(device string, at int64, z0, z1 float64, v Verdict) {
		o := offered{d: Diagnosis{Key: features.Key{Host: "h", Device: device}, StartNS: at * 10e9, EndNS: (at + 1) * 10e9, Verdict: v}}
		o.z[0], o.z[1] = z0, z1
		all = append(all, o)
	}
	add("a", 0, 4, 0, Sick)      // 0: the same
	add("a", 1, 4, 1, Sick)      // 1: near, but a third of its device
	add("a", 2, 4, 0.5, Sick)    // 2: nearer
	add("b", 3, 0, 4, Sick)      // 3: another kind
	add("c", 4, 0.1, 0, Healthy) // 4: the kind, hardly
	add("d", 5, 4, 0, Idle)      // 5: not judged
	add("x", 50, 4, 0, Sick)     // 6: of the same incident
	add("x", 55, 4, 0, Sick)     // 7: the one
	add("f", 60, 4, 0, Sick)     // 8: later
	self := all[7]
	var order []int64
	got := twinsAmong(&self, all, 10)
	for _, tw := range got {
		order = append(order, tw.StartNS/10e9)
		if tw.Distance < 0 || tw.Distance > 1 {
			t.Errorf("distance to %d is %g", tw.StartNS, tw.Distance)
		}
	}
	if want := []int64{0, 2, 3, 4}; !slices.Equal(order, want) {
		t.Fatalf("twins are %v, want %v", order, want)
	}
	if got[0].Distance != 0 || got[3].Distance < got[2].Distance {
		t.Errorf("distances are %+v", got)
	}
	if n := len(twinsAmong(&self, all, 1)); n != 1 {
		t.Errorf("%d twins of 1", n)
	}
	if n := len(twinsAmong(&all[0], all, 10)); n != 0 {
		t.Errorf("the first window has %d twins in the past", n)
	}
}

// TestTwinsInAnyOrder holds the search, which keeps ten, against sorting all:
// also where a device's nearest come last, and push its others out.
func TestTwinsInAnyOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	self := offered{d: Diagnosis{Key: features.Key{Host: "h", Device: "x"}, StartNS: 1e15, EndNS: 1e15 + 10e9}}
	self.z[0] = 4
	for range 200 {
		var all []offered
		for i := range int64(60) {
			o := offered{d: Diagnosis{Key: features.Key{Host: "h", Device: string(rune('a' + r.IntN(12)))}, StartNS: i * 10e9, EndNS: (i + 1) * 10e9, Verdict: Sick}}
			o.z[0], o.z[1] = float64(r.IntN(8)), float64(r.IntN(3)) // ties are frequent
			all = append(all, o)
		}
		var want []Twin
		of := map[string]int{}
		for _, tw := range sorted(&self, all) {
			if of[tw.Device]++; of[tw.Device] <= twinsOfDevice && len(want) < 10 {
				want = append(want, tw)
			}
		}
		for range 3 {
			r.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
			if got := twinsAmong(&self, all, 10); !reflect.DeepEqual(got, want) {
				t.Fatalf("found %+v, want %+v", got, want)
			}
		}
	}
}

// sorted are all twins, those of a device beyond its share among them.
func sorted(self *offered, all []offered) []Twin {
	var out []Twin
	for i := range all {
		out = append(out, twinsAmong(self, all[i:i+1], 1)...)
	}
	slices.SortFunc(out, func(a, b Twin) int { return nearer(&a, &b) })
	return out
}
