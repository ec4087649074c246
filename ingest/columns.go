package ingest

import (
	"slices"
)

// Column is one column of a table in plain Go, with the base unit in its name.
// Data is a []int64, []int32, []float64, []string or []bool; Valid says which
// rows are known, nil that all are. It is an alias of an unnamed type on
// purpose: a store of tables may have the same one, and neither imports the
// other.
type Column = struct {
	Name  string
	Data  any
	Valid []bool
}

// The columns of the tables, in their order.
var (
	EventColumnNames = []string{
		"time_ns", "host", "device", "pid", "comm", "op", "flags", "offset_bytes", "size_bytes", "queue_ns",
		"latency_ns", "latency_kind", "depth", "error", "file", "cgroup", "input", "source_offset",
		"get_ns", "insert_ns",
	}
	SampleColumnNames = []string{
		"time_ns", "interval_ns", "host", "device", "reads", "writes", "discards", "flushes",
		"read_bytes", "write_bytes", "discard_bytes", "read_ns", "write_ns", "discard_ns", "flush_ns",
		"read_merges", "write_merges", "discard_merges", "total_ios", "total_bytes", "total_ns",
		"in_flight_ns", "busy_ns", "input", "source_offset",
	}
	EvidenceColumnNames = []string{"time_ns", "host", "device", "name", "text", "value", "input", "source_offset"}
)

// columns builds columns in the memory of those of an earlier call.
type columns struct {
	old  []Column
	made []Column
	n    int // rows
}

// slot takes the old column at the next place, if it has that name.
func (c *columns) slot(name string) Column {
	if i := len(c.made); i < len(c.old) && c.old[i].Name == name {
		return c.old[i]
	}
	return Column{Name: name}
}

func sized[T any](data any, n int) []T {
	old, _ := data.([]T)
	return slices.Grow(old[:0], n)[:n]
}

// column adds a column of n values; known says of each whether it is one.
func column[T int64 | int32 | float64 | string](c *columns, name string, value func(i int) (v T, known bool)) {
	col := c.slot(name)
	data := sized[T](col.Data, c.n)
	valid := slices.Grow(col.Valid[:0], c.n)[:c.n]
	all := true
	for i := range data {
		v, known := value(i)
		if !known {
			var zero T
			v, all = zero, false
		}
		data[i], valid[i] = v, known
	}
	if all {
		valid = nil
	}
	c.made = append(c.made, Column{Name: name, Data: data, Valid: valid})
}

// gatherRows is how many events are brought together before their fields are
// laid out: those of a device lie far apart among the others, and a look at one
// of their fields would fetch all of each anew.
const gatherRows = 256

// eventColumns lays out the events of a piece of the rows; each of its methods
// fills one column, as far as has says that it is wanted.
type eventColumns struct {
	cols  []Column
	has   []bool
	names []string
	ev    []Event // those in hand
	at    int     // the row of the first
	next  int     // the column whose turn it is
}

// wanted gives the memory of the next column for the rows in hand; nil if it
// is not wanted.
func wanted[T any](c *eventColumns) (col *Column, data []T) {
	k := c.next
	c.next++
	if c.has != nil && !c.has[k] {
		return nil, nil
	}
	col = &c.cols[k]
	return col, col.Data.([]T)[c.at : c.at+len(c.ev)]
}

// missing notes which of the values that were laid out stand for none.
func (c *eventColumns) missing(col *Column, row int) {
	if col.Valid == nil {
		n := 0
		switch d := col.Data.(type) {
		case []int64:
			n = len(d)
		case []int32:
			n = len(d)
		case []string:
			n = len(d)
		}
		col.Valid = make([]bool, n)
		for i := range col.Valid {
			col.Valid[i] = true
		}
	}
	col.Valid[row] = false
}

func (c *eventColumns) num64(get func(ev []Event, out []int64)) {
	col, out := wanted[int64](c)
	if col == nil {
		return
	}
	get(c.ev, out)
	for i, v := range out {
		if v == Missing {
			out[i] = 0
			c.missing(col, c.at+i)
		}
	}
}

func (c *eventColumns) num32(get func(ev []Event, out []int32)) {
	col, out := wanted[int32](c)
	if col == nil {
		return
	}
	get(c.ev, out)
	for i, v := range out {
		if v == Missing {
			out[i] = 0
			c.missing(col, c.at+i)
		}
	}
}

func (c *eventColumns) text(get func(e *Event) Name) {
	col, out := wanted[string](c)
	if col == nil {
		return
	}
	for i := range out {
		id := get(&c.ev[i])
		if out[i] = c.names[id]; id == 0 {
			c.missing(col, c.at+i)
		}
	}
}

func (c *eventColumns) words(get func(e *Event) string) {
	if col, out := wanted[string](c); col != nil {
		for i := range out {
			out[i] = get(&c.ev[i])
		}
	}
}

// flags lays out the letters of flags; they are missing where the source doesn't
// tell flags.
func (c *eventColumns) flags(letters *[1 << flagCount]string) {
	col, out := wanted[string](c)
	if col == nil {
		return
	}
	for i := range out {
		f := c.ev[i].Flags
		if out[i] = letters[f&(1<<flagCount-1)]; f == 0 {
			c.missing(col, c.at+i)
		}
	}
}

// EventColumns gives the columns of EventColumnNames for the given rows of
// b.Events, in that order. input is the identity of their input. The memory of
// dst, the columns of an earlier call, is used again. Columns for which has is
// false are left empty, for Present to leave out; nil wants all.
func (b *Batch) EventColumns(rows []int32, input string, has []bool, dst []Column) []Column {
	c := eventColumns{cols: make([]Column, len(EventColumnNames)), has: has, names: b.Names.List()}
	for k, name := range EventColumnNames {
		col := &c.cols[k]
		if col.Name = name; has != nil && !has[k] {
			continue
		}
		var old any
		if k < len(dst) {
			old = dst[k].Data
		}
		switch name {
		case "pid", "depth", "error":
			col.Data = sized[int32](old, len(rows))
		case "input":
			col.Data = constant(old, input, len(rows))
			if input == "" {
				col.Valid = make([]bool, len(rows))
			}
		case "host", "device", "comm", "op", "flags", "latency_kind", "file", "cgroup":
			col.Data = sized[string](old, len(rows))
		default:
			col.Data = sized[int64](old, len(rows))
		}
	}
	letters := flagLetters()
	var hand [gatherRows]Event
	for c.at = 0; c.at < len(rows); c.at += len(c.ev) {
		c.ev = hand[:min(gatherRows, len(rows)-c.at)]
		for i := range c.ev {
			c.ev[i] = b.Events[rows[c.at+i]]
		}
		c.fill(&letters)
	}
	return c.cols
}

// fill lays out the events in hand, column by column in their order.
func (c *eventColumns) fill(letters *[1 << flagCount]string) {
	c.next = 0
	if col, out := wanted[int64](c); col != nil {
		for i := range out {
			out[i] = c.ev[i].TimeNS
		}
	}
	c.text(func(e *Event) Name { return e.Host })
	c.text(func(e *Event) Name { return e.Device })
	c.num32(func(ev []Event, out []int32) {
		for i := range out {
			out[i] = ev[i].PID
		}
	})
	c.text(func(e *Event) Name { return e.Comm })
	c.words(func(e *Event) string { return e.Op.String() })
	c.flags(letters)
	c.num64(func(ev []Event, out []int64) {
		for i := range out {
			out[i] = ev[i].OffsetBytes
		}
	})
	c.num64(func(ev []Event, out []int64) {
		for i := range out {
			out[i] = ev[i].SizeBytes
		}
	})
	c.num64(func(ev []Event, out []int64) {
		for i := range out {
			out[i] = ev[i].QueueNS
		}
	})
	c.num64(func(ev []Event, out []int64) {
		for i := range out {
			out[i] = ev[i].LatencyNS
		}
	})
	c.words(func(e *Event) string { return e.Kind.String() })
	c.num32(func(ev []Event, out []int32) {
		for i := range out {
			out[i] = ev[i].Depth
		}
	})
	c.num32(func(ev []Event, out []int32) {
		for i := range out {
			out[i] = ev[i].Error
		}
	})
	c.text(func(e *Event) Name { return e.File })
	c.text(func(e *Event) Name { return e.Cgroup })
	c.next++ // input
	c.num64(func(ev []Event, out []int64) {
		for i := range out {
			out[i] = ev[i].Position
		}
	})
	c.num64(func(ev []Event, out []int64) {
		for i := range out {
			out[i] = ev[i].GetNS
		}
	})
	c.num64(func(ev []Event, out []int64) {
		for i := range out {
			out[i] = ev[i].InsertNS
		}
	})
}

// constant is a column of one string; what an earlier call has filled is not
// filled again.
func constant(old any, s string, n int) []string {
	data, _ := old.([]string)
	if len(data) > 0 && data[0] != s {
		data = data[:0]
	}
	filled := len(data)
	data = slices.Grow(data[:min(filled, n)], n-min(filled, n))[:n]
	for i := filled; i < n; i++ {
		data[i] = s
	}
	return data
}

const flagCount = 5

// flagLetters gives the letters of each set of flags, so that rows share them.
func flagLetters() (letters [1 << flagCount]string) {
	for i := range letters {
		letters[i] = Flags(i).String()
	}
	return letters
}

// Present gives the columns for which has is true; it leaves cols as they are.
func Present(cols []Column, has []bool) []Column {
	kept := make([]Column, 0, len(cols))
	for i, c := range cols {
		if has[i] {
			kept = append(kept, c)
		}
	}
	return kept
}
