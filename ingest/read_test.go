package ingest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Three formats of the tests alone: lines "t NAME NUMBER" without memory, lines
// "+NAME NUMBER" and "-NAME" that make an event in pairs, and a stream of
// records "<NAME NUMBER>".
var (
	_ = Register(Format{Name: "test-line", Doc: "test", Sniff: prefix("t "),
		Line: func(*Source) (LineDecoder, error) { return testLine{}, nil }})
	_ = Register(Format{Name: "test-pairs", Doc: "test", Sniff: prefix("+"),
		Lines: func(*Source) (LinesDecoder, error) { return &testPairs{open: map[string]int64{}}, nil }})
	_ = Register(Format{Name: "test-stream", Doc: "test", Sniff: prefix("<"),
		Stream: func(*Source) (StreamDecoder, error) { return testStream{}, nil }})
	_ = Register(Format{Name: "test-tie-a", Doc: "test", Sniff: prefix("tie"),
		Line: func(*Source) (LineDecoder, error) { return testLine{}, nil }})
	_ = Register(Format{Name: "test-tie-b", Doc: "test", Sniff: prefix("tie"),
		Line: func(*Source) (LineDecoder, error) { return testLine{}, nil }})
)

func prefix(p string) func([]byte, string) int {
	return func(head []byte, _ string) int {
		if bytes.HasPrefix(head, []byte(p)) {
			return 2
		}
		return 0
	}
}

type testLine struct{}

func (testLine) Line(line []byte, out *Out) {
	f := strings.Fields(string(line))
	if len(f) == 0 {
		out.Note()
		return
	}
	if len(f) != 3 || f[0] != "t" {
		out.Reject(line, "bad-line")
		return
	}
	n, err := strconv.ParseInt(f[2], 10, 64)
	if err != nil {
		out.Reject(line, "bad-number")
		return
	}
	e := NewEvent()
	e.TimeNS, e.Device = n, out.Names.InternString(f[1])
	out.Event(e)
}

type testPairs struct{ open map[string]int64 }

func (d *testPairs) Line(line []byte, out *Out) {
	if len(line) == 0 {
		out.Note()
		return
	}
	name, number, _ := strings.Cut(string(line[1:]), " ")
	switch line[0] {
	case '+':
		n, _ := strconv.ParseInt(number, 10, 64)
		if _, ok := d.open[name]; ok {
			out.Count(FateUnpaired, "twice", 1)
		}
		d.open[name] = n
	case '-':
		n, ok := d.open[name]
		if !ok {
			out.Count(FateUnpaired, "no-start", 1)
			return
		}
		delete(d.open, name)
		out.Count(FateEvent, "", 1)
		e := NewEvent()
		e.TimeNS, e.Device = n, out.Names.InternString(name)
		out.Event(e)
	default:
		out.Reject(line, "bad-line")
	}
}

func (d *testPairs) End(out *Out) {
	out.Count(FateUnpaired, "open", int64(len(d.open)))
}

type testStream struct{}

func (testStream) Decode(block []byte, final bool, out *Out) int {
	took, start := 0, out.Position
	for out.Position = start; out.Position < out.Limit; out.Position = start + int64(took) {
		end := bytes.IndexByte(block[took:], '>')
		if end < 0 {
			break
		}
		record := block[took : took+end+1]
		took += end + 1
		out.Tally.Lines++
		name, number, ok := strings.Cut(string(bytes.Trim(record, "<>\n")), " ")
		n, err := strconv.ParseInt(number, 10, 64)
		if !ok || err != nil {
			out.Reject(record, "bad-record")
			continue
		}
		s := NewSample()
		s.TimeNS, s.Device = n, out.Names.InternString(name)
		out.Sample(s)
	}
	return took
}

func (testStream) End(*Out) {}

// dump is all that a read gives, as text.
type dump struct {
	rep    Report
	text   string // every row in order, names resolved, without the chunks
	chunks string // the same, chunk by chunk
}

func readAll(t *testing.T, data []byte, o Options, workers int) dump {
	t.Helper()
	var d dump
	var text, chunks strings.Builder
	in := Input{Path: "in", Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }}
	rep, err := Read(context.Background(), in, o, workers, func(c *Chunk) error {
		var rows strings.Builder
		for _, e := range c.Events {
			fmt.Fprintf(&rows, "E %d %s @%d\n", e.TimeNS, c.Names.String(e.Device), e.Position)
		}
		for _, s := range c.Samples {
			fmt.Fprintf(&rows, "S %d %s @%d\n", s.TimeNS, c.Names.String(s.Device), s.Position)
		}
		for _, r := range c.Rejected {
			fmt.Fprintf(&rows, "R %d @%d %s %q\n", r.Line, r.Position, r.Reason, r.Text)
		}
		text.WriteString(rows.String())
		fmt.Fprintf(&chunks, "chunk %d final %v tally %+v names %q\n%s", c.Number, c.Final, c.Tally, c.Names.List(), rows.String())
		return nil
	})
	if err != nil {
		t.Fatalf("Read: %v", err)
	}
	d.rep, d.text, d.chunks = rep, text.String(), chunks.String()
	return d
}

// lines makes a log of n lines for test-line, with blank, bad, very long, NUL
// and CRLF lines between.
func lines(n int, seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	var b bytes.Buffer
	for i := range n {
		switch r.IntN(200) {
		case 0:
			b.WriteString("\n")
		case 1:
			b.WriteString("garbage\n")
		case 2:
			b.WriteString("t a\x00b 5\n")
		case 3:
			fmt.Fprintf(&b, "t crlf %d\r\n", i)
		case 4:
			fmt.Fprintf(&b, "t %s 1\n", strings.Repeat("x", r.IntN(3000)))
		default:
			fmt.Fprintf(&b, "t dev%d %d\n", r.IntN(50), i)
		}
	}
	return append([]byte("t first 1\n"), b.Bytes()...)
}

func TestReadDoesNotDependOnWorkersOrReads(t *testing.T) {
	var pairs, stream bytes.Buffer
	r := rand.New(rand.NewPCG(3, 3))
	for i := range 40000 {
		fmt.Fprintf(&pairs, "%c%d %d\n", "+-"[r.IntN(2)], r.IntN(30), i)
		fmt.Fprintf(&stream, "<s%d %d>\n", r.IntN(30), i)
	}
	check := func(name string, data []byte, o Options, workers ...int) {
		t.Helper()
		want := readAll(t, data, Options{ChunkBytes: o.ChunkBytes}, 1)
		if want.rep.Events+want.rep.Samples == 0 || o.ChunkBytes != 0 && want.rep.Chunks < 3 {
			t.Fatalf("%s: report %+v", name, want.rep)
		}
		for _, w := range workers {
			if got := readAll(t, data, o, w); got.chunks != want.chunks {
				t.Errorf("%s: %d workers, %+v: rows differ from those of one worker", name, w, o)
			}
		}
	}
	long := append(lines(20000, 8), "t "+strings.Repeat("y", 2*MaxLine)+" 3\nt after 4\nt last 5"...)
	for name, data := range map[string][]byte{
		"line": lines(40000, 7), "long lines": long,
		"pairs": append([]byte("+1 1\n"), pairs.Bytes()...), "stream": append(stream.Bytes(), "<torn"...),
	} {
		check(name, data, Options{}, 2, 8)
		check(name, data, Options{ReadBytes: 4096}, 8)
		check(name, data, Options{ChunkBytes: 100_000, ReadBytes: 7}, 1, 2)
		check(name, data, Options{ChunkBytes: 100_000, ReadBytes: 1 << 20}, 8)
	}
	check("line", lines(10000, 9), Options{ChunkBytes: 50_000, ReadBytes: 1}, 3)
}

func TestReadFates(t *testing.T) {
	check := func(name, data, want string, o Options) {
		t.Helper()
		d := readAll(t, []byte(data), o, 1)
		if d.text != want {
			t.Errorf("%s: rows\n%swant\n%s", name, d.text, want)
		}
		if d.rep.Tally.Accounted() != d.rep.Tally.Lines {
			t.Errorf("%s: tally %+v does not sum", name, d.rep.Tally)
		}
	}
	check("plain", "t a 1\nt b 2\n", "E 1 a @0\nE 2 b @6\n", Options{})
	check("no newline at the end", "t a 1\nt b 2", "E 1 a @0\nE 2 b @6\n", Options{})
	check("crlf", "t a 1\r\nt b 2\r\n", "E 1 a @0\nE 2 b @7\n", Options{})
	check("byte order mark", "\ufefft a 1\nt b 2\n", "E 1 a @0\nE 2 b @9\n", Options{})
	check("nul", "t a 1\nt \x00 2\nt b 3\n", "E 1 a @0\nE 3 b @12\nR 2 @6 nul-byte \"t \\x00 2\"\n", Options{})
	check("a chunk a line", "t a 1\nt b 2\n\nt c 3\n", "E 1 a @0\nE 2 b @6\nE 3 c @13\n", Options{ChunkBytes: 1})

	long := strings.Repeat("z", MaxLine)
	d := readAll(t, []byte("t a 1\nt "+long+" 7\nt b 2\n"+long+"\n"+long+"z"), Options{}, 1)
	if got := d.rep.Tally; got.Lines != 5 || got.Event != 2 || got.Rejects["line-too-long"] != 2 || got.Rejects["bad-line"] != 1 {
		t.Errorf("long lines: tally %+v", got)
	}
	if !strings.Contains(d.text, fmt.Sprintf("E 2 b @%d\n", 6+MaxLine+5)) {
		t.Errorf("long lines: the line behind the long one has the wrong position:\n%.300s", d.text)
	}
}

// endless is a line of n bytes that never stands in memory.
type endless struct{ n int64 }

func (e *endless) Read(p []byte) (int, error) {
	if e.n == 0 {
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), e.n))
	for i := range p[:n] {
		p[i] = 'x'
	}
	e.n -= int64(n)
	return n, nil
}

func TestReadLongLineInBoundedMemory(t *testing.T) {
	const size = 100 << 20
	in := Input{Path: "in", Open: func() (io.ReadCloser, error) {
		return io.NopCloser(io.MultiReader(strings.NewReader("t a 1\n"), &endless{size}, strings.NewReader("\nt b 2\n"))), nil
	}}
	var rep Report
	allocated := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			var err error
			if rep, err = Read(context.Background(), in, Options{}, 1, func(*Chunk) error { return nil }); err != nil {
				b.Fatal(err)
			}
		}
	}).AllocedBytesPerOp()
	if rep.Events != 2 || rep.Tally.Lines != 3 || rep.Tally.Rejects["line-too-long"] != 1 || rep.Bytes != size+13 {
		t.Errorf("report %+v", rep)
	}
	if allocated > 32<<20 {
		t.Errorf("%d bytes allocated for a line of %d", allocated, size)
	}
}

func gzipped(data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(data)
	w.Close()
	return b.Bytes()
}

func zstded(data []byte) []byte {
	w, _ := zstd.NewWriter(nil)
	return w.EncodeAll(data, nil)
}

func TestReadCompressed(t *testing.T) {
	data := lines(30000, 5)
	half := bytes.IndexByte(data[len(data)/2:], '\n') + len(data)/2 + 1
	want := readAll(t, data, Options{}, 2)
	skippable := []byte{0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3}
	for name, c := range map[string]struct {
		data []byte
		kind string
	}{
		"plain":            {data, Plain},
		"gzip":             {gzipped(data), Gzip},
		"gzip members":     {append(gzipped(data[:half]), gzipped(data[half:])...), Gzip},
		"zstd":             {zstded(data), Zstd},
		"zstd frames":      {append(zstded(data[:half]), zstded(data[half:])...), Zstd},
		"zstd skippable":   {append(skippable, zstded(data)...), Zstd},
		"gzip, odd member": {append(gzipped(data[:half-3]), gzipped(data[half-3:])...), Gzip},
	} {
		got := readAll(t, c.data, Options{}, 2)
		if got.chunks != want.chunks || got.rep.ID != want.rep.ID {
			t.Errorf("%s: rows or identity differ from the plain input's", name)
		}
		if got.rep.Compression != c.kind || got.rep.CompressedBytes != int64(len(c.data)) || got.rep.Torn != "" {
			t.Errorf("%s: %q, %d bytes, torn %q", name, got.rep.Compression, got.rep.CompressedBytes, got.rep.Torn)
		}
	}
}
