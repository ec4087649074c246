package formats

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

// TestFioRecording: the events of each job have fio's own number, bytes and mean
// latency. Oracle: the JSON that the same run of fio wrote.
func TestFioRecording(t *testing.T) {
	type op struct {
		IOs   int64 `json:"total_ios"`
		Bytes int64 `json:"io_bytes"`
		Lat   struct {
			N    int64   `json:"N"`
			Mean float64 `json:"mean"`
		} `json:"lat_ns"`
	}
	var report struct {
		Jobs []struct {
			Read, Write op
		}
	}
	text := sharedFile(t, "samples", "fio-json", "runA-fio.jsonplus.json")
	if err := json.Unmarshal(text[bytes.IndexByte(text, '{'):], &report); err != nil {
		t.Fatal(err)
	}
	var all int64
	for job, want := range report.Jobs {
		for _, kind := range []string{"lat", "clat", "slat", "bw", "iops"} {
			name := fmt.Sprintf("runA-fio_%s.%d.log", kind, job+1)
			data := sharedFile(t, "samples", "fio-log", name)
			if len(data) == 0 {
				continue
			}
			if FioLog.Sniff(data[:min(len(data), ingest.SniffBytes)], name) != 2 {
				t.Errorf("%s: not known as a fio log", name)
			}
			out := decodeAll(t, FioLog, name, data, ingest.Options{StartNS: 1e18}, 0)
			if kind != "lat" {
				if len(out.Events) != 0 || out.Tally.Notes != out.Tally.Lines {
					t.Errorf("%s: %d events beside the lat log, %+v", name, len(out.Events), out.Tally)
				}
				continue
			}
			if out.Tally.Event != out.Tally.Lines {
				t.Errorf("%s: %+v", name, out.Tally)
			}
			var got [2]op
			for _, e := range out.Events {
				g := &got[0]
				if e.Op == ingest.OpWrite {
					g = &got[1]
				}
				g.IOs++
				g.Bytes += e.SizeBytes
				g.Lat.Mean += float64(e.LatencyNS)
				if e.OffsetBytes < 0 || e.OffsetBytes%4096 != 0 || e.TimeNS < 1e18 || e.TimeNS > 1e18+7e9 || out.Names.String(e.Device) != "fio:runA-fio" {
					t.Fatalf("%s: %+v", name, e)
				}
			}
			for i, w := range [2]op{want.Read, want.Write} {
				g := got[i]
				if g.IOs != w.IOs || g.Bytes != w.Bytes {
					t.Errorf("%s: %d I/Os of %d bytes, want %d of %d", name, g.IOs, g.Bytes, w.IOs, w.Bytes)
				}
				if w.IOs > 0 && math.Abs(g.Lat.Mean/float64(g.IOs)-w.Lat.Mean) > 0.01*w.Lat.Mean {
					t.Errorf("%s: mean latency %g, want %g", name, g.Lat.Mean/float64(g.IOs), w.Lat.Mean)
				}
			}
			all += int64(len(out.Events))
		}
	}
	if want := int64(1500 + 360 + 721 + 401); all != want {
		t.Errorf("%d events, want %d", all, want)
	}
}

// TestFioOld: the logs of 2013 have four columns; bw and iops logs are notes.
func TestFioOld(t *testing.T) {
	for _, name := range []string{"randwrite-para.results_bw", "randwrite-para.results_iops", "read-para.results_bw", "read-para.results_iops"} {
		name = "fio2013-m2sw1-128k-sdb-" + name + ".log"
		out := decodeAll(t, FioLog, name, sharedFile(t, "samples", "fio-log", name), ingest.DefaultOptions(), 0)
		if out.Tally.Notes != out.Tally.Lines || out.Tally.Lines == 0 {
			t.Errorf("%s: %+v", name, out.Tally)
		}
	}
}

func TestFioName(t *testing.T) {
	check := func(path string, kind fioKind, prefix string) {
		t.Helper()
		if k, p := fioName(path); k != kind || p != prefix {
			t.Errorf("%s: kind %d of %q, want %d of %q", path, k, p, kind, prefix)
		}
	}
	check("run/disk1_lat.12.log", fioLat, "disk1")
	check("disk1_clat.1.log.gz", fioClat, "disk1")
	check("a/b/flat_world_slat.log", fioSlat, "flat_world")
	check("x.results_bw.log", fioBW, "x.results")
	check("lat_iops.3.log", fioIOPS, "lat")
	check("x_clat_hist.1.log", fioHist, "x")
	check("lat.log", fioLat, "")
	check("latency.log", fioUnknown, "latency")
	check("platform.log.zst", fioUnknown, "platform")
}

// TestFioLayouts decodes one I/O in the columns of each version of fio; sixteen
// lines stand before it, since the layout follows from the head.
func TestFioLayouts(t *testing.T) {
	check := func(line string, latency, offset int64) {
		t.Helper()
		data := []byte(strings.Repeat(line+"\n", 17))
		out := decodeAll(t, FioLog, "x_lat.1.log", data, ingest.DefaultOptions(), 0)
		if len(out.Events) != 17 {
			t.Errorf("%q: %d events, %+v", line, len(out.Events), out.Tally)
			return
		}
		e := out.Events[16]
		if e.TimeNS != 1200e6 || e.LatencyNS != latency || e.Op != ingest.OpWrite || e.SizeBytes != 4096 || e.OffsetBytes != offset || e.Kind != ingest.KindApp {
			t.Errorf("%q: %+v", line, e)
		}
	}
	check("1200, 85000, 1, 4096", 85000, -1)
	check("1200, 850, 1, 4096", 850000, -1) // nothing takes less than 1 us: before 2.99
	check("1200, 850, 1, 4096, 0", 850, -1) // but a priority came later
	check("1200, 85000, 1, 4096, 81920", 85000, 81920)
	check("1200, 85000, 1, 4096, 81920, 1", 85000, 81920)
	check("1200, 85000, 1, 4096, 0x2004", 85000, -1)
	check("1200, 85000, 1, 4096, 81920, 0x0000", 85000, 81920)
	check("1200, 85000, 1, 4096, 0, 1199915000", 85000, -1)
	check("1200, 85000, 1, 4096, 81920, 0x0004, 1199915000", 85000, 81920)
	check("1200, 85000, 91000, 1, 4096, 81920, 0", 85000, 81920)
	check("1200, 85000, 91000, 1, 4096, 81920, 0, 1199915000", 85000, 81920)
}

func TestFioOptions(t *testing.T) {
	line := []byte("1709683197123, 850, 0, 4096, 512, 0\n")
	open := func(path string, o ingest.Options) error {
		_, err := FioLog.Line(&ingest.Source{Path: path, Head: line, Options: o})
		return err
	}
	refuse := func(path string, o ingest.Options, want string) {
		t.Helper()
		if err := open(path, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	refuse("a_lat.1.log.fz", ingest.Options{}, "--inflate-log=a_lat.1.log.fz")
	refuse("a.log", ingest.Options{}, "PREFIX_lat.JOB.log")
	refuse("a_lat.1.log", ingest.Options{LatencyUnit: "ms"}, `latency unit "ms"`)
	check := func(path string, o ingest.Options, events int, latency, at int64) {
		t.Helper()
		out := decodeAll(t, FioLog, path, line, o, 0)
		if len(out.Events) != events || events == 1 && (out.Events[0].LatencyNS != latency || out.Events[0].TimeNS != at) {
			t.Errorf("%s %+v: %+v", path, o, out.Batch)
		}
	}
	const epoch = 1709683197123e6
	check("a_lat.1.log", ingest.Options{}, 1, 850, epoch)
	check("a_lat.1.log", ingest.Options{StartNS: 5}, 1, 850, epoch) // the stamp is an epoch: no start is added
	check("a_lat.1.log", ingest.Options{LatencyUnit: "us"}, 1, 850e3, epoch)
	check("a_clat.1.log", ingest.Options{}, 0, 0, 0)
	check("a_clat.1.log", ingest.Options{Format: "fio-log"}, 1, 850, epoch)
	check("a_slat.1.log", ingest.Options{Format: "fio-log"}, 0, 0, 0)
	check("-", ingest.Options{Format: "fio-log"}, 1, 850, epoch)
}

func TestFioSniff(t *testing.T) {
	check := func(path, head string, want int) {
		t.Helper()
		if got := FioLog.Sniff([]byte(head), path); got != want {
			t.Errorf("%s %q: %d, want %d", path, head, got, want)
		}
	}
	check("a_lat.1.log", "16, 16432764, 0, 4096, 4046848, 0\n", 2)
	check("a.txt", "16, 16432764, 0, 4096, 4046848, 0\n", 1)
	check("a_lat.1.log.fz", "\x78\x9c", 2)
	check("a_lat.1.log", "128166372003061629,hm,1,Read,383496192,32768,413\n", 0)
	check("a.csv", "1538323200,2881,32,0,1063\n", 0) // no blank behind the commas: another trace set
	check("a_lat.1.log", "", 0)
	check("a_lat.1.log", "a\nb\n16, 16432764, 0, 4096\n", 0)
}

func TestFioAllocs(t *testing.T) {
	data := []byte(strings.Repeat("5996, 195953, 0, 4096, 49201152, 0\n", 100))
	d, err := FioLog.Line(&ingest.Source{Path: "a_lat.1.log", Head: data, Host: "h"})
	if err != nil {
		t.Fatal(err)
	}
	out := &ingest.Out{}
	line := data[:bytes.IndexByte(data, '\n')]
	d.Line(line, out)
	out.Events = append(out.Events, make([]ingest.Event, 1000)...)[:0]
	if n := testing.AllocsPerRun(100, func() {
		d.Line(line, out)
		out.Events = out.Events[:0]
	}); n != 0 {
		t.Errorf("%g allocations a line", n)
	}
}

// BenchmarkDecoders measures the decoders without the reading loop.
func BenchmarkDecoders(b *testing.B) {
	run := func(f ingest.Format, path, name string) {
		b.Run("format="+f.Name+"/input="+name, func(b *testing.B) {
			data := sharedFile(b, "samples", path, name)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			src := &ingest.Source{Path: name, Head: data[:min(len(data), ingest.SniffBytes)], Host: "h", Options: ingest.DefaultOptions()}
			out := &ingest.Out{}
			for b.Loop() {
				out.Reset()
				switch {
				case f.Line != nil:
					d, err := f.Line(src)
					if err != nil {
						b.Fatal(err)
					}
					for rest := data; len(rest) > 0; {
						i := bytes.IndexByte(rest, '\n')
						d.Line(rest[:i], out)
						rest = rest[i+1:]
					}
				case f.Lines != nil:
					d, err := f.Lines(src)
					if err != nil {
						b.Fatal(err)
					}
					for rest := data; len(rest) > 0; {
						i := bytes.IndexByte(rest, '\n')
						d.Line(rest[:i], out)
						rest = rest[i+1:]
					}
					d.End(out)
				default:
					d, err := f.Stream(src)
					if err != nil {
						b.Fatal(err)
					}
					d.Decode(data, true, out)
					d.End(out)
				}
			}
		})
	}
	run(FioLog, "fio-log", "runA-fio_lat.1.log")
	run(FioLog, "fio-log", "runA-fio_clat.1.log")
	run(Iostat, "iostat", "runA-iostat-x-t.txt")
	run(Iostat, "sysstat-tests", "expected.iostat-x-ALL-p-ALL.txt")
	run(IostatJSON, "iostat", "runA-iostat-x.TRUNCATED-or-closed.json")
	run(IostatJSON, "sysstat-tests", "expected.iostat-x-p-ALL-JSON.txt")
}
