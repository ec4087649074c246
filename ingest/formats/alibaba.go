package formats

import (
	"bytes"

	"github.com/iopathy/iopathy/ingest"
)

// Alibaba reads the block traces of Alibaba Cloud of 2020 (Li et al., An
// In-Depth Analysis of Cloud Block Storage Workloads, IISWC 2020). A line is
//
//	device_id,opcode,offset,length,timestamp
//
// without a header: R or W, bytes, microseconds since the epoch at which the
// server received the I/O. The device is "disk" and the id. Sixteen digits in
// the last column and the letter in the second are what no other set has.
//
// The traces of 2023 come with a header in front or get one by whoever keeps
// them: columns are then found by their names, in any order and among others
// (alibabaNames). A column latency_us makes the latency one from the arrival to
// the answer (q2c) and the time that of the answer.
var Alibaba = ingest.Register(ingest.Format{
	Name:  "alibaba",
	Doc:   "Alibaba Cloud block traces: of 2020 (io_traces.csv) without a header, of 2023 and later by the names in their header",
	Kind:  ingest.KindNone,
	Lacks: "latency (times are arrivals) but by a column latency_us, host, process, flags, queue depth, error",
	Sniff: func(head []byte, _ string) int {
		d := newAlibaba(traceSource{}, head)
		if good, _ := traceTried(d, head); d.headed && good > 0 {
			return 2
		}
		return traceSure(d, head, 2)
	},
	Line: func(src *ingest.Source) (ingest.LineDecoder, error) {
		return newAlibaba(newTraceSource(src), src.Head), nil
	},
})

// The bounds of stamps in seconds: 2001, ten digits, to csvLastNS.
const (
	traceFirstS = 1_000_000_000
	traceLastS  = csvLastNS / 1_000_000_000
)

type alibaba struct {
	traceSource
	cols   []alibabaCell // by the header; those of 2020 without one
	headed bool
}

// alibabaCell is what a column holds.
type alibabaCell uint8

const (
	alibabaOther alibabaCell = iota
	alibabaDevice
	alibabaOp
	alibabaOffset
	alibabaLength
	alibabaTime
	alibabaLatency
	alibabaCells
)

// alibabaNames are the names of columns, in small letters.
var alibabaNames = map[string]alibabaCell{
	"device_id": alibabaDevice, "vd_id": alibabaDevice, "volume_id": alibabaDevice, "disk_id": alibabaDevice,
	"opcode": alibabaOp, "op": alibabaOp, "op_type": alibabaOp, "io_type": alibabaOp,
	"offset": alibabaOffset,
	"length": alibabaLength, "size": alibabaLength, "io_size": alibabaLength,
	"timestamp": alibabaTime, "timestamp_us": alibabaTime, "ts": alibabaTime,
	"latency_us": alibabaLatency,
}

var alibaba2020 = []alibabaCell{alibabaDevice, alibabaOp, alibabaOffset, alibabaLength, alibabaTime}

func newAlibaba(of traceSource, head []byte) *alibaba {
	first, _, _ := bytes.Cut(bytes.TrimLeft(head, "\r\n"), []byte{'\n'})
	cols := alibabaHeader(first)
	if plain := plainCells(bytes.TrimRight(first, "\r"), 1); cols == nil && plain != nil {
		cols = alibabaHeader(plain)
	}
	if cols == nil {
		return &alibaba{traceSource: of, cols: alibaba2020}
	}
	return &alibaba{of, cols, true}
}

// alibabaHeader reads a header; nil if the line is none: a column that must be
// there is absent, or one is there twice.
func alibabaHeader(line []byte) []alibabaCell {
	if len(line) == 0 || !isLetter(line[0]) || len(line) > 4096 {
		return nil
	}
	var cols []alibabaCell
	var seen [alibabaCells]bool
	for cell := range bytes.SplitSeq(bytes.TrimRight(line, "\r"), []byte{','}) {
		what := alibabaNames[string(bytes.ToLower(bytes.TrimSpace(cell)))]
		if what != alibabaOther && seen[what] {
			return nil
		}
		seen[what] = true
		cols = append(cols, what)
	}
	for _, must := range alibaba2020 {
		if !seen[must] {
			return nil
		}
	}
	return cols
}

// Line decodes a line.
func (d *alibaba) Line(line []byte, out *ingest.Out) { takeRow(d, line, out) }

func (d *alibaba) row(line []byte, out *ingest.Out) (why string) {
	if len(line) == 0 || isLetter(line[0]) && alibabaHeader(line) != nil {
		out.Note()
		return ""
	}
	var id []byte
	var op ingest.Op
	var offset, size, us int64
	latency := int64(ingest.Missing)
	c := traceCells{b: line, sep: ','}
	for _, what := range d.cols {
		switch what {
		case alibabaDevice:
			id = c.digits("bad-device")
		case alibabaOp:
			op = c.rw("bad-op")
		case alibabaOffset:
			offset = c.number("bad-offset")
		case alibabaLength:
			size = c.number("bad-size")
		case alibabaTime:
			us = c.number("bad-time")
		case alibabaLatency:
			latency = c.number("bad-latency")
		default:
			c.pass()
		}
	}
	why = c.done()
	switch {
	case why != "":
	case us < traceFirstS*1e6 || us > traceLastS*1e6:
		why = "bad-time"
	case latency > maxLatencyNS/1000:
		why = "bad-latency"
	case size > ingest.MaxSizeBytes:
		why = "size-over-a-tebibyte"
	case offset+size < 0:
		why = "bad-offset"
	default:
		var mem [32]byte
		e := d.arrival(out, us*1000, op, offset, size, append(append(mem[:0], "disk"...), id...))
		if latency != ingest.Missing {
			e.TimeNS, e.LatencyNS, e.Kind = e.TimeNS+latency*1000, latency*1000, ingest.KindQ2C
		}
	}
	return why
}

// pass goes over a cell, whatever stands in it.
func (c *traceCells) pass() {
	if !c.begin() {
		return
	}
	end := len(c.b)
	if n := bytes.IndexByte(c.b[c.i:], c.sep); n >= 0 {
		end = c.i + n
	}
	c.close(end, true, "")
}
