package formats

import (
	"bytes"
	"fmt"

	"github.com/iopathy/iopathy/ingest"
)

// MountStats reads /proc/self/mountstats, from which nfsiostat and mountstats
// take their figures, snapshot behind snapshot. The device is the mount
// ("nfs:/home"). Of the figures since the mount
//
//	bytes: ... ... ... ... read-from-server written-to-server
//	 READ: calls sent timeouts bytes-out bytes-in queue-ms rtt-ms total-ms [errors]
//
// samples are the differences: READ and WRITE calls, the server's bytes, the total
// time of each call (waiting for a slot, the wire and the server), COMMIT as
// flushes. The total times of the three, summed over the interval, are the mean
// number of calls under way (Little, Oper. Res. 1961), so they are in_flight_ns.
// All other calls (GETATTR, LOOKUP, ...) are evidence, as is what was sent again,
// timed out or failed: sums since the mount, for rate("nfs_metadata_calls").
var MountStats = ingest.Register(ingest.Format{
	Name: "mountstats",
	Doc:  "/proc/self/mountstats of NFS mounts, once or again and again",
	Kind: ingest.KindSample,
	Needs: "a time before each snapshot (# EPOCH, date, zzz ***), else start_ns and interval; without either it gives counters as " +
		"evidence, no samples; zone of stamps without one (UTC is taken)",
	Lacks: "host, single calls, offsets, processes, busy time; mounts of other file systems are notes",
	Sniff: sniffMountStats,
	Lines: func(src *ingest.Source) (ingest.LinesDecoder, error) {
		clock, err := newSeriesClock(src)
		if err != nil {
			return nil, fmt.Errorf("mountstats: %w", err)
		}
		return &mountStats{clock: clock, host: []byte(src.Host), series: ctrSeries{apart: true}}, nil
	},
})

func sniffMountStats(head []byte, _ string) int {
	mounts, nfs := 0, 0
	for line := range bytes.Lines(head) {
		line = bytes.TrimRight(line, "\r\n")
		if name, isNFS := mountLine(line); name != nil {
			mounts++
			if isNFS {
				nfs++
			}
		}
		if bytes.Equal(bytes.TrimSpace(line), []byte("per-op statistics")) {
			nfs++
		}
	}
	switch {
	case nfs > 0 && mounts > 0, mounts > 3:
		return 2
	}
	return 0
}

// mountLine takes "device X mounted on /home with fstype nfs4 ..." apart.
func mountLine(line []byte) (on []byte, nfs bool) {
	rest, ok := bytes.CutPrefix(line, []byte("device "))
	if !ok {
		return nil, false
	}
	_, rest, ok = bytes.Cut(rest, []byte(" mounted on "))
	at := bytes.LastIndex(rest, []byte(" with fstype "))
	if !ok || at <= 0 {
		return nil, false
	}
	kind := rest[at+len(" with fstype "):]
	return rest[:at], bytes.HasPrefix(kind, []byte("nfs"))
}

type mountStats struct {
	clock  seriesClock
	host   []byte
	series ctrSeries
	device []byte // of the mount in hand; empty: it is none of NFS
	read   ctrRow
	text   []byte
	seen   map[string]*int64 // the snapshot that a mount was last in, where no stamps part snapshots
	round  int64             // number of the snapshot in hand
	sums   [mountSums]float64
	more   bool // sums has something
	torn   bool // a line of the mount in hand was rejected: sums lack a part
}

// The sums of a mount that are evidence.
const (
	mountMetadata = iota
	mountResent
	mountTimeouts
	mountErrors
	mountSums
)

var mountNames = [mountSums]string{"nfs_metadata_calls", "nfs_retransmissions", "nfs_timeouts", "nfs_errors"}

func (d *mountStats) Line(line []byte, out *ingest.Out) {
	if d.clock.seam(line) > 0 {
		d.torn = true
		d.clock.glued(line, d, out)
		return
	}
	if i := bytes.Index(line, []byte("device ")); i > 0 && isBlank(line[0]) {
		if on, _ := mountLine(line[i:]); on != nil {
			d.torn = true
			out.Reject(line, seamReason)
			d.Line(line[i:], out)
			out.Tally.Notes-- // the line has its fate
			return
		}
	}
	if on, nfs := mountLine(line); on != nil {
		d.settle(out)
		d.device = d.device[:0]
		if nfs {
			d.device = append(append(d.device, "nfs:"...), on...)
			d.text = append(d.text[:0], line...)
			d.read.position, d.read.lineno = out.Position, out.Lineno
		}
		out.Note()
		return
	}
	b := trimBlanks(line)
	colon := bytes.IndexByte(b, ':')
	switch {
	case len(b) == 0: // it ends no mount: copying may have doubled the lines' ends
		out.Note()
	case !isBlank(line[0]):
		clock := d.clock
		if clock.mark(line) || bytes.HasPrefix(line, []byte("device ")) { // others' words end no mount
			d.settle(out)
			d.device = d.device[:0]
			d.clock = clock
			d.round++
		}
		out.Note()
	case len(d.device) == 0 || colon <= 0:
		out.Note()
	case string(b[:colon]) == "bytes":
		d.bytes(b[colon+1:], line, out)
	case b[0] >= 'A' && b[0] <= 'Z' && !bytes.HasPrefix(b, []byte("RPC ")):
		d.call(b[:colon], b[colon+1:], line, out)
	default:
		out.Note()
	}
}

// mountCells reads the numbers of a line; a number that is none, or more than 63
// bits (the kernel's times may have gone below zero), is Missing.
func mountCells(b []byte, v *[16]int64) (n int, ok bool) {
	var space [17][]byte
	for _, tok := range cutFields(b, space[:0]) {
		if n == len(v) {
			break
		}
		x, end := scanDigits(tok, 0)
		if end != len(tok) || end == 0 {
			return n, false
		}
		if v[n] = x; x < 0 {
			v[n] = ingest.Missing
		}
		n++
	}
	return n, true
}

// bytes takes the line of sums of bytes.
func (d *mountStats) bytes(b, line []byte, out *ingest.Out) {
	var v [16]int64
	if n, ok := mountCells(b, &v); !ok || n < 6 {
		d.torn = true
		out.Reject(line, "columns")
		return
	}
	s := &d.read.snap
	for i, f := range [2]ctrField{ctrReadBytes, ctrWriteBytes} {
		if v[4+i] != ingest.Missing {
			s.set(f, v[4+i])
		}
	}
	d.read.lines++
}

// call takes the line of one kind of call.
func (d *mountStats) call(name, b, line []byte, out *ingest.Out) {
	var v [16]int64
	n, ok := mountCells(b, &v)
	switch {
	case !ok || n < 8:
		d.torn = true
		out.Reject(line, "columns")
		return
	case v[0] == ingest.Missing:
		d.torn = true
		out.Reject(line, "impossible")
		return
	}
	s := &d.read.snap
	d.read.lines++
	d.more = true
	d.sums[mountResent] += float64(max(v[1]-v[0], 0))
	d.sums[mountTimeouts] += float64(max(v[2], 0))
	if n > 8 {
		d.sums[mountErrors] += float64(max(v[8], 0))
	}
	var calls, times ctrField
	switch string(name) {
	case "READ":
		calls, times = ctrReads, ctrReadNS
	case "WRITE":
		calls, times = ctrWrites, ctrWriteNS
	case "COMMIT":
		calls, times = ctrFlushes, ctrFlushNS
	case "NULL":
		return
	default:
		d.sums[mountMetadata] += float64(v[0])
		return
	}
	s.set(calls, v[0])
	if ms := v[7]; ms >= 0 && ms < (1<<62)/1_000_000 {
		s.set(times, ms*1e6)
		if under := s.v[ctrInFlightNS]; !s.has(ctrInFlightNS) {
			s.set(ctrInFlightNS, ms*1e6)
		} else if under < 1<<61 {
			s.set(ctrInFlightNS, under+ms*1e6)
		}
	}
}

// settle ends the mount in hand.
func (d *mountStats) settle(out *ingest.Out) {
	r := &d.read
	if r.lines == 0 || len(d.device) == 0 {
		d.torn = false
		return
	}
	if d.seen == nil {
		d.seen = make(map[string]*int64)
	}
	if !d.clock.marked { // a mount that comes again begins a snapshot
		at := d.seen[string(d.device)]
		if at != nil && *at == d.round {
			d.round++
			d.clock.next()
		}
		switch {
		case at != nil:
			*at = d.round
		case len(d.seen) < devicesBound:
			round := d.round
			d.seen[string(d.device)] = &round
		}
	}
	if d.torn { // what was lost may be a part of any sum
		d.more = false
		r.snap.known &^= 1 << ctrInFlightNS
	}
	r.host, r.device, r.timeNS, r.text = d.host, d.device, d.clock.timeNS, d.text
	if d.more {
		position := out.Position
		out.Position = r.position
		e := ingest.Evidence{TimeNS: d.clock.timeNS, Host: out.Names.Intern(d.host), Device: out.Names.Intern(d.device)}
		for i, v := range d.sums {
			e.Name, e.Value = out.Names.InternString(mountNames[i]), v
			out.Fact(e)
		}
		out.Position = position
	}
	switch {
	case r.snap.known == 0:
		out.Count(ingest.FateEvent, "", r.lines)
	case !d.clock.timed:
		r.snap.facts(out, out.Names.Intern(d.host), out.Names.Intern(d.device), 0, r.position)
		out.Count(ingest.FateEvent, "", r.lines)
	default:
		d.series.add(r, out)
	}
	d.read.snap.known, d.read.lines = 0, 0
	d.sums, d.more, d.torn = [mountSums]float64{}, false, false
	d.device = d.device[:0]
}

func (d *mountStats) End(out *ingest.Out) {
	d.settle(out)
	d.series.end(out)
}
