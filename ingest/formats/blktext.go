package formats

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strconv"
)

// blkText is a cursor over a line.
type blkText struct {
	b []byte
	i int
}

func (s *blkText) peek() byte {
	if s.i < len(s.b) {
		return s.b[s.i]
	}
	return 0
}

func (s *blkText) take(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.i++
	return true
}

// blanks goes to the next byte that is no blank, eight at a time.
func (s *blkText) blanks() {
	const spaces = 0x2020202020202020
	b, i := s.b, s.i
	for i+8 <= len(b) {
		x := binary.LittleEndian.Uint64(b[i:]) ^ spaces
		n := bits.TrailingZeros64(x) / 8 // 8 if all are blanks
		i += n
		if n < 8 {
			break
		}
	}
	for i < len(b) && (b[i] == ' ' || b[i] == '\t') {
		i++
	}
	s.i = i
}

// number reads decimal digits into 64 bits.
func (s *blkText) number() (uint64, bool) {
	v, end := scanDigits(s.b, s.i)
	from := s.i
	s.i = end
	if v < 0 { // above the largest int64
		u, err := strconv.ParseUint(string(s.b[from:end]), 10, 64)
		return u, err == nil
	}
	return uint64(v), end > from
}

// column reads blanks, then a number.
func (s *blkText) column() (uint64, bool) {
	from := s.i
	s.blanks()
	if s.i == from {
		return 0, false
	}
	return s.number()
}

// word reads blanks, then what is up to the next blank.
func (s *blkText) word() []byte {
	s.blanks()
	b, i := s.b, s.i
	for i < len(b) && b[i] != ' ' && b[i] != '\t' {
		i++
	}
	w := b[s.i:i]
	s.i = i
	return w
}

// group skips a parenthesis.
func (s *blkText) group() bool {
	n := bytes.IndexByte(s.b[s.i:], ')')
	if n < 0 {
		return false
	}
	s.i += n + 1
	s.blanks()
	return true
}
