package formats

import (
	"bytes"
	"fmt"
	"time"

	"github.com/iopathy/iopathy/ingest"
)

// Diskstats reads /proc/diskstats, snapshot behind snapshot: "MAJ MIN NAME" and
// 4 (partitions before 2.6.25), 11, 15 (4.18) or 17 (5.5) counters. Samples are
// the differences of a device's counters from snapshot to snapshot (ctrDelta:
// wraps, resets); snapshots without a time, and single ones, are evidence.
var Diskstats = ingest.Register(ingest.Format{
	Name: "diskstats",
	Doc:  "/proc/diskstats, once or again and again",
	Kind: ingest.KindSample,
	Needs: "a time before each snapshot (# EPOCH, date, zzz ***) or before each line, else start_ns and interval; without either it gives " +
		"counters as evidence, no samples; zone of stamps without one (UTC is taken)",
	Lacks: "host, single I/Os, offsets, processes, errors; discards before Linux 4.18, flushes before 5.5, times and merges in lines of 7 fields; " +
		"busy time is sampled by the kernel since 5.0; how devices stack",
	Sniff: sniffDiskstats,
	Lines: func(src *ingest.Source) (ingest.LinesDecoder, error) {
		clock, err := newSeriesClock(src)
		if err != nil {
			return nil, fmt.Errorf("diskstats: %w", err)
		}
		return &diskstatsText{clock: clock, host: []byte(src.Host), series: ctrSeries{wraps: true}}, nil
	},
})

func sniffDiskstats(head []byte, _ string) int {
	full, short, other := 0, 0, 0
	var r diskstatsRow
	var c seriesClock
	c.stamps.zone = time.UTC
	for line := range bytes.Lines(head) {
		line = bytes.TrimRight(line, "\r\n")
		_, rest, _ := c.prefix(line, isDiskstats)
		switch {
		case r.parse(rest) && r.n >= 11:
			full++
		case r.name != nil && r.n == 4 && r.reason == "":
			short++
		case len(line) == 0 || line[0] == '#' || c.mark(line):
		default:
			other++
		}
	}
	switch {
	case full > 0 && full+short >= other:
		return 2
	case short > 0 && short > other:
		return 1
	}
	return 0
}

// diskstatsRow is a line of /proc/diskstats.
type diskstatsRow struct {
	major, minor int64
	name         []byte // nil: the line is none
	v            [17]int64
	n            int    // counters on the line
	reason       string // why it can't be used
}

// parse reads a line; false says that it can't be used.
func (r *diskstatsRow) parse(line []byte) bool {
	r.name, r.n, r.reason = nil, 0, ""
	i := skipSpaceTab(line, 0)
	major, end := scanDigits(line, i)
	if end == i || end > i+4 || end == len(line) || !isSpaceTab(line[end]) {
		return false
	}
	i = skipSpaceTab(line, end)
	minor, end := scanDigits(line, i)
	if end == i || end > i+7 || end == len(line) || !isSpaceTab(line[end]) {
		return false
	}
	i = skipSpaceTab(line, end)
	end = i
	for end < len(line) && !isSpaceTab(line[end]) {
		end++
	}
	if end == i || !isLetter(line[i]) {
		return false
	}
	r.major, r.minor, r.name = major, minor, line[i:end]
	for {
		i = skipSpaceTab(line, end)
		if i == len(line) {
			break
		}
		var v int64
		v, end = scanDigits(line, i)
		if end == i || end < len(line) && !isSpaceTab(line[end]) {
			r.reason = "not-a-number"
			return false
		}
		if r.n < len(r.v) {
			r.v[r.n] = v
		}
		r.n++
	}
	if r.n != 4 && r.n < 11 {
		r.reason = "columns"
	}
	return r.reason == ""
}

// diskstatsFields are the counters of a line by their places; ctrFields is the
// number in flight, which is no counter.
var diskstatsFields = [17]ctrField{
	ctrReads, ctrReadMerges, ctrReadBytes, ctrReadNS, ctrWrites, ctrWriteMerges, ctrWriteBytes, ctrWriteNS,
	ctrFields, ctrBusyNS, ctrInFlightNS, ctrDiscards, ctrDiscardMerges, ctrDiscardBytes, ctrDiscardNS, ctrFlushes, ctrFlushNS,
}

var diskstatsShort = [4]ctrField{ctrReads, ctrReadBytes, ctrWrites, ctrWriteBytes}

// snapshot gives the counters. Kernels print 4, 11, 15 or 17: a line with a
// number between them was cut, and its last ones are left out.
func (r *diskstatsRow) snapshot(s *ctrSnapshot) bool {
	s.known = 0
	fields := diskstatsFields[:]
	switch {
	case r.n == 4:
		fields = diskstatsShort[:]
	case r.n < 15:
		fields = fields[:11]
	case r.n < 17:
		fields = fields[:15]
	}
	for i, f := range fields {
		if f < ctrFields && !s.scaled(f, r.v[i]) {
			return false
		}
	}
	return true
}

type diskstatsText struct {
	clock  seriesClock
	host   []byte
	series ctrSeries
	row    diskstatsRow
	read   ctrRow
}

func (d *diskstatsText) Line(line []byte, out *ingest.Out) {
	if d.clock.glued(line, d, out) {
		return
	}
	r := &d.row
	if !r.parse(line) && r.name == nil {
		ns, rest, ok := d.clock.prefix(line, isDiskstats)
		switch {
		case ok:
			d.clock.at(ns)
			r.parse(rest)
		case len(line) == 0 || d.clock.mark(line) || !looksTorn(line):
			out.Note()
			return
		default:
			out.Reject(line, "columns")
			return
		}
	}
	if r.reason == "" && !r.snapshot(&d.read.snap) {
		r.reason = "impossible"
	}
	if r.reason != "" {
		out.Reject(line, r.reason)
		return
	}
	if !d.clock.timed {
		d.read.snap.facts(out, out.Names.Intern(d.host), out.Names.Intern(r.name), 0, out.Position)
		out.Count(ingest.FateEvent, "", 1)
		return
	}
	b := d.series.base(d.host, r.name)
	if b != nil {
		if b.timeNS == d.clock.timeNS {
			d.clock.next()
		}
		// A line with fewer counters than the device had before is a torn one:
		// its last number may be cut.
		if known := d.read.snap.known; known&^b.snap.known == 0 && known != b.snap.known {
			if r.n == 4 {
				out.Reject(line, "columns")
				return
			}
			d.read.snap.known &^= 1 << diskstatsFields[min(r.n, 16)-1]
		}
	}
	w := &d.read
	w.host, w.device, w.number, w.timeNS = d.host, r.name, r.major<<32|r.minor, d.clock.timeNS
	w.lines, w.position, w.lineno, w.text = 1, out.Position, out.Lineno, line
	d.series.add(w, out)
}

func (d *diskstatsText) End(out *ingest.Out) { d.series.end(out) }

// isDiskstats says that what stands behind a time is a line of /proc/diskstats.
func isDiskstats(b []byte) bool {
	var r diskstatsRow
	r.parse(b)
	return r.name != nil
}

// prefix takes a time off the beginning of a line if what is left is one of the
// file's own; else rest is the line.
func (c *seriesClock) prefix(line []byte, own func([]byte) bool) (ns int64, rest []byte, ok bool) {
	i := skipSpaceTab(line, 0)
	if len(line) < i+10 || line[i] < '0' || line[i] > '9' {
		return 0, line, false
	}
	end := i
	for range 3 { // an epoch or ISO stamp, a date and a time, a zone behind them
		for end < len(line) && !isSpaceTab(line[end]) {
			end++
		}
		stamp := bytes.Trim(line[i:end], ":,;[]")
		if ns, ok = epochTime(stamp); !ok {
			ns, ok = isoTime(stamp, c.stamps.zone)
		}
		rest = line[end:]
		if ok && own(rest) {
			return ns, rest, true
		}
		end = skipSpaceTab(line, end)
	}
	return 0, line, false
}

// looksTorn tells a line of numbers, of which something is missing, from words.
func looksTorn(line []byte) bool {
	var space [32][]byte
	tok := cutFields(line, space[:0])
	n := 0
	for _, t := range tok {
		if _, end := scanDigits(t, 0); end == len(t) {
			n++
		}
	}
	return n >= 2 && n >= len(tok)-1
}

func isSpaceTab(c byte) bool { return c == ' ' || c == '\t' }

func skipSpaceTab(b []byte, i int) int {
	for i < len(b) && isSpaceTab(b[i]) {
		i++
	}
	return i
}
