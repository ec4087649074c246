package cluster_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/reduce"
)

func shippedModel(t *testing.T) *cluster.Model {
	t.Helper()
	data, err := os.ReadFile("../configs/model.json")
	if err != nil {
		t.Fatal(err)
	}
	m := &cluster.Model{}
	if err := json.Unmarshal(data, m); err != nil {
		t.Fatal(err)
	}
	return m
}

// Healthy devices alone raise no episode, whether or not it is known which are
// alike.
func TestHealthyRecordingsAreQuiet(t *testing.T) {
	rec, r, shipped, o := readRecording(t), shippedRules(t), shippedModel(t), cluster.DefaultOptions()
	sick := map[features.Key]bool{}
	for i, truth := range rec.truth {
		if truth != "healthy" {
			sick[rec.windows[i].Key] = true
		}
	}
	var ws []features.Window
	for i := range rec.windows {
		if !sick[rec.windows[i].Key] {
			ws = append(ws, rec.windows[i])
		}
	}
	if len(ws) < 100 {
		t.Fatalf("%d healthy windows", len(ws))
	}
	for what, inv := range map[string]reduce.Inventory{"with an inventory": rec.inv, "without": nil} {
		points, _, err := cluster.Place(ws, inv, r, shipped, reduce.DefaultOptions(), o)
		if err != nil {
			t.Fatal(err)
		}
		res, _, err := cluster.Diagnose(points, r, shipped, "", o)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range res.Episodes {
			t.Errorf("%s: %s/%s has %s of severity %.2f over %d windows", what, e.Host, e.Device, e.Pathology, e.Severity, e.Windows)
		}
	}
}

// On the recordings, representatives give the classes of the exact linkage, and
// the number of classes left to the data is that of the pathologies.
func TestClassesOfRecordings(t *testing.T) {
	rec, r, shipped, o := readRecording(t), shippedRules(t), shippedModel(t), cluster.DefaultOptions()
	points, _, err := cluster.Place(rec.windows, rec.inv, r, shipped, reduce.DefaultOptions(), o)
	if err != nil {
		t.Fatal(err)
	}
	classes := func(o cluster.Options) (of []int, classes int) {
		res, _, err := cluster.Diagnose(points, r, shipped, cluster.Fitted, o)
		if err != nil {
			t.Fatal(err)
		}
		for i := range res.Diagnoses.Slice() {
			if res.Diagnoses.At(i).Verdict == cluster.Sick { // the gate is before the classes: the same windows each time
				of = append(of, res.Diagnoses.At(i).ClassID)
			}
		}
		return of, len(res.Classes)
	}
	exact, _ := classes(o)
	for _, limit := range [][2]int{{500, 300}, {100, 60}} {
		few := o
		few.Exact, few.Centres = limit[0], limit[1]
		of, _ := classes(few)
		if same := cluster.AdjustedRand(of, exact); same < 0.95 {
			t.Errorf("exact to %d points, then %d representatives: index %.3f against the exact linkage, want 0.95", limit[0], limit[1], same)
		}
	}
	o.K = cluster.Auto
	if _, n := classes(o); n != 8 {
		t.Errorf("left to the data: %d classes, the recordings hold 8 pathologies", n)
	}
}
