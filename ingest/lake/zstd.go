package lake

import (
	"errors"
	"io"
	"sync"

	"github.com/apache/arrow/go/v17/parquet/compress"
	"github.com/klauspost/compress/zstd"
)

// The compression of pages. Arrow v17's own decoder panics on damage and takes
// as much memory as a frame asks for.

// compressor is safe for concurrent use; what it gives follows from the page
// alone.
var compressor = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false),
		zstd.WithWindowSize(256<<10), zstd.WithSingleSegment(true), zstd.WithAllLitEntropyCompression(true), zstd.WithLowerEncoderMem(true), zstd.WithZeroFrames(true))
	if err != nil {
		panic(err) // of options that are constants
	}
	return e
})

var decompressor = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxPage), zstd.WithDecoderLowmem(true))
	if err != nil {
		panic(err)
	}
	return d
})

func init() { compress.RegisterCodec(compress.Codecs.Zstd, pageZstd{}) }

// pageZstd is zstd as arrow uses it.
type pageZstd struct{}

var errZstd = errors.New("zstd: the page is damaged")

// unpackPage fills dst. It takes no memory beyond it.
func unpackPage(dst, src []byte) ([]byte, error) {
	var h zstd.Header
	if h.Decode(src) != nil || !h.HasFCS || h.FrameContentSize != uint64(len(dst)) {
		return nil, errZstd
	}
	out, err := decompressor().DecodeAll(src, dst[:0:len(dst)])
	if err != nil || len(out) != len(dst) {
		return nil, errZstd
	}
	return out, nil
}

// Decode fills dst, or panics: arrow has no other way to be told.
func (pageZstd) Decode(dst, src []byte) []byte {
	out, err := unpackPage(dst, src)
	if err != nil {
		panic(err)
	}
	return out
}

func (pageZstd) CompressBound(n int64) int64                 { return n + n>>7 + 64 }
func (pageZstd) Encode(dst, src []byte) []byte               { return compressor().EncodeAll(src, dst[:0]) }
func (z pageZstd) EncodeLevel(dst, src []byte, _ int) []byte { return z.Encode(dst, src) }
func (pageZstd) NewReader(io.Reader) io.ReadCloser           { panic("lake: zstd is read by pages") }
func (pageZstd) NewWriter(io.Writer) io.WriteCloser          { panic("lake: zstd is written by pages") }
func (pageZstd) NewWriterLevel(io.Writer, int) (io.WriteCloser, error) {
	return nil, errors.New("lake: zstd is written by pages")
}
