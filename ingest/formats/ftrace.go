package formats

import (
	"bytes"

	"github.com/iopathy/iopathy/ingest"
)

// Ftrace is the text of the kernel's own tracer: the files trace and
// trace_pipe of tracefs, with block events, system call events (their own
// spelling, "sys_read(fd: 3, ...)" and "sys_read -> 0x10") and the records of
// the blk tracer. One line is
//
//	comm-pid [(tgid)] [cpu] [flags] sec.usec: event: fields
//
// and in the latency format "comm-pid cpuflags 12us : event: fields", whose
// times count from the start of the trace.
var Ftrace = ingest.Register(ingest.Format{
	Name:  "ftrace",
	Doc:   "ftrace text: trace or trace_pipe of tracefs (block and syscall events, blk tracer)",
	Kind:  ingest.KindQ2C,
	Needs: tpNeeds,
	Clock: ingest.BaseBoot,
	Lacks: tpLacks + "; lines without stamps (context-info off), the verbose latency format and clocks that count ticks (counter, x86-tsc) are rejected",
	Sniff: func(head []byte, _ string) int {
		if traceText(head) == traceFtrace {
			return 2
		}
		return 0
	},
	Lines: func(src *ingest.Source) (ingest.LinesDecoder, error) {
		return &ftrace{tracepoints: newTracepoints(src)}, nil
	},
})

const (
	tpNeeds = "the epoch of stamp 0 (start_ns): trace clocks count from boot or from the start; without it times stay relative, from 1970; the host"
	tpLacks = "device names (numbers only), queue depth, file; latency is q2c with block_bio_queue, d2c with block_rq_issue alone, none with neither; " +
		"system calls (kind syscall) tell no device: theirs is syscall:COMM, offsets only of positional calls; " +
		"calls on descriptors 0 to 2 and raw_syscalls are notes"
)

type ftrace struct {
	tracepoints
	again traceAgain
}

// Take takes a record that was read ahead.
func (d *ftrace) Take(a ingest.Ahead, i int, line []byte, out *ingest.Out) {
	if d.again.repeated(a.(*tpAhead).blkBriefs.time(i), out) {
		return
	}
	d.tracepoints.Take(a, i, line, out)
}

func (d *ftrace) End(out *ingest.Out) { d.end(out) }

func (d *ftrace) Ahead() ingest.Ahead { return &tpAhead{head: ftraceEvent} }

// ftraceEvent takes the line of a named event apart.
func ftraceEvent(line []byte, h *tpHead) (name, args []byte, ok bool) {
	rest, reason := ftraceHead(line, h)
	if reason != "" || len(rest) > 0 && rest[0]-'0' <= 9 {
		return nil, nil, false
	}
	i := eventName(rest)
	return rest[:i], rest[min(i+1, len(rest)):], i < len(rest) && rest[i] == ':'
}

// eventName is the length of the name at the start of b.
func eventName(b []byte) int {
	i := 0
	for i < len(b) && (b[i]|0x20-'a' <= 25 || b[i] == '_' || b[i]-'0' <= 9) {
		i++
	}
	return i
}

func (d *ftrace) Line(line []byte, out *ingest.Out) {
	var h tpHead
	rest, reason := ftraceHead(line, &h)
	if reason != "" {
		d.aside(line, reason, out)
		return
	}
	if d.again.repeated(h.timeNS, out) {
		return
	}
	if len(rest) > 0 && rest[0]-'0' <= 9 {
		d.tracer(&h, rest, line, out)
		return
	}
	// The name of an event is up to its colon; a call has a parenthesis or
	// an arrow behind its name.
	i := eventName(rest)
	name, args := rest[:i], rest[i:]
	switch {
	case len(args) > 0 && args[0] == ':':
		d.event(&h, name, args[1:], line, out)
	case bytes.HasPrefix(name, ftraceCall) && len(args) > 0 && args[0] == '(':
		d.stamp(h.timeNS, out)
		if args, ok := bytes.CutSuffix(bytes.TrimRight(args[1:], " "), []byte(")")); ok {
			d.calls.enter(&h, d.lastNS, name[len(ftraceCall):], args, out)
		} else { // torn, or glued to the next
			out.Reject(line, callBadArgs)
		}
	case bytes.HasPrefix(name, ftraceCall) && bytes.HasPrefix(args, ftraceReturn):
		d.calls.exit(&h, d.stamp(h.timeNS, out), name[len(ftraceCall):], args[len(ftraceReturn):], line, out)
	case bytes.HasPrefix(bytes.TrimLeft(args, " "), ftraceCaller):
		d.stamp(h.timeNS, out)
		out.Note()
	default:
		out.Reject(line, tpNoLine)
	}
}

var (
	ftraceHeader = []byte("# tracer:")
	ftraceCall   = []byte("sys_")
	ftraceReturn = []byte(" -> ")
	ftraceCaller = []byte("<-") // of a function, by the function tracer
)

// aside takes a line that is no event.
func (d *ftrace) aside(line []byte, reason string, out *ingest.Out) {
	text := bytes.TrimSpace(line)
	if bytes.Contains(text, ftraceHeader) { // whatever stands before it
		d.again.begin()
	}
	switch {
	case len(text) == 0:
		out.Note()
	case text[0] == '#':
		out.Note()
		if n := ftraceOverwritten(text); n > 0 {
			d.fact(tpOldFact, "", float64(n), out)
		}
	case bytes.HasPrefix(text, []byte("CPU")) || bytes.HasPrefix(text, []byte("cpu")) || bytes.HasPrefix(text, []byte("version")):
		if where, n, ok := tracedLoss(text); ok {
			out.Note()
			d.lost(n, where, out)
		} else if tracedBanner(text) {
			out.Note()
		} else {
			out.Reject(line, reason)
		}
	default:
		if i := bytes.Index(text, []byte(" CPU:")); i > 0 { // a stamp may stand before it
			if where, n, ok := tracedLoss(text[i+1:]); ok {
				out.Note()
				d.lost(n, where, out)
				return
			}
		}
		out.Reject(line, reason)
	}
}

// ftraceOverwritten reads "# entries-in-buffer/entries-written: 415/31386".
func ftraceOverwritten(text []byte) uint64 {
	_, rest, ok := bytes.Cut(text, []byte("entries-written:"))
	if !ok {
		return 0
	}
	s := blkText{b: rest}
	kept, ok := s.column()
	if !ok || !s.take('/') {
		return 0
	}
	written, ok := s.number()
	if !ok || written < kept {
		return 0
	}
	return written - kept
}

// tracedLoss reads the notices "CPU:1 [LOST 254 EVENTS]" of ftrace and
// "CPU:1 [254 EVENTS DROPPED]" of trace-cmd; a number may be missing.
func tracedLoss(text []byte) (where string, n uint64, ok bool) {
	cpu, rest, ok := bytes.Cut(text, []byte(" ["))
	if !ok || len(cpu) > 12 || !bytes.HasPrefix(cpu, []byte("CPU")) {
		return "", 0, false
	}
	if !bytes.Contains(rest, []byte("EVENTS")) || !(bytes.Contains(rest, []byte("LOST")) || bytes.Contains(rest, []byte("DROPPED"))) {
		return "", 0, false
	}
	for i, c := range rest {
		if c-'0' <= 9 {
			s := blkText{b: rest, i: i}
			n, _ = s.number()
			break
		}
	}
	return string(cpu), n, true
}

// tracedBanner says whether a line is one of those that trace-cmd prints before
// the events: "version = 7", "cpus=2", "CPU 0 is empty".
func tracedBanner(text []byte) bool {
	switch {
	case bytes.HasPrefix(text, []byte("cpus=")), bytes.HasPrefix(text, []byte("version = ")):
		return true
	case bytes.HasPrefix(text, []byte("CPU ")), bytes.HasPrefix(text, []byte("CPU:")):
		return bytes.HasSuffix(text, []byte(" is empty"))
	}
	return false
}
