package ingest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/gzip"
)

func TestReadTorn(t *testing.T) {
	data := lines(30000, 6)
	whole := readAll(t, data, Options{}, 1)
	check := func(name, torn string, packed []byte) {
		t.Helper()
		d := readAll(t, packed, Options{}, 1)
		if d.rep.Torn != torn || d.rep.Problem != "" {
			t.Errorf("%s: torn %q, problem %q", name, d.rep.Torn, d.rep.Problem)
		}
		events := strings.Count(whole.text, "E ")
		kept := d.rep.Events
		if kept == 0 || kept >= int64(events) {
			t.Errorf("%s: kept %d of %d events", name, kept, events)
		}
		text, _, _ := strings.Cut(d.text, "R ")
		if strings.HasPrefix(torn, "truncated") && !strings.HasPrefix(whole.text, text) {
			t.Errorf("%s: what was kept is not what was there", name)
		}
	}
	g, z := gzipped(data), zstded(data)
	check("gzip cut", "truncated-gzip", g[:len(g)*2/3])
	check("zstd cut", "truncated-zstd", z[:len(z)*2/3])
	bad := bytes.Clone(g)
	bad[len(bad)/2] ^= 0xff
	bad[len(bad)/2+1] ^= 0xff
	check("gzip damaged", "corrupt-gzip", bad)

	d := readAll(t, append(gzipped([]byte("t a 1\n")), "rubbish"...), Options{}, 1)
	if d.rep.Events != 1 || d.rep.Torn == "" {
		t.Errorf("rubbish behind gzip: %+v", d.rep)
	}
	d = readAll(t, []byte{0x1f, 0x8b, 8}, Options{}, 1)
	if d.rep.Problem != "nothing could be decompressed: truncated-gzip" {
		t.Errorf("gzip of three bytes: %+v", d.rep)
	}
	for cut := range len(gzipped([]byte("t a 1\nt b 2\n"))) {
		readAll(t, gzipped([]byte("t a 1\nt b 2\n"))[:cut], Options{}, 1)
		readAll(t, zstded([]byte("t a 1\nt b 2\n"))[:min(cut, 20)], Options{}, 1)
	}
	// Half a number would read as a whole one.
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write([]byte("t a 1\nt b 12"))
	w.Flush()
	d = readAll(t, b.Bytes(), Options{}, 1)
	if d.text != "E 1 a @0\nR 2 @6 torn-line \"t b 12\"\n" {
		t.Errorf("torn line: %s", d.text)
	}
}

func TestReadBomb(t *testing.T) {
	data := append([]byte("t a 1\n"), make([]byte, 8<<20)...)
	for name, packed := range map[string][]byte{"gzip": gzipped(data), "zstd": zstded(data)} {
		r := reader{o: Options{Expand: 100}.filled(), workers: 1, bomb: 1 << 20, emit: func(*Chunk) error { return nil },
			in: Input{Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed)), nil }}}
		if err := r.read(context.Background()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !strings.HasPrefix(r.rep.Problem, "expands too far: ") || r.rep.Bytes > 4<<20 {
			t.Errorf("%s: problem %q after %d bytes", name, r.rep.Problem, r.rep.Bytes)
		}
		r.rep, r.bomb = Report{}, bombBytes
		if err := r.read(context.Background()); err != nil || r.rep.Problem != "" {
			t.Errorf("%s: small: %v, %q", name, err, r.rep.Problem)
		}
	}
}

func TestReadProblems(t *testing.T) {
	check := func(name, data, want string) {
		t.Helper()
		d := readAll(t, []byte(data), Options{}, 1)
		if d.rep.Problem != want || d.rep.Chunks != 0 {
			t.Errorf("%s: problem %q, want %q", name, d.rep.Problem, want)
		}
	}
	check("empty", "", "empty")
	check("empty gzip", string(gzipped(nil)), "empty")
	check("text", "hello\n", "no format claims this input; say --format if you know it")
	check("PNG", "\x89PNG\r\n\x1a\n\x00\x00", "a picture (PNG), not a log")
	check("JPEG", "\xff\xd8\xff\xe0", "a picture (JPEG), not a log")
	check("packed PNG", string(gzipped([]byte("\x89PNG\r\n\x1a\n\x00\x00"))), "a picture (PNG), not a log")
	check("ELF", "\x7fELF\x02", "a program (ELF), not a log")
	check("BM text", "BM is a text\n", "no format claims this input; say --format if you know it")
	check("sadc", "\x96\xd5\x75\x21\x0c\x06\x01\x00", "binary data of sysstat's sadc: run sadf -j FILE -- -d and read what it prints")
	check("binary", "ab\x00\x01", "binary data of a kind that no format claims, not a log")
	check("tie", "tie\n", "these formats claim this input: test-tie-a, test-tie-b; say --format")

	d := readAll(t, []byte("tie\n"), Options{Format: "test-tie-b"}, 1)
	if d.rep.Format != "test-tie-b" || d.rep.Tally.Rejects["bad-line"] != 1 {
		t.Errorf("forced: %+v", d.rep)
	}
	_, err := Read(context.Background(), Input{Path: "x"}, Options{Format: "nope"}, 1, nil)
	if err == nil || !strings.Contains(err.Error(), `no format "nope"; there are: test-beside, test-line,`) {
		t.Errorf("unknown format: %v", err)
	}
}

func TestReadErrors(t *testing.T) {
	broken := errors.New("broken disk")
	data := lines(100000, 9)
	open := func(r io.Reader) Input {
		return Input{Path: "in", Open: func() (io.ReadCloser, error) { return io.NopCloser(r), nil }}
	}
	none := func(*Chunk) error { return nil }
	for _, workers := range []int{1, 4} {
		_, err := Read(context.Background(), open(io.MultiReader(bytes.NewReader(data), iotest.ErrReader(broken))), Options{}, workers, none)
		if !errors.Is(err, broken) {
			t.Errorf("%d workers: failed read: %v", workers, err)
		}
		stop := errors.New("stop")
		_, err = Read(context.Background(), open(bytes.NewReader(data)), Options{ChunkBytes: 1000}, workers, func(*Chunk) error { return stop })
		if !errors.Is(err, stop) {
			t.Errorf("%d workers: failed emit: %v", workers, err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		_, err = Read(ctx, open(bytes.NewReader(data)), Options{ChunkBytes: 1000}, workers, func(*Chunk) error { cancel(); return nil })
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%d workers: cancelled: %v", workers, err)
		}
	}
}

func TestReadDuplicate(t *testing.T) {
	in := Input{Path: "in", Duplicate: true, Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("t a 1\nx\n")), nil }}
	rep, err := Read(context.Background(), in, Options{}, 1, func(*Chunk) error { return errors.New("emitted") })
	if err != nil || rep.Tally.Lines != 2 || rep.Tally.Duplicate != 2 || rep.Events != 0 {
		t.Errorf("%+v, %v", rep, err)
	}
}
