package formats

import (
	"bytes"

	"github.com/iopathy/iopathy/ingest"
)

// SPC reads traces in the file format of the Storage Performance Council, those
// of the UMass repository (Financial, WebSearch) among them. A line is
//
//	asu,lba,bytes,op,time[,optional...]
//
// op is r or w in any case, time seconds since the start with decimals, an
// address is a block of 512 bytes. Blanks may stand around commas; optional
// columns may be any number and are passed over. The device is "asu" and the number
// of the application's storage unit.
var SPC = ingest.Register(ingest.Format{
	Name:  "spc",
	Doc:   "SPC trace files (UMass Financial, WebSearch): asu,lba,bytes,op,seconds",
	Kind:  ingest.KindNone,
	Needs: "a start (start_ns): times are seconds since the trace began",
	Clock: ingest.BaseRelative,
	Lacks: "latency (times are arrivals), host, process, flags, queue depth, error",
	Sniff: sniffSPC,
	Line: func(src *ingest.Source) (ingest.LineDecoder, error) {
		return &spc{newTraceSource(src)}, nil
	},
})

// sniffSPC is sure where times have decimals, which is what tells them from
// another number in that place.
func sniffSPC(head []byte, _ string) int {
	first, _, _ := bytes.Cut(head, []byte("\n"))
	if bytes.IndexByte(first, '.') < 0 {
		return traceSure(&spc{}, head, 1)
	}
	return traceSure(&spc{}, head, 2)
}

type spc struct{ traceSource }

// Line decodes a line.
func (d *spc) Line(line []byte, out *ingest.Out) { takeRow(d, line, out) }

func (d *spc) row(line []byte, out *ingest.Out) (why string) {
	if len(line) == 0 {
		out.Note()
		return ""
	}
	c := traceCells{b: line, sep: ','}
	id := c.digits("bad-device")
	lba := c.number("bad-offset")
	size := c.number("bad-size")
	op := c.rw("bad-op")
	at := c.seconds("bad-time")
	offset, _, fits := sectors(lba, 0)
	ns, inTime := d.at(at)
	if c.why == "" && glued(c.b, c.i) {
		c.why = "glued-lines"
	}
	if why = possible(c.why, inTime, fits, size); why == "" {
		var mem [32]byte
		d.arrival(out, ns, op, offset, size, append(append(mem[:0], "asu"...), id...))
	}
	return why
}

// glued says that what stands behind a row is the rest of another: an address, a
// size, an operation, a time. Optional columns may stand there, but none is a
// letter with a time behind it.
func glued(b []byte, i int) bool {
	if i >= len(b) {
		return false
	}
	rest := traceCells{b: b, i: i, sep: ','}
	rest.number("")
	rest.number("")
	rest.rw("op")
	rest.seconds("time")
	return rest.i >= len(b) && rest.why == ""
}
