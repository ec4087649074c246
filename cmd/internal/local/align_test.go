package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/iopathy/iopathy/configs"
	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/ingest/align"
	_ "github.com/iopathy/iopathy/ingest/formats"
)

// TestAlignRunA aligns every pair of the tools that saw one workload, and holds
// the offsets against one another: by way of a third tool they must be the same.
// Two of the tools share a clock (CLOCK_MONOTONIC of ftrace and perf), and the
// jobs of fio ran for 6 s each, one after the other (jobA.fio).
func TestAlignRunA(t *testing.T) {
	samples := filepath.Join("..", "..", "..", "..", "shared", "samples")
	if _, err := os.Stat(samples); err != nil {
		t.Skip("the recordings of run A are not here: ", err)
	}
	if testing.Short() {
		t.Skip("not in short tests: some 30 pairs of recordings")
	}
	tools := map[string][]string{
		"ftrace":   {"ftrace/runA-ftrace.trace_pipe.txt.gz"},
		"perf":     {"perf-script/runA-perf.script.txt.gz"},
		"blkparse": {"blkparse/runA-loop0.blkparse.txt.gz"},
		"blktrace": {"blktrace/runA-loop0.blktrace.0.gz", "blktrace/runA-loop0.blktrace.1.gz"},
		"bcc":      {"biosnoop/runA-biosnoop-bcc-Qd.txt"},
		"bpftrace": {"biosnoop/runA-biosnoop-bpftrace.txt.gz"},
		"fio1":     {"fio-log/runA-fio_lat.1.log"},
		"fio2":     {"fio-log/runA-fio_lat.2.log"},
		"fio3":     {"fio-log/runA-fio_lat.3.log"},
	}
	j := Job{Config: configs.Default()}
	sources := map[string]*align.Source{}
	for name, files := range tools {
		dir := t.TempDir()
		for _, f := range files {
			data, err := os.ReadFile(filepath.Join(samples, filepath.FromSlash(f)))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, filepath.Base(f)), data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		s, err := j.alignSource(context.Background(), dir, nil, true)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		sources[name] = s
	}
	names := sortedKeys(sources)
	found := map[[2]string]*align.Result{}
	for x, a := range names {
		for _, b := range names[x+1:] {
			fio := a[:3] == "fio" || b[:3] == "fio"
			if fio && (a[:3] == b[:3] || a == "bpftrace") {
				continue // jobs saw other I/Os; nothing but times in common, which repeat
			}
			r, err := align.Estimate(sources[a], sources[b])
			if err != nil {
				t.Errorf("%s and %s: %v", a, b, err)
				continue
			}
			if r.DriftPPB != 0 {
				t.Errorf("%s and %s: drift of %d ppb between clocks of one kernel", a, b, r.DriftPPB)
			}
			// What the stamps resolve, and how far the hooks of the tools are from one another.
			if most := r.ResolutionA + r.ResolutionB + 100_000; r.ErrorNS > most {
				t.Errorf("%s and %s: %d ns wide, want %d", a, b, r.ErrorNS, most)
			}
			found[[2]string{a, b}] = r
		}
	}
	if r := found[[2]string{"ftrace", "perf"}]; r != nil && (max(r.OffsetNS, -r.OffsetNS) > r.ErrorNS || r.ErrorNS > 20_000) {
		t.Errorf("ftrace and perf have one clock: %d ± %d ns", r.OffsetNS, r.ErrorNS)
	}
	checked := 0
	for x, a := range names {
		for y, b := range names[x+1:] {
			for _, c := range names[x+y+2:] {
				ab, bc, ac := found[[2]string{a, b}], found[[2]string{b, c}], found[[2]string{a, c}]
				if ab == nil || bc == nil || ac == nil {
					continue
				}
				checked++
				if off := ab.OffsetNS + bc.OffsetNS - ac.OffsetNS; max(off, -off) > ab.ErrorNS+bc.ErrorNS+ac.ErrorNS {
					t.Errorf("%s, %s, %s: %d ns around, said to be at most %d", a, b, c, off, ab.ErrorNS+bc.ErrorNS+ac.ErrorNS)
				}
			}
		}
	}
	if checked < 40 {
		t.Errorf("%d ways around", checked)
	}
	for n := 1; n <= 2; n++ {
		r, next := found[[2]string{"blkparse", fmt.Sprintf("fio%d", n)}], found[[2]string{"blkparse", fmt.Sprintf("fio%d", n+1)}]
		if r != nil && next != nil {
			if d := next.OffsetNS - r.OffsetNS; d < 6e9 || d > 7e9 {
				t.Errorf("job %d began %d ns behind job %d, which ran for 6 s", n+1, d, n)
			}
		}
	}
}

// TestAlignedClock: what align writes makes an ingest give b the times of a.
func TestAlignedClock(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const header = "time_ns,host,device,pid,comm,op,flags,offset_bytes,size_bytes,queue_ns,latency_ns,error\n"
	textA, textB := header, header
	const ahead = 1_234_567 // b's clock, and by 40 ppm of what has passed
	for i := range int64(200) {
		at, offset := 1_700_000_000_000_000_000+i*i*7_000_000, i*i%977*4096
		textA += fmt.Sprintf("%d,h,sda,1,app,R,,%d,4096,1000,200000,0\n", at, offset)
		textB += fmt.Sprintf("%d,h,sda,1,app,R,,%d,4096,1000,200000,0\n", at+ahead+i*i*7_000_000/25_000, offset)
	}
	a, b := write("a.csv", textA), write("b.csv", textB)
	j := Job{Config: configs.Default()}
	r, err := j.Align(context.Background(), a, b, nil)
	if err != nil {
		t.Fatal(err)
	}
	write("b.csv.clock", ClockText(r))
	inputs, _, err := ingest.Resolve([]string{b}, nil, j.Config.Ingest)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.setClocks(inputs, make([]claim, 1), newClockFiles()); err != nil {
		t.Fatal(err)
	}
	n := int64(0)
	rep, err := ingest.Read(context.Background(), inputs[0], j.Config.Ingest, 1, func(c *ingest.Chunk) error {
		for _, e := range c.Events {
			if off := e.TimeNS - (1_700_000_000_000_000_000 + n*n*7_000_000); max(off, -off) > 100 {
				t.Errorf("I/O %d: %d ns off", n, off)
			}
			n++
		}
		return nil
	})
	if err != nil || n != 200 || rep.Clock.Anchor != "b.csv.clock" || rep.Clock.DriftPPB > -39_990 || rep.Clock.DriftPPB < -40_010 {
		t.Errorf("%d I/Os, clock %+v, %v", n, rep.Clock, err)
	}
	// A second look takes b's stamps as they stand, not by the file that is there now.
	again, err := j.Align(context.Background(), a, b, nil)
	if err != nil || again.OffsetNS != r.OffsetNS {
		t.Errorf("got %+v, %v", again, err)
	}
}
