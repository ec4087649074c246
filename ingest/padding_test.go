package ingest

import (
	"bytes"
	"strings"
	"testing"

	"github.com/ulikunitz/xz"
)

// Zeros behind a packed log, as tapes and block devices fill up with, are nothing;
// anything else is told, and all rows before it are read either way.
func TestReadPadding(t *testing.T) {
	const text = "t a 1\nt b 2\n"
	check := func(name, packed, rest, torn string) {
		t.Helper()
		d := readAll(t, []byte(packed+rest), Options{}, 1)
		if d.rep.Events != 2 || d.rep.Torn != torn || d.rep.Problem != "" {
			t.Errorf("%s with %d bytes behind it: %d events, torn %q, problem %q; want torn %q", name, len(rest), d.rep.Events, d.rep.Torn, d.rep.Problem, torn)
		}
	}
	zeros := strings.Repeat("\x00", 512)
	for _, p := range []struct{ kind, packed string }{
		{Gzip, string(gzipped([]byte(text)))},
		{Zstd, string(zstded([]byte(text)))},
		{Bzip2, bzipped},
		{LZ4, string(lz4ed([]byte(text)))},
		{XZ, string(xzed(t, []byte(text), xz.WriterConfig{}))},
	} {
		check(p.kind, p.packed, "", "")
		check(p.kind, p.packed, zeros, "")
		check(p.kind, p.packed, strings.Repeat(zeros, 300), "")
		if p.kind != XZ { // whose padding and next stream are of one kind
			check(p.kind, p.packed, "and then some other text", "garbage-behind-"+p.kind)
			check(p.kind, p.packed, zeros+"x", "garbage-behind-"+p.kind)
		}
	}
}

// An archive within an archive is read; one that lies too deep is told.
func TestArchiveNested(t *testing.T) {
	inner := tarred(t, entry{"a.log", "t a 1\n", 0}, entry{"d/b.log", "t b 2\n", 0})
	for _, packed := range [][]byte{inner, gzipped(inner), zstded(inner)} {
		outer := tarred(t, entry{"c.log", "t c 3\n", 0}, entry{"host7.tar.gz", string(packed), 0})
		for _, outer := range [][]byte{outer, gzipped(outer)} {
			inputs, skips, err := Resolve([]string{"-"}, bytes.NewReader(outer), Options{})
			want := " c=3@0 -/c.log 6/6\n a=1@0 -/host7.tar.gz/a.log 6/6\n b=2@0 -/host7.tar.gz/d/b.log 6/6\n"
			if got := readInputs(t, inputs); err != nil || len(skips) > 0 || got != want {
				t.Errorf("%v, left out %v:\n%swant\n%s", err, skips, got, want)
			}
		}
	}
	deep := inner
	for range maxNested + 1 {
		deep = tarred(t, entry{"in.tar", string(deep), 0})
	}
	inputs, skips, err := Resolve([]string{"-"}, bytes.NewReader(deep), Options{})
	if err != nil || len(inputs) != 0 || len(skips) != 1 || !skips[0].Lost || !strings.Contains(skips[0].Reason, "too many others") {
		t.Errorf("%d inputs, left out %v, %v", len(inputs), skips, err)
	}
}

// What holds lines of a format as they are, but is none, is told and not read: a zip
// archive whose members are not packed, an archive that was packed twice.
func TestReadContainers(t *testing.T) {
	check := func(name, data, want string) {
		t.Helper()
		d := readAll(t, []byte(data), Options{}, 1)
		if d.rep.Problem != want || d.rep.Events != 0 {
			t.Errorf("%s: problem %q, %d events; want %q", name, d.rep.Problem, d.rep.Events, want)
		}
	}
	text := strings.Repeat("t a 1\n", 100)
	check("zip", "PK\x03\x04\x14\x00\x00\x00\x00\x00\x00\x00a.log\n"+text, "a zip archive (or office document): unpack it first")
	check("tar", string(tarred(t, entry{"a.log", text, 0})), "a tar archive within another input, or a damaged one: unpack it first")
	check("gzip twice", string(gzipped(gzipped([]byte(text)))), "compressed twice: unpack it first")
	check("lzma", "\x5d\x00\x00\x80\x00"+text, "an .lzma file: unpack it first")
	check("perf.data", "PERFILE2\x68\x00\x00\x00\x00\x00\x00\x00", "binary data of perf record: run perf script -i FILE and read what it prints")
	check("trace.dat", "\x17\x08\x44tracing6\x00\x00\x08", "binary data of trace-cmd record: run trace-cmd report -i FILE and read what it prints")
}
