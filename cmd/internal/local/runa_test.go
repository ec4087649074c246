package local

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/ingest/lake"
)

// The clocks of run A, a recording of one workload by many tools: epoch less
// the monotonic clock, which ftrace and perf tell (read before the run), and the
// zeros of those that count from their start, found from the I/Os that both have.
const (
	runAEpoch    = int64(1795953392573155199)
	runAMono     = runAEpoch
	runABlktrace = runAEpoch + 1437_311_993_000
	runABiosnoop = runAEpoch + 1437_328_042_000
)

// runAFile is one tool's log, and what is known of it: SOURCES.md's oracles,
// counted by other means than ours.
type runAFile struct {
	glob                                 string
	start                                int64
	samples                              bool
	reads, writes, readBytes, writeBytes int64
	readUS, writeUS                      float64 // mean time in the device, issue to completion
}

var runAFiles = []runAFile{
	{glob: "blkparse/runA-loop0.blkparse.txt.gz", start: runABlktrace, reads: 1513, writes: 1176, readBytes: 18726912, writeBytes: 26691584, readUS: 211.3, writeUS: 1201.4},
	{glob: "blktrace/runA-loop0.blktrace.*.gz", start: runABlktrace, reads: 1513, writes: 1176, readBytes: 18726912, writeBytes: 26691584, readUS: 211.3, writeUS: 1201.4},
	{glob: "ftrace/runA-ftrace.trace_pipe.txt.gz", start: runAMono, reads: 1513, writes: 1176, readBytes: 18726912, writeBytes: 26691584, readUS: 203.9, writeUS: 1188.7},
	// bcc lost the five children of split requests.
	{glob: "biosnoop/runA-biosnoop-bcc-Qd.txt", start: runABiosnoop, reads: 1508, writes: 1176, readBytes: 18706432, writeBytes: 26691584, readUS: 256.7, writeUS: 1251.6},
	{glob: "diskstats/runA-diskstats.1s.txt", samples: true, reads: 1513, writes: 1176, readBytes: 18726912, writeBytes: 26691584},
	{glob: "iostat/runA-iostat-d-x-k-t-y.txt", samples: true, reads: 1513, writes: 1176, readBytes: 18726912, writeBytes: 26691584},
	{glob: "iostat/runA-iostat-x.TRUNCATED-or-closed.json", samples: true, reads: 1513, writes: 1176, readBytes: 18726912, writeBytes: 26691584},
	{glob: "sar/runA-sadf-d.csv", samples: true, reads: -1, writes: -1, readBytes: 18726912, writeBytes: 26691584},
	{glob: "sar/runA-sadf-j.json", samples: true, reads: -1, writes: -1, readBytes: 18726912, writeBytes: 26691584},
}

// ingestRunA reads a log of run A into a shelf's lake.
func ingestRunA(t *testing.T, s *shelf, samplesDir string, f *runAFile) *Ingested {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(samplesDir, filepath.FromSlash(f.glob)))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s: %v, %v", f.glob, paths, err)
	}
	dir := filepath.Join(t.TempDir(), "logs")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, p := range append(paths, "") {
		name, data := "partitions", []byte("major minor  #blocks  name\n\n   7 0 262144 loop0\n")
		if p != "" {
			name = filepath.Base(p)
			if data, err = os.ReadFile(p); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	j := s.job()
	j.Config.Ingest.Host, j.Config.Ingest.StartNS = "vm", f.start
	in, err := j.Ingest(context.Background(), []string{dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// TestRunA holds one workload, seen by many tools, against what is known of it,
// and the sum of all tools against one of them.
func TestRunA(t *testing.T) {
	samples := filepath.Join("..", "..", "..", "..", "shared", "samples")
	if _, err := os.Stat(samples); err != nil {
		t.Skip("the recordings are not here: ", err)
	}
	all := newShelf(t)
	alone := map[string][]features.Window{}
	for i := range runAFiles {
		f := &runAFiles[i]
		s := newShelf(t)
		in := ingestRunA(t, s, samples, f)
		ingestRunA(t, all, samples, f)
		if f.samples {
			f.checkSamples(t, s)
		} else {
			f.checkEvents(t, s)
		}
		windows, _, err := listed(s.job().Features(context.Background(), nil))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range in.Reports {
			if r.Events > 0 {
				alone[r.Format] = windows
			}
		}
	}
	j := all.job()
	windows, _, err := listed(j.Features(context.Background(), nil))
	if err != nil {
		t.Fatal(err)
	}
	var of []features.Window
	var requests int64
	for i := range windows {
		if windows[i].Device == "loop0" {
			of = append(of, windows[i])
			requests += windows[i].Requests
		}
	}
	if requests != 1513+1176+94 { // and the flushes
		t.Errorf("all tools: %d requests", requests)
	}
	sources, err := j.deviceSources()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range sources {
		if d.Device != "loop0" {
			continue
		}
		used := ""
		for _, r := range d.Recordings {
			if r.UsedNS > 0 {
				used += r.Format
			}
			if c := r.Check; r.UsedNS == 0 && r.Rank != features.RankSamples.String() && (c.UsedRequests != 2689 || c.Requests < 2684 || c.Requests > 2689) {
				t.Errorf("%s: cross-check %+v", r.Format, c)
			}
		}
		if fmt.Sprint(of) != fmt.Sprint(alone[used]) {
			t.Errorf("all tools, of which %q is used:\n%.800v\nalone:\n%.800v", used, of, alone[used])
		}
	}
}

// TestRunATogether: all tools of run A in one directory, with the clocks that were read
// beside them, without them, and without a host: the disk counts once, as the block trace
// saw it.
func TestRunATogether(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector")
	}
	samples := filepath.Join("..", "..", "..", "..", "shared", "samples")
	if _, err := os.Stat(samples); err != nil {
		t.Skip("the recordings are not here: ", err)
	}
	check := func(host string, globs ...string) {
		t.Helper()
		s := newShelf(t)
		s.put("partitions", "major minor  #blocks  name\n\n   7 0 262144 loop0\n")
		for _, glob := range globs {
			paths, err := filepath.Glob(filepath.Join(samples, filepath.FromSlash(glob)))
			if err != nil || len(paths) == 0 {
				t.Fatalf("%s: %v", glob, err)
			}
			for _, p := range paths {
				data, err := os.ReadFile(p)
				if err != nil {
					t.Fatal(err)
				}
				s.put(filepath.Base(p), string(data))
			}
		}
		o := s.outcome(t, host, 2)
		for _, r := range o.in.Reports {
			// The zero of each by way of the clocks that were read, to their second of counters at worst.
			want := map[string]int64{"blkparse": runABlktrace, "blktrace": runABlktrace, "biosnoop": runABiosnoop, "ftrace": runAMono, "perf-script": runAMono}[r.Format]
			if want != 0 && !near(r.Clock.StartNS+r.Clock.OffsetNS, want, 1e9) {
				t.Errorf("%s: clock %q", r.Format, r.Clock)
			}
		}
		var requests, bytes int64
		for i := range o.windows {
			w := &o.windows[i]
			if w.Device != "loop0" {
				continue
			}
			if w.Host != "vm" || w.StartNS < runABlktrace-60e9 || w.EndNS > runABlktrace+60e9 {
				t.Errorf("a window of %s/loop0 at %d", w.Host, w.StartNS)
			}
			requests += w.Requests
			bytes += int64(bytesOf(w) + 0.5)
		}
		const n, volume = 1513 + 1176 + 94, 18726912 + 26691584 // reads, writes, flushes: SOURCES.md
		if requests != n || !near(bytes, volume, 10) {
			t.Errorf("host %q: %d requests of %d bytes, want %d of %d", host, requests, bytes, n, volume)
		}
	}
	logs := []string{
		"blkparse/runA-loop0.blkparse.txt.gz", "blktrace/runA-loop0.blktrace.*.gz", "ftrace/runA-*", "perf-script/runA-*", "biosnoop/runA-*",
		"diskstats/runA-*", "iostat/runA-iostat-*", "sar/runA-sadf-d.csv", "fio-log/runA-fio_lat.*", "prometheus/runA-qr-node_disk-all.json",
	}
	check("vm", append(logs, "runA/clocks.*")...)
	check("vm", logs...)
	check("", logs...)
}

func (f *runAFile) checkEvents(t *testing.T, s *shelf) {
	t.Helper()
	var n, bytes [ingest.OpDiscard + 1]int64
	var ns [ingest.OpDiscard + 1]float64
	err := eachEvent(s.lake, func(e *ingest.Event) {
		n[e.Op]++
		bytes[e.Op] += max(e.SizeBytes, 0)
		took := e.LatencyNS
		if e.Kind == ingest.KindQ2C {
			took -= max(e.QueueNS, 0)
		}
		ns[e.Op] += float64(took)
	})
	if err != nil {
		t.Fatal(err)
	}
	const r, w = ingest.OpRead, ingest.OpWrite
	if n[r] != f.reads || n[w] != f.writes || bytes[r] != f.readBytes || bytes[w] != f.writeBytes {
		t.Errorf("%s: %d reads of %d bytes, %d writes of %d; want %d of %d, %d of %d", f.glob, n[r], bytes[r], n[w], bytes[w], f.reads, f.readBytes, f.writes, f.writeBytes)
	}
	if us := ns[r] / float64(n[r]) / 1e3; math.Abs(us-f.readUS) > 0.1 {
		t.Errorf("%s: reads take %.1f us, want %.1f", f.glob, us, f.readUS)
	}
	if us := ns[w] / float64(n[w]) / 1e3; math.Abs(us-f.writeUS) > 0.1 {
		t.Errorf("%s: writes take %.1f us, want %.1f", f.glob, us, f.writeUS)
	}
}

// TestRunABpftrace: bpftrace's biosnoop.bt tells neither operations nor sizes. Its rows of
// the loop device were counted by awk: 2,684, those of bcc's, whose latencies of whole
// ms sum to 1,216; of the disk beneath, 254:0, it has 6,254.
func TestRunABpftrace(t *testing.T) {
	samples := filepath.Join("..", "..", "..", "..", "shared", "samples")
	if _, err := os.Stat(samples); err != nil {
		t.Skip("the recordings are not here: ", err)
	}
	s := newShelf(t)
	ingestRunA(t, s, samples, &runAFile{glob: "biosnoop/runA-biosnoop-bpftrace.txt.gz", start: runABiosnoop})
	n, ms := map[string]int64{}, int64(0)
	if err := eachEventOf(s.lake, func(device string, e *ingest.Event) {
		n[device]++
		if device == "loop0" {
			ms += e.LatencyNS / 1e6
		}
	}); err != nil {
		t.Fatal(err)
	}
	if n["loop0"] != 1508+1176 || ms != 1216 || n["dev:254:0"] != 6254 {
		t.Errorf("%v events, %d ms on loop0", n, ms)
	}
}

// eachEvent calls fn with every event of a lake.
func eachEvent(dir string, fn func(*ingest.Event)) error {
	return eachEventOf(dir, func(_ string, e *ingest.Event) { fn(e) })
}

// eachEventOf is eachEvent with the device's name.
func eachEventOf(dir string, fn func(device string, e *ingest.Event)) error {
	manifests, err := lake.Manifests(dir)
	if err != nil {
		return err
	}
	for _, p := range lake.Parts(manifests, lake.Events) {
		index, err := lake.NewIndex([]string{filepath.Join(dir, filepath.FromSlash(p.Path))})
		if err != nil {
			return err
		}
		for _, d := range index.Devices() {
			for _, s := range index.Streams(d, eventColumns) {
				var names ingest.Names
				e := eventStream{Stream: s, names: &names}
				for e.next() == nil {
					fn(d, e.head())
				}
			}
		}
	}
	return nil
}

func (f *runAFile) checkSamples(t *testing.T, s *shelf) {
	t.Helper()
	manifests, err := lake.Manifests(s.lake)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, p := range lake.Parts(manifests, lake.Samples) {
		paths = append(paths, filepath.Join(s.lake, filepath.FromSlash(p.Path)))
	}
	index, err := lake.NewIndex(paths)
	if err != nil {
		t.Fatal(err)
	}
	task := deviceTask{key: features.Key{Host: "vm", Device: "loop0"}, samples: index}
	groups, err := task.sampleGroups()
	if err != nil || len(groups) != 1 {
		t.Fatalf("%s: %d groups, %v", f.glob, len(groups), err)
	}
	var reads, writes, readBytes, writeBytes int64
	for _, x := range groups[0].all() {
		reads, writes = reads+x.Reads, writes+x.Writes
		readBytes, writeBytes = readBytes+x.ReadBytes, writeBytes+x.WriteBytes
	}
	if f.reads >= 0 && (reads != f.reads || writes != f.writes) || readBytes != f.readBytes || writeBytes != f.writeBytes {
		t.Errorf("%s: %d reads of %d bytes, %d writes of %d; want %d of %d, %d of %d", f.glob, reads, readBytes, writes, writeBytes, f.reads, f.readBytes, f.writes, f.writeBytes)
	}
}
