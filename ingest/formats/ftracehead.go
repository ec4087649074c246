package formats

import "bytes"

// ftraceHead reads what stands before an event in the text of ftrace and
// trace-cmd, and gives the rest from the event's name on. The command may hold
// blanks, dashes and brackets: what ends it is a dash, the pid, and "[cpu]".
func ftraceHead(line []byte, h *tpHead) (rest []byte, reason string) {
	at := 0 // of the bracket of the CPU
	for {
		n := bytes.IndexByte(line[at:], '[')
		if n < 0 {
			if rest = reportHead(line, h); rest != nil {
				return rest, ""
			}
			return latencyHead(line, h)
		}
		at += n
		s := blkText{b: line, i: at + 1}
		if _, ok := s.number(); ok && s.take(']') && s.peek() == ' ' && ftraceTask(line[:at], h, tpComm) {
			at = s.i
			break
		}
		at++
	}
	s := blkText{b: line, i: at}
	s.blanks()
	from := s.i
	ns, ok := tpSeconds(&s)
	if !ok { // the flags stand between
		s.i = from
		flags := s.word()
		if len(flags) == 0 || len(flags) > 8 {
			return nil, tpNoLine
		}
		if flags[len(flags)-1] == ':' {
			return nil, tpNoSeconds
		}
		s.blanks()
		from = s.i
		if ns, ok = tpSeconds(&s); !ok {
			s.i = from
			if _, ticks := s.number(); ticks && s.peek() == ':' {
				return nil, tpNoSeconds
			}
			return nil, tpNoLine
		}
	}
	if !s.take(':') || !s.take(' ') {
		return nil, tpNoLine
	}
	s.blanks()
	h.timeNS = ns
	return line[s.i:], ""
}

// The columns that a command takes at least: blanks fill them up on the left, and
// what stands before them is none of it, such as a stamp that a collector of logs put
// before each line.
const (
	tpComm      = 16
	tpShortComm = 8 // of the latency format, which cuts it there
)

// commandOf is the command of so many columns at the end of b.
func commandOf(b []byte, columns int) []byte {
	if n := len(b); n > columns {
		b = b[n-columns:]
	}
	for len(b) > 0 && b[0] == ' ' {
		b = b[1:]
	}
	return b
}

// ftraceTask reads "comm-pid" or "comm-pid (tgid)" from its end.
func ftraceTask(b []byte, h *tpHead, columns int) bool {
	i := len(b)
	blank := func() {
		for i > 0 && b[i-1] == ' ' {
			i--
		}
	}
	blank()
	if i > 0 && i < len(b) && b[i-1] == ')' {
		open := bytes.LastIndexByte(b[:i], '(')
		if open < 0 {
			return false
		}
		i = open
		blank()
	}
	end := i
	for i > 0 && b[i-1]-'0' <= 9 {
		i--
	}
	if i == end || end == len(b) || end-i > 10 || i < 2 || b[i-1] != '-' {
		return false
	}
	pid, _ := scanDigits(b[:end], i)
	if pid < 0 || pid > 1<<31-1 {
		return false
	}
	h.tid = int32(pid)
	comm := b[:i-1]
	if len(comm) > 0 && comm[0] != ' ' { // trace-cmd puts the name of an instance before all
		if n := bytes.Index(comm, []byte(": ")); n > 0 {
			comm = comm[n+2:]
		}
	}
	comm = commandOf(comm, columns)
	if string(comm) == "<...>" { // the tracer had not kept it
		comm = nil
	}
	h.comm = comm
	return true
}

// reportHead reads the head of trace-cmd report -l, "comm-pid   cpuflags seconds: ",
// whose CPU stands in no brackets; nil if it is none.
func reportHead(line []byte, h *tpHead) (rest []byte) {
	for n := bytes.Index(line, []byte(": ")); n >= 0; n = nextIndex(line, n, ": ") {
		word := bytes.LastIndexByte(line[:n], ' ') + 1
		if n-word < 3 || line[word]-'0' > 9 {
			continue
		}
		s := blkText{b: line, i: word}
		ns, ok := tpSeconds(&s)
		if !ok || s.i != n {
			continue
		}
		end := word
		for end > 0 && line[end-1] == ' ' {
			end--
		}
		flags := bytes.LastIndexByte(line[:end], ' ') + 1
		if flags >= end || line[flags]-'0' > 9 || line[end-1]-'0' <= 9 && !bytes.ContainsAny(line[flags:end], ".dnN") || end-flags > 12 || !ftraceTask(line[:flags], h, tpShortComm) {
			return nil // a number without flags is a pid, as perf script writes it
		}
		h.timeNS = ns
		for n++; n < len(line) && line[n] == ' '; n++ {
		}
		return line[n:]
	}
	return nil
}

// latencyHead reads the head of the latency format, "comm-pid cpuflags 12us : ".
func latencyHead(line []byte, h *tpHead) (rest []byte, reason string) {
	n := bytes.Index(line, []byte("us"))
	for ; n >= 0; n = nextIndex(line, n, "us") {
		if n > 0 && n+4 < len(line) && line[n-1]-'0' <= 9 && string(line[n+3:n+5]) == ": " {
			break
		}
	}
	if n < 0 {
		return nil, tpNoLine
	}
	i := n
	for i > 0 && line[i-1]-'0' <= 9 {
		i--
	}
	us, _ := scanDigits(line[:n], i)
	if us < 0 || us > 1<<50 || i == 0 || line[i-1] != ' ' {
		return nil, tpNoLine
	}
	// Before it: the CPU with the flags behind it, then the task.
	for i > 0 && line[i-1] == ' ' {
		i--
	}
	word := bytes.LastIndexByte(line[:i], ' ') + 1
	if word >= i || line[word]-'0' > 9 || i-word > 12 || !ftraceTask(line[:word], h, tpShortComm) {
		return nil, tpNoLine
	}
	h.timeNS = us * 1000
	return line[n+5:], ""
}

func nextIndex(b []byte, i int, s string) int {
	n := bytes.Index(b[i+1:], []byte(s))
	if n < 0 {
		return -1
	}
	return i + 1 + n
}

// traceKind tells the tools apart that print events in ftrace's layout.
type traceKind uint8

const (
	traceNone traceKind = iota
	traceFtrace
	traceCmd
)

// traceText says which tool wrote a head. trace-cmd begins with its banner, pads
// the names of events and spells calls sys_enter_X; ftrace does neither.
func traceText(head []byte) traceKind {
	kind := traceNone
	var h tpHead
	for n := 0; n < 24; n++ {
		line, rest, whole := bytes.Cut(head, []byte{'\n'})
		if !whole {
			break
		}
		head = rest
		line = bytes.TrimRight(line, "\r")
		text := bytes.TrimSpace(line)
		if bytes.HasPrefix(text, []byte("# tracer: ")) {
			return traceFtrace
		}
		if tracedBanner(text) {
			return traceCmd
		}
		if where, _, ok := tracedLoss(text); ok && where != "" {
			if bytes.Contains(text, []byte("DROPPED")) {
				return traceCmd
			}
			kind = traceFtrace
			continue
		}
		event, reason := ftraceHead(line, &h)
		if reason == tpNoSeconds {
			kind = traceFtrace
			continue
		}
		if reason != "" {
			continue
		}
		if bytes.HasPrefix(event, tpEnter) || bytes.HasPrefix(event, tpExit) {
			return traceCmd
		}
		if i := bytes.IndexByte(event, ':'); i > 0 && bytes.HasPrefix(event[i:], []byte(":  ")) {
			return traceCmd
		}
		kind = traceFtrace
	}
	return kind
}
