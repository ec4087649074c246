package formats

import (
	"bytes"
	"fmt"

	"github.com/iopathy/iopathy/ingest"
)

// Strace reads the text of strace: calls with stamps (-ttt, -tt, -t, -r, or two
// of them), with and without pids, durations (-T) and paths (-y, -yy), as
// written to a file or to a terminal where attach messages and prefixes mix in.
//
// Reads, writes and syncs of files are events. A call is of a file if its
// descriptor says so (-y), was opened in the trace, or took a positional call;
// descriptors 0, 1 and 2 that nobody opened, pipes, sockets, terminals and the
// files of /proc and /sys are outside: notes. Reads and writes of a descriptor
// that nothing is known of are unpaired (unknown-fd). Offsets of read and write
// follow the open file, which dup, fork and threads share.
//
// Opens, advice, mappings and calls on names and directories are evidence: the
// value is the bytes concerned, or for open, stat and the like the time of the
// call in nanoseconds.
var Strace = ingest.Register(ingest.Format{
	Name: "strace",
	Doc:  "strace -f -ttt -T -yy (also -tt, -t, -r, without -T or -y)",
	Kind: ingest.KindSyscall,
	Needs: "stamps; for -t and -tt the zone and a start (start_ns) that tells the day; for -r a start; " +
		"without -T only calls that were interrupted have a latency",
	Lacks: "host, device unless -yy names a block device (else all files are of the device strace), command, queue; " +
		"I/O by mmap, io_submit and io_uring; latencies hold what tracing costs",
	Sniff: sniffStrace,
	Lines: func(src *ingest.Source) (ingest.LinesDecoder, error) {
		clock, err := newStraceClock(src.Options)
		if err != nil {
			return nil, fmt.Errorf("strace: %w", err)
		}
		return &strace{clock: clock, host: []byte(src.Host), procs: make(map[int32]*straceProc)}, nil
	},
})

const (
	straceNoStamp = "no-stamp: trace with strace -f -ttt -T -yy"
	straceTable   = "summary-table: trace with strace -f -ttt -T -yy, without -c"
	straceTorn    = "torn-call"

	straceUnfinished = "<unfinished ...>"
)

// strace is the state between lines.
type strace struct {
	clock  straceClock
	host   []byte
	procs  map[int32]*straceProc
	main   *straceProc // the process of lines without a pid, before any has one
	recent *straceProc // of the last line that had a pid
	cloner *straceProc // that has a clone under way
	torn   *straceCall // cut by an attach message: the next line goes on
	table  bool        // inside a summary
	calls  bool        // a call was read
	echo   int         // lines that the call in hand may yet print amid itself
	seen   int64       // lines with a pid
	gone   [64]int32   // pids that exited last: a child may be gone before its clone returns
	next   int
	hand   straceLine `state:"-"` // the line in hand
}

// straceProc is one traced thread.
type straceProc struct {
	pid   int32
	files *straceFiles // nil: nothing known, inherited from the cloner at first use
	call  straceCall   // begun and not yet resumed
	begun bool
	seen  int64 // when it last had a line with its pid
}

// straceCall is a call that began in one line and ends in another.
type straceCall struct {
	proc     *straceProc
	kind     straceKind
	word     string // of a call on names: what evidence it is
	start    int64  // ns
	text     []byte // arguments so far
	position int64
}

// straceProcs bounds the threads that are told apart at once, and
// straceTextBytes what is kept of a call that was interrupted.
const (
	straceProcs     = 1 << 13
	straceTextBytes = 8 << 10
)

func (d *strace) Line(line []byte, out *ingest.Out) {
	d.hand.read(line)
	d.take(&d.hand, out)
}

// take gives a line that was read its fate.
func (d *strace) take(l *straceLine, out *ingest.Out) {
	b := l.rest
	now, stamped := d.clock.at(&l.stracePrefix)
	if d.torn != nil {
		call := d.torn
		d.torn = nil
		if l.pid < 0 && l.stamp == straceStampNone && straceName(b) == 0 && !bytes.HasPrefix(b, []byte("<... ")) && !straceMessage(b) && !straceStack(b) {
			call.text = append(call.text, b...)
			if text, ok := bytes.CutSuffix(call.text, []byte(straceUnfinished)); ok {
				call.position = out.Position
				d.begin(call.proc, *call, text, out)
				return
			}
			d.finish(call, call.text, 1, now, l.line, out)
			return
		}
	}
	if d.echoed(l, out) {
		return
	}
	switch l.shape {
	case straceBlank:
		out.Note()
		return
	case straceSaid:
		if pid, ok := straceAttached(b); ok {
			d.proc(pid)
		}
		out.Note()
		return
	case straceBack:
		d.resumed(l, now, stamped, out)
		return
	case straceGone:
		d.exited(d.of(l.pid, false), out)
		out.Note()
		return
	case straceSignal:
		d.of(l.pid, false)
		out.Note()
		return
	}
	if d.table || l.shape == straceTotals {
		d.table = !bytes.HasSuffix(b, []byte(" total"))
		if d.calls { // -C: what it sums up was read
			out.Note()
		} else {
			out.Reject(l.line, straceTable)
		}
		return
	}
	if l.shape == straceElse {
		out.Reject(l.line, "not-a-call")
		return
	}
	if !stamped {
		out.Reject(l.line, straceNoStamp)
		return
	}
	d.calls = true
	proc := d.of(l.pid, false)
	call := straceCall{proc: proc, kind: l.kind, start: now, position: out.Position}
	if l.kind == straceFact {
		call.word = straceWord(l.name)
	}
	switch l.shape {
	case straceHalf:
		d.begin(proc, call, l.args, out)
	case straceAttach:
		if pid, ok := straceAttached(l.args[l.cut:]); ok {
			d.proc(pid)
		}
		torn := call // the copy alone outlives the line
		torn.text = append(torn.text, l.args[:l.cut]...)
		d.torn = &torn
		if l.kind == straceClone {
			d.cloner = proc
		}
		out.Note()
	default:
		if l.torn && straceEchoes(l) {
			d.echo = straceEchoLines
			out.Note()
			return
		}
		d.settled(&call, l.args, &l.straceEnd, 1, now, l.line, out)
	}
}

// begin keeps a call that another thread's line interrupts.
func (d *strace) begin(proc *straceProc, call straceCall, args []byte, out *ingest.Out) {
	kind := call.kind
	if kind == straceNote || kind == straceExit {
		out.Note()
		return
	}
	d.settle(proc, out)
	if proc != d.main && d.procs[proc.pid] != proc { // one thread too many
		proc.call.kind, proc.begun = kind, true
		d.settle(proc, out)
		return
	}
	if len(args) > straceTextBytes {
		args = args[:straceTextBytes]
	}
	call.text = append(proc.call.text[:0], args...)
	proc.call = call
	proc.begun = true
	if kind == straceClone {
		d.cloner = proc
	}
}

// resumed ends a call that was interrupted.
func (d *strace) resumed(l *straceLine, now int64, stamped bool, out *ingest.Out) {
	if l.detached {
		d.settle(d.of(l.pid, false), out)
		out.Note()
		return
	}
	if l.name == nil {
		out.Reject(l.line, "not-a-call")
		return
	}
	kind := l.kind
	if kind == straceNote || kind == straceExit {
		d.of(l.pid, false)
		out.Note()
		return
	}
	proc := d.of(l.pid, true)
	if !proc.begun || proc.call.kind != kind {
		if !stamped {
			out.Reject(l.line, straceNoStamp)
			return
		}
		d.settle(proc, out)
		if kind.io() {
			out.Count(ingest.FateUnpaired, "unpaired-resume", 1)
		} else {
			out.Note()
		}
		return
	}
	proc.begun = false
	c := &proc.call
	c.text = append(c.text, l.args...)
	d.finish(c, c.text, 2, now, l.line, out)
}

// settle gives the call that a thread has begun the fate of half an I/O.
func (d *strace) settle(proc *straceProc, out *ingest.Out) {
	if !proc.begun {
		return
	}
	proc.begun = false
	if proc.call.kind.io() {
		out.Count(ingest.FateUnpaired, "unfinished", 1)
	} else {
		out.Note()
	}
}

func (d *strace) exited(proc *straceProc, out *ingest.Out) {
	d.settle(proc, out)
	delete(d.procs, proc.pid)
	d.gone[d.next%len(d.gone)] = proc.pid
	d.next++
	if d.recent == proc {
		d.recent = nil
	}
	if d.cloner == proc {
		d.cloner = nil
	}
	if d.main == proc {
		d.main = nil
	}
}

// End leaves the calls that nothing ended as open, in the order of their lines.
func (d *strace) End(out *ingest.Out) {
	position := out.Position
	open := make([]*straceProc, 0, len(d.procs)+1)
	for _, p := range d.procs {
		open = append(open, p)
	}
	if d.main != nil && d.main.pid < 0 {
		open = append(open, d.main)
	}
	straceByPosition(open)
	for _, p := range open {
		if p.begun && p.call.kind.io() {
			out.Position = p.call.position
			d.open(&p.call, out)
		}
		d.settle(p, out)
	}
	out.Position = position
}

// of is the thread of a line. strace leaves the pid out while it follows one
// thread only: that is the main one, or the one that is left of several. resumes
// says that the line ends a call that was begun.
func (d *strace) of(pid int32, resumes bool) *straceProc {
	if pid >= 0 {
		if d.recent == nil || d.recent.pid != pid {
			p := d.main
			if d.procs[pid] != nil || p == nil || p.pid >= 0 || d.cloner == p && !resumes {
				p = d.proc(pid)
			} else { // nothing announced it: it is that of the lines before
				p.pid = pid
				d.procs[pid] = p
			}
			d.recent = p
		}
		d.seen++
		d.recent.seen = d.seen
		return d.recent
	}
	if d.recent != nil {
		return d.recent
	}
	for _, p := range d.procs { // the one that the log followed before the thread that has gone
		if p.seen > 0 && (d.recent == nil || p.seen > d.recent.seen) {
			d.recent = p
		}
	}
	if d.recent != nil {
		return d.recent
	}
	if d.main == nil {
		d.main = &straceProc{pid: ingest.Missing, files: newStraceFiles()}
	}
	return d.main
}

// proc is the thread of a pid that was announced or has lines.
func (d *strace) proc(pid int32) *straceProc {
	p := d.procs[pid]
	if p == nil {
		p = &straceProc{pid: pid}
		if len(d.procs) < straceProcs {
			d.procs[pid] = p
		}
	}
	return p
}

// OwnClock says what the stamps were: -r writes the time since the line before.
func (d *strace) OwnClock() (ingest.TimeBase, string) {
	if d.clock.sum > 0 {
		return ingest.BaseRelative, ""
	}
	return ingest.BaseEpoch, ""
}
