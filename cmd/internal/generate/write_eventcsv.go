package generate

// eventCSVFormat is iopathy's own CSV, a line per completed request, laid out as
// a corpus of recordings: runs/RUN.csv.
var eventCSVFormat = Format{
	Name: "event-csv", Ext: ".csv", At: Completed, Flat: true, Device: theName,
	Open: func(v *Disk, out []*Output) Log {
		out[0].Written(append(out[0].Text, "time_ns,host,device,pid,comm,op,flags,offset_bytes,size_bytes,queue_ns,latency_ns,error\n"...))
		return &eventCSVLog{out: out[0], names: "," + v.Host + "," + v.Name + ","}
	},
}

type eventCSVLog struct {
	out   *Output
	names string
}

// opLetters are those of the event CSV, by ingest.Op.
const opLetters = "?RWFD"

func (l *eventCSVLog) Stage(at Stage, r *Request) {
	if at != Completed {
		return
	}
	b := decimal(l.out.Text, r.At[Completed])
	b = append(b, l.names...)
	b = decimal(b, int64(r.PID))
	b = append(b, ',')
	b = append(b, r.Comm.String()...)
	b = append(b, ',', opLetters[r.Op], ',')
	b = append(b, flagLetters[r.Flags&31]...)
	b = append(b, ',')
	b = decimal(b, r.Offset)
	b = append(b, ',')
	b = decimal(b, r.Size)
	b = append(b, ',')
	b = decimal(b, r.QueueNS())
	b = append(b, ',')
	b = decimal(b, r.LatencyNS())
	l.out.Written(append(b, ",0\n"...))
}

func (l *eventCSVLog) End() {}
