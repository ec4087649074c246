package lake

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/compress"
	"github.com/apache/arrow/go/v17/parquet/file"
	"github.com/apache/arrow/go/v17/parquet/metadata"
	"github.com/apache/arrow/go/v17/parquet/schema"
)

const (
	createdBy = "iopathy" // fixed: a file's bytes follow from its rows alone
	magic     = "PAR1"    // what a file begins and ends with
)

// A Writer writes one Parquet file. It is not safe for concurrent use. After
// an error it only remembers that error: call Abort.
type Writer struct {
	fields []Field
	file   *newFile
	sink   *sink
	meta   *metadata.FileMetaDataBuilder
	pager  file.PageWriter
	stats  [][]metadata.EncodedStatistics // by row group, column
	rows   int64
	own    Packed // that Write packs
	err    error
	done   bool
}

// Create begins a file at path, whose directory is made if it is missing.
// Nothing is seen under path until Close. meta goes into the file's metadata
// beside the schema version.
func Create(path string, fields []Field, meta map[string]string) (*Writer, error) {
	w, err := newWriter(fields, meta)
	if err != nil {
		return nil, err
	}
	if w.file, err = createFile(path); err != nil {
		return nil, err
	}
	w.begin(w.file)
	return w, nil
}

// newWriter is a Writer that has yet to begin.
func newWriter(fields []Field, meta map[string]string) (*Writer, error) {
	if len(fields) == 0 {
		return nil, errors.New("lake: a file without columns")
	}
	w := &Writer{fields: slices.Clone(fields)}
	nodes := make(schema.FieldList, len(fields))
	props := []parquet.WriterProperty{
		parquet.WithCreatedBy(createdBy),
		parquet.WithCompression(compress.Codecs.Uncompressed),
	}
	seen := make(map[string]bool, len(fields))
	for i, f := range fields {
		e, err := f.encoding()
		if err != nil {
			return nil, err
		}
		if f.Name == "" || seen[f.Name] {
			return nil, fmt.Errorf("lake: column name %q is empty or stands twice", f.Name)
		}
		seen[f.Name] = true
		if e == Delta { // for what a column chunk says of its encodings
			props = append(props, parquet.WithEncodingFor(f.Name, parquet.Encodings.DeltaBinaryPacked))
		}
		if f.squeezed(e) {
			props = append(props, parquet.WithCompressionFor(f.Name, compress.Codecs.Zstd))
		}
		if nodes[i], err = node(f); err != nil {
			return nil, fmt.Errorf("lake: column %q: %w", f.Name, err)
		}
	}
	root, err := schema.NewGroupNode("schema", parquet.Repetitions.Required, nodes, -1)
	if err != nil {
		return nil, fmt.Errorf("lake: schema: %w", err)
	}
	kv := metadata.NewKeyValueMetadata()
	all := maps.Clone(meta)
	if all == nil {
		all = make(map[string]string, 1)
	}
	all[SchemaKey] = Schema
	for _, k := range slices.Sorted(maps.Keys(all)) {
		if err := kv.Append(k, all[k]); err != nil {
			return nil, fmt.Errorf("lake: metadata: %w", err)
		}
	}
	err = guard(func() error {
		w.meta = metadata.NewFileMetadataBuilder(schema.NewSchema(root), parquet.NewWriterProperties(props...), kv)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("lake: %w", err)
	}
	return w, nil
}

// begin says where the file goes. A failure shows with the first row group:
// the sink remembers it.
func (w *Writer) begin(to io.Writer) {
	w.sink = newSink(to)
	w.sink.Write([]byte(magic))
}

func node(f Field) (schema.Node, error) {
	rep := parquet.Repetitions.Required
	if f.Nullable {
		rep = parquet.Repetitions.Optional
	}
	switch f.Type {
	case Int64:
		return schema.NewInt64Node(f.Name, rep, -1), nil
	case Int32:
		return schema.NewInt32Node(f.Name, rep, -1), nil
	case Float64:
		return schema.NewFloat64Node(f.Name, rep, -1), nil
	case Bool:
		return schema.NewBooleanNode(f.Name, rep, -1), nil
	}
	return schema.NewPrimitiveNodeLogical(f.Name, rep, schema.StringLogicalType{}, parquet.Types.ByteArray, -1, -1)
}

// Write adds the columns as one row group: the fields of Create, in their
// order, of equal length. No rows is no row group.
func (w *Writer) Write(cols []Column) error {
	if err := w.ready(); err != nil {
		return err
	}
	if err := w.own.Pack(w.fields, cols); err != nil {
		return fmt.Errorf("lake: write %s: %w", w.file.path, err)
	}
	return w.Append(&w.own)
}

// Append is Write for columns that were packed elsewhere, such as beside those of
// other row groups: with the fields of Create.
func (w *Writer) Append(g *Packed) error {
	if err := w.ready(); err != nil {
		return err
	}
	if !slices.Equal(w.fields, g.fields) {
		return fmt.Errorf("lake: write %s: a row group was packed with other fields", w.file.path)
	}
	if g.rows == 0 {
		return nil
	}
	w.err = guard(func() error { return w.group(g) })
	if w.sink.err != nil {
		w.err = w.sink.err // the cause of what arrow made of it
	}
	if w.err != nil {
		w.err = fmt.Errorf("lake: write %s: %w", w.file.path, w.err)
	}
	return w.err
}

func (w *Writer) ready() error {
	if w.err == nil && w.done {
		return errors.New("lake: write after the end")
	}
	return w.err
}

// group writes a row group: our pages in arrow's frame.
func (w *Writer) group(g *Packed) error {
	ordinal := int16(len(w.stats)) // for encrypted files alone
	group := w.meta.AppendRowGroup()
	group.SetNumRows(g.rows)
	stats := make([]metadata.EncodedStatistics, len(w.fields))
	var bytes int64
	for i := range w.fields {
		chunk := group.NextColumnChunk()
		err := w.page(chunk, ordinal, int16(i))
		if err != nil {
			return err
		}
		k, err := g.pack.put(w.pager, &g.cols[i])
		if err != nil {
			return fmt.Errorf("column %q: %w", w.fields[i].Name, err)
		}
		stats[i] = g.cols[i].stats
		chunk.SetStats(stats[i])
		bytes += k
	}
	w.stats = append(w.stats, stats)
	w.rows += int64(g.rows)
	return group.Finish(bytes, ordinal)
}

// page gets the pager ready for a column chunk. It takes pages as they are to
// be stored.
func (w *Writer) page(chunk *metadata.ColumnChunkMetaDataBuilder, group, column int16) (err error) {
	if w.pager == nil {
		w.pager, err = file.NewPageWriter(w.sink, compress.Codecs.Uncompressed, 0, chunk, group, column, memory.DefaultAllocator, false, nil, nil)
		return err
	}
	return w.pager.Reset(w.sink, compress.Codecs.Uncompressed, 0, chunk, group, column, nil, nil)
}

// Close writes the footer, syncs the file and gives it its name. The Part's
// Path is the path given to Create; the caller makes it relative.
func (w *Writer) Close() (Part, error) {
	if w.err != nil {
		return Part{}, w.err
	}
	if w.done {
		return Part{}, errors.New("lake: close after the end")
	}
	w.done = true
	err := guard(w.footer)
	if w.sink.err != nil {
		err = w.sink.err
	}
	var part Part
	if err == nil {
		part, err = w.sink.finish()
	}
	if err == nil {
		err = w.file.commit()
	} else {
		w.file.abort()
	}
	if err != nil {
		w.err = fmt.Errorf("lake: write %s: %w", w.file.path, err)
		return Part{}, w.err
	}
	part.Path, part.Rows = w.file.path, w.rows
	w.bounds(&part)
	return part, nil
}

// bounds tells of which devices and times the rows are.
func (w *Writer) bounds(p *Part) {
	at := slices.IndexFunc(w.fields, func(f Field) bool { return f.Type == Int64 && slices.Contains(timeColumns, f.Name) })
	device := slices.IndexFunc(w.fields, func(f Field) bool { return f.Type == String && f.Name == "device" })
	times, names := false, false
	for _, stats := range w.stats {
		if at >= 0 && stats[at].HasMin && stats[at].HasMax {
			lo, hi := Int64.decode(stats[at].Min).(int64), Int64.decode(stats[at].Max).(int64)
			if !times {
				p.FirstNS, p.LastNS, times = lo, hi, true
			}
			p.FirstNS, p.LastNS = min(p.FirstNS, lo), max(p.LastNS, hi)
		}
		if device >= 0 && stats[device].HasMin && stats[device].HasMax {
			lo, hi := string(stats[device].Min), string(stats[device].Max)
			if !names {
				p.FirstDevice, p.LastDevice, names = lo, hi, true
			}
			p.FirstDevice, p.LastDevice = min(p.FirstDevice, lo), max(p.LastDevice, hi)
		}
	}
}

// Abort leaves nothing of the file; after Close it does nothing.
func (w *Writer) Abort() {
	if !w.done || w.err != nil {
		w.done = true
		w.file.abort()
	}
}

// footer writes the file's metadata, their length and the magic.
func (w *Writer) footer() error {
	meta, err := w.meta.Finish()
	if err != nil {
		return fmt.Errorf("footer: %w", err)
	}
	n, err := meta.WriteTo(w.sink, nil)
	if err != nil {
		return fmt.Errorf("footer: %w", err)
	}
	_, err = w.sink.Write(append(binary.LittleEndian.AppendUint32(nil, uint32(n)), magic...))
	return err
}

// guard runs f and turns a panic of arrow into an error. It helps only
// against a panic in the calling goroutine: arrow must be used in ways that
// start none.
func guard(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			if e, ok := r.(error); ok {
				err = fmt.Errorf("parquet: %w", e)
			} else {
				err = fmt.Errorf("parquet: %v", r)
			}
		}
	}()
	return f()
}
