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
	page    []byte
	zstd    []byte // the page in hand, compressed
	i64     numbers[int64]
	i32     numbers[int32]
	texts   texts
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

// column writes one column chunk to the pager and gives the bytes of its pages,
// as they were before squeeze, and its statistics. In a nullable column Valid nil means that all values are
// there.
func (p *packer) column(to file.PageWriter, enc Encoding, nullable, squeeze bool, c Column, n int) (written int64, st metadata.EncodedStatistics, err error) {
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
	written, err = p.write(to, pg, nullable, squeeze, valid, n)
	return written, st, err
}

// scattered reports whether values lie so far from each other that their deltas
// take more than three bytes: then a compressor finds more in them as they are,
// such as what is equal among their higher bits and zero among the lower.
func (p *packer) scattered(v []int64) bool {
	p.page = appendDelta(p.page[:0], v)
	return len(p.page) > 3*len(v)+64
}

// write cuts a chunk of n rows into pages.
func (p *packer) write(to file.PageWriter, pg pages, nullable, squeeze bool, valid []bool, n int) (written int64, err error) {
	if pg.dicts > 0 {
		p.page = pg.dict[:0]
		page := file.NewDictionaryPage(memory.NewBufferBytes(pg.dict), int32(pg.dicts), parquet.Encodings.Plain)
		written, err = to.WriteDictionaryPage(page)
		page.Release()
		if err != nil {
			return written, err
		}
	}
	at := 0 // of the values
	for row := 0; row < n; {
		end := pg.end(row)
		there := end - row
		page := p.page[:0]
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
		p.page = page[:0]
		if len(page) > math.MaxInt32 {
			return written, fmt.Errorf("a page of %d bytes", len(page))
		}
		// The specification has RLE as the encoding of levels that are not there.
		stored := page
		if squeeze {
			p.zstd = compressor().EncodeAll(page, p.zstd[:0])
			stored = p.zstd
		}
		data := file.NewDataPageV1(memory.NewBufferBytes(stored), int32(end-row), pg.encoding, parquet.Encodings.RLE, parquet.Encodings.RLE, int32(len(page)))
		k, err := to.WriteDataPage(data)
		data.Release()
		if written += k + int64(len(page)-len(stored)); err != nil {
			return written, err
		}
		row, at = end, at+there
	}
	// Arrow lists the column's encoding, and the plain one for a fallback.
	return written, to.Close(pg.dicts > 0, squeeze && pg.encoding == parquet.Encodings.Plain)
}

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
