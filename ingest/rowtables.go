package ingest

import (
	"fmt"
)

// counters gives the counters of a sample in the order of their columns, from
// "reads" to "busy_ns".
func (s *Sample) counters() [19]*int64 {
	return [...]*int64{
		&s.Reads, &s.Writes, &s.Discards, &s.Flushes, &s.ReadBytes, &s.WriteBytes, &s.DiscardBytes,
		&s.ReadNS, &s.WriteNS, &s.DiscardNS, &s.FlushNS, &s.ReadMerges, &s.WriteMerges, &s.DiscardMerges,
		&s.TotalIOs, &s.TotalBytes, &s.TotalNS, &s.InFlightNS, &s.BusyNS,
	}
}

const firstCounter = 4 // its index in SampleColumnNames

// SampleColumns is EventColumns for samples, with SampleColumnNames.
func (b *Batch) SampleColumns(rows []int32, input string, dst []Column) []Column {
	c := columns{old: dst, n: len(rows)}
	names := b.Names.List()
	at := func(i int) *Sample { return &b.Samples[rows[i]] }
	column(&c, "time_ns", func(i int) (int64, bool) { return at(i).TimeNS, true })
	column(&c, "interval_ns", func(i int) (int64, bool) { return at(i).IntervalNS, true })
	column(&c, "host", func(i int) (string, bool) { return names[at(i).Host], at(i).Host != 0 })
	column(&c, "device", func(i int) (string, bool) { return names[at(i).Device], at(i).Device != 0 })
	for k := range (&Sample{}).counters() {
		column(&c, SampleColumnNames[firstCounter+k], func(i int) (int64, bool) { v := *at(i).counters()[k]; return v, v != Missing })
	}
	column(&c, "input", func(int) (string, bool) { return input, input != "" })
	column(&c, "source_offset", func(i int) (int64, bool) { return at(i).Position, true })
	return c.made
}

// SamplePresence is Ordered.Presence for samples.
func SamplePresence(b *Batch, rows []int32) []bool {
	has := make([]bool, len(SampleColumnNames))
	last := len(has) - 1
	has[0], has[1], has[last-1], has[last] = true, true, true, true
	for _, r := range rows {
		s := &b.Samples[r]
		has[2], has[3] = has[2] || s.Host != 0, has[3] || s.Device != 0
		for k, v := range s.counters() {
			has[firstCounter+k] = has[firstCounter+k] || *v != Missing
		}
	}
	return has
}

// EvidenceColumns is EventColumns for evidence, with EvidenceColumnNames.
func (b *Batch) EvidenceColumns(rows []int32, input string, dst []Column) []Column {
	c := columns{old: dst, n: len(rows)}
	names := b.Names.List()
	at := func(i int) *Evidence { return &b.Evidence[rows[i]] }
	text := func(name string, get func(e *Evidence) Name) {
		column(&c, name, func(i int) (string, bool) { id := get(at(i)); return names[id], id != 0 })
	}
	column(&c, "time_ns", func(i int) (int64, bool) { return at(i).TimeNS, true })
	text("host", func(e *Evidence) Name { return e.Host })
	text("device", func(e *Evidence) Name { return e.Device })
	text("name", func(e *Evidence) Name { return e.Name })
	text("text", func(e *Evidence) Name { return e.Text })
	column(&c, "value", func(i int) (float64, bool) { return at(i).Value, true })
	column(&c, "input", func(int) (string, bool) { return input, input != "" })
	column(&c, "source_offset", func(i int) (int64, bool) { return at(i).Position, true })
	return c.made
}

// EvidencePresence is Ordered.Presence for evidence.
func EvidencePresence(b *Batch, rows []int32) []bool {
	has := []bool{true, false, false, true, false, true, true, true}
	for _, r := range rows {
		e := &b.Evidence[r]
		has[1], has[2], has[4] = has[1] || e.Host != 0, has[2] || e.Device != 0, has[4] || e.Text != 0
	}
	return has
}

// table is the columns that a store gave back, by name.
type table struct {
	byName map[string]Column
	rows   int
	err    error
}

func tableOf(cols []Column) *table {
	t := &table{byName: make(map[string]Column, len(cols)), rows: -1}
	for _, c := range cols {
		n := -1
		switch d := c.Data.(type) {
		case []int64:
			n = len(d)
		case []int32:
			n = len(d)
		case []float64:
			n = len(d)
		case []string:
			n = len(d)
		case []bool:
			n = len(d)
		}
		switch {
		case n < 0:
			t.fail("column %s holds %T", c.Name, c.Data)
		case t.rows >= 0 && n != t.rows:
			t.fail("column %s has %d rows, the first has %d", c.Name, n, t.rows)
		case c.Valid != nil && len(c.Valid) != n:
			t.fail("column %s has %d rows and the validity of %d", c.Name, n, len(c.Valid))
		default:
			t.rows = n
		}
		t.byName[c.Name] = c
	}
	t.rows = max(t.rows, 0)
	return t
}

func (t *table) fail(format string, args ...any) {
	if t.err == nil {
		t.err = fmt.Errorf("ingest: "+format, args...)
	}
}

// each calls set for the known values of a column; an absent one has none.
func each[T any](t *table, name string, set func(i int, v T)) {
	c, ok := t.byName[name]
	if !ok || t.err != nil {
		return
	}
	data, ok := c.Data.([]T)
	if !ok {
		t.fail("column %s is a %T, not a %T", name, c.Data, data)
		return
	}
	for i, v := range data {
		if c.Valid == nil || c.Valid[i] {
			set(i, v)
		}
	}
}

// need makes the absence of a column an error.
func (t *table) need(names ...string) {
	for _, n := range names {
		if _, ok := t.byName[n]; !ok {
			t.fail("column %s is absent", n)
		}
	}
}

// SamplesFromColumns is the inverse of SampleColumns.
func SamplesFromColumns(cols []Column, names *Names, dst []Sample) ([]Sample, error) {
	t := tableOf(cols)
	t.need("time_ns", "interval_ns")
	if t.err != nil {
		return dst, t.err
	}
	from := len(dst)
	for range t.rows {
		dst = append(dst, NewSample())
	}
	sa := dst[from:]
	each(t, "time_ns", func(i int, v int64) { sa[i].TimeNS = v })
	each(t, "interval_ns", func(i int, v int64) { sa[i].IntervalNS = v })
	each(t, "host", func(i int, v string) { sa[i].Host = names.InternString(v) })
	each(t, "device", func(i int, v string) { sa[i].Device = names.InternString(v) })
	for k := range (&Sample{}).counters() {
		each(t, SampleColumnNames[firstCounter+k], func(i int, v int64) { *sa[i].counters()[k] = v })
	}
	each(t, "source_offset", func(i int, v int64) { sa[i].Position = v })
	return dst, t.err
}

// EvidenceFromColumns is the inverse of EvidenceColumns.
func EvidenceFromColumns(cols []Column, names *Names, dst []Evidence) ([]Evidence, error) {
	t := tableOf(cols)
	t.need("time_ns", "name")
	if t.err != nil {
		return dst, t.err
	}
	from := len(dst)
	dst = append(dst, make([]Evidence, t.rows)...)
	ev := dst[from:]
	each(t, "time_ns", func(i int, v int64) { ev[i].TimeNS = v })
	each(t, "host", func(i int, v string) { ev[i].Host = names.InternString(v) })
	each(t, "device", func(i int, v string) { ev[i].Device = names.InternString(v) })
	each(t, "name", func(i int, v string) { ev[i].Name = names.InternString(v) })
	each(t, "text", func(i int, v string) { ev[i].Text = names.InternString(v) })
	each(t, "value", func(i int, v float64) { ev[i].Value = v })
	each(t, "source_offset", func(i int, v int64) { ev[i].Position = v })
	return dst, t.err
}
