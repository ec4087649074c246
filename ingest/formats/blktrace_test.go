package formats

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

func TestBlktraceFixtures(t *testing.T) {
	for name, data := range blkFixtures() {
		path := filepath.Join("testdata", "blktrace", name+".log")
		if *update {
			if err := os.WriteFile(path, data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s is not what is written here (%v); -update writes it", path, err)
		}
	}
}

// rowsOf is dumped rows without what depends on the layout: where they stand.
func rowsOf(rows string) string {
	var b strings.Builder
	for line := range strings.Lines(rows) {
		row, _, _ := strings.Cut(line, " @")
		b.WriteString(row + "\n")
	}
	return b.String()
}

func TestBlktraceLayouts(t *testing.T) {
	var want string
	for i, l := range []blkLayout{{7, false}, {7, true}, {8, false}, {8, true}} {
		s := sample{path: "sdb.blktrace.0", data: blkBytes(l, rawTour(l)...), o: ingest.Options{Host: "h"}}
		got := read(t, s, 1, nil)
		if rows := rowsOf(got.rows); i == 0 {
			want = rows
		} else if rows != want {
			t.Errorf("%+v: %s", l, firstDifference(want, rows))
		}
		if got.rep.Format != "blktrace" || got.rep.FirstNS != 1_700_000_000_251_000_000 {
			t.Errorf("%+v: read as %q from %d on", l, got.rep.Format, got.rep.FirstNS)
		}
	}
	for _, version := range []int{1, 6, 9} {
		l := blkLayout{version: version}
		got := read(t, sample{path: "x", data: blkBytes(l, rawTour(l)...)}, 1, nil)
		if !strings.Contains(got.rep.Problem, "7 and 8 are known") || got.rep.Events != 0 {
			t.Errorf("version %d: %q", version, got.rep.Problem)
		}
	}
}

// TestBlktraceDump: blkparse -d writes the records of all CPUs into one file, with stamps
// that count from the first record, but for the TIMESTAMP's.
func TestBlktraceDump(t *testing.T) {
	l := blkLayout{version: 7}
	tour := rawTour(l)
	want := read(t, sample{path: "x", data: blkBytes(l, tour...), o: ingest.Options{Host: "h"}}, 1, nil)
	for i := range tour[2:] {
		tour[2+i].time -= tour[0].time + 1_000_000 // the first record is 1 ms behind the TIMESTAMP
	}
	tour[3].time, tour[4].time = 0, 0
	dump := read(t, sample{path: "x", data: blkBytes(l, tour...), o: ingest.Options{Host: "h"}}, 1, nil)
	if dump.rep.FirstNS != want.rep.FirstNS-1_000_000 || dump.rep.LastNS != want.rep.LastNS-1_000_000 || dump.rep.Events != want.rep.Events {
		t.Errorf("%d events from %d to %d, the trace has %d from %d to %d",
			dump.rep.Events, dump.rep.FirstNS, dump.rep.LastNS, want.rep.Events, want.rep.FirstNS, want.rep.LastNS)
	}
	// By blkparse itself, where it is and the recordings are.
	path, err := exec.LookPath("blkparse")
	archive := filepath.Join("..", "..", "..", "shared", "corpus", "raw", "run-0002.blktrace.tar.gz")
	inputs, _, err2 := ingest.Resolve([]string{archive}, nil, ingest.Options{})
	if err != nil || err2 != nil {
		t.Skipf("blkparse or the recordings absent: %v, %v", err, err2)
	}
	dir := t.TempDir()
	for i, m := range inputs[0].Members {
		r, err := m.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		r.Close()
		if err := errors.Join(err, os.WriteFile(filepath.Join(dir, fmt.Sprintf("x.blktrace.%d", i)), data, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command(path, "-q", "-i", "x", "-d", "x.dump", "-o", "x.txt")
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	data, err := os.ReadFile(filepath.Join(dir, "x.dump"))
	if err != nil {
		t.Fatal(err)
	}
	o := ingest.Options{Host: "h"}
	rows, _ := readInput(t, ingest.Input{Path: "x.dump", Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }}, o)
	members, _ := readInput(t, inputs[0], o)
	if rowsOf(rows) != rowsOf(members) {
		t.Errorf("the dump differs from the trace: %s", firstDifference(rowsOf(members), rowsOf(rows)))
	}
}

func TestBlktraceGroup(t *testing.T) {
	check := func(path, want string) {
		t.Helper()
		if got := blktraceGroup(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	check("a/sdb.blktrace.0", "a/sdb.blktrace.*")
	check("a/sdb.blktrace.12", "a/sdb.blktrace.*")
	check("sdb.blktrace.0.gz", "sdb.blktrace.*.gz")
	check("nvme0n1.blktrace.3.zst", "nvme0n1.blktrace.*.zst")
	for _, alone := range []string{"sdb.blktrace", "sdb.blktrace.", "sdb.blktrace.x", "sdb.0", "blktrace.0.log", "sdb.blkparse.0"} {
		check(alone, "")
	}
}

// readGroup reads files of the given contents as one source.
func readGroup(t testing.TB, o ingest.Options, files ...[]byte) (rows string, rep ingest.Report) {
	t.Helper()
	dir := t.TempDir()
	for i, data := range files {
		if err := os.WriteFile(filepath.Join(dir, "sdb.blktrace."+string(rune('0'+i))), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	inputs, _, err := ingest.Resolve([]string{dir}, nil, o)
	if err != nil || len(inputs) != 1 {
		t.Fatalf("%d inputs, %v", len(inputs), err)
	}
	return readInput(t, inputs[0], o)
}

func readInput(t testing.TB, in ingest.Input, o ingest.Options) (string, ingest.Report) {
	t.Helper()
	var rows strings.Builder
	rep, err := ingest.Read(context.Background(), in, o, 1, func(c *ingest.Chunk) error {
		check(t, c)
		dump(&rows, c.Batch)
		return nil
	})
	if err != nil || rep.Problem != "" {
		t.Fatalf("%v, %q", err, rep.Problem)
	}
	return rows.String(), rep
}

// However the records of a trace lie in the files of the CPUs, in whatever
// layouts, the rows are the same.
func TestBlktraceMembers(t *testing.T) {
	le, be := blkLayout{version: 7}, blkLayout{version: 8, big: true}
	o := ingest.Options{Host: "h"}
	tour := rawTour(le)
	// Times apart, so that the order is settled, and names at the end of one.
	for i := range tour {
		tour[i].time = 5_000_000_000 + uint64(i)*1000
	}
	all, one := readGroup(t, o, blkBytes(le, tour...), nil)
	for _, cut := range []func(i int) int{
		func(i int) int { return i % 2 },
		func(i int) int { return i / 10 },
		func(i int) int { return min(i%7, 3) },
	} {
		for _, ls := range [][]blkLayout{{le, le, le, le}, {le, be, be, le}} {
			files := make([][]byte, 4)
			for i, r := range tour {
				k := cut(i)
				if r.action == rawNotify|blkNotifyTime {
					r = rawTime(ls[k], r.time, 1_700_000_000, 250_000_000)
				}
				files[k] = append(files[k], blkBytes(ls[k], r)...)
			}
			for _, o := range []ingest.Options{o, {Host: "h", ReadBytes: 7}} {
				rows, rep := readGroup(t, o, files...)
				if rowsOf(rows) != rowsOf(all) || fates(rep.Tally) != fates(one.Tally) {
					t.Errorf("%v: %s\n%s\n%s", ls, firstDifference(rowsOf(all), rowsOf(rows)), fates(one.Tally), fates(rep.Tally))
				}
			}
		}
	}
}

func TestBlktraceRunA(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "shared", "samples", "blktrace")
	inputs, _, err := ingest.Resolve([]string{filepath.Join(dir, "runA-loop0.blktrace.*")}, nil, ingest.Options{Host: "h"})
	if err != nil {
		t.Skipf("samples absent: %v", err)
	}
	if len(inputs) != 1 || len(inputs[0].Members) != 2 {
		t.Fatalf("%d inputs", len(inputs))
	}
	rows, rep := readInput(t, inputs[0], ingest.Options{Host: "h"})
	text := decodeBlkparse(t, sharedFile(t, "samples", "blkparse", "runA-loop0.blkparse.txt.gz"), ingest.Options{})
	for i := range text.Events {
		text.Events[i].Host = text.Names.InternString("h")
	}
	for i := range text.Evidence {
		text.Batch.Evidence[i].Host = text.Names.InternString("h")
	}
	var want strings.Builder
	dump(&want, &text.Batch)
	if rep.Events != int64(len(text.Events)) || rowsOf(rows) != rowsOf(want.String()) {
		t.Errorf("%d events, blkparse has %d: %s", rep.Events, len(text.Events), firstDifference(rowsOf(want.String()), rowsOf(rows)))
	}
	if rep.Tally.Rejected()+rep.Tally.UnpairedLines() != 0 {
		t.Errorf("left over: %s", fates(rep.Tally))
	}
	t.Logf("%d records, %d events", rep.Tally.Lines, rep.Events)
}

// A file of one CPU alone, of a partition that is mapped to its disk: 963 each
// of A Q G P U D C and two names.
func TestBlktraceOneCPU(t *testing.T) {
	data := sharedFile(t, "samples", "blktrace", "takeoverjp-sample.blktrace.0.gz")
	in := ingest.Input{Path: "sample.blktrace.0", Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }}
	rows, rep := readInput(t, in, ingest.Options{})
	if rep.Tally.Lines != 6743 || rep.Tally.Event != 4*963 || rep.Tally.Notes != 3*963+2 || rep.Events != 963 {
		t.Errorf("%d events, %s", rep.Events, fates(rep.Tally))
	}
	if n := strings.Count(rows, "\nevidence"); n != 1 || !strings.Contains(rows, "dev:259:0 remap 0 dev:259:3") {
		t.Errorf("%d facts", n)
	}
	// The task that queued them all is one of those that the file names nobody for.
	if n := strings.Count(rows, "pid 21279 comm - "); n != 963 {
		t.Errorf("%d events of task 21279, want 963", n)
	}
}

// The archives of the recordings, as they are, give the rows of the recordings.
func TestBlktraceCorpus(t *testing.T) {
	if testing.Short() {
		t.Skip("a decoder starts no goroutine: nothing for the race detector")
	}
	paths, _ := filepath.Glob(filepath.Join("..", "..", "..", "shared", "corpus", "raw", "*.blktrace.tar.gz"))
	if len(paths) == 0 {
		t.Skip("recordings absent")
	}
	differ, headless, events := 0, 0, 0
	for _, path := range paths {
		inputs, skips, err := ingest.Resolve([]string{path}, nil, ingest.Options{})
		if err != nil || len(inputs) != 1 || len(skips) != 0 || len(inputs[0].Members) != 2 {
			t.Fatalf("%s: %d inputs, %v, %v", path, len(inputs), skips, err)
		}
		run := strings.TrimSuffix(filepath.Base(path), ".blktrace.tar.gz")
		want := corpusRows(t, sharedFile(t, "corpus", "runs", run+".csv.gz"))
		var got []corpusRow
		rep, err := ingest.Read(context.Background(), inputs[0], ingest.Options{ChunkBytes: 1 << 20}, 1, func(c *ingest.Chunk) error {
			for _, e := range c.Events {
				got = append(got, corpusRow{
					e.TimeNS, e.Op.String(), e.Flags.String(), c.Names.String(e.Comm),
					int64(e.PID), e.OffsetBytes, e.SizeBytes, e.QueueNS, e.LatencyNS,
				})
			}
			return nil
		})
		if err != nil || rep.Problem != "" || len(got) != len(want) || rep.Tally.Rejected() != 0 {
			t.Fatalf("%s: %d events, want %d; %q, %v, %s", run, len(got), len(want), rep.Problem, err, fates(rep.Tally))
		}
		slices.SortFunc(got, corpusRow.compare)
		slices.SortFunc(want, corpusRow.compare)
		for i, g := range got {
			w := want[i]
			if g.queue == ingest.Missing { // queued before the trace begins
				headless++
				w.late, w.queue = w.late-w.queue, ingest.Missing
			}
			if g != w {
				if differ++; differ <= 5 {
					t.Errorf("%s: event %d:\n got %+v\nwant %+v", run, i, g, w)
				}
			}
		}
		events += len(got)
	}
	if headless > 4 {
		t.Errorf("%d rows without their Q, want 4", headless)
	}
	t.Logf("%d archives, %d events, %d differ, %d queued before the trace begins", len(paths), events, differ, headless)
}

// FuzzBlktrace reads anything as two members of a trace: nothing impossible,
// fates that sum (Read checks it), and the sizes of reads and chunks change no
// row.
func FuzzBlktrace(f *testing.F) {
	for _, data := range blkFixtures() {
		f.Add(data, uint16(len(data)/2), uint16(100))
	}
	le := blkLayout{version: 7}
	f.Add(append(blkBytes(le, rawTour(le)...), blkBytes(blkLayout{8, true}, rawTour(blkLayout{8, true})...)...), uint16(1529), uint16(1000))
	f.Fuzz(func(t *testing.T, data []byte, cut, chunk uint16) {
		at := min(int(cut), len(data))
		member := func(data []byte) ingest.Input {
			return ingest.Input{Path: "x", Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }}
		}
		in := ingest.Input{Path: "x.*", Members: []ingest.Input{member(data[:at]), member(data[at:])}}
		one := func(o ingest.Options) (rows, chunks string, rep ingest.Report) {
			o.Format, o.Host = "blktrace", "h"
			var all, each strings.Builder
			rep, err := ingest.Read(context.Background(), in, o, 1, func(c *ingest.Chunk) error {
				check(t, c)
				dump(&all, c.Batch)
				fmt.Fprintf(&each, "chunk %d final %v %s\n%s", c.Number, c.Final, fates(c.Tally), all.String())
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			return byKind(all.String()), each.String(), rep
		}
		want, _, rep := one(ingest.Options{})
		small := ingest.Options{ChunkBytes: 1 + int64(chunk)}
		rows, chunks, got := one(small)
		if rowsOf(rows) != rowsOf(want) || fates(got.Tally) != fates(rep.Tally) {
			t.Errorf("chunks change rows: %s", firstDifference(rowsOf(want), rowsOf(rows)))
		}
		small.ReadBytes = 5
		if _, again, _ := one(small); again != chunks {
			t.Errorf("reads change chunks: %s", firstDifference(chunks, again))
		}
	})
}

func BenchmarkBlktrace(b *testing.B) {
	paths := []string{filepath.Join("..", "..", "..", "shared", "corpus", "raw", "run-0109.blktrace.tar.gz")}
	inputs, _, err := ingest.Resolve(paths, nil, ingest.Options{})
	if err != nil {
		b.Skipf("recordings absent: %v", err)
	}
	b.SetBytes(inputs[0].Size)
	b.ReportAllocs()
	var records int64
	for b.Loop() {
		rep, err := ingest.Read(context.Background(), inputs[0], ingest.Options{}, 1, func(*ingest.Chunk) error { return nil })
		if err != nil {
			b.Fatal(err)
		}
		records += rep.Tally.Lines
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(records), "ns/record")
}
