package formats

import (
	"bytes"

	"github.com/iopathy/iopathy/ingest"
)

// MSR reads the block traces of MSR Cambridge (Narayanan, Donnelly and
// Rowstron, Write Off-Loading, FAST 2008), as SNIA hands them out. A line is
//
//	Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime
//
// without a header. Timestamp is the issue, in units of 100 ns since 1601-01-01
// UTC (Windows' FILETIME), ResponseTime is in the same unit, offset and size
// are bytes. time_ns is issue + response. The host is the column's, the device
// "disk" and the number.
//
// The latency kind is q2c: the event tracer stands above the disk driver's
// queue, so that waiting in it is a part of the response. A response of more
// than a day is a broken counter, and a reject.
var MSR = ingest.Register(ingest.Format{
	Name:  "msr",
	Doc:   "MSR Cambridge block traces (SNIA), CSV without a header",
	Kind:  ingest.KindQ2C,
	Lacks: "process, flags, queue time, error, flushes and discards",
	Sniff: sniffMSR,
	Line: func(*ingest.Source) (ingest.LineDecoder, error) {
		return msr{}, nil
	},
})

const (
	msrEpoch    = 116444736000000000 // 1970 in FILETIME
	msrLast     = msrEpoch + csvLastNS/100
	msrResponse = 24 * 3600 * 1e7 // a day
	msrHeader   = "timestamp,hostname,disknumber,type,offset,size,responsetime"
)

// sniffMSR looks at the first whole lines.
func sniffMSR(head []byte, _ string) int {
	whole := bytes.LastIndexByte(head, '\n') + 1
	if whole == 0 && len(head) < ingest.SniffBytes {
		whole = len(head)
	}
	var out ingest.Out
	for line := range bytes.Lines(head[:whole]) {
		line = bytes.TrimRight(line, "\r\n")
		if len(line) > 0 && !fold(line, msrHeader) {
			msr{}.Line(line, &out)
		}
	}
	good, bad := out.Tally.Event, out.Tally.Rejected()
	switch {
	case good == 0:
		return 0
	case good < bad:
		return 1
	}
	return 2
}

type msr struct{}

// Line decodes a line.
func (d msr) Line(line []byte, out *ingest.Out) {
	if len(line) == 0 {
		out.Note()
		return
	}
	if reason := d.event(line, out); reason != "" {
		if fold(line, msrHeader) {
			out.Note()
			return
		}
		out.Reject(line, reason)
	}
}

// event adds the event of a line, or gives what is wrong with it.
func (d msr) event(line []byte, out *ingest.Out) (reason string) {
	stamp, i := scanDigits(line, 0)
	if i == len(line) {
		return "few-columns"
	}
	if i == 0 || line[i] != ',' || stamp < msrEpoch || stamp > msrLast {
		return "bad-time"
	}
	i++
	end := cellEnd(line, i)
	if end == len(line) {
		return "few-columns"
	}
	if end == i {
		return "no-host"
	}
	host := line[i:end]
	i = end + 1
	_, end = scanDigits(line, i)
	disk := line[i:end]
	if end == i || end-i > 9 || end < len(line) && line[end] != ',' {
		return "bad-disk"
	}
	if end == len(line) {
		return "few-columns"
	}
	i = end + 1
	if end = cellEnd(line, i); end == len(line) {
		return "few-columns"
	}
	var op ingest.Op
	switch word := line[i:end]; {
	case fold(word, "read"):
		op = ingest.OpRead
	case fold(word, "write"):
		op = ingest.OpWrite
	default:
		return "bad-op"
	}
	i = end + 1
	offset, end := scanDigits(line, i)
	if end == len(line) {
		return "few-columns"
	}
	if end == i || line[end] != ',' || offset < 0 {
		return "bad-offset"
	}
	i = end + 1
	size, end := scanDigits(line, i)
	if end == len(line) {
		return "few-columns"
	}
	if end == i || line[end] != ',' || size < 0 {
		return "bad-size"
	}
	i = end + 1
	response, end := scanDigits(line, i)
	switch {
	case end < len(line) && line[end] == ',' && end > i:
		return "many-columns"
	case end == i || end < len(line) || response < 0 || response > msrResponse:
		return "bad-latency"
	case offset+size < 0:
		return "bad-offset"
	}
	var mem [16]byte
	latency := response * 100
	out.Events = append(out.Events, ingest.Event{
		TimeNS: (stamp-msrEpoch)*100 + latency, LatencyNS: latency, QueueNS: ingest.Missing,
		OffsetBytes: offset, SizeBytes: size, Position: out.Position,
		PID: ingest.Missing, Depth: ingest.Missing, Op: op, Kind: ingest.KindQ2C,
		Host: out.Names.Intern(host), Device: out.Names.Intern(append(append(mem[:0], "disk"...), disk...)),
	})
	out.Tally.Event++
	return ""
}
