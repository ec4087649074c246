package main

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/ingest/lake"
)

// fleetNight writes the log of five minutes of a day of so many devices, of which half are
// slow from the middle on, with latencies times a factor.
func fleetNight(t *testing.T, path string, day, devices int, times float64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(91, uint64(day)))
	start := time.Date(2023, 1, 1, 1, 0, 0, 0, time.UTC).AddDate(0, 0, day).UnixNano()
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %d\ntime_ns,host,device,op,offset_bytes,size_bytes,latency_ns\n", day)
	rows := devices * 1500
	for i := range rows {
		device := rng.IntN(devices)
		latency := times * float64(200_000+rng.IntN(300_000))
		if device < devices/2 && i > rows/2 {
			latency *= 100
		}
		fmt.Fprintf(&b, "%d,h%d,sd%c,%c,%d,4096,%d\n", start+int64(i)*300_000_000_000/int64(rows), device/8, 'a'+device%8, "RW"[rng.IntN(2)], rng.Int64N(1<<20)*4096, int64(latency))
	}
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}

// A model judges for a week, then another is fitted; so it is when the windows have drifted.
// Each time the words and the report say so and why, the old model stays, classes keep
// their ids, and labels of earlier dates are what they were. Too few windows to fit on are
// judged by the shipped model, and nothing is called a fit.
func TestNightlyRefit(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector, which has others of its kind")
	}
	dir := t.TempDir()
	logs, out := filepath.Join(dir, "logs"), filepath.Join(dir, "out")
	if err := os.Mkdir(logs, 0o777); err != nil {
		t.Fatal(err)
	}
	date := func(day int) string { return time.Date(2023, 1, 1+day, 0, 0, 0, 0, time.UTC).Format(time.DateOnly) }
	models := func() map[string]string {
		if !exists(filepath.Join(out, "lake", "models")) {
			return nil
		}
		return tree(t, filepath.Join(out, "lake", "models"))
	}
	earlier := map[string]string{}
	night := func(day, devices int, times float64, why string, kept ...string) {
		t.Helper()
		fleetNight(t, filepath.Join(logs, fmt.Sprintf("%02d.csv", day)), day, devices, times)
		before := models()
		_, words := in(t, exitFine, "nightly", logs, "--out", out)
		says := fmt.Sprintf("%s: fitted anew: %s", date(day), why)
		if why == "" {
			says = "fitted anew"
		}
		if strings.Contains(words, says) != (why != "") {
			t.Errorf("night %d: it was said, want %q:\n%s", day, why, words)
		}
		after := models()
		switch {
		case devices < 16:
		case why == "" && before["model.json"] != after["model.json"]:
			t.Errorf("night %d: the model is another, and nothing was said", day)
		case len(kept) > 0: // the last of them is the model that was
			if diff := cmp.Diff(append(kept, "model.json"), slices.Sorted(maps.Keys(after))); diff != "" {
				t.Errorf("night %d: models (-want +got):\n%s", day, diff)
			}
			if after[kept[len(kept)-1]] != before["model.json"] {
				t.Errorf("night %d: the old model is another than it was", day)
			}
		}
		if why != "" && day > 0 {
			for _, page := range []string{"report.json", "report.html"} {
				if text := tree(t, filepath.Join(out, "nights", date(day)))[page]; !strings.Contains(text, why) {
					t.Errorf("night %d: %s does not say why the model was fitted anew", day, page)
				}
			}
		}
		labels := tables(t, out, lake.Labels)
		for name, text := range earlier {
			if labels[name] != text {
				t.Errorf("night %d: %s is another", day, name)
			}
		}
		earlier = labels
	}
	night(0, 16, 1, "the first model of this lake")
	ids := classesOf(tree(t, out)["nights/"+date(0)+"/labels.csv"])
	night(6, 16, 1, "")
	night(8, 16, 1, "the model is of data that end on 2023-01-01, more than 168h0m0s ago", "model-2023-01-01.json")
	night(10, 16, 3, "drift: the median healthy window has moved by", "model-2023-01-01.json", "model-2023-01-09.json")
	if now := classesOf(tree(t, out)["nights/"+date(10)+"/labels.csv"]); len(ids) == 0 || !maps.Equal(ids, now) {
		t.Errorf("classes %v are %v after two fits", ids, now)
	}
	registry := read[cluster.Registry](t, filepath.Join(out, "lake", "registry.json"))
	if len(registry.Classes) == 0 || registry.Classes[0].ID != 1 {
		t.Errorf("the registry: %+v", registry)
	}
	logs, out = filepath.Join(dir, "few"), filepath.Join(dir, "small")
	if err := os.Mkdir(logs, 0o777); err != nil {
		t.Fatal(err)
	}
	earlier = map[string]string{}
	night(0, 3, 1, "")
	night(1, 3, 1, "")
}
