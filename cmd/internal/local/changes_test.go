package local

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest/lake"
	"github.com/iopathy/iopathy/reduce"
	"github.com/iopathy/iopathy/reports"
)

// TestChanges holds nights against the ones before: four nights of devices of
// which some are sick, each with ten windows of a minute.
func TestChanges(t *testing.T) {
	dir := t.TempDir()
	runs := 0
	night := func(date string, sick map[string]int) *reports.Changes {
		t.Helper()
		day, err := startOf(date)
		if err != nil {
			t.Fatal(err)
		}
		d := &Diagnosed{}
		var windows []features.Window
		var said []cluster.Diagnosis
		j := nightJob(dir, &runs)
		j.cells = map[cell]bool{{"h", date}: true}
		for _, device := range []string{"a", "b", "c", "d", "e"} {
			if sick[device] < 0 {
				continue // it was not recorded
			}
			for i := range 10 {
				w := features.Window{Key: features.Key{Host: "h", Device: device}, StartNS: day + int64(i)*60e9, EndNS: day + int64(i+1)*60e9, TickNS: 1e9}
				g := cluster.Diagnosis{Key: w.Key, StartNS: w.StartNS, EndNS: w.EndNS, Verdict: cluster.Healthy}
				if i < sick[device] {
					g.Verdict, g.Pathology, g.Severity = cluster.Sick, "sudden-stall", 3
				}
				windows, said = append(windows, w), append(said, g)
			}
		}
		d.Windows, d.Points, d.Result.Diagnoses = features.List(windows), features.List(make([]reduce.Point, len(windows))), features.List(said)
		c, err := j.changes(d)
		if err != nil {
			t.Fatal(err)
		}
		lock, err := lake.NewLock(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer lock.Close()
		manifests, err := lake.Manifests(dir)
		if err != nil {
			t.Fatal(err)
		}
		keep := newKeeping(j, manifests)
		if err := keep.labels(d); err != nil {
			t.Fatal(err)
		}
		if _, err := keep.store(lock, []lake.Cell{{Host: "h", Date: date}}, lake.Labels); err != nil {
			t.Fatal(err)
		}
		again, err := j.changes(d)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(c, again) {
			t.Errorf("%s: again %+v, before %+v", date, again, c)
		}
		return c
	}
	check := func(c *reports.Changes, since string, want ...string) {
		t.Helper()
		if c == nil || c.Since != since {
			t.Fatalf("held against %+v, want %s", c, since)
		}
		var got []string
		for _, d := range c.Devices {
			got = append(got, fmt.Sprintf("%s %s %s %s", d.Device, d.What, d.Since, d.Trend))
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if c := night("2026-03-01", map[string]int{"a": 4, "b": 4, "c": 4}); c != nil {
		t.Errorf("the first night is held against %+v", c)
	}
	check(night("2026-03-02", map[string]int{"a": 4, "b": 8, "d": 1}), "2026-03-01",
		"a still sick 2026-03-01 the same", "b still sick 2026-03-01 worse", "d newly sick 2026-03-02 ", "c recovered  ")
	check(night("2026-03-05", map[string]int{"a": 2, "c": 2, "d": -1}), "2026-03-02",
		"a still sick 2026-03-01 better", "c newly sick 2026-03-05 ", "b recovered  ", "d not seen  ")
	check(night("2026-03-06", nil), "2026-03-05", "a recovered  ", "c recovered  ")
	check(night("2026-03-07", nil), "2026-03-06")
}
