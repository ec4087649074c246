package generate

import (
	"strconv"

	"github.com/iopathy/iopathy/ingest"
)

// msrFormat is the CSV of the MSR Cambridge traces: arrival as Windows' FILETIME
// (100 ns since 1601), host, number of the disk, Read or Write, offset, size,
// response in 100 ns. Flushes have no line.
var msrFormat = Format{
	Name: "msr", Ext: ".msr.csv", At: Completed,
	Device: func(v *Disk) string { return "disk" + strconv.Itoa(v.Number) },
	Open: func(v *Disk, out []*Output) Log {
		return &msrLog{out: out[0], middle: "," + v.Host + "," + strconv.Itoa(v.Number)}
	},
}

type msrLog struct {
	out    *Output
	middle string
}

const filetime = 116444736000000000 // 1970

func (l *msrLog) Stage(at Stage, r *Request) {
	if at != Completed || r.Op == ingest.OpFlush {
		return
	}
	b := decimal(l.out.Text, filetime+r.At[Queued]/100)
	b = append(b, l.middle...)
	if r.Op == ingest.OpRead {
		b = append(b, ",Read,"...)
	} else {
		b = append(b, ",Write,"...)
	}
	b = decimal(b, r.Offset)
	b = append(b, ',')
	b = decimal(b, r.Size)
	b = append(b, ',')
	b = decimal(b, r.LatencyNS()/100)
	l.out.Written(append(b, '\n'))
}

func (l *msrLog) End() {}
