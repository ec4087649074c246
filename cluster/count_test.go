package cluster

import (
	"slices"
	"testing"
)

func TestCountReadsItself(t *testing.T) {
	for text, want := range map[string]Count{"auto": Auto, "1": 1, "12": 12} {
		var c Count
		if err := c.UnmarshalText([]byte(text)); err != nil || c != want || c.String() != text {
			t.Errorf("%q is read as %v, want %v (%v)", text, c, want, err)
		}
	}
	for _, text := range []string{"", "0", "-1", "8.5", "many"} {
		c := Count(3)
		if err := c.UnmarshalText([]byte(text)); err == nil || c != 3 {
			t.Errorf("%q is read as %v", text, c)
		}
	}
}

// Left to the data, as many classes are found as directions were planted; what
// was planted is stable and apart, one class more is neither.
func TestCountOfPlantedDirections(t *testing.T) {
	const n, d = 600, 12
	for _, want := range []int{4, 6, 8} {
		all := planted(n*8, d, 0.3, 3)
		var rows []float64
		for i := 0; len(rows) < n*d; i++ {
			if i%8 < want {
				rows = append(rows, all[i*d:i*d+d]...)
			}
		}
		g := &gathering{d: d, n: n, rows: rows}
		o := DefaultOptions()
		o.K, o.Distinct = Auto, 0 // directions aren't told from noise by a distance
		g.link(o)
		k, cuts := g.count(o)
		if k != want {
			t.Errorf("%d classes of %d directions: %+v", k, want, cuts)
		}
		for _, c := range cuts {
			if c.K == want && (c.Stability < 0.99 || c.Silhouette < 0.8) || c.K == want+1 && c.Stability > 0.99 {
				t.Errorf("%d directions: cut %+v", want, c)
			}
		}
		if _, again := g.count(o); !slices.Equal(cuts, again) {
			t.Error("the same points and seed give other figures")
		}
		o.K = 8
		if k, cuts := g.count(o); k != 8 || len(cuts) != 5 || cuts[0].K != 6 {
			t.Errorf("asked for 8: %d, %+v", k, cuts)
		}
	}
}

func TestCostliest(t *testing.T) {
	all := []Episode{{Severity: 9, SickSeconds: 10}, {Severity: 5, SickSeconds: 60, DelayedBytes: 1}, {Severity: 1, SickSeconds: 60, DelayedBytes: 2}, {Severity: 2, SickSeconds: 10}}
	check := func(most, left int, severities ...float64) {
		t.Helper()
		kept, out := Costliest(all, most)
		var got []float64
		for _, e := range kept {
			got = append(got, e.Severity)
		}
		if out != left || !slices.Equal(got, severities) {
			t.Errorf("budget %d: severities %v and %d left out, want %v and %d", most, got, out, severities, left)
		}
	}
	check(0, 0, 9, 5, 1, 2)
	check(1, 3, 1)
	check(3, 1, 1, 5, 9)
	check(9, 0, 1, 5, 9, 2)
}
