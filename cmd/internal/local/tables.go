package local

import (
	"errors"
	"io"
	"maps"
	"slices"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest/lake"
)

// writeTable writes columns as one file, in row groups of at most GroupRows.
func writeTable(path string, cols []lake.Column, cuts []int) (lake.Part, error) {
	w, err := lake.Create(path, lake.Fields(cols), nil)
	if err != nil {
		return lake.Part{}, err
	}
	rows := length(cols)
	if cuts == nil {
		for at := lake.GroupRows; at < rows; at += lake.GroupRows {
			cuts = append(cuts, at)
		}
		if rows > 0 {
			cuts = append(cuts, rows)
		}
	}
	from := 0
	for _, to := range cuts {
		if err := w.Write(cut(cols, from, to)); err != nil {
			w.Abort()
			return lake.Part{}, err
		}
		from = to
	}
	return w.Close()
}

// length is the number of rows of columns.
func length(cols []lake.Column) int {
	if len(cols) == 0 {
		return 0
	}
	return rowsOf(cols[0])
}

// rowsOf is the number of rows of one column.
func rowsOf(c lake.Column) int {
	switch d := c.Data.(type) {
	case []int64:
		return len(d)
	case []int32:
		return len(d)
	case []float64:
		return len(d)
	case []string:
		return len(d)
	case []bool:
		return len(d)
	}
	return 0
}

// cut is rows [from, to) of columns.
func cut(cols []lake.Column, from, to int) []lake.Column {
	out := make([]lake.Column, len(cols))
	for i, c := range cols {
		out[i] = c
		switch d := c.Data.(type) {
		case []int64:
			out[i].Data = d[from:to]
		case []int32:
			out[i].Data = d[from:to]
		case []float64:
			out[i].Data = d[from:to]
		case []string:
			out[i].Data = d[from:to]
		case []bool:
			out[i].Data = d[from:to]
		}
		if c.Valid != nil {
			out[i].Valid = c.Valid[from:to]
		}
	}
	return out
}

// windowRows is the most windows of a row group: each has a hundred columns.
const windowRows = 4 << 10

// eachWindow gives the windows that a reader has.
func eachWindow(r *lake.Reader, give func(*features.Window) error) error {
	for {
		cols, _, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		ws, err := features.WindowsFromColumns(cols)
		if err != nil {
			return err
		}
		for i := range ws {
			if err := give(&ws[i]); err != nil {
				return err
			}
		}
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
