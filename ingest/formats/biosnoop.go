package formats

import (
	"bytes"

	"github.com/iopathy/iopathy/ingest"
)

// Biosnoop reads the lines of biosnoop, bcc's and libbpf-tools': one per
// completed request, in columns
//
//	TIME(s) COMM PID DISK T SECTOR BYTES [P] [QUE(ms)] LAT(ms)
//
// A task's name may have blanks, so a line is read from both ends, and what the
// options -Q and -P add shows in it: P is a letter, milliseconds have decimals
// and bytes have none. So every table of a file is read, with or without its
// header, amid whatever else was kept of a terminal.
//
// TIME is the completion, in seconds since the first line that was printed. LAT is
// from issue to completion (d2c); QUE, before the issue, is no part of it. T is R
// for all that is no write in bcc, the letters of the block layer in libbpf-tools.
// A request without data is a flush. One that was under way when the tracing began
// has no task, and no disk either if it has no data: it is a fact then
// (diskless_flush_ns, its latency), since it can't be booked to a device. "Possibly
// lost N samples" is the fact lost_records.
var Biosnoop = ingest.Register(ingest.Format{
	Name:  "biosnoop",
	Doc:   "biosnoop of bcc and libbpf-tools, any options, old and new columns",
	Kind:  ingest.KindD2C,
	Needs: "a start (start_ns): times are seconds since the first line",
	Clock: ingest.BaseRelative,
	Lacks: "host, flags, queue depth, error; latencies have 10 us (bcc) or 1 us (libbpf-tools); discards look like reads in bcc's; " +
		"parts of split requests are not seen; partitions' offsets are those on the whole disk; queue time without -Q",
	Sniff: sniffBiosnoop,
	Lines: func(src *ingest.Source) (ingest.LinesDecoder, error) {
		return &biosnoop{traceSource: newTraceSource(src)}, nil
	},
})

// sniffBiosnoop is sure by two lines of the tool, and surer by its header and more
// lines than that: people keep what iostat says beside it in one file.
func sniffBiosnoop(head []byte, _ string) int {
	var d biosnoop
	var out ingest.Out
	header := false
	for line := range bytes.Lines(head) {
		line = bytes.TrimRight(line, "\r\n")
		header = header || isBiosnoopHeader(line)
		d.Line(line, &out)
	}
	rows := out.Tally.Event
	switch {
	case header && rows > 5:
		return 3
	case header || rows >= 2 && out.Tally.Rejected() <= rows:
		return 2
	}
	return 0
}

func isBiosnoopHeader(line []byte) bool {
	s := blkText{b: line}
	for _, w := range []string{"TIME(s)", "COMM", "PID", "DISK", "T", "SECTOR", "BYTES"} {
		if string(s.word()) != w {
			return false
		}
	}
	return true
}

const (
	biosnoopEarly  = 60e9 // how far a line may be before the first one printed
	disklessFlush  = "diskless_flush_ns"
	biosnoopNoDisk = "<unknown>" // as the tool prints a disk that it does not know
)

type biosnoop struct {
	traceSource
	last int64 // time of the last line
}

// Line decodes a line.
func (d *biosnoop) Line(line []byte, out *ingest.Out) {
	io := biosnoopIO{}
	b := backwards{b: line, end: len(line)}
	tail := io.tail(&b)
	i := 0
	early := len(line) > 0 && line[0] == '-'
	if early {
		i++
	}
	at, places, end := scanNano(line, i, ',')
	if end == i || places == 0 || !(end < len(line) && isBlank(line[end])) {
		// Not a line of the table, unless its head was cut off.
		if tail == "" {
			out.Reject(line, "bad-time")
			return
		}
		d.aside(line, out)
		return
	}
	if tail != "" {
		out.Reject(line, tail)
		return
	}
	if reason := d.event(&io, line[min(end, b.end):b.end], at, early, out); reason != "" {
		out.Reject(line, reason)
	}
}

// event adds what a line tells; name is the task's.
func (d *biosnoop) event(io *biosnoopIO, name []byte, at int64, early bool, out *ingest.Out) (reason string) {
	ns, ok := d.at(at)
	if early {
		ns, ok = d.startNS-at, at <= biosnoopEarly
	}
	comm := pythonBytes(trimBlanks(name))
	switch {
	case !ok || at < 0:
		return "bad-time"
	case len(comm) == 0:
		return "few-columns"
	case len(comm) > commBytes || stampBefore(comm):
		return "bad-process" // two lines that ran into each other
	}
	d.last = ns
	unknown := string(comm) == "?" && io.pid == 0
	if string(io.disk) == biosnoopNoDisk && io.size == 0 {
		out.Fact(ingest.Evidence{
			TimeNS: ns, Host: out.Names.Intern(d.host), Name: out.Names.InternString(disklessFlush), Value: float64(io.latency),
		})
		out.Tally.Event++
		return ""
	}
	e := d.arrival(out, ns, io.op, io.offset, io.size, io.disk)
	e.LatencyNS, e.QueueNS, e.Kind, e.Flags = io.latency, io.queue, ingest.KindD2C, io.flags
	if !unknown {
		e.PID, e.Comm = int32(io.pid), out.Names.Intern(comm)
	}
	return ""
}

// aside is a line outside the table: a header, a notice of the tool, what else
// the terminal showed.
func (d *biosnoop) aside(line []byte, out *ingest.Out) {
	out.Note()
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

// pythonBytes is a name that bcc's tools printed as Python 3 does bytes: b'sda'. A
// column may have cut its end off.
func pythonBytes(w []byte) []byte {
	if len(w) > 2 && w[0] == 'b' && (w[1] == '\'' || w[1] == '"') {
		return bytes.TrimSuffix(w[2:], w[1:2])
	}
	return w
}

// lostRecords reads the notices of what the tracer could not keep up with:
// bcc's "Possibly lost 12 samples", bpftrace's and libbpf-tools' "Lost 12
// events" and "lost 12 events on CPU #0".
func lostRecords(line []byte) (n int64, ok bool) {
	i := bytes.Index(line, []byte("ost "))
	if i < 1 || line[i-1]|0x20 != 'l' {
		return 0, false
	}
	i += len("ost ")
	n, end := scanDigits(line, i)
	if end == i || n <= 0 {
		return 0, false
	}
	rest := line[end:]
	return n, bytes.HasPrefix(rest, []byte(" samples")) || bytes.HasPrefix(rest, []byte(" events"))
}

// biosnoopIO is what a line tells behind the task's name.
type biosnoopIO struct {
	pid, offset, size, queue, latency int64
	op                                ingest.Op
	flags                             ingest.Flags
	disk                              []byte
}

// tail reads a line from its end up to the PID.
func (io *biosnoopIO) tail(b *backwards) (reason string) {
	w := b.word()
	if len(w) == 0 {
		return "few-columns"
	}
	var ok bool
	if io.latency, ok = milliseconds(w); !ok || io.latency < 0 {
		return "bad-latency"
	}
	hundredths := len(w) > 2 && (w[len(w)-3] == '.' || w[len(w)-3] == ',')
	io.queue = ingest.Missing
	w = b.word()
	if v, ok := milliseconds(w); ok {
		io.queue = v
		w = b.word()
	}
	if len(w) == 1 && (w[0] == 'S' || w[0] == 'R' || w[0] == '?') { // -P: sequential, random, not known
		w = b.word()
	}
	if io.size, ok = wholeNumber(w); !ok || io.size > vscsiMaxBytes {
		return "bad-size"
	}
	sector := b.word()
	letters := b.word()
	io.disk = pythonBytes(b.word())
	name := b.end
	pid := b.word()
	if string(pid) == "?" && allDigits(io.disk) { // a request that was under way: old versions print no disk
		b.end = name
		io.disk, pid = []byte(biosnoopNoDisk), io.disk
	}
	if len(pid) == 0 {
		return "few-columns"
	}
	var known bool
	io.op, io.flags, known = blkRWBS(letters, io.size == 0)
	if !known {
		return "bad-op"
	}
	if hundredths { // bcc's prints R or W and nothing of the flags
		io.flags &^= ingest.FlagsTold
	}
	lba, isSector := wholeNumber(sector)
	offset, _, fits := sectors(lba, 0)
	switch {
	case string(sector) == "-1", string(sector) == "18446744073709551615": // as a request without a sector has it
		io.offset = ingest.Missing
	case !isSector || !fits:
		return "bad-offset"
	case io.size == 0:
		io.offset = ingest.Missing
	default:
		io.offset = offset
	}
	if io.size == 0 && (io.op == ingest.OpRead || io.op == ingest.OpWrite) {
		io.op = ingest.OpFlush
	}
	if io.pid, ok = wholeNumber(pid); !ok || io.pid > 1<<31-1 {
		return "bad-pid"
	}
	return ""
}

// milliseconds reads milliseconds with two or more decimals, as biosnoop prints
// latencies, in nanoseconds. One of less than 0 is Missing. What is longer than
// a day is a start that the tool did not see, and not taken.
func milliseconds(w []byte) (ns int64, ok bool) {
	i := 0
	if len(w) > 0 && w[0] == '-' {
		i = 1
	}
	v, places, end := scanNano(w, i, ',')
	if places < 2 || end != len(w) || v < 0 || v/1000 > maxLatencyNS {
		return 0, false
	}
	if i == 1 {
		return ingest.Missing, true
	}
	return v / 1000, true
}

// End has nothing to settle.
func (d *biosnoop) End(*ingest.Out) {}
