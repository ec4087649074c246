package lake

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/file"
)

// A Text gives the rows of a Parquet file that others wrote as CSV: a header,
// then a line per row. Times are ISO 8601, what is null is an empty cell, and
// characters that a line can't hold become blanks. Columns are named by their
// path (a.b); lists and maps are left out, since a row has no single value of
// theirs. It is not safe for concurrent use.
//
// Such a file is hostile input. Of arrow only the reading of the footer is used,
// after its own check and with its panics recovered; pages are read here, one of
// each column at a time, within maxForeignPage bytes unpacked, whatever they claim.
type Text struct {
	path   string
	src    io.ReaderAt
	size   int64
	close  func() error
	pf     *file.Reader
	cols   []*foreignColumn
	group  int
	left   int64 // rows of the open group
	out    bytes.Buffer
	failed error
}

// The bounds of a foreign file.
const (
	maxForeignPage    = 32 << 20 // bytes of a page, packed or not
	maxForeignHeld    = 256 << 20
	maxForeignColumns = 4096
	foreignBatch      = 512  // rows made into text at a time
	foreignExpand     = 4096 // rows for each byte of the file
)

// OpenText opens a Parquet file for the columns of want that it has, or for all
// if want is nil.
func OpenText(path string, want []string) (*Text, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("lake: %w", err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	var t *Text
	if err == nil {
		t, err = newText(path, f, info.Size(), want)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lake: open %s: %w", path, err)
	}
	t.close = f.Close
	return t, nil
}

// OpenTextAt is OpenText of a file that lies elsewhere; name is what errors call
// it.
func OpenTextAt(name string, src io.ReaderAt, size int64, want []string) (*Text, error) {
	t, err := newText(name, io.NewSectionReader(src, 0, size), size, want)
	if err != nil {
		return nil, fmt.Errorf("lake: open %s: %w", name, err)
	}
	t.close = func() error { return nil }
	return t, nil
}

func newText(path string, src source, size int64, want []string) (*Text, error) {
	if err := checkFooter(src, size); err != nil {
		return nil, err
	}
	t := &Text{path: path, src: src, size: size, group: -1}
	err := guard(func() (err error) {
		props := parquet.NewReaderProperties(&boundedAlloc{})
		if t.pf, err = file.NewParquetReader(src, file.WithReadProps(props)); err != nil {
			return err
		}
		return t.check(want)
	})
	if err != nil {
		return nil, err
	}
	for i, c := range t.cols {
		if i > 0 {
			t.out.WriteByte(',')
		}
		quoteCell(&t.out, []byte(c.name))
	}
	t.out.WriteByte('\n')
	return t, nil
}

// check looks at what the footer says and picks the columns.
func (t *Text) check(want []string) error {
	meta := t.pf.MetaData()
	n := meta.Schema.NumColumns()
	if n > maxForeignColumns {
		return fmt.Errorf("%d columns", n)
	}
	for i := range n {
		c := meta.Schema.Column(i)
		name := c.Path()
		if c.MaxRepetitionLevel() != 0 || want != nil && !slices.Contains(want, name) {
			continue
		}
		t.cols = append(t.cols, newForeignColumn(t, i, name, c))
	}
	if len(t.cols) == 0 {
		return errors.New("it has none of the columns asked for")
	}
	var rows int64
	for g, group := range meta.RowGroups {
		if group == nil || len(group.Columns) != n || group.NumRows < 0 || group.NumRows > foreignExpand*t.size-rows {
			return fmt.Errorf("row group %d: more columns or rows than the file can hold", g)
		}
		rows += group.NumRows
		for _, c := range t.cols {
			k := group.Columns[c.index]
			if k == nil || k.MetaData == nil || k.CryptoMetadata != nil || parquet.Type(k.MetaData.Type) != c.physical || k.FilePath != nil {
				return fmt.Errorf("row group %d, column %q: encrypted, elsewhere or of another type", g, c.name)
			}
			if group.NumRows == 0 {
				continue // of it nothing is read, wherever it says that it lies
			}
			if from, end := foreignSpan(k.MetaData.DataPageOffset, k.MetaData.DictionaryPageOffset, k.MetaData.TotalCompressedSize); from < 4 || end < from || end > t.size {
				return fmt.Errorf("row group %d, column %q: bytes %d to %d in a file of %d", g, c.name, from, end, t.size)
			}
		}
	}
	return nil
}

// foreignSpan is where a column chunk lies.
func foreignSpan(data int64, dict *int64, size int64) (from, end int64) {
	from = data
	if dict != nil && *dict > 0 && *dict < from {
		from = *dict
	}
	if size < 0 || from > math.MaxInt64-size {
		return from, -1
	}
	return from, from + size
}

// Columns gives the names of the columns that are read.
func (t *Text) Columns() []string {
	var names []string
	for _, c := range t.cols {
		names = append(names, c.name)
	}
	return names
}

// Read gives the next bytes of the text.
func (t *Text) Read(p []byte) (int, error) {
	for t.out.Len() == 0 {
		if t.failed != nil {
			return 0, t.failed
		}
		t.out.Reset()
		if err := guard(t.rows); err != nil {
			if t.failed = err; err != io.EOF {
				t.failed = fmt.Errorf("lake: read %s: %w", t.path, err)
			}
		}
	}
	return t.out.Read(p)
}

// Close closes the file.
func (t *Text) Close() error {
	if t.close == nil {
		return nil
	}
	return t.close()
}

// rows makes the next rows into text.
func (t *Text) rows() error {
	for t.left == 0 {
		if t.group++; t.group >= t.pf.NumRowGroups() {
			return io.EOF
		}
		group := t.pf.MetaData().RowGroups[t.group]
		t.left = group.NumRows
		for _, c := range t.cols {
			m := group.Columns[c.index].MetaData
			from, end := foreignSpan(m.DataPageOffset, m.DictionaryPageOffset, m.TotalCompressedSize)
			c.open(from, end, int32(m.Codec), group.NumRows)
		}
	}
	for range min(t.left, foreignBatch) {
		row := t.out.Len()
		for i, c := range t.cols {
			if i > 0 {
				t.out.WriteByte(',')
			}
			if err := c.cell(&t.out); err != nil {
				t.out.Truncate(row)
				return fmt.Errorf("row group %d, column %q: %w", t.group, c.name, err)
			}
		}
		t.out.WriteByte('\n')
		t.left--
	}
	held := 0
	for _, c := range t.cols {
		held += c.held()
	}
	if held > maxForeignHeld {
		return fmt.Errorf("the pages of %d columns take %d bytes at once", len(t.cols), held)
	}
	return nil
}

// quoteCell writes a cell, in quotation marks where it must be.
func quoteCell(w *bytes.Buffer, b []byte) {
	plain := true
	for _, c := range b {
		if c < ' ' || c == ',' || c == '"' || c == 0x7f {
			plain = false
			break
		}
	}
	if plain && (len(b) == 0 || b[0] != ' ' && b[len(b)-1] != ' ') {
		w.Write(b)
		return
	}
	w.WriteByte('"')
	for _, c := range b {
		switch {
		case c == '"':
			w.WriteString(`""`)
		case c < ' ' || c == 0x7f:
			w.WriteByte(' ')
		default:
			w.WriteByte(c)
		}
	}
	w.WriteByte('"')
}
