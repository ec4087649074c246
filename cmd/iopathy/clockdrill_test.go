package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/iopathy/iopathy/ingest/lake"
)

// setBack writes a CSV of events, ten a second, whose clock is set back by an hour in
// its midst: of the rows before that, or of all. It says how many these are.
func setBack(t *testing.T, path string, size int64, all bool) (rows int64) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	fmt.Fprintln(w, "time_ns,host,device,op,offset_bytes,size_bytes,latency_ns")
	rng := rand.New(rand.NewPCG(71, 72))
	now, step := int64(1_700_000_000_000_000_000), int64(100_000_000)
	if size > 10_000_000 {
		step /= 20 // the same hours, at 200 a second
	}
	for written, half := int64(0), false; written < size; {
		now += rng.Int64N(2 * step)
		if !half && written >= size/2 {
			half = true
			now -= time.Hour.Nanoseconds()
			if !all {
				break
			}
		}
		n, err := fmt.Fprintf(w, "%d,h,sd%c,%c,%d,4096,%d\n", now, 'a'+rng.IntN(3), "RW"[rng.IntN(2)], rng.Int64N(1<<20)*4096, 200_000+rng.Int64N(300_000))
		if err != nil {
			t.Fatal(err)
		}
		written += int64(n)
		rows++
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return rows
}

// columnSum adds up columns of the live parts of a table; rows counts them.
func columnSum(t *testing.T, dir, table string, names ...string) (sum, rows int64) {
	t.Helper()
	manifests, err := lake.Manifests(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range lake.Parts(manifests, table) {
		for i, values := range columns(t, filepath.Join(dir, filepath.FromSlash(p.Path)), names...) {
			if i == 0 {
				rows += int64(len(values))
			}
			for _, v := range values {
				sum += v
			}
		}
	}
	return sum, rows
}

// TestDrillClockLog reads a log whose clock is set back by an hour, first up to there
// and then to its end: each of its rows is in the lake and in the ticks once, the lake is that
// of one reading, and the reports say it.
func TestDrillClockLog(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector, which has others of its kind")
	}
	size := soak(t, "IOPATHY_SOAK_CLOCK_BYTES", 3_500_000)
	dir := t.TempDir()
	logs, out, calm := filepath.Join(dir, "logs"), filepath.Join(dir, "out"), filepath.Join(dir, "calm")
	if err := os.Mkdir(logs, 0o777); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(logs, "io.csv")
	t.Setenv("IOPATHY_INGEST_CHUNK_BYTES", fmt.Sprint(size/7)) // the step is within a chunk, and others are behind it
	setBack(t, path, size, false)
	_, words := in(t, exitFine, "nightly", logs, "--out", out)
	if strings.Contains(words, "set back") {
		t.Errorf("before the step: %s", words)
	}
	rows := setBack(t, path, size, true)
	_, words = in(t, exitFine, "nightly", logs, "--out", out)
	const says = "io.csv: its clock is set back by 59m59"
	if !strings.Contains(words, says) {
		t.Errorf("the night says nothing of the clock: %s", words)
	}
	dates, err := filepath.Glob(filepath.Join(out, "nights", "*", "report.json"))
	if err != nil || len(dates) == 0 {
		t.Fatal(dates, err)
	}
	for _, report := range dates {
		if b, err := os.ReadFile(report); err != nil || !strings.Contains(string(b), says) {
			t.Errorf("%s says nothing of the clock; %v", report, err)
		}
	}
	in(t, exitFine, "nightly", logs, "--out", calm, "--quiet")
	kept := []string{lake.Events, lake.Ticks, lake.Windows, lake.Labels}
	if !maps.Equal(tables(t, calm, kept...), tables(t, out, kept...)) {
		t.Error("read in two nights, the lake is another than read in one")
	}
	dirOf := filepath.Join(out, "lake")
	if _, n := columnSum(t, dirOf, lake.Events, "time_ns"); n != rows {
		t.Errorf("%d rows of %d lines", n, rows)
	}
	if n, _ := columnSum(t, dirOf, lake.Ticks, "reads", "writes"); n != rows {
		t.Errorf("the ticks have %d requests, of %d", n, rows)
	}
	t.Logf("%d MB, %d rows: all in the lake and in the ticks, once", size/1e6, rows)
	// A report that is made of the lake alone says it, too.
	in(t, exitFine, "report", "--lake", dirOf, "--out", filepath.Join(dir, "report"), "--quiet")
	if b, err := os.ReadFile(filepath.Join(dir, "report", "report.json")); err != nil || !strings.Contains(string(b), says) {
		t.Errorf("the report says nothing of the clock; %v", err)
	}
	in(t, exitFine, "verify", dirOf, "--quiet")
}

// TestDrillClockMachine sets the machine's clock back between nights, once to the very
// moment of an earlier one: what they leave is what nights leave whose clock only
// goes on.
func TestDrillClockMachine(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector, which has others of its kind")
	}
	dir := t.TempDir()
	logs, back, on := filepath.Join(dir, "logs"), filepath.Join(dir, "back"), filepath.Join(dir, "on")
	if err := os.Mkdir(logs, 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv("IOPATHY_RETENTION_EVENTS", "72h")
	night := func(out string, at time.Time) {
		t.Helper()
		var words bytes.Buffer
		a := &app{stdin: strings.NewReader(""), stdout: io.Discard, stderr: &words, clock: func() time.Time { return at }}
		if code := a.run(context.Background(), []string{"nightly", logs, "--out", out, "--quiet"}); code != exitFine {
			t.Fatalf("exit code %d at %v: %s", code, at, words.String())
		}
	}
	// While the clock is wrong rows may stay longer than they would, or unmerged.
	said := func(out string) map[string]string {
		all := holdings(t, out)
		maps.DeleteFunc(all, func(name, _ string) bool { return strings.HasPrefix(name, "lake/events/") })
		return all
	}
	start := time.Date(2023, 11, 15, 0, 30, 0, 0, time.UTC) // after the first log, which ends 23:13 and is of the 14th
	size := soak(t, "IOPATHY_SOAK_CLOCK_NIGHT", 60_000)
	for day, steps := range [][]time.Duration{
		{0},
		{-time.Hour},                           // the evening before, again
		{0},                                    // the moment of the first night
		{48 * time.Hour, 47 * time.Hour},       // the second finds nothing new
		{-365 * 24 * time.Hour, 1 * time.Hour}, // the battery is flat: a year ago, and set right
		{6 * 24 * time.Hour},
		{6*24*time.Hour - time.Hour},
	} {
		name := fmt.Sprintf("%d.csv", day)
		headed(t, filepath.Join(logs, name), name, uint64(1+24*day), 2, size)
		for _, s := range steps {
			night(back, start.Add(s))
		}
		for range steps {
			night(on, start.AddDate(0, 0, day))
		}
		if err := os.Remove(filepath.Join(logs, name)); err != nil { // what a lake forgets is not found again
			t.Fatal(err)
		}
		if d := cmp.Diff(said(on), said(back)); d != "" {
			t.Errorf("night %d: other things are said than by a clock that goes on:\n%.2000s", day, d)
		}
	}
	night(back, start.AddDate(0, 0, 7))
	night(on, start.AddDate(0, 0, 7))
	if d := cmp.Diff(holdings(t, on), holdings(t, back)); d != "" {
		t.Errorf("once the clock is right the lake is another than of one that goes on:\n%.2000s", d)
	}
	in(t, exitFine, "verify", filepath.Join(back, "lake"), "--quiet")
}
