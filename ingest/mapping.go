package ingest

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Mapping says how a text that no format knows is read: which columns (or
// keys) hold which fields of an event, of a sample, or which are figures.
type Mapping struct {
	Name    string   `mapstructure:"name"`
	Layout  string   `mapstructure:"layout"`    // csv, tsv, jsonl, parquet
	Path    string   `mapstructure:"path"`      // glob on the file's name, or on the whole path if it has a slash
	Header  []string `mapstructure:"header"`    // columns that the header (the first object) must name
	Columns []string `mapstructure:"columns"`   // names of the columns of a text without header
	Sep     string   `mapstructure:"delimiter"` // one character, or blanks; csv has a comma, tsv a tab
	Decimal string   `mapstructure:"decimal"`   // sign before decimals: "." or ","
	Comment string   `mapstructure:"comment"`   // what lines begin with that are no rows
	Unknown []string `mapstructure:"unknown"`   // cells that mean unknown, beside empty ones
	Ragged  bool     `mapstructure:"ragged"`    // rows may have columns that the header lacks, or lack its last ones

	Record      string                 `mapstructure:"record"` // event (default), sample, evidence
	LatencyKind string                 `mapstructure:"latency_kind"`
	Time        MappedTime             `mapstructure:"time"`
	Fields      map[string]MappedField `mapstructure:"fields"`
	Ops         MappedOps              `mapstructure:"ops"`
	Facts       []MappedFact           `mapstructure:"facts"`
}

// MappedTime says where a row's time stands and what it is.
type MappedTime struct {
	Column string `mapstructure:"column"`
	Unit   string `mapstructure:"unit"`   // of numbers: ns, 100ns, us, ms, s (default)
	Format string `mapstructure:"format"` // of dates: iso, date (as date(1) prints), or a layout of Go's package time
	Base   string `mapstructure:"base"`   // epoch (default), boot or relative: what 0 is; start_ns then tells its epoch
	Origin string `mapstructure:"origin"` // the date of 0 where it is not 1970, as 1601-01-01
	Zone   string `mapstructure:"zone"`   // of dates without one; default: ingest.zone
	At     string `mapstructure:"at"`     // completion (default) or start of the I/O; end (default) or start of an interval
}

// MappedField says where a field comes from: a column, or a value that all
// rows share.
type MappedField struct {
	Column string `mapstructure:"column"`
	Value  string `mapstructure:"value"`
	Unit   string `mapstructure:"unit"`
	Prefix string `mapstructure:"prefix"` // put before a text
	As     string `mapstructure:"as"`     // of samples: sum (default), rate (a second), mean
}

// MappedOps are the words of the operations, in any case. "*" stands for every
// word that no other operation has.
type MappedOps struct {
	Read    []string `mapstructure:"read"`
	Write   []string `mapstructure:"write"`
	Flush   []string `mapstructure:"flush"`
	Discard []string `mapstructure:"discard"`
	Other   []string `mapstructure:"other"`
}

// Words lists the words by operation.
func (o *MappedOps) Words() [5][]string {
	return [5][]string{OpOther: o.Other, OpRead: o.Read, OpWrite: o.Write, OpFlush: o.Flush, OpDiscard: o.Discard}
}

// MappedFact is a column whose numbers are a figure of its own.
type MappedFact struct {
	Column string `mapstructure:"column"`
	Name   string `mapstructure:"name"` // default: the column's
}

// String gives the name, by which settings that were used are told.
func (m Mapping) String() string { return m.Name }

// Records that a mapping makes.
const (
	RecordEvent    = "event"
	RecordSample   = "sample"
	RecordEvidence = "evidence"
)

// Made is what the mapping makes of a row.
func (m *Mapping) Made() string {
	if m.Record == "" {
		return RecordEvent
	}
	return m.Record
}

// What a field of a mapping is.
const (
	mapText = iota
	mapBytes
	mapTime
	mapCount
	mapShare
	mapWord
)

var eventFields = map[string]int{
	"host": mapText, "device": mapText, "comm": mapText, "file": mapText, "cgroup": mapText,
	"op": mapWord, "flags": mapWord, "pid": mapCount, "depth": mapCount, "error": mapCount,
	"offset": mapBytes, "size": mapBytes, "latency": mapTime, "queue": mapTime, "end": mapWord,
}

var sampleFields = map[string]int{
	"host": mapText, "device": mapText, "interval": mapTime,
	"reads": mapCount, "writes": mapCount, "discards": mapCount, "flushes": mapCount,
	"read_bytes": mapBytes, "write_bytes": mapBytes, "discard_bytes": mapBytes,
	"read_ns": mapTime, "write_ns": mapTime, "discard_ns": mapTime, "flush_ns": mapTime,
	"read_merges": mapCount, "write_merges": mapCount, "discard_merges": mapCount,
	"total_ios": mapCount, "total_bytes": mapBytes, "total_ns": mapTime,
	"in_flight_ns": mapTime, "busy_ns": mapShare,
}

var evidenceFields = map[string]int{"host": mapText, "device": mapText, "name": mapText, "text": mapText, "value": mapCount}

func (m *Mapping) fields() map[string]int {
	switch m.Made() {
	case RecordSample:
		return sampleFields
	case RecordEvidence:
		return evidenceFields
	}
	return eventFields
}

var byteUnits = map[string]int64{
	"": 1, "B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
	"sectors": 512, "Kbit": 125, "Mbit": 125_000, "Gbit": 125_000_000,
}

var timeUnits = map[string]int64{"ns": 1, "100ns": 100, "us": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9, "h": 3600e9}

// UnitOf is how many base units (ns, bytes) one of a field is. A unit of bytes
// may also be a number: the bytes of a block.
func (m *Mapping) UnitOf(field string) (float64, error) {
	f := m.Fields[field]
	unit := func(known map[string]int64, words string) (float64, error) {
		if v, ok := known[f.Unit]; ok {
			return float64(v), nil
		}
		return 0, fmt.Errorf("unit %q: want %s", f.Unit, words)
	}
	kind := m.fields()[field]
	switch {
	case kind == mapBytes:
		if n, err := strconv.ParseInt(f.Unit, 10, 32); err == nil && n > 0 {
			return float64(n), nil
		}
		return unit(byteUnits, "B, KB, KiB, MB, MiB, GB, GiB, TB, TiB, sectors, Kbit, Mbit, Gbit or the bytes of a block")
	case kind == mapShare && f.As == "mean", field == "in_flight_ns" && f.As == "mean":
		switch f.Unit {
		case "":
			return 1, nil
		case "percent":
			return 0.01, nil
		}
		return 0, fmt.Errorf("unit %q: want none or percent", f.Unit)
	case kind == mapTime || kind == mapShare:
		return unit(timeUnits, "ns, us, ms, s, min or h")
	}
	if f.Unit != "" {
		return 0, fmt.Errorf("unit %q: the field %s has none", f.Unit, field)
	}
	return 1, nil
}

// TimeUnit is how many ns one of the time column is.
func (m *Mapping) TimeUnit() int64 {
	if m.Time.Unit == "" {
		return 1e9
	}
	return timeUnits[m.Time.Unit]
}

// OriginUnits is what a number of the time column at 1970 would be less, in its
// own unit: 0 unless another origin is set.
func (m *Mapping) OriginUnits() (int64, error) {
	if m.Time.Origin == "" {
		return 0, nil
	}
	for _, layout := range []string{time.DateOnly, time.DateTime, time.RFC3339} {
		if t, err := time.Parse(layout, m.Time.Origin); err == nil {
			unit := m.TimeUnit()
			if unit > 1e9 || t.Year() > 2200 || unit == 1 && (t.Year() < 1700 || t.Year() > 2200) {
				return 0, fmt.Errorf("origin %q is too far off for the unit", m.Time.Origin)
			}
			return t.Unix() * (1e9 / unit), nil
		}
	}
	return 0, fmt.Errorf("origin %q is no date (2006-01-02)", m.Time.Origin)
}

// Separator is the delimiter, ' ' for runs of blanks.
func (m *Mapping) Separator() byte {
	switch {
	case m.Sep == "blanks":
		return ' '
	case m.Sep == "tab", m.Sep == `\t`, m.Sep == "" && m.Layout == "tsv":
		return '\t'
	case m.Sep == "":
		return ','
	}
	return m.Sep[0]
}

// MappingError is what is wrong with a mapping: the key, below that of the
// mapping, and the words.
type MappingError struct {
	Key []string
	Err error
}

func (e MappingError) Error() string { return strings.Join(e.Key, ".") + ": " + e.Err.Error() }

func (e MappingError) Unwrap() error { return e.Err }

// Validate gives everything that is wrong with a mapping, joined; each is a
// MappingError.
func (m *Mapping) Validate() error {
	var all []error
	bad := func(key, format string, args ...any) {
		all = append(all, MappingError{Key: strings.Split(key, "."), Err: fmt.Errorf(format, args...)})
	}
	oneOf := func(key, v string, words ...string) {
		if !slices.Contains(words, v) {
			bad(key, "%q is none of %s", v, strings.TrimPrefix(strings.Join(words, ", "), ", "))
		}
	}
	if m.Name == "" || strings.ContainsFunc(m.Name, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_' }) {
		bad("name", "%q is not lower-case letters, digits and dashes", m.Name)
	}
	oneOf("layout", m.Layout, "csv", "tsv", "jsonl", "parquet")
	oneOf("decimal", m.Decimal, "", ".", ",")
	oneOf("record", m.Record, "", RecordEvent, RecordSample, RecordEvidence)
	text := m.Layout == "csv" || m.Layout == "tsv"
	switch {
	case m.Sep != "" && !text:
		bad("delimiter", "a %s has none", m.Layout)
	case len(m.Sep) > 1 && m.Sep != "blanks" && m.Sep != "tab" && m.Sep != `\t`, m.Sep == `"`, m.Sep == "\n":
		bad("delimiter", "%q is not one character, tab or blanks", m.Sep)
	case m.Decimal == "," && text && m.Separator() == ',':
		bad("decimal", "a comma can't stand both between columns and before decimals")
	}
	if m.Path != "" {
		if _, err := filepath.Match(m.Path, "x"); err != nil {
			bad("path", "%q is no glob", m.Path)
		}
	}
	if len(m.Columns) > 0 && !text {
		bad("columns", "a %s names its columns itself", m.Layout)
	}
	if len(m.Columns) > 0 && len(m.Header) > 0 {
		bad("columns", "names are given where there is no header, and a header is asked for")
	}
	m.validateTime(bad, oneOf)
	m.validateFields(bad, oneOf)
	return errors.Join(all...)
}

func (m *Mapping) validateTime(bad func(key, format string, args ...any), oneOf func(key, v string, words ...string)) {
	t := &m.Time
	if t.Column == "" {
		bad("time.column", "say which column is the time")
	}
	m.column("time.column", t.Column, bad)
	oneOf("time.unit", t.Unit, "", "ns", "100ns", "us", "ms", "s")
	oneOf("time.base", t.Base, "", "epoch", "boot", "relative")
	if m.Made() == RecordEvent {
		oneOf("time.at", t.At, "", "completion", "start")
	} else {
		oneOf("time.at", t.At, "", "end", "start")
	}
	if _, err := time.LoadLocation(t.Zone); err != nil {
		bad("time.zone", "%q is no time zone", t.Zone)
	}
	if _, err := m.OriginUnits(); err != nil {
		bad("time.origin", "%w", err)
	}
	if t.Format != "" && (t.Unit != "" || t.Origin != "") {
		bad("time.format", "a date has no unit and no origin")
	}
	switch t.Format {
	case "", "iso", "date":
	default:
		if !strings.ContainsAny(t.Format, "12345670") {
			bad("time.format", "%q: want iso, date or a layout such as 02/01/2006 15:04:05", t.Format)
		}
	}
}

// column complains of a column that the list of names lacks.
func (m *Mapping) column(key, name string, bad func(key, format string, args ...any)) {
	if name != "" && len(m.Columns) > 0 && !slices.Contains(m.Columns, name) {
		bad(key, "there is no column %q in columns", name)
	}
}

func (m *Mapping) validateFields(bad func(key, format string, args ...any), oneOf func(key, v string, words ...string)) {
	known := m.fields()
	for _, name := range sortedKeys(m.Fields) {
		f, key := m.Fields[name], "fields."+name
		kind, ok := known[name]
		if !ok {
			bad(key, "a record of kind %s has no such field; there are: %s", m.Made(), strings.Join(sortedKeys(known), ", "))
			continue
		}
		if (f.Column == "") == (f.Value == "") {
			bad(key, "say either column or value")
		}
		m.column(key+".column", f.Column, bad)
		if f.Prefix != "" && kind != mapText {
			bad(key+".prefix", "only a text has one")
		}
		if _, err := m.UnitOf(name); err != nil {
			bad(key+".unit", "%w", err)
		}
		if f.Value != "" && kind != mapText && !(name == "op" || name == "interval") {
			bad(key+".value", "only a text, op and interval may be the same in all rows")
		}
		if m.Made() == RecordSample && kind != mapText && name != "interval" {
			oneOf(key+".as", f.As, "", "sum", "rate", "mean")
		} else if f.As != "" {
			bad(key+".as", "only the counters of samples have one")
		}
	}
	need := func(names ...string) {
		for _, n := range names {
			if _, ok := m.Fields[n]; !ok {
				bad("fields", "a record of kind %s needs %s", m.Made(), n)
			}
		}
	}
	switch m.Made() {
	case RecordEvent:
		need("device")
		if _, ok := m.Fields["latency"]; !ok {
			if _, ok := m.Fields["end"]; !ok && m.LatencyKind != "" {
				bad("latency_kind", "there is no latency")
			}
		}
		if _, ok := m.Fields["end"]; ok && m.Time.At != "start" {
			bad("fields.end", "it is the completion, so time.at must be start")
		}
		oneOf("latency_kind", m.LatencyKind, "", "q2c", "d2c", "syscall", "app")
	case RecordSample:
		need("device", "interval")
	case RecordEvidence:
		if len(m.Facts) == 0 {
			need("name", "value")
		}
	}
	if m.Made() != RecordEvent && m.LatencyKind != "" {
		bad("latency_kind", "only events have one")
	}
	if len(m.Facts) > MaxMappedFacts {
		bad("facts", "%d are more than %d", len(m.Facts), MaxMappedFacts)
	}
	if len(m.Facts) > 0 && m.Made() != RecordEvidence {
		bad("facts", "only evidence has them")
	}
	for i, f := range m.Facts {
		key := "facts." + strconv.Itoa(i)
		if f.Column == "" {
			bad(key, "say column")
		}
		m.column(key+".column", f.Column, bad)
	}
	seen := map[string]bool{}
	words := m.Ops.Words()
	for op, list := range words {
		for _, w := range list {
			if w = strings.ToLower(w); seen[w] {
				bad("ops."+Op(op).String(), "%q stands twice", w)
			}
			seen[w] = true
		}
	}
}

// MaxMappedFacts is the most facts of a row.
const MaxMappedFacts = 64

func sortedKeys[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
