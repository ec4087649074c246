package formats

import (
	"bytes"

	"github.com/iopathy/iopathy/ingest"
)

// seam gives a line its fate whose end begins something else: a row that is torn there
// is a reject.
func (d *iostatText) seam(tok [][]byte, text []byte, out *ingest.Out) {
	if len(tok) > 1 && len(tok[1]) > 0 && isDecimal(tok[1][0]) {
		out.Reject(text, seamReason)
		return
	}
	out.Note()
}

// cutRow takes a line that is no row, but the beginning of one, to which a header, a
// report's CPU lines or its time is glued. False says that it is none.
func (d *iostatText) cutRow(line []byte, tok [][]byte, text []byte, out *ingest.Out) bool {
	var space [maxIOTokens][]byte
	for _, begin := range [...]string{"Device", "avg-cpu:"} {
		i := bytes.Index(line, []byte(begin))
		if i <= 0 {
			continue
		}
		rest := cutFields(line[i:], space[:0])
		switch {
		case begin == "avg-cpu:":
			d.reports.cpuBlock(out)
			d.table, d.cpu = false, true
			d.cpuCols = cpuHeader(rest[1:], d.cpuCols[:0])
		case !d.header(rest, 0, out):
			continue
		}
		d.seam(tok, text, out)
		return true
	}
	i := len(line) - d.stampLen
	if d.stampLen == 0 || i <= 0 {
		return false
	}
	stamps := d.stamps // of which a row's end that looks like a time changes nothing
	ns, ok := stamps.parse(line[i:])
	if !ok || ns < d.stampNS || ns-d.stampNS > mostAhead {
		return false
	}
	d.stamps, d.stampNS = stamps, ns
	d.reports.stamp(ns, out)
	d.table = false
	d.seam(tok, text, out)
	return true
}
