package lake

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v17/arrow/memory"
)

// The bounds of what a file may ask for. Ours stay far below; a damaged file
// is refused instead of allocated for.
const (
	maxFooter    = 64 << 20
	maxGroupRows = 1 << 20  // rows of a row group
	maxPage      = 64 << 20 // bytes of a page
	maxHeader    = 64 << 10 // bytes of a page's header
	maxAlloc     = 128 << 20
)

var errTorn = errors.New("torn")

// A thrift walks Apache Thrift's compact protocol, in which Parquet writes
// its footer and page headers, without building anything. It is run before
// arrow parses the same bytes: every length and every count of a list must
// fit in what is left, so that arrow's parser can't be asked for gigabytes.
type thrift struct {
	b     []byte
	at    int
	depth int
}

// The types of the compact protocol.
const (
	tStop   = 0
	tTrue   = 1
	tFalse  = 2
	tByte   = 3
	tI16    = 4
	tI32    = 5
	tI64    = 6
	tDouble = 7
	tBinary = 8
	tList   = 9
	tSet    = 10
	tMap    = 11
	tStruct = 12
)

func (c *thrift) uvarint() (uint64, error) {
	v, n := binary.Uvarint(c.b[c.at:])
	if n <= 0 {
		return 0, errTorn
	}
	c.at += n
	return v, nil
}

func (c *thrift) skipBytes(n uint64) error {
	if n > uint64(len(c.b)-c.at) {
		return errTorn
	}
	c.at += int(n)
	return nil
}

// structure walks a struct and calls visit, where set, with each integer
// and boolean field of it, and within, where set, before each struct field: the walker
// for that, or nil.
func (c *thrift) structure(visit func(id int16, v int64), within func(id int16) func(id int16, v int64)) error {
	if c.depth++; c.depth > 32 {
		return errors.New("nested too deep")
	}
	defer func() { c.depth-- }()
	var id int16
	for {
		if c.at >= len(c.b) {
			return errTorn
		}
		head := c.b[c.at]
		c.at++
		kind := head & 15
		if kind == tStop {
			return nil
		}
		if delta := head >> 4; delta != 0 {
			id += int16(delta)
		} else {
			v, err := c.uvarint()
			if err != nil {
				return err
			}
			id = int16(zigzag(v))
		}
		switch {
		case kind == tI16 || kind == tI32 || kind == tI64:
			v, err := c.uvarint()
			if err != nil {
				return err
			}
			if visit != nil {
				visit(id, zigzag(v))
			}
		case kind == tTrue || kind == tFalse: // the value is in the type
			if visit != nil && kind == tTrue {
				visit(id, 1)
			} else if visit != nil {
				visit(id, 0)
			}
		case kind == tStruct && within != nil:
			if err := c.structure(within(id), nil); err != nil {
				return err
			}
		default:
			if err := c.skip(kind); err != nil {
				return err
			}
		}
	}
}

// skip walks one value of a type as it stands in a field, list or map.
func (c *thrift) skip(kind byte) error {
	switch kind {
	case tTrue, tFalse, tByte:
		return c.skipBytes(1)
	case tI16, tI32, tI64:
		_, err := c.uvarint()
		return err
	case tDouble:
		return c.skipBytes(8)
	case tBinary:
		n, err := c.uvarint()
		if err != nil {
			return err
		}
		return c.skipBytes(n)
	case tList, tSet:
		if c.at >= len(c.b) {
			return errTorn
		}
		head := c.b[c.at]
		c.at++
		n := uint64(head >> 4)
		if n == 15 {
			var err error
			if n, err = c.uvarint(); err != nil {
				return err
			}
		}
		return c.elements(n, head&15)
	case tMap:
		n, err := c.uvarint()
		if err != nil || n == 0 {
			return err
		}
		if c.at >= len(c.b) {
			return errTorn
		}
		kinds := c.b[c.at]
		c.at++
		if n > uint64(len(c.b)-c.at) {
			return errTorn
		}
		for range n {
			if err := errors.Join(c.elements(1, kinds>>4), c.elements(1, kinds&15)); err != nil {
				return err
			}
		}
		return nil
	case tStruct:
		return c.structure(nil, nil)
	}
	return fmt.Errorf("no such type %d", kind)
}

func (c *thrift) elements(n uint64, kind byte) error {
	if n > uint64(len(c.b)-c.at) { // each takes a byte or more
		return errTorn
	}
	for range n {
		if err := c.skip(kind); err != nil {
			return err
		}
	}
	return nil
}

func zigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

// checkFooter walks the footer of a file of so many bytes.
func checkFooter(r io.ReaderAt, size int64) error {
	const tail = 8
	if size < 4+tail {
		return fmt.Errorf("%d bytes are no Parquet file", size)
	}
	var end [tail]byte // at the head it stands, too: to look there would fetch another block of a file that lies elsewhere
	if _, err := r.ReadAt(end[:], size-tail); err != nil {
		return err
	}
	if string(end[4:]) != "PAR1" {
		return errors.New("no Parquet file: its magic is missing")
	}
	n := int64(binary.LittleEndian.Uint32(end[:]))
	if n > maxFooter || n > size-tail-4 {
		return fmt.Errorf("footer of %d bytes in a file of %d", n, size)
	}
	b := make([]byte, n)
	if _, err := r.ReadAt(b, size-tail-n); err != nil {
		return err
	}
	c := thrift{b: b}
	if err := c.structure(nil, nil); err != nil {
		return fmt.Errorf("footer: %w", err)
	}
	if c.at != len(b) {
		return fmt.Errorf("footer: %d bytes after its end", len(b)-c.at)
	}
	return nil
}

// pageHeader is what a page says of itself.
type pageHeader struct {
	kind, packed, unpacked, values, encoding, levels int64
}

const (
	pageData       = 0
	pageDictionary = 2
)

// The encodings of Parquet that a lake's pages use.
const (
	encPlain     = 0
	encPlainDict = 2
	encDelta     = 5
	encRLEDict   = 8
)

func (c *thrift) pageHeader() (h pageHeader, err error) {
	h = pageHeader{kind: -1, packed: -1, unpacked: -1, values: -1, encoding: -1}
	inner := func(id int16, v int64) {
		switch id { // DataPageHeader and DictionaryPageHeader begin alike
		case 1:
			h.values = v
		case 2:
			h.encoding = v
		case 3:
			h.levels = v
		}
	}
	err = c.structure(func(id int16, v int64) {
		switch id {
		case 1:
			h.kind = v
		case 2:
			h.unpacked = v
		case 3:
			h.packed = v
		}
	}, func(id int16) func(int16, int64) {
		if id == 5 && h.kind == pageData || id == 7 && h.kind == pageDictionary {
			return inner
		}
		return nil
	})
	return h, err
}

// chunk is where a column's values of a row group lie.
type chunk struct {
	from, bytes int64
	rows        int64
	nullable    bool
	squeezed    bool // by zstd
}

// A boundedAlloc is Go's memory for arrow, up to maxAlloc at a time.
type boundedAlloc struct{ memory.GoAllocator }

func (a *boundedAlloc) Allocate(n int) []byte {
	if n < 0 || n > maxAlloc {
		panic(fmt.Errorf("asks for %d bytes at once", n))
	}
	return a.GoAllocator.Allocate(n)
}

func (a *boundedAlloc) Reallocate(n int, b []byte) []byte {
	if n < 0 || n > maxAlloc {
		panic(fmt.Errorf("asks for %d bytes at once", n))
	}
	return a.GoAllocator.Reallocate(n, b)
}
