package formats

import (
	"bytes"
	"strconv"

	"github.com/iopathy/iopathy/ingest"
)

// tpLayout is the order of the fields of a block event.
type tpLayout uint8

const (
	tpBio     tpLayout = iota // dev rwbs sector + n [comm], and what blkparse writes behind an action
	tpRequest                 // dev rwbs bytes (cmd) sector + n ioprio [comm]
	tpDone                    // dev rwbs (cmd) sector + n ioprio [error]
)

// tpCommBytes is the longest name of a task that the kernel keeps. What is
// longer holds the next line, whose newline was lost.
const tpCommBytes = 15

// tpAction tells what a block event says of an I/O. Those with blkNone say
// nothing new: plugs; rq_error, which its completion tells too.
func tpAction(name []byte) (blkAction, tpLayout) {
	switch string(name) {
	case "block_bio_queue":
		return blkQueue, tpBio
	case "block_getrq":
		return blkGet, tpBio
	case "block_rq_insert":
		return blkInsert, tpRequest
	case "block_rq_issue":
		return blkIssue, tpRequest
	case "block_rq_complete":
		return blkComplete, tpDone
	case "block_bio_complete":
		return blkComplete, tpBio
	case "block_bio_backmerge":
		return blkBackMerge, tpBio
	case "block_bio_frontmerge":
		return blkFrontMerge, tpBio
	case "block_rq_merge":
		return blkBackMerge, tpRequest
	case "block_rq_requeue":
		return blkRequeue, tpDone
	case "block_split":
		return blkSplit, tpBio
	case "block_bio_remap", "block_rq_remap":
		return blkRemap, tpBio
	case "block_sleeprq":
		return blkSleep, tpBio
	case "block_bio_bounce":
		return blkBounce, tpBio
	case "block_io_start":
		return blkStart, tpRequest
	case "block_io_done":
		return blkFinish, tpRequest
	}
	return blkNone, 0
}

// record reads the fields of a block event into t.text.rec, or says why it
// can't.
func (t *tracepoints) record(action blkAction, layout tpLayout, args []byte) string {
	t.text.rec = blkRecord{Action: action}
	r := &t.text.rec
	s := blkText{b: args}
	s.blanks()
	if bytes.HasPrefix(args[s.i:], tpUnparsed) {
		return t.unparsed(action, args[s.i+len(tpUnparsed):])
	}
	major, ok := s.number()
	if !ok || !s.take(',') {
		return blkBadDevice
	}
	minor, ok := s.number()
	if !ok || major >= 1<<12 || minor >= 1<<20 {
		return blkBadDevice
	}
	r.Dev = uint32(major<<20 | minor)
	rwbs := s.word()
	if len(rwbs) == 0 {
		return blkBadRWBS
	}
	var reason string
	if layout == tpBio {
		reason = t.text.tail(&s)
	} else {
		reason = t.request(&s, layout, rwbs[0] == 'N')
	}
	if reason != "" {
		return reason
	}
	if len(r.Comm) > tpCommBytes {
		return blkBadTail
	}
	return t.letters(rwbs)
}

// letters takes the letters of an operation.
func (t *tracepoints) letters(rwbs []byte) string {
	r := &t.text.rec
	var ok bool
	if r.Op, r.Flags, ok = blkRWBS(rwbs, r.Sectors == 0 && r.Action != blkSplit); !ok {
		return blkBadRWBS
	}
	if isAppend(rwbs) && r.Other == 0 {
		r.Other = blkAppend
	}
	return ""
}

// tpUnparsed stands where trace-cmd and perf have not understood how the kernel prints an
// event, before its raw fields: "dev=8388624 sector=100 nr_sector=8 rwbs=W comm=dd".
var tpUnparsed = []byte("[FAILED TO PARSE]")

// unparsed reads the raw fields of a block event.
func (t *tracepoints) unparsed(action blkAction, fields []byte) string {
	r := &t.text.rec
	var rwbs []byte
	var known [4]bool // device, sector, sectors, where it goes or comes from
	s := blkText{b: fields}
	for word := s.word(); len(word) > 0; word = s.word() {
		key, value, _ := bytes.Cut(word, []byte{'='})
		minus := bytes.HasPrefix(value, []byte{'-'})
		n, err := strconv.ParseUint(string(bytes.TrimPrefix(value, []byte{'-'})), 0, 64)
		switch name := string(key); {
		case name == "rwbs":
			rwbs = value
		case name == "comm":
			if len(value) <= tpCommBytes {
				r.Comm = value
			}
		case err != nil:
		case name == "dev":
			r.Dev, known[0] = uint32(n), n < 1<<32
		case name == "sector":
			r.Sector, known[1] = n, true
		case name == "nr_sector":
			r.Sectors, known[2] = n, n <= blkMaxSector
		case name == "error":
			if r.Error = blkErrno(int64(n)); minus {
				r.Error = int32(min(n, 1<<15))
			}
		case name == "old_dev":
			r.From = uint32(n)
		case name == "old_sector" && action == blkRemap, name == "new_sector" && action == blkSplit:
			r.Other, known[3] = n, n <= blkMaxSector
		}
	}
	switch {
	case !known[0]:
		return blkBadDevice
	case !known[1], !known[2] && action != blkSplit, r.Sectors > 0 && (r.Sector > blkMaxSector || r.Sectors > blkMaxSector-r.Sector):
		return blkBadSector
	case !known[3] && (action == blkRemap || action == blkSplit):
		return blkBadTail
	case len(rwbs) == 0:
		return blkBadRWBS
	}
	if action == blkSplit {
		r.Sectors = 0
	}
	return t.letters(rwbs)
}

// request reads the fields of a request behind its rwbs. The command is empty
// but for pass-through, which has no sector; where the kernel doesn't tell the
// command (none), it has no operation. The priority came with kernel 6.11.
func (t *tracepoints) request(s *blkText, layout tpLayout, none bool) string {
	r := &t.text.rec
	var bytes uint64
	var ok bool
	if layout == tpRequest {
		if bytes, ok = s.column(); !ok || bytes > blkMaxSector {
			return blkBadTail
		}
	}
	s.blanks()
	from := s.i
	if s.peek() != '(' || !s.group() {
		return blkBadTail
	}
	command := s.i-from > 3 // more than "() "
	if r.Sector, ok = s.number(); !ok {
		return blkBadSector
	}
	s.blanks()
	if !s.take('+') {
		return blkBadSector
	}
	if r.Sectors, ok = s.column(); !ok {
		return blkBadSector
	}
	if r.Sectors > 0 && (r.Sector > blkMaxSector || r.Sectors > blkMaxSector-r.Sector) {
		return blkBadSector
	}
	if r.Sectors == 0 && (none || command) {
		r.Pass, r.Other = true, bytes
	}
	s.blanks()
	if s.peek() != '[' {
		s.word()
	}
	return t.text.bracket(s, layout == tpDone)
}

// tpTracer reads a record of ftrace's blk tracer, "maj,min action rwbs tail"
// with blkparse's letters.
func (t *tracepoints) tracer(h *tpHead, text, line []byte, out *ingest.Out) {
	now := t.stamp(h.timeNS, out)
	r := &t.text.rec
	*r = blkRecord{Text: line, TimeNS: now, PID: h.tid}
	s := blkText{b: text}
	s.blanks()
	major, ok := s.number()
	if !ok || !s.take(',') {
		out.Reject(line, tpNoLine)
		return
	}
	minor, ok := s.number()
	if !ok || major >= 1<<12 || minor >= 1<<20 {
		out.Reject(line, blkBadDevice)
		return
	}
	r.Dev = uint32(major<<20 | minor)
	letter := s.word()
	if len(letter) > 2 && isCgroup(letter) { // option blk_cgroup
		letter = s.word()
	}
	switch string(letter) {
	case "P", "U", "UT", "m":
		out.Note()
		return
	default:
		if r.Action = blkLetter(letter); r.Action == blkNone {
			out.Reject(line, blkBadAction)
			return
		}
	}
	rwbs := s.word()
	if reason := t.text.tail(&s); reason != "" {
		out.Reject(line, reason)
		return
	}
	if reason := t.letters(rwbs); reason != "" {
		out.Reject(line, reason)
		return
	}
	t.pair(out)
}

// blkLetter is the action of one of blkparse's letters.
func blkLetter(b []byte) blkAction {
	if len(b) == 1 {
		switch b[0] {
		case 'Q':
			return blkQueue
		case 'G':
			return blkGet
		case 'S':
			return blkSleep
		case 'B':
			return blkBounce
		case 'I':
			return blkInsert
		case 'D':
			return blkIssue
		case 'R':
			return blkRequeue
		case 'C':
			return blkComplete
		case 'M':
			return blkBackMerge
		case 'F':
			return blkFrontMerge
		case 'X':
			return blkSplit
		case 'A':
			return blkRemap
		}
	}
	return blkNone
}
