package formats

import (
	"bytes"
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/iopathy/iopathy/ingest"
)

// TestIostatRecording: the samples sum to the kernel's own counters, which were
// recorded beside iostat. Oracle: /proc/diskstats, read each second.
func TestIostatRecording(t *testing.T) {
	counters := readDiskstats(t, sharedFile(t, "samples", "diskstats", "runA-diskstats.1s.txt"))["loop0"]
	want := counters[len(counters)-1].minus(counters[0])
	for _, c := range []struct {
		name  string
		first int64
	}{
		{"runA-iostat-x-t.txt", 1}, {"runA-iostat-d-x-k-t-y.txt", 0}, {"runA-iostat-x.TRUNCATED-or-closed.json", 1},
	} {
		data := sharedFile(t, "samples", "iostat", c.name)
		f := iostatOf(data)
		if f.Sniff(data[:ingest.SniffBytes], "x") != 2 {
			t.Errorf("%s: not known as %s", c.name, f.Name)
		}
		out := decodeAll(t, f, c.name, data, ingest.DefaultOptions(), 100)
		only(t, out, c.first)
		var s ingest.Sample
		for i := range out.Samples {
			x := &out.Samples[i]
			s.Reads += x.Reads
			s.ReadBytes += x.ReadBytes
			s.ReadNS += x.ReadNS
			s.Writes += x.Writes
			s.WriteBytes += x.WriteBytes
			s.WriteNS += x.WriteNS
			s.ReadMerges += x.ReadMerges
			s.WriteMerges += x.WriteMerges
			s.Flushes += x.Flushes
			s.BusyNS += x.BusyNS
			s.InFlightNS += x.InFlightNS
			if at := time.Unix(0, x.TimeNS).UTC(); at.Year() != 2026 || at.Hour() != 12 || at.Minute() != 20 {
				t.Errorf("%s: sample at %v", c.name, at)
			}
		}
		exact := func(what string, got, want int64) {
			if got != want {
				t.Errorf("%s: %s %d, want %d", c.name, what, got, want)
			}
		}
		exact("reads", s.Reads, want.reads)
		exact("read bytes", s.ReadBytes, want.readSectors*512)
		exact("writes", s.Writes, want.writes)
		exact("write bytes", s.WriteBytes, want.writeSectors*512)
		exact("write merges", s.WriteMerges, want.writeMerges)
		exact("flushes", s.Flushes, want.flushes)
		close := func(what string, got, want, share float64) {
			if math.Abs(got-want) > share*want {
				t.Errorf("%s: %s %g, want %g", c.name, what, got, want)
			}
		}
		close("read latency, ms", float64(s.ReadNS)/1e6/float64(s.Reads), float64(want.readMS)/float64(want.reads), 0.01)
		close("write latency, ms", float64(s.WriteNS)/1e6/float64(s.Writes), float64(want.writeMS)/float64(want.writes), 0.01)
		close("busy, ms", float64(s.BusyNS)/1e6, float64(want.busyMS), 0.01)
		close("in flight, ms", float64(s.InFlightNS)/1e6, float64(want.weightedMS), 0.05)
	}
}

// TestIostatLocale: the same report in a German locale and in C gives equal samples.
func TestIostatLocale(t *testing.T) {
	german := sharedFile(t, "samples", "iostat", "runL-iostat-x-t.de_DE.txt")
	english := bytes.ReplaceAll(german, []byte(","), []byte("."))
	english = bytes.ReplaceAll(english, []byte("29.11.2026"), []byte("11/29/26"))
	a := decodeAll(t, Iostat, "de", german, ingest.DefaultOptions(), 0)
	b := decodeAll(t, Iostat, "c", english, ingest.DefaultOptions(), 0)
	only(t, a, 1)
	if len(a.Samples) != 5 || len(b.Samples) != 5 {
		t.Fatalf("%d and %d samples, want 5", len(a.Samples), len(b.Samples))
	}
	for i := range a.Samples {
		a.Samples[i].Position, b.Samples[i].Position = 0, 0
		if a.Samples[i] != b.Samples[i] {
			t.Errorf("sample %d:\n%+v\n%+v", i, a.Samples[i], b.Samples[i])
		}
	}
	if s := a.Samples[0]; s.Writes != 43 || s.WriteBytes != 16596<<10 || s.WriteNS != 378e6 {
		t.Errorf("first sample %+v, want 43 writes, 16596 KiB, 378 ms", s)
	}
}

// TestIostatSysstatTests reads what sysstat's own tests expect of iostat.
func TestIostatSysstatTests(t *testing.T) {
	sharedFile(t, "samples", "sysstat-tests", "expected.iostat.txt")
	paths, err := filepath.Glob(filepath.Join("..", "..", "..", "shared", "samples", "sysstat-tests", "expected.iostat*.txt"))
	if err != nil || len(paths) < 60 {
		t.Fatalf("%d files, %v", len(paths), err)
	}
	row := regexp.MustCompile(`(?m)^\S+( +\d[\d.]*[kMG]?){4,}$|^( *\d[\d.]*%?[kMG]?){4,} \S+$|^.*"disk_device": "[^ ].*$`)
	for _, p := range paths {
		name := filepath.Base(p)
		data := sharedFile(t, "samples", "sysstat-tests", name)
		rows := int64(len(row.FindAll(data, -1)))
		out := decodeAll(t, iostatOf(data), name, data, ingest.DefaultOptions(), 1000)
		only(t, out, out.Tally.Rejects["since-boot"])
		cpu := map[int64]bool{} // lines of CPU shares; in JSON they are notes
		for i := range out.Evidence {
			cpu[out.Evidence[i].Position] = data[0] != '{'
		}
		maps.DeleteFunc(cpu, func(_ int64, line bool) bool { return !line })
		if got := out.Tally.Event + out.Tally.Rejected() - int64(len(cpu)); got != rows {
			t.Errorf("%s: %d device rows, want %d", name, got, rows)
		}
	}
}

// TestIostatSysstatCounters: samples equal the differences of the counters that
// sysstat's tests print. Oracle: the diskstats files of those tests, 31.17 s apart
// by their uptimes (7192.55 and 7223.72).
func TestIostatSysstatCounters(t *testing.T) {
	before := readDiskstats(t, sharedFile(t, "samples", "sysstat-tests", "root1.proc.diskstats.txt"))
	after := readDiskstats(t, sharedFile(t, "samples", "sysstat-tests", "root2.proc.diskstats.txt"))
	for _, c := range []struct {
		name, interval string
		split          bool
	}{
		{"expected.iostat-x-p-ALL.txt", "31.17s", true},
		{"expected.iostat-x-p-ALL-JSON.txt", "31.17s", true},
		{"expected.iostat-p-ALL.txt", "", false}, // the plain layout tells its interval
	} {
		data := sharedFile(t, "samples", "sysstat-tests", c.name)
		out := decodeAll(t, iostatOf(data), c.name, data, ingest.Options{Interval: c.interval}, 999)
		end := out.Samples[0].TimeNS
		n := 0
		for i := range out.Samples {
			s := &out.Samples[i]
			if s.TimeNS != end {
				break
			}
			dev := out.Names.String(s.Device)
			a, b := before[dev], after[dev]
			if len(a) == 0 || len(b) == 0 {
				continue
			}
			n++
			d := b[0].minus(a[0])
			if s.IntervalNS != 31_170_000_000 {
				t.Fatalf("%s: interval %d", c.name, s.IntervalNS)
			}
			exact := func(what string, got, want int64) {
				if got != want {
					t.Errorf("%s: %s: %s %d, want %d", c.name, dev, what, got, want)
				}
			}
			exact("read bytes", s.ReadBytes, d.readSectors*512)
			exact("write bytes", s.WriteBytes, d.writeSectors*512)
			if !c.split {
				exact("I/Os", s.TotalIOs, d.reads+d.writes+d.discards)
				continue
			}
			exact("reads", s.Reads, d.reads)
			exact("writes", s.Writes, d.writes)
			exact("discards", s.Discards, d.discards)
			exact("read merges", s.ReadMerges, d.readMerges)
			exact("write merges", s.WriteMerges, d.writeMerges)
			exact("read time", s.ReadNS, d.readMS*1e6)
			exact("write time", s.WriteNS, d.writeMS*1e6)
		}
		if n < 20 {
			t.Errorf("%s: %d devices compared", c.name, n)
		}
	}
}

// TestIostatCases reads the reports of confirmed cases.
func TestIostatCases(t *testing.T) {
	read := func(name string, o ingest.Options) *ingest.Out {
		return decodeAll(t, Iostat, name, sharedFile(t, "cases", name, "input.iostat.txt"), o, 0)
	}
	a04 := read("A-04-iostat-comma-N-t-m", ingest.DefaultOptions())
	only(t, a04, 3)
	if len(a04.Samples) != 12 {
		t.Fatalf("%d samples, want 12", len(a04.Samples))
	}
	for i, want := range []int64{199229, 0, 32768000, 31457} {
		if s := a04.Samples[3*i]; s.ReadBytes != want || s.IntervalNS != 1e9 {
			t.Errorf("sda %d: %d bytes read, want %d", i, s.ReadBytes, want)
		}
	}
	for i, want := range []int64{9961472, 4456448, 0, 1099515822} {
		if s := a04.Samples[3*i]; s.WriteBytes != want {
			t.Errorf("sda %d: %d bytes written, want %d", i, s.WriteBytes, want)
		}
	}
	b01 := read("B-01-tsdb-unbatched-writes-raid10", ingest.DefaultOptions())
	only(t, b01, 1)
	// Without stamps, the rates tell that it was iostat -x 5: 8444.20 x 5 = 42221.
	if s := b01.Samples[0]; len(b01.Samples) != 2 || s.IntervalNS != 5e9 || s.Writes != 42221 || s.WriteBytes != 179452<<10 {
		t.Errorf("%d samples, the first %+v", len(b01.Samples), s)
	}
	// A single report, whose rates are all halves: of 2 s, and not since boot.
	b02 := read("B-02-nvme-benchmark-past-depth", ingest.DefaultOptions())
	only(t, b02, 0)
	if s := b02.Samples[1]; len(b02.Samples) != 10 || s.IntervalNS != 2e9 || s.Reads != 4295 {
		t.Errorf("%d samples, the second %+v", len(b02.Samples), s)
	}
	b04 := read("B-04-iowait-100-percent-but-idle-disk", ingest.DefaultOptions())
	only(t, b04, 1)
	if s := b04.Samples[0]; len(b04.Samples) != 5 || s.IntervalNS != 5e9 || s.Writes != 2 || s.WriteBytes != 16<<10 || s.WriteNS != 1e6 {
		t.Errorf("%d samples, the first %+v", len(b04.Samples), s)
	}
}

// TestIostatCorpus: every JSON of the corpus parses; its first report is since boot.
func TestIostatCorpus(t *testing.T) {
	paths, _ := filepath.Glob(filepath.Join("..", "..", "..", "shared", "corpus", "iostat", "*.json.gz"))
	if len(paths) == 0 {
		t.Skip("corpus absent")
	}
	intervals := make(map[int64]int)
	for _, p := range paths {
		data := sharedFile(t, "corpus", "iostat", filepath.Base(p))
		objects := int64(bytes.Count(data, []byte(`"disk_device"`)))
		whole := decodeAll(t, IostatJSON, p, data, ingest.DefaultOptions(), len(data))
		first := whole.Tally.Rejects["since-boot"]
		only(t, whole, first)
		if int64(len(whole.Samples))+first != objects || len(whole.Samples) == 0 {
			t.Errorf("%s: %d samples and %d since boot of %d objects", p, len(whole.Samples), first, objects)
		}
		steps := decodeAll(t, IostatJSON, p, data, ingest.DefaultOptions(), 61)
		for i := range whole.Samples {
			intervals[whole.Samples[i].IntervalNS/1e7]++
			if whole.Samples[i] != steps.Samples[i] {
				t.Fatalf("%s: sample %d depends on the reads", p, i)
			}
		}
		// Cut anywhere, the statistics that are whole stay.
		cut := decodeAll(t, IostatJSON, p, data[:len(data)*2/3], ingest.DefaultOptions(), 61)
		if n := len(cut.Samples); n == 0 || n > len(whole.Samples) || int64(n) < 2*int64(len(whole.Samples))/3-3 {
			t.Errorf("%s: %d of %d samples in two thirds of the file", p, n, len(whole.Samples))
		}
	}
	t.Logf("intervals in hundredths of a second: %v", intervals)
}
