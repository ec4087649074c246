package formats

import (
	"bytes"
	"fmt"
	"time"

	"github.com/iopathy/iopathy/ingest"
)

// CounterLog reads counters and other figures in general form, a figure per
// line, as CSV with a header that names the columns in any order
//
//	time,host,device,name,value
//	2026-11-29T12:20:29.5Z,web1,sda,link_errors,12
//
// or as JSON lines with the same keys. time is an ISO 8601 date or seconds since
// the epoch (whole ms, us and ns are told by their digits), time_ns nanoseconds.
// host, device and text may be absent or empty; other columns are passed over.
// The separator may be a comma, a semicolon or a tab; with the latter two a number
// may have a decimal comma. A value that is empty, null or NaN is no figure and
// counts as unpaired. All is evidence as it stands: a counter stays one.
var CounterLog = ingest.Register(ingest.Format{
	Name:  "counters",
	Doc:   "figures in general form: CSV with time,host,device,name,value, or JSON lines",
	Kind:  ingest.KindNone,
	Needs: "the columns time (or time_ns), name and value; a host where no column names one; zone of times without one",
	Lacks: "single I/Os; what the figures mean",
	Sniff: sniffCounterLog,
	Line: func(src *ingest.Source) (ingest.LineDecoder, error) {
		stamps, err := newIOStamps(src)
		if err != nil {
			return nil, fmt.Errorf("counters: %w", err)
		}
		d := &counterLog{host: []byte(src.Host), zone: stamps.zone, sep: ','}
		if d.columns, d.sep = counterHeader(firstLine(src.Head)); d.columns == nil {
			d.columns, d.sep = []counterColumn{counterTime, counterHost, counterDevice, counterName, counterValue}, ','
		}
		return d, nil
	},
})

// counterColumn is what a column, or a key, holds.
type counterColumn uint8

const (
	counterOther counterColumn = iota
	counterTime
	counterTimeNS
	counterHost
	counterDevice
	counterName
	counterValue
	counterText
	counterColumns
)

func counterKey(b []byte) counterColumn {
	switch string(b) {
	case "time":
		return counterTime
	case "time_ns":
		return counterTimeNS
	case "host":
		return counterHost
	case "device":
		return counterDevice
	case "name":
		return counterName
	case "value":
		return counterValue
	case "text":
		return counterText
	}
	return counterOther
}

// firstLine is the first line of head that is neither blank nor a comment.
func firstLine(head []byte) []byte {
	for line := range bytes.Lines(head) {
		if line = bytes.TrimRight(line, "\r\n \t"); len(line) > 0 && line[0] != '#' {
			return line
		}
	}
	return nil
}

func sniffCounterLog(head []byte, _ string) int {
	line := firstLine(head)
	if len(line) > 0 && line[0] == '{' {
		var row counterRow
		if _, reason := row.json(line); reason == "" && row.has[counterName] && row.has[counterValue] && (row.has[counterTime] || row.has[counterTimeNS]) {
			return 2
		}
		return 0
	}
	if columns, _ := counterHeader(line); columns != nil {
		return 2
	}
	return 0
}

// counterHeader reads a header; nil if it is none or has a column twice.
func counterHeader(line []byte) (columns []counterColumn, sep byte) {
	if !bytes.Contains(line, []byte("value")) {
		return nil, ','
	}
	sep = ','
	for _, c := range []byte{';', '\t'} {
		if bytes.IndexByte(line, sep) < 0 && bytes.IndexByte(line, c) >= 0 {
			sep = c
		}
	}
	var has [counterColumns]bool
	for _, cell := range bytes.Split(line, []byte{sep}) {
		c := counterKey(bytes.Trim(cell, "\" \t"))
		if c != counterOther && has[c] {
			return nil, ','
		}
		has[c] = true
		columns = append(columns, c)
	}
	if !has[counterName] || !has[counterValue] || has[counterTime] == has[counterTimeNS] {
		return nil, ','
	}
	return columns, sep
}

type counterLog struct {
	host    []byte
	zone    *time.Location
	columns []counterColumn
	sep     byte
}

// counterRow is a line's cells.
type counterRow struct {
	cell [counterColumns][]byte
	has  [counterColumns]bool
}

func (d *counterLog) Line(line []byte, out *ingest.Out) {
	b := trimBlanks(line)
	if len(b) == 0 || b[0] == '#' {
		out.Note()
		return
	}
	reason := ""
	if b[0] == '{' {
		reason = d.objects(b, out)
	} else {
		var row counterRow
		if reason = row.csv(line, d.columns, d.sep); reason == "" {
			reason = d.row(&row, d.sep != ',', out)
		}
		if reason != "" && counterIsHeader(line) {
			out.Note()
			return
		}
	}
	switch reason {
	case "":
		out.Count(ingest.FateEvent, "", 1)
	case counterNoFigures:
		out.Count(ingest.FateUnpaired, reason, 1)
	default:
		out.Reject(line, reason)
	}
}

const counterNoFigures = "no-figures"

// objects takes the objects of a line: several, where writers were not in step. The
// line's fate is that of the first that is wrong.
func (d *counterLog) objects(b []byte, out *ingest.Out) (reason string) {
	for len(b) > 0 {
		var row counterRow
		rest, why := row.json(b)
		if why == "" {
			why = d.row(&row, true, out)
		}
		if reason == "" {
			reason = why
		}
		b = rest
	}
	return reason
}

func counterIsHeader(line []byte) bool {
	columns, _ := counterHeader(line)
	return columns != nil
}

// row adds what a row says; comma says that it may have a decimal comma.
func (d *counterLog) row(row *counterRow, comma bool, out *ingest.Out) (reason string) {
	var e ingest.Evidence
	ok := false
	if row.has[counterTimeNS] {
		var end int
		cell := row.cell[counterTimeNS]
		e.TimeNS, end = scanDigits(cell, 0)
		ok = end > 0 && end == len(cell) && e.TimeNS >= 0 && e.TimeNS <= csvLastNS
	} else if e.TimeNS, ok = epochTime(row.cell[counterTime]); !ok {
		e.TimeNS, ok = isoTime(row.cell[counterTime], d.zone)
	}
	value := row.cell[counterValue]
	switch {
	case !ok:
		return "bad-time"
	case len(row.cell[counterName]) == 0:
		return "no-name"
	case len(value) == 0 || isNoFigure(value) || string(value) == "null":
		return counterNoFigures
	}
	if e.Value, ok = counterNumber(value, comma); !ok {
		return "bad-value"
	}
	host := row.cell[counterHost]
	if len(host) == 0 {
		host = d.host
	}
	e.Host, e.Device = out.Names.Intern(host), out.Names.Intern(row.cell[counterDevice])
	e.Name, e.Text = out.Names.Intern(row.cell[counterName]), out.Names.Intern(row.cell[counterText])
	out.Fact(e)
	return ""
}

// counterNumber reads a number; comma says that it may have a decimal comma.
func counterNumber(b []byte, comma bool) (float64, bool) {
	if x, ok := shortFigure(b, '.'); ok {
		return x, true
	}
	switch string(b) {
	case "true":
		return 1, true
	case "false":
		return 0, true
	}
	if i := bytes.IndexByte(b, ','); i >= 0 {
		if !comma || len(b) > 40 || bytes.IndexByte(b, '.') >= 0 {
			return 0, false
		}
		var mem [40]byte
		b = append(mem[:0], b...)
		b[i] = '.'
	}
	for _, c := range b {
		if !isDecimal(c) && c != '.' && c != '-' && c != '+' && c|0x20 != 'e' {
			return 0, false // what ParseFloat takes besides: hexadecimal, 1_000
		}
	}
	return parseFloat(b)
}

// csv cuts a line into its cells.
func (r *counterRow) csv(line []byte, columns []counterColumn, sep byte) string {
	i := 0
	for n, c := range columns {
		if n > 0 {
			if i >= len(line) || line[i] != sep {
				return "few-columns"
			}
			i++
		}
		var cell []byte
		if i < len(line) && line[i] == '"' {
			from := i + 1
			doubled := false
			for i++; ; i++ {
				if i >= len(line) {
					return "torn-quote"
				}
				if line[i] == '"' {
					if i+1 < len(line) && line[i+1] == '"' {
						doubled = true
						i++
						continue
					}
					break
				}
			}
			cell = line[from:i]
			if doubled {
				cell = bytes.ReplaceAll(cell, []byte(`""`), []byte(`"`))
			}
			i++
		} else {
			from := i
			for i < len(line) && line[i] != sep { // cells are short: a loop beats a search by blocks
				i++
			}
			if cell = line[min(from, i):i]; len(cell) > 0 && (isBlank(cell[0]) || isBlank(cell[len(cell)-1])) {
				cell = trimBlanks(cell)
			}
		}
		r.cell[c], r.has[c] = cell, true
	}
	if i < len(line) {
		return "many-columns"
	}
	return ""
}

// json takes the keys of the object that b begins with, and gives what stands behind
// it. What lies deeper is passed over. A comma between two digits is a decimal one.
func (r *counterRow) json(b []byte) (rest []byte, reason string) {
	depth, i := 0, 0
	var key []byte
	hasKey := false
	for i < len(b) {
		switch c := b[i]; c {
		case '{', '[':
			depth++
			hasKey = false
			i++
		case '}', ']':
			depth--
			hasKey = false
			i++
			if depth > 0 {
				continue
			}
			rest = bytes.TrimLeft(b[i:], ", \t")
			if len(rest) > 0 && rest[0] != '{' {
				return nil, "text-behind-object"
			}
			return rest, ""
		case ' ', '\t', ',', ':':
			i++
		case '"':
			s, n, _ := jsonString(b[i:])
			if n == 0 {
				return nil, "torn-object"
			}
			i += n
			if hasKey {
				r.put(depth, key, s, true)
				hasKey = false
				continue
			}
			for i < len(b) && isBlank(b[i]) {
				i++
			}
			if i < len(b) && b[i] == ':' {
				key, hasKey = s, true
				i++
			}
		default:
			from := i
			for i < len(b) && (!fioEnds(b[i]) || b[i] == ',' && depth == 1 && i+1 < len(b) && isDecimal(b[i+1])) {
				i++
			}
			if hasKey {
				r.put(depth, key, b[from:i], false)
				hasKey = false
			}
		}
	}
	return nil, "torn-object"
}

func (r *counterRow) put(depth int, key, v []byte, text bool) {
	c := counterKey(key)
	if depth != 1 || c == counterOther {
		return
	}
	if !text && string(v) == "null" && c != counterValue {
		v = nil
	}
	if text {
		v = jsonUnescaped(v)
	}
	r.cell[c], r.has[c] = v, true
}
