package local

import (
	"bytes"
	"errors"
	"io"
	"os"

	"github.com/iopathy/iopathy/ingest"
)

// replayBytes is how much of an input that can be read but once is kept, so
// that its head can be looked at before it is read.
const replayBytes = 1 << 20

// once says whether an input can be read but once: the standard input, a named
// pipe. What is in an archive has no file of its own, and can be read again.
func once(in ingest.Input) bool {
	if in.Path == "-" {
		return true
	}
	info, err := os.Stat(in.Path)
	return err == nil && len(in.Members) == 0 && !info.Mode().IsRegular()
}

// replay lets an input that can be read but once be opened again as long as no
// more than replayBytes of it were read.
func replay(in ingest.Input) ingest.Input {
	p := &pipe{open: in.Open}
	in.Open = func() (io.ReadCloser, error) {
		if p.from == nil && !p.ended {
			var err error
			if p.from, err = p.open(); err != nil {
				return nil, err
			}
		}
		if p.past {
			return nil, errors.New("it can be read only once")
		}
		return &replayed{pipe: p, head: bytes.NewReader(p.head)}, nil
	}
	return in
}

type pipe struct {
	open  func() (io.ReadCloser, error)
	from  io.ReadCloser
	head  []byte // what was read so far
	past  bool   // more than that was
	ended bool
}

// replayed is one reading of a pipe.
type replayed struct {
	pipe *pipe
	head *bytes.Reader
}

func (r *replayed) Read(b []byte) (int, error) {
	if n, err := r.head.Read(b); n > 0 || err != io.EOF {
		return n, err
	}
	p := r.pipe
	if p.ended {
		return 0, io.EOF
	}
	n, err := p.from.Read(b)
	if p.past = p.past || len(p.head)+n > replayBytes; p.past {
		p.head = nil
	} else {
		p.head = append(p.head, b[:n]...)
		r.head.Reset(p.head)
		if _, err := r.head.Seek(0, io.SeekEnd); err != nil {
			return n, err
		}
	}
	if err == io.EOF {
		p.ended = true
		if cerr := p.from.Close(); cerr != nil {
			return n, cerr
		}
	}
	return n, err
}

// Close leaves the pipe open for the next reading; its end closes it.
func (r *replayed) Close() error { return nil }
