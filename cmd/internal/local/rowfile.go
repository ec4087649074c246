package local

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// rowFile is rows of bytes in a file without a name, so that what takes much
// room need not lie in memory: 8 bytes of each row do. Rows are written one
// after another, then read in any order. It is not safe for concurrent use.
type rowFile struct {
	f    *os.File
	w    *bufio.Writer
	size int64
	at   []int64 // of each row; -1: none
	rowCursor
}

// rowCursor reads a rowFile, of which several may read at once.
type rowCursor struct {
	of    *rowFile
	pages [rowPages]rowPage
	clock int64
}

// rowPage is a piece of the file.
type rowPage struct {
	from int64
	data []byte
	used int64
}

// Rows are mostly read one after another, and now and then one by itself, as the
// worst: what is read ahead of the latter would be thrown away.
const (
	rowPages  = 4
	pageBytes = 128 << 10
	loneBytes = 4 << 10
	lengthOf  = 4 // bytes, before each row
)

// rowFault is how a file that can't be read is told: whoever asks for a row
// expects one. Rescue turns it into an error.
type rowFault struct{ err error }

// Rescue makes an error of what befell the file of rows that a function works on:
// those of this package that give an error do it, and so must who reads Windows, and
// what is said of them, by itself. It is to be deferred.
func Rescue(err *error) {
	switch r := recover().(type) {
	case nil:
	case rowFault:
		*err = r.err
	default:
		panic(r)
	}
}

// newRowFile makes one beside the lake's tables, or, where nothing can be written
// there, where the system keeps its passing files. n is the number of rows, 0: they
// are counted as they come.
func newRowFile(dir string, n int) (*rowFile, error) {
	f, err := os.CreateTemp(dir, ".rows-*")
	if err != nil {
		f, err = os.CreateTemp("", "iopathy-rows-*")
	}
	if err != nil {
		return nil, fmt.Errorf("making room for windows beside memory: %w", err)
	}
	_ = os.Remove(f.Name()) // what has no name leaves nothing behind; where that can't be done, close does it
	r := rowsTo(f)
	if n > 0 {
		r.at = make([]int64, n)
		for i := range r.at {
			r.at[i] = -1
		}
	}
	return r, nil
}

func rowsTo(f *os.File) *rowFile {
	r := &rowFile{f: f, w: bufio.NewWriterSize(f, pageBytes)}
	r.of = r
	return r
}

func buffered(f *os.File) *bufio.Reader { return bufio.NewReaderSize(f, pageBytes) }

// add writes the next row.
func (r *rowFile) add(row []byte) error {
	at := r.size
	if err := r.write(row); err != nil {
		return err
	}
	r.at = append(r.at, at)
	return nil
}

// put writes row i, in the place of the one before.
func (r *rowFile) put(i int, row []byte) error {
	at := r.size
	if err := r.write(row); err != nil {
		return err
	}
	r.at[i] = at
	return nil
}

func (r *rowFile) write(row []byte) error {
	var n [lengthOf]byte
	binary.LittleEndian.PutUint32(n[:], uint32(len(row)))
	_, err := r.w.Write(n[:])
	if err == nil {
		_, err = r.w.Write(row)
	}
	if err != nil {
		return fmt.Errorf("writing windows beside memory: %w", err)
	}
	r.size += lengthOf + int64(len(row))
	return nil
}

// flush ends the writing.
func (r *rowFile) flush() error {
	if err := r.w.Flush(); err != nil {
		return fmt.Errorf("writing windows beside memory: %w", err)
	}
	return nil
}

// row gives row i until the next is asked for; nil: there is none. It panics
// with a rowFault.
func (r *rowFile) row(i int) []byte {
	if r.w.Buffered() > 0 {
		if err := r.flush(); err != nil {
			panic(rowFault{err})
		}
	}
	return r.rowCursor.row(i)
}

// reader gives one that reads beside others, of all that was put so far; nil of no
// file. It panics with a rowFault.
func (r *rowFile) reader() *rowCursor {
	if r == nil {
		return nil
	}
	if err := r.flush(); err != nil {
		panic(rowFault{err})
	}
	return &rowCursor{of: r}
}

func (r *rowCursor) row(i int) []byte {
	at := r.of.at[i]
	if at < 0 {
		return nil
	}
	data := r.from(at, lengthOf)
	n := int(binary.LittleEndian.Uint32(data))
	if len(data) < lengthOf+n {
		data = r.from(at, lengthOf+n)
	}
	return data[lengthOf : lengthOf+n]
}

// from gives what stands from a place on, at least least bytes.
func (r *rowCursor) from(at int64, least int) []byte {
	r.clock++
	oldest, size := &r.pages[0], loneBytes
	for i := range r.pages {
		p := &r.pages[i]
		if at >= p.from && at+int64(least) <= p.from+int64(len(p.data)) {
			p.used = r.clock
			return p.data[at-p.from:]
		}
		if at >= p.from && at-p.from < int64(len(p.data))+pageBytes {
			size = pageBytes // someone reads on from there
		}
		if p.used < oldest.used {
			oldest = p
		}
	}
	size = int(min(int64(max(size, least)), r.of.size-at))
	if cap(oldest.data) < size {
		oldest.data = make([]byte, size)
	}
	oldest.data, oldest.from, oldest.used = oldest.data[:size], at, r.clock
	n, err := r.of.f.ReadAt(oldest.data, at)
	if n < size || size < least {
		oldest.data = oldest.data[:0]
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		panic(rowFault{fmt.Errorf("reading windows beside memory: %w", err)})
	}
	return oldest.data
}

// close gives the room back.
func (r *rowFile) close() {
	if r == nil {
		return
	}
	name := r.f.Name()
	_ = r.f.Close()
	_ = os.Remove(name) // gone already, but where an open file can't be removed
}
