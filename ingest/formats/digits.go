package formats

import (
	"encoding/binary"
	"math/bits"
)

const (
	bytes8x30 = 0x3030303030303030
	bytes8x7f = 0x7f7f7f7f7f7f7f7f
	bytes8x76 = 0x7676767676767676
	bytes8x80 = 0x8080808080808080
)

// tens holds the powers of ten for 0 to 8 digits.
var tens = [9]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8}

// scanDigits reads the decimal number that starts at b[i] and gives the index
// behind its last digit; that is i if there is none. A number above the
// largest int64 is -1.
//
// Eight bytes are taken at once: the first that is no digit ends the number,
// the digits before it are moved to the high end, and three multiplications join
// pairs, fours and eights (the byte order makes the first digit the lowest byte).
func scanDigits(b []byte, i int) (v int64, end int) {
	var sum uint64
	for start := i; ; {
		var x uint64
		switch {
		case i+8 <= len(b):
			x = binary.LittleEndian.Uint64(b[i:])
		case i >= len(b):
			return int64(sum), i
		case len(b) >= 8:
			x = binary.LittleEndian.Uint64(b[len(b)-8:]) >> (8 * uint(i+8-len(b)))
		default:
			for k := i; k < len(b); k++ {
				x |= uint64(b[k]) << (8 * uint(k-i))
			}
		}
		y := x ^ bytes8x30
		other := ((y&bytes8x7f + bytes8x76) | y) & bytes8x80
		n := bits.TrailingZeros64(other) / 8 // 8 if all are digits
		if n == 0 {
			return int64(sum), i
		}
		y <<= uint(64-8*n) & 63
		y = y*10 + y>>8
		const mask = 0x000000ff000000ff
		y = ((y & mask) * (100 + 1000000<<32)) + ((y>>16)&mask)*(1+10000<<32)
		y >>= 32
		i += n
		if i-start > 18 {
			if i-start > 19 {
				return overlong(b, start)
			}
			high, low := bits.Mul64(sum, tens[n])
			low, carry := bits.Add64(low, y, 0)
			if high+carry != 0 || low > 1<<63-1 {
				_, end := overlong(b, start)
				return -1, end
			}
			sum = low
		} else {
			sum = sum*tens[n] + y
		}
		if n < 8 {
			return int64(sum), i
		}
	}
}

// overlong reads a number of 20 digits or more, which is too large unless it
// begins with zeros.
func overlong(b []byte, i int) (v int64, end int) {
	var sum uint64
	large := false
	for ; i < len(b) && b[i]-'0' <= 9; i++ {
		if sum > (1<<63-1)/10 {
			large = true
		}
		sum = sum*10 + uint64(b[i]-'0')
		large = large || sum > 1<<63-1
	}
	if large {
		return -1, i
	}
	return int64(sum), i
}
