package generate

import "encoding/binary"

// What comes again from line to line is kept as text.

// word is a short text.
type word struct {
	n    int
	text [16]byte
}

// newWord takes no more than 16 bytes.
func newWord(s string) (w word) {
	w.n = copy(w.text[:], s)
	return w
}

// put writes it to the begin of c, of which it spoils 16 bytes, and gives its length.
func (w *word) put(c []byte) int {
	*(*[16]byte)(c[:16]) = w.text
	return w.n
}

// lead writes numbers of which all but the last eight digits are mostly those of the
// number before, such as times.
type lead struct {
	high uint64
	word
}

// put is digits.
func (l *lead) put(c []byte, v int64) int {
	high := uint64(v) / 1e8
	if high == 0 {
		return upTo8(c, uint32(v))
	}
	if high != l.high {
		l.high, l.word = high, wordOf(int64(high))
	}
	n := l.word.put(c)
	binary.LittleEndian.PutUint64(c[n:n+8], eight(uint32(uint64(v)-1e8*high)))
	return n + 8
}

// wordOf is the digits of v, below 10^16.
func wordOf(v int64) (w word) {
	var text [24]byte
	w.n = digits(text[:], v)
	copy(w.text[:], text[:])
	return w
}

// memo writes numbers of which there are few, such as sizes.
type memo [32]struct {
	v int64
	word
}

// put is digits.
func (m *memo) put(c []byte, v int64) int {
	e := &m[uint64(v)*0x9e3779b97f4a7c15>>59]
	if e.v != v || e.n == 0 {
		if v >= 1e16 {
			return digits(c, v)
		}
		e.v, e.word = v, wordOf(v)
	}
	return e.word.put(c)
}

// clock writes seconds, whose whole ones mostly are those of the time before.
type clock struct {
	whole int64
	word
}

// put writes ns as seconds with 6 or 9 digits behind the point.
func (k *clock) put(c []byte, ns int64, behind int) int {
	whole := ns / 1e9
	if whole != k.whole || k.n == 0 {
		k.whole, k.word = whole, wordOf(whole)
		k.text[k.n] = '.'
		k.n++
	}
	n := k.word.put(c)
	part := uint32(ns - 1e9*whole)
	if behind == 6 {
		binary.LittleEndian.PutUint64(c[n:n+8], eight(part/1e3)>>16)
		return n + 6
	}
	binary.LittleEndian.PutUint64(c[n:n+8], eight(part/10))
	c[n+8] = byte('0' + part%10)
	return n + 9
}
