package formats

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/iopathy/iopathy/ingest"
)

// Iostat reads the text of sysstat's iostat: any version and mix of options
// (-x, -s, -d, -k, -m, -t, -y, -z, -g, -h, --human, --pretty, --compact, --dec),
// in any locale. Columns are found by their header names, values by blanks.
// Which interval a report covers, and whether it is since boot, is settled by
// ioReports.
var Iostat = ingest.Register(ingest.Format{
	Name: "iostat",
	Doc:  "sysstat iostat text, all versions and options",
	Kind: ingest.KindSample,
	Needs: "-t stamps, else start_ns (times then count from 0) and interval (1s is taken unless the rates show another); " +
		"zone of the stamps (UTC is taken); first_report if it ran with -y and that can't be told from the rates",
	Lacks: "single I/Os, offsets, processes, errors; read and write latency apart before sysstat 10.0.4 and with -s, flushes before 12.3.1; " +
		"how devices stack (sda1 beside sda, dm-0 beside both: bytes count once in each); -g groups are notes; CPU lines are evidence (cpu_iowait_share)",
	Sniff: sniffIostat,
	Lines: func(src *ingest.Source) (ingest.LinesDecoder, error) { return newIostatText(src) },
})

func sniffIostat(head []byte, _ string) int {
	banner, cpu := false, false
	var space [maxIOTokens][]byte
	var esc []byte
	for line := range bytes.Lines(head) {
		line = plainLine(line, &esc)
		tok := cutFields(line, space[:0])
		switch {
		case len(tok) == 0:
		case isBanner(line):
			banner = true
		case string(tok[0]) == "avg-cpu:":
			cpu = true
		default:
			if _, known, _ := ioHeader(tok, nil); known >= 2 {
				return 2
			}
		}
	}
	if banner && cpu {
		return 1
	}
	return 0
}

// maxIOTokens bounds the fields of a line; no iostat prints half as many.
const maxIOTokens = 64

// ioHeader reads a table's header: its columns without the device's, appended to
// dst, how many of them are known, and whether the device's name comes last.
// known is 0 if the line is no header.
func ioHeader(tok [][]byte, dst []ioColumn) (cols []ioColumn, known int, last bool) {
	isDevice := func(b []byte) bool { return string(b) == "Device" || string(b) == "Device:" }
	names := tok
	switch {
	case len(tok) < 2 || len(tok) == maxIOTokens:
		return dst, 0, false
	case isDevice(tok[0]):
		names = tok[1:]
	case isDevice(tok[len(tok)-1]):
		names, last = tok[:len(tok)-1], true
	default:
		return dst, 0, false
	}
	for _, n := range names {
		c, ok := ioColumns[string(n)]
		if !ok {
			c = ioColumn{field: ioOther, unit: 1}
		} else {
			known++
		}
		dst = append(dst, c)
	}
	return dst, known, last
}

// iostatText decodes the text line by line.
type iostatText struct {
	reports ioReports
	stamps  ioStamps
	cols    []ioColumn
	spare   []ioColumn
	last    bool // the device's name comes last
	indent  int  // of the header; a group's line stands deeper
	table   bool // within a table
	cpu     bool // the CPU values are next
	cpuCols []string
	next    int // the row that a further table of the report continues
	fields  uint64
	space   [maxIOTokens][]byte
	esc     []byte

	stampNS      int64  // of the last report that had one
	stampLen     int    // the length of its text
	name         []byte // a long name alone on its line: the values are on the next
	nameIndent   int
	namePosition int64
}

func newIostatText(src *ingest.Source) (*iostatText, error) {
	var d iostatText
	var err error
	if d.stamps, err = newIOStamps(src); err == nil {
		d.reports, err = newIOReports(src, accountText)
	}
	if err != nil {
		return nil, fmt.Errorf("iostat: %w", err)
	}
	return &d, nil
}

// accountText gives the lines of a row their fate.
func accountText(out *ingest.Out, r *ioRow, f ingest.Fate, reason string) {
	if f != ingest.FateRejected {
		out.Count(f, reason, r.lines)
		return
	}
	position, lineno := out.Position, out.Lineno
	out.Position, out.Lineno = r.position, r.lineno
	out.Reject(r.text, reason)
	out.Position, out.Lineno = position, lineno
	out.Count(f, reason, r.lines-1)
}

func (d *iostatText) Line(line []byte, out *ingest.Out) {
	text := line
	line = plainLine(line, &d.esc)
	tok := cutFields(line, d.space[:0])
	indent := len(line)
	if len(tok) > 0 {
		indent = offsetOf(line, tok[0])
	}
	if d.plainRow(tok) {
		d.deviceLine(line, tok, indent, text, out)
		return
	}
	if i := bannerSeam(line); i > 0 {
		if len(d.name) > 0 {
			d.dropName(out)
		}
		d.cpu = false
		d.seam(tok, text, out)
		d.banner(line[i:], out)
		return
	}
	if len(d.name) > 0 {
		if len(tok) == len(d.cols) && d.values(tok) {
			d.row(tok, d.name, d.nameIndent > d.indent, 2, text, out)
			d.name = d.name[:0]
			return
		}
		d.dropName(out)
	}
	cpu := d.cpu
	d.cpu = false
	switch {
	case len(tok) == 0:
		out.Note()
		d.cpu = cpu && d.reports.cur.cpu // a mail's blank line between
	case cpu:
		d.cpuLine(tok, out)
	case isBanner(line):
		d.banner(line, out)
		out.Note()
	case bytes.Contains(line, []byte("iostat")) && ioCommand(tok).known:
		d.reports.next = ioCommand(tok)
		d.table = false
		out.Note()
	case string(tok[0]) == "avg-cpu:":
		d.reports.cpuBlock(out)
		d.table, d.cpu = false, true
		d.cpuCols = cpuHeader(tok[1:], d.cpuCols[:0])
		out.Note()
	case d.header(tok, indent, out):
		out.Note()
	default:
		if ns, ok := d.stamps.parse(bytes.TrimSpace(line)); ok {
			d.reports.stamp(ns, out)
			d.stampNS, d.stampLen = ns, len(bytes.TrimSpace(line))
			d.table = false
			out.Note()
			return
		}
		if len(tok) <= 8 {
			if ns, ok := d.stamps.inWords(bytes.TrimSpace(line)); ok {
				d.reports.stamp(ns, out)
				d.table = false
				out.Note()
				return
			}
		}
		d.deviceLine(line, tok, indent, text, out)
	}
}

// plainRow tells a usual row: a name, and as many numbers as there are columns.
func (d *iostatText) plainRow(tok [][]byte) bool {
	n := len(tok) - 1
	return d.table && !d.last && !d.cpu && len(d.name) == 0 && n > 3 && n == len(d.cols) && isDecimal(tok[1][0]) && isDecimal(tok[n][len(tok[n])-1])
}

// cpuLine reads the shares of CPU time; the line's fate is settled with the
// report.
func (d *iostatText) cpuLine(tok [][]byte, out *ingest.Out) {
	c := &d.reports.cur.shares
	if !d.reports.cur.opened || len(tok) != len(d.cpuCols) || c.lines > 0 {
		out.Note()
		return
	}
	var read ioCPU
	for i, t := range tok {
		x, ok := percentShare(t)
		if !ok {
			out.Note()
			return
		}
		read.put(d.cpuCols[i], x)
	}
	*c = read
	c.lines, c.position = 1, out.Position
}

func (d *iostatText) banner(line []byte, out *ingest.Out) {
	open := bytes.IndexByte(line, '(')
	end := bytes.IndexByte(line[open:], ')')
	if end < 0 {
		return
	}
	host := line[open+1 : open+end]
	d.reports.run(string(host), out)
	d.table = false
	d.stamps.banner(line[open+end+1:])
}

// header takes a line as a table's header if it is one.
func (d *iostatText) header(tok [][]byte, indent int, out *ingest.Out) bool {
	cols, known, last := ioHeader(tok, d.spare[:0])
	if known == 0 {
		if string(tok[0]) == "Filesystem:" { // the NFS table of old versions
			d.table = false
		}
		return false
	}
	d.spare, d.cols = d.cols, cols
	d.last, d.indent, d.table, d.next = last, indent, true, 0
	if last {
		d.indent = 0
	}
	d.fields = 0
	for _, c := range cols {
		d.fields |= 1 << c.field
	}
	d.fields &^= 1 << ioOther
	d.reports.header(d.fields, out)
	return true
}

// values says that all of the fields begin like numbers.
func (d *iostatText) values(tok [][]byte) bool {
	for _, t := range tok {
		if t[0] < '0' || t[0] > '9' {
			return false
		}
	}
	return true
}

// deviceLine reads a line of a table, or finds that it is none.
func (d *iostatText) deviceLine(line []byte, tok [][]byte, indent int, text []byte, out *ingest.Out) {
	n := len(d.cols)
	if !d.table {
		out.Note()
		return
	}
	if len(tok) == maxIOTokens {
		out.Reject(text, "columns")
		return
	}
	numbers := 0
	for _, t := range tok {
		if t[0] >= '0' && t[0] <= '9' || t[0] == '-' {
			numbers++
		}
	}
	switch {
	case !d.last && len(tok) == 1 && numbers == 0:
		d.name = append(d.name[:0], tok[0]...)
		d.nameIndent, d.namePosition = indent, out.Position
	case !d.last && len(tok) > n:
		at := len(tok) - n
		name := line[indent : offsetOf(line, tok[at-1])+len(tok[at-1])]
		if at > 1 && !d.values(tok[at:]) || 2*numbers < n {
			d.misfit(line, tok, numbers, text, out)
			return
		}
		if last := tok[len(tok)-1]; (len(last) > 12 || bytes.IndexByte(last, ':') > 0) && d.cutRow(line, tok, text, out) {
			return
		}
		if at > 1 && decimals(tok[1:at]) { // the header is torn, or a line is glued to it
			if !d.cutRow(line, tok, text, out) {
				out.Reject(text, "columns")
			}
			return
		}
		d.row(tok[at:], name, indent > d.indent, 1, text, out)
	case d.last && len(tok) > n && d.values(tok[:n]):
		end := offsetOf(line, tok[n-1]) + len(tok[n-1])
		name := trimEnd(line[end:])
		group := len(name) > 1 && name[0] == ' ' && name[1] == ' '
		d.row(tok[:n], bytes.TrimLeft(name, " \t"), group, 1, text, out)
	default:
		d.misfit(line, tok, numbers, text, out)
	}
}

// misfit gives a fate to a line in a table that is no row: a torn one has numbers
// but for a name, what other tools and people write between rows has not.
func (d *iostatText) misfit(line []byte, tok [][]byte, numbers int, text []byte, out *ingest.Out) {
	switch {
	case numbers > 0 && d.cutRow(line, tok, text, out):
	case numbers > 0 && numbers >= len(tok)-1:
		out.Reject(text, "columns")
	default:
		out.Note()
	}
}

// dropName finds that the name alone on its line was none.
func (d *iostatText) dropName(out *ingest.Out) {
	d.name = d.name[:0]
	out.Count(ingest.FateNote, "", 1)
}

// row reads the values of one device; lines are those that it stands on.
func (d *iostatText) row(values [][]byte, name []byte, group bool, lines int64, text []byte, out *ingest.Out) {
	var fresh ioRow
	r := &fresh
	device := d.reports.name(name)
	rows := d.reports.cur.rows
	// A further table of one report (--pretty -x) goes on with the rows of the first.
	further := d.reports.cur.seen&^d.fields != 0
	if further {
		at := -1
		if d.next < len(rows) && rows[d.next].device == device {
			at = d.next
		} else {
			for i := range rows {
				if rows[i].device == device {
					at = i
					break
				}
			}
		}
		if at >= 0 {
			r = &rows[at]
			d.next = at + 1
		}
	}
	for i, c := range d.cols {
		x, reason := parseIOValue(values[i], c)
		if reason != "" {
			out.Count(ingest.FateRejected, reason, lines-1)
			out.Reject(text, reason)
			return
		}
		if c.field != ioOther {
			r.values[c.field] = x
		}
	}
	r.lines += lines
	if r != &fresh {
		return
	}
	if len(rows) > 0 && !further && rows[0].device == device && !group && !slices.ContainsFunc(rows, func(r ioRow) bool { return r.group }) {
		d.reports.header(d.fields, out) // what stood between two reports was lost
	}
	r.device, r.group, r.position, r.lineno = device, group, out.Position, out.Lineno
	if lines > 1 {
		r.position, r.lineno = d.namePosition, out.Lineno-1
	}
	if d.reports.first() {
		r.text = bytes.Clone(text[:min(len(text), ingest.RejectTextBytes)])
	}
	d.reports.add(r, out)
}

func (d *iostatText) End(out *ingest.Out) {
	if len(d.name) > 0 {
		d.dropName(out)
	}
	d.reports.flush(out)
}
