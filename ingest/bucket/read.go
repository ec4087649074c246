package bucket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"gocloud.dev/blob"
)

// ErrChanged says that an object was written anew while it was read.
var ErrChanged = errors.New("it was written anew while it was read")

// version tells an object from what was written under its key later.
type version struct {
	size int64
	time int64
	tag  string // of S3; "" elsewhere
}

func versionOf(r *blob.Reader) version {
	return version{r.Size(), r.ModTime().UnixNano(), entityTag(r)}
}

// A Reader is an object as it is opened: a stream that can be put anywhere, with reads
// at any place beside it.
type Reader interface {
	io.ReadSeekCloser
	io.ReaderAt
}

// Open gives an object's bytes as a stream. Its beginning comes from the
// blocks that are kept, so that a look at the head of an object costs one
// request however often it is taken. A Seek makes no request; the next Read begins one
// at that byte. ReadAt reads by blocks.
func (b *Bucket) Open(ctx context.Context, key string) (Reader, error) {
	ctx, cancel := context.WithCancel(ctx)
	o, err := b.block(ctx, key, 0)
	if err != nil {
		cancel()
		return nil, err
	}
	return &stream{b: b, ctx: ctx, cancel: cancel, key: key, of: o.of, first: o.data, head: bytes.NewReader(o.data), at: int64(len(o.data))}, nil
}

// stream reads what lies behind the first block by one request, which is made
// anew where it broke off.
type stream struct {
	b      *Bucket
	ctx    context.Context
	cancel context.CancelFunc
	key    string
	of     version
	first  []byte        // block of the object
	head   *bytes.Reader // what is left of it
	at     int64         // of the next byte that is asked for
	from   *blob.Reader
	stop   context.CancelFunc // of the request
	fails  int                // since the last byte
	err    error
}

func (s *stream) Read(p []byte) (int, error) {
	if n, err := s.head.Read(p); n > 0 || len(p) == 0 {
		return n, nil
	} else if err != io.EOF {
		return 0, err
	}
	for s.err == nil {
		n, err := s.next(p)
		if n > 0 {
			s.at += int64(n)
			s.b.received.Add(int64(n))
			s.fails = 0
		}
		if err != nil {
			s.broke(err)
		}
		if n > 0 {
			return n, nil
		}
	}
	return 0, s.err
}

// next reads from the request, within the deadline.
func (s *stream) next(p []byte) (int, error) {
	if s.at >= s.of.size {
		return 0, io.EOF
	}
	if s.from == nil {
		ctx, stop := context.WithCancel(s.ctx)
		s.stop = stop
		late := s.late()
		r, err := s.b.blob.NewRangeReader(ctx, s.key, s.at, -1, nil)
		if late() {
			err = errors.Join(err, errLate)
		}
		if err != nil {
			if r != nil {
				_ = r.Close() // it is given up
			}
			return 0, err
		}
		s.from = r
		if versionOf(r) != s.of {
			return 0, ErrChanged
		}
	}
	late := s.late()
	n, err := s.from.Read(p)
	if late() && err != nil {
		err = errors.Join(errLate, err)
	}
	if err == io.EOF && s.at+int64(n) < s.of.size {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

var errLate = errors.New("the server stood still")

// late stops the request when the deadline is over, and then says so.
func (s *stream) late() func() bool {
	var over atomic.Bool
	stop := s.stop
	t := time.AfterFunc(s.b.o.Deadline, func() { over.Store(true); stop() })
	return func() bool { t.Stop(); return over.Load() }
}

// broke ends a request, and the stream if another would not help.
func (s *stream) broke(err error) {
	s.drop()
	if err == io.EOF {
		s.err = err
		return
	}
	s.fails++
	if s.ctx.Err() != nil || final(err) || s.fails >= s.b.o.Tries {
		s.err = failed(fmt.Sprintf("read (byte %d of)", s.at), s.b.url(s.key), err)
		return
	}
	if err := s.b.pause(s.ctx, s.fails); err != nil {
		s.err = failed("read", s.b.url(s.key), err)
	}
}

// Seek is io.Seeker's.
func (s *stream) Seek(offset int64, whence int) (int64, error) {
	now := s.at - int64(s.head.Len()) // what is left of the first block comes before at
	switch whence {
	case io.SeekCurrent:
		offset += now
	case io.SeekEnd:
		offset += s.of.size
	}
	switch {
	case s.err != nil && s.err != io.EOF:
		return 0, s.err
	case offset < 0 || whence < io.SeekStart || whence > io.SeekEnd:
		return 0, fmt.Errorf("bucket: seek %s to %d (%d)", s.b.url(s.key), offset, whence)
	case offset == now:
		return now, nil
	}
	s.drop()
	s.err = nil
	kept := min(offset, int64(len(s.first)))
	s.head.Reset(s.first[kept:])
	s.at = max(offset, int64(len(s.first)))
	return offset, nil
}

// ReadAt is io.ReaderAt's.
func (s *stream) ReadAt(p []byte, off int64) (int, error) {
	return (&ReaderAt{s.b, s.ctx, s.key, s.of}).ReadAt(p, off)
}

func (s *stream) drop() {
	if s.stop != nil {
		s.stop()
	}
	if s.from != nil {
		_ = s.from.Close() // what was asked for came, or is asked for anew
	}
	s.from, s.stop = nil, nil
}

func (s *stream) Close() error {
	s.drop()
	s.cancel()
	s.err = errors.New("bucket: read after Close")
	return nil
}

// ReaderAt reads an object at any place, by blocks. It is safe for concurrent
// use.
type ReaderAt struct {
	b   *Bucket
	ctx context.Context
	key string
	of  version
}

// At opens an object for reads at any place.
func (b *Bucket) At(ctx context.Context, key string) (*ReaderAt, error) {
	o, err := b.block(ctx, key, 0)
	if err != nil {
		return nil, err
	}
	return &ReaderAt{b, ctx, key, o.of}, nil
}

// Size is that of the object.
func (r *ReaderAt) Size() int64 { return r.of.size }

// ReadAt is io.ReaderAt's.
func (r *ReaderAt) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, fmt.Errorf("bucket: read %s at %d", r.b.url(r.key), off)
	}
	size := int64(r.b.o.BlockBytes)
	for n < len(p) {
		at := off + int64(n)
		if at >= r.of.size {
			return n, io.EOF
		}
		o, err := r.b.block(r.ctx, r.key, at/size)
		if err == nil && o.of != r.of {
			r.b.cache.forget(r.key)
			err = failed("read", r.b.url(r.key), ErrChanged)
		}
		if err != nil {
			return n, err
		}
		if at%size >= int64(len(o.data)) {
			return n, io.ErrUnexpectedEOF
		}
		n += copy(p[n:], o.data[at%size:])
	}
	return n, nil
}
