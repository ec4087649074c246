package formats

import "bytes"

// straceKind is what a call does, as far as it matters.
type straceKind uint8

const (
	straceNote straceKind = iota // nothing of files
	straceRead                   // (fd, buf, n) and the like, at the file's position
	straceWrite
	stracePread // offset in the fourth argument
	stracePwrite
	straceSync      // (fd)
	straceSyncRange // (fd, offset, bytes, flags)
	straceSyncAll   // ()
	straceSendfile  // (out, in, offset, bytes)
	straceCopyRange // (in, offset, out, offset, bytes, flags)
	straceSeek
	straceOpen   // (path, flags)
	straceOpenAt // (dir, path, flags)
	straceCreat
	straceClose
	straceDup
	straceFcntl
	straceMade // a descriptor that is no file
	stracePair // two of them
	straceClone
	straceExit
	straceFact  // evidence: the time of the call, at a path or a descriptor
	straceReads // evidence: directory entries
	straceFadvise
	straceMadvise
	straceMmap
	straceMsync
	straceReadahead
	straceFallocate
	straceHidden // I/O that strace does not show
)

// io says whether a call moves data or syncs it.
func (k straceKind) io() bool { return k >= straceRead && k <= straceCopyRange }

// straceKindOf is the kind of a call by its name.
func straceKindOf(name []byte) straceKind {
	switch string(name) {
	case "read", "readv":
		return straceRead
	case "write", "writev":
		return straceWrite
	case "pread64", "pread", "preadv", "preadv2":
		return stracePread
	case "pwrite64", "pwrite", "pwritev", "pwritev2":
		return stracePwrite
	case "fsync", "fdatasync", "syncfs":
		return straceSync
	case "sync_file_range", "sync_file_range2":
		return straceSyncRange
	case "sync":
		return straceSyncAll
	case "sendfile", "sendfile64":
		return straceSendfile
	case "copy_file_range":
		return straceCopyRange
	case "lseek", "_llseek":
		return straceSeek
	case "open":
		return straceOpen
	case "openat", "openat2":
		return straceOpenAt
	case "creat":
		return straceCreat
	case "close":
		return straceClose
	case "dup", "dup2", "dup3":
		return straceDup
	case "fcntl", "fcntl64":
		return straceFcntl
	case "socket", "accept", "accept4", "eventfd", "eventfd2", "epoll_create", "epoll_create1", "timerfd_create",
		"signalfd", "signalfd4", "inotify_init", "inotify_init1", "memfd_create", "pidfd_open", "userfaultfd",
		"perf_event_open", "io_uring_setup", "fanotify_init", "bpf":
		return straceMade
	case "pipe", "pipe2", "socketpair":
		return stracePair
	case "clone", "clone3", "fork", "vfork":
		return straceClone
	case "exit", "exit_group":
		return straceExit
	case "stat", "lstat", "fstat", "stat64", "lstat64", "fstat64", "newfstatat", "fstatat64", "statx",
		"mkdir", "mkdirat", "rmdir", "unlink", "unlinkat", "rename", "renameat", "renameat2", "link", "linkat",
		"symlink", "symlinkat", "truncate", "truncate64", "ftruncate", "ftruncate64":
		return straceFact
	case "getdents", "getdents64":
		return straceReads
	case "fadvise64", "fadvise64_64", "posix_fadvise", "arm_fadvise64_64":
		return straceFadvise
	case "madvise":
		return straceMadvise
	case "mmap", "mmap2":
		return straceMmap
	case "msync":
		return straceMsync
	case "readahead":
		return straceReadahead
	case "fallocate":
		return straceFallocate
	case "io_submit", "io_uring_enter":
		return straceHidden
	}
	return straceNote
}

// straceArgs are the arguments of a call; the seventh and later are dropped.
type straceArgs struct {
	arg [6][]byte
	n   int
}

// straceSplit reads arguments up to the closing bracket. Commas and brackets
// inside quoted text, lists and what -y writes behind a descriptor do not count.
// It gives the index behind the bracket, -1 if that is missing.
func straceSplit(b []byte, a *straceArgs) int {
	a.n = 0
	depth, begin := 0, 0
	keep := func(end int) {
		if a.n < len(a.arg) {
			from, to := begin, end
			for from < to && b[from] == ' ' {
				from++
			}
			for from < to && b[to-1] == ' ' {
				to--
			}
			a.arg[a.n] = b[from:to]
			a.n++
		}
	}
	for i := 0; i < len(b); i++ {
		if c := b[i]; c-'0' <= 9 || isLetter(c) {
			continue
		}
		switch b[i] {
		case '"':
			if i = straceQuote(b, i); i < 0 {
				return -1
			}
		case '<': // behind a descriptor; "<<" shifts
			if i > 0 && (b[i-1]-'0' <= 9 || b[i-1] == 'D') {
				if i = straceAngle(b, i); i < 0 {
					return -1
				}
			}
		case '(', '[', '{':
			depth++
		case ']', '}':
			depth--
		case '/':
			if i+1 < len(b) && b[i+1] == '*' { // a comment of strace
				end := bytes.Index(b[i:], []byte("*/"))
				if end < 0 {
					return -1
				}
				i += end + 1
			}
		case ',':
			if depth == 0 {
				keep(i)
				begin = i + 1
			}
		case ')':
			if depth == 0 {
				if i > begin || a.n > 0 {
					keep(i)
				}
				return i + 1
			}
			depth--
		}
	}
	return -1
}

// straceQuote is the index of the quote that ends the one at b[i], -1 if there
// is none.
func straceQuote(b []byte, i int) int {
	from := i + 1
	for {
		n := bytes.IndexByte(b[from:], '"')
		if n < 0 {
			return -1
		}
		end := from + n
		escapes := 0
		for end-escapes > i+1 && b[end-escapes-1] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return end
		}
		from = end + 1
	}
}

// straceAngle is the index of the bracket that ends the "<" at b[i]; what is
// between may hold others (</dev/null<char 1:3>>, <TCP:[a->b]>).
func straceAngle(b []byte, i int) int {
	depth := 0
	for ; i < len(b); i++ {
		switch b[i] {
		case '<':
			depth++
		case '>':
			if b[i-1] == '-' { // an arrow
				continue
			}
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// straceResult is what stands behind a call.
type straceResult struct {
	none  bool // "?"
	value int64
	err   []byte // errno's name
	path  []byte // of a descriptor (-y)
	dur   int64  // ns; -1: not told
}

// straceReturn reads " = VALUE[<path>] [ERRNO (text)|(text)] [<duration>]".
func straceReturn(b []byte) (r straceResult, ok bool) {
	r.dur = -1
	i := 0
	for i < len(b) && b[i] == ' ' {
		i++
	}
	if i+2 > len(b) || b[i] != '=' || b[i+1] != ' ' {
		return r, false
	}
	i += 2
	b = b[i:]
	if n := len(b); n > 2 && b[n-1] == '>' {
		if j := bytes.LastIndexByte(b, '<'); j > 0 && b[j-1] == ' ' {
			if s, end := scanDigits(b, j+1); end > j+1 && s >= 0 && s < maxStampMS/1000 {
				if ns, end, ok := straceFraction(b, end); ok && end == n-1 {
					r.dur = s*1e9 + ns
					b = bytes.TrimRight(b[:j], " ")
				}
			}
		}
	}
	if len(b) == 0 {
		return r, false
	}
	if b[0] == '?' {
		r.none = true
		return r, true
	}
	i = 0
	if b[0] == '-' {
		i = 1
	}
	end := i
	if i+2 < len(b) && b[i] == '0' && b[i+1] == 'x' {
		for end = i + 2; end < len(b) && end < i+18 && hexDigit(b[end]) >= 0; end++ {
			r.value = r.value<<4 | int64(hexDigit(b[end]))
		}
	} else if r.value, end = scanDigits(b, i); end == i || r.value < 0 {
		return r, false
	}
	if i == 1 {
		r.value = -r.value
	}
	if end < len(b) && b[end] == '<' {
		j := straceAngle(b, end)
		if j < 0 {
			return r, false
		}
		r.path = b[end+1 : j]
		end = j + 1
	}
	rest := bytes.TrimLeft(b[end:], " ")
	if r.value == -1 && len(rest) > 0 && rest[0] == 'E' {
		n := bytes.IndexByte(rest, ' ')
		if n < 0 {
			n = len(rest)
		}
		r.err = rest[:n]
		rest = bytes.TrimLeft(rest[n:], " ")
	}
	return r, len(rest) == 0 || rest[0] == '('
}

// straceNumber is an argument that is a plain number; false for others and for
// negative ones.
func straceNumber(b []byte) (int64, bool) {
	v, end := scanDigits(b, 0)
	return v, end > 0 && end == len(b) && v >= 0
}

// straceFD is a descriptor and what -y says of it.
func straceFD(b []byte) (fd int32, note []byte, ok bool) {
	v, end := scanDigits(b, 0)
	if end == 0 || v < 0 || v > 1<<30 {
		return 0, nil, false
	}
	if end < len(b) && b[end] == '<' {
		if j := straceAngle(b, end); j > 0 {
			note = b[end+1 : j]
		}
	}
	return int32(v), note, true
}

// straceString is a quoted argument without its quotes and escapes. It is a
// part of b unless there are escapes.
func straceString(b []byte) []byte {
	if len(b) == 0 || b[0] != '"' {
		return nil
	}
	end := straceQuote(b, 0)
	if end < 0 {
		return nil
	}
	return straceUnescape(b[1:end])
}

func straceUnescape(b []byte) []byte {
	if bytes.IndexByte(b, '\\') < 0 {
		return b
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' || i+1 == len(b) {
			out = append(out, b[i])
			continue
		}
		i++
		switch c := b[i]; c {
		case 'n':
			out = append(out, '\n')
		case 't':
			out = append(out, '\t')
		case 'r':
			out = append(out, '\r')
		case 'v':
			out = append(out, '\v')
		case 'f':
			out = append(out, '\f')
		case 'x':
			if i+2 < len(b) && hexDigit(b[i+1]) >= 0 && hexDigit(b[i+2]) >= 0 {
				out = append(out, byte(hexDigit(b[i+1])<<4|hexDigit(b[i+2])))
				i += 2
			}
		case '0', '1', '2', '3', '4', '5', '6', '7':
			v := 0
			n := 0
			for ; n < 3 && i+n < len(b) && b[i+n] >= '0' && b[i+n] <= '7'; n++ {
				v = v<<3 | int(b[i+n]-'0')
			}
			out = append(out, byte(v))
			i += n - 1
		default:
			out = append(out, c)
		}
	}
	return out
}
