package local

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/configs"
	"github.com/iopathy/iopathy/ingest/lake"
)

// hotLog is the events of a device with n of them over some minutes, with long I/Os
// and pauses, and a few of another.
func hotLog(host string, from time.Time, span time.Duration, n int) string {
	r := rand.New(rand.NewPCG(21, 4))
	var b strings.Builder
	b.WriteString(csvHeader)
	for i := range n {
		at := from.Add(span * time.Duration(i) / time.Duration(n))
		if at.Sub(from)%(7*time.Minute) > 6*time.Minute && i%50 > 0 {
			continue // a minute with little
		}
		device := "hot"
		if i%400 == 7 {
			device = "cold"
		}
		latency := 200_000 + r.Int64N(40_000_000)
		if i%3000 == 17 {
			latency = 40e9 // over several windows
		}
		fmt.Fprintf(&b, "%d,%s,%s,7,app%d,%c,,%d,%d,1000,%d,0\n", at.UnixNano(), host, device, i%3, "RRW"[i%3], r.Int64N(1<<16)*4096, 4096<<r.IntN(5), latency)
		if i%997 == 5 {
			b.WriteString("no line of ours\n")
		}
	}
	return b.String()
}

// shardedLogs is logs of several kinds: one device with nearly all events, a format
// with memory, two days, a copy, a list of device names.
func shardedLogs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	midnight := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	put("host=h1/hot.csv", hotLog("h1", midnight.Add(-40*time.Minute), time.Hour, 12_000))
	put("host=h1/copy.csv", hotLog("h1", midnight.Add(-40*time.Minute), time.Hour, 12_000))
	put("host=h2/b.csv", csvHeader+csvRows("b", 0, 3000))
	put("host=h3/blk.txt", blkparseText(4000))
	put("host=h3/partitions", "major minor  #blocks  name\n\n   8        0  1000 sda\n")
	put("host=h4/empty.csv", "")
	return dir
}

// job runs all stages, of which ingest is given; out is where the report goes.
func runTo(t *testing.T, out string, logs []string, change func(*Job), read func(*Job) (*Ingested, error)) {
	t.Helper()
	c := configs.Default()
	c.Ingest.ChunkBytes = 50_000
	j := &Job{Config: c, Lake: filepath.Join(out, "lake"), RunID: "run", Version: "test", sliceRows: 1000}
	if change != nil {
		change(j)
	}
	in, err := read(j)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	windows, ticks, err := j.Features(ctx, in.IDs)
	if err != nil {
		t.Fatal(err)
	}
	in.Ticks = ticks
	catalogue, err := configs.LoadCatalogue("")
	if err != nil {
		t.Fatal(err)
	}
	rules, err := cluster.Compile(catalogue)
	if err != nil {
		t.Fatal(err)
	}
	d, err := j.Diagnose(windows, nil, rules, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.StoreDiagnosis(d); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Write(ctx, out, d, catalogue, in); err != nil {
		t.Fatal(err)
	}
	if windows.Len() == 0 || ticks == 0 {
		t.Fatalf("%d windows, %d ticks", windows.Len(), ticks)
	}
	all, _, err := listed(windows, ticks, nil)
	if err != nil {
		t.Fatal(err)
	}
	checkVectors(t, j, all)
}

// allFiles are the sums of all files below a directory but locks.
func allFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := tree(t, dir, "")
	for path := range all {
		if strings.HasSuffix(path, ".lock") {
			delete(all, path)
		}
	}
	return all
}

// What N processes make of a job is to the byte what one makes: the lake, the
// manifests, the model, the labels, the report.
func TestShards(t *testing.T) {
	logs := []string{shardedLogs(t)}
	ctx := context.Background()
	one := t.TempDir()
	runTo(t, one, logs, nil, func(j *Job) (*Ingested, error) { return j.Ingest(ctx, logs, nil) })
	want := allFiles(t, one)
	for _, name := range []string{"report.json", "report.html", "labels.csv", "lake/models/model.json", "lake/runs/run.json", "lake/runs/run.rejects.jsonl"} {
		if want[name] == "" {
			t.Fatalf("one run leaves no %s: %v", name, want)
		}
	}
	for _, n := range []int{1, 2, 8} {
		for _, folds := range []bool{false, true} {
			if n == 1 && folds || n == 8 && !folds {
				continue // nothing that the others don't show
			}
			dir := t.TempDir()
			var dirs []string
			stretched, sliced := 0, map[int]bool{}
			shardJob := func() *Job {
				c := configs.Default()
				c.Ingest.ChunkBytes = 50_000
				return &Job{Config: c, RunID: fmt.Sprintf("shard-%d", len(dirs)), Version: "test", sliceRows: 1000}
			}
			for i := range n {
				part := filepath.Join(dir, fmt.Sprintf("part-%d", (i+1)%n))
				s, err := shardJob().ReadShare(ctx, logs, Shard{i, n}, part)
				if err != nil {
					t.Fatal(err)
				}
				for _, p := range s.Pieces {
					if p.Stretch.From > 0 {
						stretched++
					}
				}
				dirs = append(dirs, part)
			}
			shares, err := LoadShares(dirs)
			if err != nil {
				t.Fatal(err)
			}
			if folds {
				for i := range n {
					if _, err := shardJob().FoldShare(ctx, shares, Shard{i, n}); err != nil {
						t.Fatal(err)
					}
					data, err := os.ReadFile(filepath.Join(dirs[i], foldsDir, foldsFile))
					if err != nil {
						t.Fatal(err)
					}
					var f foldShare
					if err := json.Unmarshal(data, &f); err != nil {
						t.Fatal(err)
					}
					for _, c := range f.Cells {
						for _, u := range c.Units {
							if c.Order[u.At].Slice > 0 {
								sliced[i] = true
							}
						}
					}
				}
			}
			// The hot device must be everybody's work.
			if n == 8 && (stretched < 3 || folds && len(sliced) < 6) {
				t.Errorf("%d shards: %d stretches behind the first, slices in shards %v", n, stretched, sliced)
			}
			out := t.TempDir()
			runTo(t, out, logs, nil, func(j *Job) (*Ingested, error) {
				if err := j.LoadFolds(shares); err != nil {
					return nil, err
				}
				if got := j.folded != nil && len(j.folded.cells) > 0; got != folds {
					t.Errorf("%d shards: folds are taken: %v, want %v", n, got, folds)
				}
				return j.Gather(ctx, shares)
			})
			if diff := cmp.Diff(want, allFiles(t, out)); diff != "" {
				t.Errorf("%d shards, folds %v: files differ (-one process +shards):\n%s", n, folds, diff)
				keepFor(t, one, out)
			}
		}
	}
}

// keepFor shows how manifests differ.
func keepFor(t *testing.T, one, out string) {
	t.Helper()
	runs, err := filepath.Glob(filepath.Join(one, "lake/runs/*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range runs {
		a, err1 := os.ReadFile(path)
		b, err2 := os.ReadFile(filepath.Join(out, "lake/runs", filepath.Base(path)))
		if err1 != nil || err2 != nil {
			t.Error(err1, err2)
		}
		if diff := cmp.Diff(strings.Split(string(a), "\n"), strings.Split(string(b), "\n")); diff != "" {
			t.Errorf("%s:\n%.3000s", filepath.Base(path), diff)
		}
	}
}

// The slices of a device give the ticks and windows of one fold, whose memory of
// blocks is not full.
func TestSlicesAreExact(t *testing.T) {
	logs := []string{shardedLogs(t)}
	ctx := context.Background()
	var want map[string]string
	for _, rows := range []int64{1 << 60, 3000, 500} {
		out := t.TempDir()
		runTo(t, out, logs, func(j *Job) { j.sliceRows = rows }, func(j *Job) (*Ingested, error) { return j.Ingest(ctx, logs, nil) })
		got := tablesOf(t, filepath.Join(out, "lake"), lake.Ticks, lake.Windows)
		if want == nil {
			want = got
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("slices of %d rows: parts differ (-one fold +slices):\n%s", rows, diff)
		}
	}
}

func TestShares(t *testing.T) {
	logs := []string{shardedLogs(t)}
	ctx := context.Background()
	dir := t.TempDir()
	read := func(name, shard, version string) string {
		t.Helper()
		s, err := ParseShard(shard)
		if err != nil {
			t.Fatal(err)
		}
		j := &Job{Config: configs.Default(), RunID: name, Version: version}
		if _, err := j.ReadShare(ctx, logs, s, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, name)
	}
	a, b, c := read("a", "0/2", "test"), read("b", "1/2", "test"), read("c", "1/2", "other")
	check := func(want string, dirs ...string) {
		t.Helper()
		_, err := LoadShares(dirs)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v: %v, want %q", dirs, err, want)
		}
	}
	check("", b, a)
	check("shard 1/2 is missing", a)
	check("both hold the share of shard 0/2", a, a)
	check("not of one job", a, c)
	check("holds no share", a, t.TempDir())
	check("no share to merge")
	for _, s := range []string{"", "1", "2/2", "-1/2", "0/0", "a/b", "0/999999"} {
		if _, err := ParseShard(s); err == nil {
			t.Errorf("shard %q is taken", s)
		}
	}
	if err := CheckShare(a); err != nil {
		t.Error(err)
	}
	if err := CheckShare(logs[0]); err == nil {
		t.Error("a share may be put among logs")
	}
	// A share that is read again takes its own place.
	before := tree(t, a, ".parquet")
	read("a", "0/2", "test")
	if diff := cmp.Diff(before, tree(t, a, ".parquet")); diff != "" {
		t.Error(diff)
	}
	// What the shards lack shows: a piece is taken away.
	shares, err := LoadShares([]string{a, b})
	if err != nil {
		t.Fatal(err)
	}
	shares.all[1].Pieces = shares.all[1].Pieces[1:]
	j := &Job{Config: configs.Default(), Lake: t.TempDir(), RunID: "x", Version: "test"}
	if _, err := j.Gather(ctx, shares); err == nil || !strings.Contains(err.Error(), "by nobody") {
		t.Errorf("a missing piece: %v", err)
	}
}
