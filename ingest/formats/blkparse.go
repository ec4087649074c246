package formats

import (
	"bytes"

	"github.com/iopathy/iopathy/ingest"
)

// Blkparse is the text that blkparse prints by default: one block layer trace
// record a line, and a summary. Output of blkparse -f has other columns and is
// not of this format.
var Blkparse = ingest.Register(ingest.Format{
	Name: "blkparse",
	Doc:  "text of blkparse(1) in its default layout (no -f)",
	Kind: ingest.KindQ2C,
	Needs: "the epoch of the trace: its times count from the first record (start_ns; without it they stay " +
		"relative, from 1970); the host",
	Clock: ingest.BaseRelative,
	Lacks: "host, device name (numbers only), queue depth, file",
	Sniff: sniffBlkparse,
	Lines: func(src *ingest.Source) (ingest.LinesDecoder, error) {
		if sniffBlkparse(src.Head, "") == 1 {
			return nil, ingest.Refusal("it has columns of blkparse -f: print it in the default layout, without -f")
		}
		return &blkparse{pairs: newBlkPairs(src.Host), base: src.Options.StartNS}, nil
	},
})

// sniffBlkparse is sure at the first whole line in the default layout; lines
// before it (warnings of blkparse, a line cut at the start) are few. What blkparse -f
// printed in other columns is claimed, less surely, to be refused by name.
func sniffBlkparse(head []byte, _ string) int {
	var d blkparse
	for n, rest := 0, head; n < 16; n++ {
		var line []byte
		var ok bool
		if line, rest, ok = bytes.Cut(rest, []byte{'\n'}); !ok {
			break
		}
		if d.parse(line) == "" {
			return 2
		}
	}
	if blkCustom(head) {
		return 1
	}
	return 0
}

type blkparse struct {
	pairs *blkPairs
	base  int64     // epoch of time 0
	rec   blkRecord `state:"-"` // of the line in hand
	near  blkNear   `state:"-"`
}

// blkAhead reads lines of usual records ahead of their turn.
type blkAhead struct {
	blkparse
	blkBriefs
}

func (a *blkAhead) Read(line []byte) bool {
	if !a.quick(line) {
		return false
	}
	a.add(&a.rec)
	return true
}

func (d *blkparse) Ahead() ingest.Ahead { return &blkAhead{blkparse: blkparse{base: d.base}} }

func (d *blkparse) Take(a ingest.Ahead, i int, line []byte, out *ingest.Out) {
	a.(*blkAhead).record(i, line, &d.rec)
	d.pairs.Add(&d.rec, out)
}

func (d *blkparse) Line(line []byte, out *ingest.Out) {
	if d.quick(line) {
		d.pairs.Add(&d.rec, out)
		return
	}
	switch reason := d.parse(line); {
	case reason != "" && blkAside(line):
		out.Note()
		d.lost(line, out)
	case reason != "":
		out.Reject(line, reason)
	case d.rec.Action == blkNone:
		out.Note()
	default:
		d.pairs.Add(&d.rec, out)
	}
}

// lost tells of the records that blkparse missed, by its summary:
// "Skips: n forward (records - percent)", and of those that blktrace dropped, by
// what it says: "Total: n events (dropped n), n KiB data".
func (d *blkparse) lost(line []byte, out *ingest.Out) {
	s := blkText{b: line}
	before := []byte("dropped ")
	switch string(s.word()) {
	case "Skips:":
		before = []byte("(")
	case "Total:":
	default:
		return
	}
	i := bytes.Index(line, before)
	if i < 0 {
		return
	}
	s.i = i + len(before)
	s.blanks()
	if n, ok := s.number(); ok && n > 0 {
		out.Fact(ingest.Evidence{
			TimeNS: d.base, Host: out.Names.InternString(d.pairs.host), Name: out.Names.InternString(blkLostFact),
			Text: out.Names.InternString(blkLostWhole), Value: float64(n),
		})
	}
}

func (d *blkparse) End(out *ingest.Out) { d.pairs.End(out) }

// Reasons of rejects.
const (
	blkBadLine   = "no-trace-line"
	blkBadDevice = "bad-device"
	blkBadTime   = "bad-time"
	blkBadPID    = "bad-pid"
	blkBadAction = "bad-action"
	blkBadRWBS   = "bad-rwbs"
	blkBadSector = "bad-sector"
	blkBadTail   = "bad-tail"
)

// parse reads a line into d.rec, or says why it can't. Plugs and messages
// have the action blkNone. The line is
//
//	maj,min cpu seq sec.nsec pid action rwbs tail
//
// by blanks, however wide, and the tail depends on the action.
func (d *blkparse) parse(line []byte) string {
	d.rec = blkRecord{Text: line}
	r := &d.rec
	s := blkText{b: line}
	s.blanks()
	major, ok := s.number()
	if !ok || !s.take(',') {
		return blkBadLine
	}
	minor, ok := s.number()
	if !ok || major >= 1<<12 || minor >= 1<<20 {
		return blkBadDevice
	}
	r.Dev = uint32(major<<20 | minor)
	if _, ok = s.column(); !ok {
		return blkBadLine
	}
	if _, ok = s.column(); !ok {
		return blkBadLine
	}
	sec, ok := s.column()
	if !ok || sec >= 1<<32 || !s.take('.') {
		return blkBadTime
	}
	from := s.i
	nsec, ok := s.number()
	if !ok || s.i-from != 9 {
		return blkBadTime
	}
	r.TimeNS = d.base + int64(sec)*1e9 + int64(nsec)
	pid, ok := s.column()
	if !ok || pid > 1<<31-1 {
		return blkBadPID
	}
	r.PID = int32(pid)
	action := s.word()
	if len(action) > 2 && isCgroup(action) { // of a message of the kernel
		if action = s.word(); string(action) != "m" {
			return blkBadAction
		}
	}
	if len(action) == 0 || len(action) > 2 {
		return blkBadAction
	}
	if len(action) == 2 {
		if string(action) != "UT" {
			return blkBadAction
		}
		return ""
	}
	rwbs := s.word()
	if len(rwbs) == 0 {
		return blkBadTail
	}
	switch action[0] {
	case 'P', 'U', 'm':
		return ""
	case 'Q':
		r.Action = blkQueue
	case 'G':
		r.Action = blkGet
	case 'I':
		r.Action = blkInsert
	case 'D':
		r.Action = blkIssue
	case 'C':
		r.Action = blkComplete
	case 'M':
		r.Action = blkBackMerge
	case 'F':
		r.Action = blkFrontMerge
	case 'R':
		r.Action = blkRequeue
	case 'S':
		r.Action = blkSleep
	case 'B':
		r.Action = blkBounce
	case 'X':
		r.Action = blkSplit
	case 'A':
		r.Action = blkRemap
	default:
		return blkBadAction
	}
	reason := d.tail(&s)
	if reason != "" {
		return reason
	}
	if r.Op, r.Flags, ok = blkRWBS(rwbs, r.Sectors == 0 && r.Action != blkSplit); !ok {
		return blkBadRWBS
	}
	if r.Other == 0 && isAppend(rwbs) {
		r.Other = blkAppend
	}
	return ""
}

// isCgroup says whether a word stands for a control group: its number and generation
// in hexadecimal, or its path.
func isCgroup(w []byte) bool {
	if len(w) > 1 && w[0] == '/' {
		return true
	}
	comma := bytes.IndexByte(w, ',')
	if comma < 1 || comma == len(w)-1 {
		return false
	}
	for i, c := range w {
		if i != comma && hexDigit(c) < 0 {
			return false
		}
	}
	return true
}

// tail reads what follows rwbs:
//
//	Q G I D M F S B   sector + n [comm]      [comm] without data
//	C R               sector + n [error]     sector [error] without data
//	X                 sector / sector [comm]
//	A                 sector + n <- (maj,min) sector
//
// With blkparse -t an elapsed time in parentheses follows n. A pass-through
// command has no sector: "bytes (hex) [comm]", at its completion "(hex) [error]".
func (d *blkparse) tail(s *blkText) string {
	r := &d.rec
	ends := r.Action == blkComplete || r.Action == blkRequeue
	s.blanks()
	switch s.peek() {
	case '(':
		r.Pass = true
		if !s.group() {
			return blkBadTail
		}
	case '[':
		r.Pass = ends
	default:
		var ok bool
		if r.Sector, ok = s.number(); !ok {
			return blkBadSector
		}
		s.blanks()
		switch s.peek() {
		case '+':
			s.i++
			s.blanks()
			if r.Sectors, ok = s.number(); !ok {
				return blkBadSector
			}
		case '/':
			s.i++
			s.blanks()
			if r.Other, ok = s.number(); !ok || r.Action != blkSplit {
				return blkBadSector
			}
		default:
			if !ends {
				r.Pass, r.Other, r.Sector = true, r.Sector, 0
				if r.Other > blkMaxSector {
					return blkBadSector
				}
			}
		}
		s.blanks()
		if s.peek() == '(' && !s.group() {
			return blkBadTail
		}
	}
	if (r.Action == blkSplit) != (r.Other != 0 && !r.Pass) {
		return blkBadTail
	}
	if r.Sectors > 0 && (r.Sector > blkMaxSector || r.Sectors > blkMaxSector-r.Sector) || r.Other > blkMaxSector {
		return blkBadSector
	}
	if r.Action == blkRemap {
		return d.remap(s)
	}
	return d.bracket(s, ends)
}

// remap reads "<- (maj,min) sector".
func (d *blkparse) remap(s *blkText) string {
	if string(s.word()) != "<-" {
		return blkBadTail
	}
	s.blanks()
	if !s.take('(') {
		return blkBadTail
	}
	major, ok := s.number()
	if !ok || !s.take(',') {
		return blkBadTail
	}
	minor, ok := s.number()
	if !ok || !s.take(')') || major >= 1<<12 || minor >= 1<<20 {
		return blkBadTail
	}
	if d.rec.Other, ok = s.column(); !ok {
		return blkBadTail
	}
	d.rec.From = uint32(major<<20 | minor)
	return ""
}

// bracket reads what stands between the first [ and the last ]: the task,
// whose name may hold brackets and blanks, or the error.
func (d *blkparse) bracket(s *blkText, isError bool) string {
	s.blanks()
	last := bytes.LastIndexByte(s.b, ']')
	if s.peek() != '[' || last <= s.i {
		return blkBadTail
	}
	text := s.b[s.i+1 : last]
	if !isError {
		if string(text) != "(null)" {
			d.rec.Comm = text
		}
		return ""
	}
	e := blkText{b: text}
	minus := e.take('-')
	v, ok := e.number()
	if !ok || e.i != len(text) || v >= 1<<16 {
		return blkBadTail
	}
	d.rec.Error = blkErrno(int64(v))
	if minus {
		d.rec.Error = int32(v)
	}
	return ""
}
