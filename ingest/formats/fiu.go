package formats

import "github.com/iopathy/iopathy/ingest"

// FIU reads the block traces of Florida International University (Koller and
// Rangaswami, I/O Deduplication, FAST 2010; SNIA). A line is
//
//	time pid process lba sectors W|R major minor md5
//
// with blanks between: nanoseconds since the start of the trace, sectors of 512
// bytes. The process may have blanks in its name, and the hash may be absent, so
// the line is read from both ends. The device is dev:MAJOR:MINOR.
var FIU = ingest.Register(ingest.Format{
	Name:  "fiu",
	Doc:   "FIU (IODedup, SRCMap) block traces (SNIA), columns between blanks",
	Kind:  ingest.KindNone,
	Needs: "a start (start_ns): times are nanoseconds since the trace began",
	Clock: ingest.BaseRelative,
	Lacks: "latency (times are arrivals), host, flags, queue depth, error",
	Sniff: func(head []byte, _ string) int { return traceSure(&fiu{}, head, 2) },
	Line: func(src *ingest.Source) (ingest.LineDecoder, error) {
		return &fiu{newTraceSource(src)}, nil
	},
})

type fiu struct{ traceSource }

// Line decodes a line.
func (d *fiu) Line(line []byte, out *ingest.Out) {
	b := backwards{b: line, end: len(line)}
	last := b.word()
	if last == nil {
		out.Note()
		return
	}
	minor := last
	if len(last) >= fiuHashDigits {
		if !isHex(last) {
			out.Reject(line, "bad-hash")
			return
		}
		minor = b.word()
	}
	major, letter := b.word(), b.word()
	count, sector := b.word(), b.word()
	c := traceCells{b: line[:b.end], sep: ' '}
	stamp := c.number("bad-time")
	pid := c.number("bad-pid")
	why := c.why
	comm := trimBlanks(line[min(c.i, b.end):b.end])
	op, isOp := rwWord(letter)
	n, isCount := wholeNumber(count)
	lba, isSector := wholeNumber(sector)
	offset, size, fits := sectors(lba, n)
	ns, inTime := stamp, true
	if stamp < traceFirstS*1e9 { // else the stamps are of the epoch already
		ns, inTime = d.at(stamp)
	}
	switch {
	case why != "":
	case len(comm) == 0:
		why = "few-columns"
	case len(comm) > commBytes || stampBefore(comm):
		why = "bad-process"
	case !inTime || ns > csvLastNS:
		why = "bad-time"
	case pid > mostPID:
		why = "bad-pid"
	case !isOp:
		why = "bad-op"
	case !isSector || !fits:
		why = "bad-offset"
	case !isCount:
		why = "bad-size"
	case size > ingest.MaxSizeBytes:
		why = "size-over-a-tebibyte"
	case !isDevNumber(major) || !isDevNumber(minor):
		why = "bad-device"
	default:
		var mem [32]byte
		e := d.arrival(out, ns, op, offset, size, devName(mem[:0], major, minor))
		e.PID, e.Comm = int32(pid), out.Names.Intern(comm)
		return
	}
	out.Reject(line, why)
}

// fiuHashDigits is how many digits a hash has at least; a minor has fewer.
const fiuHashDigits = 6

// commBytes bounds the name of a task: TASK_COMM_LEN of Linux. A longer one is
// two lines that ran into each other.
const commBytes = 16

// mostPID is PID_MAX_LIMIT of Linux: what is above it is no pid.
const mostPID = 1 << 22

// stampBefore says whether the first word of what should be a task's name is a
// number or a time of day: columns have moved, as by a stamp that a collector of logs
// put before each line.
func stampBefore(comm []byte) bool {
	i, marks := 0, 0
	for i < len(comm) && (comm[i]-'0' <= 9 || comm[i] == ':' || comm[i] == '.' || comm[i] == ',' || comm[i] == '-') {
		if comm[i]-'0' > 9 {
			marks++
		}
		i++
	}
	if i == 0 || i == len(comm) || comm[i] != ' ' {
		return false
	}
	return marks > 0 || i+1 < len(comm) && comm[i+1] == ' '
}

// hexBytes are the bytes that are a hexadecimal digit.
var hexBytes = func() (is [256]bool) {
	for c := range is {
		is[c] = hexDigit(byte(c)) >= 0
	}
	return is
}()

func isHex(b []byte) bool {
	for _, c := range b {
		if !hexBytes[c] {
			return false
		}
	}
	return true
}
