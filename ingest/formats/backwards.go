package formats

import (
	"encoding/binary"
	"math/bits"
)

// backwards takes the words of a line from its end: where a task's name with
// blanks stands in the middle, only the ends can be counted.
type backwards struct {
	b   []byte
	end int // what is behind was taken
}

// word takes the last word; nil if none is left.
func (s *backwards) word() []byte {
	end := s.end
	for end > 0 && isBlank(s.b[end-1]) {
		end--
	}
	from := end
	for from >= 8 { // eight bytes at once
		x := binary.LittleEndian.Uint64(s.b[from-8:])
		blank := eights(x, bytes8x20) | eights(x, bytes8x09)
		if blank != 0 {
			from -= bits.LeadingZeros64(blank) - 56
			break
		}
		from -= 8
	}
	for from > 0 && !isBlank(s.b[from-1]) {
		from--
	}
	s.end = from
	if from == end {
		return nil
	}
	return s.b[from:end]
}

func trimBlanks(b []byte) []byte {
	for len(b) > 0 && isBlank(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && isBlank(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

// wholeNumber reads a word that is a number of 0 or more and nothing else.
func wholeNumber(w []byte) (int64, bool) {
	v, end := scanDigits(w, 0)
	return v, end > 0 && end == len(w) && v >= 0
}

// isDevNumber says that a word can be the major or minor number of a device.
func isDevNumber(w []byte) bool {
	_, ok := wholeNumber(w)
	return ok && len(w) <= 7
}

// devName appends the name of a device of which only the numbers are known.
func devName(mem, major, minor []byte) []byte {
	mem = append(append(mem, "dev:"...), major...)
	return append(append(mem, ':'), minor...)
}
