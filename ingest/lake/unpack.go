package lake

import (
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v17/parquet"
)

// A pageReader gives the values of one column chunk. It reads its bytes a
// window at a time, which holds a page's header or a page whole. (Arrow v17's
// page readers allocate for each page, and take on trust what a header says.)
type pageReader struct {
	src      io.ReaderAt
	at, end  int64 // of the bytes that are still to come
	left     int64 // rows of the pages that are still to come
	first    bool  // no page has been seen
	squeezed bool
	nullable bool
	window   []byte
	windowAt int64
	unpacked []byte

	rows     int    // of the page in hand that are still to be given
	data     []byte // of plain values, those still to be given
	bits     int    // of a page of booleans, those that were given
	encoding int64
	levels   levels
	deltas   deltas
	indexes  runs
	scratch  [256]uint32

	// The dictionary, by type.
	ints    []int64
	int32s  []int32
	strings []string
}

// The window is as long as a page needs, and a chunk or leastWindow if that is
// more.
const leastWindow = 64 << 10

// open begins a column chunk. All memory is that of the one before it.
func (p *pageReader) open(src io.ReaderAt, c chunk) {
	p.close()
	p.src, p.at, p.end, p.left, p.first = src, c.from, c.from+c.bytes, c.rows, true
	p.squeezed, p.nullable = c.squeezed, c.nullable
}

// close forgets the chunk.
func (p *pageReader) close() {
	p.src, p.rows, p.data, p.window = nil, 0, nil, p.window[:0]
	p.ints, p.int32s, p.strings = p.ints[:0], p.int32s[:0], p.strings[:0]
}

// next gives n bytes, which the chunk has, from p.at on.
func (p *pageReader) next(n int) ([]byte, error) {
	if from := p.at - p.windowAt; len(p.window) > 0 && from+int64(n) <= int64(len(p.window)) {
		return p.window[from:][:n], nil
	}
	size := int(min(max(int64(n), leastWindow), p.end-p.at))
	p.windowAt = p.at
	b := room(&p.window, size)
	if _, err := p.src.ReadAt(b, p.at); err != nil {
		p.window = p.window[:0]
		return nil, err
	}
	return b[:n], nil
}

// header reads the header of the next page.
func (p *pageReader) header() (h pageHeader, err error) {
	for size := int64(512); ; size *= 4 {
		size = min(size, p.end-p.at)
		b, err := p.next(int(size))
		if err != nil {
			return h, err
		}
		c := thrift{b: b}
		h, err = c.pageHeader()
		if err == nil {
			p.at += int64(c.at)
			return h, nil
		}
		if !errors.Is(err, errTorn) || size == p.end-p.at || size >= maxHeader {
			return h, err
		}
	}
}

// page makes the next data page the one in hand. It lies in the chunk, and its
// rows and its dictionary fit their bytes.
func (p *pageReader) page(l *leaf) error {
	for ; ; p.first = false {
		if p.at >= p.end {
			return fmt.Errorf("the pages end %d rows before the row group", p.left)
		}
		at := p.at
		h, err := p.header()
		if err != nil {
			return fmt.Errorf("page at %d: %w", at, err)
		}
		most := h.packed
		if p.squeezed { // numbers of 64 bits, and their levels
			most = min(maxPage, 10*h.values+1024)
		}
		if left := p.end - p.at; h.packed < 0 || h.packed > left || h.unpacked < 0 || h.unpacked > most || !p.squeezed && h.packed != h.unpacked || h.packed > maxPage {
			return fmt.Errorf("page of %d bytes, %d unpacked, where %d are left", h.packed, h.unpacked, left)
		}
		switch {
		case h.kind == pageDictionary && p.first:
			// A value takes a byte or more.
			if h.values < 0 || h.values > h.packed || h.encoding != encPlain && h.encoding != encPlainDict {
				return fmt.Errorf("dictionary of %d values in %d bytes", h.values, h.packed)
			}
		case h.kind == pageData:
			if h.values <= 0 || h.values > p.left {
				return fmt.Errorf("page of %d rows where %d are left", h.values, p.left)
			}
			p.left -= h.values
		default:
			return fmt.Errorf("page type %d is none of a lake's", h.kind)
		}
		b, err := p.next(int(h.packed))
		if err != nil {
			return err
		}
		p.at += h.packed
		if p.squeezed {
			if b, err = unpackPage(room(&p.unpacked, int(h.unpacked)), b); err != nil {
				return err
			}
		}
		if h.kind == pageData {
			p.first = false
			return p.data1(h, b)
		}
		if err := p.dictionary(l, int(h.values), b); err != nil {
			return fmt.Errorf("dictionary: %w", err)
		}
	}
}

// data1 opens a data page of version 1.
func (p *pageReader) data1(h pageHeader, b []byte) (err error) {
	p.rows, p.bits, p.encoding = int(h.values), 0, h.encoding
	if p.nullable {
		if e := parquet.Encoding(h.levels); e != parquet.Encodings.RLE {
			return fmt.Errorf("levels of encoding %v", e)
		}
		if b, err = p.levels.open(b); err != nil {
			return fmt.Errorf("levels: %w", err)
		}
	}
	switch p.encoding {
	case encPlain:
		p.data = b
	case encDelta:
		// A page that has nulls alone may have no header.
		if len(b) == 0 && p.nullable {
			p.deltas = deltas{}
			return nil
		}
		return p.deltas.open(b)
	case encPlainDict, encRLEDict:
		if len(b) == 0 {
			return p.indexes.open(nil, 0)
		}
		return p.indexes.open(b[1:], uint(b[0]))
	default:
		return fmt.Errorf("encoding %d is none of a lake's", p.encoding)
	}
	return nil
}

func (p *pageReader) dictionary(l *leaf, n int, b []byte) (err error) {
	if n > len(b) {
		return fmt.Errorf("%d values in %d bytes", n, len(b))
	}
	switch l.typ {
	case Int64:
		_, err = plainInts(room(&p.ints, n), b)
	case Int32:
		_, err = plainInt32s(room(&p.int32s, n), b)
	case String:
		_, err = plainStrings(room(&p.strings, n), b, l.texts.intern)
	default:
		err = fmt.Errorf("of %v", l.typ)
	}
	return err
}

// values fills out, which is of the column's type, with the next values of the
// page in hand.
func (p *pageReader) values(l *leaf, from, to int) (err error) {
	if from == to {
		return nil
	}
	dict := p.encoding == encPlainDict || p.encoding == encRLEDict
	switch l.typ {
	case Int64:
		out := l.ints[from:to]
		switch {
		case dict:
			return lookUp(out, &p.indexes, &p.scratch, p.ints)
		case p.encoding == encDelta:
			return p.deltas.next(out)
		}
		p.data, err = plainInts(out, p.data)
		return err
	case Int32:
		out := l.int32s[from:to]
		switch {
		case dict:
			return lookUp(out, &p.indexes, &p.scratch, p.int32s)
		case p.encoding == encPlain:
			p.data, err = plainInt32s(out, p.data)
			return err
		}
	case String:
		out := l.strings[from:to]
		switch {
		case dict:
			return lookUp(out, &p.indexes, &p.scratch, p.strings)
		case p.encoding == encPlain:
			p.data, err = plainStrings(out, p.data, l.texts.intern)
			return err
		}
	case Float64:
		if p.encoding == encPlain {
			p.data, err = plainFloats(l.floats[from:to], p.data)
			return err
		}
	case Bool:
		if p.encoding == encPlain {
			p.bits += to - from
			return plainBools(l.bools[from:to], p.data, p.bits-(to-from))
		}
	}
	return fmt.Errorf("encoding %d does not fit %v", p.encoding, l.typ)
}

// read reads the next n rows of the open column chunk.
func (l *leaf) read(n int) (col Column, err error) {
	col.Name = l.name
	switch l.typ {
	case Int64:
		col.Data = room(&l.ints, n)
	case Int32:
		col.Data = room(&l.int32s, n)
	case Float64:
		col.Data = room(&l.floats, n)
	case Bool:
		col.Data = room(&l.bools, n)
	case String:
		col.Data = room(&l.strings, n)
	}
	p := &l.chunk
	rows, values := 0, 0
	for rows < n {
		if p.rows == 0 {
			if err := p.page(l); err != nil {
				return col, err
			}
		}
		k := min(p.rows, n-rows)
		there := k
		switch {
		case !p.nullable:
		case p.levels.all(k):
			if col.Valid != nil {
				fill(col.Valid[rows:rows+k], true)
			}
		default:
			if col.Valid == nil {
				col.Valid = room(&l.valid, n)
				fill(col.Valid[:rows], true)
			}
			if there, err = p.levels.next(col.Valid[rows : rows+k]); err != nil {
				return col, fmt.Errorf("levels: %w", err)
			}
		}
		if err := p.values(l, values, values+there); err != nil {
			return col, err
		}
		p.rows -= k
		rows, values = rows+k, values+there
	}
	if values == n {
		col.Valid = nil
		return col, nil
	}
	switch d := col.Data.(type) {
	case []int64:
		spread(d, col.Valid, values)
	case []int32:
		spread(d, col.Valid, values)
	case []float64:
		spread(d, col.Valid, values)
	case []bool:
		spread(d, col.Valid, values)
	case []string:
		spread(d, col.Valid, values)
	}
	return col, nil
}

// lookUp turns indexes into values.
func lookUp[T any](out []T, r *runs, scratch *[256]uint32, dict []T) error {
	for len(out) > 0 {
		if n := min(r.alike(), len(out)); n > 0 { // equal values, as of a column that has no others
			if int(r.value) >= len(dict) {
				return fmt.Errorf("index %d into %d values", r.value, len(dict))
			}
			fill(out[:n], dict[r.value])
			r.equal -= n
			out = out[n:]
			continue
		}
		part := scratch[:min(len(out), len(scratch))]
		if err := r.next(part); err != nil {
			return err
		}
		for i, k := range part {
			if int(k) >= len(dict) {
				return fmt.Errorf("index %d into %d values", k, len(dict))
			}
			out[i] = dict[k]
		}
		out = out[len(part):]
	}
	return nil
}

func fill[T any](out []T, v T) {
	for i := range out {
		out[i] = v
	}
}
