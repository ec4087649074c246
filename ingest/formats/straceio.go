package formats

import (
	"bytes"
	"math"
	"slices"
	"strings"

	"github.com/iopathy/iopathy/ingest"
)

// finish gives the n lines of a call that has ended their fate. args is the
// text behind the opening bracket; end is the time of its last line.
func (d *strace) finish(c *straceCall, args []byte, n int64, end int64, line []byte, out *ingest.Out) {
	var e straceEnd
	e.read(c.kind, args)
	d.settled(c, args, &e, n, end, line, out)
}

// settled is finish of a call whose end was read.
func (d *strace) settled(c *straceCall, args []byte, e *straceEnd, n int64, end int64, line []byte, out *ingest.Out) {
	if c.kind == straceNote || c.kind == straceExit {
		out.Count(ingest.FateNote, "", n)
		return
	}
	a, r := &e.split, &e.result
	if e.torn {
		out.Count(ingest.FateUnpaired, straceTorn, n-1)
		out.Reject(line, straceTorn)
		return
	}
	if r.none {
		if c.kind.io() {
			out.Count(ingest.FateUnpaired, "no-result", 1)
			n--
		}
		out.Count(ingest.FateNote, "", n)
		return
	}
	if r.dur < 0 && n > 1 && end >= c.start {
		r.dur = end - c.start
	}
	if r.dur > maxLatencyNS || r.value > math.MaxInt64/2 {
		out.Count(ingest.FateUnpaired, "impossible", n-1)
		out.Reject(line, "impossible")
		return
	}
	if c.kind.io() {
		d.io(c, a, r, n, line, out)
		return
	}
	if d.track(c, a, r, args) || d.fact(c, a, r, out) {
		out.Count(ingest.FateEvent, "", n)
		return
	}
	out.Count(ingest.FateNote, "", n)
}

// straceMostBytes is the most that one call moves: the kernel's MAX_RW_COUNT is
// below 2 GiB.
const straceMostBytes = 1 << 31

// io settles a call that moves data or syncs it.
func (d *strace) io(c *straceCall, a *straceArgs, r *straceResult, n int64, line []byte, out *ingest.Out) {
	e := ingest.NewEvent()
	e.Op = straceOp(c.kind)
	fd := a.arg[0]
	at := -1 // the argument that holds the offset
	switch c.kind {
	case stracePread, stracePwrite:
		at = 3
	case straceSyncRange:
		at = 1
	case straceSendfile:
		fd = a.arg[1]
	case straceCopyRange:
		fd = a.arg[2]
	}
	var f *straceFile
	if c.kind != straceSyncAll {
		f = d.file(c.proc, fd)
		if f == nil || f.kind == straceOther {
			out.Count(ingest.FateNote, "", n)
			return
		}
		if f.kind == straceUnknown {
			switch c.kind {
			case straceRead, straceWrite, straceSendfile:
				out.Count(ingest.FateUnpaired, "unknown-fd", n)
				return
			}
			f.kind = straceStored
		}
	}
	if c.kind != straceSync && c.kind != straceSyncAll {
		e.SizeBytes = max(r.value, 0)
	} else {
		e.SizeBytes = 0
	}
	if c.kind == straceSyncRange {
		e.SizeBytes = 0
	}
	moves := at < 0 && (c.kind == straceRead || c.kind == straceWrite)
	if at > 0 && a.n > at {
		if v, ok := straceNumber(a.arg[at]); ok {
			e.OffsetBytes = v
		} else if string(a.arg[at]) == "-1" {
			moves = true
		}
	}
	if moves {
		if f.app && e.Op == ingest.OpWrite {
			f.offset = f.end
		}
		if e.OffsetBytes = f.offset; f.offset >= 0 {
			f.offset += e.SizeBytes
		}
		if f.app && e.Op == ingest.OpWrite {
			f.end = f.offset
		}
	}
	if e.SizeBytes >= straceMostBytes || e.OffsetBytes > math.MaxInt64/2 {
		if f != nil {
			f.offset = ingest.Missing
		}
		out.Count(ingest.FateUnpaired, "impossible", n-1)
		out.Reject(line, "impossible")
		return
	}
	if r.value < 0 {
		if e.Error = straceErrno(r.err); e.Error == 0 {
			out.Count(ingest.FateUnpaired, "unknown-errno", n-1)
			out.Reject(line, "unknown-errno")
			return
		}
	}
	e.TimeNS, e.LatencyNS = c.start, r.dur
	if r.dur > 0 {
		e.TimeNS += r.dur
	}
	if f != nil && f.sync && e.Op == ingest.OpWrite || c.kind == stracePwrite && a.n > 4 && bytes.Contains(a.arg[4], []byte("SYNC")) {
		e.Flags = ingest.FlagSync
	}
	e.Kind = ingest.KindSyscall
	if r.dur < 0 {
		e.Kind = ingest.KindNone
	}
	e.PID = c.proc.pid
	e.Host = out.Names.Intern(d.host)
	e.Device = out.Names.Intern(straceDevice(f))
	if f != nil {
		e.File = out.Names.Intern(f.name)
	}
	out.Event(e)
	out.Count(ingest.FateEvent, "", n-1)
}

func straceOp(k straceKind) ingest.Op {
	switch k {
	case straceRead, stracePread, straceSendfile:
		return ingest.OpRead
	case straceWrite, stracePwrite, straceCopyRange:
		return ingest.OpWrite
	}
	return ingest.OpFlush
}

var straceAll = []byte("strace")

// straceDevice is the device of a file: the block device that it is, or the one
// that all others share, since which one they lie on is not told.
func straceDevice(f *straceFile) []byte {
	if f != nil && len(f.device) > 0 {
		return f.device
	}
	return straceAll
}

// open leaves an I/O that did not end: it keeps the device busy.
func (d *strace) open(c *straceCall, out *ingest.Out) {
	var a straceArgs
	text := append(c.text, ')') // what there is of the arguments
	if straceSplit(text, &a) < 0 || a.n == 0 {
		return
	}
	f := d.file(c.proc, a.arg[0])
	if f == nil || f.kind != straceStored {
		return
	}
	size := 0.0
	switch c.kind {
	case straceRead, straceWrite, stracePread, stracePwrite:
		if v, ok := straceNumber(a.arg[2]); ok && a.n > 2 {
			size = float64(v)
		}
	}
	out.Fact(ingest.Evidence{TimeNS: c.start, Host: out.Names.Intern(d.host), Device: out.Names.Intern(straceDevice(f)),
		Name: out.Names.InternString("open_io"), Text: out.Names.Intern(f.name), Value: size})
}

// track follows descriptors and offsets; true says that the call is a fact too.
func (d *strace) track(c *straceCall, a *straceArgs, r *straceResult, args []byte) bool {
	if c.kind == straceClone {
		if d.cloner == c.proc {
			d.cloner = nil
		}
		if r.value > 0 && r.value <= 1<<30 && !slices.Contains(d.gone[:], int32(r.value)) {
			d.inherit(d.proc(int32(r.value)), c.proc, args)
		}
		return false
	}
	if r.value < 0 {
		return false
	}
	t := d.files(c.proc)
	switch c.kind {
	case straceSeek:
		if f := d.file(c.proc, a.arg[0]); f != nil && f.kind != straceOther {
			f.offset, f.kind = r.value, straceStored
			if string(a.arg[1]) == "0" && string(a.arg[2]) == "SEEK_END" {
				f.end = r.value
			}
			if a.n == 5 { // _llseek(fd, high, low, [result], whence)
				f.offset = ingest.Missing
				if v, ok := straceNumber(bytes.Trim(a.arg[3], "[]")); ok {
					f.offset = v
				}
			}
		}
	case straceClose:
		if fd, _, ok := straceFD(a.arg[0]); ok {
			delete(t.open, fd)
		}
	case straceDup, straceFcntl:
		if c.kind == straceFcntl && !bytes.HasPrefix(a.arg[1], []byte("F_DUPFD")) {
			return false
		}
		if f := d.file(c.proc, a.arg[0]); f != nil && r.value <= 1<<30 {
			t.set(int32(r.value), f)
		}
	case straceMade:
		if r.value <= 1<<30 {
			t.set(int32(r.value), &straceFile{kind: straceOther, offset: ingest.Missing})
		}
	case stracePair:
		for _, list := range a.arg[:a.n] {
			if len(list) == 0 || list[0] != '[' {
				continue
			}
			for _, fd := range bytes.Split(bytes.Trim(list, "[]"), []byte(", ")) {
				if v, _, ok := straceFD(fd); ok {
					t.set(v, &straceFile{kind: straceOther, offset: ingest.Missing})
				}
			}
		}
	}
	return false
}

// fact adds the evidence that a call is; false if it is none.
func (d *strace) fact(c *straceCall, a *straceArgs, r *straceResult, out *ingest.Out) bool {
	took := float64(max(r.dur, 0))
	number := func(i int) float64 {
		v, _ := straceNumber(a.arg[i])
		return float64(v)
	}
	add := func(name string, text []byte, value float64) bool {
		if len(text) > straceTextBytes {
			text = text[:straceTextBytes]
		}
		out.Fact(ingest.Evidence{TimeNS: c.start, Host: out.Names.Intern(d.host), Device: out.Names.Intern(straceAll),
			Name: out.Names.InternString(name), Text: out.Names.Intern(text), Value: value})
		return true
	}
	onFile := func(name string, value float64) bool {
		f := d.file(c.proc, a.arg[0])
		if f == nil || f.kind == straceOther {
			return false
		}
		return add(name, f.name, value)
	}
	switch c.kind {
	case straceOpen, straceOpenAt, straceCreat:
		path, flags := a.arg[0], a.arg[1]
		if c.kind == straceOpenAt {
			path, flags = a.arg[1], a.arg[2]
		}
		if c.kind == straceCreat {
			flags = nil
		}
		name := straceString(path)
		if r.value < 0 {
			return add("open_failed", name, float64(straceErrno(r.err)))
		}
		f := d.opened(c.proc, name, flags, r)
		if f.kind == straceOther {
			return false
		}
		add("open", f.name, took)
		for _, o := range straceOpenFlags {
			if straceHas(flags, o.flag) {
				add(o.name, f.name, 1)
			}
		}
		return true
	case straceFact:
		if name, ok := d.named(c.proc, a); ok {
			if r.value < 0 {
				return add(c.word+"_failed", name, float64(straceErrno(r.err)))
			}
			return add(c.word, name, took)
		}
	case straceReads:
		return onFile("readdir", took)
	case straceFadvise:
		for i, v := range a.arg[:a.n] {
			if v, ok := bytes.CutPrefix(v, []byte("POSIX_FADV_")); ok {
				bytesAt := 2
				if i == 1 { // arm's order: descriptor, advice, offset, bytes
					bytesAt = 3
				}
				return onFile("fadvise_"+strings.ToLower(string(v)), number(bytesAt))
			}
		}
	case straceMadvise:
		if v, ok := bytes.CutPrefix(a.arg[2], []byte("MADV_")); ok {
			return add("madvise_"+strings.ToLower(string(v)), nil, number(1))
		}
	case straceMmap:
		if f := d.file(c.proc, a.arg[4]); f != nil && f.kind != straceOther && r.value > 0 {
			return add("mmap_file", f.name, number(1))
		}
	case straceMsync:
		return add("msync", a.arg[2], number(1))
	case straceReadahead:
		return onFile("readahead", number(2))
	case straceFallocate:
		return onFile("fallocate", number(3))
	case straceHidden:
		return add("hidden_io", nil, float64(max(r.value, 0)))
	}
	return false
}

var straceOpenFlags = []struct{ flag, name string }{
	{"O_DIRECT", "open_direct"}, {"O_SYNC", "open_sync"}, {"O_DSYNC", "open_sync"}, {"O_NOATIME", "open_noatime"},
}

// straceHas says whether flags, joined by bars, hold one: O_DIRECT is a part of
// O_DIRECTORY.
func straceHas(flags []byte, flag string) bool {
	for {
		i := bytes.Index(flags, []byte(flag))
		if i < 0 {
			return false
		}
		flags = flags[i+len(flag):]
		if len(flags) == 0 || !isLetter(flags[0]) && flags[0] != '_' {
			return true
		}
	}
}

// named is the path that a call on names is about: the first that is given, that
// of the descriptor if there is none; false for what is no storage.
func (d *strace) named(p *straceProc, a *straceArgs) ([]byte, bool) {
	for i := range a.n {
		if name := straceString(a.arg[i]); len(name) > 0 {
			return name, !straceNoFile(name)
		}
	}
	if f := d.file(p, a.arg[0]); f != nil && f.kind != straceOther {
		return f.name, true
	}
	return nil, false
}

// straceWord is the name of the evidence that a call on names is.
func straceWord(name []byte) string {
	switch string(name) {
	case "mkdir", "mkdirat":
		return "mkdir"
	case "rmdir":
		return "rmdir"
	case "unlink", "unlinkat":
		return "unlink"
	case "rename", "renameat", "renameat2":
		return "rename"
	case "link", "linkat", "symlink", "symlinkat":
		return "link"
	case "truncate", "truncate64", "ftruncate", "ftruncate64":
		return "truncate"
	}
	return "stat"
}
