package formats

import (
	"bytes"
	"fmt"

	"github.com/iopathy/iopathy/ingest"
)

// SadfJSON reads sysstat's sadf -j, whole, cut off, minified or with words
// around it. A line's fate is event if at least one sample ends in it, rejected
// if only bad device objects do; all other lines are notes.
var SadfJSON = ingest.Register(ingest.Format{
	Name:  "sadf-json",
	Doc:   "sysstat sadf -j, device tables (-- -d)",
	Kind:  ingest.KindSample,
	Needs: "zone of stamps that are not UTC (-t, -T)",
	Lacks: "single I/Os, offsets, processes, errors; reads and writes apart, but for their bytes; flushes, merges; how devices stack; " +
		"tables but that of devices, restarts and comments are notes",
	Sniff: sniffSadfJSON,
	Stream: func(src *ingest.Source) (ingest.StreamDecoder, error) {
		d := &sadfJSON{names: ioNames{columns: sarColumns}}
		d.flow.commas = true
		var err error
		if d.stamps, err = newIOStamps(src); err == nil {
			d.reports, err = newIOReports(src, d.account)
		}
		if err != nil {
			return nil, fmt.Errorf("sadf-json: %w", err)
		}
		d.reports.keepFirst = true
		return d, nil
	},
})

func sniffSadfJSON(head []byte, _ string) int {
	has := func(key string) bool { return bytes.Contains(head, []byte(key)) }
	switch {
	case has(`"disk_device"`): // iostat -o JSON
		return 0
	case has(`"disk-device"`), has(`"sysstat"`) && (has(`"file-date"`) || has(`"sysdata-version"`)):
		return 2
	}
	return 0
}

// sadfJSON is the state between two tokens.
type sadfJSON struct {
	reports ioReports
	stamps  ioStamps
	flow    jsonFlow

	row    ioRow
	device bool // the open object is a device's
	stamp  bool // the open object is a timestamp
	date   []byte
	clock  []byte
	utc    bool
	second int64
	timed  bool // the stamp of the statistics in hand is known
	named  []byte
	names  ioNames `state:"-"`

	rowLines
}

func (d *sadfJSON) Decode(block []byte, final bool, out *ingest.Out) int {
	i := 0
	for i < len(block) {
		room := len(block) + 1
		if out.Limit > 0 {
			left := out.Limit - out.Position - int64(i)
			if left <= 0 {
				break
			}
			room = int(min(left, int64(room)))
		}
		t, n := d.flow.next(block[i:], final, room)
		if n == 0 && t == jsonNothing {
			break
		}
		switch t {
		case jsonLine:
			d.endLine(out)
		case jsonKey:
			if string(d.flow.key) == "statistics" {
				d.timed = false
			}
		case jsonText:
			d.text(d.flow.text, out)
		case jsonNumber:
			d.number(d.flow.text)
		case jsonOpen:
			if d.device {
				d.endRow("torn", int64(i), out)
			}
			d.device = false
			if d.flow.sign == '{' {
				d.row = ioRow{}
				if d.stamp = string(d.flow.key) == "timestamp"; d.stamp {
					d.date, d.clock, d.utc, d.second = d.date[:0], d.clock[:0], false, -1
				}
				d.flow.key = d.flow.key[:0]
			}
		case jsonClose:
			d.closed(int64(i), out)
		}
		if t != jsonLine && n > 0 {
			d.bytes++
		}
		i += n
	}
	return i
}

func (d *sadfJSON) closed(at int64, out *ingest.Out) {
	switch {
	case d.flow.sign == ']':
	case d.stamp:
		d.begin(out)
	case d.device:
		d.endRow(d.row.reason, at, out)
	}
	if d.flow.sign == '}' {
		d.device, d.stamp, d.row = false, false, ioRow{}
		d.flow.key = d.flow.key[:0]
	}
}

// begin begins the report of a timestamp.
func (d *sadfJSON) begin(out *ingest.Out) {
	d.reports.close(out)
	b := append(append(d.date, ' '), d.clock...)
	if d.utc {
		b = append(b, 'Z')
	}
	d.date = b
	ns, ok := isoTime(b, d.stamps.zone)
	if d.timed = ok && d.second > 0 && d.second <= 366*86400; d.timed {
		d.reports.period, d.reports.hasPrev = max(100*d.second, 1), false
		d.reports.stamp(ns, out)
	}
}

// text takes a key's string.
func (d *sadfJSON) text(s []byte, out *ingest.Out) {
	switch key := string(d.flow.key); {
	case d.stamp && key == "date":
		d.date = append(d.date[:0], s...)
	case d.stamp && key == "time":
		d.clock = append(d.clock[:0], s...)
	case d.stamp && key == "tz":
		d.utc = string(s) == "UTC" || string(s) == "GMT"
	case d.stamp:
		d.number(s)
	case key == "nodename":
		d.reports.close(out)
		d.reports.host, d.timed = string(s), false
	case key == "disk-device":
		d.named = sarDevice(s, d.named[:0])
		d.row.device, d.device = d.reports.name(d.named), len(s) > 0
	default:
		d.number(s)
	}
}

// number takes a key's number, or what stands in its place.
func (d *sadfJSON) number(b []byte) {
	if d.stamp {
		v, end := scanDigits(b, 0)
		switch string(d.flow.key) {
		case "utc":
			d.utc = string(b) == "1"
		case "interval":
			if end == len(b) && end > 0 {
				d.second = v
			}
		}
		return
	}
	c, ok := d.names.find(d.flow.key)
	if !ok || c.field == ioOther || string(b) == "null" {
		return
	}
	x, reason := parseIOValue(b, c)
	switch {
	case reason != "":
		d.row.reason = reason
	case !x.known():
	case !d.row.values[c.field].known() || x.half < d.row.values[c.field].half: // sectors are finer than KiB
		d.row.values[c.field] = x
	}
}

// endRow ends a device's object.
func (d *sadfJSON) endRow(reason string, at int64, out *ingest.Out) {
	d.rows++
	if reason == "" && !d.timed {
		reason = "bad-time"
	}
	d.row.reason, d.row.lines = reason, 1
	d.row.position, d.row.lineno = out.Position+at, d.flow.lineno+1
	if reason != "" {
		d.row.text = fmt.Appendf(nil, `"disk-device": %.150q`, d.row.device)
		if !d.timed { // no report that it could wait in
			d.account(out, &d.row, ingest.FateRejected, reason)
			return
		}
	}
	d.reports.add(&d.row, out)
}

func (d *sadfJSON) End(out *ingest.Out) {
	if d.device && d.bytes > 0 { // else its lines ended as notes
		d.endRow("torn", 0, out)
	}
	if d.bytes > 0 {
		d.endLine(out)
	}
	d.reports.flush(out)
	d.settleLine(out)
}
