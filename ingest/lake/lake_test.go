package lake

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// mixed is a table of all types, each once required and once nullable, with
// values at the ends of their ranges. share is the share of nulls in percent.
func mixed(rng *rand.Rand, n, share int) []Column {
	valid := func() []bool {
		v := make([]bool, n)
		for i := range v {
			v[i] = rng.IntN(100) >= share
		}
		return v
	}
	i64, i32, f64, str, bl := make([]int64, n), make([]int32, n), make([]float64, n), make([]string, n), make([]bool, n)
	size, far := make([]int64, n), make([]int64, n)
	names := []string{"", "sda", "nvme0n1", "dm-0", "größe", strings.Repeat("x", 300)}
	now := int64(1_700_000_000_000_000_000)
	for i := range n {
		now += rng.Int64N(1_000_000)
		i64[i] = now
		far[i] = int64(rng.Uint64())
		i32[i] = int32(rng.Uint32())
		f64[i] = rng.NormFloat64()
		str[i] = names[rng.IntN(len(names))]
		bl[i] = rng.IntN(2) == 1
		size[i] = 512 << rng.IntN(10)
	}
	if n > 3 {
		far[0], far[1], i32[0], i32[1] = math.MinInt64, math.MaxInt64, math.MinInt32, math.MaxInt32
		f64[0], f64[1] = math.Inf(1), math.Copysign(0, -1)
	}
	unique := make([]string, n)
	for i := range unique {
		unique[i] = fmt.Sprintf("/data/%d", rng.Uint64())
	}
	return []Column{
		{Name: "time_ns", Data: i64},
		{Name: "far", Data: far},
		{Name: "pid", Data: i32},
		{Name: "ratio", Data: f64},
		{Name: "device", Data: str},
		{Name: "sync", Data: bl},
		{Name: "size_bytes", Data: size},
		{Name: "file", Data: unique},
		{Name: "time_null", Data: i64, Valid: valid()},
		{Name: "pid_null", Data: i32, Valid: valid()},
		{Name: "ratio_null", Data: f64, Valid: valid()},
		{Name: "device_null", Data: str, Valid: valid()},
		{Name: "sync_null", Data: bl, Valid: valid()},
		{Name: "file_null", Data: unique, Valid: valid()},
		{Name: "none", Data: str, Valid: make([]bool, n)},
		{Name: "none_ns", Data: i64, Valid: make([]bool, n)},
		{Name: "none_id", Data: i32, Valid: make([]bool, n)},
	}
}

func write(t testing.TB, path string, groups ...[]Column) Part {
	t.Helper()
	w, err := Create(path, Fields(groups[0]), map[string]string{"iopathy.table": "test"})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		if err := w.Write(g); err != nil {
			t.Fatal(err)
		}
	}
	p, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// readAll gives all rows as one set of columns; the values under nulls are
// zeroed, since they mean nothing.
func readAll(r *Reader) ([]Column, error) {
	var all []Column
	for {
		cols, n, err := r.Next()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		if n < 1 || n > BatchRows {
			return all, fmt.Errorf("batch of %d rows", n)
		}
		all = concat(all, cols, n)
	}
}

func concat(all, cols []Column, n int) []Column {
	if all == nil {
		all = make([]Column, len(cols))
	}
	for i, c := range cols {
		a := &all[i]
		a.Name = c.Name
		v := c.Valid
		if v == nil {
			v = slices.Repeat([]bool{true}, n)
		}
		a.Valid = append(a.Valid, v...)
		switch d := c.Data.(type) {
		case []int64:
			a.Data = appendValid(a.Data, d, v)
		case []int32:
			a.Data = appendValid(a.Data, d, v)
		case []float64:
			a.Data = appendValid(a.Data, d, v)
		case []string:
			a.Data = appendValid(a.Data, d, v)
		case []bool:
			a.Data = appendValid(a.Data, d, v)
		}
	}
	return all
}

func appendValid[T any](to any, from []T, valid []bool) []T {
	out, _ := to.([]T)
	for i, v := range from {
		if !valid[i] {
			v = *new(T)
		}
		out = append(out, v)
	}
	return out
}

func TestRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		name   string
		groups []int
		share  int
	}{
		{"one row", []int{1}, 0},
		{"one null", []int{1}, 100},
		{"small", []int{7, 1, 300}, 30},
		{"over a batch", []int{BatchRows + 1, BatchRows, 3}, 10},
		{"over a page and a dictionary", []int{150_000}, 5},
		{"nearly all null", []int{20_000, 20_000}, 99},
	} {
		t.Run(c.name, func(t *testing.T) {
			var groups [][]Column
			var want []Column
			rows := 0
			for _, n := range c.groups {
				g := mixed(rng, n, c.share)
				groups = append(groups, g)
				want = concat(want, g, n)
				rows += n
			}
			path := filepath.Join(t.TempDir(), "sub", "a.parquet")
			p := write(t, path, groups...)
			if p.Rows != int64(rows) || p.Path != path {
				t.Errorf("part says %d rows at %s", p.Rows, p.Path)
			}
			if faults, err := VerifyPart("", p); len(faults) > 0 || err != nil {
				t.Error(faults, err)
			}
			r, err := Open(path, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			got, err := readAll(r)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(want, got) { // cmp takes minutes where all is equal
				t.Errorf("rows differ (-want +got):\n%.2000s", cmp.Diff(want, got))
			}
			if r.Meta()[SchemaKey] != Schema || r.Meta()["iopathy.table"] != "test" {
				t.Errorf("metadata %v", r.Meta())
			}
		})
	}
}

func TestWant(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.parquet")
	write(t, path, mixed(rand.New(rand.NewPCG(3, 4)), 100, 10), mixed(rand.New(rand.NewPCG(5, 6)), 50, 10))
	r, err := Open(path, []string{"device", "absent", "time_ns"})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cols, n, err := r.Next()
	if err != nil || n != 100 || len(cols) != 2 || cols[0].Name != "device" || cols[1].Name != "time_ns" {
		t.Fatalf("got %d rows of %v, %v", n, cols, err)
	}
	r.Select([]int{1})
	got, err := readAll(r)
	if err != nil || len(got[1].Data.([]int64)) != 50 {
		t.Errorf("selected %d rows, %v; want 50", len(got[1].Data.([]int64)), err)
	}
	r.Select([]int{1, 0})
	if got, err = readAll(r); err != nil || len(got[1].Data.([]int64)) != 150 {
		t.Errorf("selected again: %v", err)
	}
	r.Select([]int{2})
	if _, _, err := r.Next(); err == nil || err == io.EOF {
		t.Errorf("row group 2 of 2: error %v", err)
	}
	none, err := Open(path, []string{"absent"})
	if err != nil {
		t.Fatal(err)
	}
	defer none.Close()
	if cols, n, err := none.Next(); err != nil || n != 100 || len(cols) != 0 {
		t.Errorf("no columns: %d rows of %v, %v", n, cols, err)
	}
}

func TestGroupBounds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.parquet")
	cols := []Column{
		{Name: "i", Data: []int64{5, -3, 9}, Valid: []bool{true, true, false}},
		{Name: "j", Data: []int32{7, 7, 7}},
		{Name: "f", Data: []float64{0, 1, 2}},
		{Name: "nan", Data: []float64{0, math.NaN(), 2}},
		{Name: "s", Data: []string{"b", "a", "Z"}},
		{Name: "long", Data: []string{"a", strings.Repeat("z", maxStat+1), "b"}},
		{Name: "none", Data: []string{"a", "b", "c"}, Valid: make([]bool, 3)},
		{Name: "b", Data: []bool{true, true, true}},
		{Name: "raw", Data: []string{"ok", "a\xffb", "ok"}},
	}
	write(t, path, cols)
	r, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	want := []Group{{
		Rows:  3,
		Min:   map[string]any{"i": int64(-3), "j": int32(7), "f": math.Copysign(0, -1), "s": "Z", "long": "a", "b": true, "raw": "a\uFFFDb"},
		Max:   map[string]any{"i": int64(5), "j": int32(7), "f": 2.0, "s": "b", "b": true, "raw": "ok"},
		Nulls: map[string]int64{"i": 1, "j": 0, "f": 0, "nan": 0, "s": 0, "long": 0, "none": 3, "b": 0, "raw": 0},
	}}
	if d := cmp.Diff(want, r.RowGroups()); d != "" {
		t.Errorf("bounds (-want +got):\n%s", d)
	}
	got, err := readAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if s := got[8].Data.([]string)[1]; s != "a\uFFFDb" {
		t.Errorf("bytes that are no UTF-8 came back as %q", s)
	}
}

func TestDeterminism(t *testing.T) {
	var files [3][]byte
	for i := range files {
		rng := rand.New(rand.NewPCG(7, 8))
		path := filepath.Join(t.TempDir(), fmt.Sprint(i), "a.parquet")
		write(t, path, mixed(rng, 40_000, 10), mixed(rng, 40_000, 0))
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[i] = b
	}
	if !bytes.Equal(files[0], files[1]) || !bytes.Equal(files[0], files[2]) {
		t.Error("the same rows gave different bytes")
	}
}

func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	if _, err := Create(filepath.Join(dir, "a"), []Field{{Name: "pid", Type: Int32, Encoding: Delta}}, nil); err == nil {
		t.Error("delta for int32 was taken")
	}
	if _, err := Create(filepath.Join(dir, "a"), []Field{{Name: "x"}, {Name: "x"}}, nil); err == nil {
		t.Error("a name that stands twice was taken")
	}
	if _, err := Create(filepath.Join(dir, "a"), nil, nil); err == nil {
		t.Error("a file without columns was taken")
	}
	fields := []Field{{Name: "a", Type: Int64}, {Name: "b", Type: String, Nullable: true}}
	ok := []Column{{Name: "a", Data: []int64{1}}, {Name: "b", Data: []string{"x"}}}
	for name, cols := range map[string][]Column{
		"a column is missing": ok[:1],
		"names swapped":       {ok[1], ok[0]},
		"another type":        {{Name: "a", Data: []int32{1}}, ok[1]},
		"no type at all":      {{Name: "a", Data: 1}, ok[1]},
		"other lengths":       {ok[0], {Name: "b", Data: []string{"x", "y"}}},
		"validity too short":  {ok[0], {Name: "b", Data: []string{"x"}, Valid: []bool{}}},
		"null in required":    {{Name: "a", Data: []int64{1}, Valid: []bool{false}}, ok[1]},
	} {
		w, err := Create(filepath.Join(dir, "b"), fields, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(cols); err == nil {
			t.Errorf("%s: no error", name)
		}
		if err := w.Write(ok); err != nil {
			t.Errorf("%s: the writer is spoilt: %v", name, err)
		}
		w.Abort()
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 0 {
		t.Errorf("%v left behind, %v", left, err)
	}
}
