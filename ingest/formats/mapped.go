package formats

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/iopathy/iopathy/ingest"
)

// mappedField is what an act does with a cell.
type mappedField uint8

const (
	mappedTime mappedField = iota
	mappedEnd
	mappedHost
	mappedDevice
	mappedComm
	mappedFile
	mappedCgroup
	mappedOp
	mappedFlags
	mappedPID
	mappedDepth
	mappedError
	mappedOffset
	mappedSize
	mappedLatency
	mappedQueue
	mappedName
	mappedText
	mappedValue    // a number of the row's figures, by slot
	mappedInterval // of a sample
)

// mappedFields are the fields by the names that a mapping uses, with the reason
// for which a row is rejected that has a wrong one.
var mappedFields = map[string]struct {
	field  mappedField
	reason string
}{
	"end": {mappedEnd, "bad-end"}, "host": {mappedHost, "bad-host"}, "device": {mappedDevice, "no-device"}, "comm": {mappedComm, "bad-comm"},
	"file": {mappedFile, "bad-file"}, "cgroup": {mappedCgroup, "bad-cgroup"}, "op": {mappedOp, "bad-op"}, "flags": {mappedFlags, "bad-flags"},
	"pid": {mappedPID, "bad-pid"}, "depth": {mappedDepth, "bad-depth"}, "error": {mappedError, "bad-error"}, "offset": {mappedOffset, "bad-offset"},
	"size": {mappedSize, "bad-size"}, "latency": {mappedLatency, "bad-latency"}, "queue": {mappedQueue, "bad-queue"},
	"name": {mappedName, "no-name"}, "text": {mappedText, "bad-text"}, "interval": {mappedInterval, "bad-interval"},
}

// mappedAct is what is done with a cell.
type mappedAct struct {
	column string
	at     int // its place in a row
	field  mappedField
	slot   int     // of a figure
	unit   int64   // base units of one
	scale  float64 // the same, of a figure
	prefix string
	reason string // of a wrong cell
	fact   string // name of the figure as evidence
}

// mapped is a mapping made ready for rows, which it turns into events, samples
// or evidence. It does not change.
type mapped struct {
	record  string
	acts    []mappedAct
	kind    ingest.LatencyKind
	atStart bool

	unit, origin, baseNS int64 // of the time's numbers
	layout               string
	zone                 *time.Location

	host, device, comm, file, cgroup, name, text string // of all rows
	op                                           ingest.Op
	words                                        []mappedWord
	rest                                         int // the operation of other words; -1: they are wrong
	unknown                                      []string
	comma                                        bool
	intervalNS                                   int64
	counters                                     []mappedCounter
}

type mappedWord struct {
	word string // in lower case
	op   ingest.Op
}

// mappedCounter is a counter of samples.
type mappedCounter struct {
	field mappedCounterField
	as    string
}

// mappedUsual are the words of operations where a mapping names none.
var mappedUsual = ingest.MappedOps{
	Read: []string{"r", "read", "rd", "reads"}, Write: []string{"w", "write", "wr", "writes"},
	Flush: []string{"f", "flush"}, Discard: []string{"d", "discard", "trim", "unmap"}, Other: []string{"other"},
}

// newMapped readies a mapping, whose places in rows are not settled yet.
func newMapped(src *ingest.Source) (*mapped, error) {
	m := src.Mapping
	if m == nil {
		return nil, ingest.Refusal("it is read by a mapping only: say one in the settings, below ingest.mappings")
	}
	if err := m.Validate(); err != nil {
		return nil, fmt.Errorf("mapping %s: %w", m.Name, err)
	}
	d := &mapped{
		record: m.Made(), kind: ingest.ParseKind(m.LatencyKind), atStart: m.Time.At == "start",
		unit: m.TimeUnit(), layout: m.Time.Format, host: src.Host, unknown: m.Unknown, comma: m.Decimal == ",", rest: -1,
	}
	if m.LatencyKind == "" {
		d.kind = ingest.KindApp
	}
	d.origin, _ = m.OriginUnits() // checked by Validate
	if m.Time.Base == "boot" || m.Time.Base == "relative" {
		d.baseNS = src.Options.StartNS
	}
	zone := m.Time.Zone
	if zone == "" {
		zone = src.Options.Zone
	}
	var err error
	if d.zone, err = time.LoadLocation(zone); err != nil {
		return nil, fmt.Errorf("mapping %s: zone: %w", m.Name, err)
	}
	d.acts = append(d.acts, mappedAct{column: m.Time.Column, field: mappedTime, reason: "bad-time"})
	ops := m.Ops.Words()
	if !slices.ContainsFunc(ops[:], func(w []string) bool { return len(w) > 0 }) {
		ops = mappedUsual.Words()
	}
	for op, words := range ops {
		for _, w := range words {
			if w == "*" {
				d.rest = op
				continue
			}
			d.words = append(d.words, mappedWord{strings.ToLower(w), ingest.Op(op)})
		}
	}
	if err := d.fields(m); err != nil {
		return nil, err
	}
	for _, f := range m.Facts {
		name := f.Name
		if name == "" {
			name = f.Column
		}
		d.figure(mappedAct{column: f.Column, scale: 1, reason: "bad-value", fact: name})
	}
	return d, nil
}

// figure adds an act whose number is kept in the next slot.
func (d *mapped) figure(a mappedAct) {
	a.field, a.slot = mappedValue, 0
	for _, b := range d.acts {
		if b.field == mappedValue {
			a.slot++
		}
	}
	d.acts = append(d.acts, a)
}

func (d *mapped) fields(m *ingest.Mapping) error {
	for _, name := range mappedOrder(m) {
		f := m.Fields[name]
		scale, err := m.UnitOf(name)
		if err != nil {
			return fmt.Errorf("mapping %s: %w", m.Name, err)
		}
		k, known := mappedFields[name]
		switch {
		case f.Value != "":
			if err := d.constant(k.field, f.Prefix+f.Value, scale); err != nil {
				return fmt.Errorf("mapping %s: %s: %w", m.Name, name, err)
			}
		case !known: // a counter, or evidence's value
			if counter, ok := mappedCounters[name]; ok {
				d.counters = append(d.counters, mappedCounter{counter, f.As})
			}
			d.figure(mappedAct{column: f.Column, scale: scale, reason: "bad-value"})
		default:
			d.acts = append(d.acts, mappedAct{column: f.Column, field: k.field, unit: int64(scale), prefix: f.Prefix, reason: k.reason})
		}
	}
	return nil
}

// mappedOrder lists a mapping's fields by name.
func mappedOrder(m *ingest.Mapping) []string {
	var names []string
	for name := range m.Fields {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// constant sets what all rows share.
func (d *mapped) constant(f mappedField, v string, scale float64) error {
	switch f {
	case mappedHost:
		d.host = v
	case mappedDevice:
		d.device = v
	case mappedComm:
		d.comm = v
	case mappedFile:
		d.file = v
	case mappedCgroup:
		d.cgroup = v
	case mappedName:
		d.name = v
	case mappedText:
		d.text = v
	case mappedOp:
		if !d.opOf([]byte(v), &d.op) {
			return fmt.Errorf("no operation has the word %q", v)
		}
	case mappedInterval:
		n, ok := mappedNumber([]byte(v), 0, len(v), int64(scale), d.comma)
		if !ok || n <= 0 || n > mappedLongest {
			return fmt.Errorf("%q is no interval", v)
		}
		d.intervalNS = n
	}
	return nil
}
