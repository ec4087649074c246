package lake

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/compress"
	"github.com/apache/arrow/go/v17/parquet/file"
	"github.com/apache/arrow/go/v17/parquet/metadata"
	"github.com/apache/arrow/go/v17/parquet/schema"
	gocmp "github.com/google/go-cmp/cmp"
)

// byArrow reads a file with the column readers of arrow v17, a row group at a
// time: in one piece, since its decoder of nullable deltas forgets between two.
func byArrow(t testing.TB, b []byte) (groups [][]Column) {
	t.Helper()
	pf, err := file.NewParquetReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	for g := range pf.NumRowGroups() {
		var cols []Column
		for i := range pf.MetaData().Schema.NumColumns() {
			chunk, err := pf.RowGroup(g).Column(i)
			if err != nil {
				t.Fatal(err)
			}
			c := Column{Name: pf.MetaData().Schema.Column(i).Name()}
			n := int(pf.RowGroup(g).NumRows())
			levels := slices.Repeat([]int16{1}, n)
			var got int
			switch chunk := chunk.(type) {
			case *file.Int64ColumnChunkReader:
				v := make([]int64, n)
				_, got, err = chunk.ReadBatch(int64(n), v, levels, nil)
				c.Data = v
			case *file.Int32ColumnChunkReader:
				v := make([]int32, n)
				_, got, err = chunk.ReadBatch(int64(n), v, levels, nil)
				c.Data = v
			case *file.Float64ColumnChunkReader:
				v := make([]float64, n)
				_, got, err = chunk.ReadBatch(int64(n), v, levels, nil)
				c.Data = v
			case *file.BooleanColumnChunkReader:
				v := make([]bool, n)
				_, got, err = chunk.ReadBatch(int64(n), v, levels, nil)
				c.Data = v
			case *file.ByteArrayColumnChunkReader:
				v, own := make([]parquet.ByteArray, n), make([]string, n)
				_, got, err = chunk.ReadBatch(int64(n), v, levels, nil)
				for i, s := range v {
					own[i] = string(s)
				}
				c.Data = own
			}
			if err == nil {
				err = chunk.Err()
			}
			if err != nil {
				t.Fatalf("arrow: column %q: %v", c.Name, err)
			}
			c.Valid = make([]bool, n)
			for i, l := range levels {
				c.Valid[i] = l != 0
			}
			switch d := c.Data.(type) {
			case []int64:
				spread(d, c.Valid, got)
			case []int32:
				spread(d, c.Valid, got)
			case []float64:
				spread(d, c.Valid, got)
			case []bool:
				spread(d, c.Valid, got)
			case []string:
				spread(d, c.Valid, got)
			}
			cols = append(cols, c)
		}
		groups = append(groups, cols)
	}
	return groups
}

// byUs reads a file with our Reader, a row group at a time.
func byUs(t testing.TB, b []byte) (groups [][]Column) {
	t.Helper()
	r, err := newReader("memory", bytes.NewReader(b), int64(len(b)), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for g := range r.RowGroups() {
		r.Select([]int{g})
		cols, err := readAll(r)
		if err != nil {
			t.Fatal(err)
		}
		groups = append(groups, cols)
	}
	return groups
}

func agree(t testing.TB, what string, b []byte) {
	t.Helper()
	want, got := byArrow(t, b), byUs(t, b)
	if !reflect.DeepEqual(want, got) {
		t.Fatalf("%s: arrow and we differ (-arrow +us):\n%.2000s", what, gocmp.Diff(want, got))
	}
}

// TestAgainstArrow compares with arrow v17's own decoders: pages of our packer,
// and pages of arrow's writer, which cuts and packs them otherwise.
func TestAgainstArrow(t *testing.T) {
	if testing.Short() {
		t.Skip("pages are packed and read one by one: nothing for the race detector")
	}
	rng := rand.New(rand.NewPCG(31, 32))
	for _, n := range []int{1, 7, 33, 129, 1000, BatchRows + 1, 20_000} {
		for _, nulls := range []int{-1, 0, 3, 60, 99} {
			var cols []Column
			for _, kind := range []string{"constant", "extremes", "bits", "runs", "many", "strings", "names", "floats", "bools"} {
				c := typical(rng, kind, n, nulls)
				if s, ok := c.Data.([]string); ok {
					for i := range s {
						s[i] = clean(s[i])
					}
				}
				cols = append(cols, c)
			}
			cols = append(cols, offsets(rng, n, cols[0].Valid))
			for _, enc := range []Encoding{Plain, Delta, Dictionary} {
				what := fmt.Sprintf("%d rows, %d %% null, encoding %d", n, nulls, enc)
				agree(t, "ours: "+what, packed(t, fitting(cols, enc), cols, n))
				if n <= 1000 || enc == Delta { // arrow's dictionaries are slow
					agree(t, "arrow's: "+what, arrowFile(t, fitting(cols, enc), cols, n))
				}
			}
		}
	}
}

// offsets is a column whose pages are compressed: near each other in half of
// the row groups, scattered in the others.
func offsets(rng *rand.Rand, n int, valid []bool) Column {
	v, span := make([]int64, n), int64(1)<<(12+20*rng.IntN(2))
	for i := range v {
		v[i] = rng.Int64N(span) * 512
	}
	return Column{Name: "offset_bytes", Data: v, Valid: valid}
}

// TestSqueezed looks at what is stored of offsets: compressed pages, of deltas
// where these are small.
func TestSqueezed(t *testing.T) {
	rng := rand.New(rand.NewPCG(37, 38))
	for span, want := range map[int64]string{1 << 8: "[DELTA_BINARY_PACKED RLE]", 1 << 36: "[DELTA_BINARY_PACKED RLE PLAIN]"} {
		v := make([]int64, 20_000)
		for i := range v {
			v[i] = rng.Int64N(span) * 512
		}
		cols := []Column{{Name: "offset_bytes", Data: v}}
		b := packed(t, Fields(cols), cols, len(v))
		pf, err := file.NewParquetReader(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		m, err := pf.MetaData().RowGroup(0).ColumnChunk(0)
		if err != nil {
			t.Fatal(err)
		}
		if m.Compression() != compress.Codecs.Zstd || fmt.Sprint(m.Encodings()) != want {
			t.Errorf("offsets below %d are stored by %v, %v; want zstd, %s", span*512, m.Compression(), m.Encodings(), want)
		}
		if got := byUs(t, b)[0][0].Data; !reflect.DeepEqual(got, v) {
			t.Errorf("offsets below %d differ", span*512)
		}
		if m.TotalCompressedSize() >= m.TotalUncompressedSize() {
			t.Errorf("offsets below %d take %d bytes of %d", span*512, m.TotalCompressedSize(), m.TotalUncompressedSize())
		}
	}
}

// fitting describes columns with an encoding where it fits.
func fitting(cols []Column, enc Encoding) []Field {
	fields := Fields(cols)
	for i := range fields {
		fields[i].Encoding = enc
		if _, err := fields[i].encoding(); err != nil {
			fields[i].Encoding = Plain
		}
	}
	return fields
}

// packed is a file of one row group.
func packed(t testing.TB, fields []Field, cols []Column, n int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := newWriter(fields, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.begin(&b)
	err = errors.Join(w.own.Pack(w.fields, cols), w.group(&w.own), w.footer())
	if _, end := w.sink.finish(); err != nil || end != nil {
		t.Fatal(err, end)
	}
	return b.Bytes()
}

// arrowFile is the same by arrow's writer, in pages of about 2 KiB.
func arrowFile(t testing.TB, fields []Field, cols []Column, n int) []byte {
	t.Helper()
	props := []parquet.WriterProperty{
		parquet.WithCompression(compress.Codecs.Uncompressed), parquet.WithDataPageSize(2 << 10),
		parquet.WithDictionaryDefault(false), parquet.WithAllocator(memory.DefaultAllocator),
	}
	nodes := make(schema.FieldList, len(fields))
	for i, f := range fields {
		var err error
		if nodes[i], err = node(f); err != nil {
			t.Fatal(err)
		}
		switch f.Encoding {
		case Delta:
			// v17's encoder keeps the last page's length when a page has nulls alone,
			// and then cuts that length from whatever buffer its pool gives
			if f.Nullable {
				continue
			}
			props = append(props, parquet.WithEncodingFor(f.Name, parquet.Encodings.DeltaBinaryPacked))
		case Dictionary:
			props = append(props, parquet.WithDictionaryFor(f.Name, true))
		}
	}
	root, err := schema.NewGroupNode("schema", parquet.Repetitions.Required, nodes, -1)
	if err != nil {
		t.Fatal(err)
	}
	kv := metadata.NewKeyValueMetadata()
	if err := kv.Append(SchemaKey, Schema); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := file.NewParquetWriter(&b, root, file.WithWriterProps(parquet.NewWriterProperties(props...)), file.WithWriteMetadata(kv))
	group := w.AppendRowGroup()
	for i, c := range cols {
		chunk, err := group.NextColumn()
		if err != nil {
			t.Fatal(err)
		}
		var levels []int16
		if fields[i].Nullable {
			levels = make([]int16, n)
			for k, v := range c.Valid {
				levels[k] = int16(bit(v))
			}
		}
		switch d := c.Data.(type) {
		case []int64:
			_, err = chunk.(*file.Int64ColumnChunkWriter).WriteBatch(dense(d, c.Valid), levels, nil)
		case []int32:
			_, err = chunk.(*file.Int32ColumnChunkWriter).WriteBatch(dense(d, c.Valid), levels, nil)
		case []float64:
			_, err = chunk.(*file.Float64ColumnChunkWriter).WriteBatch(dense(d, c.Valid), levels, nil)
		case []bool:
			_, err = chunk.(*file.BooleanColumnChunkWriter).WriteBatch(dense(d, c.Valid), levels, nil)
		case []string:
			var v []parquet.ByteArray
			for _, s := range dense(d, c.Valid) {
				v = append(v, parquet.ByteArray(s))
			}
			_, err = chunk.(*file.ByteArrayColumnChunkWriter).WriteBatch(v, levels, nil)
		}
		if err = errors.Join(err, chunk.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(group.Close(), w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func dense[T any](v []T, valid []bool) []T {
	var scratch []T
	return slices.Clone(compact(&scratch, v, valid))
}

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
