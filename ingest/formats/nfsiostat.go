package formats

import (
	"bytes"
	"fmt"
	"math"

	"github.com/iopathy/iopathy/ingest"
)

// NFSIostat reads the text of nfsiostat of nfs-utils, with and without the columns
// avg queue and errors. The device is the mount ("nfs:/home"). Rates become
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

// nfsTable tells the header of a table, "read: ops/s kB/s ...", and gives which
// it is and its number of columns.
func nfsTable(line []byte) (side byte, columns int) {
	name, rest, ok := bytes.Cut(line, []byte(":"))
	switch {
	case !ok || !bytes.Contains(rest, []byte("ops/s")) || !bytes.Contains(rest, []byte("avg exe (ms)")):
		return 0, 0
	case string(name) == "read":
		side = 'r'
	case string(name) == "write":
		side = 'w'
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
	table   byte
	columns int
	read    [3]float64 // calls and bytes a second, ms of a call
	hasRead bool
	at      int64 // of the read's line
	lineno  int64
	text    []byte
}

func (d *nfsIostat) Line(line []byte, out *ingest.Out) {
	if before, _, ok := bytes.Cut(line, []byte(" mounted on ")); ok && len(before) > 0 && bytes.HasSuffix(line, []byte(":")) {
		d.settle(out)
		on := line[len(before)+len(" mounted on ") : len(line)-1]
		d.device = append(append(d.device[:0], "nfs:"...), on...)
		out.Note()
		return
	}
	if side, columns := nfsTable(line); side != 0 {
		d.table, d.columns = side, columns
		out.Note()
		return
	}
	if d.table == 0 || len(trimBlanks(line)) == 0 {
		last := d.clock.timeNS
		if d.clock.mark(line) {
			d.settle(out)
			d.lastNS = last
		}
		out.Note()
		return
	}
	table := d.table
	d.table = 0
	var v [3]float64
	if !nfsRow(line, d.columns, &v) {
		out.Reject(line, "columns")
		return
	}
	if table == 'r' {
		d.settle(out)
		d.read, d.hasRead, d.at, d.lineno = v, true, out.Position, out.Lineno
		d.text = append(d.text[:0], line...)
		return
	}
	if !d.hasRead {
		out.Reject(line, "write-without-read")
		return
	}
	d.hasRead = false
	d.sample(&v, line, out)
}

// nfsRow reads the numbers of a table's row: rates and the time of a call. Counts
// with a share behind them, "1 (11.1%)", are one column.
func nfsRow(line []byte, columns int, v *[3]float64) bool {
	var space [24][]byte
	n := 0
	for _, tok := range cutFields(line, space[:0]) {
		if tok[0] == '(' {
			continue
		}
		at := -1
		switch n {
		case 0, 1:
			at = n
		case 5:
			at = 2
		}
		f, ok := parseFloat(tok)
		if !ok || f < 0 || f > 1e15 {
			return false
		}
		if at >= 0 {
			v[at] = f
		}
		n++
	}
	return n == columns
}

// sample adds what the two rows of a mount say.
func (d *nfsIostat) sample(write *[3]float64, line []byte, out *ingest.Out) {
	nth, known := d.reports[string(d.device)]
	if !known && len(d.reports) >= devicesBound {
		out.Reject(line, "too-many-devices")
		out.Count(ingest.FateRejected, "too-many-devices", 1)
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
		out.Count(ingest.FateRejected, "since-boot", 1)
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
	out.Count(ingest.FateEvent, "", 2)
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
	out.Position, out.Lineno = position, lineno
}

func (d *nfsIostat) End(out *ingest.Out) { d.settle(out) }
