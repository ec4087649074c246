package generate

import (
	"strconv"

	"github.com/iopathy/iopathy/ingest"
)

// What tracers of system calls would have seen had each request been a call of
// its own, by a thread that waits for it.

// straceFormat is strace -f -ttt -T -yy. A call that another line comes between
// is told in two.
var straceFormat = Format{
	Name: "strace", Ext: ".strace", Staged: true, Device: theName,
	Open: func(v *Disk, out []*Output) Log {
		file := "(4</dev/" + v.Name + "<block " + strconv.Itoa(v.Major) + ":" + strconv.Itoa(v.Minor) + ">>"
		return &straceLog{out: out[0], file: file}
	},
}

type straceLog struct {
	out  *Output
	file string
	open int64 // the thread whose call's line is not yet ended; 0: none
}

func call(r *Request) string {
	switch r.Op {
	case ingest.OpRead:
		return "pread64"
	case ingest.OpWrite:
		return "pwrite64"
	}
	return "fdatasync"
}

func (l *straceLog) Stage(at Stage, r *Request) {
	flush := r.Op == ingest.OpFlush
	begins := at == Queued || flush && at == Issued
	if !begins && at != Completed {
		return
	}
	b, thread := l.out.Text, r.thread()
	if l.open != 0 && (begins || l.open != thread) {
		b = append(b, " <unfinished ...>\n"...)
		l.open = 0
	}
	if begins {
		b = append(decimal(b, thread), ' ')
		b = append(seconds(b, r.At[Queued], 6), ' ')
		b = append(append(b, call(r)...), l.file...)
		if !flush {
			b = append(b, ", "...)
		}
		l.open = thread
		l.out.Written(b)
		return
	}
	if l.open == 0 {
		b = append(decimal(b, thread), ' ')
		b = append(seconds(b, r.At[Completed], 6), ' ')
		b = append(append(append(b, "<... "...), call(r)...), " resumed>"...)
	}
	l.open = 0
	if !flush {
		b = append(decimal(append(b, "\"\"..., "...), r.Size), ", "...)
		b = decimal(b, r.Offset)
	}
	b = decimal(append(b, ") = "...), r.Size)
	b = append(seconds(append(b, " <"...), r.LatencyNS(), 6), ">\n"...)
	l.out.Written(b)
}

func (l *straceLog) End() {
	if l.open != 0 {
		l.out.Written(append(l.out.Text, " <unfinished ...>\n"...))
	}
}

// perfTraceFormat is perf trace, whose reader knows tasks but no devices: each
// disk has a program of its own, named after it.
var perfTraceFormat = Format{
	Name: "perf-trace", Ext: ".perf-trace.txt", At: Completed, Clock: true, Device: func(v *Disk) string { return "syscall:" + program(v) },
	Open: func(v *Disk, out []*Output) Log { return &perfTraceLog{out: out[0], comm: program(v)} },
}

func program(v *Disk) string { return "io-" + v.Name }

type perfTraceLog struct {
	out  *Output
	comm string
}

func (l *perfTraceLog) Stage(_ Stage, r *Request) {
	b := millis(l.out.Text, r.At[Queued]-startNS, 3, 10)
	b = millis(append(b, " ("...), r.LatencyNS(), 3, 6)
	b = append(append(b, " ms): "...), l.comm...)
	b = append(decimal(append(b, '/'), r.thread()), ' ')
	b = append(append(b, call(r)...), "(fd: 4"...)
	if r.Op != ingest.OpFlush {
		b = decimal(append(b, ", buf: 0x7fff1bbd4e50, count: "...), r.Size)
		b = decimal(append(b, ", pos: "...), r.Offset)
	}
	b = append(b, ")      = "...)
	l.out.Written(append(decimal(b, r.Size), '\n'))
}

func (l *perfTraceLog) End() {}

// fsslowerFormat is ext4slower -j 0: all calls, in microseconds since boot. Its
// reader knows no devices: each has a host of its own.
var fsslowerFormat = Format{
	Name: "fsslower", Ext: ".ext4slower.csv", At: Completed, Clock: true, Host: alone, Device: func(*Disk) string { return "fs:ext4" },
	Open: func(_ *Disk, out []*Output) Log {
		out[0].Written(append(out[0].Text, "Tracing ext4 operations\nENDTIME_us,TASK,PID,TYPE,BYTES,OFFSET_b,LATENCY_us,FILE\n"...))
		return &fsslowerLog{out: out[0]}
	},
}

type fsslowerLog struct{ out *Output }

func (l *fsslowerLog) Stage(_ Stage, r *Request) {
	kind := r.letter('R', 'W')
	if r.Op == ingest.OpFlush {
		kind = 'S'
	}
	b := append(decimal(l.out.Text, (r.At[Completed]-startNS)/1e3), ',')
	b = append(append(b, r.Comm.String()...), ',')
	b = append(decimal(b, int64(r.PID)), ',', kind, ',')
	b = append(decimal(b, r.Size), ',')
	b = append(decimal(b, r.Offset), ',')
	b = decimal(b, r.LatencyNS()/1e3)
	l.out.Written(append(b, ",data\n"...))
}

func (l *fsslowerLog) End() {}
