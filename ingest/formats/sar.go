package formats

import (
	"bytes"
	"fmt"

	"github.com/iopathy/iopathy/ingest"
)

// Sar reads the text of sysstat's sar -d, alone or among the tables of sar -A:
// any version and locale, 12-hour clocks, DEV first or last, --human, colours.
// The banner has the date and the rows the time: a clock that goes back by half
// a day within a table has passed midnight, while each table of one run begins
// at the run's start again. Intervals are settled as for iostat (ioReports), on
// the stamps of the header, which is the first interval's start, and the rows.
var Sar = ingest.Register(ingest.Format{
	Name:  "sar",
	Doc:   "sysstat sar -d text, all versions and options",
	Kind:  ingest.KindSample,
	Needs: "the banner, for host and date, else start_ns (times then count from 0); zone of the stamps (UTC is taken)",
	Lacks: "single I/Os, offsets, processes, errors; reads and writes apart, but for their bytes; flushes, merges; discards before sysstat 12.1.2; " +
		"how devices stack; tables but that of devices, averages and comments are notes",
	Sniff: sniffSar,
	Lines: func(src *ingest.Source) (ingest.LinesDecoder, error) {
		d := &sarText{}
		var err error
		if d.stamps, err = newIOStamps(src); err == nil {
			d.reports, err = newIOReports(src, accountText)
		}
		if err != nil {
			return nil, fmt.Errorf("sar: %w", err)
		}
		d.reports.keepFirst = true
		return d, nil
	},
})

// sarColumns are the columns of sar and sadf beside those of iostat. Sectors
// stand beside KiB in JSON: they are the finer ones.
var sarColumns = map[string]ioColumn{
	"tps": {ioTotal, 1}, "rkB/s": {ioReadBytes, 1 << 10}, "wkB/s": {ioWriteBytes, 1 << 10}, "dkB/s": {ioDiscardBytes, 1 << 10},
	"rd_sec/s": {ioReadBytes, 512}, "wr_sec/s": {ioWriteBytes, 512}, "dc_sec/s": {ioDiscardBytes, 512},
	"sect/s": {ioTotalBytes, 512}, "blks/s": {ioTotalBytes, 512},
	"rkB": {ioReadBytes, 1 << 10}, "wkB": {ioWriteBytes, 1 << 10}, "dkB": {ioDiscardBytes, 1 << 10},
	"rd_sec": {ioReadBytes, 512}, "wr_sec": {ioWriteBytes, 512}, "dc_sec": {ioDiscardBytes, 512},
	"aqu-sz": {ioQueue, 1}, "avgqu-sz": {ioQueue, 1}, "await": {ioTotalAwait, 1}, "%util": {ioUtil, 1}, "util-percent": {ioUtil, 1},
	"areq-sz": {ioOther, 1}, "avgrq-sz": {ioOther, 1}, "svctm": {ioOther, 1},
}

// sarHeader reads a table's header behind its stamp: the columns without DEV,
// appended to dst, and whether DEV comes last; false if it is no such table.
func sarHeader(tok [][]byte, dst []ioColumn) (cols []ioColumn, last, ok bool) {
	if len(tok) < 2 {
		return dst, false, false
	}
	switch {
	case string(tok[0]) == "DEV":
		tok = tok[1:]
	case string(tok[len(tok)-1]) == "DEV":
		tok, last = tok[:len(tok)-1], true
	default:
		return dst, false, false
	}
	for _, t := range tok {
		c, known := sarColumns[string(t)]
		if !known {
			c = ioColumn{field: ioOther, unit: 1}
		}
		ok = ok || known
		dst = append(dst, c)
	}
	return dst, last, ok
}

// clockWidth is how many fields are the time of day: 2 with AM or PM, 0 if
// there is none.
func clockWidth(tok [][]byte) int {
	g := numbers{}
	if len(tok) > 0 && len(tok[0]) >= 7 && len(tok[0]) < 40 {
		g = stampNumbers(tok[0])
	}
	switch {
	case g.n != 3 || g.sep[0] != g.sep[1] && g.sep[0] < 0x80 || g.sep[0] != ':' && g.sep[0] != '.' && g.sep[0] < 0x80:
		return 0
	case len(tok) > 1 && isHalf(tok[1]):
		return 2
	}
	return 1
}

// isHalf tells AM and PM.
func isHalf(b []byte) bool {
	return len(b) == 2 && b[1]|0x20 == 'm' && (b[0]|0x20 == 'a' || b[0]|0x20 == 'p')
}

func sniffSar(head []byte, _ string) int {
	banner, table, other := false, false, false
	var space [maxIOTokens][]byte
	var esc []byte
	for line := range bytes.Lines(head) {
		line = plainLine(line, &esc)
		tok := cutFields(line, space[:0])
		n := clockWidth(tok)
		switch {
		case isBanner(line):
			banner = true
		case n == 0 || n >= len(tok):
		default:
			_, _, ok := sarHeader(tok[n:], nil)
			table = table || ok
			// The first table of sar -A; mpstat's has %usr, or %irq beside %user.
			other = other || len(tok) > n+5 && string(tok[n]) == "CPU" && string(tok[n+1]) == "%user" && string(tok[n+5]) == "%steal" ||
				bytes.HasSuffix(line, []byte("%iowait     %idle")) && string(tok[n]) == "CPU" && string(tok[n+1]) == "%user"
		}
	}
	switch {
	case table:
		return 2
	case banner && other:
		return 1
	}
	return 0
}

type sarText struct {
	reports ioReports
	stamps  ioStamps
	run     ioStamps // as it was at the start of the tables of one run
	ended   bool     // a table's averages were read
	begun   bool     // a table of the run was read
	cols    []ioColumn
	spare   []ioColumn
	last    bool
	table   bool
	lastNS  int64
	stamped bool
	space   [maxIOTokens][]byte
	esc     []byte
	device  []byte
}

func (d *sarText) Line(line []byte, out *ingest.Out) {
	text := line
	line = plainLine(line, &d.esc)
	tok := cutFields(line, d.space[:0])
	if len(tok) == 0 {
		out.Note()
		return
	}
	if isBanner(line) {
		d.banner(line, out)
		out.Note()
		return
	}
	if i := bannerSeam(line); i > 0 {
		if d.table && isDecimal(tok[0][0]) { // of the row that it is glued to
			out.Reject(text, seamReason)
		} else {
			out.Note()
		}
		d.banner(line[i:], out)
		return
	}
	n := 1
	if !d.stamps.isSame(tok[0]) || len(tok) > 1 && isHalf(tok[1]) {
		n = clockWidth(tok)
	}
	if n == 0 || len(tok) == n { // averages, words
		if d.table && tok[0][0] >= '0' && tok[0][0] <= '9' {
			out.Reject(text, "columns")
			return
		}
		if last := tok[0][len(tok[0])-1]; last == ':' || len(tok) > 1 && string(tok[1]) == ":" {
			d.ended, d.table = true, false
		}
		out.Note()
		return
	}
	restart := len(tok) > n+1 && string(tok[n]) == "LINUX" && string(tok[n+1]) == "RESTART"
	cols, last, header := sarHeader(tok[n:], d.spare[:0])
	other := !header && !restart && len(tok) > n && !isComment(tok[n]) && isHeader(tok[n:])
	if (header || other) && d.ended { // the next table begins where this one did
		if d.begun {
			d.stamps = d.run
		}
		d.stamped = false
	}
	before := d.stamps
	ns, ok := d.clock(line, tok, n)
	switch {
	case header || other:
		d.table = header
		if d.ended || !d.begun {
			d.run, d.begun, d.ended = before, true, false
		}
		if header {
			d.spare, d.cols, d.last = d.cols, cols, last
			if ok && (!d.stamped || ns != d.lastNS) {
				d.reports.stamp(ns, out) // without rows: where the first interval begins
				d.lastNS, d.stamped = ns, true
			}
		}
		out.Note()
	case restart:
		d.reports.run(d.reports.host, out)
		d.table, d.begun, d.ended, d.stamped = false, false, false, false
		out.Note()
	case !d.table || isComment(tok[n]):
		out.Note()
	case !ok:
		out.Reject(text, "bad-time")
	default:
		d.row(line, tok[n:], ns, text, out)
	}
}

func isComment(word []byte) bool { return string(word) == "COM" }

// isHeader tells a table's header from a row: it has no numbers.
func isHeader(tok [][]byte) bool {
	for _, t := range tok {
		if t[0] >= '0' && t[0] <= '9' {
			return false
		}
	}
	return true
}

func (d *sarText) banner(line []byte, out *ingest.Out) {
	open := bytes.IndexByte(line, '(')
	end := bytes.IndexByte(line[open:], ')')
	if end < 0 {
		return
	}
	d.reports.run(string(line[open+1:open+end]), out)
	d.table, d.begun, d.ended, d.stamped = false, false, false, false
	d.stamps.banner(line[open+end+1:])
}

// clock reads the stamp of a line.
func (d *sarText) clock(line []byte, tok [][]byte, n int) (int64, bool) {
	begin := offsetOf(line, tok[0])
	stamp := line[begin : offsetOf(line, tok[n-1])+len(tok[n-1])]
	if !d.stamps.hasDate {
		// Without a banner times count from the epoch, or from start_ns.
		y, m, day := d.startDay()
		d.stamps.date, d.stamps.hasDate = [3]int{y, m, day}, true
	}
	return d.stamps.timeOnly(stamp)
}

func (d *sarText) startDay() (y, m, day int) {
	at := unixTime(d.reports.clockNS, d.stamps.zone)
	return at.Year(), int(at.Month()), at.Day()
}

// row reads the values of one device.
func (d *sarText) row(line []byte, tok [][]byte, ns int64, text []byte, out *ingest.Out) {
	n := len(d.cols)
	var values [][]byte
	var name []byte
	switch {
	case len(tok) <= n || !d.last && len(tok) != n+1:
		out.Reject(text, "columns")
		return
	case d.last:
		values, name = tok[:n], trimEnd(line[offsetOf(line, tok[n]):])
	default:
		values, name = tok[1:], tok[0]
	}
	if !d.stamped || ns != d.lastNS || !d.reports.cur.opened || d.reports.cur.stampNS != ns {
		d.reports.stamp(ns, out)
		d.lastNS, d.stamped = ns, true
	}
	r := d.reports.slot(out)
	if reason := sarValues(r, values, d.cols); reason != "" {
		d.reports.unslot()
		out.Reject(text, reason)
		return
	}
	d.device = sarDevice(name, d.device[:0])
	r.device, r.lines, r.position, r.lineno = d.reports.name(d.device), 1, out.Position, out.Lineno
}

// sarValues reads the values of a row; the reason is "" if all are numbers.
func sarValues(r *ioRow, values [][]byte, cols []ioColumn) string {
	for i, c := range cols {
		x, reason := parseIOValue(values[i], c)
		if reason != "" {
			return reason
		}
		if c.field != ioOther && x.known() && (!r.values[c.field].known() || x.half < r.values[c.field].half) {
			r.values[c.field] = x
		}
	}
	return ""
}

// sarDevice appends a device's name: "dev8-16" is the device 8:16.
func sarDevice(name, dst []byte) []byte {
	if rest, ok := cutPrefix(name, "dev"); ok {
		_, i := scanDigits(rest, 0)
		if i > 0 && i < len(rest)-1 && rest[i] == '-' {
			if _, end := scanDigits(rest, i+1); end == len(rest) {
				dst = append(dst, "dev:"...)
				dst = append(dst, rest[:i]...)
				dst = append(dst, ':')
				return append(dst, rest[i+1:]...)
			}
		}
	}
	return append(dst, name...)
}

func (d *sarText) End(out *ingest.Out) { d.reports.flush(out) }
