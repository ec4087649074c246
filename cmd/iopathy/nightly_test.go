package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/iopathy/iopathy/ingest/lake"
)

// Two nights, a night without anything new, and a late log of the first.
func TestNightly(t *testing.T) {
	dir := t.TempDir()
	logs, out := filepath.Join(dir, "logs"), filepath.Join(dir, "out")
	if err := os.Mkdir(logs, 0o777); err != nil {
		t.Fatal(err)
	}
	night := func() {
		t.Helper()
		in(t, exitFine, "nightly", logs, "--out", out, "--quiet")
	}
	page := func(name string) string {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	eventFile(t, filepath.Join(logs, "a.csv"), 1, 3, 2_000_000) // 2023-11-14 23:13
	night()
	if index := page("index.html"); !strings.Contains(index, `href="nights/2023-11-14/report.html"`) || strings.Contains(index, `href="/`) {
		t.Error("the index does not lead to the night alone")
	}
	first := page("nights/2023-11-14/report.json")
	if !strings.Contains(first, `"since": ""`) {
		t.Error("the first night is held against another")
	}

	before := tree(t, out)
	runs, err := os.ReadDir(filepath.Join(out, "lake", "runs"))
	if err != nil {
		t.Fatal(err)
	}
	night()
	if now, err := os.ReadDir(filepath.Join(out, "lake", "runs")); err != nil || len(now) != len(runs) {
		t.Errorf("nothing new, and %d files in runs, were %d; %v", len(now), len(runs), err)
	}
	for name, text := range tree(t, out) {
		if before[name] != text {
			t.Errorf("nothing new, and %s is another", name)
		}
	}
	if len(tree(t, out)) != len(before) {
		t.Error("nothing new, and there are other files")
	}

	eventFile(t, filepath.Join(logs, "b.csv"), 25, 3, 2_000_000) // a day later
	night()
	if !strings.Contains(page("nights/2023-11-15/report.json"), `"since": "2023-11-14"`) || !strings.Contains(page("index.html"), "nights/2023-11-15/report.html") {
		t.Error("the second night is not held against the first, or not in the index")
	}
	if page("nights/2023-11-14/report.json") != first {
		t.Error("the report of the first night is another")
	}
	second := page("nights/2023-11-15/report.html")

	eventFile(t, filepath.Join(logs, "late.csv"), 0, 3, 2_000_000) // 22:13 of the first
	night()
	if page("nights/2023-11-14/report.json") == first {
		t.Error("a late log did not update its night")
	}
	if page("nights/2023-11-15/report.html") != second {
		t.Error("a late log of one night made the report of another anew")
	}

	// Windows of a day were made, and nothing judged them: the next night does.
	eventFile(t, filepath.Join(logs, "c.csv"), 49, 3, 1_000_000)
	in(t, exitFine, "ingest", logs, "--lake", filepath.Join(out, "lake"), "--quiet")
	in(t, exitFine, "features", "--lake", filepath.Join(out, "lake"), "--quiet")
	night()
	page("nights/2023-11-16/report.json")
	idle := stamps(t, out)
	night()
	if diff := cmp.Diff(idle, stamps(t, out)); diff != "" {
		t.Errorf("nothing new after a night that was completed, and files changed:\n%s", diff)
	}
	in(t, exitFine, "verify", filepath.Join(out, "lake"), "--quiet")
}

// stamps gives the hash and the time of every file below a directory.
func stamps(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for name, text := range tree(t, dir) {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		out[name] = fmt.Sprintf("%x %s", sha256.Sum256([]byte(text)), info.ModTime())
	}
	return out
}

// The second of two nights is turned away while the first is at work, and is
// told who that is; a kill gives the lock free.
func TestNightlyOverlap(t *testing.T) {
	dir := t.TempDir()
	log, out := filepath.Join(dir, "a.csv"), filepath.Join(dir, "out")
	eventFile(t, log, 1, 2, 300_000)
	first := iopathy(t, "nightly", "-", "--out", out, "--quiet")
	logs, err := first.StdinPipe() // never closed: the night waits for more
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = first.Process.Kill(); _ = first.Wait(); _ = logs.Close() }()
	held := filepath.Join(out, "lake", ".nightly.lock")
	for i := 0; ; i++ {
		if b, err := os.ReadFile(held); err == nil && len(b) > 0 {
			break
		}
		if i == 1000 {
			t.Fatal("the night took no lock")
		}
		time.Sleep(10 * time.Millisecond)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, where := range [][]string{{"--out", out}, {"--out", filepath.Join(dir, "other"), "--lake", filepath.Join(out, "lake")}, {"--out", out, "--lake", filepath.Join(dir, "lake")}} {
		second := iopathy(t, append([]string{"nightly", log, "--quiet"}, where...)...)
		said, err := second.CombinedOutput()
		if second.ProcessState.ExitCode() != exitBusy || !strings.Contains(string(said), fmt.Sprintf("process %d on host %q since 20", first.Process.Pid, host)) {
			// The directory of reports is taken a moment after the lake.
			t.Errorf("the second night %v: %v, exit code %d: %s", where, err, second.ProcessState.ExitCode(), said)
		}
	}
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait() // it was killed
	must(t, "nightly", log, "--out", out, "--quiet")
	if b, err := os.ReadFile(held); err != nil || len(b) > 0 {
		t.Errorf("the lock names %q after the night; %v", b, err)
	}
}

// SIGTERM ends a night with the log in hand, with what was read kept; the next
// night goes on, and the lake is that of nights which nobody disturbed.
func TestNightlyTerm(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no SIGTERM")
	}
	dir := t.TempDir()
	logs := filepath.Join(dir, "logs")
	if err := os.Mkdir(logs, 0o777); err != nil {
		t.Fatal(err)
	}
	const n = 24
	for i := range n {
		eventFile(t, filepath.Join(logs, fmt.Sprintf("%02d.csv", i)), 1+uint64(i)%3, 2, 200_000+int64(i)*1000)
		// Logs that begin alike are one: each has a first line of its own.
		b, err := os.ReadFile(filepath.Join(logs, fmt.Sprintf("%02d.csv", i)))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(logs, fmt.Sprintf("%02d.csv", i)), fmt.Appendf(nil, "# %d\n%s", i, b), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(dir, "out")
	cmd := iopathy(t, "nightly", logs, "--out", out, "--workers", "1")
	var words bytes.Buffer
	cmd.Stderr = &words
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for i := 0; ; i++ {
		if parts, _ := filepath.Glob(filepath.Join(out, "lake", "events", "*", "*", "*.parquet")); len(parts) > 0 {
			break
		}
		if i == 3000 {
			t.Fatal("no part after 30 s")
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // its exit code tells
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted || !strings.Contains(words.String(), "left for the next night") {
		t.Fatalf("exit code %d, and said: %s", code, words.String())
	}
	in(t, exitFine, "verify", filepath.Join(out, "lake"), "--quiet")
	manifests, err := lake.Manifests(filepath.Join(out, "lake"))
	if err != nil || len(manifests) != 1 || len(manifests[0].Inputs) == 0 || len(manifests[0].Inputs) == n {
		t.Fatalf("%d manifests, of some but not all inputs: %v", len(manifests), err)
	}
	must(t, "nightly", logs, "--out", out, "--quiet")
	calm := filepath.Join(dir, "calm")
	must(t, "nightly", logs, "--out", calm, "--quiet")
	for _, table := range []string{lake.Events, lake.Windows, lake.Ticks, lake.Labels} {
		want, got := tree(t, filepath.Join(calm, "lake", table)), tree(t, filepath.Join(out, "lake", table))
		if len(want) == 0 || !maps.Equal(want, got) {
			t.Errorf("%s: %d files, of a calm night %d, or others", table, len(got), len(want))
		}
	}
}

// Events past their time go, what is said of them stays; neither the same log
// nor more of it brings the day back.
func TestNightlyRetention(t *testing.T) {
	dir := t.TempDir()
	logs, out := filepath.Join(dir, "logs"), filepath.Join(dir, "out")
	if err := os.Mkdir(logs, 0o777); err != nil {
		t.Fatal(err)
	}
	night := func(want int, words string) {
		t.Helper()
		var said, wrote bytes.Buffer
		if code := run(t.Context(), []string{"nightly", logs, "--out", out}, nil, &wrote, &said); code != want {
			t.Fatalf("exit code %d, want %d: %s", code, want, said.String())
		}
		if !strings.Contains(wrote.String()+said.String(), words) {
			t.Errorf("no word %q: %s%s", words, wrote.String(), said.String())
		}
	}
	count := func(table, date string) int {
		t.Helper()
		all, err := filepath.Glob(filepath.Join(out, "lake", table, "date="+date, "*", "*.parquet"))
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	eventFile(t, filepath.Join(logs, "a.csv"), 1, 2, 600_000) // 2023-11-14
	night(exitFine, "2023-11-14")
	labels := tree(t, filepath.Join(out, "lake", "labels"))
	eventFile(t, filepath.Join(logs, "b.csv"), 1+24*20, 2, 600_000) // 2023-12-04
	night(exitFine, "the events of 1 host-day,")
	if count("events", "2023-11-14") != 0 || count("events", "2023-12-04") != 1 || count("windows", "2023-11-14") != 1 || count("labels", "2023-11-14") != 1 {
		t.Error("not the events of the old day alone went")
	}
	in(t, exitFine, "verify", filepath.Join(out, "lake"), "--quiet")
	idle := stamps(t, out)
	night(exitFine, "nothing new")
	if diff := cmp.Diff(idle, stamps(t, out)); diff != "" {
		t.Errorf("the log of a closed day was read again:\n%s", diff)
	}
	eventFile(t, filepath.Join(logs, "a.csv"), 1, 2, 900_000)
	night(exitFine, "left aside: the events")
	if count("events", "2023-11-14") != 0 {
		t.Error("more of a log brought its day back")
	}
	idle = stamps(t, out)
	night(exitFine, "nothing new")
	if diff := cmp.Diff(idle, stamps(t, out)); diff != "" {
		t.Errorf("more of a log of a closed day was read again:\n%s", diff)
	}
	in(t, exitFine, "features", "--lake", filepath.Join(out, "lake"), "--quiet")
	in(t, exitFine, "verify", filepath.Join(out, "lake"), "--quiet")
	for name, text := range tree(t, filepath.Join(out, "lake", "labels")) {
		if old, known := labels[name]; known && old != text {
			t.Errorf("%s: another, after the events that it was made of went", name)
		}
	}
}

// Small parts of a finished day are merged, and nothing else changes: rows,
// windows and labels are those of a lake that merges nothing, also when a log of
// that day grows, and when the merged file is damaged and repaired.
func TestNightlyCompact(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector, which has others of its kind")
	}
	dir := t.TempDir()
	logs := filepath.Join(dir, "logs")
	if err := os.Mkdir(logs, 0o777); err != nil {
		t.Fatal(err)
	}
	write := func(i int, size int64) {
		t.Helper()
		path := filepath.Join(logs, fmt.Sprintf("%02d.csv", i))
		eventFile(t, path, 1, 2, size)
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if i%2 == 1 { // without two columns
			b = bytes.ReplaceAll(b, []byte(",queue_ns,latency_ns,error\n"), []byte(",latency_ns\n"))
			b = regexp.MustCompile(`,1000,([0-9]+),0\n`).ReplaceAll(b, []byte(",$1\n"))
		}
		if err := os.WriteFile(path, fmt.Appendf(nil, "# %d\n%s", i, b), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	merged, plain := filepath.Join(dir, "merged"), filepath.Join(dir, "plain")
	night := func() {
		t.Helper()
		in(t, exitFine, "nightly", logs, "--out", merged, "--quiet")
		t.Setenv("IOPATHY_COMPACT", "false")
		in(t, exitFine, "nightly", logs, "--out", plain, "--quiet")
		t.Setenv("IOPATHY_COMPACT", "true")
	}
	files := func() []string {
		t.Helper()
		all, err := filepath.Glob(filepath.Join(merged, "lake", "events", "date=2023-11-14", "*", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	same := func(when string) {
		t.Helper()
		for _, table := range []string{lake.Windows, lake.Ticks, lake.Labels} {
			want, got := tree(t, filepath.Join(plain, "lake", table)), tree(t, filepath.Join(merged, "lake", table))
			if len(want) == 0 || !maps.Equal(want, got) {
				t.Errorf("%s: %s are others than without merging", when, table)
			}
		}
		in(t, exitFine, "verify", filepath.Join(merged, "lake"), "--quiet")
	}
	for i := range 6 {
		write(i, 100_000+int64(i)*2000)
	}
	night()
	if len(files()) != 6 {
		t.Errorf("%d files of the newest day, want 6", len(files()))
	}
	eventFile(t, filepath.Join(logs, "next.csv"), 25, 2, 100_000)
	night()
	if f := files(); len(f) != 1 || !strings.Contains(f[0], "bundle-") {
		t.Fatalf("a finished day has %v", f)
	}
	same("merged")
	idle := stamps(t, merged)
	night()
	if diff := cmp.Diff(idle, stamps(t, merged)); diff != "" {
		t.Errorf("nothing new, and files changed:\n%s", diff)
	}
	write(3, 300_000)
	night()
	if len(files()) != 1 {
		t.Errorf("after a log has grown its day has %v", files())
	}
	same("after a log has grown")

	bundle := files()[0]
	b, err := os.ReadFile(bundle)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 0x55
	if err := os.WriteFile(bundle, b, 0o666); err != nil {
		t.Fatal(err)
	}
	in(t, exitFailed, "verify", filepath.Join(merged, "lake"), "--quiet")
	in(t, exitFine, "ingest", "--repair", logs, "--lake", filepath.Join(merged, "lake"), "--quiet")
	in(t, exitFine, "verify", filepath.Join(merged, "lake"), "--quiet")
	if len(files()) != 6 {
		t.Errorf("after the repair of all parts there are %v", files())
	}
	night()
	if len(files()) != 1 {
		t.Errorf("the night after a repair leaves %v", files())
	}
	same("after a repair")
}
