package formats

import (
	"bytes"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

// TestSarRecording: the samples of sar, sadf -d, -dU, -p and -j sum to what
// /proc/diskstats counted. They print rates of two decimals over intervals of a
// hundredth more or less than a second: the sums are exact because the intervals
// are found again.
func TestSarRecording(t *testing.T) {
	counters := readDiskstats(t, sharedFile(t, "samples", "diskstats", "runA-diskstats.1s.txt"))["loop0"]
	want := counters[len(counters)-1].minus(counters[0])
	for _, c := range []struct {
		name   string
		format ingest.Format
	}{
		{"runA-sar-d-p.txt", Sar}, {"runA-sadf-d.csv", SadfCSV}, {"runA-sadf-dU.csv", SadfCSV},
		{"runA-sadf-p.txt", SadfCSV}, {"runA-sadf-j.json", SadfJSON},
	} {
		data := sharedFile(t, "samples", "sar", c.name)
		sniffed(t, c.name, data, c.format)
		out := decodeAll(t, c.format, c.name, data, ingest.DefaultOptions(), 100)
		only(t, out, 0)
		s, _ := sums(out, "loop0")
		exactly(t, c.name+": I/Os", s.TotalIOs, want.reads+want.writes)
		exactly(t, c.name+": read bytes", s.ReadBytes, want.readSectors*512)
		exactly(t, c.name+": written bytes", s.WriteBytes, want.writeSectors*512)
		exactly(t, c.name+": busy", s.BusyNS, want.busyMS*1e6)
		within(t, c.name+": ms of all I/Os", float64(s.TotalNS)/1e6, float64(want.readMS+want.writeMS), 0.01)
		within(t, c.name+": ms in flight", float64(s.InFlightNS)/1e6, float64(want.weightedMS), 0.02)
	}
}

// TestSarLocale: a German sar reads as the same in C.
func TestSarLocale(t *testing.T) {
	const name = "runL-sar-d.de_DE.txt"
	german := sharedFile(t, "samples", "sar", name)
	sniffed(t, name, german, Sar)
	english := bytes.ReplaceAll(german, []byte(","), []byte("."))
	english = bytes.ReplaceAll(english, []byte("29.11.2026"), []byte("11/29/26"))
	english = bytes.ReplaceAll(english, []byte("Durchschn.:"), []byte("Average:   "))
	a := decodeAll(t, Sar, "de", german, ingest.DefaultOptions(), 0)
	b := decodeAll(t, Sar, "c", english, ingest.DefaultOptions(), 0)
	only(t, a, 0)
	exactly(t, "samples", int64(len(a.Samples)), 6*8)
	for i := range a.Samples {
		a.Samples[i].Position, b.Samples[i].Position = 0, 0
		if a.Samples[i] != b.Samples[i] {
			t.Errorf("sample %d:\n%+v\n%+v", i, a.Samples[i], b.Samples[i])
		}
	}
	s, _ := sums(a, "loop0")
	exactly(t, "I/Os", s.TotalIOs, 676) // its own average: 112,67 x 6 s
	within(t, "read bytes", float64(s.ReadBytes), 437.33*6*1024, 1e-4)
	within(t, "written bytes", float64(s.WriteBytes), 3170.50*6*1024, 1e-4)
}

// TestSysstatTests: what sysstat's own tests expect of sar and sadf is read
// without a reject; none of it is about devices.
func TestSysstatTests(t *testing.T) {
	for _, c := range []struct {
		name   string
		format ingest.Format
	}{
		{"expected.data-11.6.5-sadf-d.txt", SadfCSV}, {"expected.data-wghfreq-sadf-d.txt", SadfCSV}, {"expected.sadf-d-tz.txt", SadfCSV},
		{"expected.data-wghfreq-sadf-p.txt", SadfCSV}, {"expected.data-11.6.5-sadf-j.txt", SadfJSON}, {"expected.data-wghfreq-sadf-j.txt", SadfJSON},
		{"expected.sar-ISO.txt", Sar}, {"expected.sar-always.txt", Sar},
	} {
		data := sharedFile(t, "samples", "sysstat-tests", c.name)
		sniffed(t, c.name, data, c.format)
		out := decodeAll(t, c.format, c.name, data, ingest.DefaultOptions(), 100)
		only(t, out, 0)
		exactly(t, c.name+": samples", int64(len(out.Samples)), 0)
		exactly(t, c.name+": notes", out.Tally.Notes, int64(strings.Count(string(data), "\n")))
	}
	for _, name := range []string{"expected.sadf-disc.txt", "expected.data-11.6.5-sadf-x.txt"} { // SVG and XML
		data := sharedFile(t, "samples", "sysstat-tests", name)
		if f, _ := ingest.Choose(data[:min(len(data), ingest.SniffBytes)], name); f.Name != "" {
			t.Errorf("%s: taken for %s", name, f.Name)
		}
	}
}
