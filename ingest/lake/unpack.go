package lake

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/compress"
	"github.com/apache/arrow/go/v17/parquet/file"
)

// A pageReader gives the values of one column chunk: arrow finds the pages and
// their headers, decode.go what is in them.
type pageReader struct {
	pages    file.PageReader // nil before the first chunk
	buffer   *bufio.Reader
	memory   pageMemory
	nullable bool
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

// headerRoom is what arrow wants to see of the bytes in which a page's header
// stands.
const headerRoom = 16 << 10

// open begins a column chunk. All memory is that of the one before it.
func (p *pageReader) open(src io.ReaderAt, c chunk) (err error) {
	p.close()
	p.nullable = c.nullable
	section := io.NewSectionReader(src, c.from, c.bytes)
	codec := compress.Codecs.Uncompressed
	if c.squeezed {
		codec = compress.Codecs.Zstd
	}
	if p.pages == nil {
		p.buffer = bufio.NewReaderSize(section, headerRoom)
		p.pages, err = file.NewPageReader(p.buffer, c.rows, codec, &p.memory, nil)
		return err
	}
	p.buffer.Reset(section)
	p.pages.Reset(p.buffer, c.rows, codec, nil)
	return nil
}

// close forgets the chunk.
func (p *pageReader) close() {
	p.rows, p.data = 0, nil
	p.ints, p.int32s, p.strings = p.ints[:0], p.int32s[:0], p.strings[:0]
}

// pageMemory is the memory of the one page that a pageReader holds. Arrow gives
// it back before the page is used, and asks for the next page's only after.
type pageMemory struct {
	boundedAlloc
	page []byte
}

var _ memory.Allocator = (*pageMemory)(nil)

func (m *pageMemory) Allocate(n int) []byte {
	if n < 0 || n > cap(m.page) {
		m.page = m.boundedAlloc.Allocate(n)
	}
	return m.page[:n]
}

// page makes the next data page the one in hand.
func (p *pageReader) page(l *leaf) error {
	for {
		if !p.pages.Next() {
			if err := p.pages.Err(); err != nil {
				return err
			}
			return errors.New("the pages end before the rows")
		}
		switch page := p.pages.Page().(type) {
		case *file.DictionaryPage:
			if err := p.dictionary(l, page); err != nil {
				return fmt.Errorf("dictionary: %w", err)
			}
		case *file.DataPageV1:
			return p.data1(page)
		default:
			return fmt.Errorf("a page of type %T", page)
		}
	}
}

// data1 opens a data page of version 1.
func (p *pageReader) data1(page *file.DataPageV1) (err error) {
	b := page.Data()
	p.rows, p.bits, p.encoding = int(page.NumValues()), 0, int64(page.Encoding())
	if p.rows <= 0 {
		return fmt.Errorf("a page of %d rows", p.rows)
	}
	if p.nullable {
		if e := parquet.Encoding(page.DefinitionLevelEncoding()); e != parquet.Encodings.RLE {
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

func (p *pageReader) dictionary(l *leaf, page *file.DictionaryPage) (err error) {
	n, b := int(page.NumValues()), page.Data()
	if n < 0 || n > len(b) { // a value takes a byte or more
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
				set(col.Valid[rows:rows+k], true)
			}
		default:
			if col.Valid == nil {
				col.Valid = room(&l.valid, n)
				set(col.Valid[:rows], true)
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

func set(to []bool, v bool) {
	for i := range to {
		to[i] = v
	}
}
