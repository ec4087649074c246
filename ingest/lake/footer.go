package lake

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/metadata"
	"github.com/apache/arrow/go/v17/parquet/schema"
)

// footer is what the end of a file says, as read once; of a file of another
// size or age it says nothing.
type footer struct {
	meta    *metadata.FileMetaData
	size    int64
	changed time.Time
}

// footer is what the file's end says, and how many column chunks it is of.
func (r *Reader) footer() (*footer, int) {
	meta := r.pf.MetaData()
	return &footer{meta, r.size, r.changed}, len(meta.RowGroups) * meta.Schema.NumColumns()
}

// checkMeta looks at what the footer says and finds the columns of want.
func (r *Reader) checkMeta(want []string) error {
	meta := r.pf.MetaData()
	r.meta = make(map[string]string)
	for _, kv := range meta.KeyValueMetadata() {
		r.meta[kv.GetKey()] = kv.GetValue()
	}
	if v, ok := r.meta[SchemaKey]; !ok || v != Schema {
		return fmt.Errorf("%s is %q, this version reads %q", SchemaKey, v, Schema)
	}
	r.count = r.pf.NumRowGroups()
	if InBundle(filepath.ToSlash(r.path)) {
		var err error
		if want, err = r.openMember(filepath.Base(r.path), want); err != nil {
			return err
		}
	}
	n := meta.Schema.NumColumns()
	if n == 0 || n != meta.Schema.Root().NumFields() {
		return errors.New("its columns are nested, a lake's are flat")
	}
	at := make(map[string]leaf, n)
	for i := range n {
		l, err := leafOf(meta.Schema.Column(i), i)
		if err != nil {
			return err
		}
		if _, twice := at[l.name]; twice {
			return fmt.Errorf("column %q stands twice", l.name)
		}
		at[l.name] = l
		if want == nil {
			r.cols = append(r.cols, l)
		}
	}
	for _, name := range want {
		if l, ok := at[name]; ok {
			r.cols = append(r.cols, l)
		}
	}
	var rows int64
	for g, group := range meta.RowGroups {
		if len(group.Columns) != n || group.NumRows < 0 || group.NumRows > maxGroupRows {
			return fmt.Errorf("row group %d has %d columns and %d rows", g, len(group.Columns), group.NumRows)
		}
		rows += group.NumRows
		for i := range n {
			if err := r.checkChunk(g, i, meta.Schema.Column(i)); err != nil {
				return fmt.Errorf("row group %d, column %q: %w", g, meta.Schema.Column(i).Name(), err)
			}
		}
	}
	if rows != meta.NumRows {
		return fmt.Errorf("row groups of %d rows in a file of %d", rows, meta.NumRows)
	}
	return nil
}

func leafOf(c *schema.Column, i int) (leaf, error) {
	l := leaf{index: i, name: c.Name(), nullable: c.MaxDefinitionLevel() == 1}
	if c.MaxRepetitionLevel() != 0 || c.MaxDefinitionLevel() > 1 || c.Path() != c.Name() {
		return l, fmt.Errorf("column %q is nested, a lake's are flat", c.Name())
	}
	_, text := c.LogicalType().(*schema.StringLogicalType)
	if !text {
		_, text = c.LogicalType().(schema.StringLogicalType)
	}
	plain := c.LogicalType() == nil || c.LogicalType().IsNone()
	switch t := c.PhysicalType(); {
	case t == parquet.Types.Int64 && plain:
		l.typ = Int64
	case t == parquet.Types.Int32 && plain:
		l.typ = Int32
	case t == parquet.Types.Double && plain:
		l.typ = Float64
	case t == parquet.Types.Boolean && plain:
		l.typ = Bool
	case t == parquet.Types.ByteArray && text:
		l.typ = String
	default:
		return l, fmt.Errorf("column %q has the type %v %v, which is none of a lake's", c.Name(), t, c.LogicalType())
	}
	return l, nil
}

// The codecs of a lake's column chunks.
const (
	codecNone = 0
	codecZstd = 6
)

// checkChunk looks at what the footer says of a column chunk.
func (r *Reader) checkChunk(g, i int, c *schema.Column) error {
	group := r.pf.MetaData().RowGroups[g]
	if group.Columns[i] == nil || group.Columns[i].MetaData == nil {
		return errors.New("nothing is known of it")
	}
	m := group.Columns[i].MetaData
	switch {
	case parquet.Type(m.Type) != c.PhysicalType():
		return fmt.Errorf("its type is %v, the schema's %v", m.Type, c.PhysicalType())
	case len(m.PathInSchema) != 1 || m.PathInSchema[0] != c.Name():
		return fmt.Errorf("its name is %q", m.PathInSchema)
	case m.Codec != codecNone && (m.Codec != codecZstd || parquet.Type(m.Type) != parquet.Types.Int64):
		return fmt.Errorf("it is compressed by %v, which a lake's are not", m.Codec)
	case m.NumValues != group.NumRows:
		return fmt.Errorf("%d values in %d rows", m.NumValues, group.NumRows)
	case group.Columns[i].CryptoMetadata != nil:
		return errors.New("it is encrypted")
	}
	if k := r.chunk(g, i); k.from < 4 || k.bytes < 0 || k.from > r.size || k.bytes > r.size-k.from {
		return fmt.Errorf("bytes %d to %d in a file of %d", k.from, k.from+k.bytes, r.size)
	}
	return nil
}

// chunk is where arrow will read: it starts at the dictionary, where one
// stands before the data.
func (r *Reader) chunk(g, i int) chunk {
	group := r.pf.MetaData().RowGroups[g]
	m := group.Columns[i].MetaData
	from := m.DataPageOffset
	if d := m.DictionaryPageOffset; d != nil && *d > 0 && *d < from {
		from = *d
	}
	return chunk{from: from, bytes: m.TotalCompressedSize, rows: group.NumRows,
		nullable: r.pf.MetaData().Schema.Column(i).MaxDefinitionLevel() > 0, squeezed: m.Codec == codecZstd}
}
