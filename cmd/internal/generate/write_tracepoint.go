package generate

import (
	"strconv"

	"github.com/iopathy/iopathy/ingest"
)

// The kernel's block tracepoints as ftrace, trace-cmd and perf print them: a line
// for each stage. They differ in what stands before the event.

// tracepointNames are the events of the stages.
var tracepointNames = [stages]string{"block_bio_queue", "block_getrq", "block_rq_insert", "block_rq_issue", "block_rq_complete"}

var ftraceFormat = Format{
	Name: "ftrace", Ext: ".ftrace.txt", Staged: true, Clock: true, Device: theName,
	Open: tracepoints("# tracer: nop\n#\n#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n#              | |         |   |||||     |         |\n",
		func(b []byte, at Stage, t int64, cpu uint8, pid int32, comm string) []byte {
			b = text(b, comm, 16)
			from := len(b)
			b = decimal(append(b, '-'), int64(pid))
			for len(b)-from < 8 {
				b = append(b, ' ')
			}
			b = append(b, " ["...)
			b = append(fraction(b, int64(cpu), 3), "] ..... "...)
			b = append(seconds(b, t, 6), ": "...)
			return append(append(b, tracepointNames[at]...), ": "...)
		}),
}

var traceCmdFormat = Format{
	Name: "trace-cmd", Ext: ".trace-cmd.txt", Staged: true, Clock: true, Device: theName,
	Open: tracepoints("cpus=4\n",
		func(b []byte, at Stage, t int64, cpu uint8, pid int32, comm string) []byte {
			b = text(b, comm, 17)
			from := len(b)
			b = decimal(append(b, '-'), int64(pid))
			for len(b)-from < 6 {
				b = append(b, ' ')
			}
			b = append(b, " ["...)
			b = append(fraction(b, int64(cpu), 3), "] "...)
			b = append(seconds(b, t, 6), ": "...)
			b = append(append(b, tracepointNames[at]...), ':')
			for n := len(tracepointNames[at]); n < 20; n++ {
				b = append(b, ' ')
			}
			return append(b, ' ')
		}),
}

// perfScriptFormat has nanoseconds (perf script --ns).
var perfScriptFormat = Format{
	Name: "perf-script", Ext: ".perf.txt", Staged: true, Clock: true, Device: theName,
	Open: tracepoints("",
		func(b []byte, at Stage, t int64, cpu uint8, pid int32, comm string) []byte {
			b = text(b, comm, 16)
			b = padded(append(b, ' '), int64(pid), 7)
			b = append(b, " ["...)
			b = append(fraction(b, int64(cpu), 3), "]  "...)
			b = append(seconds(b, t, 9), ":   "...)
			b = append(b, "block:"...)
			return append(append(b, tracepointNames[at]...), ": "...)
		}),
}

// tracepoints opens a log whose lines begin with what before gives.
func tracepoints(head string, before func(b []byte, at Stage, t int64, cpu uint8, pid int32, comm string) []byte) func(v *Disk, out []*Output) Log {
	return func(v *Disk, out []*Output) Log {
		out[0].Written(append(out[0].Text, head...))
		return &tracepointLog{out: out[0], before: before, device: strconv.Itoa(v.Major) + "," + strconv.Itoa(v.Minor) + " "}
	}
}

type tracepointLog struct {
	out    *Output
	before func(b []byte, at Stage, t int64, cpu uint8, pid int32, comm string) []byte
	device string
}

var ksoftirqd = [4]string{"ksoftirqd/0", "ksoftirqd/1", "ksoftirqd/2", "ksoftirqd/3"}

func (l *tracepointLog) Stage(at Stage, r *Request) {
	cpu, pid, comm := r.CPU, r.PID, r.Comm.String()
	if at == Completed {
		cpu = r.doneCPU()
		pid, comm = 14+8*int32(cpu), ksoftirqd[cpu]
	}
	b := l.before(l.out.Text, at, r.At[at]-startNS, cpu, pid, comm)
	b = append(append(append(b, l.device...), r.rwbs()...), ' ')
	switch at {
	case Inserted, Issued:
		b = append(decimal(b, r.Size), " () "...)
	case Completed:
		b = append(b, "() "...)
	}
	if at == Completed && r.Op == ingest.OpFlush {
		b = append(b, "18446744073709551615"...)
	} else {
		b = decimal(b, r.Offset/sector)
	}
	b = decimal(append(b, " + "...), r.Size/sector)
	if at >= Inserted {
		b = append(b, " be,0,4"...)
	}
	if at == Completed {
		b = append(b, " [0]\n"...)
	} else {
		b = append(append(append(b, " ["...), r.Comm.String()...), "]\n"...)
	}
	l.out.Written(b)
}

func (l *tracepointLog) End() {}
