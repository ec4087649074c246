package lake

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
)

// BlockBytes is the span of a file that one SHA-256 of a Part covers.
const BlockBytes = 1 << 20

// Part is a file of the lake as its writer knows it. Path is relative to the
// lake and has forward slashes, once the caller has made it so.
type Part struct {
	Path   string   `json:"path"`
	Rows   int64    `json:"rows"`
	Bytes  int64    `json:"bytes"`
	Blocks []string `json:"blocks"` // SHA-256, hex, of every BlockBytes; the last may be shorter

	// The bounds of device and time of the rows, where they have these: they
	// tell what was in a part that can't be read any more.
	FirstDevice string `json:"first_device,omitempty"`
	LastDevice  string `json:"last_device,omitempty"`
	FirstNS     int64  `json:"first_ns,omitempty"`
	LastNS      int64  `json:"last_ns,omitempty"`
}

// sink buffers and hashes what goes to a file. The first failure stays.
type sink struct {
	to     io.Writer
	buf    []byte // of the block in hand, not yet written
	block  hash.Hash
	inHash int
	part   Part
	err    error
}

func newSink(to io.Writer) *sink {
	return &sink{to: to, buf: make([]byte, 0, 256<<10), block: sha256.New()}
}

// Write implements io.Writer.
func (s *sink) Write(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	n := len(p)
	s.part.Bytes += int64(n)
	if len(s.buf)+n <= cap(s.buf) {
		s.buf = append(s.buf, p...)
		return n, nil
	}
	if s.flush(); s.err != nil {
		return 0, s.err
	}
	if n < cap(s.buf) {
		s.buf = append(s.buf, p...)
		return n, nil
	}
	if s.out(p); s.err != nil {
		return 0, s.err
	}
	return n, nil
}

// Tell is where the next byte will lie in the file.
func (s *sink) Tell() int64 { return s.part.Bytes }

func (s *sink) flush() {
	s.out(s.buf)
	s.buf = s.buf[:0]
}

func (s *sink) out(p []byte) {
	if s.err != nil || len(p) == 0 {
		return
	}
	n, err := s.to.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	if err != nil {
		s.err = err
		return
	}
	for len(p) > 0 {
		k := min(len(p), BlockBytes-s.inHash)
		s.block.Write(p[:k])
		p = p[k:]
		if s.inHash += k; s.inHash == BlockBytes {
			s.sum()
		}
	}
}

func (s *sink) sum() {
	s.part.Blocks = append(s.part.Blocks, hex.EncodeToString(s.block.Sum(nil)))
	s.block.Reset()
	s.inHash = 0
}

func (s *sink) finish() (Part, error) {
	s.flush()
	if s.inHash > 0 {
		s.sum()
	}
	return s.part, s.err
}
