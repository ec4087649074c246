package lake

import (
	"encoding/binary"
	"math"
)

// batch is the memory of one column of a batch, used again for the next.
type batch struct {
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

// interner keeps one copy of each string, so that a page's memory can be used
// again while its strings stay. It forgets all when it has too many.
type interner struct{ known map[string]string }

const maxInterned = 16 << 10

func (t *interner) intern(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if own, ok := t.known[string(b)]; ok {
		return own
	}
	if t.known == nil || len(t.known) >= maxInterned {
		t.known = make(map[string]string)
	}
	own := string(b)
	t.known[own] = own
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
