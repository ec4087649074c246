package lake

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"
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
}

// sink buffers and hashes what goes to a file. The first failure stays.
type sink struct {
	to     io.Writer
	aside  *bytes.Buffer // where set, what is written goes here instead
	buf    []byte        // of the block in hand, not yet written
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
	if s.aside != nil {
		return s.aside.Write(p)
	}
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

// VerifyPart reads the file at path and compares it with what its writer
// knew. The error names the first damaged block and its byte range.
func VerifyPart(path string, p Part) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("lake: verify: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("lake: verify: %w", err)
	}
	buf := make([]byte, BlockBytes)
	for i, want := range p.Blocks {
		from := int64(i) * BlockBytes
		n, err := io.ReadFull(f, buf)
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return fmt.Errorf("lake: verify %s: block %d: %w", path, i, err)
		}
		if sum := sha256.Sum256(buf[:n]); hex.EncodeToString(sum[:]) != want {
			return fmt.Errorf("lake: verify %s: block %d (bytes %d to %d) is damaged", path, i, from, min(from+BlockBytes, p.Bytes))
		}
	}
	if info.Size() != p.Bytes {
		return fmt.Errorf("lake: verify %s: %d bytes, written were %d", path, info.Size(), p.Bytes)
	}
	return nil
}
