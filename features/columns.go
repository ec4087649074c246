package features

import (
	"fmt"
	"math"

	"github.com/iopathy/iopathy/ingest"
)

// Column is one named column of a table: Data is []string, []int64,
// []float64 or []bool; Valid, where not nil, is false at rows without a value.
type Column = struct {
	Name  string
	Data  any
	Valid []bool
}

// WindowColumns lays windows out as columns: keys, bounds, account, the 12
// features, the facts of the context by their names, and the ladder. What is
// missing is not valid.
func WindowColumns(ws []Window) []Column {
	n := len(ws)
	cols := []Column{
		column("host", n, func(i int) string { return ws[i].Host }),
		column("device", n, func(i int) string { return ws[i].Device }),
		column("window_start_ns", n, func(i int) int64 { return ws[i].StartNS }),
		column("window_end_ns", n, func(i int) int64 { return ws[i].EndNS }),
		column("latency_kind", n, func(i int) string { return ws[i].Kind.String() }),
		column("tick_ns", n, func(i int) int64 { return ws[i].TickNS }),
		column("requests", n, func(i int) int64 { return ws[i].Requests }),
		column("coverage", n, func(i int) float64 { return ws[i].Coverage }),
		column("known", n, func(i int) float64 { return ws[i].Known }),
		column("covered_ticks", n, func(i int) int64 { return int64(ws[i].CoveredTicks) }),
		column("idle", n, func(i int) bool { return ws[i].Idle }),
	}
	for k := range Features {
		c := column(Features[k].Name, n, func(i int) float64 { return ws[i].Vector[k] })
		c.Valid = make([]bool, n)
		for i := range ws {
			c.Valid[i] = ws[i].Missing.Has(k)
		}
		cols = append(cols, c)
	}
	for k := range ContextTable {
		values, valid := make([]float64, n), make([]bool, n)
		for i := range ws {
			if v := ws[i].Context[k]; !math.IsNaN(v) {
				values[i], valid[i] = v, true
			}
		}
		cols = append(cols, Column{Name: ContextTable[k].Name, Data: values, Valid: valid})
	}
	ladder := column("ladder", n, func(i int) string { return ws[i].Ladder.text() })
	ladder.Valid = make([]bool, n)
	for i := range ws {
		ladder.Valid[i] = ws[i].Ladder != ""
	}
	return append(cols, ladder)
}

// WindowsFromColumns is the inverse of WindowColumns. Columns may come in any
// order and others may stand among them; a feature or fact without a column
// is missing in every window (an older lake). Another column that is absent,
// of another type or of another length is an error.
func WindowsFromColumns(cols []Column) ([]Window, error) {
	t, err := tableOf(cols, "host")
	if err != nil {
		return nil, fmt.Errorf("features: windows: %w", err)
	}
	ws := make([]Window, t.rows)
	read(t, "host", func(i int, v string) { ws[i].Host = v })
	read(t, "device", func(i int, v string) { ws[i].Device = v })
	read(t, "window_start_ns", func(i int, v int64) { ws[i].StartNS = v })
	read(t, "window_end_ns", func(i int, v int64) { ws[i].EndNS = v })
	read(t, "latency_kind", func(i int, v string) { ws[i].Kind = ingest.ParseKind(v) })
	read(t, "tick_ns", func(i int, v int64) { ws[i].TickNS = v })
	read(t, "requests", func(i int, v int64) { ws[i].Requests = v })
	read(t, "coverage", func(i int, v float64) { ws[i].Coverage = v })
	read(t, "known", func(i int, v float64) { ws[i].Known = v })
	read(t, "covered_ticks", func(i int, v int64) { ws[i].CoveredTicks = int(v) })
	read(t, "idle", func(i int, v bool) { ws[i].Idle = v })
	for i := range ws {
		ws[i].Missing = 1<<N - 1
		ws[i].Context = missingContext()
		for k := range Features {
			ws[i].Vector[k] = Features[k].Neutral
		}
	}
	for k := range Features {
		t.optional(Features[k].Name, func(i int, v float64) {
			ws[i].Vector[k] = v
			ws[i].Missing &^= 1 << k
		})
	}
	for k := range ContextTable {
		t.optional(ContextTable[k].Name, func(i int, v float64) { ws[i].Context[k] = v })
	}
	if _, ok := t.byName["ladder"]; ok { // an older lake has none
		read(t, "ladder", func(i int, v string) { ws[i].Ladder = packedOf(v) })
	}
	if t.err != nil {
		return nil, fmt.Errorf("features: windows: %w", t.err)
	}
	return ws, nil
}

// tickFields are the columns of a tick beside its key, in their order.
var tickFields = [...]struct {
	name string
	get  func(*Tick) int64
	set  func(*Tick, int64)
}{
	{"time_ns", func(t *Tick) int64 { return t.StartNS }, func(t *Tick, v int64) { t.StartNS = v }},
	{"reads", func(t *Tick) int64 { return t.Reads }, func(t *Tick, v int64) { t.Reads = v }},
	{"writes", func(t *Tick) int64 { return t.Writes }, func(t *Tick, v int64) { t.Writes = v }},
	{"others", func(t *Tick) int64 { return t.Others }, func(t *Tick, v int64) { t.Others = v }},
	{"read_bytes", func(t *Tick) int64 { return t.ReadBytes }, func(t *Tick, v int64) { t.ReadBytes = v }},
	{"write_bytes", func(t *Tick) int64 { return t.WriteBytes }, func(t *Tick, v int64) { t.WriteBytes = v }},
	{"other_bytes", func(t *Tick) int64 { return t.OtherBytes }, func(t *Tick, v int64) { t.OtherBytes = v }},
	{"timed", func(t *Tick) int64 { return t.Timed }, func(t *Tick, v int64) { t.Timed = v }},
	{"latency_ns", func(t *Tick) int64 { return t.LatencyNS }, func(t *Tick, v int64) { t.LatencyNS = v }},
	{"max_latency_ns", func(t *Tick) int64 { return t.MaxLatencyNS }, func(t *Tick, v int64) { t.MaxLatencyNS = v }},
	{"timed_reads", func(t *Tick) int64 { return t.TimedReads }, func(t *Tick, v int64) { t.TimedReads = v }},
	{"read_latency_ns", func(t *Tick) int64 { return t.ReadLatencyNS }, func(t *Tick, v int64) { t.ReadLatencyNS = v }},
	{"arrivals", func(t *Tick) int64 { return t.Arrivals }, func(t *Tick, v int64) { t.Arrivals = v }},
	{"in_flight_ns", func(t *Tick) int64 { return t.InFlightNS }, func(t *Tick, v int64) { t.InFlightNS = v }},
	{"busy_ns", func(t *Tick) int64 { return t.BusyNS }, func(t *Tick, v int64) { t.BusyNS = v }},
	{"peak_depth", func(t *Tick) int64 { return int64(t.PeakDepth) }, func(t *Tick, v int64) { t.PeakDepth = int32(v) }},
}

// TickColumns lays ticks out as columns; keys[i] is the device of ticks[i].
// It panics when the two differ in length.
func TickColumns(keys []Key, ticks []Tick) []Column {
	if len(keys) != len(ticks) {
		panic("features: as many keys as ticks are needed")
	}
	n := len(ticks)
	cols := []Column{
		column("host", n, func(i int) string { return keys[i].Host }),
		column("device", n, func(i int) string { return keys[i].Device }),
	}
	var fields [len(tickFields)][]int64
	for k, f := range tickFields {
		fields[k] = make([]int64, n)
		cols = append(cols, Column{Name: f.name, Data: fields[k]})
	}
	// A few ticks at a time, which the nearest cache holds for all columns.
	const few = 128
	for from := 0; from < n; from += few {
		some := ticks[from:min(from+few, n)]
		for k, f := range tickFields {
			to := fields[k][from:]
			for i := range some {
				to[i] = f.get(&some[i])
			}
		}
	}
	return cols
}

// TicksFromColumns is the inverse of TickColumns.
func TicksFromColumns(cols []Column) ([]Key, []Tick, error) {
	t, err := tableOf(cols, "host")
	if err != nil {
		return nil, nil, fmt.Errorf("features: ticks: %w", err)
	}
	keys, ticks := make([]Key, t.rows), make([]Tick, t.rows)
	read(t, "host", func(i int, v string) { keys[i].Host = v })
	read(t, "device", func(i int, v string) { keys[i].Device = v })
	for _, f := range tickFields {
		read(t, f.name, func(i int, v int64) { f.set(&ticks[i], v) })
	}
	if t.err != nil {
		return nil, nil, fmt.Errorf("features: ticks: %w", t.err)
	}
	return keys, ticks, nil
}

func column[T any](name string, n int, get func(i int) T) Column {
	data := make([]T, n)
	for i := range data {
		data[i] = get(i)
	}
	return Column{Name: name, Data: data}
}

// table finds columns by name; err is the first fault.
type table struct {
	byName map[string]Column
	rows   int
	err    error
}

// tableOf makes a table as long as its column of strings of a name.
func tableOf(cols []Column, name string) (*table, error) {
	t := &table{byName: make(map[string]Column, len(cols))}
	for _, c := range cols {
		t.byName[c.Name] = c
	}
	keys, ok := t.byName[name].Data.([]string)
	if !ok {
		return nil, fmt.Errorf("no column %s of strings", name)
	}
	t.rows = len(keys)
	return t, nil
}

// read gives the values of a column that must be there, row by row.
func read[T any](t *table, name string, set func(i int, v T)) {
	if t.err != nil {
		return
	}
	c, ok := t.byName[name]
	if !ok {
		t.err = fmt.Errorf("no column %s", name)
		return
	}
	data, ok := c.Data.([]T)
	switch {
	case !ok:
		t.err = fmt.Errorf("column %s: %T instead of %T", name, c.Data, data)
		return
	case len(data) != t.rows || c.Valid != nil && len(c.Valid) != t.rows:
		t.err = fmt.Errorf("column %s: %d rows instead of %d", name, len(data), t.rows)
		return
	}
	for i, v := range data {
		if c.Valid == nil || c.Valid[i] {
			set(i, v)
		}
	}
}

// optional is read for a column of numbers that may be absent.
func (t *table) optional(name string, set func(i int, v float64)) {
	if _, ok := t.byName[name]; ok {
		read(t, name, set)
	}
}
