package lake

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/file"
	"github.com/apache/arrow/go/v17/parquet/metadata"
)

// maxDict is the most distinct values of a dictionary; with more the column
// chunk is written plain. 16 bits of index cost as much as they save beyond.
const maxDict = 32 << 10

// packer writes column chunks; its scratch memory is kept between row groups.
type packer struct {
	levels  []int16
	ints    []int64
	int32s  []int32
	floats  []float64
	bools   []bool
	bytes   []parquet.ByteArray
	indexes []int32
	bitmap  []byte
	i64     dictionary[int64]
	i32     dictionary[int32]
	strs    dictionary[string]
}

// column writes one column chunk and gives its statistics. In a nullable
// column Valid nil means that all values are there.
func (p *packer) column(cw file.ColumnChunkWriter, enc Encoding, nullable bool, c Column, n int) (st metadata.EncodedStatistics, err error) {
	nulls := 0
	var levels []int16
	if nullable {
		levels, nulls = p.level(c.Valid, n)
	}
	valid := c.Valid
	if nulls == 0 {
		valid = nil
	}
	switch data := c.Data.(type) {
	case []int64:
		cw := cw.(*file.Int64ColumnChunkWriter)
		st = stats(data, valid, nulls, int64Bytes)
		if enc == Dictionary {
			if p.i64.index(&p.indexes, data, valid, 8) {
				return st, p.byIndex(cw, int64Array(p.i64.values), levels, valid, nulls)
			}
			cw.FallbackToPlain()
		}
		_, err = cw.WriteBatch(compact(&p.ints, data, valid), levels, nil)
	case []int32:
		cw := cw.(*file.Int32ColumnChunkWriter)
		st = stats(data, valid, nulls, int32Bytes)
		if enc == Dictionary {
			if p.i32.index(&p.indexes, data, valid, 4) {
				return st, p.byIndex(cw, int32Array(p.i32.values), levels, valid, nulls)
			}
			cw.FallbackToPlain()
		}
		_, err = cw.WriteBatch(compact(&p.int32s, data, valid), levels, nil)
	case []string:
		cw := cw.(*file.ByteArrayColumnChunkWriter)
		if enc == Dictionary {
			if p.strs.index(&p.indexes, data, valid, 0) {
				values := p.strs.values
				for i, s := range values {
					values[i] = clean(s)
				}
				return stringStats(values, nulls), p.byIndex(cw, stringArray(values), levels, valid, nulls)
			}
			cw.FallbackToPlain()
		}
		p.bytes = p.bytes[:0]
		var lo, hi string
		for i, s := range data {
			if valid != nil && !valid[i] {
				continue
			}
			s = clean(s)
			if len(p.bytes) == 0 {
				lo, hi = s, s
			}
			lo, hi = min(lo, s), max(hi, s)
			p.bytes = append(p.bytes, parquet.ByteArray(s))
		}
		var ends []string
		if len(p.bytes) > 0 {
			ends = []string{lo, hi}
		}
		st = stringStats(ends, nulls)
		_, err = cw.WriteBatch(p.bytes, levels, nil)
		clear(p.bytes)
	case []float64:
		st = floatStats(data, valid, nulls)
		_, err = cw.(*file.Float64ColumnChunkWriter).WriteBatch(compact(&p.floats, data, valid), levels, nil)
	case []bool:
		st = boolStats(data, valid, nulls)
		_, err = cw.(*file.BooleanColumnChunkWriter).WriteBatch(compact(&p.bools, data, valid), levels, nil)
	}
	return st, err
}

// level gives the definition levels: 1 for a value, 0 for a null.
func (p *packer) level(valid []bool, n int) (levels []int16, nulls int) {
	if cap(p.levels) < n {
		p.levels = make([]int16, n)
	}
	levels = p.levels[:n]
	if valid == nil {
		for i := range levels {
			levels[i] = 1
		}
		return levels, 0
	}
	for i, v := range valid {
		levels[i] = 0
		if v {
			levels[i] = 1
		} else {
			nulls++
		}
	}
	return levels, nulls
}

// compact leaves the nulls out; without nulls it gives data itself.
func compact[T any](scratch *[]T, data []T, valid []bool) []T {
	if valid == nil {
		return data
	}
	out := (*scratch)[:0]
	for i, v := range data {
		if valid[i] {
			out = append(out, v)
		}
	}
	*scratch = out
	return out
}

// byIndex writes p.indexes into the dictionary of values. Arrow's own way to
// find the indexes boxes every value.
func (p *packer) byIndex(cw file.ColumnChunkWriter, values arrow.Array, levels []int16, valid []bool, nulls int) error {
	dict, ok := cw.CurrentEncoder().(interface{ PutDictionary(arrow.Array) error })
	if !ok {
		return fmt.Errorf("%T takes no dictionary", cw.CurrentEncoder())
	}
	if err := dict.PutDictionary(values); err != nil {
		return err
	}
	var bitmap *memory.Buffer
	if nulls > 0 {
		p.bitmap = append(p.bitmap[:0], make([]byte, (len(valid)+7)/8)...)
		for i, v := range valid {
			if v {
				p.bitmap[i/8] |= 1 << (i % 8)
			}
		}
		bitmap = memory.NewBufferBytes(p.bitmap)
	}
	data := array.NewData(arrow.PrimitiveTypes.Int32, len(p.indexes),
		[]*memory.Buffer{bitmap, memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(p.indexes))}, nil, nulls, 0)
	return cw.WriteDictIndices(array.NewInt32Data(data), levels, nil)
}

func int64Array(v []int64) arrow.Array {
	return array.NewInt64Data(array.NewData(arrow.PrimitiveTypes.Int64, len(v),
		[]*memory.Buffer{nil, memory.NewBufferBytes(arrow.Int64Traits.CastToBytes(v))}, nil, 0, 0))
}

func int32Array(v []int32) arrow.Array {
	return array.NewInt32Data(array.NewData(arrow.PrimitiveTypes.Int32, len(v),
		[]*memory.Buffer{nil, memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(v))}, nil, 0, 0))
}

func stringArray(v []string) arrow.Array {
	b := array.NewStringBuilder(memory.DefaultAllocator)
	defer b.Release()
	b.AppendValues(v, nil)
	return b.NewArray()
}

// clean makes a string valid UTF-8, which readers insist on; logs are not
// always.
func clean(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// dictionary finds the index of each value, in the order in which values are
// first seen.
type dictionary[T int64 | int32 | string] struct {
	table  map[T]int32
	values []T
}

// index fills out with one index a row (0 under a null). It gives false where
// a dictionary doesn't pay: too many distinct values or bytes. width is the
// bytes of a value, 0 for strings.
func (d *dictionary[T]) index(out *[]int32, data []T, valid []bool, width int) bool {
	if d.table == nil {
		d.table = make(map[T]int32)
	}
	clear(d.table)
	d.values = d.values[:0]
	if cap(*out) < len(data) {
		*out = make([]int32, len(data))
	}
	ix := (*out)[:len(data)]
	*out = ix
	// Rows are sorted by device and programs repeat themselves: the last value
	// is often the next.
	var last T
	at, bytes := int32(-1), 0
	for i, v := range data {
		if valid != nil && !valid[i] {
			ix[i] = 0
			continue
		}
		if at < 0 || v != last {
			k, ok := d.table[v]
			if !ok {
				k = int32(len(d.values))
				if bytes += size(v, width); k >= maxDict || bytes > dictBytes {
					return false
				}
				d.table[v] = k
				d.values = append(d.values, v)
			}
			last, at = v, k
		}
		ix[i] = at
	}
	// A dictionary of which each value is used hardly twice is a detour.
	return len(d.values) < 16 || width == 0 || 2*len(d.values) < len(data)
}

func size[T any](v T, width int) int {
	if s, ok := any(v).(string); ok {
		return 4 + len(s)
	}
	return width
}
