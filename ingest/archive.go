package ingest

import (
	"archive/tar"
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

const (
	// tarHead is what tells a tar archive: "ustar" stands at byte 257 of it.
	tarHead = 262

	// maxMembers bounds the members of one archive: each costs memory.
	maxMembers = 1 << 20

	// maxNested bounds how deep archives may lie within one another.
	maxNested = 3

	// unpackedBytes bounds the disk that unpacked archives take while nobody
	// reads them: beyond it the oldest is dropped and unpacked anew when needed.
	unpackedBytes = 1 << 30
)

func isTar(head []byte) bool { return len(head) >= tarHead && string(head[257:tarHead]) == "ustar" }

// anywhere is a file, or an object of a store, that can be read at any place.
type anywhere interface {
	io.ReaderAt
	io.Seeker
	io.Closer
}

// archive is a tar archive that can be read at any place: a plain one where it
// stands, a compressed one (or one from a pipe) unpacked into a temporary file
// that has no name and so outlives no crash.
type archive struct {
	open  func() (io.ReadCloser, error)
	o     Options
	cache *unpacked // nil: it is plain and can be read anywhere, and needs no copy
	once  bool      // open works but once: the copy is never dropped

	mu    sync.Mutex
	file  anywhere
	size  int64
	torn  string // the damage at which the decompressed archive ends
	users int
}

// unpacked is the archives that stand unpacked, oldest first.
type unpacked struct {
	mu   sync.Mutex
	held []unpackedFile
	most int64 // bytes; 0: unpackedBytes
}

type unpackedFile struct {
	of   *archive
	size int64
}

// use gives the file of the archive until done is called.
func (a *archive) use() (file anywhere, done func(), err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.file == nil {
		if err := a.ready(); err != nil {
			return nil, nil, err
		}
	}
	a.users++
	return a.file, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.users--; a.users == 0 && a.cache == nil {
			a.drop()
		}
	}, nil
}

func (a *archive) drop() {
	a.file.Close()
	a.file = nil
}

// ready opens or unpacks the archive.
func (a *archive) ready() error {
	r, err := a.open()
	if err != nil {
		return err
	}
	if f, ok := r.(anywhere); ok && a.cache == nil {
		if a.size, err = f.Seek(0, io.SeekEnd); err != nil {
			r.Close()
			return err
		}
		a.file = f
		return nil
	}
	defer r.Close()
	flow, err := newInflow(r, a.o)
	if err != nil {
		return err
	}
	defer flow.close()
	f, err := os.CreateTemp("", "iopathy-unpacked-")
	if err != nil {
		return err
	}
	os.Remove(f.Name())
	n, err := io.Copy(f, flow)
	if err != nil {
		f.Close()
		return fmt.Errorf("unpacking: %w", err)
	}
	a.file, a.size, a.torn = f, n, flow.torn
	if !a.once {
		a.cache.hold(a, n)
	}
	return nil
}

// hold adds an archive and drops the oldest beyond the bound that nobody reads.
func (u *unpacked) hold(a *archive, size int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.held = slices.DeleteFunc(u.held, func(f unpackedFile) bool { return f.of == a })
	sum := size
	for _, f := range u.held {
		sum += f.size
	}
	most := cmp.Or(u.most, unpackedBytes)
	u.held = slices.DeleteFunc(u.held, func(f unpackedFile) bool {
		if sum <= most || !f.of.mu.TryLock() {
			return false
		}
		defer f.of.mu.Unlock()
		if f.of.users > 0 {
			return false
		}
		if f.of.file != nil {
			f.of.drop()
		}
		sum -= f.size
		return true
	})
	u.held = append(u.held, unpackedFile{a, size})
}

// section is one member of an archive, while it is read.
type section struct {
	io.Reader
	done func()
}

func (s *section) Close() error {
	if s.done != nil {
		s.done()
		s.done = nil
	}
	return nil
}

// member opens n bytes at an offset.
func (a *archive) member(at, n int64) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) {
		f, done, err := a.use()
		if err != nil {
			return nil, err
		}
		return &section{io.NewSectionReader(f, at, n), done}, nil
	}
}

// archiveOf says whether an input is a tar archive, by its content, and whether it can
// be read where it stands.
func archiveOf(in Input, o Options) (plain, ok bool, err error) {
	r, err := in.Open()
	if err != nil {
		return false, false, nil // reading it will say so
	}
	defer r.Close()
	head := make([]byte, tarHead)
	n, err := io.ReadFull(r, head)
	if err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
		return false, false, nil
	}
	head = head[:n]
	if compressionOf(head) == Plain {
		_, ok := r.(anywhere)
		return ok, isTar(head), nil
	}
	if err := r.Close(); err != nil {
		return false, false, err
	}
	if r, err = in.Open(); err != nil {
		return false, false, nil
	}
	defer r.Close()
	return false, packedTar(r, o), nil
}

func packedTar(r io.Reader, o Options) bool {
	flow, err := newInflow(r, o)
	if err != nil {
		return false
	}
	defer flow.close()
	head := make([]byte, tarHead)
	n, _ := flow.fill(head, o.ReadBytes)
	return isTar(head[:n])
}

// expand takes an input that is a tar archive as a directory of its members.
// It says false of one that is none, or of which no member can be read.
func (f *finder) expand(in Input) (bool, error) {
	plain, ok, err := archiveOf(in, f.o)
	if err != nil || !ok {
		return false, err
	}
	a := &archive{open: in.Open, o: f.o}
	if !plain {
		a.cache = &f.unpacked
	}
	return f.members(a, in.Path, 0)
}

// nested takes a member that is an archive itself as its members, depth deep in
// others.
func (f *finder) nested(in Input, depth int) bool {
	if _, ok, err := archiveOf(in, f.o); err != nil || !ok {
		return false
	}
	if depth > maxNested {
		f.skips = append(f.skips, Skip{Path: in.Path, Reason: "an archive within too many others: unpack it first", Lost: true})
		return true
	}
	ok, err := f.members(&archive{open: in.Open, o: f.o, cache: &f.unpacked}, in.Path, depth)
	return ok && err == nil
}

// expandPipe is expand for the standard input, which can be read but once: if
// it is no archive, what was read to tell stands before the rest.
func (f *finder) expandPipe(in *Input, stdin io.Reader) (bool, error) {
	b := bufio.NewReaderSize(stdin, 64<<10)
	in.Open = once(b)
	head, _ := b.Peek(tarHead)
	ok := isTar(head)
	if compressionOf(head) != Plain {
		head, _ = b.Peek(64 << 10)
		ok = packedTar(strings.NewReader(string(head)), f.o)
	}
	if !ok {
		return false, nil
	}
	return f.members(&archive{open: in.Open, o: f.o, cache: &f.unpacked, once: true}, in.Path, 0)
}

// members adds the members of an archive as inputs, and those of the archives among
// them.
func (f *finder) members(a *archive, path string, depth int) (bool, error) {
	file, done, err := a.use()
	if err != nil {
		var bomb errBomb
		if errors.As(err, &bomb) && !a.once {
			return false, nil // reading it says so
		}
		return false, fmt.Errorf("ingest: source %s: %w", path, err)
	}
	defer done()
	seen := &failures{ReaderAt: file}
	at := io.NewSectionReader(seen, 0, a.size)
	list := tar.NewReader(at)
	var found []Input
	index := make(map[string]int)
	for {
		h, err := list.Next()
		if err == io.EOF {
			if a.torn == "" {
				break
			}
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			if seen.err != nil {
				return false, fmt.Errorf("ingest: reading %s: %w", path, seen.err)
			}
			if len(found) == 0 && !a.once {
				return false, nil
			}
			f.skips = append(f.skips, Skip{Path: path, Reason: "the rest of the archive, which is damaged: " + tornTar(a, err), Lost: true})
			break
		}
		if len(found) == maxMembers {
			f.skips = append(f.skips, Skip{Path: path, Reason: fmt.Sprintf("what is behind %d members of the archive", maxMembers), Lost: true})
			break
		}
		start, err := at.Seek(0, io.SeekCurrent)
		if err != nil {
			return false, err
		}
		name := filepath.Join(path, filepath.FromSlash(filepath.Clean("/"+h.Name)))
		switch reason := leftOutMember(name, path, h); {
		case h.Typeflag == tar.TypeDir, h.Typeflag == tar.TypeXGlobalHeader:
			continue
		case reason != "":
			f.skips = append(f.skips, Skip{Path: name, Reason: reason, Lost: reason == sparseReason})
			continue
		}
		in := Input{Path: name, Host: hostOf(name), Size: h.Size, ChangedNS: h.ModTime.UnixNano(), Open: a.member(start, h.Size)}
		if in.Host == "" {
			in.Host = f.o.Host
		}
		if start+h.Size > a.size {
			in.torn = tornTar(a, io.ErrUnexpectedEOF)
		}
		if i, twice := index[name]; twice { // what was appended later counts
			found[i] = in
			continue
		}
		index[name] = len(found)
		found = append(found, in)
	}
	for _, in := range found {
		if in.torn != "" || !f.nested(in, depth+1) {
			f.inputs = append(f.inputs, in)
		}
	}
	return true, nil
}

// failures keeps the last error of a store: it is no damage of what the store holds. What
// befalls a file of this machine is.
type failures struct {
	io.ReaderAt
	err error
}

func (f *failures) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.ReaderAt.ReadAt(p, off)
	var here *fs.PathError
	if err != nil && err != io.EOF && !errors.As(err, &here) {
		f.err = err
	}
	return n, err
}

func tornTar(a *archive, err error) string {
	switch {
	case a.torn != "":
		return a.torn
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "truncated-tar"
	}
	return "corrupt-tar"
}

// sparseReason is that of a member whose holes are not in the archive.
const sparseReason = "a sparse file within an archive: unpack it first"

// leftOutMember says why a member of an archive is no input.
func leftOutMember(name, archive string, h *tar.Header) string {
	for _, part := range strings.Split(strings.TrimPrefix(name, archive), string(filepath.Separator)) {
		if strings.HasPrefix(part, ".") {
			return "hidden"
		}
	}
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeCont:
	case tar.TypeLink, tar.TypeSymlink:
		return "a link within an archive"
	case tar.TypeGNUSparse:
		return sparseReason
	default:
		return "not a regular file"
	}
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return sparseReason
		}
	}
	return leftOut(name)
}
