package cluster_test

import (
	"cmp"
	"maps"
	"slices"
	"testing"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/reduce"
)

// Grouped cross-validation of all that is learnt from labels (gates, shipped
// classes, reliability) and of the normals: what is calibrated on some devices
// labels the others, which it has never seen. Signatures and rules aren't
// learnt and stay; they were chosen with all recordings in view. A device is
// one run.
func TestHeldOut(t *testing.T) {
	rec, r, o := readRecording(t), shippedRules(t), cluster.DefaultOptions()
	fold := map[features.Key]int{}
	var keys []features.Key
	for i := range rec.windows {
		if k := rec.windows[i].Key; len(keys) == 0 || keys[len(keys)-1] != k {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b features.Key) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Device, b.Device))
	})
	for i, k := range keys {
		fold[k] = i % 5
	}
	models := map[string]bool{}
	for _, d := range rec.inv {
		models[d.Model] = true
	}
	var all []cluster.Diagnosis
	var truth []string
	test := func(held func(features.Key) bool) {
		t.Helper()
		var seen, unseen recording
		for i := range rec.windows {
			into := &seen
			if held(rec.windows[i].Key) {
				into = &unseen
			}
			into.windows, into.truth = append(into.windows, rec.windows[i]), append(into.truth, rec.truth[i])
		}
		points, _, err := cluster.Place(seen.windows, rec.inv, r, nil, reduce.DefaultOptions(), o)
		if err != nil {
			t.Fatal(err)
		}
		m, err := cluster.Calibrate(points, seen.truth, r, nil, provenance, o)
		if err != nil {
			t.Fatal(err)
		}
		if points, _, err = cluster.Place(unseen.windows, rec.inv, r, m, reduce.DefaultOptions(), o); err != nil {
			t.Fatal(err)
		}
		res, _, err := cluster.Diagnose(points, r, m, cluster.Shipped, o)
		if err != nil {
			t.Fatal(err)
		}
		all, truth = append(all, res.Diagnoses.Slice()...), append(truth, unseen.truth...)
	}
	tell := func(what string) {
		t.Helper()
		macro, alarm := score(all, truth)
		t.Logf("%s held out: windows %d macroF1 %.3f falseAlarm %.3f", what, len(all), macro, alarm)
		if macro < 0.93 || alarm > 0.05 {
			t.Errorf("%s held out: macroF1 %.3f below 0.93 or falseAlarm %.3f above 0.05", what, macro, alarm)
		}
		for from := 0.0; from < 1; from += 0.1 {
			n, right, sum := 0, 0, 0.0
			for i := range all {
				d := &all[i]
				if truth[i] == "" || d.Verdict != cluster.Sick && d.Verdict != cluster.Healthy || d.Confidence < from || d.Confidence >= from+0.1 {
					continue
				}
				n++
				sum += d.Confidence
				if d.Pathology == truth[i] || d.Verdict == cluster.Healthy && truth[i] == "healthy" {
					right++
				}
			}
			if n > 0 {
				t.Logf("  confidence %.1f to %.1f: windows %d mean %.3f right %.3f", from, from+0.1, n, sum/float64(n), float64(right)/float64(n))
			}
		}
		all, truth = nil, nil
	}
	for _, model := range slices.Sorted(maps.Keys(models)) {
		test(func(k features.Key) bool { return rec.inv[k].Model == model })
	}
	tell("device models")
	for f := range 5 {
		test(func(k features.Key) bool { return fold[k] == f })
	}
	tell("runs, in 5 folds")
}
