package formats

import "github.com/iopathy/iopathy/ingest"

// MQSim reads the ASCII traces of the SSD simulators MQSim and SSDsim. A line is
//
//	time device lba sectors op
//
// with blanks between: nanoseconds since the start, sectors of 512 bytes, 0 for
// a write and 1 for a read. DiskSim's look alike but for times in milliseconds with
// decimals and flags for the op, of which other tools swap the meaning: they are
// rejects. The device is "disk" and the number.
var MQSim = ingest.Register(ingest.Format{
	Name:  "mqsim",
	Doc:   "MQSim and SSDsim ASCII block traces (time device lba sectors op)",
	Kind:  ingest.KindNone,
	Needs: "a start (start_ns): times are nanoseconds since the trace began",
	Clock: ingest.BaseRelative,
	Lacks: "latency (times are arrivals), host, process, flags, queue depth, error; traces whose simulator was set to another unit than ns",
	// Five columns of whole numbers may be anything: never sure.
	Sniff: func(head []byte, _ string) int { return traceSure(&mqsim{}, head, 1) },
	Line: func(src *ingest.Source) (ingest.LineDecoder, error) {
		return &mqsim{newTraceSource(src)}, nil
	},
})

type mqsim struct{ traceSource }

// Line decodes a line.
func (d *mqsim) Line(line []byte, out *ingest.Out) {
	c := traceCells{b: line, sep: ' '}
	if !c.begin() {
		out.Note()
		return
	}
	stamp := c.number("bad-time")
	id := c.digits("bad-device")
	lba := c.number("bad-offset")
	n := c.number("bad-size")
	kind := c.number("bad-op")
	why := c.done()
	offset, size, fits := sectors(lba, n)
	ns, inTime := d.at(stamp)
	op := ingest.OpWrite
	if kind == 1 {
		op = ingest.OpRead
	}
	if why == "" && kind > 1 {
		why = "bad-op"
	}
	if why = possible(why, inTime, fits, size); why == "" {
		var mem [32]byte
		d.arrival(out, ns, op, offset, size, append(append(mem[:0], "disk"...), id...))
		return
	}
	out.Reject(line, why)
}
