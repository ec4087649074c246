package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/configs"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest/lake"
	"github.com/iopathy/iopathy/reduce"
)

// nightsLake is a lake to which nights of small random reads are added.
type nightsLake struct {
	t     *testing.T
	dir   string
	runs  int
	inv   reduce.Inventory
	rules *cluster.Rules
}

func newNightsLake(t *testing.T, inv reduce.Inventory) *nightsLake {
	t.Helper()
	catalogue, err := configs.LoadCatalogue("")
	if err != nil {
		t.Fatal(err)
	}
	rules, err := cluster.Compile(catalogue)
	if err != nil {
		t.Fatal(err)
	}
	return &nightsLake{t: t, dir: t.TempDir(), inv: inv, rules: rules}
}

func (n *nightsLake) date(night int) string { return fmt.Sprintf("2026-03-%02d", night) }

// log writes three minutes of reads a device: one each 25 ms or so, each served
// alone in the device's milliseconds, give or take a third.
func (n *nightsLake) log(night int, ms map[string]float64) {
	n.t.Helper()
	start, err := time.Parse(time.DateOnly, n.date(night))
	if err != nil {
		n.t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("time_ns,host,device,pid,comm,op,flags,offset_bytes,size_bytes,queue_ns,latency_ns,error\n")
	x := uint64(night)
	next := func() float64 { // Knuth's MMIX generator
		x = x*6364136223846793005 + 1442695040888963407
		return float64(x>>11) / (1 << 53)
	}
	for _, d := range sortedKeys(ms) {
		host, device, _ := strings.Cut(d, "/")
		for at := start.Add(2 * time.Hour); at.Before(start.Add(2*time.Hour + 3*time.Minute)); at = at.Add(time.Duration((15 + 20*next()) * 1e6)) {
			fmt.Fprintf(&b, "%d,%s,%s,1,app,R,,%d,4096,1000,%d,0\n", at.UnixNano(), host, device, int64(next()*1e6)*4096, int64(ms[d]*(0.67+0.67*next())*1e6))
		}
	}
	path := filepath.Join(n.t.TempDir(), n.date(night)+".csv")
	if err := os.WriteFile(path, []byte(b.String()), 0o666); err != nil {
		n.t.Fatal(err)
	}
	j := nightJob(n.dir, &n.runs)
	in, err := j.Ingest(context.Background(), []string{path}, nil)
	if err != nil {
		n.t.Fatal(err)
	}
	if _, _, err := j.Features(context.Background(), in.IDs); err != nil {
		n.t.Fatal(err)
	}
}

// label judges a night as nightly does and keeps what is said.
func (n *nightsLake) label(night int) *Diagnosed {
	n.t.Helper()
	j := nightJob(n.dir, &n.runs)
	windows, err := j.WindowsBetween(n.date(night), n.date(night))
	if err != nil {
		n.t.Fatal(err)
	}
	d, _, err := j.DiagnoseNight(windows, n.inv, n.rules)
	if err != nil {
		n.t.Fatal(err)
	}
	if err := j.StoreDiagnosis(d); err != nil {
		n.t.Fatal(err)
	}
	return d
}

// sick is the share of a device's windows that are said to degrade.
func (d *Diagnosed) sick(device string) float64 {
	sick, all := 0, 0
	for i := range d.Windows.Len() {
		if r := d.Result.Diagnoses.At(i); d.Windows.At(i).Device == device && r.Verdict != cluster.Idle {
			all++
			if r.Verdict == cluster.Sick && r.Pathology == "media-degradation" {
				sick++
			}
		}
	}
	return float64(sick) / float64(max(all, 1))
}

func (n *nightsLake) check(what string, d *Diagnosed, device string, sick bool) {
	n.t.Helper()
	if s := d.sick(device); sick && s < 0.9 || !sick && s > 0 {
		n.t.Errorf("%s: %.0f %% of the windows of %s degrade, want sick %v", what, 100*s, device, sick)
	}
}

// A device that is alone in its lake, slow all through its first night, then
// well, then slow again.
func TestSickFirstNight(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector, which has others of its kind")
	}
	for _, d := range []reduce.Device{{}, {Model: "FLASH", Rotational: "0"}} {
		t.Run(d.Model, func(t *testing.T) {
			n := newNightsLake(t, reduce.Inventory{{Host: "h", Device: "sda"}: d})
			for night, ms := range []float64{0, 3, 0.3, 0.3, 0.3, 3} {
				if night > 0 {
					n.log(night, map[string]float64{"h/sda": ms})
				}
			}
			first := n.label(1)
			n.check("night 1, nothing known", first, "sda", false)
			for i := range first.Windows.Len() {
				r := first.Result.Diagnoses.At(i)
				if r.Verdict == cluster.Healthy && (r.Confidence > 0.8 || !first.Points.At(i).Normal.Alone) {
					t.Errorf("night 1: confidence %v, normal %+v", r.Confidence, first.Points.At(i).Normal)
				}
			}
			if !strings.Contains(strings.Join(first.Result.Warnings, "\n"), "no baseline yet for 1 device:") {
				t.Errorf("night 1 does not say that there is no baseline: %q", first.Result.Warnings)
			}
			n.check("night 2", n.label(2), "sda", false)
			n.check("night 1, one night known", n.label(1), "sda", true)
			n.check("night 3", n.label(3), "sda", false)
			n.check("night 4", n.label(4), "sda", false)
			before := tablesOf(t, n.dir, lake.Labels, lake.Baselines)
			n.check("night 4 again", n.label(4), "sda", false)
			if d := cmp.Diff(before, tablesOf(t, n.dir, lake.Labels, lake.Baselines)); d != "" {
				t.Errorf("a night that is labelled again is another:\n%s", d)
			}
			n.check("night 5", n.label(5), "sda", true)
			n.check("night 1 at the end", n.label(1), "sda", true)
			for path := range tablesOf(t, n.dir, lake.Baselines) {
				if strings.Contains(path, n.date(1)) || strings.Contains(path, n.date(5)) {
					t.Errorf("a sick night is in the baselines: %s", path)
				}
			}
		})
	}
}

// The same, with all nights labelled at once and anew: each is held against the
// others, and the sick first one is not believed.
func TestSickFirstNightInOneLake(t *testing.T) {
	n := newNightsLake(t, nil)
	for night, ms := range []float64{0, 3, 0.3, 0.3, 0.3} {
		if night > 0 {
			n.log(night, map[string]float64{"h/sda": ms})
			n.label(night)
		}
	}
	j := nightJob(n.dir, &n.runs)
	windows, err := j.Windows()
	if err != nil {
		t.Fatal(err)
	}
	d, err := j.Relabel(windows, nil, n.rules)
	if err != nil {
		t.Fatal(err)
	}
	for i := range d.Windows.Len() {
		r := d.Result.Diagnoses.At(i)
		if want := lake.Date(d.Windows.At(i).StartNS) == n.date(1); r.Verdict != cluster.Idle && (r.Verdict == cluster.Sick) != want {
			t.Errorf("%s is %s, want sick %v", time.Unix(0, d.Windows.At(i).StartNS).UTC(), r.Verdict, want)
		}
	}
}

// A device that is slow from its first day on is found by devices of its model
// that were there before, though it is alone in its log.
func TestSlowFromTheFirstDay(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector, which has others of its kind")
	}
	inv := reduce.Inventory{{Host: "new", Device: "sdx"}: {Model: "FLASH", Rotational: "0"}}
	well := map[string]float64{}
	for _, device := range []string{"sda", "sdb", "sdc", "sdd"} {
		well["h/"+device] = 0.3
		inv[features.Key{Host: "h", Device: device}] = reduce.Device{Model: "FLASH", Rotational: "0"}
	}
	n := newNightsLake(t, inv)
	n.log(1, well)
	n.label(1)
	n.log(2, map[string]float64{"new/sdx": 2})
	d := n.label(2)
	n.check("the new device", d, "sdx", true)
	for i := range d.Points.Len() {
		if s := d.Points.At(i).Normal.Source; !d.Windows.At(i).Idle && s != "peers" {
			t.Errorf("held against %q, want peers", s)
		}
	}
	n.log(3, map[string]float64{"new/sdx": 2})
	n.check("its second day", n.label(3), "sdx", true)
}

func TestLearnable(t *testing.T) {
	said := func(device string, v cluster.Verdict, confidence, severity, coverage float64) *cluster.Diagnosis {
		return &cluster.Diagnosis{Key: features.Key{Host: "h", Device: device}, Verdict: v, Confidence: confidence, Severity: severity, Coverage: coverage}
	}
	all := []*cluster.Diagnosis{
		said("a", cluster.Healthy, 0.9, 0.2, 1),
		said("a", cluster.Healthy, 0.9, 0.9, 1),
		said("a", cluster.Healthy, 0.4, 0.2, 1),
		said("a", cluster.Healthy, 0.9, 0.2, 0.5),
		said("a", cluster.Sick, 0.9, 2, 1),
		said("a", cluster.Artefact, 0, 0, 0.2),
		said("a", cluster.Idle, 1, 0, 1),
		said("b", cluster.Healthy, 0.9, 0.2, 1),
		said("b", cluster.Sick, 0.9, 2, 1),
		said("b", cluster.Sick, 0.9, 2, 1),
	}
	want := []bool{true, false, false, false, false, false, false, false, false, false}
	if d := cmp.Diff(want, append(learnable(all[:7]), learnable(all[7:])...)); d != "" {
		t.Error(d)
	}
}
