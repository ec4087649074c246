package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/configs"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/ingest/lake"
)

// byHosts does what Diagnose does by n shares of hosts.
func byHosts(t *testing.T, j *Job, n int, rules *cluster.Rules) *Diagnosed {
	t.Helper()
	shares, _, err := j.TakeFolds(context.Background(), nil, n)
	if err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	dir := func(step string, i int) string { return filepath.Join(work, fmt.Sprintf("%s-%d", step, i)) }
	var samples, labels []string
	for i := range slices.Backward(shares) { // in any order
		if err := j.SampleHosts(shares[i], rules, dir("sample", i)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range shares {
		samples, labels = append(samples, dir("sample", i)), append(labels, dir("label", i))
	}
	fitted, err := j.FitSamples(samples, nil, rules, false)
	if err != nil {
		t.Fatal(err)
	}
	text, err := fitted.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for i := range shares {
		fit, err := DecodeFit(text)
		if err != nil {
			t.Fatal(err)
		}
		for range max(1, 2-i) { // a second try takes the place of the first
			if _, err := j.LabelHosts(shares[i], fit, nil, rules, labels[i]); err != nil {
				t.Fatal(err)
			}
		}
	}
	fit, err := DecodeFit(text)
	if err != nil {
		t.Fatal(err)
	}
	windows, err := j.Windows()
	if err != nil {
		t.Fatal(err)
	}
	d, err := j.DiagnoseHosts(windows, labels, fit, nil, rules)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Fit and labels by shares of hosts give what one process gives, to the byte: the
// model, the registry, labels, baselines and the report; of families of several kinds,
// with evidence, in memory and in files, with all windows fitted on and with a sample.
func TestHostShares(t *testing.T) {
	catalogue, err := configs.LoadCatalogue("")
	if err != nil {
		t.Fatal(err)
	}
	rules, err := cluster.Compile(catalogue)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	logs := shardedLogs(t)
	if err := os.WriteFile(filepath.Join(logs, "host=h1", "dmesg.txt"), []byte("2025-03-01T00:03:00,000000+00:00 blk_update_request: I/O error, dev hot, sector 1234\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	two := func(device int, ws []features.Window) { // every third device's are of another kind
		for i := range ws {
			if device%3 == 0 {
				ws[i].Kind = ingest.KindQ2C
			}
			if i%7 == 3 {
				ws[i].Kind = ingest.KindNone
			}
		}
	}
	made := func(j *Job) {
		part := manyWindows(t, j.Lake, 30, 190, two)
		j.Config.Features.WindowNS, j.Config.Features.TickNS = part.Config.Window.Nanoseconds(), part.Config.Tick.Nanoseconds()
	}
	read := func(j *Job) {
		in, err := j.Ingest(ctx, []string{logs}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := j.Features(ctx, in.IDs); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name     string
		sample   int
		inMemory int
		report   bool
		fill     func(*Job)
	}{
		{"windows", 1 << 20, 0, false, made},
		{"windows in a file, a sample of them", 2100, 500, false, made},
		{"logs, a file, a sample", 40, 20, true, read},
	} {
		var want map[string]string
		for _, n := range []int{0, 1, 4} {
			j := &Job{Config: configs.Default(), Lake: filepath.Join(t.TempDir(), "lake"), RunID: "run", Version: "test", memoryWindows: c.inMemory}
			j.Config.Reduce.Sample = c.sample
			c.fill(j)
			var d *Diagnosed
			if n == 0 {
				windows, err := j.Windows()
				if err != nil {
					t.Fatal(err)
				}
				if d, err = j.Diagnose(windows, nil, rules, false); err != nil {
					t.Fatal(err)
				}
			} else {
				d = byHosts(t, j, n, rules)
			}
			out := filepath.Dir(j.Lake)
			if err := j.StoreDiagnosis(d); err != nil {
				t.Fatal(err)
			}
			if c.report && n != 1 { // the report is not made of shares
				if _, err := j.Write(ctx, out, d, catalogue, &Ingested{}); err != nil {
					t.Fatal(err)
				}
			}
			got := allFiles(t, out)
			for name := range want {
				if n != 4 && !strings.HasPrefix(name, "lake") {
					got[name] = want[name]
				}
			}
			if n == 0 {
				want = got
				if len(d.Result.Episodes) == 0 || want[filepath.Join("lake", filepath.FromSlash(lake.ModelPath(modelFile)))] == "" {
					t.Fatalf("%s: %d episodes, %d files: nothing is compared", c.name, len(d.Result.Episodes), len(want))
				}
				t.Logf("%s: %d windows, %d models, %d episodes, %d findings, %q", c.name, d.Windows.Len(), len(d.Models), len(d.Result.Episodes), len(d.Result.Findings), d.Result.Why)
			} else if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, %d shares: files differ (-one process +shares):\n%s", c.name, n, diff)
			}
			d.Close()
		}
	}
}
