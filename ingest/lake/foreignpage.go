package lake

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"

	"github.com/andybalholm/brotli"
	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/schema"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// foreignColumn is a column of a foreign file, and the page of it in hand.
type foreignColumn struct {
	src      io.ReaderAt
	index    int
	name     string
	physical parquet.Type
	width    int // bytes of a value of fixed length
	maxDef   int64
	kind     cellKind
	unit     int64
	utc      bool

	at, end int64 // of the chunk
	codec   int32
	rows    int64 // that no page has had yet
	packed  []byte
	page    []byte
	left    int64 // values, nulls included, of the page
	levels  foreignRuns
	values  foreignValues
	dict    foreignDict
	head    [512]byte
	zstd    *zstd.Decoder
	gzip    *gzip.Reader
	brotli  *brotli.Reader
}

func newForeignColumn(t *Text, index int, name string, c *schema.Column) *foreignColumn {
	f := &foreignColumn{src: t.src, index: index, name: name, physical: c.PhysicalType(), maxDef: int64(c.MaxDefinitionLevel())}
	f.kind, f.unit, f.utc = kindOfCell(c)
	switch f.physical {
	case parquet.Types.Int32, parquet.Types.Float:
		f.width = 4
	case parquet.Types.Int64, parquet.Types.Double:
		f.width = 8
	case parquet.Types.Int96:
		f.width = 12
	case parquet.Types.FixedLenByteArray:
		f.width = c.TypeLength()
	}
	return f
}

// held is the memory of the pages in hand.
func (c *foreignColumn) held() int {
	return cap(c.packed) + cap(c.page) + cap(c.dict.page) + 4*cap(c.dict.starts)
}

// open begins a chunk.
func (c *foreignColumn) open(from, end int64, codec int32, rows int64) {
	c.at, c.end, c.codec, c.rows, c.left = from, end, codec, rows, 0
	c.dict = foreignDict{page: c.dict.page[:0], starts: c.dict.starts[:0]}
}

// cell writes the next value; nothing if it is null.
func (c *foreignColumn) cell(w *bytes.Buffer) error {
	for c.left == 0 {
		if err := c.next(); err != nil {
			return err
		}
	}
	c.left--
	if c.maxDef > 0 {
		level, err := c.levels.next()
		if err != nil || level < c.maxDef {
			return err
		}
	}
	v, b, err := c.values.next(c)
	if err != nil {
		return err
	}
	c.write(w, v, b)
	return nil
}

// foreignHeader is a page's header.
type foreignHeader struct {
	kind, packed, unpacked               int64
	values, encoding, defBytes, repBytes int64
	compressed                           bool
}

const pageDataV2 = 3

func (t *thrift) foreignHeader() (h foreignHeader, err error) {
	h = foreignHeader{kind: -1, packed: -1, unpacked: -1, values: -1, encoding: -1, compressed: true}
	err = t.structure(func(id int16, v int64) {
		switch id {
		case 1:
			h.kind = v
		case 2:
			h.unpacked = v
		case 3:
			h.packed = v
		}
	}, func(id int16) func(int16, int64) {
		switch {
		case id == 5 && h.kind == pageData, id == 7 && h.kind == pageDictionary:
			return func(id int16, v int64) {
				switch id {
				case 1:
					h.values = v
				case 2:
					h.encoding = v
				}
			}
		case id == 8 && h.kind == pageDataV2:
			return func(id int16, v int64) {
				switch id {
				case 1:
					h.values = v
				case 4:
					h.encoding = v
				case 5:
					h.defBytes = v
				case 6:
					h.repBytes = v
				case 7:
					h.compressed = v == 1
				}
			}
		}
		return nil
	})
	return h, err
}

// header reads the header of the next page.
func (c *foreignColumn) header() (foreignHeader, error) {
	buf := c.head[:]
	for {
		b := buf[:min(int64(len(buf)), c.end-c.at)]
		if _, err := c.src.ReadAt(b, c.at); err != nil {
			return foreignHeader{}, err
		}
		t := thrift{b: b}
		h, err := t.foreignHeader()
		if err == nil {
			c.at += int64(t.at)
			return h, nil
		}
		if !errors.Is(err, errTorn) || int64(len(b)) == c.end-c.at || len(buf) >= maxHeader {
			return h, err
		}
		buf = make([]byte, 4*len(buf))
	}
}

// next reads the next page.
func (c *foreignColumn) next() error {
	if c.at >= c.end {
		return errors.New("it has fewer values than rows")
	}
	h, err := c.header()
	if err != nil {
		return fmt.Errorf("page at %d: %w", c.at, err)
	}
	if h.packed < 0 || h.packed > c.end-c.at || h.unpacked < 0 || max(h.packed, h.unpacked) > maxForeignPage {
		return fmt.Errorf("page of %d bytes, %d unpacked, where %d are left", h.packed, h.unpacked, c.end-c.at)
	}
	c.packed = sized(c.packed, int(h.packed))
	if _, err := c.src.ReadAt(c.packed, c.at); err != nil {
		return err
	}
	c.at += h.packed
	switch h.kind {
	case pageDictionary:
		if c.dict.set {
			return errors.New("a second dictionary")
		}
		if h.encoding != encPlain && h.encoding != encPlainDict {
			return fmt.Errorf("a dictionary of encoding %d", h.encoding)
		}
		if c.dict.page, err = c.unpack(c.dict.page, c.packed, int(h.unpacked)); err != nil {
			return err
		}
		return c.dict.fill(c, h.values)
	case pageData, pageDataV2:
		if h.values < 0 || h.values > c.rows {
			return fmt.Errorf("a page of %d values where %d rows are left", h.values, c.rows)
		}
		c.rows -= h.values
		return c.data(&h)
	}
	return nil // an index: not ours
}

func sized(b []byte, n int) []byte {
	if cap(b) < n {
		return make([]byte, n)
	}
	return b[:n]
}

// data opens a page of values.
func (c *foreignColumn) data(h *foreignHeader) (err error) {
	var levels, body []byte
	if h.kind == pageDataV2 { // its levels are not packed, and have no length before them
		if h.repBytes != 0 || h.defBytes < 0 || h.defBytes > int64(len(c.packed)) || h.defBytes > h.unpacked {
			return fmt.Errorf("levels of %d and %d bytes in a page of %d", h.repBytes, h.defBytes, len(c.packed))
		}
		levels, body = c.packed[:h.defBytes], c.packed[h.defBytes:]
		if h.compressed && len(body) > 0 {
			if c.page, err = c.unpack(c.page, body, int(h.unpacked-h.defBytes)); err != nil {
				return err
			}
			body = c.page
		}
	} else {
		if c.page, err = c.unpack(c.page, c.packed, int(h.unpacked)); err != nil {
			return err
		}
		body = c.page
		if c.maxDef > 0 {
			if len(body) < 4 || int64(binary.LittleEndian.Uint32(body)) > int64(len(body)-4) {
				return errors.New("levels beyond the page")
			}
			n := binary.LittleEndian.Uint32(body)
			levels, body = body[4:4+n], body[4+n:]
		}
	}
	c.left = h.values
	c.levels = foreignRuns{b: levels, width: uint(bits.Len64(uint64(c.maxDef)))}
	return c.values.open(c, body, h)
}

// unpack gives a page's bytes, of which there must be n, in the memory of dst.
func (c *foreignColumn) unpack(dst, b []byte, n int) ([]byte, error) {
	dst = sized(dst, n)
	got, err := 0, error(nil)
	switch c.codec {
	case 0:
		got = copy(dst, b)
		if len(b) != n {
			got = len(b)
		}
	case 1:
		if got, err = snappy.DecodedLen(b); err == nil && got == n {
			_, err = snappy.Decode(dst, b)
		}
	case 2:
		if c.gzip == nil {
			c.gzip = new(gzip.Reader)
		}
		if err = c.gzip.Reset(bytes.NewReader(b)); err == nil {
			got, err = io.ReadFull(c.gzip, dst)
		}
	case 4:
		if c.brotli == nil {
			c.brotli = new(brotli.Reader)
		}
		if err = c.brotli.Reset(bytes.NewReader(b)); err == nil {
			got, err = io.ReadFull(c.brotli, dst)
		}
	case 5:
		got, err = hadoopLZ4(dst, b)
	case 6:
		if c.zstd == nil {
			c.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(maxForeignPage))
		}
		if err == nil {
			var out []byte
			out, err = c.zstd.DecodeAll(b, dst[:0])
			dst, got = out, len(out)
		}
	case 7:
		got, err = lz4.UncompressBlock(b, dst)
	default:
		return nil, refused{fmt.Sprintf("packed by codec %d, which is none of snappy, gzip, brotli, zstd and lz4", c.codec)}
	}
	if err != nil {
		return nil, fmt.Errorf("unpacking a page: %w", err)
	}
	if got != n {
		return nil, fmt.Errorf("a page of %d bytes says that it has %d", got, n)
	}
	return dst, nil
}

// hadoopLZ4 unpacks what the codec LZ4 of Parquet became: Hadoop's frames, each with
// two lengths, highest byte first, before its block; or, as arrow wrote for a time, a
// block alone.
func hadoopLZ4(dst, b []byte) (n int, err error) {
	for rest := b; len(rest) > 0; {
		if len(rest) < 8 {
			return lz4.UncompressBlock(b, dst)
		}
		full, packed := binary.BigEndian.Uint32(rest), binary.BigEndian.Uint32(rest[4:])
		if uint64(packed) > uint64(len(rest)-8) || uint64(full) > uint64(len(dst)-n) {
			return lz4.UncompressBlock(b, dst)
		}
		got, err := lz4.UncompressBlock(rest[8:8+packed], dst[n:n+int(full)])
		if err != nil || got != int(full) {
			return lz4.UncompressBlock(b, dst)
		}
		n += got
		rest = rest[8+packed:]
	}
	return n, nil
}

// refused is of a file that may be whole, but holds what is not read here.
type refused struct{ what string }

func (r refused) Error() string { return r.what }

// Refused says in words what a file holds that is not read; "" if err is of damage.
func Refused(err error) string {
	var r refused
	if errors.As(err, &r) {
		return r.what
	}
	return ""
}
