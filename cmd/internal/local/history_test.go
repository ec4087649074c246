package local

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/iopathy/iopathy/configs"
	"github.com/iopathy/iopathy/ingest/lake"
)

// nightLog is events of two devices of a host in [from, to), one each 20 ms and
// device, the 50th of each hundred longer than the rest by 30 s.
func nightLog(t *testing.T, path, host string, from, to time.Time) {
	t.Helper()
	var b strings.Builder
	b.WriteString("time_ns,host,device,pid,comm,op,flags,offset_bytes,size_bytes,queue_ns,latency_ns,error\n")
	for i, at := 0, from; at.Before(to); i, at = i+1, at.Add(20*time.Millisecond) {
		for _, d := range []string{"sda", "sdb"} {
			latency := int64(1_000_000 + i%7*100_000)
			if i%4000 == 2000 {
				latency = 30e9
			}
			fmt.Fprintf(&b, "%d,%s,%s,1,app,%c,,%d,%d,1000,%d,0\n", at.UnixNano(), host, d, "RW"[i%2], i*8192%(1<<28), 4096<<(i%3), latency)
		}
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
}

func nightJob(dir string, n *int) *Job {
	*n++
	return &Job{Config: configs.Default(), Lake: dir, RunID: fmt.Sprintf("r%03d", *n), Version: "test"}
}

// tablesOf is the hashes of the lake's parts of some tables.
func tablesOf(t *testing.T, dir string, tables ...string) map[string]string {
	t.Helper()
	manifests, err := lake.Manifests(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, table := range tables {
		for _, p := range lake.Parts(manifests, table) {
			out[p.Path] = strings.Join(p.Blocks, " ")
			if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(p.Path))); err != nil {
				t.Error(err)
			}
		}
	}
	return out
}

// TestHistory reads logs that meet at midnight, one of a later day and one of
// another host, in several orders: the lake is the same, and a run concerns
// the days and hosts of its inputs alone.
func TestHistory(t *testing.T) {
	dir := t.TempDir()
	at := func(s string) time.Time {
		ts, err := time.Parse("2006-01-02 15:04:05", s)
		if err != nil {
			t.Fatal(err)
		}
		return ts
	}
	log := func(name string) string { return filepath.Join(dir, name) }
	nightLog(t, log("a.csv"), "h1", at("2026-03-01 23:57:00"), at("2026-03-01 23:59:40"))
	nightLog(t, log("b.csv"), "h1", at("2026-03-02 00:00:05"), at("2026-03-02 00:02:00"))
	nightLog(t, log("late.csv"), "h1", at("2026-03-01 23:59:40"), at("2026-03-02 00:00:05"))
	nightLog(t, log("c.csv"), "h1", at("2026-03-03 02:00:00"), at("2026-03-03 02:01:00"))
	nightLog(t, log("other.csv"), "h2", at("2026-03-01 23:58:00"), at("2026-03-01 23:59:00"))

	runs := 0
	run := func(into string, names ...string) map[cell]bool {
		t.Helper()
		j := nightJob(into, &runs)
		var sources []string
		for _, n := range names {
			sources = append(sources, log(n))
		}
		in, err := j.Ingest(context.Background(), sources, nil)
		if err != nil {
			t.Fatal(err)
		}
		windows, ticks, err := listed(j.Features(context.Background(), in.IDs))
		if err != nil {
			t.Fatal(err)
		}
		if len(windows) == 0 || ticks == 0 {
			t.Errorf("%v: %d windows, %d ticks", names, len(windows), ticks)
		}
		for i := range windows {
			if !j.cells[cell{windows[i].Host, lake.Date(windows[i].StartNS)}] {
				t.Errorf("%v: a window of %s, which is none of %v", names, windows[i].Host, j.cells)
			}
		}
		return j.cells
	}
	cells := func(words ...string) map[cell]bool {
		out := map[cell]bool{}
		for _, w := range words {
			host, date, _ := strings.Cut(w, " ")
			out[cell{host, date}] = true
		}
		return out
	}
	same := func(what string, got, want any) {
		t.Helper()
		if d := cmp.Diff(want, got, cmp.AllowUnexported(cell{})); d != "" {
			t.Errorf("%s (-want +got):\n%s", what, d)
		}
	}
	made := []string{lake.Windows, lake.Ticks, lake.Profiles}
	once := log("once")
	run(once, "a.csv", "b.csv", "late.csv", "c.csv", "other.csv")
	want := tablesOf(t, once, made...)

	nights := log("nights")
	same("the first night", run(nights, "a.csv", "other.csv"), cells("h1 2026-03-01", "h2 2026-03-01"))
	before := tablesOf(t, nights, made...)
	run(nights, "b.csv")
	same("a night with nothing before midnight", run(nights, "c.csv"), cells("h1 2026-03-03"))
	for path, sum := range tablesOf(t, nights, made...) {
		if strings.Contains(path, "host=h2") && before[path] != sum {
			t.Errorf("%s is another by a run that does not concern it", path)
		}
	}
	same("a late log", run(nights, "late.csv"), cells("h1 2026-03-01", "h1 2026-03-02"))
	same("night by night", tablesOf(t, nights, made...), want)

	back := log("back")
	for _, n := range []string{"c.csv", "other.csv", "late.csv", "b.csv", "a.csv"} {
		run(back, n)
	}
	same("backwards", tablesOf(t, back, made...), want)

	// Nothing new: the same cells, no other byte, no new manifest.
	m, err := lake.Manifests(back)
	if err != nil {
		t.Fatal(err)
	}
	j := nightJob(back, &runs)
	all, _, err := listed(j.Features(context.Background(), nil))
	if err != nil {
		t.Fatal(err)
	}
	again, err := lake.Manifests(back)
	if err != nil {
		t.Fatal(err)
	}
	if len(again) != len(m) {
		t.Error("a run that changes nothing wrote a manifest")
	}
	rows, err := nightJob(back, &runs).Windows()
	if err != nil {
		t.Fatal(err)
	}
	stored := rows.Slice()
	if len(stored) != len(all) || len(all) == 0 {
		t.Errorf("%d windows, stored %d", len(all), len(stored))
	}

	// Another length of windows: what was made before is left out, and said.
	wide := nightJob(back, &runs)
	wide.Config.Features.WindowNS *= 2
	nightLog(t, log("d.csv"), "h1", at("2026-03-09 02:00:00"), at("2026-03-09 02:01:00"))
	in, err := wide.Ingest(context.Background(), []string{log("d.csv")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := wide.Features(context.Background(), in.IDs); err != nil {
		t.Fatal(err)
	}
	if rows, err = nightJob(back, &runs).Windows(); err != nil {
		t.Fatal(err)
	}
	stored = rows.Slice()
	for i := range stored {
		if w := stored[i].EndNS - stored[i].StartNS; w != wide.Config.Features.WindowNS {
			t.Fatalf("a window of %d ns among those of %d", w, wide.Config.Features.WindowNS)
		}
	}
	if said, err := nightJob(back, &runs).OtherWindows(); err != nil || !strings.Contains(said, "4 host-days of 2026-03-01 to 2026-03-03") {
		t.Errorf("said %q, %v", said, err)
	}
	left := tablesOf(t, back, lake.Windows)
	maps.DeleteFunc(left, func(path, _ string) bool { return want[path] == "" })
	if len(left) != 4 {
		t.Errorf("%d of the 4 old parts stand", len(left))
	}
	if _, _, err := wide.Features(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	if said, err := nightJob(back, &runs).OtherWindows(); err != nil || said != "" {
		t.Errorf("after features: said %q, %v", said, err)
	}
}
