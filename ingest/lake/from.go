package lake

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Bytes are those of a file that is open. An *os.File has them.
type Bytes interface {
	io.ReaderAt
	io.Closer
	Stat() (os.FileInfo, error)
}

// An Opener opens a lake's files by their paths, such as those of which not all
// bytes are in the directory that they seem to lie in. nil is the file system.
type Opener func(path string) (Bytes, error)

// Open opens a file for the columns of want, in that order; nil wants all.
// Columns that the file lacks are left out.
func (o Opener) Open(path string, want []string) (*Reader, error) { return o.open(path, want, nil) }

// open is Open of a file whose footer may be known.
func (o Opener) open(path string, want []string, known *footer) (*Reader, error) {
	f, err := o.bytes(FileOf(filepath.ToSlash(path)))
	if err != nil {
		return nil, fmt.Errorf("lake: %w", err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	var r *Reader
	if err == nil {
		if known != nil && (known.size != info.Size() || !known.changed.Equal(info.ModTime())) {
			known = nil
		}
		r, err = newReader(path, sourceOf(f, info.Size()), info.Size(), want, known)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lake: open %s: %w", path, err)
	}
	r.changed = info.ModTime()
	return r, nil
}

func (o Opener) bytes(path string) (Bytes, error) {
	if o == nil {
		return os.Open(path)
	}
	return o(path)
}

// sought is a file with a place at which it is read, as a source has one.
type sought struct {
	*io.SectionReader
	io.Closer
}

func sourceOf(f Bytes, size int64) source {
	if s, ok := f.(source); ok {
		return s
	}
	return sought{io.NewSectionReader(f, 0, size), f}
}
