package lake

import (
	"bytes"
	"errors"
	"fmt"
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
