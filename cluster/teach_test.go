package cluster_test

import (
	"math"
	"os"
	"slices"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/reduce"
)

func catalogueShipped(t *testing.T) cluster.Catalogue {
	t.Helper()
	data, err := os.ReadFile("../configs/catalogue.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var c cluster.Catalogue
	if err := yaml.Unmarshal(data, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// site makes points of devices that go some way along a direction each, with a
// little of their own.
type site struct {
	points []reduce.Point
	truth  []string
}

func (s *site) add(device, label string, windows int, z map[int]float64) {
	for at := range windows {
		w := &features.Window{Key: features.Key{Host: "h", Device: device}, StartNS: int64(at) * 10e9, EndNS: int64(at+1) * 10e9, Known: 1, Coverage: 1}
		for i := range w.Context {
			w.Context[i] = math.NaN()
		}
		p := reduce.Point{Window: w, Space: &reduce.Model{}}
		for f, x := range z {
			p.Z[f] = x * (1 + 0.01*float64(at%3))
		}
		s.points, s.truth = append(s.points, p), append(s.truth, label)
	}
}

// A label that the catalogue has draws its signature: with three devices,
// half way, since what is shipped weighs three. One that it doesn't have
// becomes a pathology; one of a single device teaches nothing; one that points
// where another does is none.
func TestTeach(t *testing.T) {
	var s site
	for _, d := range []string{"a", "b", "c"} {
		s.add("media-"+d, "media-degradation", 5, map[int]float64{features.LatencyKurtosis: 4})
		s.add("new-"+d, "odd-disks", 5, map[int]float64{features.LatencyKurtosis: 3, features.StallGap: -3})
		s.add("same-"+d, "old-storm", 5, map[int]float64{features.SyncMetadataShare: 5})
	}
	s.add("lone", "queue-saturation", 20, map[int]float64{features.StallGap: 4})
	c := catalogueShipped(t)
	c.Pathologies[4].Signature = map[string]float64{"sync_metadata_share": 2}
	got, taught, err := cluster.Teach(c, s.points, s.truth, nil, cluster.Lesson{Signatures: true}, cluster.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Pathologies) != 9 || got.Pathologies[8].Slug != "odd-disks" || got.Pathologies[8].ID != 9 {
		t.Fatalf("%d pathologies, the last %+v", len(got.Pathologies), got.Pathologies[len(got.Pathologies)-1])
	}
	if sig := got.Pathologies[8].Signature; math.Abs(sig["latency_kurtosis"]+sig["stall_gap"]) > 0.02 || len(sig) != 2 { // 45 degrees, length 3
		t.Errorf("odd-disks has the signature %v", sig)
	}
	// the unit vector of media-degradation and that of kurtosis, at right
	// angles, weigh three each: the cosine with the one before is cos 45 degrees
	at := slices.IndexFunc(taught, func(x cluster.Taught) bool { return x.Pathology == "media-degradation" })
	if at < 0 || math.Abs(taught[at].Cosine-math.Sqrt2/2) > 0.01 || taught[at].Devices != 3 || taught[at].Windows != 15 {
		t.Errorf("taught %+v", taught)
	}
	if c.Pathologies[2].Signature["latency_kurtosis"] != 0 {
		t.Error("the catalogue that was given changed")
	}
	for i, p := range got.Pathologies[:8] {
		if same := mapsEqual(p.Signature, c.Pathologies[i].Signature); same != (p.Slug != "media-degradation") {
			t.Errorf("%s: changed %v", p.Slug, !same)
		}
	}
	if i := slices.IndexFunc(taught, func(x cluster.Taught) bool { return x.Pathology == "old-storm" }); i < 0 || taught[i].Parallel != "metadata-storm" {
		t.Errorf("old-storm: %+v", taught)
	}
	if _, err := cluster.Compile(got); err != nil {
		t.Error(err)
	}
}

func mapsEqual(a, b map[string]float64) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if b[k] != v {
			return false
		}
	}
	return true
}

// What the recordings teach of two pathologies that the catalogue lacks finds
// them again in devices that weren't taught, with a gate of their own.
func TestTeachOnRecordings(t *testing.T) {
	rec, shipped, o := readRecording(t), shippedModel(t), cluster.DefaultOptions()
	full := catalogueShipped(t)
	gone := []string{"metadata-storm", "cache-thrash"}
	c := cluster.Catalogue{Notes: full.Notes, Pathologies: slices.DeleteFunc(slices.Clone(full.Pathologies), func(p cluster.Pathology) bool { return slices.Contains(gone, p.Slug) })}
	r, err := cluster.Compile(c)
	if err != nil {
		t.Fatal(err)
	}
	points, _, err := cluster.Place(rec.windows, rec.inv, r, shipped, reduce.DefaultOptions(), o)
	if err != nil {
		t.Fatal(err)
	}
	odd := map[features.Key]bool{}
	var keys []features.Key
	seen := slices.Clone(rec.truth)
	for i := range points {
		k := points[i].Window.Key
		if len(keys) == 0 || keys[len(keys)-1] != k {
			keys = append(keys, k)
			odd[k] = len(keys)%2 == 1
		}
		if odd[k] {
			seen[i] = ""
		}
	}
	taught, list, err := cluster.Teach(c, points, seen, shipped, cluster.Lesson{Gates: true}, o)
	if err != nil {
		t.Fatal(err)
	}
	after, err := cluster.Compile(taught)
	if err != nil {
		t.Fatal(err)
	}
	res, _, err := cluster.Diagnose(points, after, shipped, "", o)
	if err != nil {
		t.Fatal(err)
	}
	for _, slug := range gone {
		if i := slices.IndexFunc(list, func(x cluster.Taught) bool { return x.Pathology == slug }); i < 0 || !list[i].New {
			t.Errorf("%s was not taught: %+v", slug, list)
		}
		right, all, wrong := 0, 0, 0
		for i, d := range res.Diagnoses.Slice() {
			switch {
			case !odd[d.Key] || rec.truth[i] == "":
			case rec.truth[i] == slug:
				all++
				if d.Pathology == slug {
					right++
				}
			case d.Pathology == slug:
				wrong++
			}
		}
		t.Logf("%s: %d of %d windows of devices that weren't taught, %d wrongly", slug, right, all, wrong)
		if all == 0 || 10*right < 8*all || 5*wrong > all {
			t.Errorf("%s: %d of %d windows, %d wrongly: want 80 %% and at most a fifth of wrong ones", slug, right, all, wrong)
		}
	}
	if _, _, err := cluster.Teach(c, points, rec.truth, shipped, cluster.Lesson{Gates: true, Signatures: true}, o); err != nil {
		t.Error(err)
	}
}
