package lake

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// Pages by hand; "example" is of the Parquet format's specification,
// Encodings.md.
func TestPages(t *testing.T) {
	check := func(name string, got []byte, want ...byte) {
		t.Helper()
		if !bytes.Equal(got, want) {
			t.Errorf("%s: % x, want % x", name, got, want)
		}
	}
	// Blocks of 128 values in 4 miniblocks; values; first; least delta; widths.
	check("delta, example 1", appendDelta(nil, []int64{1, 2, 3, 4, 5}), 0x80, 1, 4, 5, 2, 2, 0, 0, 0, 0)
	check("delta, example 2", appendDelta(nil, []int64{7, 5, 3, 1, 2, 3, 4, 5}),
		0x80, 1, 4, 8, 14, 3, 2, 0, 0, 0, 0xc0, 0x3f, 0, 0, 0, 0, 0, 0)
	check("delta, nothing", appendDelta(nil, nil), 0x80, 1, 4, 0, 0)
	check("delta, one", appendDelta(nil, []int64{-1}), 0x80, 1, 4, 1, 1)
	// From the least to the most is -1 in two's complement, and back is 1: 2 more.
	check("delta, around", appendDelta(nil, []int64{math.MinInt64, math.MaxInt64, math.MinInt64}),
		append([]byte{0x80, 1, 4, 3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 1, 2, 0, 0, 0, 8}, make([]byte, 7)...)...)
	// A width, then: a head, odd for packed groups of eight, even for a run.
	check("packed, example", appendIndexes(nil, []uint16{0, 1, 2, 3, 4, 5, 6, 7}, 3), 3, 3, 0x88, 0xc6, 0xfa)
	check("a run", appendIndexes(nil, []uint16{0, 1, 2, 3, 4, 5, 6, 7, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 1}, 3),
		3, 3, 0x88, 0xc6, 0xfa, 24, 5, 3, 1, 0, 0)
	check("a run of two bytes", appendIndexes(nil, slices.Repeat([]uint16{0x1ff}, 8), 9), 9, 16, 0xff, 1)
	// A length, then runs as above.
	check("no nulls", appendLevels(nil, nil, 100), 3, 0, 0, 0, 0xc8, 1, 1)
	check("nulls", appendLevels(nil, []byte{0x55, 0xff, 0xff, 0xff, 0xff, 0xff, 3}, 50), 6, 0, 0, 0, 3, 0x55, 80, 1, 3, 3)
	check("bits", appendBits(nil, []bool{true, false, false, false, false, false, true, true, false, true}), 0xc1, 2)
	check("strings", appendStrings(nil, []string{"", "ab"}), 0, 0, 0, 0, 2, 0, 0, 0, 'a', 'b')
}

// typical is a column of n values of a kind; nulls in percent, -1 for a
// required column.
func typical(rng *rand.Rand, kind string, n, nulls int) Column {
	var data any
	switch kind {
	case "constant":
		data = slices.Repeat([]int64{rng.Int64() - rng.Int64()}, n)
	case "extremes": // each delta but those between equal ones overflows
		v := make([]int64, n)
		for i := range v {
			v[i] = []int64{math.MinInt64, math.MaxInt64, 0, -1, math.MinInt64 + 1}[rng.IntN(5)]
		}
		data = v
	case "bits": // deltas of each width, a few blocks of each
		v := make([]int64, n)
		for i := range v {
			v[i] = int64(rng.Uint64() >> (63 - i/300%64))
		}
		data = v
	case "runs": // of a dictionary's indexes, of lengths about the bounds
		v := make([]int32, 0, n)
		for len(v) < n {
			v = append(v, slices.Repeat([]int32{rng.Int32N(1 << rng.IntN(16))}, min(n-len(v), 1+rng.IntN(1<<rng.IntN(7))))...)
		}
		data = v
	case "many": // about as many distinct values as a dictionary takes
		v := make([]int32, n)
		for i := range v {
			v[i] = rng.Int32N(maxDict) * 7919
		}
		data = v
	case "strings":
		v := make([]string, n)
		for i := range v {
			v[i] = strings.Repeat("ä\xff", rng.IntN(3)) + fmt.Sprint(rng.IntN(1+n/3))
		}
		data = v
	case "names": // that lie in one place, of several lengths, and in others
		v := make([]string, n)
		for i := range v {
			v[i] = "nvme10n1p2"[:rng.IntN(11)]
			if rng.IntN(9) == 0 {
				v[i] = strings.Clone(v[i])
			}
		}
		data = v
	case "floats":
		v := make([]float64, n)
		for i := range v {
			v[i] = math.Float64frombits(rng.Uint64() &^ (1 << 62)) // no NaN, which equals nothing
		}
		data = v
	case "bools":
		v := make([]bool, n)
		for i := range v {
			v[i] = i/(1+n/7)%2 == 0 != (rng.IntN(40) == 0)
		}
		data = v
	}
	col := Column{Name: kind, Data: data}
	if nulls >= 0 {
		col.Valid = make([]bool, n)
		there := false
		for i := range col.Valid { // in runs and alone
			if i%(1+rng.IntN(90)) == 0 {
				there = rng.IntN(100) >= nulls
			}
			col.Valid[i] = there
		}
	}
	return col
}

func TestColumns(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	table := func(n, nulls int) (cols []Column) {
		for _, kind := range []string{"constant", "extremes", "bits", "runs", "many", "strings", "names", "floats", "bools"} {
			cols = append(cols, typical(rng, kind, n, nulls))
		}
		return cols
	}
	for _, n := range []int{1, 2, 8, 9, 32, 33, 34, 127, 128, 129, 130, 257, 20_000} {
		for _, nulls := range []int{-1, 0, 3, 50, 97, 100} {
			same(t, fmt.Sprintf("%d rows, %d %% null", n, nulls), table(n, nulls))
		}
	}
	if !testing.Short() {
		same(t, "three pages", table(2*pageRows+1, -1))
		same(t, "the most rows, 10 % null", table(maxGroupRows, 10))
	}
}

// same writes columns in each encoding, where it fits, and compares what is
// read, bounds too, with what went in.
func same(t *testing.T, what string, cols []Column) {
	t.Helper()
	_, n := typeOf(cols[0])
	want := concat(nil, cols, n)
	for _, c := range want {
		if s, ok := c.Data.([]string); ok {
			for i := range s {
				s[i] = strings.ToValidUTF8(s[i], "\uFFFD")
			}
		}
	}
	for enc, name := range []string{Plain: "plain", Delta: "delta", Dictionary: "dictionary"} {
		if name == "" {
			continue
		}
		f := Fields(cols)
		for i := range f {
			f[i].Encoding = Encoding(enc)
			if _, err := f[i].encoding(); err != nil {
				f[i].Encoding = Auto
			}
		}
		var file bytes.Buffer // no file: a sync costs more than all else
		w, err := newWriter(f, nil)
		if err != nil {
			t.Fatal(err)
		}
		w.begin(&file)
		err = errors.Join(w.own.Pack(w.fields, cols), w.group(&w.own), w.footer())
		if _, end := w.sink.finish(); err != nil || end != nil {
			t.Fatalf("%s, %s: %v, %v", what, name, err, end)
		}
		r, err := newReader("", bytes.NewReader(file.Bytes()), int64(file.Len()), nil, nil)
		if err != nil {
			t.Fatalf("%s, %s: %v", what, name, err)
		}
		got, err := readAll(r)
		if err != nil {
			t.Fatalf("%s, %s: %v", what, name, err)
		}
		group := r.RowGroups()[0]
		r.Close()
		for i, c := range want {
			if !reflect.DeepEqual(c, got[i]) {
				t.Fatalf("%s, %s: rows differ (-want +got):\n%.2000s", what, name, gocmp.Diff(c, got[i]))
			}
			var lo, hi any
			switch d := c.Data.(type) {
			case []int64:
				lo, hi = ends(d, c.Valid)
			case []int32:
				lo, hi = ends(d, c.Valid)
			case []string:
				lo, hi = ends(d, c.Valid)
			case []float64:
				lo, hi = ends(d, c.Valid)
			case []bool: // in TestGroupBounds
				continue
			}
			if group.Min[c.Name] != lo || group.Max[c.Name] != hi {
				t.Fatalf("%s, %s: %s from %v to %v, want %v to %v", what, name, c.Name, group.Min[c.Name], group.Max[c.Name], lo, hi)
			}
		}
	}
}

func ends[T cmp.Ordered](v []T, valid []bool) (lo, hi any) {
	var there []T
	for i, x := range v {
		if valid[i] {
			there = append(there, x)
		}
	}
	if len(there) == 0 {
		return nil, nil
	}
	return slices.Min(there), slices.Max(there)
}

// FuzzColumns writes what the bytes make of each type, and reads it.
func FuzzColumns(f *testing.F) {
	f.Add([]byte{1, 2, 3}, uint8(0), uint16(1), false)
	f.Add(bytes.Repeat([]byte{0xff, 0, 0x80}, 300), uint8(1), uint16(40), true)
	f.Add([]byte("a table of words, a table of words"), uint8(2), uint16(300), true)
	f.Fuzz(func(t *testing.T, b []byte, kind uint8, repeat uint16, nullable bool) {
		if len(b) == 0 || len(b) > 4<<10 {
			return
		}
		// A value takes as many bytes as its first says; the whole is repeated.
		var words [][]byte
		for rest := b; len(rest) > 0; {
			k := min(len(rest), 1+int(rest[0]%10))
			words = append(words, rest[:k])
			rest = rest[k:]
		}
		n := min(len(words)*(1+int(repeat)), 20_000)
		number := func(i int) uint64 {
			var w [8]byte
			copy(w[:], words[i%len(words)])
			return binary.LittleEndian.Uint64(w[:])
		}
		col := Column{Name: "x"}
		switch kind % 5 {
		case 0:
			v := make([]int64, n)
			for i := range v {
				v[i] = int64(number(i))
			}
			col.Data = v
		case 1:
			v := make([]int32, n)
			for i := range v {
				v[i] = int32(number(i)) + int32(i)/int32(1+repeat%50)
			}
			col.Data = v
		case 2:
			v := make([]string, n)
			for i := range v {
				v[i] = string(words[i%len(words)])
			}
			col.Data = v
		case 3:
			v := make([]float64, n)
			for i := range v {
				v[i] = math.Float64frombits(number(i) &^ (1 << 62))
			}
			col.Data = v
		case 4:
			v := make([]bool, n)
			for i := range v {
				v[i] = number(i)&1 != 0
			}
			col.Data = v
		}
		if nullable {
			col.Valid = make([]bool, n)
			for i := range col.Valid {
				col.Valid[i] = b[i/(1+int(repeat%70))%len(b)]&2 == 0
			}
		}
		same(t, fmt.Sprintf("kind %d, %d rows", kind%5, n), []Column{col})
	})
}
