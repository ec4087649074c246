package formats

import (
	"bytes"
	"math"

	"github.com/iopathy/iopathy/ingest"
)

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
	if k+2 != len(line) || line[k+1] != '0' || v[3] > stamp || v[3] > ingest.MaxLatencyNS || v[2] > v[3] || v[1] > ingest.MaxSizeBytes || v[0] > math.MaxInt64-v[1] {
		return false
	}
	e := ingest.Event{
		TimeNS: stamp, LatencyNS: v[3], QueueNS: v[2], GetNS: ingest.Missing, InsertNS: ingest.Missing, OffsetBytes: v[0], SizeBytes: v[1], Position: out.Position,
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
	*flags |= ingest.FlagsTold
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
