package ingest

import (
	"slices"
	"unsafe"
)

// EventsFromColumns is the inverse of EventColumns: it adds the events that
// the columns hold to dst and their strings to names. An absent column means
// Missing; the input is not a part of an Event.
func EventsFromColumns(cols []Column, names *Names, dst []Event) ([]Event, error) {
	var rows EventRows
	n, err := rows.Open(cols, names)
	if err != nil {
		return dst, err
	}
	from := len(dst)
	dst = append(dst, make([]Event, n)...)
	rows.Events(0, dst[from:])
	return dst, nil
}

// EventRows gives the events that columns hold one by one, at no more than the
// cost of a look at each column. The zero value is ready to be opened.
type EventRows struct {
	names                              *Names
	time, offset, size, queue, latency values[int64]
	get, insert, position              values[int64]
	pid, depth, error                  values[int32]
	host, device, comm, file, cgroup   words[Name]
	op                                 words[Op]
	flags                              words[Flags]
	kind                               words[LatencyKind]
}

// Open takes the columns that a store gave back and says how many rows they
// have. The columns are in use until the next Open.
func (r *EventRows) Open(cols []Column, names *Names) (rows int, err error) {
	t := tableOf(cols)
	t.need("time_ns")
	r.names = names
	r.time.open(t, "time_ns", 0)
	r.offset.open(t, "offset_bytes", Missing)
	r.size.open(t, "size_bytes", Missing)
	r.queue.open(t, "queue_ns", Missing)
	r.get.open(t, "get_ns", Missing)
	r.insert.open(t, "insert_ns", Missing)
	r.latency.open(t, "latency_ns", Missing)
	r.position.open(t, "source_offset", 0)
	r.pid.open(t, "pid", Missing)
	r.depth.open(t, "depth", Missing)
	r.error.open(t, "error", 0)
	r.host.open(t, "host", names.InternString)
	r.device.open(t, "device", names.InternString)
	r.comm.open(t, "comm", names.InternString)
	r.file.open(t, "file", names.InternString)
	r.cgroup.open(t, "cgroup", names.InternString)
	r.op.open(t, "op", ParseOp)
	r.flags.open(t, "flags", ParseFlags)
	r.kind.open(t, "latency_kind", ParseKind)
	return t.rows, t.err
}

// Event gives the event of a row. Events is quicker for many.
func (r *EventRows) Event(i int) Event {
	var one [1]Event
	r.Events(i, one[:])
	return one[0]
}

// Events makes the rows from a number on events, as many as dst holds; the
// rows must be there. A column at a time: one that is absent costs nothing.
func (r *EventRows) Events(from int, dst []Event) {
	none := NewEvent()
	for i := range dst {
		dst[i] = none
	}
	for i, v := range r.time.take(from, len(dst)) {
		dst[i].TimeNS = v
	}
	for i, v := range r.latency.take(from, len(dst)) {
		dst[i].LatencyNS = v
	}
	for i, v := range r.queue.take(from, len(dst)) {
		dst[i].QueueNS = v
	}
	for i, v := range r.get.take(from, len(dst)) {
		dst[i].GetNS = v
	}
	for i, v := range r.insert.take(from, len(dst)) {
		dst[i].InsertNS = v
	}
	for i, v := range r.offset.take(from, len(dst)) {
		dst[i].OffsetBytes = v
	}
	for i, v := range r.size.take(from, len(dst)) {
		dst[i].SizeBytes = v
	}
	for i, v := range r.position.take(from, len(dst)) {
		dst[i].Position = v
	}
	for i, v := range r.pid.take(from, len(dst)) {
		dst[i].PID = v
	}
	for i, v := range r.depth.take(from, len(dst)) {
		dst[i].Depth = v
	}
	for i, v := range r.error.take(from, len(dst)) {
		dst[i].Error = v
	}
	for i, v := range r.host.take(from, len(dst)) {
		dst[i].Host = v
	}
	for i, v := range r.device.take(from, len(dst)) {
		dst[i].Device = v
	}
	for i, v := range r.comm.take(from, len(dst)) {
		dst[i].Comm = v
	}
	for i, v := range r.file.take(from, len(dst)) {
		dst[i].File = v
	}
	for i, v := range r.cgroup.take(from, len(dst)) {
		dst[i].Cgroup = v
	}
	for i, v := range r.op.take(from, len(dst)) {
		dst[i].Op = v
	}
	for i, v := range r.flags.take(from, len(dst)) {
		dst[i].Flags = v
	}
	for i, v := range r.kind.take(from, len(dst)) {
		dst[i].Kind = v
	}
}

// values is a column of numbers; where it has no value it gives the one that
// stands for none.
type values[T int32 | int64] struct {
	data  []T
	valid []bool
	none  T
	hand  []T
}

func (c *values[T]) open(t *table, name string, none T) {
	c.data, c.valid, c.none = nil, nil, none
	if col, ok := t.byName[name]; ok && t.err == nil {
		c.data, c.valid = typed[T](t, col), col.Valid
	}
}

// take gives n values, or none if the column is absent; they hold until the
// next call.
func (c *values[T]) take(from, n int) []T {
	if c.data == nil {
		return nil
	}
	data := c.data[from:][:n]
	if c.valid == nil {
		return data
	}
	c.hand = append(c.hand[:0], data...)
	for i, valid := range c.valid[from:][:n] {
		if !valid {
			c.hand[i] = c.none
		}
	}
	return c.hand
}

// words is a column of strings out of few, each read once while it is kept;
// none is 0.
type words[T ~uint8 | ~uint32] struct {
	data  []string
	valid []bool
	read  func(string) T
	empty T // what the empty string is read as
	hand  []T
	near  [16]struct {
		text string
		own  T
	}
}

func (c *words[T]) open(t *table, name string, read func(string) T) {
	c.data, c.valid, c.read = nil, nil, read
	clear(c.near[:]) // the names may be others
	if col, ok := t.byName[name]; ok && t.err == nil {
		c.data, c.valid = typed[string](t, col), col.Valid
		c.empty = read("")
	}
}

// take is as of values.
func (c *words[T]) take(from, n int) []T {
	if c.data == nil {
		return nil
	}
	c.hand = slices.Grow(c.hand[:0], n)[:n]
	for i, v := range c.data[from:][:n] {
		if v == "" {
			c.hand[i] = c.empty
			continue
		}
		place := unsafe.StringData(v)
		near := &c.near[(uintptr(unsafe.Pointer(place))>>2^uintptr(len(v)))%uintptr(len(c.near))]
		// The string that is kept keeps its place from being another's.
		if len(near.text) != len(v) || unsafe.StringData(near.text) != place {
			near.text, near.own = v, c.read(v)
		}
		c.hand[i] = near.own
	}
	if c.valid != nil {
		for i, valid := range c.valid[from:][:n] {
			if !valid {
				c.hand[i] = 0
			}
		}
	}
	return c.hand
}

func typed[T any](t *table, c Column) []T {
	data, ok := c.Data.([]T)
	if !ok {
		t.fail("column %s is a %T, not a %T", c.Name, c.Data, data)
	}
	return data
}
