package formats

import (
	"bytes"
	"fmt"

	"github.com/iopathy/iopathy/ingest"
)

// FSSlower reads bcc's and libbpf-tools' ext4slower and its kin (btrfsslower,
// nfsslower, xfsslower, zfsslower, fsslower): file system calls that took longer
// than a threshold, in columns
//
//	TIME     COMM           PID    T BYTES   OFF_KB   LAT(ms) FILENAME
//
// or, with -j, as CSV below ENDTIME_us,TASK,PID,TYPE,BYTES,OFFSET_b,LATENCY_us,FILE.
// TIME is the time of day at the end; the day is that of start_ns in the zone, and
// goes on at midnight. ENDTIME_us counts from the boot: start_ns is the boot then.
//
// Reads and writes are events, fsync (S, F) is a flush, opens and other calls are
// facts (slow_open_ns, slow_getattr_ns, slow_call_ns: the latency; the text is the
// file). The device is "fs:" and the file system of the tool's first line, since
// the table names none. Task and file names may have blanks.
var FSSlower = ingest.Register(ingest.Format{
	Name:  "fsslower",
	Doc:   "bcc and libbpf-tools ext4slower, xfsslower, btrfsslower, nfsslower, zfsslower, as table or CSV (-j)",
	Kind:  ingest.KindSyscall,
	Needs: "a start (start_ns) in the day of the first line, and the zone (UTC is taken); with -j, when the host booted",
	Clock: ingest.BaseRelative,
	Lacks: "all calls faster than the tool's threshold: rates and shares mean little; host, device, flags, queue depth, error; times are whole seconds without -j",
	Sniff: func(head []byte, _ string) int {
		for line := range bytes.Lines(head) {
			line = bytes.TrimRight(line, "\r\n")
			if isSlowerHeader(line) || string(line) == slowerCSV {
				return 2
			}
		}
		return 0
	},
	Lines: func(src *ingest.Source) (ingest.LinesDecoder, error) { return newFSSlower(src) },
})

// slowerFileBytes bounds a file's name: the tools copy DNAME_INLINE_LEN of it, 32
// to 40 bytes by the kernel.
const slowerFileBytes = 48

const slowerCSV = "ENDTIME_us,TASK,PID,TYPE,BYTES,OFFSET_b,LATENCY_us,FILE"

func isSlowerHeader(line []byte) bool {
	s := blkText{b: line}
	for _, w := range []string{"TIME", "COMM", "PID", "T", "BYTES", "OFF_KB", "LAT(ms)"} {
		if string(s.word()) != w {
			return false
		}
	}
	return true
}

type fsSlower struct {
	traceSource
	device []byte
	clock  dayClock
	csv    bool
}

func newFSSlower(src *ingest.Source) (*fsSlower, error) {
	clock, err := newDayClock(src)
	if err != nil {
		return nil, fmt.Errorf("fsslower: %w", err)
	}
	return &fsSlower{traceSource: newTraceSource(src), device: []byte("fs:unknown"), clock: clock}, nil
}

// slowCall is one call.
type slowCall struct {
	ns, pid, size, offset, latency int64
	kind                           byte
	comm, file                     []byte
}

// Line decodes a line.
func (d *fsSlower) Line(line []byte, out *ingest.Out) {
	switch {
	case string(line) == slowerCSV:
		d.csv = true
		out.Note()
		return
	case isSlowerHeader(line):
		d.csv = false
		out.Note()
		return
	case bytes.HasPrefix(line, []byte("Tracing ")):
		d.tracing(line)
		out.Note()
		return
	case len(line) == 0 || line[0] < '0' || line[0] > '9':
		out.Note() // what else the terminal showed
		return
	}
	var c slowCall
	reason := ""
	if d.csv {
		reason = d.commas(line, &c)
	} else {
		reason = d.table(line, &c)
	}
	if reason == "" {
		reason = c.possible()
	}
	if reason != "" {
		out.Reject(line, reason)
		return
	}
	d.call(&c, out)
}

// tracing takes the file system's name from "Tracing ext4 operations slower than
// 10 ms".
func (d *fsSlower) tracing(line []byte) {
	s := blkText{b: line, i: len("Tracing ")}
	name := s.word()
	if string(s.word()) == "operations" && len(name) <= commBytes {
		d.device = append([]byte("fs:"), bytes.ToLower(name)...)
	}
}

// call gives a call its row.
func (d *fsSlower) call(c *slowCall, out *ingest.Out) {
	op, name := ingest.OpOther, ""
	switch c.kind {
	case 'R':
		op = ingest.OpRead
	case 'W':
		op = ingest.OpWrite
	case 'S', 'F':
		op = ingest.OpFlush
		c.size, c.offset = 0, ingest.Missing // those of the last call, or of none
	case 'O':
		name = "slow_open_ns"
	case 'G':
		name = "slow_getattr_ns"
	default:
		name = "slow_call_ns"
	}
	if name != "" {
		out.Fact(ingest.Evidence{
			TimeNS: c.ns, Host: out.Names.Intern(d.host), Device: out.Names.Intern(d.device),
			Name: out.Names.InternString(name), Text: out.Names.Intern(c.file), Value: float64(c.latency),
		})
		out.Tally.Event++
		return
	}
	e := d.arrival(out, c.ns, op, c.offset, c.size, d.device)
	e.LatencyNS, e.Kind, e.PID = c.latency, ingest.KindSyscall, int32(c.pid)
	e.Comm, e.File = out.Names.Intern(c.comm), out.Names.Intern(c.file)
}

// table reads a line of the table: the task's and the file's name may have
// blanks, so the columns between them are looked for.
func (d *fsSlower) table(line []byte, c *slowCall) (reason string) {
	second, end := clockOf(line)
	if end == 0 {
		return "bad-time"
	}
	from := end // of the task's name
	for s := (blkText{b: line, i: end}); ; {
		s.blanks()
		at := s.i
		w := s.word()
		if len(w) == 0 {
			return "few-columns"
		}
		if at == from || !isDigit(w[0]) {
			continue
		}
		if c.columns(w, s) {
			c.comm = trimBlanks(line[from:at])
			if len(c.comm) > 0 {
				break
			}
		}
	}
	var ok bool
	if c.ns, ok = d.clock.at(second); !ok {
		return "bad-time"
	}
	return ""
}

// columns reads T BYTES OFF_KB LAT(ms) FILENAME behind a PID.
func (c *slowCall) columns(pid []byte, s blkText) bool {
	var ok [4]bool
	c.pid, ok[0] = wholeNumber(pid)
	kind := s.word()
	c.size, ok[1] = wholeNumber(s.word())
	c.offset, ok[2] = wholeNumber(s.word())
	c.latency, ok[3] = milliseconds(s.word())
	if len(kind) != 1 || kind[0] < 'A' || kind[0] > 'Z' || c.offset > 1<<52 || ok != [4]bool{true, true, true, true} {
		return false
	}
	c.kind = kind[0]
	c.offset *= 1024
	s.blanks()
	c.file = trimBlanks(s.b[s.i:])
	return true
}

// commas reads a line of the CSV. The last cell is the file, commas and all.
func (d *fsSlower) commas(line []byte, c *slowCall) (reason string) {
	cells := traceCells{b: line, sep: ','}
	us := cells.number("bad-time")
	if cells.begin() {
		end := cellEnd(line, cells.i)
		c.comm = line[cells.i:end]
		cells.i = end + 1
	}
	c.pid = cells.number("bad-pid")
	if cells.begin() {
		end := cellEnd(line, cells.i)
		if end != cells.i+1 || line[cells.i] < 'A' || line[cells.i] > 'Z' {
			return "bad-op"
		}
		c.kind = line[cells.i]
		cells.i = end + 1
	}
	c.size = cells.number("bad-size")
	c.offset = cells.number("bad-offset")
	latency := cells.number("bad-latency")
	if cells.why != "" {
		return cells.why
	}
	if cells.i > len(line) {
		return "few-columns"
	}
	c.file = line[cells.i:]
	if us > csvLastNS/1000 || latency > maxLatencyNS/1000 {
		return "bad-time"
	}
	var ok bool
	if c.ns, ok = d.at(us * 1000); !ok {
		return "bad-time"
	}
	c.latency = latency * 1000
	return ""
}

// possible says what is impossible in a call.
func (c *slowCall) possible() string {
	switch {
	case len(c.comm) > commBytes || stampBefore(c.comm):
		return "bad-process" // two lines that ran into each other
	case len(c.file) > slowerFileBytes:
		return "bad-file" // likewise
	case c.pid > 1<<31-1:
		return "bad-pid"
	case c.latency < 0:
		return "bad-latency"
	case c.offset+c.size < 0:
		return "bad-offset"
	}
	return ""
}

// End has nothing to settle.
func (d *fsSlower) End(*ingest.Out) {}
