package lake

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestPageEnds gives the decoders every beginning of a page: each gives the
// page's values or an error, and never others.
func TestPageEnds(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 34))
	v := make([]int64, 300)
	for i := range v {
		v[i] = int64(rng.Uint64() >> (i / 5))
	}
	page := appendDelta(nil, v)
	for end := range len(page) + 1 {
		var d deltas
		out := make([]int64, len(v))
		err := d.open(page[:end])
		if err == nil {
			err = d.next(out[:100])
		}
		if err == nil {
			err = d.next(out[100:])
		}
		if (err == nil) != (end == len(page)) || err == nil && !slices.Equal(out, v) {
			t.Fatalf("deltas cut at %d of %d: %v", end, len(page), err)
		}
	}
	ix := make([]uint16, 300)
	for i := range ix {
		ix[i] = uint16(max(0, rng.IntN(40)-25))
	}
	page = appendIndexes(nil, ix, 4)
	for end := 1; end <= len(page); end++ {
		var r runs
		out := make([]uint32, len(ix))
		err := r.open(page[1:end], uint(page[0]))
		if err == nil {
			err = r.next(out[:101])
		}
		if err == nil {
			err = r.next(out[101:])
		}
		if (err == nil) != (end == len(page)) {
			t.Fatalf("indexes cut at %d of %d: %v", end, len(page), err)
		}
		for i, k := range out {
			if err == nil && k != uint32(ix[i]) {
				t.Fatalf("index %d is %d, want %d", i, k, ix[i])
			}
		}
	}
}

// TestWideIndexes unpacks each width, against the bits one by one.
func TestWideIndexes(t *testing.T) {
	rng := rand.New(rand.NewPCG(35, 36))
	for width := range uint(33) {
		b := []byte{3<<1 | 1}
		for range 3 * width {
			b = append(b, byte(rng.Uint32()))
		}
		var r runs
		if err := r.open(b, width); err != nil {
			t.Fatal(err)
		}
		out := make([]uint32, 24)
		if err := errors.Join(r.next(out[:5]), r.next(out[5:6]), r.next(out[6:])); err != nil {
			t.Fatal(err)
		}
		for i, got := range out {
			want := uint32(0)
			for k := range width {
				at := uint(i)*width + k
				want |= uint32(b[1+at/8]>>(at%8)&1) << k
			}
			if got != want {
				t.Fatalf("%d bits: number %d is %x, want %x", width, i, got, want)
			}
		}
		if err := r.next(out[:1]); err == nil {
			t.Fatalf("%d bits: a number beyond the last", width)
		}
	}
	if err := new(runs).open(nil, 33); err == nil {
		t.Error("indexes of 33 bits")
	}
}

// FuzzPages gives the decoders any bytes as a page, to be read in two pieces:
// none panics, and those that take them give as many values as were asked for.
func FuzzPages(f *testing.F) {
	f.Add(uint8(0), uint16(5), appendDelta(nil, []int64{1, -5, math.MaxInt64, 3, 9}))
	f.Add(uint8(1), uint16(9), appendIndexes(nil, []uint16{1, 1, 1, 1, 1, 1, 1, 1, 2}, 3))
	f.Add(uint8(2), uint16(50), appendLevels(nil, []byte{0x55, 0xff, 0xff, 0xff, 0xff, 0xff, 3}, 50))
	f.Add(uint8(3), uint16(2), appendStrings(nil, []string{"", "ab"}))
	f.Fuzz(func(t *testing.T, kind uint8, n uint16, b []byte) {
		first := int(n) / 3
		switch kind % 4 {
		case 0:
			var d deltas
			out := make([]int64, n)
			if d.open(b) == nil && d.next(out[:first]) == nil {
				_ = d.next(out[first:])
			}
		case 1:
			if len(b) == 0 {
				return
			}
			var r runs
			var scratch [256]uint32
			dict, out := make([]int64, b[0]), make([]int64, n)
			if r.open(b[1:], uint(b[0])) == nil && lookUp(out[:first], &r, &scratch, dict) == nil {
				_ = lookUp(out[first:], &r, &scratch, dict)
			}
		case 2:
			var l levels
			valid := make([]bool, n)
			if _, err := l.open(b); err != nil || l.all(first) {
				return
			}
			if values, err := l.next(valid); err == nil {
				for _, v := range valid {
					values -= int(bit(v))
				}
				if values != 0 {
					t.Errorf("%d values too many", values)
				}
			}
		case 3:
			out := make([]string, n)
			_, _ = plainStrings(out, b, func(b []byte) string { return string(b) })
		}
	})
}

// FuzzAgainstArrow reads what the bytes make of a column, by arrow and by us.
func FuzzAgainstArrow(f *testing.F) {
	f.Add(uint64(1), uint16(1), uint8(0), int8(-1), uint8(0))
	f.Add(uint64(2), uint16(700), uint8(2), int8(40), uint8(1))
	f.Add(uint64(3), uint16(9000), uint8(4), int8(3), uint8(2))
	f.Fuzz(func(t *testing.T, seed uint64, n uint16, kind uint8, nulls int8, enc uint8) {
		kinds := []string{"constant", "extremes", "bits", "runs", "many", "names", "floats", "bools"}
		rows := 1 + int(n)%20_000
		rng := rand.New(rand.NewPCG(seed, 1))
		cols := []Column{typical(rng, kinds[int(kind)%len(kinds)], rows, max(-1, int(nulls)))}
		fields := fitting(cols, Plain+Encoding(enc%3))
		agree(t, "ours", packed(t, fields, cols, rows))
		agree(t, "arrow's", arrowFile(t, fields, cols, rows))
	})
}
