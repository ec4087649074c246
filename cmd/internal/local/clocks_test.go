package local

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/iopathy/iopathy/configs"
	"github.com/iopathy/iopathy/ingest"
)

// TestByMtime: the last record of a log that nothing dates is of when its file was
// last written, if that is asked for; what has a date of its own is left alone.
func TestByMtime(t *testing.T) {
	dir := t.TempDir()
	at := time.Date(2026, 11, 29, 12, 0, 0, 123456789, time.UTC)
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	const trace = "  8,0 0 1 1.000000000 100 Q R 800 + 8 [app]\n  8,0 0 2 1.000050000 100 D R 800 + 8 [app]\n  8,0 0 3 1.500000000 0 C R 800 + 8 [0]\n"
	write("bare.blkparse", trace)
	write("dated.blkparse", strings.ReplaceAll(trace, "800", "1600")) // not the same log
	write("dated.blkparse.clock", "start_ns 1700000000000000000\n")
	write("events.csv", "time_ns,host,device,pid,comm,op,flags,offset_bytes,size_bytes,queue_ns,latency_ns,error\n1700000000000000000,h,sda,1,a,R,,0,4096,0,1000,0\n")

	check := func(asked bool, name string, last int64, words string) {
		t.Helper()
		j := Job{Config: configs.Default(), Lake: filepath.Join(t.TempDir(), "lake"), RunID: "r"}
		j.Config.Ingest.ClockMtime = asked
		in, err := j.Ingest(context.Background(), []string{dir}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range in.Reports {
			if filepath.Base(r.Path) == name && (r.LastNS != last || r.Clock.String() != words) {
				t.Errorf("%s: last I/O at %d, clock %q; want %d, %q", name, r.LastNS, r.Clock, last, words)
			}
		}
		if asked != strings.Contains(strings.Join(in.Warnings, "\n"), "dated by nothing better than when the file was last written: bare.blkparse (from 2026-11-29 11:59:58)") {
			t.Errorf("warnings: %q", in.Warnings)
		}
	}
	check(false, "bare.blkparse", 1.5e9, "relative, tied to no date")
	check(true, "bare.blkparse", at.UnixNano(), "relative by the time its file was last written")
	check(true, "dated.blkparse", 1_700_000_001_500_000_000, "relative by dated.blkparse.clock")
	check(true, "events.csv", 1_700_000_000_000_000_000, "epoch")
}

// TestClockOrder: what is said of one log counts before what is said of many.
func TestClockOrder(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.blkparse")
	if err := os.WriteFile(path, []byte("  8,0 0 1 0.000000000 100 Q R 800 + 8 [app]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	inputs, _, err := ingest.Resolve([]string{path}, nil, ingest.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	in := inputs[0]
	check := func(own, folder string, startNS int64, want ingest.Clock, said ...string) {
		t.Helper()
		files := newClockFiles()
		for name, text := range map[string]string{path + ".clock": own, filepath.Join(dir, "clock.txt"): folder} {
			if text == "" {
				continue
			}
			if ok, err := files.take(name, []byte(text)); !ok || err != nil {
				t.Fatal(err)
			}
		}
		j := Job{Config: configs.Default()}
		j.Config.Ingest.StartNS, j.Config.Ingest.ClockOffset = startNS, said
		ins := []ingest.Input{in}
		if _, err := j.setClocks(ins, make([]claim, 1), files); err != nil || ins[0].Clock != want {
			t.Errorf("%q %q %d %q: got %+v, %v, want %+v", own, folder, startNS, said, ins[0].Clock, err, want)
		}
	}
	const own, folder = "start_ns 1700000000000000001", "start_ns 1700000000000000002"
	check("", "", 0, ingest.Clock{})
	check("", folder, 0, ingest.Clock{StartNS: 1700000000000000002, Anchor: "clock.txt"})
	check("", folder, 7, ingest.Clock{})
	check(own, folder, 7, ingest.Clock{StartNS: 1700000000000000001, Anchor: "a.blkparse.clock"})
	check("", folder, 7, ingest.Clock{StartNS: 1700000003e9, Anchor: "--clock-offset"}, "@1700000003")
	check(own, folder, 0, ingest.Clock{StartNS: 1700000000000000001, Anchor: "a.blkparse.clock"}, "@1700000003")
	check(own, folder, 0, ingest.Clock{StartNS: 1700000004e9, Anchor: "--clock-offset"}, "@1700000003", "a.*=@1700000004")
	check(own, "", 0, ingest.Clock{StartNS: 1700000000000000001, OffsetNS: 5e6, Anchor: "a.blkparse.clock and --clock-offset"}, "3ms", "5ms", "b*=9ms")
	check("offset_ns 9 drift_ppb 2 at_ns 1", folder, 7, ingest.Clock{Bare: true, OffsetNS: 9, DriftPPB: 2, AtNS: 1, Anchor: "a.blkparse.clock"})
	check("mono 1.0 real 1700000000.0", folder, 0, ingest.Clock{StartNS: 1700000000000000002, Anchor: "clock.txt"}) // the boot's says nothing here
}
