package ingest

import (
	"bufio"
	"compress/bzip2"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// The compressions, known by their magic bytes and never by a file's name.
const (
	Plain = "plain"
	Gzip  = "gzip"
	Zstd  = "zstd"
	XZ    = "xz"
	Bzip2 = "bzip2"
	LZ4   = "lz4"
)

// magicBytes is what compressionOf looks at.
const magicBytes = 10

// compressionOf tells the compression of a stream by its first bytes.
func compressionOf(head []byte) string {
	has := func(at int, magic string) bool {
		return len(head) >= at+len(magic) && string(head[at:at+len(magic)]) == magic
	}
	switch {
	case has(0, "\x1f\x8b"):
		return Gzip
	case has(0, "\x28\xb5\x2f\xfd"), has(1, "\x2a\x4d\x18") && head[0]&0xf0 == 0x50:
		return Zstd
	case has(0, "\xfd7zXZ\x00"):
		return XZ
	case has(0, "BZh") && (has(4, "\x31\x41\x59\x26\x53\x59") || has(4, "\x17\x72\x45\x38\x50\x90")):
		return Bzip2
	case has(0, "\x04\x22\x4d\x18"), has(0, "\x02\x21\x4c\x18"):
		return LZ4
	}
	return Plain
}

// zstdWindow bounds the window, and so the memory, of a zstd frame. It is the
// most that the zstd program itself takes without being told to.
const zstdWindow = 128 << 20

// bombBytes is the decompressed size from which Options.Expand bounds the
// ratio: below it the harm is small, and logs of zeros exist.
const bombBytes = 1 << 30

// errBomb says that an input expands beyond Options.Expand.
type errBomb struct{ compressed, expanded int64 }

func (e errBomb) Error() string {
	return fmt.Sprintf("expands too far: %d bytes gave more than %d", e.compressed, e.expanded)
}

// inflow is the decompressed bytes of one input. Damage in a compressed stream
// is its end, with the kind of damage in torn; only failed reads of the
// input itself and bombs are errors.
type inflow struct {
	from        *counter
	r           io.Reader
	buffered    *bufio.Reader
	unpack      func() // frees the decompressor
	compression string
	torn        string // "truncated-gzip", "corrupt-zstd", ...
	expanded    int64
	expand      float64
	bomb        int64 // bombBytes, less in tests
}

// counter counts what was read from an input and keeps its own failure apart
// from what a decompressor makes of it.
type counter struct {
	r    io.Reader
	most int // bytes a read
	n    int64
	err  error
	torn Damage // that ended what was read
	zero int64  // how many bytes of 0 were read last
}

// Damage is the error of an Input's bytes that ends them as damage to a packed
// file does: it is its name ("corrupt-parquet"), which stands in the report.
type Damage string

func (d Damage) Error() string { return string(d) }

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p[:min(len(p), c.most)])
	c.n += int64(n)
	zero := n
	for zero > 0 && p[zero-1] == 0 {
		zero--
	}
	if zero > 0 {
		c.zero = 0
	}
	c.zero += int64(n - zero)
	if err != nil && err != io.EOF {
		if errors.As(err, &c.torn) {
			return n, io.EOF
		}
		c.err = err
	}
	return n, err
}

// inPool keeps the buffers of inflows between inputs.
var inPool = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 64<<10) }}

func newInflow(r io.Reader, o Options) (*inflow, error) {
	c := &counter{r: r}
	buffered := inPool.Get().(*bufio.Reader)
	buffered.Reset(c)
	c.most = o.ReadBytes
	f := &inflow{from: c, r: buffered, buffered: buffered, unpack: func() {}, compression: Plain, expand: o.Expand, bomb: bombBytes}
	magic, _ := buffered.Peek(magicBytes)
	if c.err != nil {
		return nil, c.err
	}
	f.compression = compressionOf(magic)
	switch f.compression {
	case Gzip:
		z, err := gzip.NewReader(buffered)
		if err != nil {
			f.end(err)
			break
		}
		f.r, f.unpack = z, func() { z.Close() }
	case Zstd:
		z, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(zstdWindow), zstd.WithDecoderMaxMemory(zstdWindow))
		if err != nil {
			f.end(err)
			break
		}
		f.r, f.unpack = z, z.Close
	case XZ:
		f.r = &xzReader{r: buffered}
	case Bzip2: // at most 900 kB a block by its format
		f.r = bzip2.NewReader(buffered)
	case LZ4: // at most 8 MiB a block by its format
		f.r = lz4.NewReader(buffered)
	}
	f.readable()
	if c.err != nil {
		return nil, c.err
	}
	return f, nil
}

// close frees what the inflow holds, but for the input itself.
func (f *inflow) close() {
	f.unpack()
	f.buffered.Reset(nil)
	inPool.Put(f.buffered)
}

// badMagic says whether err is of what stands where a stream or the next part of
// one should begin.
func badMagic(err error) bool {
	var b bzip2.StructuralError
	return errors.Is(err, gzip.ErrHeader) || errors.Is(err, zstd.ErrMagicMismatch) || errors.Is(err, lz4.ErrInvalidFrame) ||
		errors.As(err, &b) && strings.Contains(string(b), "magic")
}

// padded says whether all that is left of an input whose stream has ended is
// zeros, with which tapes and block devices fill up.
func (f *inflow) padded() bool {
	const magic = 2 // bytes of it that were read already
	rest := int64(0)
	for {
		b, err := f.buffered.ReadByte()
		switch {
		case err == io.EOF:
			return f.from.zero >= rest+magic
		case err != nil || b != 0:
			return false
		}
		rest++
	}
}

// end notes the damage that ended a compressed stream.
func (f *inflow) end(err error) {
	f.r = nil
	switch {
	case f.expanded > 0 && badMagic(err):
		if !f.padded() {
			f.torn = "garbage-behind-" + f.compression
		}
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		f.torn = "truncated-" + f.compression
	case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded), errors.Is(err, errXZWindow):
		f.torn = "window-too-large-" + f.compression
	default:
		f.torn = "corrupt-" + f.compression
	}
}

// Read gives the next decompressed bytes.
func (f *inflow) Read(p []byte) (int, error) {
	if f.r == nil {
		return 0, io.EOF
	}
	n, err := f.r.Read(p)
	f.expanded += int64(n)
	if err == io.EOF && f.from.torn != "" {
		f.torn = string(f.from.torn)
	}
	if err != nil && err != io.EOF {
		if f.from.err != nil || f.compression == Plain {
			return n, err
		}
		f.end(err)
		err = nil
		if n == 0 {
			err = io.EOF
		}
	}
	if f.compression != Plain && f.expanded > f.bomb && float64(f.expanded) > f.expand*float64(f.from.n) {
		return n, errBomb{compressed: f.from.n, expanded: f.expanded - int64(n)}
	}
	return n, err
}

// skip passes over n bytes, up to those at to: without reading them, where the
// input is a file that is not compressed.
func (f *inflow) skip(to, n int64) error {
	if s, ok := f.from.r.(io.Seeker); ok && f.compression == Plain {
		end, err := s.Seek(0, io.SeekEnd)
		if err == nil {
			to = min(to, end)
			_, err = s.Seek(to, io.SeekStart)
		}
		if err != nil {
			return err
		}
		f.buffered.Reset(f.from)
		f.from.n, f.expanded = to, to
		return nil
	}
	_, err := io.CopyN(io.Discard, struct{ io.Reader }{f}, n)
	if err == io.EOF {
		err = nil
	}
	return err
}

// fill reads until p is full or the input ends, at most size bytes a read.
func (f *inflow) fill(p []byte, size int) (n int, err error) {
	idle := 0
	for n < len(p) {
		m, err := f.Read(p[n:min(len(p), n+size)])
		n += m
		if err != nil {
			return n, err
		}
		if idle++; m > 0 {
			idle = 0
		} else if idle == 100 {
			return n, io.ErrNoProgress
		}
	}
	return n, nil
}
