package formats

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"

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
	if headed(head, msrHeader) {
		return 2
	}
	var out ingest.Out
	for line := range bytes.Lines(head[:whole]) {
		line = bytes.TrimRight(line, "\r\n")
		if len(line) > 0 && !fold(line, msrHeader) {
			msr{}.Line(guessed(line), &out)
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
	takeRow(d, line, out)
}

func (d msr) row(line []byte, out *ingest.Out) (why string) {
	if why = d.event(line, out); why != "" && fold(line, msrHeader) {
		out.Note()
		return ""
	}
	return why
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
	case size > ingest.MaxSizeBytes:
		return "size-over-a-tebibyte"
	case offset+size < 0:
		return "bad-offset"
	}
	var mem [16]byte
	latency := response * 100
	hostName, device := out.Names.Intern(host), out.Names.Intern(append(append(mem[:0], "disk"...), disk...))
	if n := len(host) + 1 + len(disk); n <= 7 {
		out.Names.KeepPair(load8(line, msrStampDigits+1)&(1<<(8*n)-1)|uint64(n)<<56, hostName, device)
	}
	out.Events = append(out.Events, ingest.Event{
		TimeNS: (stamp-msrEpoch)*100 + latency, LatencyNS: latency, QueueNS: ingest.Missing, GetNS: ingest.Missing, InsertNS: ingest.Missing,
		OffsetBytes: offset, SizeBytes: size, Position: out.Position,
		PID: ingest.Missing, Depth: ingest.Missing, Op: op, Kind: ingest.KindQ2C,
		Host: hostName, Device: device,
	})
	out.Tally.Event++
	return ""
}

const (
	msrStampDigits = 18             // of every stamp from 1970 to 2200
	msrRead        = 0x2c64616552   // "Read," as a number, the first byte lowest
	msrWrite       = 0x2c6574697257 // "Write,"
)

// msrRoom is how many bytes must stand behind the start of a line that is read at
// once: more than it has, and eight that are loaded beyond.
const msrRoom = 128

// Run implements ingest.RunDecoder.
func (d msr) Run(data []byte, out *ingest.Out) (took int) {
	for len(data)-took >= msrRoom {
		n := d.quick(data[took:], out)
		if n == 0 {
			return took
		}
		took += n
		out.Position += int64(n)
		out.Lineno++
	}
	return took
}

// quick adds the event of the line at the start of b, if it is as nearly all are,
// with eight bytes of it at a time, and gives its length with its end. It takes
// no line that event does not take in the same way; 0 leaves it to that.
func (d msr) quick(b []byte, out *ingest.Out) int {
	b = b[:msrRoom]
	x := binary.LittleEndian.Uint64(b) ^ bytes8x30
	y := binary.LittleEndian.Uint64(b[8:]) ^ bytes8x30
	tail := uint64(b[16]-'0')*10 + uint64(b[17]-'0')
	if leading(x) < 8 || leading(y) < 8 || b[16]-'0' > 9 || b[17]-'0' > 9 || b[18] != ',' {
		return 0
	}
	stamp := int64((joined(x, 8)*1e8+joined(y, 8))*100 + tail)
	if stamp < msrEpoch || stamp > msrLast {
		return 0
	}
	x = binary.LittleEndian.Uint64(b[19:])
	commas := eights(x, bytes8x2c)
	commas &= commas - 1 // the second
	k := bits.TrailingZeros64(commas | 1<<8)
	if k == 8 {
		return 0
	}
	host, device, ok := out.Names.Pair(x&(1<<(8*uint(k))-1) | uint64(k)<<56)
	if !ok {
		return 0
	}
	i := 19 + k + 1
	x = binary.LittleEndian.Uint64(b[i:])
	op := ingest.OpRead
	switch {
	case x&(1<<40-1) == msrRead:
		i += 5
	case x&(1<<48-1) == msrWrite:
		i += 6
		op = ingest.OpWrite
	default:
		return 0
	}
	offset, end := scanDigits(b, i)
	if end == i || end > msrRoom-24 || b[end] != ',' || offset < 0 {
		return 0
	}
	i = end + 1
	x = binary.LittleEndian.Uint64(b[i:]) ^ bytes8x30
	k = leading(x)
	if i += k + 1; k == 0 || k == 8 || b[i-1] != ',' {
		return 0
	}
	size := int64(joined(x, k))
	x = binary.LittleEndian.Uint64(b[i:]) ^ bytes8x30
	k = leading(x)
	if k == 0 || k == 8 || b[i+k] != '\n' || offset > math.MaxInt64-size {
		return 0
	}
	latency := int64(joined(x, k)) * 100
	e := nextEvent(out)
	e.TimeNS, e.LatencyNS, e.QueueNS = (stamp-msrEpoch)*100+latency, latency, ingest.Missing
	e.GetNS, e.InsertNS = ingest.Missing, ingest.Missing
	e.OffsetBytes, e.SizeBytes, e.Position = offset, size, out.Position
	e.PID, e.Depth, e.Error = ingest.Missing, ingest.Missing, 0
	e.Host, e.Device, e.Comm, e.File, e.Cgroup = host, device, 0, 0, 0
	e.Op, e.Flags, e.Kind = op, 0, ingest.KindQ2C
	out.Tally.Event++
	return i + k + 1
}
