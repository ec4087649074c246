package formats

import (
	"bytes"

	"github.com/iopathy/iopathy/ingest"
)

// BiosnoopBT reads the lines of bpftrace's biosnoop.bt. Old versions name the
// disk, new ones give its numbers, below a header of two lines:
//
//	TIME(ms)     DISK    COMM             PID    LAT(ms)
//	TIME(ms)     DISK ID        COMM             PID    LAT(ms)
//	             MAJOR MINOR
//
// TIME is the completion in milliseconds since the program's start, LAT from issue
// to completion (d2c). There is no more in it: an event has no size, no offset and
// the op other. Without a header, two numbers behind the time are a disk's.
var BiosnoopBT = ingest.Register(ingest.Format{
	Name:  "biosnoop-bt",
	Doc:   "bpftrace biosnoop.bt, old and new columns",
	Kind:  ingest.KindD2C,
	Needs: "a start (start_ns): times are milliseconds since the program's start",
	Clock: ingest.BaseRelative,
	Lacks: "operation, size, offset, host, flags, queue time, queue depth, error; times and latencies are whole ms (0: less than one)",
	Sniff: func(head []byte, _ string) int {
		for line := range bytes.Lines(head) {
			if biosnoopBTHeader(bytes.TrimRight(line, "\r\n")) != btUnknown {
				return 2
			}
		}
		return 0
	},
	Lines: func(src *ingest.Source) (ingest.LinesDecoder, error) {
		return &biosnoopBT{traceSource: newTraceSource(src)}, nil
	},
})

// btLayout is how a disk is told.
type btLayout uint8

const (
	btUnknown btLayout = iota
	btName
	btNumbers
)

// biosnoopBTHeader tells the layout by a header's first line.
func biosnoopBTHeader(line []byte) btLayout {
	s := blkText{b: line}
	if string(s.word()) != "TIME(ms)" || string(s.word()) != "DISK" {
		return btUnknown
	}
	w := s.word()
	layout := btName
	if string(w) == "ID" {
		layout, w = btNumbers, s.word()
	}
	if string(w) != "COMM" || string(s.word()) != "PID" || string(s.word()) != "LAT(ms)" {
		return btUnknown
	}
	return layout
}

type biosnoopBT struct {
	traceSource
	layout btLayout
	last   int64
}

// Line decodes a line.
func (d *biosnoopBT) Line(line []byte, out *ingest.Out) {
	b := backwards{b: line, end: len(line)}
	latency, isLatency := wholeNumber(b.word())
	pid, isPID := wholeNumber(b.word())
	if len(line) == 0 || !isDigit(line[0]) {
		if isLatency && isPID {
			out.Reject(line, "bad-time") // the head of the line was cut off
			return
		}
		d.aside(line, out)
		return
	}
	c := traceCells{b: line[:b.end], sep: ' '}
	ms := c.number("bad-time")
	if c.why != "" {
		out.Reject(line, c.why)
		return
	}
	if reason := d.event(&c, ms, pid, latency, isPID, isLatency, out); reason != "" {
		out.Reject(line, reason)
	}
}

// event adds the event of a line, of which c stands behind the time.
func (d *biosnoopBT) event(c *traceCells, ms, pid, latency int64, isPID, isLatency bool, out *ingest.Out) (reason string) {
	s := blkText{b: c.b, i: c.i}
	disk := s.word()
	minor := disk[len(disk):]
	if d.layout != btName && isDevNumber(disk) {
		at := s.i
		if minor = s.word(); !isDevNumber(minor) {
			s.i, minor = at, nil
		}
	}
	comm := trimBlanks(c.b[s.i:])
	if ms > csvLastNS/1e6 {
		return "bad-time"
	}
	ns, inTime := d.at(ms * 1e6)
	switch {
	case !inTime:
		return "bad-time"
	case !isLatency || latency > maxLatencyNS/1e6:
		return "bad-latency"
	case !isPID || pid > 1<<31-1:
		return "bad-pid"
	case len(comm) == 0:
		return "few-columns"
	case len(comm) > commBytes || stampBefore(comm):
		return "bad-process" // two lines that ran into each other
	case (d.layout == btNumbers || isDevNumber(disk)) && len(minor) == 0:
		return "bad-device"
	}
	var mem [32]byte
	if len(minor) > 0 {
		disk = devName(mem[:0], disk, minor)
	}
	d.last = ns
	e := d.arrival(out, ns, ingest.OpOther, ingest.Missing, ingest.Missing, disk)
	e.LatencyNS, e.Kind = latency*1e6, ingest.KindD2C
	e.PID, e.Comm = int32(pid), out.Names.Intern(comm)
	return ""
}

// aside is a line outside the table.
func (d *biosnoopBT) aside(line []byte, out *ingest.Out) {
	out.Note()
	if layout := biosnoopBTHeader(line); layout != btUnknown {
		d.layout = layout
		return
	}
	if n, ok := lostRecords(line); ok {
		ns := d.last
		if ns == 0 {
			ns = d.startNS
		}
		out.Fact(ingest.Evidence{
			TimeNS: ns, Host: out.Names.Intern(d.host), Name: out.Names.InternString(blkLostFact), Value: float64(n),
		})
	}
}

// End has nothing to settle.
func (d *biosnoopBT) End(*ingest.Out) {}
