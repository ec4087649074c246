package formats

import (
	"bytes"
	"fmt"

	"github.com/iopathy/iopathy/ingest"
)

// SadfCSV reads sysstat's sadf -d (any version, -h, -t, -T, -U) and sadf -p: a
// host, an interval in seconds, a stamp, and either a table's columns behind a
// header or one metric. Both separate by the ";" or the tab that the line has.
// The interval is printed in whole seconds; the hundredths are found as for
// iostat, by the rates that must come out whole.
var SadfCSV = ingest.Register(ingest.Format{
	Name:  "sadf-csv",
	Doc:   "sysstat sadf -d and sadf -p, device tables (-- -d)",
	Kind:  ingest.KindSample,
	Needs: "the # header of each table (sadf -d); zone of stamps that are not UTC (-t, -T)",
	Lacks: "single I/Os, offsets, processes, errors; reads and writes apart, but for their bytes; flushes, merges; how devices stack; " +
		"tables but that of devices, restarts and comments are notes",
	Sniff: sniffSadfCSV,
	Lines: func(src *ingest.Source) (ingest.LinesDecoder, error) {
		d := &sadfCSV{names: ioNames{columns: sarColumns}}
		var err error
		if d.stamps, err = newIOStamps(src); err == nil {
			d.reports, err = newIOReports(src, accountText)
		}
		if err != nil {
			return nil, fmt.Errorf("sadf-csv: %w", err)
		}
		d.reports.keepFirst = true
		return d, nil
	},
})

func sniffSadfCSV(head []byte, _ string) int {
	c := sadfCSV{stamps: ioStamps{zone: utcZone}}
	good, other := 0, 0
	for line := range bytes.Lines(head) {
		line = bytes.TrimRight(line, "\r\n")
		switch {
		case len(line) == 0:
		case isSadfHeader(line):
			return 2
		case len(c.cut(line)) >= 4:
			_, _, ok := c.when()
			if restart := c.restart(); ok || restart {
				good++
			} else {
				other++
			}
		default:
			other++
		}
	}
	// The stamp must be one of sadf's: an interval before it, and for -p a
	// metric and a value behind it.
	if good > 0 && good > other {
		return 2
	}
	return 0
}

func isSadfHeader(line []byte) bool {
	if line[0] != '#' && line[0] != 'h' {
		return false
	}
	b := bytes.TrimLeft(line, "# ")
	return bytes.HasPrefix(b, []byte("hostname;interval;timestamp"))
}

// maxSadfFields bounds the fields of a line: sadf -h puts all devices into one.
const maxSadfFields = 4096

type sadfCSV struct {
	reports ioReports
	stamps  ioStamps
	cols    []ioColumn
	table   bool // the header in force is that of devices
	many    bool // -h: the columns repeat
	host    []byte
	second  int64
	stampNS int64
	begun   bool
	fields  [][]byte
	device  []byte
	names   ioNames `state:"-"`

	same, span          []byte // the last stamp and interval as text, and what they mean
	sameSeconds, sameNS int64

	row    ioRow // -p: the device whose metrics come line by line
	open   bool
	metric uint64 // those seen
}

// cut splits a line at ";", or at tabs.
func (d *sadfCSV) cut(line []byte) [][]byte {
	sep := byte(';')
	if bytes.IndexByte(line, ';') < 0 {
		sep = '\t'
	}
	d.fields = cutAt(line, sep, d.fields, maxSadfFields+1)
	return d.fields
}

// when reads the interval, in seconds, and the stamp of the fields that were cut.
func (d *sadfCSV) when() (seconds, ns int64, ok bool) {
	f := d.fields
	if len(d.same) > 0 && bytes.Equal(d.same, f[2]) && bytes.Equal(d.span, f[1]) { // most lines share theirs
		return d.sameSeconds, d.sameNS, true
	}
	seconds, end := scanDigits(f[1], 0)
	if end == 0 || end != len(f[1]) || seconds < 0 || seconds > 366*86400 {
		return 0, 0, false
	}
	if ns, ok = isoTime(f[2], d.stamps.zone); !ok {
		ns, ok = epochTime(f[2])
	}
	if ok {
		d.same, d.span = append(d.same[:0], f[2]...), append(d.span[:0], f[1]...)
		d.sameSeconds, d.sameNS = seconds, ns
	}
	return seconds, ns, ok
}

func (d *sadfCSV) restart() bool { return string(d.fields[1]) == "-1" }

func (d *sadfCSV) Line(line []byte, out *ingest.Out) {
	switch {
	case len(line) == 0:
		out.Note()
		return
	case isSadfHeader(line):
		d.close(out)
		d.header(line)
		out.Note()
		return
	case line[0] == '#':
		out.Note()
		return
	}
	f := d.cut(line)
	switch {
	case len(f) >= 4 && d.restart():
		d.close(out)
		d.begun = false
		out.Note()
		return
	case len(f) < 4 || len(f) >= maxSadfFields:
		out.Reject(line, "columns")
		return
	}
	seconds, ns, ok := d.when()
	switch {
	case !ok:
		out.Reject(line, "bad-time")
		return
	case seconds == 0: // less than half of one: over which its rates are is not told
		out.Reject(line, "no-interval")
		return
	}
	if bytes.IndexByte(line, ';') < 0 {
		d.metricLine(f, seconds, ns, line, out)
		return
	}
	switch {
	case d.table:
		d.deviceLine(f, seconds, ns, line, out)
	case d.cols == nil: // no header yet: of which table?
		out.Reject(line, "no-header")
	default:
		out.Note()
	}
}

// header takes the columns of the table that follows.
func (d *sadfCSV) header(line []byte) {
	f := d.cut(line)
	last := len(f) - 1
	d.many = false
	if name, ok := bytes.CutSuffix(f[last], []byte("[...]")); ok {
		f[last], d.many = name, true
	}
	d.table = len(f) > 4 && string(f[3]) == "DEV"
	d.cols = d.cols[:0]
	if d.cols == nil {
		d.cols = make([]ioColumn, 0, 16)
	}
	if !d.table {
		return
	}
	for _, name := range f[4:] {
		c, ok := sarColumns[string(bytes.TrimSpace(name))]
		if !ok {
			c = ioColumn{field: ioOther, unit: 1}
		}
		d.cols = append(d.cols, c)
	}
}

// at begins the report of a host's interval, if that is not the one in hand.
func (d *sadfCSV) at(host []byte, seconds, ns int64, out *ingest.Out) {
	if d.begun && ns == d.stampNS && seconds == d.second && bytes.Equal(host, d.host) {
		return
	}
	d.reports.close(out)
	if d.reports.host == "" || !bytes.Equal(host, d.host) {
		d.host = append(d.host[:0], host...)
		d.reports.host = string(host)
	}
	d.begun, d.second, d.stampNS = true, seconds, ns
	d.reports.period, d.reports.hasPrev = max(100*seconds, 1), false
	d.reports.stamp(ns, out)
}

// deviceLine reads a line of the table of devices.
func (d *sadfCSV) deviceLine(f [][]byte, seconds, ns int64, line []byte, out *ingest.Out) {
	n := len(d.cols) + 1
	v := f[3:]
	if len(v) != n && !(d.many && len(v)%n == 0) {
		out.Reject(line, "columns")
		return
	}
	d.at(f[0], seconds, ns, out)
	for i := 0; i < len(v); i += n {
		r := d.reports.slot(out)
		reason := sarValues(r, v[i+1:i+n], d.cols)
		if reason == "" && len(v[i]) == 0 {
			reason = "columns"
		}
		if reason != "" {
			for k := 0; k <= i; k += n {
				d.reports.unslot()
			}
			out.Reject(line, reason)
			return
		}
		if i == 0 {
			r.lines = 1 // the line's one fate
		}
		d.device = sarDevice(v[i], d.device[:0])
		r.device, r.position, r.lineno = d.reports.name(d.device), out.Position, out.Lineno
	}
}

// metricLine reads a line of sadf -p: host, interval, stamp, device, metric, value.
func (d *sadfCSV) metricLine(f [][]byte, seconds, ns int64, line []byte, out *ingest.Out) {
	if len(f) < 6 {
		out.Reject(line, "columns")
		return
	}
	c, ok := d.names.find(f[4])
	if !ok || len(f[3]) == 0 {
		out.Note()
		return
	}
	x, reason := parseIOValue(f[5], c)
	if reason != "" {
		out.Reject(line, reason)
		return
	}
	host := trimBlanks(f[0])
	host = host[bytes.LastIndexByte(host, ' ')+1:] // hosts have no blanks: a stamp stands before it
	if !d.begun || ns != d.stampNS || seconds != d.second || !bytes.Equal(host, d.host) {
		d.close(out)
		d.at(host, seconds, ns, out)
	}
	d.device = sarDevice(f[3], d.device[:0])
	bit := uint64(1) << c.field
	if !d.open || d.row.device != string(d.device) || c.field != ioOther && d.metric&bit != 0 {
		d.endRow(out)
		d.row = ioRow{device: d.reports.name(d.device), position: out.Position, lineno: out.Lineno}
		d.open, d.metric = true, 0
	}
	d.row.lines++
	if c.field != ioOther {
		d.metric |= bit
		d.row.values[c.field] = x
	}
}

func (d *sadfCSV) endRow(out *ingest.Out) {
	if d.open {
		d.open = false
		d.reports.add(&d.row, out)
	}
}

func (d *sadfCSV) close(out *ingest.Out) {
	d.endRow(out)
	d.reports.close(out)
	d.begun = false
}

func (d *sadfCSV) End(out *ingest.Out) {
	d.close(out)
	d.reports.flush(out)
}
