package cluster

import (
	"encoding/json"
	"os"
	"testing"
)

// Under other names every window gets the same class, and the pathology by its
// other name.
func TestRenamed(t *testing.T) {
	c, r, o := shippedCatalogue(t), shippedRules(t), DefaultOptions()
	data, err := os.ReadFile("../configs/model.json")
	if err != nil {
		t.Fatal(err)
	}
	shipped := &Model{}
	if err := json.Unmarshal(data, shipped); err != nil {
		t.Fatal(err)
	}
	slugs := r.Slugs()
	to := map[string]string{}
	for i, s := range slugs {
		to[s] = slugs[(i*3+1)%len(slugs)]
	}
	other, err := Compile(c.Renamed(to))
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range other.Slugs() {
		if s != slugs[i] {
			t.Errorf("name %d is %s, want %s: only the signatures move", i, s, slugs[i])
		}
	}
	for _, devices := range []int{1, 2} { // too few for classes of their own, and enough
		ws, inv := fleetOf(t, r, devices)
		points := placed(t, ws, inv, r)
		want, _, err := Diagnose(points, r, shipped, "", o)
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := Diagnose(points, other, shipped.Renamed(to), "", o)
		if err != nil {
			t.Fatal(err)
		}
		for i := range want.Diagnoses.Slice() {
			w, g := want.Diagnoses.At(i), got.Diagnoses.At(i)
			if g.ClassID != w.ClassID || g.Verdict != w.Verdict || g.Pathology != to[w.Pathology] || g.Severity != w.Severity {
				t.Fatalf("%s at %d: %s %q in class %d, before %s %q in class %d", w.Device, w.StartNS, g.Verdict, g.Pathology, g.ClassID, w.Verdict, w.Pathology, w.ClassID)
			}
		}
	}
}
