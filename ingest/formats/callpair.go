package formats

import (
	"bytes"
	"math"

	"github.com/iopathy/iopathy/ingest"
)

// Reasons for calls without an event.
const (
	callNoExit    = "call-without-exit"
	callNoEnter   = "exit-without-call"
	callLost      = "call-across-lost-events"
	callTooMany   = "too-many-open-calls"
	callBackwards = "exit-before-call"
	callBadResult = "bad-result"
	callBadArgs   = "bad-arguments"
)

// callOpenLimit bounds the tasks in a call that are remembered of one input.
const callOpenLimit = 1 << 16

// callName is a system call that moves data or waits for it to be written.
type callName uint8

const (
	callNone callName = iota
	callRead
	callReadv
	callPread
	callPreadv
	callPreadv2
	callWrite
	callWritev
	callPwrite
	callPwritev
	callPwritev2
	callFsync
	callFdatasync
	callSyncRange
	callSyncfs
	callSync
	callMsync
)

func callNamed(name []byte) callName {
	switch string(name) {
	case "read":
		return callRead
	case "readv":
		return callReadv
	case "pread64", "pread":
		return callPread
	case "preadv":
		return callPreadv
	case "preadv2":
		return callPreadv2
	case "write":
		return callWrite
	case "writev":
		return callWritev
	case "pwrite64", "pwrite":
		return callPwrite
	case "pwritev":
		return callPwritev
	case "pwritev2":
		return callPwritev2
	case "fsync":
		return callFsync
	case "fdatasync":
		return callFdatasync
	case "sync_file_range", "sync_file_range2":
		return callSyncRange
	case "syncfs":
		return callSyncfs
	case "sync":
		return callSync
	case "msync":
		return callMsync
	}
	return callNone
}

func (n callName) op() ingest.Op {
	switch {
	case n == callNone:
		return ingest.OpOther
	case n <= callPreadv2:
		return ingest.OpRead
	case n <= callPwritev2:
		return ingest.OpWrite
	}
	return ingest.OpFlush
}

// positional says whether a call carries its offset.
func (n callName) positional() bool {
	switch n {
	case callPread, callPreadv, callPreadv2, callPwrite, callPwritev, callPwritev2, callSyncRange:
		return true
	}
	return false
}

// openCall is a call whose end is to come.
type openCall struct {
	startNS int64
	offset  int64
	path    string // of its file, if the tool tells
	name    callName
	aside   bool // of no file: its lines are notes
}

// calls pairs the begins and ends of system calls, by task, into events of
// KindSyscall. The size is what the call returned, never what was asked; a
// call that failed has size 0 and its errno. The offset is known of the calls
// that carry it. Which device a call went to can't be seen: its device is
// "syscall:COMM", one for all tasks of a name ("syscall" where none is told). Outside are calls on the
// standard descriptors 0 to 2, unless positional, and on what is told to be a
// pipe, a socket, a terminal or a file of /proc or /sys.
type calls struct {
	host    string
	open    map[int32]openCall
	noZeros bool // the tool leaves out arguments that are 0
}

func newCalls(host string) calls { return calls{host: host, open: make(map[int32]openCall)} }

// enter takes the begin of a call; args is "fd: 3, buf: 0x1, count: 10, ...".
func (c *calls) enter(h *tpHead, now int64, name, args []byte, out *ingest.Out) {
	n := callNamed(name)
	if n == callNone {
		out.Note()
		return
	}
	if o, ok := c.open[h.tid]; ok {
		if !o.aside {
			out.Count(ingest.FateUnpaired, callNoExit, 1)
		}
	} else if len(c.open) >= callOpenLimit {
		out.Count(ingest.FateUnpaired, callTooMany, 1)
		return
	}
	o := c.opened(n, now, args)
	if o.aside {
		out.Note()
	}
	c.open[h.tid] = o
}

// opened is a call that begins now.
func (c *calls) opened(n callName, now int64, args []byte) openCall {
	o := openCall{startNS: now, name: n, offset: callOffset(n, args)}
	if c.noZeros && o.offset < 0 && n.positional() && !bytes.Contains(args, []byte("pos")) {
		o.offset = 0
	}
	path, named := callPath(args)
	switch {
	case named:
		if o.aside = callOutside(path); !o.aside {
			o.path = string(path)
		}
	case n.op() != ingest.OpFlush && o.offset < 0:
		if i := bytes.Index(args, []byte("fd: ")); i >= 0 {
			s := blkText{b: args, i: i + 4}
			fd, ok := callNumber(&s)
			o.aside = ok && fd <= 2
		} else {
			o.aside = c.noZeros
		}
	}
	return o
}

// exit takes the end of a call; args is what it returned.
func (c *calls) exit(h *tpHead, now int64, name, args, line []byte, out *ingest.Out) {
	n := callNamed(name)
	if n == callNone {
		out.Note()
		return
	}
	ret, valid := callResult(args)
	o, ok := c.open[h.tid]
	if ok {
		delete(c.open, h.tid)
		if o.name != n {
			if !o.aside {
				out.Count(ingest.FateUnpaired, callNoExit, 1)
			}
			ok = false
		}
	}
	switch {
	case ok && o.aside:
		out.Note()
	case !valid:
		out.Reject(line, callBadResult)
		if ok {
			out.Count(ingest.FateUnpaired, callNoExit, 1)
		}
	case !ok:
		out.Count(ingest.FateUnpaired, callNoEnter, 1)
	case now < o.startNS:
		out.Reject(line, callBackwards)
		out.Count(ingest.FateRejected, callBackwards, 1)
	default:
		out.Count(ingest.FateEvent, "", 1)
		c.event(h, o, now, ret, out)
	}
}

// event adds the event of a call that has returned, and counts one line.
func (c *calls) event(h *tpHead, o openCall, now, ret int64, out *ingest.Out) {
	e := ingest.NewEvent()
	e.TimeNS, e.LatencyNS, e.Kind = now, now-o.startNS, ingest.KindSyscall
	e.Op, e.OffsetBytes, e.PID = o.name.op(), o.offset, h.tid
	e.SizeBytes = 0
	if ret < 0 {
		e.Error = callErrno(ret)
	} else if e.Op != ingest.OpFlush {
		e.SizeBytes = ret
	}
	if e.OffsetBytes > math.MaxInt64/2 {
		e.OffsetBytes = ingest.Missing
	}
	e.Host = out.Names.InternString(c.host)
	var text [64]byte
	device := append(text[:0], "syscall"...)
	if len(h.comm) > 0 {
		device = append(append(device, ':'), h.comm...)
	}
	e.Device = out.Names.Intern(device)
	e.Comm = out.Names.Intern(h.comm)
	e.File = out.Names.InternString(o.path)
	out.Event(e)
}

// lose gives up all open calls: events were lost, an end may be among them.
func (c *calls) lose(out *ingest.Out) { c.giveUp(callLost, out) }

func (c *calls) end(out *ingest.Out) { c.giveUp(callNoExit, out) }

func (c *calls) giveUp(reason string, out *ingest.Out) {
	for _, o := range c.open {
		if !o.aside {
			out.Count(ingest.FateUnpaired, reason, 1)
		}
	}
	clear(c.open)
}

// callErrno is the errno of a negative result. Those above 511 never reach a
// program: they say that a signal interrupted the call.
func callErrno(ret int64) int32 {
	if ret <= -512 {
		return 4 // EINTR
	}
	return int32(-ret)
}

// callResult reads what a call returned: a decimal or, as most tracers print
// it, hexadecimal number in two's complement of 64 or 32 bits. No call moves
// more than 0x7ffff000 bytes. Nothing follows it, but where a newline was lost.
func callResult(b []byte) (int64, bool) {
	s := blkText{b: b}
	s.blanks()
	minus := s.take('-')
	v, ok := callNumber(&s)
	s.blanks()
	switch ret := int64(v); {
	case !ok || s.i < len(b):
		return 0, false
	case minus && ret >= 0:
		return max(-ret, -4095), true
	case ret < -4095:
		return 0, false
	case ret < 0:
		return ret, true
	case v > math.MaxUint32:
		return 0, false
	case v > math.MaxUint32-4095:
		return ret - 1<<32, true
	default:
		return ret, true
	}
}

// callOffset is the byte at which a call starts, or Missing if it takes the
// file's own position.
func callOffset(n callName, args []byte) int64 {
	name := "pos"
	switch n {
	case callPread, callPwrite:
	case callPreadv, callPreadv2, callPwritev, callPwritev2:
		name = "pos_l"
	case callSyncRange:
		name = "offset"
	default:
		return ingest.Missing
	}
	low, ok := callArg(args, name)
	if !ok {
		return ingest.Missing
	}
	if name == "pos_l" && low <= math.MaxUint32 { // 32-bit programs pass two halves
		if high, ok := callArg(args, "pos_h"); ok && high < 1<<31 {
			low |= high << 32
		}
	}
	if low > math.MaxInt64 {
		return ingest.Missing
	}
	return int64(low)
}

// callArg finds an argument by its name, from the end: a buffer shown as text
// comes before the numbers and may hold anything. Verbose tracers put a type
// before the name.
func callArg(args []byte, name string) (uint64, bool) {
	for end := len(args); end > 0; {
		from := bytes.LastIndexByte(args[:end], ',') + 1
		field := args[from:end]
		end = from - 1
		k := bytes.IndexByte(field, ':')
		if i := k - len(name); i < 0 || string(field[i:k]) != name || i > 0 && field[i-1] != ' ' {
			continue
		}
		s := blkText{b: field, i: k + 1}
		s.blanks()
		minus := s.take('-')
		v, ok := callNumber(&s)
		if minus {
			v = -v
		}
		return v, ok
	}
	return 0, false
}

// callPath is what stands behind a descriptor, "fd: 3</var/log/x>, ...": perf
// trace knows of files opened while it looked on.
func callPath(args []byte) (path []byte, named bool) {
	rest, ok := bytes.CutPrefix(args, []byte("fd: "))
	if !ok {
		return nil, false
	}
	i := 0
	for i < len(rest) && rest[i]-'0' <= 9 {
		i++
	}
	if i == 0 || i == len(rest) || rest[i] != '<' {
		return nil, false
	}
	rest = rest[i+1:]
	if i = bytes.Index(rest, []byte(">,")); i < 0 {
		i = bytes.LastIndexByte(rest, '>')
	}
	if i <= 0 || i > 4096 {
		return nil, false
	}
	return rest[:i], true
}

// callOutside says whether what a descriptor names is no file of a device.
func callOutside(path []byte) bool {
	if path[0] != '/' { // pipe:[123], socket:[123], anon_inode:[eventfd]
		return true
	}
	for _, p := range []string{"/proc/", "/sys/", "/dev/pts/", "/dev/tty", "/dev/ptmx", "/dev/null", "/dev/zero"} {
		if len(path) >= len(p) && string(path[:len(p)]) == p {
			return true
		}
	}
	return false
}

// callNumber reads a number, hexadecimal behind 0x.
func callNumber(s *blkText) (uint64, bool) {
	if s.peek() != '0' || s.i+1 >= len(s.b) || s.b[s.i+1] != 'x' {
		return s.number()
	}
	s.i += 2
	from := s.i
	var v uint64
	for ; s.i < len(s.b); s.i++ {
		c := s.b[s.i]
		switch {
		case c-'0' <= 9:
			c -= '0'
		case (c|0x20)-'a' <= 5:
			c = c | 0x20 - 'a' + 10
		default:
			return v, s.i > from && s.i-from <= 16
		}
		v = v<<4 | uint64(c)
	}
	return v, s.i > from && s.i-from <= 16
}
