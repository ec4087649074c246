package formats

import (
	"bytes"
	"slices"

	"github.com/iopathy/iopathy/ingest"
)

// straceFile is an open file: what dup, fork and threads share.
type straceFile struct {
	path   []byte // as written, for comparing; nil: not known
	name   []byte // without what is no part of the name
	device []byte // block device, if it is one
	kind   straceFileKind
	offset int64 // ingest.Missing: not known
	end    int64 // of the file, where it is known and the file is appended to
	app    bool  // appends: writes stand at the end, as long as nobody else writes
	sync   bool  // O_SYNC, O_DSYNC
}

type straceFileKind uint8

const (
	straceUnknown straceFileKind = iota
	straceStored
	straceOther // pipe, socket, terminal, /proc
)

// straceFiles is a table of descriptors; threads share one.
type straceFiles struct {
	open map[int32]*straceFile
}

func newStraceFiles() *straceFiles { return &straceFiles{open: make(map[int32]*straceFile)} }

// straceMostFiles bounds a table of descriptors.
const straceMostFiles = 1 << 16

func (t *straceFiles) set(fd int32, f *straceFile) {
	if len(t.open) < straceMostFiles || t.open[fd] != nil {
		t.open[fd] = f
	}
}

// copied is the table of a forked process: descriptors are its own, the open
// files are shared.
func (t *straceFiles) copied() *straceFiles {
	n := &straceFiles{open: make(map[int32]*straceFile, len(t.open))}
	for fd, f := range t.open {
		n.open[fd] = f
	}
	return n
}

// files is the table of a thread. One that was not seen before has that of the
// thread that is cloning just now.
func (d *strace) files(p *straceProc) *straceFiles {
	if p.files == nil {
		if c := d.cloner; c != nil && c != p && c.files != nil {
			d.inherit(p, c, c.call.text)
		} else {
			p.files = newStraceFiles()
		}
	}
	return p.files
}

// inherit gives a new thread its table by the flags of the call that made it.
func (d *strace) inherit(child, parent *straceProc, call []byte) {
	if child.files != nil {
		return
	}
	files := d.files(parent)
	if bytes.Contains(call, []byte("CLONE_FILES")) {
		child.files = files
	} else {
		child.files = files.copied()
	}
}

// file is the open file of a descriptor argument, nil if it is one of the
// standard streams that nothing was said of, or no descriptor.
func (d *strace) file(p *straceProc, arg []byte) *straceFile {
	fd, note, ok := straceFD(arg)
	if !ok {
		return nil
	}
	t := d.files(p)
	f := t.open[fd]
	if note != nil && (f == nil || !bytes.Equal(f.path, note)) {
		switch {
		case f != nil && f.path == nil && f.kind != straceOther: // the first that is said of it
			straceDescribe(f, note)
		case f != nil && f.path != nil && bytes.HasPrefix(note, f.path): // deleted since
			f.path = bytes.Clone(note)
		default:
			f = &straceFile{offset: ingest.Missing, end: ingest.Missing}
			straceDescribe(f, note)
			t.set(fd, f)
		}
	}
	if f == nil && fd > 2 {
		f = &straceFile{offset: ingest.Missing, end: ingest.Missing}
		t.set(fd, f)
	}
	return f
}

// straceDescribe takes what -y or -yy says of a descriptor, or a path.
func straceDescribe(f *straceFile, note []byte) {
	f.path = bytes.Clone(note)
	name := f.path
	special := ""
	if i := bytes.LastIndexByte(name, '<'); i > 0 {
		special = string(name[i+1:])
		name = name[:i]
	}
	name = bytes.TrimSuffix(bytes.TrimSuffix(name, []byte("(deleted)")), []byte(" "))
	f.name = straceUnescape(name)
	f.kind = straceStored
	switch {
	case len(special) > 6 && special[:6] == "block ":
		f.device = name[bytes.LastIndexByte(name, '/')+1:]
	case len(special) > 5 && special[:5] == "char ", straceNoFile(f.name):
		f.kind = straceOther
	}
}

// straceNoFile tells names that no storage is behind.
func straceNoFile(name []byte) bool {
	if len(name) == 0 || name[0] != '/' {
		return bytes.Contains(name, []byte(":[")) || bytes.HasPrefix(name, []byte("anon_inode:"))
	}
	for _, p := range []string{"/proc/", "/sys/", "/dev/pts/", "/dev/tty"} {
		if bytes.HasPrefix(name, []byte(p)) {
			return true
		}
	}
	switch string(name) {
	case "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/console", "/dev/ptmx", "/dev/kmsg":
		return true
	}
	return false
}

// opened notes a descriptor that an open gave.
func (d *strace) opened(p *straceProc, path, flags []byte, r *straceResult) *straceFile {
	f := &straceFile{}
	if r.path != nil {
		straceDescribe(f, r.path)
	} else {
		straceDescribe(f, path)
	}
	f.app = straceHas(flags, "O_APPEND")
	if f.end = ingest.Missing; straceHas(flags, "O_TRUNC") || straceHas(flags, "O_EXCL") {
		f.end = 0
	}
	f.sync = straceHas(flags, "O_SYNC") || straceHas(flags, "O_DSYNC")
	if r.path == nil { // what -y would have said is not known: compare with it once
		f.path = nil
	}
	if r.value <= 1<<30 {
		d.files(p).set(int32(r.value), f)
	}
	return f
}

// straceByPosition sorts threads by the line in which their open call began.
func straceByPosition(p []*straceProc) {
	slices.SortFunc(p, func(a, b *straceProc) int {
		switch {
		case a.begun != b.begun && a.begun:
			return -1
		case a.begun != b.begun:
			return 1
		case a.call.position < b.call.position:
			return -1
		case a.call.position > b.call.position:
			return 1
		}
		return 0
	})
}
