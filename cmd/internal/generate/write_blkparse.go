package generate

import (
	"github.com/iopathy/iopathy/ingest"
)

// blkparseFormat is the text of blkparse(1): a line for each stage, with times
// since the start.
var blkparseFormat = Format{
	Name: "blkparse", Ext: ".blkparse.txt", Staged: true, Clock: true, Device: theName,
	Open: func(v *Disk, out []*Output) Log {
		l := &blkparseLog{out: out[0]}
		l.head = padded(nil, int64(v.Major), 3)
		l.head = append(l.head, ',')
		from := len(l.head)
		l.head = decimal(l.head, int64(v.Minor))
		for len(l.head)-from < 3 {
			l.head = append(l.head, ' ')
		}
		return l
	},
}

type blkparseLog struct {
	out  *Output
	head []byte
	seq  [4]int64
}

const actions = "QGIDC"

func (l *blkparseLog) Stage(at Stage, r *Request) {
	cpu, pid := r.CPU, r.PID
	if at == Completed {
		cpu, pid = r.doneCPU(), 0
	}
	l.seq[cpu]++
	b := append(l.out.Text, l.head...)
	b = padded(b, int64(cpu), 3)
	b = append(b, ' ')
	b = padded(b, l.seq[cpu], 8)
	b = append(b, ' ')
	t := r.At[at] - startNS
	b = padded(b, t/1e9, 5)
	b = append(b, '.')
	b = fraction(b, t%1e9, 9)
	b = append(b, ' ')
	b = padded(b, int64(pid), 5)
	b = append(b, ' ', ' ', actions[at])
	b = append(b, ' ')
	b = text(b, r.rwbs(), 3)
	b = append(b, ' ')
	if r.Op == ingest.OpFlush {
		if at == Completed {
			b = append(b, "18446744073709551615 [0]\n"...)
		} else {
			b = append(append(append(b, '['), r.Comm.String()...), "]\n"...)
		}
		l.out.Written(b)
		return
	}
	b = decimal(b, r.Offset/sector)
	b = append(b, " + "...)
	b = decimal(b, r.Size/sector)
	if at == Completed {
		b = append(b, " [0]\n"...)
	} else {
		b = append(append(append(b, " ["...), r.Comm.String()...), "]\n"...)
	}
	l.out.Written(b)
}

func (l *blkparseLog) End() {}
