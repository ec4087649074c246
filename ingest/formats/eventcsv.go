package formats

import (
	"bytes"
	"math"
	"slices"
	"strings"

	"github.com/iopathy/iopathy/ingest"
)

// EventCSV is iopathy's own exchange format: a header that names the columns,
// in any order, and a line per completed I/O.
//
//	time_ns,host,device,pid,comm,op,flags,offset_bytes,size_bytes,queue_ns,latency_ns,error
//
// time_ns (completion), device, op and size_bytes must be there; host,
// latency_kind, depth, file and cgroup may be; other columns are passed over.
// op is a letter (R W F D) or a word (read write flush discard other), flags
// are the letters SMAUF, error is 0 or an errno of either sign. An empty cell
// is unknown. Latencies are q2c unless latency_kind says otherwise. Cells may
// be quoted as RFC 4180 has it, but must not hold a newline. Without a header
// (the format was forced) the columns are those above.
var EventCSV = ingest.Register(ingest.Format{
	Name:  "event-csv",
	Doc:   "iopathy's own CSV, a line per completed I/O",
	Kind:  ingest.KindQ2C,
	Needs: "a host for files without a host column",
	Lacks: "nothing, if all columns are there",
	Sniff: func(head []byte, _ string) int {
		if csvHeader(head) != nil {
			return 2
		}
		return 0
	},
	Line: func(src *ingest.Source) (ingest.LineDecoder, error) {
		cols := csvHeader(src.Head)
		if cols == nil {
			cols = csvOrder([]byte(csvColumns))
		}
		return &eventCSV{cols: cols, usual: slices.Equal(cols, csvOrder([]byte(csvColumns))), host: src.Host}, nil
	},
})

const csvColumns = "time_ns,host,device,pid,comm,op,flags,offset_bytes,size_bytes,queue_ns,latency_ns,error"

// csvLastNS is the latest time that is taken: the start of the year 2200. A
// greater one is another unit or a broken number.
const csvLastNS = 7258118400_000_000_000

// csvField is what a column holds.
type csvField uint8

const (
	csvOther csvField = iota
	csvTime
	csvHost
	csvDevice
	csvPID
	csvComm
	csvOp
	csvFlags
	csvOffset
	csvSize
	csvQueue
	csvLatency
	csvError
	csvKind
	csvDepth
	csvFile
	csvCgroup
)

var csvFields = map[string]csvField{
	"time_ns": csvTime, "host": csvHost, "device": csvDevice, "pid": csvPID, "comm": csvComm, "op": csvOp,
	"flags": csvFlags, "offset_bytes": csvOffset, "size_bytes": csvSize, "queue_ns": csvQueue,
	"latency_ns": csvLatency, "error": csvError, "latency_kind": csvKind, "depth": csvDepth,
	"file": csvFile, "cgroup": csvCgroup,
}

// csvReasons names the cell that is wrong.
var csvReasons = [...]string{
	csvTime: "bad-time", csvHost: "bad-host", csvDevice: "no-device", csvPID: "bad-pid", csvComm: "bad-comm", csvOp: "bad-op",
	csvFlags: "bad-flags", csvOffset: "bad-offset", csvSize: "bad-size", csvQueue: "bad-queue",
	csvLatency: "bad-latency", csvError: "bad-error", csvKind: "bad-latency-kind", csvDepth: "bad-depth",
	csvFile: "bad-file", csvCgroup: "bad-cgroup", csvOther: "bad-cell",
}

// csvHeader reads the header in head: its first line that is neither blank nor
// a comment. It is nil if that is no header of this format.
func csvHeader(head []byte) []csvField {
	for len(head) > 0 {
		var line []byte
		line, head, _ = bytes.Cut(head, []byte{'\n'})
		line = bytes.TrimSuffix(line, []byte{'\r'})
		if len(line) > 0 && line[0] != '#' {
			return csvOrder(line)
		}
	}
	return nil
}

// csvOrder reads a header; nil if a column that must be there is absent or one
// is there twice.
func csvOrder(line []byte) []csvField {
	if !bytes.Contains(line, []byte("time_ns")) {
		return nil
	}
	var cols []csvField
	var seen [csvCgroup + 1]bool
	rest := line
	for more := true; more; {
		cell, after, ok := csvCell(rest, nil)
		if !ok {
			return nil
		}
		more, rest = after != nil, after
		f := csvFields[strings.ToLower(string(bytes.TrimSpace(cell)))]
		if f != csvOther && seen[f] {
			return nil
		}
		seen[f] = true
		cols = append(cols, f)
	}
	if !seen[csvTime] || !seen[csvDevice] || !seen[csvOp] || !seen[csvSize] {
		return nil
	}
	return cols
}

// csvCell takes the first cell of line, unquoted into buf where needed, and
// what stands behind its comma: nil if it is the last.
func csvCell(line, buf []byte) (cell, rest []byte, ok bool) {
	if len(line) == 0 || line[0] != '"' {
		if i := bytes.IndexByte(line, ','); i >= 0 {
			return line[:i], line[i+1:], true
		}
		return line, nil, true
	}
	for i := 1; i < len(line); i++ {
		if line[i] != '"' {
			buf = append(buf, line[i])
			continue
		}
		switch {
		case i+1 == len(line):
			return buf, nil, true
		case line[i+1] == ',':
			return buf, line[i+2:], true
		case line[i+1] != '"':
			return nil, nil, false
		}
		buf = append(buf, '"')
		i++
	}
	return nil, nil, false
}

type eventCSV struct {
	cols  []csvField
	usual bool // the columns are those of csvColumns
	host  string
}

// Line decodes a line.
func (d *eventCSV) Line(line []byte, out *ingest.Out) {
	if d.usual && d.plain(line, out) {
		return
	}
	if len(line) == 0 || line[0] == '#' {
		out.Note()
		return
	}
	e := ingest.NewEvent()
	e.Kind = ingest.KindQ2C
	i := 0
	for k, f := range d.cols {
		if i < len(line) && line[i] == '"' {
			d.quoted(line, out)
			return
		}
		end := d.cell(f, line, i, &e, out)
		if end < 0 || end < len(line) && line[end] != ',' {
			d.bad(line, csvReasons[f], out)
			return
		}
		if end == len(line) && k < len(d.cols)-1 {
			d.bad(line, "few-columns", out)
			return
		}
		i = end + 1
	}
	if i <= len(line) {
		d.bad(line, "many-columns", out)
		return
	}
	d.event(line, &e, out)
}

// plain decodes a line with the usual columns, all of them there, unquoted, in
// order and possible, but for flags, which may be empty. Anything else it
// leaves to the general way: what it takes, that would give the same.
func (d *eventCSV) plain(line []byte, out *ingest.Out) bool {
	const longest = 3 // a bound of what is looked ahead for: ",R,"
	stamp, i := scanDigits(line, 0)
	if i == 0 || i >= len(line) || line[i] != ',' || uint64(stamp) > csvLastNS {
		return false
	}
	host := cellEnd(line, i+1)
	device := cellEnd(line, host+1)
	if device-host < 2 || host-i < 2 || line[i+1] == '"' || line[host+1] == '"' {
		return false
	}
	pid, at := scanDigits(line, device+1)
	if at == device+1 || uint64(pid) > math.MaxInt32 || at >= len(line) || line[at] != ',' {
		return false
	}
	comm := cellEnd(line, at+1)
	if comm+longest >= len(line) || line[at+1] == '"' || line[comm+2] != ',' {
		return false
	}
	var op ingest.Op
	switch line[comm+1] {
	case 'R':
		op = ingest.OpRead
	case 'W':
		op = ingest.OpWrite
	case 'F':
		op = ingest.OpFlush
	case 'D':
		op = ingest.OpDiscard
	default:
		return false
	}
	var flags ingest.Flags
	k := csvFlagsCell(line, comm+longest, &flags)
	if k < 0 || k >= len(line) {
		return false
	}
	var v [4]int64 // offset, size, queue, latency
	for n := range v {
		start := k + 1
		if v[n], k = scanDigits(line, start); k == start || k >= len(line) || line[k] != ',' || v[n] < 0 {
			return false
		}
	}
	if k+2 != len(line) || line[k+1] != '0' || v[3] > stamp || v[2] > v[3] || v[0] > math.MaxInt64-v[1] {
		return false
	}
	e := ingest.Event{
		TimeNS: stamp, LatencyNS: v[3], QueueNS: v[2], OffsetBytes: v[0], SizeBytes: v[1], Position: out.Position,
		PID: int32(pid), Depth: ingest.Missing, Op: op, Flags: flags, Kind: ingest.KindQ2C,
		Host: out.Names.Intern(line[i+1 : host]), Device: out.Names.Intern(line[host+1 : device]), Comm: out.Names.Intern(line[at+1 : comm]),
	}
	out.Events = append(out.Events, e)
	out.Tally.Event++
	return true
}

// cellEnd is the index of the first comma of line at i or behind it, or its
// end. Cells of text are short: a loop beats a search by blocks.
func cellEnd(line []byte, i int) int {
	for i < len(line) && line[i] != ',' {
		i++
	}
	return min(i, len(line))
}

// quoted decodes a line that has a quoted cell.
func (d *eventCSV) quoted(line []byte, out *ingest.Out) {
	e := ingest.NewEvent()
	e.Kind = ingest.KindQ2C
	var mem [256]byte
	rest := line
	for k, f := range d.cols {
		cell, after, ok := csvCell(rest, mem[:0])
		if !ok {
			d.bad(line, "bad-quote", out)
			return
		}
		if (after == nil) != (k == len(d.cols)-1) {
			d.bad(line, map[bool]string{true: "few-columns", false: "many-columns"}[after == nil], out)
			return
		}
		rest = after
		good := true
		switch f {
		case csvHost, csvDevice, csvComm, csvFile, csvCgroup, csvOther:
			good = d.text(f, cell, &e, out)
		default:
			good = d.cell(f, cell, 0, &e, out) == len(cell)
		}
		if !good {
			d.bad(line, csvReasons[f], out)
			return
		}
	}
	d.event(line, &e, out)
}

// event adds the event that the cells of a line give, if it is possible.
func (d *eventCSV) event(line []byte, e *ingest.Event, out *ingest.Out) {
	switch {
	case e.LatencyNS > e.TimeNS:
		d.bad(line, "bad-latency", out)
		return
	case e.OffsetBytes > math.MaxInt64-e.SizeBytes:
		d.bad(line, "bad-offset", out)
		return
	case e.Kind == ingest.KindQ2C && e.LatencyNS >= 0 && e.QueueNS > e.LatencyNS:
		d.bad(line, "bad-queue", out)
		return
	}
	if e.LatencyNS == ingest.Missing {
		e.Kind = ingest.KindNone
	}
	if e.Host == 0 {
		e.Host = out.Names.InternString(d.host)
	}
	out.Event(*e)
}

// bad rejects a line, unless it is a header that stands there again.
func (d *eventCSV) bad(line []byte, reason string, out *ingest.Out) {
	if cols := csvOrder(line); slices.Equal(cols, d.cols) {
		out.Note()
		return
	} else if cols != nil {
		reason = "other-header"
	}
	out.Reject(line, reason)
}

// cell reads the cell of line at i, unquoted, and gives the index behind it;
// -1 if its value is wrong.
func (d *eventCSV) cell(f csvField, line []byte, i int, e *ingest.Event, out *ingest.Out) int {
	switch f {
	case csvTime:
		v, end := scanDigits(line, i)
		if end == i || uint64(v) > csvLastNS {
			return -1
		}
		e.TimeNS = v
		return end
	case csvOffset:
		return csvNumber(line, i, &e.OffsetBytes)
	case csvSize:
		end := csvNumber(line, i, &e.SizeBytes)
		if end == i {
			return -1
		}
		return end
	case csvQueue:
		return csvNumber(line, i, &e.QueueNS)
	case csvLatency:
		return csvNumber(line, i, &e.LatencyNS)
	case csvPID:
		return csvSmall(line, i, &e.PID)
	case csvDepth:
		return csvSmall(line, i, &e.Depth)
	case csvError:
		return csvErrno(line, i, &e.Error)
	case csvOp:
		return csvOpCell(line, i, &e.Op)
	case csvFlags:
		return csvFlagsCell(line, i, &e.Flags)
	}
	end := len(line)
	if n := bytes.IndexByte(line[i:], ','); n >= 0 {
		end = i + n
	}
	if !d.text(f, line[i:end], e, out) {
		return -1
	}
	return end
}

// csvNumber reads a number of 0 or more; an empty cell leaves v as it is.
func csvNumber(line []byte, i int, v *int64) int {
	n, end := scanDigits(line, i)
	if n < 0 {
		return -1
	}
	if end > i {
		*v = n
	}
	return end
}

// csvSmall is csvNumber for 32 bits; -1 is unknown, too.
func csvSmall(line []byte, i int, v *int32) int {
	if i+1 < len(line) && line[i] == '-' && line[i+1] == '1' {
		return i + 2
	}
	n, end := scanDigits(line, i)
	if uint64(n) > math.MaxInt32 {
		return -1
	}
	if end > i {
		*v = int32(n)
	}
	return end
}

// csvMaxErrno is MAX_ERRNO of the Linux kernel.
const csvMaxErrno = 4095

// csvErrno reads an errno of either sign.
func csvErrno(line []byte, i int, v *int32) int {
	at := i
	if at < len(line) && line[at] == '-' {
		at++
	}
	n, end := scanDigits(line, at)
	if uint64(n) > csvMaxErrno || end == at && at > i {
		return -1
	}
	*v = int32(n)
	return end
}

func csvOpCell(line []byte, i int, op *ingest.Op) int {
	end := i + 1
	if end < len(line) && line[end] != ',' {
		for end < len(line) && line[end] != ',' {
			end++
		}
		switch word := line[i:end]; {
		case fold(word, "read"):
			*op = ingest.OpRead
		case fold(word, "write"):
			*op = ingest.OpWrite
		case fold(word, "flush"):
			*op = ingest.OpFlush
		case fold(word, "discard"):
			*op = ingest.OpDiscard
		case fold(word, "other"):
			*op = ingest.OpOther
		default:
			return -1
		}
		return end
	}
	if i >= len(line) {
		return -1
	}
	switch line[i] | 0x20 {
	case 'r':
		*op = ingest.OpRead
	case 'w':
		*op = ingest.OpWrite
	case 'f':
		*op = ingest.OpFlush
	case 'd':
		*op = ingest.OpDiscard
	default:
		return -1
	}
	return end
}

// fold compares an ASCII word in any case with one in lower case.
func fold(word []byte, lower string) bool {
	if len(word) != len(lower) {
		return false
	}
	for i, c := range word {
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

func csvFlagsCell(line []byte, i int, flags *ingest.Flags) int {
	for ; i < len(line) && line[i] != ','; i++ {
		switch line[i] {
		case 'S':
			*flags |= ingest.FlagSync
		case 'M':
			*flags |= ingest.FlagMeta
		case 'A':
			*flags |= ingest.FlagReadahead
		case 'U':
			*flags |= ingest.FlagFUA
		case 'F':
			*flags |= ingest.FlagPreflush
		default:
			return -1
		}
	}
	return i
}

// text reads a cell that is text.
func (d *eventCSV) text(f csvField, cell []byte, e *ingest.Event, out *ingest.Out) bool {
	switch f {
	case csvHost:
		e.Host = out.Names.Intern(cell)
	case csvDevice:
		e.Device = out.Names.Intern(cell)
		return len(cell) > 0
	case csvComm:
		e.Comm = out.Names.Intern(cell)
	case csvFile:
		e.File = out.Names.Intern(cell)
	case csvCgroup:
		e.Cgroup = out.Names.Intern(cell)
	case csvKind:
		if len(cell) == 0 {
			return true
		}
		e.Kind = ingest.ParseKind(string(cell))
		return e.Kind != ingest.KindNone || string(cell) == "none"
	}
	return true
}
