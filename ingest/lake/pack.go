package lake

import (
	"fmt"
	"math"
	"math/bits"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/file"
	"github.com/apache/arrow/go/v17/parquet/metadata"
)

const (
	pageRows  = 128 << 10 // the most rows of a page: 1 MiB of numbers
	pageBytes = 1 << 20   // a page of plain strings is cut beyond this
)

// packer encodes column chunks; its scratch memory is kept between row groups.
type packer struct {
	ints    []int64
	int32s  []int32
	floats  []float64
	bools   []bool
	strings []string
	indexes []uint16
	bitmap  []byte
	page    []byte // of what is to be compressed, or thrown away
	i64     numbers[int64]
	i32     numbers[int32]
	texts   texts

	stored []byte // the pages of all columns, one after the other, as they are stored
}

// packedColumn is a column chunk, encoded.
type packedColumn struct {
	dict     extent // of the dictionary's page, if dicts is more than 0
	dicts    int
	encoding parquet.Encoding
	fallback bool // arrow is to list the plain encoding as well
	pages    []packedPage
	stats    metadata.EncodedStatistics
}

// packedPage is where the bytes of a data page lie in packer.stored.
type packedPage struct {
	at   extent
	rows int
	raw  int // bytes before compression
}

// pages is what a column chunk is written from. Its nulls are left out: the
// values are fewer than the rows.
type pages struct {
	dict     []byte // the dictionary's page, if dicts is more than 0
	dicts    int
	encoding parquet.Encoding
	values   func(page []byte, from, to int) []byte // appends values by number
	end      func(row int) int                      // where the page that begins there ends
}

// column encodes one column chunk into to, whose memory is used again. In a
// nullable column Valid nil means that all values are there.
func (p *packer) column(to *packedColumn, enc Encoding, nullable, squeeze bool, c Column, n int) error {
	var st metadata.EncodedStatistics
	nulls := 0
	for _, v := range c.Valid {
		nulls += int(1 - bit(v))
	}
	valid := c.Valid
	if nulls == 0 {
		valid = nil
	}
	pg := pages{encoding: parquet.Encodings.Plain, end: func(row int) int { return min(row+pageRows, n) }}
	dict := enc == Dictionary && nulls < n // without values there is nothing to look up
	switch data := c.Data.(type) {
	case []int64:
		v := compact(&p.ints, data, valid)
		switch {
		case dict && p.i64.index(&p.indexes, v):
			st = stats(p.i64.values, nulls, int64Bytes)
			pg.dict, pg.dicts = appendInts(p.page[:0], p.i64.values), len(p.i64.values)
		case enc == Delta && !(squeeze && p.scattered(v)):
			st = stats(v, nulls, int64Bytes)
			pg.encoding = parquet.Encodings.DeltaBinaryPacked
			pg.values = func(page []byte, from, to int) []byte { return appendDelta(page, v[from:to]) }
		default:
			st = stats(v, nulls, int64Bytes)
			pg.values = func(page []byte, from, to int) []byte { return appendInts(page, v[from:to]) }
		}
	case []int32:
		v := compact(&p.int32s, data, valid)
		if dict && p.i32.index(&p.indexes, v) {
			st = stats(p.i32.values, nulls, int32Bytes)
			pg.dict, pg.dicts = appendInt32s(p.page[:0], p.i32.values), len(p.i32.values)
			break
		}
		st = stats(v, nulls, int32Bytes)
		pg.values = func(page []byte, from, to int) []byte { return appendInt32s(page, v[from:to]) }
	case []string:
		v := compact(&p.strings, data, valid)
		defer func() { clear(p.strings) }() // they are the caller's
		if dict && p.texts.index(&p.indexes, v) {
			values := p.texts.values
			for i, s := range values {
				values[i] = clean(s)
			}
			st = stringStats(values, nulls)
			pg.dict, pg.dicts = appendStrings(p.page[:0], values), len(values)
			break
		}
		v, pg.end = p.plainStrings(v, valid, n)
		st = stringStats(v, nulls)
		pg.values = func(page []byte, from, to int) []byte { return appendStrings(page, v[from:to]) }
	case []float64:
		v := compact(&p.floats, data, valid)
		st = floatStats(v, nulls)
		pg.values = func(page []byte, from, to int) []byte { return appendFloats(page, v[from:to]) }
	case []bool:
		v := compact(&p.bools, data, valid)
		st = boolStats(v, nulls)
		pg.values = func(page []byte, from, to int) []byte { return appendBits(page, v[from:to]) }
	}
	if pg.dicts > 0 {
		width := indexWidth(pg.dicts)
		pg.encoding = parquet.Encodings.RLEDict
		pg.values = func(page []byte, from, to int) []byte { return appendIndexes(page, p.indexes[from:to], width) }
	}
	to.stats = st
	return p.write(to, pg, nullable, squeeze, valid, n)
}

// scattered reports whether values lie so far from each other that their deltas
// take more than three bytes: then a compressor finds more in them as they are,
// such as what is equal among their higher bits and zero among the lower.
func (p *packer) scattered(v []int64) bool {
	p.page = appendDelta(p.page[:0], v)
	return len(p.page) > 3*len(v)+64
}

// write cuts a chunk of n rows into pages.
func (p *packer) write(to *packedColumn, pg pages, nullable, squeeze bool, valid []bool, n int) error {
	to.dicts, to.encoding, to.pages = pg.dicts, pg.encoding, to.pages[:0]
	if pg.dicts > 0 {
		from := len(p.stored)
		p.stored = append(p.stored, pg.dict...)
		p.page = pg.dict[:0]
		to.dict = extent{from, len(p.stored)}
	}
	at := 0 // of the values
	for row := 0; row < n; {
		end := pg.end(row)
		there := end - row
		from := len(p.stored)
		page := p.stored
		if squeeze {
			from, page = 0, p.page[:0]
		}
		if nullable {
			var bitmap []byte
			if valid != nil {
				p.bitmap = appendBits(p.bitmap[:0], valid[row:end])
				bitmap, there = p.bitmap, 0
				for _, b := range bitmap {
					there += bits.OnesCount8(b)
				}
			}
			page = appendLevels(page, bitmap, end-row)
		}
		page = pg.values(page, at, at+there)
		raw := len(page) - from
		if raw > math.MaxInt32 {
			return fmt.Errorf("a page of %d bytes", raw)
		}
		if squeeze {
			from, p.page = len(p.stored), page[:0]
			page = compressor().EncodeAll(page, p.stored)
		}
		p.stored = page
		to.pages = append(to.pages, packedPage{extent{from, len(page)}, end - row, raw})
		row, at = end, at+there
	}
	// Arrow lists the column's encoding, and the plain one for a fallback.
	to.fallback = squeeze && pg.encoding == parquet.Encodings.Plain
	return nil
}

// put hands a packed column chunk to the pager and gives the bytes of its
// pages, as they were before compression.
func (p *packer) put(to file.PageWriter, c *packedColumn) (written int64, err error) {
	if c.dicts > 0 {
		page := file.NewDictionaryPage(memory.NewBufferBytes(c.dict.of(p.stored)), int32(c.dicts), parquet.Encodings.Plain)
		written, err = to.WriteDictionaryPage(page)
		page.Release()
		if err != nil {
			return written, err
		}
	}
	for _, g := range c.pages {
		stored := g.at.of(p.stored)
		// The specification has RLE as the encoding of levels that are not there.
		data := file.NewDataPageV1(memory.NewBufferBytes(stored), int32(g.rows), c.encoding, parquet.Encodings.RLE, parquet.Encodings.RLE, int32(g.raw))
		k, err := to.WriteDataPage(data)
		data.Release()
		if written += k + int64(g.raw-len(stored)); err != nil {
			return written, err
		}
	}
	return written, to.Close(c.dicts > 0, c.fallback)
}

// extent is a part of some bytes.
type extent struct{ from, to int }

func (e extent) of(b []byte) []byte { return b[e.from:e.to:e.to] }

// plainStrings makes the strings valid UTF-8, in a copy, and ends pages by
// their bytes.
func (p *packer) plainStrings(v []string, valid []bool, n int) (own []string, end func(row int) int) {
	p.strings = append(p.strings[:0], v...)
	own = p.strings
	for i, s := range own {
		own[i] = clean(s)
	}
	next := 0 // of the values; pages are asked for in their order
	return own, func(row int) int {
		bytes, last := 0, min(row+pageRows, n)
		for ; row < last && bytes < pageBytes; row++ {
			if valid == nil || valid[row] {
				bytes += 4 + len(own[next])
				next++
			}
		}
		return row
	}
}

// compact leaves the nulls out; without nulls it gives data itself.
func compact[T any](scratch *[]T, data []T, valid []bool) []T {
	if valid == nil {
		return data
	}
	out := room(scratch, len(data))
	k := 0
	for i, v := range data {
		out[k] = v // the next one's place if this is a null
		k += int(bit(valid[i]))
	}
	return out[:k]
}

// clean makes a string valid UTF-8, which readers insist on; logs are not
// always.
func clean(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
