package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/iopathy/iopathy/ingest/lake"
)

// tables gives the files of tables of a lake.
func tables(t *testing.T, out string, names ...string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, table := range names {
		for name, text := range tree(t, filepath.Join(out, "lake", table)) {
			all[table+"/"+name] = text
		}
	}
	if len(all) == 0 {
		t.Fatalf("%s holds nothing of %v", out, names)
	}
	return all
}

// columns gives the values of columns of whole numbers of a file of rows, by its own
// footer: no manifest is asked.
func columns(t *testing.T, path string, names ...string) [][]int64 {
	t.Helper()
	r, err := lake.Open(path, names)
	if err != nil {
		t.Fatal(err)
	}
	out := make([][]int64, len(names))
	for {
		cols, _, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range cols {
			out[i] = append(out[i], c.Data.([]int64)...)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return out
}

// spoil changes a byte in the midst of the only file of a pattern.
func spoil(t *testing.T, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v, %v", pattern, files, err)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 0x55
	if err := os.WriteFile(files[0], b, 0o666); err != nil {
		t.Fatal(err)
	}
	return files[0]
}

// TestDrillDamage damages a part of the day that a late log makes anew: where its
// log is still there the night writes it anew, and leaves what it would have left
// without; where not it puts it aside, says so, and what was said of the day stays.
func TestDrillDamage(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector, which has others of its kind")
	}
	dir := t.TempDir()
	logs, out, calm := filepath.Join(dir, "logs"), filepath.Join(dir, "out"), filepath.Join(dir, "calm")
	if err := os.Mkdir(logs, 0o777); err != nil {
		t.Fatal(err)
	}
	size := soak(t, "IOPATHY_SOAK_MISHAP_BYTES", 150_000)
	log := func(name string, seed uint64) { headed(t, filepath.Join(logs, name), name, seed, 2, size) }
	rows := []string{lake.Events, lake.Windows, lake.Ticks, lake.Labels}
	log("a.csv", 1)
	in(t, exitFine, "nightly", logs, "--out", out, "--quiet")
	in(t, exitFine, "nightly", logs, "--out", calm, "--quiet")
	log("late.csv", 1)
	spoil(t, filepath.Join(out, "lake", "events", "*", "*", "*.parquet"))
	_, words := in(t, exitFine, "nightly", logs, "--out", out)
	if !strings.Contains(words, "is damaged") || !strings.Contains(words, "repaired: events/") {
		t.Errorf("the night says nothing of damage and repair: %s", words)
	}
	in(t, exitFine, "nightly", logs, "--out", calm, "--quiet")
	if !maps.Equal(tables(t, calm, rows...), tables(t, out, rows...)) {
		t.Error("a night that mended leaves something else than one that had nothing to mend")
	}
	in(t, exitFine, "verify", filepath.Join(out, "lake"), "--quiet")

	labels := tables(t, out, lake.Labels)
	if err := os.Remove(filepath.Join(logs, "a.csv")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(logs, "late.csv")); err != nil {
		t.Fatal(err)
	}
	bad := spoil(t, filepath.Join(out, "lake", "events", "*", "*", "*.parquet"))
	log("later.csv", 1)
	_, words = in(t, exitFine, "nightly", logs, "--out", out)
	if !strings.Contains(words, "quarantine: events/") {
		t.Errorf("the night says nothing of a quarantine: %s", words)
	}
	aside := strings.Replace(bad, filepath.Join(out, "lake"), filepath.Join(out, "lake", "quarantine"), 1)
	if !exists(aside) || exists(bad) {
		t.Errorf("%s is not in quarantine", bad)
	}
	if !maps.Equal(labels, tables(t, out, lake.Labels)) {
		t.Error("what was said of the day before its rows were damaged is another")
	}
	in(t, exitFine, "verify", filepath.Join(out, "lake"), "--quiet")
	idle := stamps(t, out)
	in(t, exitFine, "nightly", logs, "--out", out, "--quiet")
	if d := cmp.Diff(idle, stamps(t, out)); d != "" {
		t.Errorf("the night after a quarantine, with nothing new, changed files:\n%s", d)
	}
}

// TestDrillSettings asks for another window between two nights: what there is stays
// readable and as it is, the night says what must be made anew, and that makes
// what a lake has that always had it.
func TestDrillSettings(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector, which has others of its kind")
	}
	dir := t.TempDir()
	logs, out, other := filepath.Join(dir, "logs"), filepath.Join(dir, "out"), filepath.Join(dir, "other")
	if err := os.Mkdir(logs, 0o777); err != nil {
		t.Fatal(err)
	}
	size := soak(t, "IOPATHY_SOAK_MISHAP_BYTES", 200_000)
	log := func(name string, seed uint64) { headed(t, filepath.Join(logs, name), name, seed, 2, size) }
	log("a.csv", 1)
	in(t, exitFine, "nightly", logs, "--out", out, "--quiet")
	before := tables(t, out, lake.Windows, lake.Labels, lake.Ticks)
	log("b.csv", 25)
	wide := []string{"--window", "20s", "--tick", "200ms"}
	_, words := in(t, exitFine, append([]string{"nightly", logs, "--out", out}, wide...)...)
	if !strings.Contains(words, "1 host-days of 2023-11-14 to 2023-11-14 have windows of another length (10s with ticks of 100ms)") || !strings.Contains(words, "iopathy features") {
		t.Errorf("the night does not say what must be made anew: %s", words)
	}
	after := tables(t, out, lake.Windows, lake.Labels, lake.Ticks)
	for name, text := range before {
		if after[name] != text {
			t.Errorf("%s is another", name)
		}
	}
	in(t, exitFine, append([]string{"features", "--lake", filepath.Join(out, "lake"), "--quiet"}, wide...)...)
	in(t, exitFine, append([]string{"nightly", logs, "--out", other, "--quiet"}, wide...)...)
	if !maps.Equal(tables(t, other, lake.Windows, lake.Ticks), tables(t, out, lake.Windows, lake.Ticks)) {
		t.Error("made anew, the windows are others than of a lake that always had these settings")
	}
}

// TestDrillTiny is a night of very many logs of some lines, merged the night after: every
// row counts once, and one who reads the files alone sees the same.
func TestDrillTiny(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	n := int(soak(t, "IOPATHY_SOAK_TINY", 200))
	dir := t.TempDir()
	logs, out := filepath.Join(dir, "logs"), filepath.Join(dir, "out")
	if err := os.Mkdir(logs, 0o777); err != nil {
		t.Fatal(err)
	}
	const each = 20
	for i := range n {
		var b bytes.Buffer
		fmt.Fprintf(&b, "# %d\ntime_ns,host,device,op,offset_bytes,size_bytes,latency_ns\n", i)
		for k := range each {
			fmt.Fprintf(&b, "%d,h%d,sda,R,%d,4096,%d\n", 1_700_000_000_000_000_000+int64(i)*2_000_000_000+int64(k)*90_000_000, i%4, (i*each+k)*4096, 200_000+i)
		}
		if err := os.WriteFile(filepath.Join(logs, fmt.Sprintf("%05d.csv", i)), b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	first, took := peak(t, "nightly", logs, "--out", out, "--quiet")
	headed(t, filepath.Join(logs, "next.csv"), "next", 49, 2, 100_000)
	second, again := peak(t, "nightly", logs, "--out", out, "--quiet")
	files, err := filepath.Glob(filepath.Join(out, "lake", "events", "date=2023-11-1[45]", "*", "*.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d logs: the night took %.1f s and %d MiB, the one that merges them %.1f s and %d MiB; %d files are left", n, took.Seconds(), first>>20, again.Seconds(), second>>20, len(files))
	if max(first, second) > memoryBound {
		t.Errorf("peak memory %d MiB is over %d MiB", max(first, second)>>20, memoryBound>>20)
	}
	if len(files) > n/10 {
		t.Errorf("%d files of %d logs after the night that merges them", len(files), n)
	}
	seen := map[int64]bool{}
	for _, f := range files { // as they lie there, without manifests
		for _, offset := range columns(t, f, "offset_bytes")[0] {
			if seen[offset] {
				t.Fatalf("the row at %d is there twice", offset)
			}
			seen[offset] = true
		}
	}
	if len(seen) != n*each {
		t.Errorf("%d rows, of %d", len(seen), n*each)
	}
	must(t, "verify", filepath.Join(out, "lake"), "--quiet")
}

// TestDrillRotation turns a log over while a night reads it, in both ways that
// logrotate knows: with the next night the lake holds each of its rows once.
func TestDrillRotation(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	before := soak(t, "IOPATHY_SOAK_MISHAP_BYTES", 2_500_000)
	t.Setenv("IOPATHY_INGEST_CHUNK_BYTES", fmt.Sprint(before/10))
	for _, how := range []string{"copytruncate", "rename"} {
		dir := t.TempDir()
		logs, out, calm := filepath.Join(dir, "logs"), filepath.Join(dir, "out"), filepath.Join(dir, "calm")
		if err := os.Mkdir(logs, 0o777); err != nil {
			t.Fatal(err)
		}
		live, turned := filepath.Join(logs, "io.csv"), filepath.Join(logs, "io.csv.1")
		headed(t, live, "first", 1, 3, before)
		cmd := iopathy(t, "nightly", logs, "--out", out, "--quiet", "--workers", "1")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for i := 0; ; i++ { // it is in the midst of the log
			if parts, _ := filepath.Glob(filepath.Join(out, "lake", "events", "*", "*", "*-00001.parquet")); len(parts) > 0 {
				break
			}
			if i == 3000 {
				t.Fatal("no second part after 30 s")
			}
			time.Sleep(10 * time.Millisecond)
		}
		if how == "rename" {
			if err := os.Rename(live, turned); err != nil {
				t.Fatal(err)
			}
		} else {
			b, err := os.ReadFile(live)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(turned, b, 0o666); err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(live, 0); err != nil {
				t.Fatal(err)
			}
		}
		headed(t, live, "second", 2, 3, 300_000)
		if err := cmd.Wait(); err != nil && cmd.ProcessState.ExitCode() != exitRejects { // a torn line is told
			t.Fatalf("%s: %v", how, err)
		}
		must(t, "nightly", logs, "--out", out, "--quiet")
		must(t, "nightly", logs, "--out", calm, "--quiet")
		if !maps.Equal(tables(t, calm, lake.Events, lake.Windows, lake.Labels), tables(t, out, lake.Events, lake.Windows, lake.Labels)) {
			t.Errorf("%s: the lake is another than of logs that nobody turned over", how)
		}
		t.Logf("%s of a log of %d kB in the midst of a night: each of its rows is in the lake once", how, before/1000)
		must(t, "verify", filepath.Join(out, "lake"), "--quiet")
	}
}
