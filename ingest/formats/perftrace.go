package formats

import (
	"bytes"

	"github.com/iopathy/iopathy/ingest"
)

// PerfTrace is the text of perf trace. One line is a call that has returned,
// with its start and duration in milliseconds,
//
//	0.768 ( 0.102 ms): comm/tid read(fd: 4</x>, buf: .., count: 832)   = 832
//
// or, where another task came between, its begin, "...) ...", and later its
// end, "... [continued]: read())   = 832". comm/tid is missing where one task
// was traced.
var PerfTrace = ingest.Register(ingest.Format{
	Name:  "perf-trace",
	Doc:   "perf trace (also -T): system calls",
	Kind:  ingest.KindSyscall,
	Needs: "the epoch of stamp 0 (start_ns): stamps count from the first call, with -T from boot; without it times stay relative, from 1970; the host",
	Clock: ingest.BaseRelative,
	Lacks: "host, device (it is syscall:COMM), queue; file unless perf saw it opened; offsets only of positional calls; calls on descriptors 0 to 2 are notes; other events (-e) are notes",
	Sniff: sniffPerfTrace,
	Lines: func(src *ingest.Source) (ingest.LinesDecoder, error) {
		d := &perfTrace{tracepoints: newTracepoints(src)}
		d.calls.noZeros = true
		return d, nil
	},
})

func sniffPerfTrace(head []byte, _ string) int {
	for n := 0; n < 16; n++ {
		line, rest, whole := bytes.Cut(head, []byte{'\n'})
		if !whole {
			return 0
		}
		head = rest
		var c perfCall
		if c.parse(bytes.TrimRight(line, "\r")) == "" && len(c.name) > 0 {
			return 2
		}
	}
	return 0
}

const (
	perfBadTime  = "bad-time"
	perfBadErrno = "bad-errno"
)

type perfTrace struct {
	tracepoints
	summary bool // the rest is a summary (-s)
}

// perfCall is a line taken apart.
type perfCall struct {
	tpHead
	name, args []byte
	durNS      int64 // Missing: not told
	ret        int64
	starts     bool // its end comes later
	continued  bool // its begin came before
	started    bool // timeNS is known
	other      bool // no call: another event, or a group of them
}

func (d *perfTrace) End(out *ingest.Out) { d.end(out) }

func (d *perfTrace) Line(line []byte, out *ingest.Out) {
	if d.summary || d.aside(line, out) {
		if d.summary {
			out.Note()
		}
		return
	}
	var c perfCall
	if reason := c.parse(line); reason != "" {
		out.Reject(line, reason)
		return
	}
	start := d.lastNS
	if c.started {
		start = d.stamp(c.timeNS, out)
	}
	n := callNamed(c.name)
	switch {
	case c.other || n == callNone:
		out.Note()
	case c.starts:
		d.calls.enter(&c.tpHead, start, c.name, c.args, out)
	case c.continued:
		d.resume(&c, n, out)
	case !c.started || c.durNS < 0:
		out.Count(ingest.FateUnpaired, callNoEnter, 1)
	default:
		if o := d.calls.opened(n, start, c.args); o.aside {
			out.Note()
		} else {
			d.calls.event(&c.tpHead, o, start+c.durNS, c.ret, out)
		}
	}
}

// resume takes the end of a call whose begin stood on an earlier line.
func (d *perfTrace) resume(c *perfCall, n callName, out *ingest.Out) {
	o, ok := d.calls.open[c.tid]
	if ok && o.name == n {
		delete(d.calls.open, c.tid)
	}
	switch {
	case !ok || o.name != n:
		out.Count(ingest.FateUnpaired, callNoEnter, 1)
	case o.aside:
		out.Note()
	case c.durNS < 0:
		out.Count(ingest.FateUnpaired, callNoEnter, 2)
	default:
		out.Count(ingest.FateEvent, "", 1)
		d.calls.event(&c.tpHead, o, o.startNS+c.durNS, c.ret, out)
	}
}

// aside takes blank lines, notices of losses, and the summary.
func (d *perfTrace) aside(line []byte, out *ingest.Out) bool {
	text := bytes.TrimSpace(line)
	switch {
	case len(text) == 0:
		out.Note()
	case bytes.HasPrefix(text, []byte("LOST ")) && bytes.HasSuffix(text, []byte(" events!")):
		out.Note()
		s := blkText{b: text, i: len("LOST")}
		n, _ := s.column()
		d.lost(n, "", out)
	case bytes.HasPrefix(text, []byte("Summary of events:")):
		d.summary = true
	default:
		return false
	}
	return true
}

// parse takes a line apart, or says why it can't.
func (c *perfCall) parse(line []byte) string {
	*c = perfCall{tpHead: tpHead{tid: ingest.Missing}, durNS: ingest.Missing}
	s := blkText{b: line}
	s.blanks()
	if !s.take('?') {
		ms, ok := perfMillis(&s)
		if !ok {
			return tpNoLine
		}
		c.timeNS, c.started = ms, true
	}
	s.blanks()
	if !s.take('(') {
		c.other = true // an event that is no call has no duration
		if !c.started || bytes.IndexByte(line[s.i:], ':') < 0 {
			return tpNoLine
		}
		return ""
	}
	s.blanks()
	if s.peek() != ')' && !s.take('?') {
		ms, ok := perfMillis(&s)
		if !ok || string(s.word()) != "ms):" {
			return perfBadTime
		}
		c.durNS = ms
	} else {
		s.blanks()
		if !s.take(')') || !s.take(':') {
			return perfBadTime
		}
	}
	s.blanks()
	return c.call(line[s.i:])
}

// call reads "comm/tid name(args) = result".
func (c *perfCall) call(b []byte) string {
	// The call is the first name with a parenthesis right behind it.
	from, open := 0, -1
	for i, ch := range b {
		if ch == '(' && i > from && perfName(b[from:i]) {
			open = i
			break
		}
		if ch == ' ' {
			from = i + 1
		}
	}
	if open < 0 {
		c.other = c.durNS < 0 && bytes.IndexByte(b, ':') >= 0
		if c.other {
			return ""
		}
		return tpNoLine
	}
	c.name = b[from:open]
	task := bytes.TrimRight(b[:from], " ")
	if t, ok := bytes.CutSuffix(task, []byte("... [continued]:")); ok {
		c.continued = true
		task = bytes.TrimRight(t, " ")
	}
	if len(task) > 0 {
		i := bytes.LastIndexByte(task, '/')
		if i < 0 {
			return tpNoLine
		}
		tid, end := scanDigits(task, i+1)
		if end != len(task) || end == i+1 || tid < 0 || tid > 1<<31-1 {
			return blkBadPID
		}
		c.tid, c.comm = int32(tid), task[:i]
	}
	rest := b[open+1:]
	if t, ok := bytes.CutSuffix(bytes.TrimRight(rest, " "), []byte("...")); ok {
		if t, ok = bytes.CutSuffix(bytes.TrimRight(t, " "), []byte(")")); ok {
			c.starts, c.args = true, t
			return ""
		}
	}
	// A buffer shown as text may hold ") = ": the last one counts.
	i := bytes.LastIndex(rest, []byte(" = "))
	if i < 0 {
		return callBadResult
	}
	args, ok := bytes.CutSuffix(bytes.TrimRight(rest[:i], " "), []byte(")"))
	if !ok {
		return callBadResult
	}
	c.args = args
	return c.result(rest[i+3:])
}

// result reads "832", "0x7f00", "-1 ENOENT (No such file or directory)".
func (c *perfCall) result(b []byte) string {
	s := blkText{b: b}
	word := s.word()
	if string(word) == "-1" {
		name := s.word()
		if len(name) == 0 { // an old perf tells no name
			c.ret = -1
			return ""
		}
		n := straceErrno(name)
		if n == 0 {
			return perfBadErrno
		}
		c.ret = -int64(n)
		return ""
	}
	if callNamed(c.name) == callNone { // results of other calls may be words
		return ""
	}
	var ok bool
	if c.ret, ok = callResult(word); !ok {
		return callBadResult
	}
	return ""
}

func perfName(b []byte) bool {
	for _, ch := range b {
		if (ch|0x20)-'a' > 25 && ch-'0' > 9 && ch != '_' {
			return false
		}
	}
	return b[0]-'0' > 9
}

// perfMillis reads milliseconds with three places, in nanoseconds.
func perfMillis(s *blkText) (int64, bool) {
	ms, ok := s.number()
	if !ok || ms >= 1<<42 || !s.take('.') {
		return 0, false
	}
	from := s.i
	us, ok := s.number()
	if !ok || s.i-from != 3 {
		return 0, false
	}
	return int64(ms)*1e6 + int64(us)*1e3, true
}
