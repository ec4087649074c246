package formats

import "github.com/iopathy/iopathy/ingest"

// Systor reads the block traces of SYSTOR '17 (Lee et al., Understanding storage
// traffic characteristics on enterprise virtual desktop infrastructure; SNIA). A
// line is
//
//	Timestamp,Response,IOType,LUN,Offset,Size
//
// below a header: the request's time in seconds since the epoch with nine
// decimals, the response time in seconds, R or W, bytes. time_ns is request +
// response, the device "lun" and the number.
//
// The latency kind is d2c: requests and responses were captured on the network
// between the hosts and the array. A request whose response the capture missed
// has no type: it is a reject of its own reason, no-response.
var Systor = ingest.Register(ingest.Format{
	Name:  "systor",
	Doc:   "SYSTOR '17 block traces (SNIA), CSV with the header Timestamp,Response,IOType,LUN,Offset,Size",
	Kind:  ingest.KindD2C,
	Lacks: "host, process, flags, queue time, error; requests whose response was not captured (rejects, no-response)",
	Sniff: func(head []byte, _ string) int {
		if headed(head, systorHeader) {
			return 2
		}
		return traceSure(&systor{}, head, 2)
	},
	Line: func(src *ingest.Source) (ingest.LineDecoder, error) {
		return &systor{newTraceSource(src)}, nil
	},
})

const systorHeader = "timestamp,response,iotype,lun,offset,size"

type systor struct{ traceSource }

// Line decodes a line.
func (d *systor) Line(line []byte, out *ingest.Out) { takeRow(d, line, out) }

func (d *systor) row(line []byte, out *ingest.Out) (why string) {
	if len(line) == 0 || fold(line, systorHeader) {
		out.Note()
		return ""
	}
	c := traceCells{b: line, sep: ','}
	at := c.seconds("bad-time")
	var response int64
	answered := !c.empty()
	if answered {
		response = c.seconds("bad-latency")
	}
	var op ingest.Op
	typed := !c.empty()
	if typed {
		op = c.rw("bad-op")
	}
	id := c.digits("bad-device")
	offset := c.number("bad-offset")
	size := c.number("bad-size")
	why = c.done()
	switch {
	case why != "":
	case at < traceFirstS*1e9 || at > csvLastNS:
		why = "bad-time"
	case !typed || !answered:
		why = "no-response"
	case response > maxLatencyNS:
		why = "bad-latency"
	case size > ingest.MaxSizeBytes:
		why = "size-over-a-tebibyte"
	case offset+size < 0:
		why = "bad-offset"
	default:
		var mem [32]byte
		e := d.arrival(out, at+response, op, offset, size, append(append(mem[:0], "lun"...), id...))
		e.LatencyNS, e.Kind = response, ingest.KindD2C
	}
	return why
}

// empty passes over the next cell if nothing stands in it.
func (c *traceCells) empty() bool {
	if !c.begin() || c.i < len(c.b) && c.b[c.i] != c.sep {
		return false
	}
	c.i++
	return true
}
