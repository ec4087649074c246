package formats

import "github.com/iopathy/iopathy/ingest"

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
// nothing new: plugs; rq_error, which its completion tells too; io_start and
// io_done, which stand beside getrq and rq_complete and have no sizes at the end.
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
	if r.Op, r.Flags, ok = blkRWBS(rwbs, r.Sectors == 0 && action != blkSplit); !ok {
		return blkBadRWBS
	}
	return ""
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
	switch letter := s.word(); string(letter) {
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
	if r.Op, r.Flags, ok = blkRWBS(rwbs, r.Sectors == 0 && r.Action != blkSplit); !ok {
		out.Reject(line, blkBadRWBS)
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
