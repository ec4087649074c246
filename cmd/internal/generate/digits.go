package generate

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// pairs are 00 to 99, the first digit in the lower byte.
var pairs = func() (p [100]uint16) {
	for i := range p {
		p[i] = uint16('0'+i/10) | uint16('0'+i%10)<<8
	}
	return p
}()

var powers = func() (p [20]uint64) {
	p[0] = 1
	for i := 1; i < len(p); i++ {
		p[i] = 10 * p[i-1]
	}
	return p
}()

// width is how many digits v has. 1233/4096 is about log10(2).
func width(v uint64) int {
	n := bits.Len64(v|1) * 1233 >> 12
	if v >= powers[n] {
		n++
	}
	return max(n, 1)
}

// put writes the lowest n digits of v to the end of b[:at]: eight at a time, whose
// pairs don't wait for one another.
func put(b []byte, at int, v uint64, n int) {
	for ; n >= 8; n -= 8 {
		low := uint32(v % 1e8)
		v /= 1e8
		h, l := low/1e4, low%1e4
		at -= 8
		c := b[at : at+8 : at+8]
		binary.LittleEndian.PutUint16(c, pairs[h/100])
		binary.LittleEndian.PutUint16(c[2:], pairs[h%100])
		binary.LittleEndian.PutUint16(c[4:], pairs[l/100])
		binary.LittleEndian.PutUint16(c[6:], pairs[l%100])
	}
	w := uint32(v % 1e8)
	for ; n >= 2; n -= 2 {
		at -= 2
		binary.LittleEndian.PutUint16(b[at:at+2], pairs[w%100])
		w /= 100
	}
	if n == 1 {
		b[at-1] = byte('0' + w%10)
	}
}

// room makes b longer by n bytes.
func room(b []byte, n int) []byte {
	if cap(b)-len(b) < n {
		b = slices.Grow(b, n)
	}
	return b[:len(b)+n]
}

// decimal appends v, which is not negative.
func decimal(b []byte, v int64) []byte {
	n := width(uint64(v))
	b = room(b, n)
	put(b, len(b), uint64(v), n)
	return b
}

// padded appends v, which is not negative, after blanks, in columns or more.
func padded(b []byte, v int64, columns int) []byte {
	n := width(uint64(v))
	for ; columns > n; columns-- {
		b = append(b, ' ')
	}
	b = room(b, n)
	put(b, len(b), uint64(v), n)
	return b
}

// fraction appends the lowest digits of v, with zeros in front.
func fraction(b []byte, v int64, digits int) []byte {
	b = room(b, digits)
	put(b, len(b), uint64(v), digits)
	return b
}

// seconds appends ns as seconds with 9, 6, ... digits behind the point.
func seconds(b []byte, ns int64, digits int) []byte {
	b = decimal(b, ns/1e9)
	part := ns % 1e9
	for i := digits; i < 9; i++ {
		part /= 10
	}
	return fraction(append(b, '.'), part, digits)
}

// text appends s after blanks, in columns or more.
func text(b []byte, s string, columns int) []byte {
	for n := len(s); n < columns; n++ {
		b = append(b, ' ')
	}
	return append(b, s...)
}
