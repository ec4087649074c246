package formats

import (
	"encoding/binary"
	"math/bits"
)

const (
	bytes8x09 = 0x0909090909090909
	bytes8x0a = 0x0a0a0a0a0a0a0a0a
	bytes8x22 = 0x2222222222222222
	bytes8x2c = 0x2c2c2c2c2c2c2c2c
	bytes8x5c = 0x5c5c5c5c5c5c5c5c
	bytes8x20 = 0x2020202020202020
	bytes8x30 = 0x3030303030303030
	bytes8x7f = 0x7f7f7f7f7f7f7f7f
	bytes8x76 = 0x7676767676767676
	bytes8x80 = 0x8080808080808080
)

// tens holds the powers of ten for 0 to 8 digits.
var tens = [9]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8}

// load8 gives the eight bytes at b[i], with zeros for those behind the end.
func load8(b []byte, i int) uint64 {
	if i+8 <= len(b) {
		return binary.LittleEndian.Uint64(b[i:])
	}
	return load8End(b, i)
}

// load8End is load8 near the end. A line stands in a block, so that there is
// nearly always memory behind it to load and to cut off.
func load8End(b []byte, i int) uint64 {
	n := len(b) - i
	if n <= 0 {
		return 0
	}
	if i+8 <= cap(b) {
		return binary.LittleEndian.Uint64(b[i:i+8]) & (1<<(8*uint(n)&63) - 1)
	}
	if len(b) >= 8 {
		return binary.LittleEndian.Uint64(b[len(b)-8:]) >> (8 * uint(8-n) & 63)
	}
	var x uint64
	for k := i; k < len(b); k++ {
		x |= uint64(b[k]) << (8 * uint(k-i))
	}
	return x
}

// leading counts the digits at the start of eight bytes, less '0' each.
func leading(y uint64) int {
	return bits.TrailingZeros64(((y&bytes8x7f+bytes8x76)|y)&bytes8x80) / 8
}

// joined is the number of the first n digits, 1 to 8, of y: they are moved to
// the high end, and three multiplications join pairs, fours and eights (the byte
// order makes the first digit the lowest byte).
func joined(y uint64, n int) uint64 {
	const mask = 0x000000ff000000ff
	y <<= uint(64-8*n) & 63
	y = y*10 + y>>8
	return ((y&mask)*(100+1000000<<32) + ((y>>16)&mask)*(1+10000<<32)) >> 32
}

// scanDigits reads the decimal number that starts at b[i] and gives the index
// behind its last digit; that is i if there is none. A number above the
// largest int64 is -1. Eight bytes are taken at once.
func scanDigits(b []byte, i int) (v int64, end int) {
	y := load8(b, i) ^ bytes8x30
	n := leading(y)
	if n < 8 {
		if n == 0 {
			return 0, i
		}
		return int64(joined(y, n)), i + n
	}
	sum := joined(y, 8)
	y = load8(b, i+8) ^ bytes8x30
	n = leading(y)
	if n < 8 {
		if n == 0 {
			return int64(sum), i + 8
		}
		return int64(sum*tens[n] + joined(y, n)), i + 8 + n
	}
	sum = sum*1e8 + joined(y, 8)
	y = load8(b, i+16) ^ bytes8x30
	n = leading(y)
	if n == 0 {
		return int64(sum), i + 16
	}
	if n > 3 {
		return overlong(b, i)
	}
	sum = sum*tens[n] + joined(y, n) // below 1e19: it fits 64 bits without a sign
	if sum > 1<<63-1 {
		return -1, i + 16 + n
	}
	return int64(sum), i + 16 + n
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
