package alerts

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/iopathy/iopathy/cmd/internal/local"
	"github.com/iopathy/iopathy/cmd/internal/nights"
	"github.com/iopathy/iopathy/configs"
)

// everything has a value for each metric.
func everything() Figures {
	cover := 0.5
	return Figures{
		Version: "v1.2.3", Account: local.Account{Inputs: 2, Lines: 100, NewBytes: 5000, Rejects: map[string]int64{"torn": 3, "garbage": 4}},
		Duration: 1500 * time.Millisecond, Now: time.Unix(1_700_000_000, 0),
		Backlog: []Backlog{{"webhook", 2, 1}},
		Newest: &nights.Sums{Date: "2023-11-14", Devices: 6, Windows: 36, Worst: 3, Coverage: &cover, Shift: 0.25, Far: 0.125,
			SickDevices: map[string]int{"queue-saturation": 2, "of\nanother\"catalogue": 1}, SickSeconds: map[string]float64{"queue-saturation": 60}, Episodes: map[string]nights.Told{"queue-saturation": {Number: 3, Worst: 4.5}}},
	}
}

func names(t *testing.T, text []byte) []string {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("not Prometheus' text format: %v\n%s", err, text)
	}
	var all []string
	for name := range families {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// The linter is that of promtool check metrics (client_golang 1.25).
func TestMetrics(t *testing.T) {
	text, err := Metrics(everything(), shipped(t))
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.New(bytes.NewReader(text)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("promlint: %v, %v", problems, err)
	}
	for _, want := range []string{
		"# TYPE iopathy_sick_devices gauge\n", "\niopathy_sick_devices{pathology=\"queue-saturation\"} 2\n", "\niopathy_sick_devices{pathology=\"cache-thrash\"} 0\n", "\niopathy_sick_devices{pathology=\"unrecognised\"} 0\n",
		"\niopathy_sick_devices{pathology=\"of\\nanother\\\"catalogue\"} 1\n", "\niopathy_sick_device_seconds{pathology=\"queue-saturation\"} 60\n",
		"\niopathy_episodes{pathology=\"queue-saturation\"} 3\n", "\niopathy_episode_severity{pathology=\"queue-saturation\"} 4.5\n", "\niopathy_severity 3\n", "\niopathy_coverage_ratio 0.5\n",
		"\niopathy_drift 0.25\n", "\niopathy_drift_unexplained_ratio 0.125\n", "\niopathy_rejected_lines 7\n", "\niopathy_run_duration_seconds 1.5\n", "\niopathy_last_success_timestamp_seconds 1.7e+09\n",
		"\niopathy_night_timestamp_seconds 1.69992e+09\n", "\niopathy_alerts_waiting{receiver=\"webhook\"} 2\n", "\niopathy_alerts_dropped{receiver=\"webhook\"} 1\n",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if n := len(names(t, text)); n != 20 {
		t.Errorf("%d metrics, want 20", n)
	}
	none, err := Metrics(Figures{Now: time.Unix(1, 0)}, shipped(t))
	if err != nil || strings.Contains(string(none), "sick_devices") || !strings.Contains(string(none), "iopathy_last_success_timestamp_seconds 1\n") {
		t.Errorf("%v; without any night:\n%s", err, none)
	}
}

func TestWriteMetrics(t *testing.T) {
	dir := t.TempDir()
	c := configs.Default()
	c.Alert.Metrics = filepath.Join(dir, "iopathy.prom")
	if err := os.MkdirAll(nights.Dir(dir, "2023-11-14"), 0o777); err != nil {
		t.Fatal(err)
	}
	for date, text := range map[string]string{
		"2023-11-14": `{"date":"2023-11-14","devices":4,"sick":[{"host":"h","device":"d","seconds":{"cache-thrash":30}}],"episodes":{"cache-thrash":{"number":2,"worst_severity":3}}}`,
		"2023-11-16": `{"date":"2023-11-16","devices":9,"sick":[]}`, // ahead of the clock
	} {
		_ = os.MkdirAll(nights.Dir(dir, date), 0o777)
		if err := os.WriteFile(filepath.Join(nights.Dir(dir, date), "night.json"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	desk, err := NewDesk(&c, dir, shipped(t), "v1", t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	if err := desk.WriteMetrics(Figures{Now: time.Date(2023, 11, 15, 3, 0, 0, 0, time.UTC)}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(c.Alert.Metrics)
	if err != nil || !strings.Contains(string(text), "\niopathy_devices 4\n") || !strings.Contains(string(text), `iopathy_sick_devices{pathology="cache-thrash"} 1`) || strings.Contains(string(text), "coverage") {
		t.Errorf("%v\n%s", err, text)
	}
	info, err := os.Stat(c.Alert.Metrics)
	if err != nil || info.Mode().Perm()&0o044 == 0 {
		t.Errorf("the collector can't read it: %v, %v", info.Mode(), err)
	}
	if files, _ := os.ReadDir(dir); len(files) != 2 { // the metrics and nights/
		t.Errorf("files are left: %v", files)
	}
}

// Every metric that the dashboard asks for exists, and it has all panels' kinds.
func TestDashboard(t *testing.T) {
	b, err := os.ReadFile("../../../configs/examples/grafana-dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var dash struct {
		Panels []struct {
			ID      int
			Type    string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr string }
		}
		Templating struct {
			List []struct{ Name string }
		}
	}
	if err := json.Unmarshal(b, &dash); err != nil {
		t.Fatal(err)
	}
	text, err := Metrics(everything(), shipped(t))
	if err != nil {
		t.Fatal(err)
	}
	known := names(t, text)
	used := map[string]bool{}
	for _, name := range regexp.MustCompile(`iopathy_[a-z_]+`).FindAllString(string(b), -1) {
		if used[name] = true; !slices.Contains(known, name) {
			t.Errorf("the dashboard asks for %s, which does not exist", name)
		}
	}
	for _, name := range []string{"iopathy_sick_devices", "iopathy_severity", "iopathy_episodes", "iopathy_coverage_ratio", "iopathy_rejected_lines", "iopathy_run_duration_seconds", "iopathy_last_success_timestamp_seconds", "iopathy_drift"} {
		if !used[name] {
			t.Errorf("the dashboard does not show %s", name)
		}
	}
	labels := regexp.MustCompile(`by \((\w+)\)`)
	kinds, ids := map[string]int{}, map[int]bool{}
	for _, p := range dash.Panels {
		kinds[p.Type]++
		if ids[p.ID] || p.GridPos.X+p.GridPos.W > 24 || p.GridPos.W*p.GridPos.H == 0 || len(p.Targets) == 0 {
			t.Errorf("panel %d: id, place or targets", p.ID)
		}
		ids[p.ID] = true
		for _, q := range p.Targets {
			if strings.Count(q.Expr, "(") != strings.Count(q.Expr, ")") || !strings.Contains(q.Expr, "iopathy_") {
				t.Errorf("panel %d: %s", p.ID, q.Expr)
			}
			for _, m := range labels.FindAllStringSubmatch(q.Expr, -1) {
				if !strings.Contains(string(text), m[1]+"=") {
					t.Errorf("panel %d: no metric has the label %s", p.ID, m[1])
				}
			}
		}
	}
	if kinds["heatmap"] == 0 {
		t.Error("no heatmap")
	}
}
