package lake

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/file"
)

// A Reader reads a file that a Writer wrote. It is not safe for concurrent
// use. A damaged file gives an error: what arrow takes on trust is checked
// before it sees it, its panics are recovered, and nothing of it is used that
// starts a goroutine: a panic in one could not be recovered and would end the
// process. (Arrow v17's record reader, told to be serial, still opens its
// columns in goroutines.) It reads the footer; pages are found by unpack.go,
// and what stands in them by decode.go, at a fraction of the cost.
type Reader struct {
	path   string
	src    source
	size   int64
	pf     *file.Reader
	cols   []leaf // of want, in the order of want
	meta   map[string]string
	base   int   // number of the first row group, of a part in a bundle
	count  int   // of row groups
	groups []int // still to be read, from base on
	left   int64 // rows of the open group
	out    []Column
	err    error
	lent   *sync.Pool // of *[]*leafMemory, where the memory of the columns goes; may be nil

	changed time.Time // the file
}

// source is what a Reader reads from.
type source interface {
	io.ReaderAt
	io.Seeker
}

// leaf is a column of the file that is read.
type leaf struct {
	index    int
	name     string
	typ      Type
	nullable bool
	*leafMemory
}

// leafMemory is what a column that is read takes; another may use it later.
type leafMemory struct {
	chunk pageReader // of the open row group
	batch
}

// Group is a row group: its rows, and by column the smallest and largest
// value where the file tells, as int64, int32, float64, string or bool, and
// the number of nulls.
type Group struct {
	Rows     int64
	Min, Max map[string]any
	Nulls    map[string]int64
}

// Open is Opener.Open of the file system.
func Open(path string, want []string) (*Reader, error) { return Opener(nil).Open(path, want) }

func newReader(path string, src source, size int64, want []string, known *footer) (*Reader, error) {
	r := &Reader{path: path, src: src, size: size}
	options := []file.ReadOption{file.WithReadProps(parquet.NewReaderProperties(&boundedAlloc{}))}
	if known != nil {
		options = append(options, file.WithMetadata(known.meta))
	} else if err := checkFooter(src, size); err != nil {
		return nil, err
	}
	err := guard(func() (err error) {
		if r.pf, err = file.NewParquetReader(src, options...); err != nil {
			return err
		}
		return r.checkMeta(want)
	})
	if err != nil {
		return nil, err
	}
	for g := range r.count {
		r.groups = append(r.groups, g)
	}
	for i := range r.cols {
		r.cols[i].leafMemory = new(leafMemory)
	}
	return r, nil
}

// borrow takes the memory of the columns from a pool, and gives it back when
// the Reader is closed: the columns of the last batch hold until then.
func (r *Reader) borrow(from *sync.Pool) {
	r.lent = from
	if lent, ok := from.Get().(*[]*leafMemory); ok {
		spare := *lent
		for i := range min(len(spare), len(r.cols)) {
			r.cols[i].leafMemory = spare[i]
		}
	}
}

func (r *Reader) giveBack() {
	if r.lent == nil {
		return
	}
	spare, none := make([]*leafMemory, len(r.cols)), new(leafMemory)
	for i := range r.cols {
		spare[i], r.cols[i].leafMemory = r.cols[i].leafMemory, none
	}
	r.lent.Put(&spare)
	r.lent, r.out = nil, nil
}

// Meta gives the file's metadata.
func (r *Reader) Meta() map[string]string { return r.meta }

// Fields describes the columns that are read, in their order.
func (r *Reader) Fields() []Field {
	fields := make([]Field, len(r.cols))
	for i, c := range r.cols {
		fields[i] = Field{Name: c.name, Type: c.typ, Nullable: c.nullable}
	}
	return fields
}

// RowGroups gives the row groups of the file with the bounds of all its
// columns.
func (r *Reader) RowGroups() []Group {
	meta := r.pf.MetaData()
	groups := make([]Group, r.count)
	for g, group := range meta.RowGroups[r.base : r.base+r.count] {
		out := Group{Rows: group.NumRows, Min: make(map[string]any), Max: make(map[string]any), Nulls: make(map[string]int64)}
		for i, c := range group.Columns {
			l, err := leafOf(meta.Schema.Column(i), i)
			if err != nil || c.MetaData.Statistics == nil {
				continue
			}
			if n := c.MetaData.Statistics.NullCount; n != nil {
				out.Nulls[l.name] = *n
			}
			if v := l.typ.decode(c.MetaData.Statistics.MinValue); v != nil {
				out.Min[l.name] = v
			}
			if v := l.typ.decode(c.MetaData.Statistics.MaxValue); v != nil {
				out.Max[l.name] = v
			}
		}
		groups[g] = out
	}
	return groups
}

// Select says which row groups Next reads, by number and in this order. It
// starts anew, also after the end.
func (r *Reader) Select(groups []int) {
	r.release()
	r.left = 0
	r.groups = slices.Clone(groups)
	if r.err == io.EOF {
		r.err = nil
	}
}

// Next gives the next rows, at most BatchRows of one row group, and io.EOF
// after the last. The columns hold until the next call; their strings stay.
func (r *Reader) Next() ([]Column, int, error) {
	if r.err != nil {
		return nil, 0, r.err
	}
	n, err := 0, guard(func() error { return r.advance() })
	if err == nil {
		n = int(min(r.left, BatchRows))
		err = guard(func() error { return r.batch(n) })
	}
	if err != nil {
		if err != io.EOF {
			err = fmt.Errorf("lake: read %s: %w", r.path, err)
		}
		r.err = err
		r.release()
		return nil, 0, err
	}
	r.left -= int64(n)
	return r.out, n, nil
}

// advance opens the next row group that has rows.
func (r *Reader) advance() error {
	for r.left == 0 {
		r.release()
		if len(r.groups) == 0 {
			return io.EOF
		}
		g := r.groups[0]
		r.groups = r.groups[1:]
		if g < 0 || g >= r.count {
			return fmt.Errorf("row group %d of %d", g, r.count)
		}
		g += r.base
		if r.left = r.pf.MetaData().RowGroups[g].NumRows; r.left == 0 {
			continue
		}
		for i := range r.cols {
			c := &r.cols[i]
			c.chunk.open(r.src, r.chunk(g, c.index))
		}
	}
	return nil
}

func (r *Reader) batch(n int) error {
	r.out = r.out[:0]
	for i := range r.cols {
		col, err := r.cols[i].read(n)
		if err != nil {
			return fmt.Errorf("column %q: %w", r.cols[i].name, err)
		}
		r.out = append(r.out, col)
	}
	return nil
}

func (r *Reader) release() {
	for i := range r.cols {
		r.cols[i].chunk.close()
	}
}

// Close closes the file. A second Close does nothing.
func (r *Reader) Close() error {
	r.release()
	r.giveBack()
	if r.err == nil || r.err == io.EOF {
		r.err = os.ErrClosed
	}
	c, ok := r.src.(io.Closer)
	if !ok || c == nil {
		return nil
	}
	if err := c.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("lake: close %s: %w", r.path, err)
	}
	return nil
}
