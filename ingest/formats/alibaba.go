package formats

import "github.com/iopathy/iopathy/ingest"

// Alibaba reads the block traces of Alibaba Cloud of 2020 (Li et al., An
// In-Depth Analysis of Cloud Block Storage Workloads, IISWC 2020). A line is
//
//	device_id,opcode,offset,length,timestamp
//
// without a header: R or W, bytes, microseconds since the epoch at which the
// server received the I/O. The device is "disk" and the id. Sixteen digits in
// the last column and the letter in the second are what no other set has.
var Alibaba = ingest.Register(ingest.Format{
	Name:  "alibaba",
	Doc:   "Alibaba Cloud block traces 2020 (io_traces.csv), CSV without a header",
	Kind:  ingest.KindNone,
	Lacks: "latency (times are arrivals), host, process, flags, queue depth, error",
	Sniff: func(head []byte, _ string) int { return traceSure(&alibaba{}, head, 2) },
	Line: func(src *ingest.Source) (ingest.LineDecoder, error) {
		return &alibaba{newTraceSource(src)}, nil
	},
})

// The bounds of stamps in seconds: 2001, ten digits, to csvLastNS.
const (
	traceFirstS = 1_000_000_000
	traceLastS  = csvLastNS / 1_000_000_000
)

type alibaba struct{ traceSource }

// Line decodes a line.
func (d *alibaba) Line(line []byte, out *ingest.Out) {
	if len(line) == 0 || fold(line, "device_id,opcode,offset,length,timestamp") {
		out.Note()
		return
	}
	c := traceCells{b: line, sep: ','}
	id := c.digits("bad-device")
	op := c.rw("bad-op")
	offset := c.number("bad-offset")
	size := c.number("bad-size")
	us := c.number("bad-time")
	why := c.done()
	switch {
	case why != "":
	case us < traceFirstS*1e6 || us > traceLastS*1e6:
		why = "bad-time"
	case size > ingest.MaxSizeBytes:
		why = "size-over-a-tebibyte"
	case offset+size < 0:
		why = "bad-offset"
	default:
		var mem [32]byte
		d.arrival(out, us*1000, op, offset, size, append(append(mem[:0], "disk"...), id...))
		return
	}
	out.Reject(line, why)
}
