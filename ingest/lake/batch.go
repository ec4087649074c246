package lake

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"

	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/file"
)

// batch is the memory of one column of a batch, used again for the next.
type batch struct {
	levels  []int16
	valid   []bool
	ints    []int64
	int32s  []int32
	floats  []float64
	bools   []bool
	strings []string
	texts   interner
}

// room gives s a length of n.
func room[T any](s *[]T, n int) []T {
	if cap(*s) < n {
		*s = make([]T, n)
	}
	*s = (*s)[:n]
	return *s
}

// read reads the next n rows of the open column chunk; texts is scratch.
func (l *leaf) read(n int, texts *[]parquet.ByteArray) (Column, error) {
	col := Column{Name: l.name}
	var levels []int16
	if l.nullable {
		levels = room(&l.levels, n)
	}
	var rows int64
	var got int
	var err error
	switch c := l.chunk.(type) {
	case *file.Int64ColumnChunkReader:
		v := room(&l.ints, n)
		rows, got, err = c.ReadBatch(int64(n), v, levels, nil)
		col.Data = v
	case *file.Int32ColumnChunkReader:
		v := room(&l.int32s, n)
		rows, got, err = c.ReadBatch(int64(n), v, levels, nil)
		col.Data = v
	case *file.Float64ColumnChunkReader:
		v := room(&l.floats, n)
		rows, got, err = c.ReadBatch(int64(n), v, levels, nil)
		col.Data = v
	case *file.BooleanColumnChunkReader:
		v := room(&l.bools, n)
		rows, got, err = c.ReadBatch(int64(n), v, levels, nil)
		col.Data = v
	case *file.ByteArrayColumnChunkReader:
		v := room(texts, n)
		if rows, got, err = c.ReadBatch(int64(n), v, levels, nil); err == nil && got <= n {
			out := room(&l.strings, n)
			for i, b := range v[:got] {
				out[i] = l.texts.intern(b)
			}
			col.Data = out
		}
		clear(v) // it lies in pages that may go
	default:
		return col, fmt.Errorf("arrow reads it by %T", c)
	}
	if err == nil {
		err = l.chunk.Err()
	}
	if err != nil {
		return col, err
	}
	nulls := 0
	for _, level := range levels {
		if level == 0 {
			nulls++
		}
	}
	if rows != int64(n) || got != n-nulls {
		return col, fmt.Errorf("%d rows with %d values, want %d and %d", rows, got, n, n-nulls)
	}
	if nulls == 0 {
		return col, nil
	}
	col.Valid = room(&l.valid, n)
	for i, level := range levels {
		col.Valid[i] = level != 0
	}
	switch d := col.Data.(type) {
	case []int64:
		spread(d, col.Valid, got)
	case []int32:
		spread(d, col.Valid, got)
	case []float64:
		spread(d, col.Valid, got)
	case []bool:
		spread(d, col.Valid, got)
	case []string:
		spread(d, col.Valid, got)
	}
	return col, nil
}

// spread moves the first got values to the valid rows and zeroes the others.
func spread[T any](d []T, valid []bool, got int) {
	for i := len(d) - 1; i >= 0; i-- {
		if valid[i] {
			got--
			d[i] = d[got]
		} else {
			d[i] = *new(T)
		}
	}
}

// interner keeps one copy of each string, so that a page's memory can go
// while its strings stay. It forgets all when it has too many.
type interner struct {
	// near finds the strings of a dictionary by where they lie, with no look
	// at their bytes. A place that is kept can't be used for another string.
	near  [64]struct{ from, own string }
	known map[string]string
}

const maxInterned = 16 << 10

func (t *interner) intern(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	from := unsafe.String(&b[0], len(b))
	slot := &t.near[uintptr(unsafe.Pointer(&b[0]))>>2&63]
	if unsafe.StringData(slot.from) == &b[0] && len(slot.from) == len(b) {
		return slot.own
	}
	own, ok := t.known[from]
	if !ok {
		if t.known == nil || len(t.known) >= maxInterned {
			t.known = make(map[string]string)
		}
		own = string(b)
		t.known[own] = own
	}
	slot.from, slot.own = from, own
	return own
}

// decode reads a bound from the statistics; nil is none.
func (t Type) decode(b []byte) any {
	switch {
	case b == nil:
	case t == Int64 && len(b) == 8:
		return int64(binary.LittleEndian.Uint64(b))
	case t == Int32 && len(b) == 4:
		return int32(binary.LittleEndian.Uint32(b))
	case t == Float64 && len(b) == 8:
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	case t == Bool && len(b) == 1:
		return b[0] != 0
	case t == String:
		return string(b)
	}
	return nil
}
