package lake

import (
	"fmt"
	"slices"
)

// A Packed is a row group that is packed and not yet in a file. To pack takes
// nearly all the time of writing and needs no file: several may be packed at
// once, and appended in their order. The zero value is ready; its memory is used
// again.
type Packed struct {
	fields []Field
	rows   int
	pack   packer
	cols   []packedColumn
}

// Pack makes g the row group of some columns: of the fields, in their order, of
// equal length. The bytes follow from fields and columns alone. g keeps neither
// the columns nor their memory.
func (g *Packed) Pack(fields []Field, cols []Column) error {
	n, err := shape(fields, cols)
	if err != nil {
		return err
	}
	g.fields, g.rows = append(g.fields[:0], fields...), n
	g.pack.stored = g.pack.stored[:0]
	g.cols = slices.Grow(g.cols[:0], len(fields))[:len(fields)]
	if n == 0 {
		return nil
	}
	for i, f := range fields {
		enc, err := f.encoding()
		if err != nil {
			return err
		}
		if err := g.pack.column(&g.cols[i], enc, f.Nullable, f.squeezed(enc), cols[i], n); err != nil {
			return fmt.Errorf("column %q: %w", f.Name, err)
		}
	}
	return nil
}

// Fields are those that g was packed with; they hold until the next Pack.
func (g *Packed) Fields() []Field { return g.fields }

// shape looks at columns before they are packed.
func shape(fields []Field, cols []Column) (rows int, err error) {
	if len(cols) != len(fields) {
		return 0, fmt.Errorf("%d columns, want %d", len(cols), len(fields))
	}
	for i, c := range cols {
		f := fields[i]
		t, n := typeOf(c)
		switch {
		case c.Name != f.Name:
			err = fmt.Errorf("column %d is %q, want %q", i, c.Name, f.Name)
		case n < 0 || t != f.Type:
			err = fmt.Errorf("column %q holds %T, want %v", c.Name, c.Data, f.Type)
		case i > 0 && n != rows:
			err = fmt.Errorf("column %q has %d rows, the first has %d", c.Name, n, rows)
		case c.Valid != nil && len(c.Valid) != n:
			err = fmt.Errorf("column %q has %d rows and %d validities", c.Name, n, len(c.Valid))
		case !f.Nullable && slices.Contains(c.Valid, false):
			err = fmt.Errorf("column %q has a null but is not nullable", c.Name)
		case n > maxGroupRows:
			err = fmt.Errorf("a row group of %d rows, at most %d", n, maxGroupRows)
		}
		if err != nil {
			return 0, err
		}
		rows = n
	}
	return rows, nil
}
