package ingest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// The compressions, known by their magic bytes and never by a file's name.
const (
	Plain = "plain"
	Gzip  = "gzip"
	Zstd  = "zstd"
)

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
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p[:min(len(p), c.most)])
	c.n += int64(n)
	if err != nil && err != io.EOF {
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
	magic, _ := buffered.Peek(4)
	if c.err != nil {
		return nil, c.err
	}
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		f.compression = Gzip
		z, err := gzip.NewReader(buffered)
		if err != nil {
			f.end(err)
			break
		}
		f.r, f.unpack = z, func() { z.Close() }
	case bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}),
		len(magic) == 4 && magic[0]&0xf0 == 0x50 && bytes.Equal(magic[1:], []byte{0x2a, 0x4d, 0x18}):
		f.compression = Zstd
		z, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(zstdWindow), zstd.WithDecoderMaxMemory(zstdWindow))
		if err != nil {
			f.end(err)
			break
		}
		f.r, f.unpack = z, z.Close
	}
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

// end notes the damage that ended a compressed stream.
func (f *inflow) end(err error) {
	f.r = nil
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		f.torn = "truncated-" + f.compression
	case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded):
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
