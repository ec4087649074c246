package formats

import (
	"bytes"

	"github.com/iopathy/iopathy/ingest"
)

// PerfScript is the text of perf script over tracepoints, in its default
// fields and in those of -F that keep time, event and trace. One line is
//
//	comm [pid/]tid [cpu] [date time] sec.usec: [period] group:event: fields
//
// A header (--header) tells the host and, where perf recorded with a clock id
// (-k), the epoch of its stamps. Call chains are notes.
var PerfScript = ingest.Register(ingest.Format{
	Name:  "perf-script",
	Doc:   "perf script of block:* and syscalls:* tracepoints",
	Kind:  ingest.KindQ2C,
	Needs: "the epoch of stamp 0 (start_ns), unless a header of perf record -k tells it; else times stay relative, from 1970; the host, unless a header tells it",
	Clock: ingest.BaseBoot,
	Lacks: tpLacks,
	Sniff: sniffPerfScript,
	Lines: func(src *ingest.Source) (ingest.LinesDecoder, error) {
		return &perfScript{tracepoints: newTracepoints(src), anchored: src.Options.StartNS != 0}, nil
	},
})

// sniffPerfScript is sure at the first event line, or at perf's header.
func sniffPerfScript(head []byte, _ string) int {
	header := false
	for n := 0; n < 64; n++ {
		line, rest, whole := bytes.Cut(head, []byte{'\n'})
		if !whole {
			break
		}
		head = rest
		line = bytes.TrimRight(line, "\r")
		if bytes.HasPrefix(line, []byte("# perf version : ")) {
			header = true
		}
		var h tpHead
		if event, ok := perfHead(line, &h); ok {
			// ftrace's events have no group.
			if name, _ := perfEvent(event); len(name) > 0 && bytes.Contains(event[:bytes.Index(event, name)], []byte(":")) {
				return 2
			}
		}
	}
	if header {
		return 2
	}
	return 0
}

type perfScript struct {
	tracepoints
	anchored bool // the epoch of stamp 0 is known
	told     bool // by the header
}

func (d *perfScript) End(out *ingest.Out) { d.end(out) }

func (d *perfScript) Ahead() ingest.Ahead {
	return &tpAhead{head: func(line []byte, h *tpHead) (name, args []byte, ok bool) {
		rest, ok := perfHead(line, h)
		if ok {
			name, args = perfEvent(rest)
		}
		return name, args, len(name) > 0
	}}
}

func (d *perfScript) Line(line []byte, out *ingest.Out) {
	var h tpHead
	rest, ok := perfHead(line, &h)
	if !ok {
		d.aside(line, out)
		return
	}
	name, args := perfEvent(rest)
	switch {
	case len(name) > 0:
		d.event(&h, name, args, line, out)
	case bytes.HasPrefix(rest, []byte("PERF_RECORD_")):
		d.stamp(h.timeNS, out)
		out.Note()
		s := blkText{b: rest}
		if kind := s.word(); string(kind) == "PERF_RECORD_LOST" || string(kind) == "PERF_RECORD_LOST_SAMPLES" {
			s.word() // lost
			if n, ok := s.column(); ok {
				d.lost(n, "", out)
			}
		}
	default:
		out.Reject(line, tpNoLine)
	}
}

// perfEvent takes "[period] group:event[:modifier]: fields" apart. An event
// without a group (cycles, page-faults) has its own name.
func perfEvent(b []byte) (name, args []byte) {
	s := blkText{b: b}
	word := s.word()
	if len(word) > 0 && word[len(word)-1]-'0' <= 9 && word[0]-'0' <= 9 {
		word = s.word()
	}
	n := len(word) - 1
	if n < 1 || word[n] != ':' {
		return nil, nil
	}
	word = word[:n]
	args = b[s.i:]
	if i := bytes.IndexByte(word, ':'); i >= 0 {
		word = word[i+1:]
		if i = bytes.IndexByte(word, ':'); i >= 0 { // block:block_rq_issue:u
			word = word[:i]
		}
	}
	return word, args
}

// perfHead reads what stands before an event and gives the rest. The first word
// like "1437.312044:" is the time; the words before it are found from there,
// since a command may hold blanks.
func perfHead(line []byte, h *tpHead) (rest []byte, ok bool) {
	i := 0
	for {
		for i < len(line) && line[i] == ' ' {
			i++
		}
		from := i
		for i < len(line) && line[i] != ' ' {
			i++
		}
		if i == len(line) {
			return nil, false
		}
		if i-from < 6 || line[i-1] != ':' || line[from]-'0' > 9 {
			continue
		}
		s := blkText{b: line[:i-1], i: from}
		ns, ok := tpSeconds(&s)
		if !ok || s.i != i-1 {
			continue
		}
		h.timeNS = ns
		s = blkText{b: line, i: i}
		s.blanks()
		perfTask(line[:from], h)
		return line[s.i:], true
	}
}

// perfTask reads "comm [pid/]tid [cpu] [date time]" from its end; any part may
// be missing, since -F chooses.
func perfTask(b []byte, h *tpHead) {
	h.tid, h.comm = ingest.Missing, nil
	b, word := lastWord(b)
	if len(word) > 8 && word[2] == ':' { // the time of day, behind its date
		b, _ = lastWord(b)
		b, word = lastWord(b)
	}
	if len(word) > 2 && word[0] == '[' && word[len(word)-1] == ']' {
		b, word = lastWord(b)
	}
	digits := word
	if i := bytes.IndexByte(word, '/'); i >= 0 && i+1 < len(word) {
		digits = word[i+1:]
	}
	tid, end := scanDigits(digits, 0)
	if end == 0 || end != len(digits) || tid < 0 || tid > mostPID {
		return
	}
	h.tid = int32(tid)
	h.comm = commandOf(b, tpComm)
}

// lastWord cuts the last word off and the blanks around it.
func lastWord(b []byte) (before, word []byte) {
	end := len(b)
	for end > 0 && b[end-1] == ' ' {
		end--
	}
	from := end
	for from > 0 && b[from-1] != ' ' {
		from--
	}
	word = b[from:end]
	for from > 0 && b[from-1] == ' ' {
		from--
	}
	return b[:from], word
}

// aside takes a line that is no event.
func (d *perfScript) aside(line []byte, out *ingest.Out) {
	text := bytes.TrimSpace(line)
	switch {
	case len(text) == 0:
		out.Note()
	case text[0] == '#':
		out.Note()
		d.header(text)
	case perfFrame(line, text):
		out.Note()
	case string(text) == "Warning:" || string(text) == "Check IO/CPU overload!":
		out.Note()
	case bytes.HasPrefix(text, []byte("Processed ")):
		out.Note()
		if _, rest, ok := bytes.Cut(text, []byte(" lost")); ok {
			s := blkText{b: rest}
			if n, ok := s.column(); ok {
				d.fact(tpChunksFact, "", float64(n), out)
			}
		}
	default:
		out.Reject(line, tpNoLine)
	}
}

// perfFrame says whether a line is of a call chain: blanks, an address, a symbol.
func perfFrame(line, text []byte) bool {
	if line[0] != ' ' && line[0] != '\t' {
		return false
	}
	i := 0
	for i < len(text) && (text[i]-'0' <= 9 || (text[i]|0x20)-'a' <= 5) {
		i++
	}
	return i >= 4 && i < len(text) && text[i] == ' ' || line[0] == '\t'
}

// header takes what a header line tells: the host, and the clock by
//
//	# reference time: 2026-11-29 12:31:25.556432 = 1795955485.556432 (TOD) = 2092.983281284 (monotonic)
//
// as long as no event has come.
func (d *perfScript) header(text []byte) {
	if d.seen {
		return
	}
	if host, ok := bytes.CutPrefix(text, []byte("# hostname : ")); ok && len(host) > 0 && len(host) <= 255 {
		d.pairs.host, d.calls.host = string(host), string(host)
		return
	}
	if d.anchored {
		return
	}
	rest, ok := bytes.CutPrefix(text, []byte("# reference time:"))
	if !ok {
		return
	}
	_, rest, _ = bytes.Cut(rest, []byte(" = "))
	s := blkText{b: rest}
	epoch, ok := tpSeconds(&s)
	if !ok {
		return
	}
	_, rest, _ = bytes.Cut(rest, []byte("(TOD) = "))
	s = blkText{b: rest}
	if clock, ok := tpSeconds(&s); ok {
		d.base, d.anchored, d.told = epoch-clock, true, true
	}
}

// OwnClock says whether the header told what the stamps count from.
func (d *perfScript) OwnClock() (ingest.TimeBase, string) {
	if d.told {
		return ingest.BaseBoot, "its header"
	}
	return ingest.BaseBoot, ""
}
