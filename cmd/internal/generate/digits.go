package generate

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// eight gives the eight digits of v, below 10^8, the first in the lowest byte: halves
// of four digits, of two and of one are parted side by side in one word.
func eight(v uint32) uint64 {
	x := uint64(v/1e4) | uint64(v%1e4)<<32
	hundreds := x * 10486 >> 20 & 0x7f_0000007f
	x = hundreds | (x-100*hundreds)<<16
	tens := x * 103 >> 10 & 0x000f_000f_000f_000f
	return tens | (x-10*tens)<<8 | 0x3030303030303030
}

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

// lowest appends the lowest n digits of v, no more than 24 of them.
func lowest(b []byte, v uint64, n int) []byte {
	at := len(b)
	if cap(b)-at < 24 {
		b = slices.Grow(b, 24)
	}
	c := b[at : at+24 : at+24]
	switch {
	case n <= 8:
		binary.LittleEndian.PutUint64(c, eight(uint32(v%1e8))>>(8*(8-n)&63))
	case n <= 16:
		high := v / 1e8
		binary.LittleEndian.PutUint64(c, eight(uint32(high%1e8))>>(8*(16-n)&63))
		binary.LittleEndian.PutUint64(c[n-8:n], eight(uint32(v-1e8*high)))
	default:
		high := v / 1e8
		binary.LittleEndian.PutUint64(c, eight(uint32(high/1e8%1e8))>>(8*(24-n)&63))
		binary.LittleEndian.PutUint64(c[n-16:n-8], eight(uint32(high%1e8)))
		binary.LittleEndian.PutUint64(c[n-8:n], eight(uint32(v-1e8*high)))
	}
	return b[:at+n]
}

// blanks appends n blanks; none where n is not positive.
func blanks(b []byte, n int) []byte {
	const some = "                "
	for ; n > len(some); n -= len(some) {
		b = append(b, some...)
	}
	return append(b, some[:max(n, 0)]...)
}

// decimal appends v, which is not negative.
func decimal(b []byte, v int64) []byte {
	at := len(b)
	if cap(b)-at < 24 {
		b = slices.Grow(b, 24)
	}
	return b[:at+digits(b[at:at+24], v)]
}

// digits writes v, which is not negative, to the begin of c, which has room for 24 bytes,
// and gives how many it took.
func digits(c []byte, v int64) int {
	u := uint64(v)
	if u < 1e8 {
		return upTo8(c, uint32(u))
	}
	high := u / 1e8
	n := 0
	if high < 100 {
		n = 1 + int((9-high)>>63)
		binary.LittleEndian.PutUint16(c[:2], pairs[high])
	} else if high < 1e8 {
		n = upTo8(c, uint32(high))
	} else {
		top := high / 1e8
		n = upTo8(c, uint32(top))
		binary.LittleEndian.PutUint64(c[n:n+8], eight(uint32(high-1e8*top)))
		n += 8
	}
	binary.LittleEndian.PutUint64(c[n:n+8], eight(uint32(u-1e8*high)))
	return n + 8
}

// pairs are 0 to 99, the first digit in the lower byte.
var pairs = func() (p [100]uint16) {
	for i := range p {
		if p[i] = '0' + uint16(i%10); i >= 10 {
			p[i] = '0' + uint16(i/10) | p[i]<<8
		}
	}
	return p
}()

// upTo8 is digits of v below 10^8.
func upTo8(c []byte, v uint32) int {
	word := eight(v)
	zeros := bits.TrailingZeros64(word&0x0f0f0f0f0f0f0f0f|1<<56) &^ 7 // bits of those in front
	binary.LittleEndian.PutUint64(c[:8], word>>zeros)
	return 8 - zeros/8
}

// padded appends v, which is not negative, after blanks, in columns or more.
func padded(b []byte, v int64, columns int) []byte {
	n := width(uint64(v))
	return lowest(blanks(b, columns-n), uint64(v), n)
}

// fraction appends the lowest digits of v, with zeros in front.
func fraction(b []byte, v int64, digits int) []byte { return lowest(b, uint64(v), digits) }

// seconds appends ns as seconds with 9, 6, ... digits behind the point.
func seconds(b []byte, ns int64, digits int) []byte {
	whole := ns / 1e9
	part := ns - 1e9*whole
	switch digits {
	case 6:
		part /= 1e3
	default:
		for i := digits; i < 9; i++ {
			part /= 10
		}
	}
	return fraction(append(decimal(b, whole), '.'), part, digits)
}

// text appends s after blanks, in columns or more.
func text(b []byte, s string, columns int) []byte {
	return append(blanks(b, columns-len(s)), s...)
}

// hexPairs are 00 to ff, the first digit in the lower byte.
var hexPairs = func() (p [256]uint16) {
	const digits = "0123456789abcdef"
	for i := range p {
		p[i] = uint16(digits[i>>4]) | uint16(digits[i&15])<<8
	}
	return p
}()

// hexadecimal appends the 16 digits of v.
func hexadecimal(b []byte, v uint64) []byte {
	at := len(b)
	b = slices.Grow(b, 16)[:at+16]
	c := b[at : at+16 : at+16]
	for i := range 8 {
		binary.LittleEndian.PutUint16(c[2*i:2*i+2], hexPairs[byte(v>>(56-8*i))])
	}
	return b
}
