package ingest

// EventsFromColumns is the inverse of EventColumns: it adds the events that
// the columns hold to dst and their strings to names. An absent column means
// Missing; the input is not a part of an Event.
func EventsFromColumns(cols []Column, names *Names, dst []Event) ([]Event, error) {
	var rows EventRows
	n, err := rows.Open(cols, names)
	if err != nil {
		return dst, err
	}
	for i := range n {
		dst = append(dst, Event{})
		rows.Event(i, &dst[len(dst)-1])
	}
	return dst, nil
}

// EventRows gives the events that columns hold one by one, at no more than the
// cost of a look at each column. The zero value is ready to be opened.
type EventRows struct {
	names                              *Names
	time, offset, size, queue, latency values[int64]
	position                           values[int64]
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

// Event makes e the event of a row.
func (r *EventRows) Event(i int, e *Event) {
	e.TimeNS = r.time.at(i)
	e.LatencyNS = r.latency.at(i)
	e.QueueNS = r.queue.at(i)
	e.OffsetBytes = r.offset.at(i)
	e.SizeBytes = r.size.at(i)
	e.Position = r.position.at(i)
	e.PID = r.pid.at(i)
	e.Depth = r.depth.at(i)
	e.Error = r.error.at(i)
	e.Host = r.host.at(i)
	e.Device = r.device.at(i)
	e.Comm = r.comm.at(i)
	e.File = r.file.at(i)
	e.Cgroup = r.cgroup.at(i)
	e.Op = r.op.at(i)
	e.Flags = r.flags.at(i)
	e.Kind = r.kind.at(i)
}

// values is a column of numbers; where it has no value it gives the one that
// stands for none.
type values[T int32 | int64] struct {
	data  []T
	valid []bool
	none  T
}

func (c *values[T]) open(t *table, name string, none T) {
	c.data, c.valid, c.none = nil, nil, none
	if col, ok := t.byName[name]; ok && t.err == nil {
		c.data, c.valid = typed[T](t, col), col.Valid
	}
}

func (c *values[T]) at(i int) T {
	if i < len(c.data) && (c.valid == nil || c.valid[i]) {
		return c.data[i]
	}
	return c.none
}

// words is a column of strings out of few, each read once while it is kept;
// the empty one, as none, is 0.
type words[T ~uint8 | ~uint32] struct {
	data  []string
	valid []bool
	read  func(string) T
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
	}
}

func (c *words[T]) at(i int) T {
	if i >= len(c.data) || c.valid != nil && !c.valid[i] {
		return 0
	}
	v := c.data[i]
	if v == "" {
		return 0
	}
	near := &c.near[(uint(v[0])+uint(v[len(v)-1])+uint(len(v)))%uint(len(c.near))]
	if near.text != v {
		near.text, near.own = v, c.read(v)
	}
	return near.own
}

func typed[T any](t *table, c Column) []T {
	data, ok := c.Data.([]T)
	if !ok {
		t.fail("column %s is a %T, not a %T", c.Name, c.Data, data)
	}
	return data
}
