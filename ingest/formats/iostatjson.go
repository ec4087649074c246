package formats

import (
	"bytes"
	"fmt"
	"math/bits"

	"github.com/iopathy/iopathy/ingest"
)

// IostatJSON reads iostat -o JSON. It reads a flow of keys and values rather
// than a tree, so that it takes minified text, many documents behind one
// another, words before and after them, and what real files lack: the end (a
// killed iostat), commas (-y before 12.1.5) or decimal points (a comma by the
// locale before 11.5.2).
//
// A line's fate is event if at least one sample ends in it, else that of its
// last device object: rejected, or note for a -g group. All other lines are
// notes.
var IostatJSON = ingest.Register(ingest.Format{
	Name: "iostat-json",
	Doc:  "sysstat iostat -o JSON, whole or cut off",
	Kind: ingest.KindSample,
	Needs: "-t stamps, else start_ns (times then count from 0) and interval (1s is taken unless the rates show another); " +
		"zone of stamps without offset (UTC is taken); first_report if it ran with -y and that can't be told from the rates",
	Lacks: "single I/Os, offsets, processes, errors; how devices stack; -g groups are notes; CPU figures are evidence (cpu_iowait_share), their lines notes; units before sysstat 12.2.1 may be wrong",
	Sniff: sniffIostatJSON,
	Stream: func(src *ingest.Source) (ingest.StreamDecoder, error) {
		d := &iostatJSON{lineno: 1, names: ioNames{columns: ioColumns}}
		var err error
		if d.stamps, err = newIOStamps(src); err == nil {
			d.reports, err = newIOReports(src, d.account)
		}
		if err != nil {
			return nil, fmt.Errorf("iostat-json: %w", err)
		}
		return d, nil
	},
})

func sniffIostatJSON(head []byte, _ string) int {
	switch {
	case bytes.Contains(head, []byte(`"sysdata-version"`)): // sadf -j
		return 0
	case bytes.Contains(head, []byte(`"disk_device"`)):
		return 2
	case bytes.Contains(head, []byte(`"sysstat"`)):
		return 1
	}
	return 0
}

// maxJSONString bounds a string; the longest of iostat is a device's name. A
// quote without an end within it, or before the line's end, is no string.
const maxJSONString = 4096

// iostatJSON is the state between two tokens.
type iostatJSON struct {
	reports ioReports
	stamps  ioStamps

	row    ioRow
	names  ioNames `state:"-"`
	device bool    // the open object is a device's
	cpu    bool    // the CPU figures are open
	cpuAt  int64
	str    []byte // the last string, until a colon makes it a key
	hasStr bool
	key    []byte
	value  bool // a key's value is next

	lineno int64
	rowLines
}

func (d *iostatJSON) Decode(block []byte, final bool, out *ingest.Out) int {
	i := 0
	for i < len(block) {
		if out.Limit > 0 && out.Position+int64(i) >= out.Limit {
			break
		}
		n := d.token(block[i:], final, int64(i), out)
		if n == 0 {
			break
		}
		i += n
	}
	return i
}

// token takes the next token of b, which begins at the offset at of the block;
// 0 says that it needs more bytes.
func (d *iostatJSON) token(b []byte, final bool, at int64, out *ingest.Out) int {
	c := b[0]
	d.bytes++ // more bytes of the token do not matter: the line is not empty
	switch {
	case c == ' ' || c == '\t': // a run of blanks at once
		n := 1
		for n < len(b) && b[n] == c {
			n++
		}
		return n
	case c == '\n':
		d.bytes--
		d.endLine(out)
		d.hasStr = false
		return 1
	case c == '"':
		s, n, more := jsonString(b)
		if more && !final {
			d.bytes--
			return 0
		}
		if n == 0 {
			return 1
		}
		if d.value {
			d.value = false
			d.text(s, out)
		} else {
			d.str, d.hasStr = append(d.str[:0], s...), true
		}
		return n
	case c == ':':
		if d.hasStr {
			d.hasStr = false
			d.key = append(d.key[:0], d.str...)
			d.value = true
			d.keyed(at, out)
		}
	case c == '{':
		if d.device {
			d.endRow("torn", at, out)
		}
		d.row, d.device, d.value, d.hasStr = ioRow{}, false, false, false
	case c == '}':
		d.cpu = false
		if d.device {
			d.endRow(d.row.reason, at, out)
		}
		d.row, d.device, d.value, d.hasStr = ioRow{}, false, false, false
	case c == '[' || c == ']':
		d.value, d.hasStr = false, false
	case d.value && (c == '-' || isLetter(c) || c >= '0' && c <= '9'):
		n, more := jsonScalar(b)
		if more && !final {
			d.bytes--
			return 0
		}
		d.value = false
		d.number(b[:n])
		return n
	}
	return 1
}

// jsonString gives the inside of a string and its length with the quotes; 0 if
// there is none, more if that depends on bytes that are not there. A letter behind
// the second quote says that it is the first of another string: what the first one
// began was cut off, and another document is glued to it.
func jsonString(b []byte) (s []byte, n int, more bool) {
	j := 1
	for j+8 <= len(b) && j < maxJSONString-8 { // eight bytes at once
		x := load8(b, j)
		stop := eights(x, bytes8x22) | eights(x, bytes8x5c) | eights(x, bytes8x0a)
		if stop == 0 {
			j += 8
			continue
		}
		j += bits.TrailingZeros64(stop)
		break
	}
	for ; j < len(b) && j <= maxJSONString; j++ {
		switch b[j] {
		case '\n':
			return nil, 0, false
		case '\\':
			j++
			if j < len(b) && b[j] == '\n' {
				return nil, 0, false
			}
		case '"':
			if j+1 < len(b) && isLetter(b[j+1]) {
				return nil, 0, false
			}
			return b[1:j], j + 1, j+1 == len(b)
		}
	}
	return nil, 0, len(b) <= maxJSONString
}

// jsonScalar is the length of a number or word. A comma belongs to it if a digit
// stands on both sides: a decimal comma.
func jsonScalar(b []byte) (n int, more bool) {
	comma := false
	for n < len(b) && n < 64 {
		c := b[n]
		switch {
		case c >= '0' && c <= '9' || c == '.' || c == '-' || c == '+' || isLetter(c):
		case c == ',' && !comma:
			if n+1 == len(b) {
				return n, true
			}
			if b[n+1] < '0' || b[n+1] > '9' {
				return n, false
			}
			comma = true
		default:
			return n, false
		}
		n++
	}
	return n, n < 64
}

// keyed acts on keys that matter before their value.
func (d *iostatJSON) keyed(at int64, out *ingest.Out) {
	switch string(d.key) {
	case "statistics":
		d.reports.run(d.reports.host, out)
	case "avg-cpu":
		d.reports.cpuBlock(out)
		d.cpu, d.cpuAt = true, out.Position+at
	case "disk":
		d.cpu = false
		d.reports.header(1, out)
	}
}

// text takes a key's string.
func (d *iostatJSON) text(s []byte, out *ingest.Out) {
	switch string(d.key) {
	case "nodename":
		d.reports.run(string(s), out)
	case "date":
		d.stamps.banner(s)
	case "timestamp":
		if ns, ok := d.stamps.parse(s); ok {
			d.reports.stamp(ns, out)
		} else if ns, ok := d.stamps.inWords(s); ok {
			d.reports.stamp(ns, out)
		} else {
			d.reports.close(out)
		}
	case "disk_device":
		name := bytes.TrimLeft(jsonUnescaped(s), " ")
		d.row.group = len(s) > 0 && s[0] == ' '
		d.row.device = d.reports.name(name)
		d.device = len(name) > 0
	default:
		d.number(s)
	}
}

// number takes a key's number, or what stands in its place.
func (d *iostatJSON) number(b []byte) {
	if !d.device && d.cpu {
		if name := cpuName(d.key); name != "" {
			if x, ok := percentShare(b); ok {
				d.reports.cur.shares.put(name, x)
				d.reports.cur.shares.position = d.cpuAt
			}
		}
		return
	}
	c, ok := d.names.find(d.key)
	if !ok || c.field == ioOther || string(b) == "null" {
		return
	}
	x, reason := parseIOValue(b, c)
	if reason != "" {
		d.row.reason = reason
		return
	}
	d.row.values[c.field] = x
}

// endRow ends a device's object.
func (d *iostatJSON) endRow(reason string, at int64, out *ingest.Out) {
	d.rows++
	d.row.reason, d.row.lines = reason, 1
	d.row.position, d.row.lineno = out.Position+at, d.lineno
	if reason != "" || d.reports.first() {
		d.row.text = fmt.Appendf(nil, `"disk_device": %.150q`, d.row.device)
	}
	d.reports.add(&d.row, out)
}

func (d *iostatJSON) endLine(out *ingest.Out) {
	d.rowLines.endLine(out)
	d.lineno++
}

func (d *iostatJSON) End(out *ingest.Out) {
	if d.device && d.bytes > 0 { // else its lines ended as notes
		d.endRow("torn", 0, out)
	}
	if d.bytes > 0 {
		d.endLine(out)
	}
	d.reports.flush(out)
	d.settleLine(out)
}
