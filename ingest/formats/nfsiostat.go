package formats

import (
	"bytes"
	"fmt"
	"math"

	"github.com/iopathy/iopathy/ingest"
)

// NFSIostat reads the text of nfsiostat of nfs-utils, with and without the columns
// avg queue and errors, and as Python 2 printed it, a value per line. The device is the mount ("nfs:/home"). Rates become
// counts over the interval: calls, bytes (a kB is 1024), and the time of calls from
// their queueing to their end ("avg exe"), of which in_flight_ns is the sum
// (Little's law). The first report of each mount is an average since it was
// mounted, and set aside unless the program was told otherwise (first_report).
//
// nfsiostat prints no times. A line with one before a report is taken; else reports
// follow one another by the interval.
var NFSIostat = ingest.Register(ingest.Format{
	Name:  "nfsiostat",
	Doc:   "nfsiostat of nfs-utils (text), reads and writes of NFS mounts",
	Kind:  ingest.KindSample,
	Clock: ingest.BaseRelative,
	Needs: "start_ns (times then count from it, else from 0) and interval (1s), unless a line with a time stands before each report",
	Lacks: "host, single calls, metadata calls, busy time; rates have three decimals; options -a, -d and -p print other tables, which are notes",
	Sniff: sniffNFSIostat,
	Lines: func(src *ingest.Source) (ingest.LinesDecoder, error) {
		clock, err := newSeriesClock(src)
		if err != nil {
			return nil, fmt.Errorf("nfsiostat: %w", err)
		}
		clock.timed = true
		return &nfsIostat{clock: clock, host: []byte(src.Host), device: []byte("nfs:"), all: src.Options.FirstReport, reports: make(map[string]int64)}, nil
	},
})

func sniffNFSIostat(head []byte, _ string) int {
	for line := range bytes.Lines(head) {
		if side, _ := nfsTable(bytes.TrimRight(line, "\r\n")); side != 0 {
			return 2
		}
	}
	return 0
}

// nfsSideBefore is a header whose side stands on the line before it.
const nfsSideBefore = '-'

// nfsTable tells the header of a table, "read: ops/s kB/s ...", and gives which
// it is and its number of columns.
func nfsTable(line []byte) (side byte, columns int) {
	name, rest, ok := bytes.Cut(line, []byte(":"))
	if !ok {
		name, rest = nil, line
	}
	switch {
	case !bytes.Contains(rest, []byte("ops/s")) || !bytes.Contains(rest, []byte("avg exe (ms)")):
		return 0, 0
	case string(name) == "read":
		side = 'r'
	case string(name) == "write":
		side = 'w'
	case !ok && bytes.HasPrefix(trimBlanks(rest), []byte("ops/s")):
		side = nfsSideBefore
	}
	columns = 6
	if bytes.Contains(rest, []byte("avg queue (ms)")) {
		columns++
	}
	if bytes.Contains(rest, []byte("errors")) {
		columns++
	}
	return side, columns
}

type nfsIostat struct {
	clock   seriesClock
	host    []byte
	device  []byte
	all     bool // first reports are intervals
	reports map[string]int64
	lastNS  int64 // of the stamp before this report's
	side    byte  // that the line before names
	table   byte
	columns int
	row     nfsValues  // in hand
	lines   int64      // of the row of reads
	read    [3]float64 // calls and bytes a second, ms of a call
	hasRead bool
	at      int64 // of the read's line
	lineno  int64
	text    []byte
}

func (d *nfsIostat) Line(line []byte, out *ingest.Out) {
	line = bytes.TrimRight(line, " \t")
	if i := d.clock.seam(line); i > 0 {
		d.tear(out)
		d.clock.glued(line, d, out)
		return
	}
	if len(line) == 0 { // where lines' ends were doubled, they stand amid a row
		out.Note()
		return
	}
	if before, _, ok := bytes.Cut(line, []byte(" mounted on ")); ok && len(before) > 0 && bytes.HasSuffix(line, []byte(":")) {
		torn := d.table != 0
		d.tear(out)
		d.settle(out)
		on := line[len(before)+len(" mounted on ") : len(line)-1]
		d.device = append(append(d.device[:0], "nfs:"...), on...)
		if torn { // the row that it is glued to
			out.Reject(line, seamReason)
		} else {
			out.Note()
		}
		return
	}
	switch b := trimBlanks(line); {
	case string(b) == "read:", string(b) == "write:":
		d.tear(out)
		d.side, d.table = b[0], 0
		out.Note()
		return
	default:
		if side, columns := nfsTable(line); side != 0 {
			d.tear(out)
			if side == nfsSideBefore {
				side = d.side
			}
			d.side, d.table, d.columns = 0, side, columns
			out.Note()
			return
		}
	}
	if d.table == 0 {
		d.tear(out)
		last := d.clock.timeNS
		if d.clock.mark(line) {
			d.settle(out)
			d.lastNS = last
		}
		out.Note()
		return
	}
	if d.row.lines == 0 {
		d.row = nfsValues{at: out.Position, lineno: out.Lineno, text: append(d.row.text[:0], line...)}
	}
	before := d.row.n
	ok := d.row.take(line)
	d.row.lines++
	if ok && d.row.n == before+1 && d.row.n < d.columns { // a value per line
		return
	}
	if !ok || d.row.n != d.columns || before > 0 && d.row.n != before+1 {
		d.tear(out)
		return
	}
	table, row := d.table, &d.row
	d.table = 0
	if table == 'r' {
		d.settle(out)
		d.read, d.hasRead, d.at, d.lineno, d.lines = row.v, true, row.at, row.lineno, row.lines
		d.text = append(d.text[:0], row.text...)
		row.lines = 0
		return
	}
	if !d.hasRead {
		d.refuse("write-without-read", out)
		return
	}
	d.hasRead = false
	d.sample(&row.v, line, row.lines, out)
	row.lines = 0
}

// nfsValues are the values of a table's row, which may be of several lines.
type nfsValues struct {
	v          [3]float64
	n          int // columns that are known
	lines      int64
	at, lineno int64 // of the first line
	text       []byte
}

// tear rejects a row that has not all of its values.
func (d *nfsIostat) tear(out *ingest.Out) {
	d.table = 0
	d.refuse("columns", out)
}

// refuse rejects the lines of the row in hand.
func (d *nfsIostat) refuse(reason string, out *ingest.Out) {
	row := &d.row
	if row.lines == 0 {
		return
	}
	position, lineno := out.Position, out.Lineno
	out.Position, out.Lineno = row.at, row.lineno
	out.Reject(row.text, reason)
	out.Count(ingest.FateRejected, reason, row.lines-1)
	out.Position, out.Lineno = position, lineno
	row.lines = 0
}

// take reads the numbers of a line of a row: rates and the time of a call. Counts
// with a share behind them, "1 (11.1%)", are one column.
func (r *nfsValues) take(line []byte) bool {
	var space [24][]byte
	for _, tok := range cutFields(line, space[:0]) {
		if tok[0] == '(' {
			continue
		}
		at := -1
		switch r.n {
		case 0, 1:
			at = r.n
		case 5:
			at = 2
		}
		f, ok := parseFloat(tok)
		if !ok || f < 0 || f > 1e15 {
			return false
		}
		if at >= 0 {
			r.v[at] = f
		}
		r.n++
	}
	return true
}

// sample adds what the two rows of a mount say.
func (d *nfsIostat) sample(write *[3]float64, line []byte, lines int64, out *ingest.Out) {
	nth, known := d.reports[string(d.device)]
	if !known && len(d.reports) >= devicesBound {
		out.Reject(line, "too-many-devices")
		out.Count(ingest.FateRejected, "too-many-devices", d.lines+lines-1)
		return
	}
	d.reports[string(d.device)] = nth + 1
	interval := d.clock.stepNS
	timeNS := d.clock.timeNS + (nth+1)*interval
	if d.clock.marked {
		timeNS = d.clock.timeNS
		if d.lastNS > 0 && timeNS > d.lastNS && timeNS-d.lastNS < mappedLongest {
			interval = timeNS - d.lastNS
		}
	}
	if nth == 0 && !d.all {
		out.Reject(line, "since-boot")
		out.Count(ingest.FateRejected, "since-boot", d.lines+lines-1)
		return
	}
	s := ingest.NewSample()
	s.TimeNS, s.IntervalNS, s.Position = timeNS, interval, d.at
	s.Host, s.Device = out.Names.Intern(d.host), out.Names.Intern(d.device)
	seconds := float64(interval) / 1e9
	side := func(v *[3]float64, ios, bytes, ns *int64) {
		calls := v[0] * seconds
		*ios, *bytes = int64(math.Round(calls)), int64(math.Round(v[1]*1024*seconds))
		*ns = int64(math.Round(min(calls*v[2]*1e6, 1<<60)))
	}
	side(&d.read, &s.Reads, &s.ReadBytes, &s.ReadNS)
	side(write, &s.Writes, &s.WriteBytes, &s.WriteNS)
	s.InFlightNS = s.ReadNS + s.WriteNS
	out.Samples = append(out.Samples, s)
	out.Count(ingest.FateEvent, "", d.lines+lines)
}

// settle gives the row of reads a fate when that of writes is missing.
func (d *nfsIostat) settle(out *ingest.Out) {
	if !d.hasRead {
		return
	}
	d.hasRead = false
	position, lineno := out.Position, out.Lineno
	out.Position, out.Lineno = d.at, d.lineno
	out.Reject(d.text, "torn-report")
	out.Count(ingest.FateRejected, "torn-report", d.lines-1)
	out.Position, out.Lineno = position, lineno
}

func (d *nfsIostat) End(out *ingest.Out) {
	d.tear(out)
	d.settle(out)
}
