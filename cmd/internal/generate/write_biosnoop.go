package generate

import (
	"strconv"

	"github.com/iopathy/iopathy/ingest"
)

// biosnoop's lines come when a request is done and tell its time from the issue.

// left appends s and blanks behind it, in columns or more.
func left(b []byte, s string, columns int) []byte {
	return blanks(append(b, s...), columns-len(s))
}

// leftNumber is left of a number.
func leftNumber(b []byte, v int64, columns int) []byte {
	n := width(uint64(v))
	return blanks(lowest(b, uint64(v), n), columns-n)
}

// millis appends ns as milliseconds with digits behind the point, in columns.
func millis(b []byte, ns int64, digits, columns int) []byte {
	part := ns % 1e6
	if digits == 3 {
		part /= 1e3
	} else {
		for i := digits; i < 6; i++ {
			part /= 10
		}
	}
	b = padded(b, ns/1e6, columns-digits-1)
	return fraction(append(b, '.'), part, digits)
}

// biosnoopFormat is that of libbpf-tools, with the queue.
var biosnoopFormat = Format{
	Name: "biosnoop", Ext: ".biosnoop.txt", At: Completed, Clock: true, Device: theName,
	Open: func(v *Disk, out []*Output) Log {
		out[0].Written(append(out[0].Text, "TIME(s)     COMM           PID     DISK    T    SECTOR     BYTES   QUE(ms) LAT(ms)\n"...))
		return &biosnoopLog{out: out[0], name: v.Name}
	},
}

type biosnoopLog struct {
	out  *Output
	name string
}

func (l *biosnoopLog) Stage(_ Stage, r *Request) {
	b := l.out.Text
	from := len(b)
	b = seconds(b, r.At[Completed]-startNS, 6)
	b = blanks(b, 12-(len(b)-from))
	b = append(left(b, r.Comm.String(), 14), ' ')
	b = append(leftNumber(b, int64(r.PID), 7), ' ')
	b = append(left(b, l.name, 7), ' ')
	b = append(left(b, r.rwbs(), 4), ' ')
	b = append(leftNumber(b, r.Offset/sector, 10), ' ')
	b = append(leftNumber(b, r.Size, 7), ' ')
	b = append(millis(b, r.QueueNS(), 3, 7), ' ')
	l.out.Written(append(millis(b, r.ServedNS(), 3, 7), '\n'))
}

func (l *biosnoopLog) End() {}

// biosnoopBCCFormat is bcc's, without the queue; a flush looks like a read of
// nothing.
var biosnoopBCCFormat = Format{
	Name: "biosnoop-bcc", Ingest: "biosnoop", Ext: ".biosnoop.txt", At: Completed, Clock: true, Device: theName,
	Open: func(v *Disk, out []*Output) Log {
		out[0].Written(append(out[0].Text, "TIME(s)     COMM           PID     DISK      T SECTOR     BYTES   LAT(ms)\n"...))
		return &biosnoopBCCLog{out: out[0], name: v.Name}
	},
}

type biosnoopBCCLog struct {
	out  *Output
	name string
}

func (l *biosnoopBCCLog) Stage(_ Stage, r *Request) {
	b := l.out.Text
	from := len(b)
	b = seconds(b, r.At[Completed]-startNS, 6)
	b = blanks(b, 12-(len(b)-from))
	b = append(left(b, r.Comm.String(), 14), ' ')
	b = append(leftNumber(b, int64(r.PID), 7), ' ')
	b = append(left(b, l.name, 9), ' ')
	if r.Op == ingest.OpWrite {
		b = append(b, "W "...)
	} else {
		b = append(b, "R "...)
	}
	b = append(leftNumber(b, r.Offset/sector, 10), ' ')
	b = append(leftNumber(b, r.Size, 7), ' ')
	l.out.Written(append(millis(b, r.ServedNS(), 2, 7), '\n'))
}

func (l *biosnoopBCCLog) End() {}

// biosnoopBTFormat is bpftrace's of today: numbers of the device, whole
// milliseconds, no place and no size.
var biosnoopBTFormat = Format{
	Name: "biosnoop-bt", Ext: ".biosnoop-bt.txt", At: Completed, Clock: true, Device: func(v *Disk) string { return v.Name },
	Open: func(v *Disk, out []*Output) Log {
		out[0].Written(append(out[0].Text, "Attached 4 probes\nTIME(ms)     DISK ID        COMM             PID    LAT(ms)\n             MAJOR MINOR\n"...))
		return &biosnoopBTLog{out: out[0], disk: string(left(left(nil, strconv.Itoa(v.Major), 6), strconv.Itoa(v.Minor), 8))}
	},
}

type biosnoopBTLog struct {
	out  *Output
	disk string
}

func (l *biosnoopBTLog) Stage(_ Stage, r *Request) {
	b := append(leftNumber(l.out.Text, (r.At[Completed]-startNS)/1e6, 12), ' ')
	b = append(b, l.disk...)
	b = append(left(b, r.Comm.String(), 16), ' ')
	b = append(leftNumber(b, int64(r.PID), 6), ' ')
	l.out.Written(append(padded(b, r.ServedNS()/1e6, 7), '\n'))
}

func (l *biosnoopBTLog) End() {}
