package formats

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// sample is one log of the shelf.
type sample struct {
	format ingest.Format
	path   string // testdata/FORMAT/NAME.log
	data   []byte
	o      ingest.Options
}

// shelf gives all logs. Beside a log may stand NAME.options with lines of
// KEY=VALUE: format, host, start_ns, zone, interval, first_report, latency_unit,
// mapping (JSON of an ingest.Mapping).
func shelf(t testing.TB) []sample {
	t.Helper()
	var all []sample
	for _, f := range ingest.Formats() {
		paths, err := filepath.Glob(filepath.Join("testdata", f.Name, "*.log"))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range paths {
			data, err := os.ReadFile(p)
			if err != nil {
				t.Fatal(err)
			}
			s := sample{format: f, path: filepath.ToSlash(p), data: data, o: ingest.DefaultOptions()}
			text, err := os.ReadFile(strings.TrimSuffix(p, ".log") + ".options")
			if err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(text)) {
				key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
				if err := option(&s.o, key, value); err != nil {
					t.Fatalf("%s: %v", p, err)
				}
			}
			all = append(all, s)
		}
	}
	return all
}

func option(o *ingest.Options, key, value string) (err error) {
	switch key {
	case "format":
		o.Format = value
	case "host":
		o.Host = value
	case "start_ns":
		o.StartNS, err = strconv.ParseInt(value, 10, 64)
	case "zone":
		o.Zone = value
	case "interval":
		o.Interval = value
	case "first_report":
		o.FirstReport, err = strconv.ParseBool(value)
	case "latency_unit":
		o.LatencyUnit = value
	case "mapping":
		var m ingest.Mapping
		err = json.Unmarshal([]byte(value), &m)
		o.Mappings = append(o.Mappings, m)
	default:
		err = fmt.Errorf("option %q", key)
	}
	return err
}

// reading is what a read gives, as text: row by row, and chunk by chunk.
type reading struct {
	rep          ingest.Report
	rows, chunks string
}

func read(t testing.TB, s sample, workers int, each func(*ingest.Chunk)) reading {
	t.Helper()
	var rows, chunks strings.Builder
	in := ingest.Input{Path: s.path, Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(s.data)), nil }}
	rep, err := ingest.Read(context.Background(), in, s.o, workers, func(c *ingest.Chunk) error {
		if each != nil {
			each(c)
			return nil
		}
		from := rows.Len()
		dump(&rows, c.Batch)
		fmt.Fprintf(&chunks, "chunk %d final %v %s\n%s", c.Number, c.Final, fates(c.Tally), rows.String()[from:])
		return nil
	})
	if err != nil {
		t.Fatalf("%s: %v", s.path, err)
	}
	return reading{rep, rows.String(), chunks.String()}
}

func TestShelf(t *testing.T) {
	logs := make(map[string]int)
	for _, s := range shelf(t) {
		logs[s.format.Name]++
	}
	for _, f := range ingest.Formats() {
		if logs[f.Name] == 0 {
			t.Errorf("format %s has no log in testdata/%s", f.Name, f.Name)
		}
	}
	folders, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range folders {
		if d.Name() == "fuzz" {
			continue
		}
		if _, err := ingest.FormatNamed(d.Name()); err != nil {
			t.Errorf("testdata/%s has no format", d.Name())
		}
	}
	goldens, _ := filepath.Glob("testdata/*/*.golden")
	for _, g := range goldens {
		if _, err := os.Stat(strings.TrimSuffix(g, ".golden") + ".log"); err != nil {
			t.Errorf("%s has no log", g)
		}
	}
}

func TestFormats(t *testing.T) {
	for _, s := range shelf(t) {
		t.Run(strings.TrimPrefix(s.path, "testdata/"), func(t *testing.T) {
			got := read(t, s, 1, nil)
			if got.rep.Format != s.format.Name {
				t.Fatalf("read as %q: %s", got.rep.Format, got.rep.Problem)
			}
			text := fates(got.rep.Tally) + "\n" + got.rows
			golden := strings.TrimSuffix(s.path, ".log") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatalf("%v; -update writes it", err)
			}
			if text != string(want) {
				t.Errorf("differs from %s:\n%s", golden, firstDifference(string(want), text))
			}
		})
	}
}

// TestFormatsDoNotDependOnReads holds the law that the size of reads and
// the number of workers change nothing, and that of chunks only the cuts.
func TestFormatsDoNotDependOnReads(t *testing.T) {
	for _, s := range shelf(t) {
		if testing.Short() && len(s.data) > 2<<10 {
			continue
		}
		t.Run(strings.TrimPrefix(s.path, "testdata/"), func(t *testing.T) {
			whole := read(t, s, 1, nil)
			lines := fates(whole.rep.Tally)
			for _, chunk := range []int64{int64(len(s.data)/3 + 1), 64 << 20, 100, 7} {
				if chunk < 100 && len(s.data) > 20_000 {
					continue
				}
				s.o.ChunkBytes = chunk
				s.o.ReadBytes = 1 << 20
				want := read(t, s, 1, nil)
				if byKind(want.rows) != byKind(whole.rows) || fates(want.rep.Tally) != lines {
					t.Errorf("chunks of %d bytes:\n%s\n%s\n%s", chunk, firstDifference(byKind(whole.rows), byKind(want.rows)), lines, fates(want.rep.Tally))
				}
				for _, size := range []int{1, 7, 4096} {
					s.o.ReadBytes = size
					if got := read(t, s, 3, nil); got.chunks != want.chunks {
						t.Errorf("chunks of %d bytes, reads of %d: %s", chunk, size, firstDifference(want.chunks, got.chunks))
					}
				}
			}
		})
	}
}

// TestFormatsCut cuts each log at each byte: nothing panics and the fates sum
// (Read checks it). Where lines stand alone, a cut costs the line that it
// meets and no other.
func TestFormatsCut(t *testing.T) {
	steps := 600 // cuts of a log
	if testing.Short() {
		steps = 40
	}
	for _, s := range shelf(t) {
		if len(s.data) > 16<<10 {
			continue
		}
		t.Run(strings.TrimPrefix(s.path, "testdata/"), func(t *testing.T) {
			if s.o.Format == "" {
				s.o.Format = s.format.Name
			}
			s.o.Host = "h"
			whole := s.data
			for cut := 0; cut < len(whole); cut += 1 + len(whole)/steps {
				s.data = whole[:cut]
				read(t, s, 1, func(c *ingest.Chunk) { check(t, c) })
			}
			if s.format.Line == nil {
				return
			}
			// Behind the head, that a decoder may settle things from, and with
			// a chunk for each line, so that rows come in the order of lines.
			if whole[len(whole)-1] != '\n' {
				whole = append(whole, '\n')
			}
			tail := len(whole)
			whole = bytes.Repeat(whole, 2+ingest.SniffBytes/tail)
			s.data, s.o.ChunkBytes = whole, 1
			all := read(t, s, 1, nil).rows
			for cut := len(whole) - tail; cut < len(whole); cut += 1 + 8*tail/steps {
				s.data = whole[:bytes.LastIndexByte(whole[:cut], '\n')+1]
				kept := read(t, s, 1, nil).rows
				s.data = whole[:cut]
				if got := read(t, s, 1, nil).rows; !strings.HasPrefix(all, kept) || !strings.HasPrefix(got, kept) {
					t.Fatalf("a cut at byte %d changes lines before it: %s", cut, firstDifference(kept, got))
				}
			}
		})
	}
}

// check holds what is true of all rows of all formats.
func check(t testing.TB, c *ingest.Chunk) {
	t.Helper()
	for i := range c.Events {
		e := &c.Events[i]
		if e.InsertNS > e.GetNS && e.GetNS >= 0 || max(e.GetNS, e.InsertNS) > e.QueueNS && e.QueueNS >= 0 {
			t.Errorf("stages out of their order: %+v", *e)
		}
		if min(e.LatencyNS, e.QueueNS, e.GetNS, e.InsertNS, e.OffsetBytes, e.SizeBytes, int64(e.PID), int64(e.Depth)) < ingest.Missing || e.Error < 0 {
			t.Errorf("impossible event %+v", *e)
		}
		if e.Device == 0 || e.Host == 0 || e.SizeBytes > 0 && e.OffsetBytes > math.MaxInt64-e.SizeBytes {
			t.Errorf("event without a device or a host, or beyond all devices: %+v", *e)
		}
	}
	for i := range c.Samples {
		s := &c.Samples[i]
		values := counters(s)
		if slices.Min(values[:]) < ingest.Missing || s.IntervalNS <= 0 || s.Host == 0 || s.Device == 0 {
			t.Errorf("impossible sample %+v", *s)
		}
	}
	for i := range c.Evidence {
		if e := &c.Evidence[i]; math.IsNaN(e.Value) || math.IsInf(e.Value, 0) || e.Name == 0 {
			t.Errorf("impossible evidence %+v", *e)
		}
	}
}

// FuzzFormats decodes anything by every format: no panic, no impossible value,
// fates that sum, the same again the second time and in other chunks.
// With -fuzzminimizetime 1x: goroutines make coverage waver, and minimizing
// would take all the time.
//
// IOPATHY_FUZZ_FORMATS, names with commas between, keeps to some formats; all
// other numbers then stand for these, too.
func FuzzFormats(f *testing.F) {
	formats := ingest.Formats()
	number := func(name string) int {
		return slices.IndexFunc(formats, func(f ingest.Format) bool { return f.Name == name })
	}
	only := strings.FieldsFunc(os.Getenv("IOPATHY_FUZZ_FORMATS"), func(r rune) bool { return r == ',' })
	for _, name := range only {
		if number(name) < 0 {
			f.Fatalf("IOPATHY_FUZZ_FORMATS: no format %q", name)
		}
	}
	for _, s := range shelf(f) {
		if len(only) == 0 || slices.Contains(only, s.format.Name) {
			f.Add(uint8(number(s.format.Name)), s.data)
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		format := formats[int(which)%len(formats)]
		if len(only) > 0 && !slices.Contains(only, format.Name) {
			format = formats[number(only[int(which)%len(only)])]
		}
		s := sample{format: format, path: "fuzz.log", data: data}
		s.o.Format, s.o.StartNS = format.Name, 1_700_000_000e9
		one := read(t, s, 1, nil)
		two := read(t, s, 2, nil)
		if one.chunks != two.chunks {
			t.Errorf("%s: the second read differs: %s", format.Name, firstDifference(one.chunks, two.chunks))
		}
		s.o.ChunkBytes = int64(len(data)/2 + 1)
		var rows strings.Builder
		rep := read(t, s, 1, func(c *ingest.Chunk) { check(t, c); dump(&rows, c.Batch) }).rep
		if rep.Events != one.rep.Events || rep.Samples != one.rep.Samples || fates(rep.Tally) != fates(one.rep.Tally) {
			t.Errorf("%s: two chunks give %s, one %s", format.Name, fates(rep.Tally), fates(one.rep.Tally))
		}
	})
}
