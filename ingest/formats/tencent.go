package formats

import (
	"bytes"

	"github.com/iopathy/iopathy/ingest"
)

// Tencent reads the block traces of Tencent's cloud block storage (Zhang et
// al., OSCA, ATC 2020; SNIA). A line is
//
//	Timestamp,Offset,Size,IOType,VolumeID
//
// without a header: seconds since the epoch at which the I/O was issued, sectors
// of 512 bytes, 0 for a read and 1 for a write. The device is "vol" and the id.
//
// Copies are about whose offsets and sizes are bytes. The unit is settled once,
// by the head: it is bytes if each offset and each size in it is a multiple of
// 512 and no size is 0; in sectors that would be whole quarters of MiB throughout.
var Tencent = ingest.Register(ingest.Format{
	Name: "tencent",
	Doc:  "Tencent cloud block storage traces (SNIA), CSV without a header",
	Kind: ingest.KindNone,
	Lacks: "latency (times are arrivals, in whole seconds), host, process, flags, queue depth, error; " +
		"sectors are taken for the unit unless the head has multiples of 512 only, which are bytes",
	// Five columns of whole numbers may be anything: never sure.
	Sniff: func(head []byte, _ string) int {
		if headed(head, tencentHeader) {
			return 2
		}
		return traceSure(&tencent{unit: 512}, head, 1)
	},
	Line: func(src *ingest.Source) (ingest.LineDecoder, error) {
		return &tencent{traceSource: newTraceSource(src), unit: tencentUnit(src.Head)}, nil
	},
})

type tencent struct {
	traceSource
	unit int64 // bytes of an offset's or a size's one
}

// tencentUnit settles the unit by a head.
func tencentUnit(head []byte) int64 {
	n := 0
	for line := range bytes.Lines(head) {
		if !bytes.HasSuffix(line, []byte("\n")) && n > 0 {
			break
		}
		line = bytes.TrimRight(line, "\r\n")
		row, why := tencentRow(line)
		if plain := plainCells(line, 1); why != "" && plain != nil {
			row, why = tencentRow(plain)
		}
		if why != "" {
			continue
		}
		if row.offset%512 != 0 || row.size%512 != 0 || row.size == 0 {
			return 512
		}
		n++
	}
	if n == 0 {
		return 512
	}
	return 1
}

type tencentIO struct {
	second, offset, size int64
	op                   ingest.Op
	id                   []byte
}

// tencentRow reads a line, in its own units.
func tencentRow(line []byte) (row tencentIO, why string) {
	c := traceCells{b: line, sep: ','}
	row.second = c.number("bad-time")
	row.offset = c.number("bad-offset")
	row.size = c.number("bad-size")
	kind := c.number("bad-op")
	row.id = c.digits("bad-device")
	row.op = ingest.OpRead
	if kind == 1 {
		row.op = ingest.OpWrite
	}
	why = c.done()
	switch {
	case why != "":
	case row.second < traceFirstS || row.second > traceLastS:
		why = "bad-time"
	case kind > 1:
		why = "bad-op"
	}
	return row, why
}

const tencentHeader = "timestamp,offset,size,iotype,volumeid"

// Line decodes a line.
func (d *tencent) Line(line []byte, out *ingest.Out) { takeRow(d, line, out) }

func (d *tencent) row(line []byte, out *ingest.Out) (why string) {
	if len(line) == 0 || fold(line, tencentHeader) {
		out.Note()
		return ""
	}
	row, why := tencentRow(line)
	if why == "" {
		if row.offset > blkMaxSector*512/d.unit || row.size > blkMaxSector*512/d.unit {
			why = "bad-offset"
		} else if row.size > ingest.MaxSizeBytes/d.unit {
			why = "size-over-a-tebibyte"
		} else {
			var mem [32]byte
			d.arrival(out, row.second*1e9, row.op, row.offset*d.unit, row.size*d.unit, append(append(mem[:0], "vol"...), row.id...))
		}
	}
	return why
}
