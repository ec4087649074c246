package lake

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/apache/arrow/go/v17/parquet"
)

var errPageShort = errors.New("a page ends before its values")

func le64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// foreignRuns reads Parquet's hybrid of run lengths and packed bits: levels and the
// places of a dictionary.
type foreignRuns struct {
	b     []byte
	width uint
	left  uint64 // values of the run
	value int64  // of a run of equal ones
	equal bool
	bit   uint64 // of a packed run: the next bit in b
}

func (r *foreignRuns) next() (int64, error) {
	for r.left == 0 {
		if !r.equal && r.bit > 0 { // a packed run ends at a byte
			r.b, r.bit = r.b[min(uint64(len(r.b)), (r.bit+7)/8):], 0
		}
		head, n := binary.Uvarint(r.b)
		if n <= 0 {
			return 0, errPageShort
		}
		r.b = r.b[n:]
		if r.equal = head&1 == 0; r.equal {
			r.left = head >> 1
			bytes := int(r.width+7) / 8
			if len(r.b) < bytes {
				return 0, errPageShort
			}
			r.value = 0
			for i := range bytes {
				r.value |= int64(r.b[i]) << (8 * i)
			}
			r.b = r.b[bytes:]
			continue
		}
		groups := head >> 1
		if r.width > 0 && groups > uint64(len(r.b)) { // eight of a group take a byte or more
			return 0, errPageShort
		}
		r.left, r.bit = min(groups, 1<<32)*8, 0
	}
	r.left--
	if r.equal {
		return r.value, nil
	}
	v, err := packedBits(r.b, r.bit, r.width)
	r.bit += uint64(r.width)
	return v, err
}

// packedBits reads width bits, the lowest first, from a bit on.
func packedBits(b []byte, bit uint64, width uint) (int64, error) {
	if (bit+uint64(width)+7)/8 > uint64(len(b)) {
		return 0, errPageShort
	}
	v, got := uint64(0), uint(0)
	for at, shift := bit/8, uint(bit%8); got < width; at, shift = at+1, 0 {
		v |= uint64(b[at]>>shift) << got
		got += 8 - shift
	}
	if width < 64 {
		v &= 1<<width - 1
	}
	return int64(v), nil
}

// foreignDict is the values that a chunk's pages refer to.
type foreignDict struct {
	page   []byte
	starts []uint32 // of values of any length
	n      int64
	set    bool
}

func (d *foreignDict) fill(c *foreignColumn, n int64) error {
	d.set = true
	if c.physical == parquet.Types.Boolean || n < 0 || n > int64(len(d.page)) && c.width != 0 {
		return fmt.Errorf("a dictionary of %d values in %d bytes", n, len(d.page))
	}
	d.n = n
	if c.physical != parquet.Types.ByteArray {
		if c.width <= 0 || n > int64(len(d.page)/c.width) {
			return fmt.Errorf("a dictionary of %d values in %d bytes", n, len(d.page))
		}
		return nil
	}
	at := uint32(0)
	for range n {
		if uint64(at)+4 > uint64(len(d.page)) {
			return errPageShort
		}
		size := binary.LittleEndian.Uint32(d.page[at:])
		if uint64(size) > uint64(len(d.page))-uint64(at)-4 {
			return errPageShort
		}
		d.starts = append(d.starts, at)
		at += 4 + size
	}
	return nil
}

// The other encodings of a page's values.
const (
	encRLE         = 3
	encDeltaLength = 6
	encDeltaBytes  = 7
	encSplit       = 9
)

// foreignValues reads the values of a page.
type foreignValues struct {
	encoding int64
	b        []byte
	bit      uint64 // of booleans
	runs     foreignRuns
	delta    foreignDeltas
	size     int // of a page whose bytes are split by place: its values
	at       int
	shared   foreignDeltas // how many bytes a value shares with the one before it
	last     []byte        // that one
}

func (v *foreignValues) open(c *foreignColumn, b []byte, h *foreignHeader) error {
	*v = foreignValues{encoding: h.encoding, b: b, last: v.last[:0]}
	switch h.encoding {
	case encPlain:
		return nil
	case encPlainDict, encRLEDict:
		if v.encoding = encRLEDict; !c.dict.set {
			return errors.New("values of a dictionary that is not there")
		}
		if len(b) == 0 {
			return nil // all are null
		}
		if b[0] > 32 {
			return fmt.Errorf("places of %d bits", b[0])
		}
		v.runs = foreignRuns{b: b[1:], width: uint(b[0])}
		return nil
	case encRLE:
		if c.physical != parquet.Types.Boolean || len(b) < 4 {
			break
		}
		v.runs = foreignRuns{b: b[4:], width: 1}
		return nil
	case encDelta:
		if c.physical != parquet.Types.Int32 && c.physical != parquet.Types.Int64 {
			break
		}
		return v.delta.open(b)
	case encDeltaLength:
		if c.physical != parquet.Types.ByteArray {
			break
		}
		return v.lengths(b, h.values)
	case encDeltaBytes:
		if c.physical != parquet.Types.ByteArray && c.physical != parquet.Types.FixedLenByteArray {
			break
		}
		return v.prefixes(b, h.values)
	case encSplit:
		if c.width <= 0 || c.physical == parquet.Types.Int96 {
			break
		}
		v.size = len(b) / c.width
		return nil
	}
	return refused{fmt.Sprintf("values of encoding %d, which is not read for this type", h.encoding)}
}

// prefixes finds the ends of values of which each begins as the one before it:
// how much they share stands first, then the rests, as lengths reads them.
func (v *foreignValues) prefixes(b []byte, most int64) error {
	if err := v.shared.open(b); err != nil {
		return err
	}
	if v.shared.left > uint64(most) {
		return fmt.Errorf("%d lengths in a page of %d values", v.shared.left, most)
	}
	walk := v.shared
	for walk.left > 0 {
		if _, err := walk.next(); err != nil {
			return err
		}
	}
	return v.lengths(walk.rest(), most)
}

// lengths finds where the bytes begin that stand behind all their lengths.
func (v *foreignValues) lengths(b []byte, most int64) error {
	if err := v.delta.open(b); err != nil {
		return err
	}
	if v.delta.left > uint64(most) {
		return fmt.Errorf("%d lengths in a page of %d values", v.delta.left, most)
	}
	walk := v.delta
	for walk.left > 0 {
		if _, err := walk.next(); err != nil {
			return err
		}
	}
	v.b = walk.rest()
	return nil
}

// next gives the next value: v, or the bytes b.
func (v *foreignValues) next(c *foreignColumn) (n int64, b []byte, err error) {
	switch v.encoding {
	case encRLEDict:
		place, err := v.runs.next()
		if err != nil {
			return 0, nil, err
		}
		if place < 0 || place >= c.dict.n {
			return 0, nil, fmt.Errorf("place %d of a dictionary of %d", place, c.dict.n)
		}
		if c.physical == parquet.Types.ByteArray {
			at := c.dict.starts[place]
			size := binary.LittleEndian.Uint32(c.dict.page[at:])
			return 0, c.dict.page[at+4 : at+4+size], nil
		}
		n, b = fixed(c, c.dict.page[place*int64(c.width):])
		return n, b, nil
	case encRLE:
		n, err = v.runs.next()
		return n, nil, err
	case encDelta:
		if n, err = v.delta.next(); c.physical == parquet.Types.Int32 {
			n = int64(int32(n)) // deltas of 32 bits wrap there
		}
		return n, nil, err
	case encDeltaLength:
		if n, err = v.delta.next(); err != nil {
			return 0, nil, err
		}
		if n < 0 || n > int64(len(v.b)) {
			return 0, nil, errPageShort
		}
		b, v.b = v.b[:n], v.b[n:]
		return 0, b, nil
	case encDeltaBytes:
		shared, err := v.shared.next()
		if err != nil {
			return 0, nil, err
		}
		if n, err = v.delta.next(); err != nil {
			return 0, nil, err
		}
		if n < 0 || n > int64(len(v.b)) || shared < 0 || shared > int64(len(v.last)) || shared+n > maxForeignPage {
			return 0, nil, errPageShort
		}
		v.last = append(v.last[:shared], v.b[:n]...)
		v.b = v.b[n:]
		if c.width > 0 && len(v.last) != c.width {
			return 0, nil, errPageShort
		}
		return 0, v.last, nil
	case encSplit:
		if v.at >= v.size {
			return 0, nil, errPageShort
		}
		if c.physical == parquet.Types.FixedLenByteArray {
			v.last = v.last[:0]
			for i := range c.width {
				v.last = append(v.last, v.b[i*v.size+v.at])
			}
			v.at++
			return 0, v.last, nil
		}
		for i := range c.width {
			n |= int64(v.b[i*v.size+v.at]) << (8 * i)
		}
		v.at++
		return n, nil, nil
	}
	switch {
	case c.physical == parquet.Types.Boolean:
		n, err = packedBits(v.b, v.bit, 1)
		v.bit++
		return n, nil, err
	case c.physical == parquet.Types.ByteArray:
		if len(v.b) < 4 {
			return 0, nil, errPageShort
		}
		size := binary.LittleEndian.Uint32(v.b)
		if uint64(size) > uint64(len(v.b)-4) {
			return 0, nil, errPageShort
		}
		b, v.b = v.b[4:4+size], v.b[4+size:]
		return 0, b, nil
	case c.width <= 0 || len(v.b) < c.width:
		return 0, nil, errPageShort
	}
	n, b = fixed(c, v.b)
	v.b = v.b[c.width:]
	return n, b, nil
}

// fixed reads a value of fixed length. Of 96 bits b holds the time of the day, n
// the day.
func fixed(c *foreignColumn, b []byte) (n int64, rest []byte) {
	switch c.physical {
	case parquet.Types.Int32, parquet.Types.Float:
		return int64(int32(binary.LittleEndian.Uint32(b))), nil
	case parquet.Types.Int96:
		return int64(binary.LittleEndian.Uint32(b[8:])), b[:8]
	case parquet.Types.FixedLenByteArray:
		return 0, b[:c.width]
	}
	return int64(le64(b)), nil
}
