package ingest

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/pierrec/lz4/v4"
	"github.com/ulikunitz/xz"
	"github.com/ulikunitz/xz/lzma"
)

// bzipped is "t a 1\nt b 2\n" by Python's bz2.
const bzipped = "\x42\x5a\x68\x39\x31\x41\x59\x26\x53\x59\xa4\x0b\xb2\xb7\x00\x00\x05\x59\x80\x00\x10\x40\x00\x30\x00\x30\x00\x04\x00\x20\x00" +
	"\x21\x28\x68\xf5\x08\x60\x24\xde\x44\x13\xc5\xdc\x91\x4e\x14\x24\x29\x02\xec\xad\xc0"

func TestReadXZAndLZ4(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector")
	}
	data := lines(10000, 5)
	half := bytes.IndexByte(data[len(data)/2:], '\n') + len(data)/2 + 1
	want := readAll(t, data, Options{}, 2)
	x := xzed(t, data, xz.WriterConfig{})
	check := func(name, kind string, packed []byte) {
		t.Helper()
		got := readAll(t, packed, Options{}, 2)
		if got.chunks != want.chunks || got.rep.ID != want.rep.ID {
			t.Errorf("%s: rows or identity differ from the plain input's", name)
		}
		if got.rep.Compression != kind || got.rep.CompressedBytes != int64(len(packed)) || got.rep.Torn != "" {
			t.Errorf("%s: %q, %d bytes of %d, torn %q", name, got.rep.Compression, got.rep.CompressedBytes, len(packed), got.rep.Torn)
		}
	}
	for _, sum := range []byte{xz.None, xz.CRC32, xz.CRC64, xz.SHA256} {
		check("xz", XZ, xzed(t, data, xz.WriterConfig{CheckSum: sum, NoCheckSum: sum == xz.None, BlockSize: 100_000, DictCap: 1 << 16}))
	}
	check("xz streams", XZ, append(append(xzed(t, data[:half], xz.WriterConfig{}), 0, 0, 0, 0, 0, 0, 0, 0), xzed(t, data[half:], xz.WriterConfig{})...))
	check("lz4", LZ4, lz4ed(data))
	check("lz4 frames", LZ4, append(lz4ed(data[:half]), lz4ed(data[half:])...))
	check("lz4 legacy", LZ4, lz4ed(data, lz4.LegacyOption(true)))
	for _, tool := range []string{"xz", "lz4", "bzip2"} {
		c := exec.Command(tool, "-c")
		c.Stdin = bytes.NewReader(data)
		packed, err := c.Output()
		if err != nil {
			t.Logf("no %s here to compare with: %v", tool, err)
			continue
		}
		check(tool+"(1)", tool, packed)
	}
	if d := readAll(t, []byte(bzipped), Options{}, 1); d.text != "E 1 a @0\nE 2 b @6\n" || d.rep.Compression != Bzip2 {
		t.Errorf("bzip2: %s of %+v", d.text, d.rep)
	}

	cut := func(name, torn string, packed []byte) {
		t.Helper()
		d := readAll(t, packed, Options{}, 1)
		text, _, _ := strings.Cut(d.text, "R ")
		if d.rep.Torn != torn || torn != "corrupt-xz" && !strings.HasPrefix(want.text, text) {
			t.Errorf("%s: torn %q, problem %q, %d events", name, d.rep.Torn, d.rep.Problem, d.rep.Events)
		}
	}
	cut("xz cut", "truncated-xz", x[:len(x)*2/3])
	cut("xz without its footer", "truncated-xz", x[:len(x)-1])
	cut("lz4 cut", "truncated-lz4", lz4ed(data)[:10000])
	cut("bzip2 cut", "truncated-bzip2", []byte(bzipped[:40]))
	for _, at := range []int{8, 13, len(x) / 2, len(x) - 30, len(x) - 1} { // flags' sum, block header, data, check or index, footer
		bad := bytes.Clone(x)
		bad[at] ^= 0xff
		cut("xz damaged", "corrupt-xz", bad)
	}
	small := xzed(t, []byte("t a 1\nt b 2\n"), xz.WriterConfig{})
	for n := range small {
		readAll(t, small[:n], Options{}, 1)
		readAll(t, []byte(bzipped[:min(n, len(bzipped))]), Options{}, 1)
	}
}

// An xz block that asks for a dictionary of 1 GiB is refused before it gets it.
func TestXZWindow(t *testing.T) {
	x := xzed(t, []byte("t a 1\nt b 2\n"), xz.WriterConfig{})
	head := x[12 : 12+(int(x[12])+1)*4]
	at := bytes.LastIndex(head[:len(head)-4], []byte{0x21, 1}) + 2
	head[at] = lzma.EncodeDictCap(1 << 30)
	binary.LittleEndian.PutUint32(head[len(head)-4:], crc32.ChecksumIEEE(head[:len(head)-4]))
	d := readAll(t, x, Options{}, 1)
	if d.rep.Problem != "nothing could be decompressed: window-too-large-xz" {
		t.Errorf("%+v", d.rep)
	}
}

func TestReadBombOfXZAndLZ4(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector")
	}
	data := append([]byte("t a 1\n"), make([]byte, 8<<20)...)
	for name, packed := range map[string][]byte{"xz": xzed(t, data, xz.WriterConfig{}), "lz4": lz4ed(data)} {
		r := reader{o: Options{Expand: 100}.filled(), workers: 1, bomb: 1 << 20, emit: func(*Chunk) error { return nil },
			in: Input{Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed)), nil }}}
		if err := r.read(context.Background()); err != nil || !strings.HasPrefix(r.rep.Problem, "expands too far: ") || r.rep.Bytes > 4<<20 {
			t.Errorf("%s: %v, problem %q after %d bytes", name, err, r.rep.Problem, r.rep.Bytes)
		}
	}
}

// FuzzXZ: no panic, no hang, and what is read of a whole file is what its
// writer put in.
func FuzzXZ(f *testing.F) {
	f.Add(xzed(f, []byte("t a 1\nt b 2\n"), xz.WriterConfig{}))
	f.Add(xzed(f, bytes.Repeat([]byte("t a 1\n"), 1000), xz.WriterConfig{BlockSize: 1000, CheckSum: xz.SHA256}))
	f.Fuzz(func(t *testing.T, data []byte) {
		flow, err := newInflow(bytes.NewReader(data), DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		defer flow.close()
		got, err := io.ReadAll(io.LimitReader(flow, 8<<20))
		if err != nil {
			t.Fatal(err)
		}
		if flow.compression != XZ || flow.torn != "" || len(got) == 8<<20 {
			return
		}
		r, err := xz.NewReader(bytes.NewReader(data))
		if err != nil {
			return // its reader is the stricter one
		}
		if want, err := io.ReadAll(r); err == nil && !bytes.Equal(got, want) {
			t.Errorf("%d bytes, the library reads %d", len(got), len(want))
		}
	})
}
