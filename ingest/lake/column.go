package lake

import "fmt"

// Column is one column of a table or of a batch: Data is a []int64, []int32,
// []float64, []string or []bool, and Valid says which rows are not null; a nil
// Valid means that all are. It is an alias of an unnamed struct, so that other
// packages can give and take columns without importing this one. The value
// under a null is of no meaning.
type Column = struct {
	Name  string
	Data  any
	Valid []bool
}

// Table is a named set of columns of equal length.
type Table struct {
	Name    string
	Columns []Column
}

// Type is the type of a column.
type Type uint8

// The types. String is UTF-8; bytes that are not are written as U+FFFD.
const (
	Int64 Type = iota
	Int32
	Float64
	String
	Bool
)

var typeNames = [...]string{"int64", "int32", "float64", "string", "bool"}

func (t Type) String() string {
	if int(t) < len(typeNames) {
		return typeNames[t]
	}
	return fmt.Sprintf("type %d", uint8(t))
}

// Encoding is how a column's values are packed.
type Encoding uint8

// The encodings. Auto is Dictionary for strings, for int32 and for the column
// size_bytes, Delta for other int64, Plain for the rest. A Dictionary column
// with too many distinct values in a row group is written Plain there.
const (
	Auto Encoding = iota
	Plain
	Delta
	Dictionary
)

// Field is a column of a file: its name, type and packing. Delta is for Int64
// alone: what is counted in 32 bits has few values.
type Field struct {
	Name     string
	Type     Type
	Nullable bool
	Encoding Encoding
}

// Fields describes columns as they stand: nullable where Valid is set,
// encoding Auto. It panics on a Data that is none of the five types.
func Fields(cols []Column) []Field {
	fields := make([]Field, len(cols))
	for i, c := range cols {
		t, n := typeOf(c)
		if n < 0 {
			panic(fmt.Sprintf("lake: column %q holds %T", c.Name, c.Data))
		}
		fields[i] = Field{Name: c.Name, Type: t, Nullable: c.Valid != nil}
	}
	return fields
}

// typeOf gives a column's type and length; the length of a Data that is none
// of the five types is -1.
func typeOf(c Column) (Type, int) {
	switch d := c.Data.(type) {
	case []int64:
		return Int64, len(d)
	case []int32:
		return Int32, len(d)
	case []float64:
		return Float64, len(d)
	case []string:
		return String, len(d)
	case []bool:
		return Bool, len(d)
	}
	return 0, -1
}

// encoding resolves Auto and refuses pairs that can't be written.
func (f Field) encoding() (Encoding, error) {
	e := f.Encoding
	if e == Auto {
		switch {
		case f.Type == String, f.Type == Int32, f.Type == Int64 && f.Name == "size_bytes":
			e = Dictionary
		case f.Type == Int64:
			e = Delta
		default:
			e = Plain
		}
	}
	if e == Delta && f.Type != Int64 || e == Dictionary && (f.Type == Float64 || f.Type == Bool) || e > Dictionary || f.Type > Bool {
		return 0, fmt.Errorf("lake: column %q: encoding %d does not fit %v", f.Name, e, f.Type)
	}
	return e, nil
}

// squeezed says that the pages of a column are compressed. Offsets are
// multiples of a block's size, and many are near each other, but not to the one
// before: deltas keep all those bits. Other columns gain some percent at most.
func (f Field) squeezed(e Encoding) bool { return e == Delta && f.Name == "offset_bytes" }
