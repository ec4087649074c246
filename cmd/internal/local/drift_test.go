package local

import (
	"fmt"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/reduce"
)

// fleet makes windows of devices: z of the first feature as given for healthy
// ones, and sick ones of which some are explained by nothing.
func fleet(healthy map[string][]float64, sick, far int) (features.Rows[reduce.Point], features.Rows[cluster.Diagnosis]) {
	var points []reduce.Point
	var said []cluster.Diagnosis
	for _, device := range sortedKeys(healthy) {
		for _, z := range healthy[device] {
			p := reduce.Point{}
			p.Z[0] = z
			points = append(points, p)
			said = append(said, cluster.Diagnosis{Key: features.Key{Host: "h", Device: device}, Verdict: cluster.Healthy})
		}
	}
	for i := range sick {
		d := cluster.Diagnosis{Key: features.Key{Host: "h", Device: "s"}, Verdict: cluster.Sick, Pathology: "sudden-stall"}
		if i < far {
			d.Pathology = cluster.Unrecognised
		}
		p := reduce.Point{}
		p.Z[0] = 9 // sick windows say nothing of the healthy ones
		points, said = append(points, p), append(said, d)
	}
	return features.List(points), features.List(said)
}

func TestDrift(t *testing.T) {
	many := func(z float64, n int) (out []float64) {
		for range n {
			out = append(out, z)
		}
		return out
	}
	born := markOf(fleet(map[string][]float64{"a": many(0.1, 50), "b": many(0, 50), "c": many(-0.1, 50)}, 100, 10))
	check := func(name string, healthy map[string][]float64, sick, far int, shift, farther float64, want string) {
		t.Helper()
		d := driftOf(markOf(fleet(healthy, sick, far)), &born)
		if fmt.Sprintf("%.3f %.3f", d.Shift, d.Far) != fmt.Sprintf("%.3f %.3f", shift, farther) {
			t.Errorf("%s: shift %.3f, far %.3f; want %.3f, %.3f", name, d.Shift, d.Far, shift, farther)
		}
		if why := d.due(1, 0.5); why == "" != (want == "") || !strings.Contains(why, want) {
			t.Errorf("%s: due %q, want %q", name, why, want)
		}
		if why := d.due(0, 0); why != "" {
			t.Errorf("%s: due %q, though never asked for", name, why)
		}
	}
	same := map[string][]float64{"a": many(0.1, 50), "b": many(0, 50), "c": many(-0.1, 50)}
	check("the same", same, 100, 10, 0, 0, "")
	// The median device of 0.1, 0 and 5 is at 0.1.
	check("one device of three", map[string][]float64{"a": many(0.1, 50), "b": many(0, 50), "c": many(5, 1000)}, 100, 10, 0.1, 0, "")
	check("the fleet", map[string][]float64{"a": many(1.6, 50), "b": many(1.5, 50), "c": many(1.4, 50)}, 100, 10, 1.5, 0, "1.50 robust standard deviations in "+features.Features[0].Name)
	check("too few", map[string][]float64{"a": many(1.6, 5), "b": many(1.5, 5), "c": many(1.4, 5)}, 0, 0, 1.5, 0, "")
	// 80 of 100 against 10 of 100.
	check("nothing explains them", same, 100, 80, 0, 0.7, "70 % more than at the fit")
	check("too few sick ones", same, 10, 9, 0, 0.8, "")
	if d := driftOf(markOf(fleet(same, 0, 0)), nil); d.Shift != 0 || d.Far != 0 || d.Healthy != 150 {
		t.Errorf("without a mark of the fit: %+v", d)
	}
}
