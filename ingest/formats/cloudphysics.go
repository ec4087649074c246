package formats

import "github.com/iopathy/iopathy/ingest"

// CloudPhysics reads the CloudPhysics traces (Waldspurger et al., SHARDS, FAST
// 2015) as libCacheSim hands them out: CSV with the header
//
//	version,time,op,size,lbn
//
// time is whole seconds since a start that is not told, op the SCSI command in
// hexadecimal, size bytes, lbn sectors of 512 bytes. A file is one volume, that
// its content does not name: the device is the file's name up to its first point.
var CloudPhysics = ingest.Register(ingest.Format{
	Name:  "cloudphysics-csv",
	Doc:   "CloudPhysics block traces in libCacheSim's CSV (header version,time,op,size,lbn)",
	Kind:  ingest.KindNone,
	Needs: "a start (start_ns): times are seconds since a start that is not told",
	Clock: ingest.BaseRelative,
	Lacks: "latency (times are arrivals, in whole seconds), host, device (the file's name is taken), process, flags, queue depth, error",
	Sniff: func(head []byte, _ string) int {
		if headed(head, cloudPhysicsHeader) {
			return 2
		}
		return 0
	},
	Line: func(src *ingest.Source) (ingest.LineDecoder, error) {
		return &cloudPhysics{newTraceSource(src), volumeOf(src.Path)}, nil
	},
})

const cloudPhysicsHeader = "version,time,op,size,lbn"

type cloudPhysics struct {
	traceSource
	device []byte
}

// Line decodes a line.
func (d *cloudPhysics) Line(line []byte, out *ingest.Out) { takeRow(d, line, out) }

func (d *cloudPhysics) row(line []byte, out *ingest.Out) (why string) {
	if len(line) == 0 || fold(line, cloudPhysicsHeader) {
		out.Note()
		return ""
	}
	c := traceCells{b: line, sep: ','}
	c.number("bad-version")
	at := c.seconds("bad-time")
	command := c.hex("bad-op")
	size := c.number("bad-size")
	lbn := c.number("bad-offset")
	why = c.done()
	offset, _, fits := sectors(lbn, 0)
	ns, inTime := d.at(at)
	if why = possible(why, inTime, fits, size); why == "" {
		d.arrival(out, ns, scsiOp(uint16(command)), offset, size, d.device)
	}
	return why
}

// hex reads up to two hexadecimal digits.
func (c *traceCells) hex(reason string) int64 {
	if !c.begin() {
		return 0
	}
	end, v := c.i, int64(0)
	for end < len(c.b) && end-c.i < 2 && hexDigit(c.b[end]) >= 0 {
		v = v<<4 | int64(hexDigit(c.b[end]))
		end++
	}
	c.close(end, end > c.i, reason)
	return v
}

// Cydonia reads the CloudPhysics traces as the Cydonia project hands them out:
//
//	time,lba,op,bytes
//
// without a header: microseconds since the start, sectors of 512 bytes, r or w,
// bytes. The device is the file's name up to its first point.
var Cydonia = ingest.Register(ingest.Format{
	Name:  "cloudphysics-cydonia",
	Doc:   "CloudPhysics and other block traces in Cydonia's CSV (time,lba,r|w,bytes without a header)",
	Kind:  ingest.KindNone,
	Needs: "a start (start_ns): times are microseconds since the trace began",
	Clock: ingest.BaseRelative,
	Lacks: "latency (times are arrivals), host, device (the file's name is taken), process, flags, queue depth, error",
	Sniff: func(head []byte, _ string) int { return traceSure(&cydonia{}, head, 1) },
	Line: func(src *ingest.Source) (ingest.LineDecoder, error) {
		return &cydonia{newTraceSource(src), volumeOf(src.Path)}, nil
	},
})

type cydonia struct {
	traceSource
	device []byte
}

// Line decodes a line.
func (d *cydonia) Line(line []byte, out *ingest.Out) { takeRow(d, line, out) }

func (d *cydonia) row(line []byte, out *ingest.Out) (why string) {
	if len(line) == 0 {
		out.Note()
		return ""
	}
	c := traceCells{b: line, sep: ','}
	us := c.number("bad-time")
	lba := c.number("bad-offset")
	op := c.rw("bad-op")
	size := c.number("bad-size")
	why = c.done()
	offset, _, fits := sectors(lba, 0)
	ns, inTime := us, us <= csvLastNS/1000
	if inTime {
		if ns *= 1000; ns < traceFirstS*1e9 {
			ns, inTime = d.at(ns)
		}
	}
	if why = possible(why, inTime, fits, size); why == "" {
		d.arrival(out, ns, op, offset, size, d.device)
	}
	return why
}
