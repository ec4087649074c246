package lake

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// The decoders of a lake's pages, the inverse of encode.go, where the names in
// quotes are explained. Each takes the bytes of a page as they are, gives its
// values in pieces, and fails on bytes that hold no more of them: it asks for
// no memory by what a page says, and looks at none beyond the page. Arrow
// v17's decoders take a value at a time, allocate for each block of deltas,
// and panic on damage.

var errShort = errors.New("the page ends before its values")

// deltas gives the values of "Delta Encoding (DELTA_BINARY_PACKED = 5)".
type deltas struct {
	b      []byte // from the next block or miniblock on
	mini   int    // values of a miniblock
	minis  int    // miniblocks of a block
	left   int    // values that the header promises
	last   int64
	least  int64  // of the block's deltas
	widths []byte // of the block's miniblocks that are still to come
	first  bool   // the first value, which stands in the header, is still to be given

	waiting [deltaMini]int64 // unpacked and not yet given
	from    int              // of these
	to      int
	rest    int // values of the miniblock in hand that are still packed, a multiple of deltaMini
	width   uint
}

// open begins a page.
func (d *deltas) open(b []byte) error {
	c := thrift{b: b} // its numbers are written alike
	block, err1 := c.uvarint()
	minis, err2 := c.uvarint()
	n, err3 := c.uvarint()
	first, err4 := c.uvarint()
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return errShort
	}
	if block < deltaBlock || block > 1<<16 || minis == 0 || block%minis != 0 || block/minis%deltaMini != 0 || n > maxGroupRows {
		return fmt.Errorf("delta blocks of %d values in %d parts, %d values", block, minis, n)
	}
	*d = deltas{b: b[c.at:], mini: int(block / minis), minis: int(minis), left: int(n), last: zigzag(first), first: n > 0}
	return nil
}

// next fills out.
func (d *deltas) next(out []int64) error {
	if len(out) > d.left {
		return errShort
	}
	d.left -= len(out)
	if d.first && len(out) > 0 {
		d.first = false
		out[0] = d.last
		out = out[1:]
	}
	n := copy(out, d.waiting[d.from:d.to])
	d.from += n
	for out = out[n:]; len(out) > 0; {
		if d.rest == 0 {
			if err := d.miniblock(); err != nil {
				return err
			}
		}
		to := (*[deltaMini]int64)(d.waiting[:])
		whole := len(out) >= deltaMini
		if whole {
			to = (*[deltaMini]int64)(out)
		}
		size := int(d.width) * deltaMini / 8
		d.last = sumMini(to, d.b, d.width, d.last, d.least)
		d.b = d.b[size:]
		d.rest -= deltaMini
		if whole {
			out = out[deltaMini:]
			continue
		}
		d.from, d.to = copy(out, d.waiting[:]), deltaMini
		break
	}
	return nil
}

// miniblock opens the next one; its bytes are there.
func (d *deltas) miniblock() error {
	if len(d.widths) == 0 {
		least, n := binary.Uvarint(d.b)
		if n <= 0 || len(d.b)-n < d.minis {
			return errShort
		}
		d.least = zigzag(least)
		d.widths = d.b[n : n+d.minis]
		d.b = d.b[n+d.minis:]
	}
	d.width = uint(d.widths[0])
	d.widths = d.widths[1:]
	if d.width > 64 {
		return fmt.Errorf("deltas of %d bits", d.width)
	}
	if len(d.b) < int(d.width)*d.mini/8 {
		return errShort
	}
	d.rest = d.mini
	return nil
}

// sumMini unpacks 32 deltas of w bits from b, which holds them, and sums them
// up from last; it gives the last sum.
func sumMini(out *[deltaMini]int64, b []byte, w uint, last, least int64) int64 {
	switch {
	case w == 0:
		for i := range out {
			last += least
			out[i] = last
		}
		return last
	case w > 56: // a value may lie in nine bytes
		for i := range out {
			at := uint(i) * w
			var word [16]byte
			copy(word[:], b[at/8:])
			x := binary.LittleEndian.Uint64(word[:])>>(at%8) | binary.LittleEndian.Uint64(word[8:])<<(64-at%8)
			last += int64(x<<(64-w)>>(64-w)) + least
			out[i] = last
		}
		return last
	}
	const spare = 8 // a value is loaded as a word
	var padded [56*deltaMini/8 + spare]byte
	if need := int(w)*deltaMini/8 + spare; len(b) < need {
		copy(padded[:], b)
		b = padded[:need]
	}
	mask := uint64(1)<<w - 1
	at := uint(0)
	for i := range out {
		x := binary.LittleEndian.Uint64(b[at/8:]) >> (at & 7) & mask
		last += int64(x) + least
		out[i] = last
		at += w
	}
	return last
}

// runs gives the numbers of "Run Length Encoding / Bit-Packing Hybrid (RLE =
// 3)", of a fixed width of at most 32 bits.
type runs struct {
	b      []byte
	width  uint
	value  uint32
	equal  int // how many more of value come
	groups int // how many more groups of eight are packed

	waiting [8]uint32 // of a group that was given in part
	from    int
}

func (r *runs) open(b []byte, width uint) error {
	if width > 32 {
		return fmt.Errorf("indexes of %d bits", width)
	}
	*r = runs{b: b, width: width, from: len(r.waiting)}
	return nil
}

// run opens the next run, which is not empty; on an error nothing is taken.
func (r *runs) run() error {
	head, n := binary.Uvarint(r.b)
	if n <= 0 || head>>1 == 0 {
		return errShort
	}
	b, many := r.b[n:], head>>1
	if head&1 != 0 {
		if many > maxGroupRows || uint64(len(b)) < many*uint64(r.width) {
			return errShort
		}
		r.b, r.groups = b, int(many)
		return nil
	}
	size := int(r.width+7) / 8
	if len(b) < size {
		return errShort
	}
	r.value = 0
	for i, x := range b[:size] {
		r.value |= uint32(x) << (8 * i)
	}
	r.b, r.equal = b[size:], int(min(many, maxGroupRows))
	return nil
}

// next fills out.
func (r *runs) next(out []uint32) error {
	n := copy(out, r.waiting[r.from:])
	r.from += n
	for out = out[n:]; len(out) > 0; {
		switch {
		case r.equal > 0:
			k := min(r.equal, len(out))
			for i := range out[:k] {
				out[i] = r.value
			}
			r.equal -= k
			out = out[k:]
		case r.groups > 0 && len(out) >= 8:
			for k := min(r.groups, len(out)/8); k > 0; k-- {
				r.group((*[8]uint32)(out))
				out = out[8:]
			}
		case r.groups > 0:
			r.group(&r.waiting)
			r.from = copy(out, r.waiting[:])
			return nil
		default:
			if err := r.run(); err != nil {
				return err
			}
		}
	}
	return nil
}

// alike is how many of the next numbers are the value of the run in hand.
func (r *runs) alike() int {
	if r.from < len(r.waiting) {
		return 0
	}
	return r.equal
}

// group unpacks the next group; its bytes are there.
func (r *runs) group(out *[8]uint32) {
	w, b := r.width, r.b
	r.b = b[w:]
	r.groups--
	if w > 16 {
		for i := range out {
			at := uint(i) * w
			var word [8]byte
			copy(word[:], b[at/8:])
			out[i] = uint32(binary.LittleEndian.Uint64(word[:]) >> (at & 7) & (1<<w - 1))
		}
		return
	}
	if len(b) < 16 {
		var padded [16]byte
		copy(padded[:], b)
		b = padded[:]
	}
	mask := uint64(1)<<w - 1
	lo := binary.LittleEndian.Uint64(b)
	hi := binary.LittleEndian.Uint64(b[w/2:]) >> (w & 1 * 4) // after four values
	w &= 31
	out[0], out[4] = uint32(lo&mask), uint32(hi&mask)
	out[1], out[5] = uint32(lo>>w&mask), uint32(hi>>w&mask)
	out[2], out[6] = uint32(lo>>(2*w)&mask), uint32(hi>>(2*w)&mask)
	out[3], out[7] = uint32(lo>>(3*w)&mask), uint32(hi>>(3*w)&mask)
}

// levels gives the definition levels of a nullable column: who has a value.
type levels struct {
	runs
	scratch [64]uint32
}

// open takes the levels off the beginning of a page and gives the rest.
func (l *levels) open(b []byte) (rest []byte, err error) {
	if len(b) < 4 {
		return nil, errShort
	}
	n := binary.LittleEndian.Uint32(b)
	if b = b[4:]; uint64(n) > uint64(len(b)) {
		return nil, errShort
	}
	return b[n:], l.runs.open(b[:n], 1)
}

// all reports whether the next n rows have a value, as is seen at a glance,
// and takes them if so.
func (l *levels) all(n int) bool {
	if l.from < len(l.waiting) || l.groups > 0 {
		return false
	}
	if l.equal == 0 && l.run() != nil { // next tells
		return false
	}
	if l.value != 1 || l.equal < n {
		return false
	}
	l.equal -= n
	return true
}

// next says of the next rows whether they have a value, and how many do.
func (l *levels) next(valid []bool) (values int, err error) {
	for len(valid) > 0 {
		part := l.scratch[:min(len(valid), len(l.scratch))]
		if err := l.runs.next(part); err != nil {
			return 0, err
		}
		for i, v := range part {
			if v > 1 {
				return 0, fmt.Errorf("level %d", v)
			}
			valid[i] = v != 0
			values += int(v)
		}
		valid = valid[len(part):]
	}
	return values, nil
}

// The values of "Plain (PLAIN = 0)": each takes what out needs off the
// beginning of b.

func plainInts(out []int64, b []byte) (rest []byte, err error) {
	if len(b)/8 < len(out) {
		return nil, errShort
	}
	for i := range out {
		out[i] = int64(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return b[8*len(out):], nil
}

func plainInt32s(out []int32, b []byte) (rest []byte, err error) {
	if len(b)/4 < len(out) {
		return nil, errShort
	}
	for i := range out {
		out[i] = int32(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return b[4*len(out):], nil
}

func plainFloats(out []float64, b []byte) (rest []byte, err error) {
	if len(b)/8 < len(out) {
		return nil, errShort
	}
	for i := range out {
		out[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return b[8*len(out):], nil
}

// plainBools takes bits from the one of a number on.
func plainBools(out []bool, b []byte, from int) error {
	if 8*len(b) < from+len(out) {
		return errShort
	}
	for i := range out {
		at := from + i
		out[i] = b[at/8]>>(at%8)&1 != 0
	}
	return nil
}

func plainStrings(out []string, b []byte, own func([]byte) string) (rest []byte, err error) {
	for i := range out {
		if len(b) < 4 {
			return nil, errShort
		}
		n := binary.LittleEndian.Uint32(b)
		if b = b[4:]; uint64(n) > uint64(len(b)) {
			return nil, errShort
		}
		out[i] = own(b[:n])
		b = b[n:]
	}
	return b, nil
}
