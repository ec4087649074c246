package formats

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

// traceSum is what the events of one kind and operation come to.
type traceSum struct{ n, bytes, latencyNS, driverNS int64 }

type traceKey struct {
	kind ingest.LatencyKind
	op   ingest.Op
}

// sharedTrace decodes a recording and sums its events.
func sharedTrace(t *testing.T, f ingest.Format, o ingest.Options, path ...string) (*ingest.Out, map[traceKey]traceSum) {
	t.Helper()
	data := sharedFile(t, append([]string{"samples"}, path...)...)
	dec, err := f.Lines(&ingest.Source{Host: "h", Options: o})
	if err != nil {
		t.Fatal(err)
	}
	out := new(ingest.Out)
	feedBlkparse(dec, data, out)
	checkSums(t, out)
	sums := make(map[traceKey]traceSum)
	for _, e := range out.Events {
		k := traceKey{e.Kind, e.Op}
		s := sums[k]
		s.n++
		s.bytes += e.SizeBytes
		s.latencyNS += e.LatencyNS
		s.driverNS += e.LatencyNS - max(e.QueueNS, 0)
		sums[k] = s
	}
	if out.Tally.Rejected() != 0 {
		t.Errorf("%s: %s", path[len(path)-1], tallyText(out))
	}
	return out, sums
}

// Run A by the kernel's counters: 1513 reads of 18,726,912 bytes, 1176 writes
// of 26,691,584. Issue to complete by the pairs of this trace: 203.9 us and
// 1188.7 us. Run C: 304 reads, 155 writes; 177.0 us in ftrace, 185.1 us in perf.
func TestKernelTraceRuns(t *testing.T) {
	check := func(f ingest.Format, kind ingest.LatencyKind, op ingest.Op, n, bytes int64, driverUS float64, path ...string) {
		t.Helper()
		_, sums := sharedTrace(t, f, ingest.Options{}, path...)
		s := sums[traceKey{kind, op}]
		if s.n != n || s.bytes != bytes {
			t.Errorf("%s: %d %s %s of %d bytes, want %d of %d", path[1], s.n, kind, op, s.bytes, n, bytes)
		}
		if mean := float64(s.driverNS) / float64(s.n) / 1e3; driverUS > 0 && math.Abs(mean/driverUS-1) > 0.001 {
			t.Errorf("%s: mean %s %s %.2f us, want %.1f", path[1], kind, op, mean, driverUS)
		}
	}
	const (
		q2c, call          = ingest.KindQ2C, ingest.KindSyscall
		read, write, flush = ingest.OpRead, ingest.OpWrite, ingest.OpFlush
	)
	runA := []string{"ftrace", "runA-ftrace.trace_pipe.txt.gz"}
	check(Ftrace, q2c, read, 1513, 18726912, 203.9, runA...)
	check(Ftrace, q2c, write, 1176, 26691584, 1188.7, runA...)
	check(Ftrace, q2c, flush, 94, 0, 0, runA...)
	out, _ := sharedTrace(t, Ftrace, ingest.Options{}, runA...)
	got, inserted := 0, 0
	for _, e := range out.Events {
		if e.SizeBytes > 0 && e.GetNS >= 0 {
			got++
		}
		if e.SizeBytes > 0 && e.InsertNS >= 0 {
			inserted++
		}
	}
	if got != 2689 || inserted != 47 { // as many as btt has Q2G and I2D of
		t.Errorf("%d requests tell when they were made, %d when inserted", got, inserted)
	}
	runC := []string{"ftrace", "runC-ftrace-block+syscalls.trace_pipe.txt.gz"}
	check(Ftrace, q2c, read, 304, 3325952, 177.0, runC...)
	check(Ftrace, q2c, write, 155, 2348032, 0, runC...)
	check(Ftrace, call, flush, 41, 0, 0, runC...)
	for _, name := range []string{"runC-perf.script.txt", "runC-perf.script-ns-F.txt", "runC-perf.script-header.txt"} {
		check(PerfScript, q2c, read, 304, 3325952, 185.1, "perf-script", name)
		check(PerfScript, q2c, write, 155, 2348032, 0, "perf-script", name)
	}
}

// Run A in perf has no block_rq_issue: what is known is the time from queue
// to completion, and nothing of the driver's. Five completions are missing
// from the recording, and without issues its 94 flushes have no begin.
func TestPerfScriptWithoutIssue(t *testing.T) {
	out, sums := sharedTrace(t, PerfScript, ingest.Options{}, "perf-script", "runA-perf.script.txt.gz")
	for _, e := range out.Events {
		if e.Kind != ingest.KindQ2C || e.QueueNS != ingest.Missing {
			t.Fatalf("%s of %s, queue %d: nothing tells when it was issued", e.Op, e.Kind, e.QueueNS)
		}
	}
	// Of the 1513 requests 7 are parts of 2 bios that were split.
	if r := sums[traceKey{ingest.KindQ2C, ingest.OpRead}]; r.n != 1513-7+2-5 || r.bytes != 18726912-5*4096 {
		t.Errorf("reads %+v", r)
	}
	if w := sums[traceKey{ingest.KindQ2C, ingest.OpWrite}]; w.n != 1176 || w.bytes != 26691584 {
		t.Errorf("writes %+v", w)
	}
	if u := out.Tally.Unpaired; u[blkNeverIssued] != 5 || u[blkNoIssue] != 94 || len(u) != 2 {
		t.Errorf("unpaired %v", u)
	}
}

// The program of run C makes 300 direct preadv2 of 4096 bytes, each of which
// is one block read, 32 pwritev2 of 65536, and 40 writes of 700 with fdatasync.
func TestTracedCalls(t *testing.T) {
	for _, x := range []struct {
		f             ingest.Format
		path          []string
		preads        int
		pwrites       int
		small, synced int
	}{
		{Ftrace, []string{"ftrace", "runC-ftrace-block+syscalls.trace_pipe.txt.gz"}, 300, 32, 40, 41},
		{PerfTrace, []string{"perf-script", "runC-perf-trace.txt"}, 300, 32, 40, 41},
		{PerfTrace, []string{"perf-script", "runC-perf-trace-T.txt"}, 0, 0, 40, 41}, // read, write and fdatasync alone were traced
	} {
		out, _ := sharedTrace(t, x.f, ingest.Options{}, x.path...)
		var preads, pwrites, small, synced int
		for _, e := range out.Events {
			if e.Kind != ingest.KindSyscall {
				continue
			}
			if got := out.Names.String(e.Device); got != "syscall:iowork" {
				t.Fatalf("device %q", got)
			}
			switch {
			case e.Op == ingest.OpRead && e.SizeBytes == 4096 && e.OffsetBytes >= 0:
				preads++
			case e.Op == ingest.OpWrite && e.SizeBytes == 65536 && e.OffsetBytes >= 0:
				pwrites++
			case e.Op == ingest.OpWrite && e.SizeBytes == 700 && e.OffsetBytes == ingest.Missing:
				small++
			case e.Op == ingest.OpFlush:
				synced++
			}
		}
		if preads != x.preads || pwrites != x.pwrites || small != x.small || synced != x.synced {
			t.Errorf("%s: %d preadv2, %d pwritev2, %d write, %d fdatasync; want %d, %d, %d, %d",
				x.path[1], preads, pwrites, small, synced, x.preads, x.pwrites, x.small, x.synced)
		}
		if out.Tally.UnpairedLines() != 0 {
			t.Errorf("%s: %s", x.path[1], tallyText(out))
		}
	}
}

// The header of perf script tells the epoch of its stamps. The clocks read
// beside run C have real - monotonic = 1795953392.573154 s; perf's own pair of
// stamps has microseconds. What the user says goes first.
func TestPerfScriptAnchor(t *testing.T) {
	path := []string{"perf-script", "runC-perf.script-header.txt"}
	out, _ := sharedTrace(t, PerfScript, ingest.Options{}, path...)
	e := out.Events[0]
	const want = 1795953392573154000 + 2095940225000 // the first completion
	if d := e.TimeNS - want; d < -1e6 || d > 1e6 {
		t.Errorf("first completion is %d ns off", d)
	}
	if got := out.Names.String(e.Host); got != "vm" {
		t.Errorf("host %q, want the header's", got)
	}
	out, _ = sharedTrace(t, PerfScript, ingest.Options{StartNS: 1e18}, path...)
	if got := out.Events[0].TimeNS; got != 1e18+2095940225000 {
		t.Errorf("with a start: %d", got)
	}
}

// Each recording is claimed by its own format alone, and no other recording by
// one of these.
func TestKernelTraceSniff(t *testing.T) {
	if testing.Short() {
		t.Skip("a decoder starts no goroutine: nothing for the race detector")
	}
	root := filepath.Join("..", "..", "..", "shared", "samples")
	if _, err := os.Stat(root); err != nil {
		t.Skip("recordings absent: " + root)
	}
	ours := map[string]bool{"ftrace": true, "trace-cmd": true, "perf-script": true, "perf-trace": true}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		want := ""
		switch base := filepath.Base(path); {
		case filepath.Dir(rel) == "ftrace":
			want = "ftrace"
		case strings.Contains(base, "perf-trace"):
			want = "perf-trace"
		case strings.Contains(base, "perf.script"):
			want = "perf-script"
		}
		head := sharedFile(t, append([]string{"samples"}, strings.Split(filepath.ToSlash(rel), "/")...)...)
		head = head[:min(len(head), ingest.SniffBytes)]
		for _, f := range ingest.Formats() {
			sure := f.Sniff(head, path)
			switch {
			case f.Name == want && sure != 2:
				t.Errorf("%s: %s claims it by %d, want 2", rel, f.Name, sure)
			case f.Name != want && sure > 0 && (want != "" || ours[f.Name]):
				t.Errorf("%s is claimed by %s (%d)", rel, f.Name, sure)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestCallResult(t *testing.T) {
	check := func(text string, want int64, ok bool) {
		t.Helper()
		if got, good := callResult([]byte(text)); got != want || good != ok {
			t.Errorf("%q is %d %v, want %d %v", text, got, good, want, ok)
		}
	}
	check(" 0x1000", 4096, true)
	check("832", 832, true)
	check("-5", -5, true)
	check("0xfffffffffffffffb", -5, true) // 64 bits
	check("0xfffffffb", -5, true)         // 32 bits
	check("0x7ffff000", 0x7ffff000, true) // MAX_RW_COUNT
	check("0x100000000", 0, false)
	check("0xfffffffffffff000", 0, false) // -4096 is no errno
	check("", 0, false)
	check("0x", 0, false)
	check("0x10 dd-700", 0, false)
	check("18446744073709551616", 0, false)
}

// One recording (Linux 6.18, trace-cmd 3.1.6 extract of an instance; fio and dd on
// a loop device), told by trace-cmd report, by report -l and by the instance's
// own trace: the rows are the same but for where they stand.
func TestTraceCmdTellsWhatFtraceTells(t *testing.T) {
	rows := func(format, name string) string {
		var b strings.Builder
		for _, s := range shelf(t) {
			if s.path == "testdata/"+format+"/"+name {
				s.o.Host = "h"
				for line := range strings.Lines(read(t, s, 1, nil).rows) {
					row, _, _ := strings.Cut(line, " @")
					fmt.Fprintln(&b, row)
				}
			}
		}
		return b.String()
	}
	want := rows("ftrace", "recorded.log")
	if n := strings.Count(want, "event "); n < 10 {
		t.Fatalf("only %d events:\n%s", n, want)
	}
	for _, name := range []string{"recorded.log", "recorded-l.log"} {
		if got := rows("trace-cmd", name); got != want {
			t.Errorf("%s: %s", name, firstDifference(want, got))
		}
	}
}
