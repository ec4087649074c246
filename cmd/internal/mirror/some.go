package mirror

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/iopathy/iopathy/ingest/lake"
)

// mostRun is how many blocks of 1 MiB are asked for at once, where they are read one
// after another.
const mostRun = 8

// some is what is here of a part that is read by ranges: blocks of it, each as the
// manifest tells, in a file beside the working copy. There the part stays a hole, so
// that nobody takes it for whole.
type some struct {
	c    *Copy
	rel  string
	file *file
	part lake.Part
	info os.FileInfo // of the hole
	path string

	mu     sync.Mutex
	open   int // that read it
	bytes  *os.File
	here   []bool                // by block
	coming map[int]chan struct{} // blocks that somebody has asked for
}

// Open opens a file of the working copy by its path there. What is read of a part of
// which a manifest tells comes when it is read, and stays for those who read it again.
// All other files are fetched.
func (c *Copy) Open(path string) (lake.Bytes, error) {
	rel, err := filepath.Rel(c.Dir(), path)
	rel = filepath.ToSlash(rel)
	c.mu.Lock()
	f := c.files[rel]
	part, named := c.parts[rel]
	c.mu.Unlock()
	if err != nil || f == nil {
		return os.Open(path)
	}
	f.busy.Lock()
	defer f.busy.Unlock()
	if now, err := os.Stat(path); f.here || err != nil || !unchanged(f.local, now) {
		return os.Open(path)
	}
	if !named || len(part.Blocks) == 0 {
		if err := c.fetchHeld(rel, f, true); err != nil {
			return nil, err
		}
		return os.Open(path)
	}
	if f.size != part.Bytes {
		return nil, fmt.Errorf("mirror: %s: %d of %d bytes: %w", rel, f.size, part.Bytes, errOther)
	}
	c.mu.Lock()
	c.fetched++
	f.used = c.fetched
	if f.some == nil {
		c.numbered++
		f.some = &some{c: c, rel: rel, file: f, part: part, info: f.local, path: filepath.Join(c.home.Dir(), blocksDir, strconv.Itoa(c.numbered)), coming: map[int]chan struct{}{}}
	}
	s := f.some
	c.mu.Unlock()
	return s.reader()
}

// blocksDir is the folder of the files of blocks, beside the working copy.
const blocksDir = "blocks"

// reader is one more that reads it.
func (s *some) reader() (*ranges, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == 0 {
		err := os.MkdirAll(filepath.Dir(s.path), 0o777)
		if err == nil {
			s.bytes, err = os.OpenFile(s.path, os.O_RDWR|os.O_CREATE, 0o666)
		}
		if err != nil {
			return nil, fmt.Errorf("mirror: %s: %w", s.rel, err)
		}
		if s.here == nil {
			s.here = make([]bool, len(s.part.Blocks))
		}
	}
	s.open++
	return &ranges{some: s, next: -1}, nil
}

// drop lets go of the blocks, if nobody reads them. It says how many bytes that were.
func (s *some) drop() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open > 0 || s.here == nil {
		return 0
	}
	var n int64
	for i, here := range s.here {
		if here {
			n += s.length(i)
		}
	}
	s.here = nil
	_ = os.Remove(s.path) // best effort: it takes room, no more
	return n
}

// length is that of a block.
func (s *some) length(block int) int64 {
	return min(lake.BlockBytes, s.part.Bytes-int64(block)*lake.BlockBytes)
}

// ranges is a part as one reads it.
type ranges struct {
	*some
	mu     sync.Mutex
	next   int // block behind those that were asked for last
	run    int // how many these were
	closed bool
}

// Stat is that of the hole, which has the part's size.
func (r *ranges) Stat() (os.FileInfo, error) { return r.info, nil }

// ReadAt is io.ReaderAt's.
func (r *ranges) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off > r.part.Bytes {
		return 0, fmt.Errorf("mirror: %s: read at %d of %d", r.rel, off, r.part.Bytes)
	}
	short := off+int64(len(p)) > r.part.Bytes
	if short {
		p = p[:r.part.Bytes-off]
	}
	if len(p) > 0 {
		for b, last := int(off/lake.BlockBytes), int((off+int64(len(p))-1)/lake.BlockBytes); b <= last; b++ {
			if err := r.want(b, last); err != nil {
				return 0, err
			}
		}
		if n, err := r.bytes.ReadAt(p, off); err != nil {
			return n, fmt.Errorf("mirror: %s: %w", r.rel, err)
		}
	}
	if short {
		return len(p), io.EOF
	}
	return len(p), nil
}

// want makes a block be here. Who reads on from block to block is given more at once
// each time, up to mostRun; last is the last block that is wanted for sure.
func (r *ranges) want(block, last int) error {
	for {
		s := r.some
		s.mu.Lock()
		if s.here[block] {
			s.mu.Unlock()
			return nil
		}
		if c := s.coming[block]; c != nil {
			s.mu.Unlock()
			select {
			case <-c: // here, or it is our turn to ask
			case <-s.c.ctx.Done():
				return s.c.ctx.Err()
			}
			continue
		}
		n := r.ahead(block, last)
		arrived := make(chan struct{})
		to := block
		for ; to < len(s.here) && to < block+n && !s.here[to] && s.coming[to] == nil; to++ {
			s.coming[to] = arrived
		}
		s.mu.Unlock()
		err := s.bring(block, to)
		came := int64(0)
		s.mu.Lock()
		for b := block; b < to; b++ {
			delete(s.coming, b)
			if s.here[b] = err == nil; err == nil {
				came += s.length(b)
			}
		}
		s.mu.Unlock()
		close(arrived)
		if err != nil {
			return err
		}
		s.c.keep(came)
		return nil
	}
}

// ahead is how many blocks to ask for.
func (r *ranges) ahead(block, last int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if block == r.next {
		r.run = min(2*r.run, mostRun)
	} else {
		r.run = 1
	}
	r.run = max(r.run, min(last-block+1, mostRun))
	r.next = block + r.run
	return r.run
}

// bring fetches blocks from one up to another by one request, and holds them against
// the manifest.
func (s *some) bring(from, to int) error {
	select {
	case s.c.carried <- struct{}{}:
	case <-s.c.ctx.Done():
		return s.c.ctx.Err()
	}
	defer func() { <-s.c.carried }()
	at := int64(from) * lake.BlockBytes
	size := min(int64(to)*lake.BlockBytes, s.part.Bytes) - at
	data, err := s.get(s.c.ctx, at, int(size))
	if err != nil {
		return fmt.Errorf("mirror: %s: %w", s.rel, err)
	}
	for b := from; b < to; b++ {
		own := data[int64(b-from)*lake.BlockBytes:][:s.length(b)]
		if sum := sha256.Sum256(own); hex.EncodeToString(sum[:]) != s.part.Blocks[b] {
			return fmt.Errorf("mirror: %s: block %d: %w", s.rel, b, errOther)
		}
	}
	if _, err := s.bytes.WriteAt(data, at); err != nil {
		return fmt.Errorf("mirror: %s: %w", s.rel, err)
	}
	return nil
}

// get reads from where the part lies: what waits for its place may have got it meanwhile.
func (s *some) get(ctx context.Context, at int64, n int) ([]byte, error) {
	data, err := s.c.shelf.b.Range(ctx, s.c.shelf.key(s.file.object), at, n)
	if errors.Is(err, fs.ErrNotExist) && s.file.object != s.rel {
		data, err = s.c.shelf.b.Range(ctx, s.c.shelf.key(s.rel), at, n)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errors.Join(errGone, err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errors.Join(errOther, err)
	}
	return data, err
}

// errGone says that a part is no longer there.
var errGone = errors.New("another run has removed it since the lake was looked at: try again")

// Close is one less that reads it.
func (r *ranges) Close() error {
	s := r.some
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.closed {
		return os.ErrClosed
	}
	r.closed = true
	if s.open--; s.open > 0 {
		return nil
	}
	return s.bytes.Close()
}

// keep counts what came, and lets go of the blocks of parts that nobody reads, those
// first that were opened long ago, where they are more than KeepBytes.
func (c *Copy) keep(n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.blocks += n; c.blocks > c.o.KeepBytes {
		c.letGo(c.o.KeepBytes)
	}
}

// letGo lets go of blocks until no more than so many bytes are here, as far as it may.
func (c *Copy) letGo(most int64) {
	var all []kept
	for rel, f := range c.files {
		if f.some != nil {
			all = append(all, kept{rel, f})
		}
	}
	oldest(all)
	for _, k := range all {
		if c.blocks <= most {
			return
		}
		c.blocks -= k.some.drop()
	}
}
