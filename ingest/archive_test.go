package ingest

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pierrec/lz4/v4"
	"github.com/ulikunitz/xz"
)

// entry is one thing in an archive.
type entry struct {
	name, data string
	kind       byte
}

func tarred(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Size: int64(len(e.data)), Typeflag: e.kind, Mode: 0o644, ModTime: time.Unix(0, 0), Linkname: "a"}
		if e.kind == 0 {
			h.Typeflag, h.Linkname = tar.TypeReg, ""
		}
		if h.Typeflag != tar.TypeReg {
			h.Size = 0
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			io.WriteString(w, e.data)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func xzed(t testing.TB, data []byte, c xz.WriterConfig) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := c.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	w.Write(data)
	w.Close()
	return b.Bytes()
}

func lz4ed(data []byte, o ...lz4.Option) []byte {
	var b bytes.Buffer
	w := lz4.NewWriter(&b)
	w.Apply(o...)
	w.Write(data)
	w.Close()
	return b.Bytes()
}

// readInputs reads every input and gives its path, bytes and rows.
func readInputs(t *testing.T, inputs []Input) string {
	t.Helper()
	var b strings.Builder
	for _, in := range inputs {
		rep, err := Read(context.Background(), in, Options{}, 2, func(c *Chunk) error {
			for _, e := range c.Events {
				fmt.Fprintf(&b, " %s=%d@%d", c.Names.String(e.Device), e.TimeNS, e.Position)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		fmt.Fprintf(&b, " %s %d/%d", in.Path, in.Size, rep.CompressedBytes)
		for _, word := range []string{rep.Torn, rep.Problem, in.Host} {
			if word != "" {
				b.WriteString(" " + word)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestArchive(t *testing.T) {
	t.Chdir(t.TempDir())
	check := func(name string, data []byte, want, wantSkips string) {
		t.Helper()
		if err := os.WriteFile("x.tar", data, 0o644); err != nil {
			t.Fatal(err)
		}
		for _, source := range []string{"x.tar", ".", "-"} {
			inputs, skips, err := Resolve([]string{source}, bytes.NewReader(data), Options{})
			if err != nil {
				t.Errorf("%s: %s: %v", name, source, err)
				continue
			}
			var left []string
			for _, s := range skips {
				left = append(left, s.Path+": "+s.Reason)
			}
			got, gotSkips := readInputs(t, inputs), strings.Join(left, "; ")
			if source == "-" {
				got, gotSkips = strings.ReplaceAll(got, " -", " x.tar"), strings.ReplaceAll(gotSkips, "-", "x.tar")
			}
			if got != want {
				t.Errorf("%s: %s:\n%swant\n%s", name, source, got, want)
			}
			if source != "-" && gotSkips != wantSkips {
				t.Errorf("%s: %s: left out %s, want %s", name, source, gotSkips, wantSkips)
			}
		}
	}
	plain := tarred(t,
		entry{"dir/", "", tar.TypeDir}, entry{"dir/b.log", "t b 1\nt b 2\n", 0}, entry{"a.log", "t a 5\n", 0},
		entry{"../../up.log", "t u 7\n", 0}, entry{"host=h%201/c.log", "t c 3\n", 0}, entry{"packed", string(gzipped([]byte("t z 1\n"))), 0},
		entry{".git/config", "t x 1\n", 0}, entry{"._a.log", "t x 1\n", 0}, entry{"p.parquet", "PAR1", 0},
		entry{"l", "", tar.TypeSymlink}, entry{"h", "", tar.TypeLink}, entry{"f", "", tar.TypeFifo}, entry{"a.log", "t a 6\n", 0}, entry{"empty", "", 0})
	want := " a=6@0 x.tar/a.log 6/6\n b=1@0 b=2@6 x.tar/dir/b.log 12/12\n x.tar/empty 0/0 empty\n" +
		" c=3@0 x.tar/host=h%201/c.log 6/6 h 1\n z=1@0 x.tar/packed 31/31\n u=7@0 x.tar/up.log 6/6\n"
	skips := "x.tar/._a.log: hidden; x.tar/.git/config: hidden; x.tar/f: not a regular file; x.tar/h: a link within an archive; x.tar/l: a link within an archive; x.tar/p.parquet: a Parquet file"
	check("plain", plain, want, skips)
	check("gzip", gzipped(plain), want, skips)
	check("zstd", zstded(plain), want, skips)
	check("xz", xzed(t, plain, xz.WriterConfig{}), want, skips)
	check("lz4", lz4ed(plain), want, skips)

	two := tarred(t, entry{"a", "t a 1\n", 0}, entry{"b", "t b 1\n" + strings.Repeat("t b 2\n", 200), 0})
	check("truncated", two[:512+512+512+9], " a=1@0 x.tar/a 6/6\n b=1@0 x.tar/b 1206/9 truncated-tar\n", "x.tar: the rest of the archive, which is damaged: truncated-tar")
	packed := gzipped(tarred(t, entry{"a", "t a 1\n", 0}))
	check("truncated gzip", packed[:len(packed)-4], " a=1@0 x.tar/a 6/6\n", "x.tar: the rest of the archive, which is damaged: truncated-gzip")

	if err := os.WriteFile("x.tar", two[:300], 0o644); err != nil {
		t.Fatal(err)
	}
	inputs, _, err := Resolve([]string{"x.tar"}, nil, Options{})
	if got := readInputs(t, inputs); err != nil || !strings.Contains(got, "a tar archive within another input, or a damaged one") {
		t.Errorf("a header cut off: %s, %v", got, err)
	}
}

// Archives that were unpacked are dropped when others need the room, and
// unpacked anew.
func TestArchiveUnpackedAgain(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		if err := os.WriteFile(filepath.Join(dir, name), gzipped(tarred(t, entry{"m", "t " + name + " 1\n", 0})), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f := finder{o: DefaultOptions(), seen: make(map[string]bool), unpacked: unpacked{most: 1}}
	if err := f.source(dir, nil); err != nil || len(f.inputs) != 3 {
		t.Fatalf("%d inputs, %v", len(f.inputs), err)
	}
	if n := len(f.unpacked.held); n != 1 {
		t.Errorf("%d archives stand unpacked, want the last", n)
	}
	one, two := readInputs(t, f.inputs), readInputs(t, f.inputs)
	if one != two || strings.Count(one, "=1@0") != 3 {
		t.Errorf("a second read gives %s, the first %s", two, one)
	}
	// Nor does it matter who reads what at the same time.
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if again := readInputs(t, f.inputs); again != one {
				t.Errorf("read beside others: %s, alone %s", again, one)
			}
		})
	}
	group.Wait()
	// What is being read is not dropped.
	r, err := f.inputs[0].Open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	readInputs(t, f.inputs[1:])
	if data, err := io.ReadAll(r); string(data) != "t a 1\n" {
		t.Errorf("%q, %v", data, err)
	}
}
