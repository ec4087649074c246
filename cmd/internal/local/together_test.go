package local

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/reports"
)

// The made-up work of three tools: 26 s on 8,0, at a rate that differs from second to
// second. Its blkparse counts from the first I/O, its ftrace from the boot, its iostat has dates.
const (
	madeStart = int64(1_767_268_800_250_000_000) // 2026-01-01T12:00:00.25Z: of the first I/O
	madeBoot  = madeStart - 5_000_123_456_000    // whole us, as ftrace prints
)

type madeIO struct {
	at, took, sector, sectors int64
	write                     bool
}

// madeWork is the work of a seed.
func madeWork(seed uint64) (all []madeIO) {
	r := rand.New(rand.NewPCG(seed, 7))
	for second := range int64(26) {
		n := int64(10 + r.IntN(50))
		for i := range n {
			io := madeIO{at: second*1e9 + i*(1e9/n) + r.Int64N(1e9/n/2), took: 100_000 + r.Int64N(3e6), sector: r.Int64N(1<<20) * 8, sectors: 8, write: r.IntN(3) == 0}
			if r.IntN(8) == 0 {
				io.sectors = 128
			}
			io.at -= io.at % 1000 // so that what ftrace cuts off is nothing
			io.took -= io.took % 1000
			all = append(all, io)
		}
	}
	first := all[0].at
	for i := range all {
		all[i].at -= first
	}
	return all
}

func (o *madeIO) letter() string {
	if o.write {
		return "W"
	}
	return "R"
}

type madeLine struct {
	at   int64
	text string
}

// madeTrace writes the work's steps by time.
func madeTrace(all []madeIO, line func(io *madeIO, step byte, at int64) string) string {
	var lines []madeLine
	for i := range all {
		o := &all[i]
		for _, s := range []struct {
			step byte
			at   int64
		}{{'Q', o.at}, {'D', o.at + 20_000}, {'C', o.at + o.took}} {
			lines = append(lines, madeLine{s.at, line(o, s.step, s.at)})
		}
	}
	sortLines(lines)
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.text)
	}
	return b.String()
}

func madeBlkparse(all []madeIO) string {
	n := 0
	return madeTrace(all, func(o *madeIO, step byte, at int64) string {
		n++
		who := "work"
		if step == 'C' {
			who = "0"
		}
		return fmt.Sprintf("  8,0    0 %8d %5d.%09d  4242  %c   %s %d + %d [%s]\n", n, at/1e9, at%1e9, step, o.letter(), o.sector, o.sectors, who)
	})
}

func madeFtrace(all []madeIO) string {
	return madeTrace(all, func(o *madeIO, step byte, at int64) string {
		at += madeStart - madeBoot
		stamp := fmt.Sprintf("            work-4242    [000] ..... %5d.%06d: ", at/1e9, at%1e9/1000)
		switch step {
		case 'Q':
			return stamp + fmt.Sprintf("block_bio_queue: 8,0 %s %d + %d [work]\n", o.letter(), o.sector, o.sectors)
		case 'D':
			return stamp + fmt.Sprintf("block_rq_issue: 8,0 %s %d () %d + %d none,0,0 [work]\n", o.letter(), o.sectors*512, o.sector, o.sectors)
		}
		return stamp + fmt.Sprintf("block_rq_complete: 8,0 %s () %d + %d none,0,0 [0]\n", o.letter(), o.sector, o.sectors)
	})
}

// madeIostat reports from 3 s before the work to 3 s behind it.
func madeIostat(all []madeIO, host string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Linux 6.1.0 (%s) \t01/01/26 \t_x86_64_\t(2 CPU)\n", host)
	whole := madeStart - madeStart%1e9
	for k := int64(-3); k < 29; k++ {
		var n, bytes [2]int64
		for i := range all {
			done := madeStart + all[i].at + all[i].took
			if at := whole + k*1e9; done >= at && done < at+1e9 {
				w := 0
				if all[i].write {
					w = 1
				}
				n[w]++
				bytes[w] += all[i].sectors * 512
			}
		}
		fmt.Fprintf(&b, "\n\n%s\nDevice            r/s     rkB/s   rrqm/s  %%rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %%wrqm w_await wareq-sz  aqu-sz  %%util\n", time.Unix(0, whole+(k+1)*1e9).UTC().Format("01/02/06 15:04:05"))
		fmt.Fprintf(&b, "sda %d.00 %.2f 0.00 0.00 1.00 4.00 %d.00 %.2f 0.00 0.00 1.00 4.00 0.05 5.00\n", n[0], float64(bytes[0])/1024, n[1], float64(bytes[1])/1024)
	}
	return b.String()
}

const madePartitions = "major minor  #blocks  name\n\n   8        0 1048576 sda\n"

// outcome is what an ingest and its windows came to.
type outcome struct {
	in      *Ingested
	windows []features.Window
	events  string // digest of the rows in the lake
	job     *Job
}

// recordingsOf gives the recordings of the one device, by format.
func recordingsOf(t *testing.T, j *Job) map[string]reports.Recording {
	t.Helper()
	all, err := j.deviceSources()
	if err != nil || len(all) != 1 {
		t.Fatalf("%d devices with several recordings, %v", len(all), err)
	}
	out := map[string]reports.Recording{}
	for _, r := range all[0].Recordings {
		out[r.Format] = r
	}
	return out
}

func (s *shelf) outcome(t *testing.T, host string, workers int) outcome {
	t.Helper()
	j := s.job()
	j.Config.Ingest.Host, j.Config.Workers, j.Config.Ingest.FirstReport = host, workers, true
	in, err := j.Ingest(context.Background(), []string{s.logs}, nil)
	if err != nil {
		t.Fatal(err)
	}
	windows, _, err := listed(j.Features(context.Background(), nil))
	if err != nil {
		t.Fatal(err)
	}
	h := sha256.New()
	for _, table := range []string{"events", "samples", "windows"} {
		err := filepath.WalkDir(filepath.Join(s.lake, table), func(path string, d fs.DirEntry, err error) error {
			if os.IsNotExist(err) {
				return nil
			}
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			fmt.Fprintf(h, "%s %x\n", tail(path), sha256.Sum256(data))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return outcome{in, windows, hex.EncodeToString(h.Sum(nil)), j}
}

// clockOf gives the clock by which an input of a format was read.
func (o outcome) clockOf(t *testing.T, format string) ingest.ClockReport {
	t.Helper()
	for i := range o.in.Reports {
		if o.in.Reports[i].Format == format {
			return o.in.Reports[i].Clock
		}
	}
	t.Fatalf("no input of format %s", format)
	return ingest.ClockReport{}
}

// near says that two times are at most so far apart.
func near(a, b, most int64) bool { return max(a-b, b-a) <= most }

// TestTogether: one work, seen by a trace that counts from its first I/O, one that counts
// from the boot, and dated counters, counts once, in the windows of its date; whatever
// the files are called, in whatever order they come, however many workers there are.
func TestTogether(t *testing.T) {
	all := madeWork(1)
	blk, ftr, ios := madeBlkparse(all), madeFtrace(all), madeIostat(all, "h")
	var first outcome
	for i, names := range [][3]string{{"a", "b", "c"}, {"c", "b", "a"}, {"b", "c", "a"}} {
		s := newShelf(t)
		s.put("partitions", madePartitions)
		s.put(names[0], blk)
		s.put(names[1], ftr)
		s.put(names[2], ios)
		o := s.outcome(t, "h", 1+3*i)
		if i == 0 {
			first = o
		} else if o.events != first.events || fmt.Sprint(o.windows) != fmt.Sprint(first.windows) {
			t.Errorf("files called %v, %d workers: other rows", names, 1+3*i)
		}
	}
	blkClock, ftrClock := first.clockOf(t, "blkparse"), first.clockOf(t, "ftrace")
	// By the counters to their interval; the traces with one another to what ftrace prints.
	if !near(blkClock.OffsetNS, madeStart, 1e9) || !near(blkClock.OffsetNS-ftrClock.OffsetNS, madeStart-madeBoot, 2000) {
		t.Errorf("0 is %d of blkparse, %d of ftrace", blkClock.OffsetNS-madeStart, ftrClock.OffsetNS-madeBoot)
	}
	if a, b := blkClock.String(), ftrClock.String(); strings.Contains(a, "aligned with the counters of c, ± ") == strings.Contains(b, "aligned with the counters of c, ± ") ||
		strings.Contains(a, "relative, aligned with b, ± ") == strings.Contains(b, "boot, aligned with a, ± ") {
		t.Errorf("clocks in words: %q, %q", a, b)
	}
	if len(first.in.Warnings) > 0 {
		t.Errorf("warnings: %q", first.in.Warnings)
	}
	check := func(what string, windows []features.Window) {
		t.Helper()
		var n, read, written, w int64
		for i := range windows {
			if windows[i].Host != "h" || windows[i].Device != "sda" || windows[i].StartNS < madeStart-30e9 || windows[i].EndNS > madeStart+50e9 {
				t.Errorf("%s: a window of %s/%s at %d", what, windows[i].Host, windows[i].Device, windows[i].StartNS)
			}
			n += windows[i].Requests
			read += int64(bytesOf(&windows[i]) + 0.5)
		}
		for i := range all {
			w += all[i].sectors * 512
		}
		if n != int64(len(all)) || !near(read+written, w, int64(len(windows))) {
			t.Errorf("%s: %d requests of %d bytes, want %d of %d", what, n, read+written, len(all), w)
		}
	}
	check("three tools", first.windows)

	// The trace that stands for the device gives the windows that it gives alone.
	used, text, zero := "blkparse", blk, blkClock
	if sources := recordingsOf(t, first.job); sources["blkparse"].UsedNS == 0 {
		used, text, zero = "ftrace", ftr, ftrClock
	}
	s := newShelf(t)
	s.put("partitions", madePartitions)
	s.put("log", text)
	s.put("log.clock", fmt.Sprintf("offset_ns %d\n", zero.OffsetNS))
	// Before it began, and after it ended, the counters tell that nothing happened.
	ofTrace := slices.DeleteFunc(slices.Clone(first.windows), func(w features.Window) bool { return w.Requests == 0 })
	if alone := s.outcome(t, "h", 2); fmt.Sprint(alone.windows) != fmt.Sprint(ofTrace) {
		t.Errorf("%s alone: %d windows\ntogether: %d windows, or other figures", used, len(alone.windows), len(ofTrace))
	}
}

// TestTogetherLater: what the lake holds keeps its times, its host and its bytes when more
// logs come, or when it has grown.
func TestTogetherLater(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector, which has others of its kind")
	}
	all := madeWork(2)
	blk, ftr := madeBlkparse(all), madeFtrace(all)
	cut := strings.LastIndex(blk[:len(blk)*2/3], "\n") + 1
	s := newShelf(t)
	s.chunk = 16 << 10
	s.put("partitions", madePartitions)
	s.put("a.csv", madeIostat(all, "h"))
	s.put("b", blk[:cut])
	before := s.outcome(t, "", 2)
	s.put("b", blk)
	s.put("c", ftr)
	after := s.outcome(t, "", 2)
	old, now := before.clockOf(t, "blkparse"), after.clockOf(t, "blkparse")
	if old.Loose || old.OffsetNS != now.OffsetNS || old.Anchor != now.Anchor {
		t.Errorf("clock was %q, is %q", old, now)
	}
	for _, w := range before.windows {
		if w.Host != "h" || w.Device != "sda" {
			t.Errorf("a window of %s/%s", w.Host, w.Device)
		}
	}
	n := int64(0)
	for _, w := range after.windows {
		if w.Host == "h" && w.StartNS > madeStart-30e9 {
			n += w.Requests
		}
	}
	if n != int64(len(all)) {
		t.Errorf("%d requests of the grown log, want %d", n, len(all))
	}
}

// TestTogetherRefusals: what is not proven is left alone, and said.
func TestTogetherRefusals(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector, which has others of its kind")
	}
	all, other := madeWork(3), madeWork(4)
	check := func(name, host string, align bool, files map[string]string, hosts int, warning string) {
		t.Helper()
		s := newShelf(t)
		s.put("partitions", madePartitions)
		for name, text := range files {
			s.put(name, text)
		}
		j := s.job()
		j.Config.Ingest.Host, j.Config.Ingest.ClockAlign = host, align
		in, err := j.Ingest(context.Background(), []string{s.logs}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(in.Warnings, "\n"); !strings.Contains(text, warning) {
			t.Errorf("%s: warnings %q, want %q", name, text, warning)
		}
		windows, _, err := listed(j.Features(context.Background(), nil))
		if err != nil {
			t.Fatal(err)
		}
		keys := map[string]bool{}
		for _, w := range windows {
			keys[w.Host] = true
		}
		if len(keys) != hosts {
			t.Errorf("%s: hosts %v, want %d", name, keys, hosts)
		}
	}
	const loosely = "times count from 1970, since nothing ties their clocks to a date: "
	two := map[string]string{"a": madeBlkparse(all), "b": madeFtrace(all)}
	check("two tools, no date", "h", true, two, 1, loosely+"a, b")
	check("two tools, no date, no host", "", true, two, 1, "a, b: named no host, and saw the I/Os of one: taken for input-")
	check("not asked for", "", false, two, 2, "2 inputs name no host, and count as 2 hosts: a, b; if they are of one machine say --host NAME")
	strangers := map[string]string{"a": madeBlkparse(all), "b": madeFtrace(other), "c": madeIostat(madeWork(5), "h")}
	check("three works", "h", true, strangers, 1, loosely+"a, b")
	check("three works, no host", "", true, strangers, 3, "2 inputs name no host, and count as 2 hosts: a, b;")
	check("one tool", "", true, map[string]string{"a": madeBlkparse(all), "b": madeBlkparse(other)}, 2, "2 inputs name no host")
}

func sortLines(lines []madeLine) {
	slices.SortStableFunc(lines, func(a, b madeLine) int { return cmp.Compare(a.at, b.at) })
}
