package formats

import (
	"bytes"
	"math/bits"
)

// cutFields splits a line at blanks into dst, as far as dst reaches. The fields
// keep the capacity of line (see offsetOf).
func cutFields(line []byte, dst [][]byte) [][]byte {
	dst = dst[:0]
	if bytes.IndexByte(line, '\t') >= 0 {
		return cutBlanks(line, dst)
	}
	begin, out := 0, ^uint64(0) // out: the byte before stood outside of fields
	for base := 0; base < len(line); base += 64 {
		var blank uint64 // a bit for each of 64 bytes
		for k := 0; k < 64 && base+k < len(line); k += 8 {
			blank |= eights(load8(line, base+k), bytes8x20) << uint(k)
		}
		if left := len(line) - base; left < 64 {
			blank |= ^uint64(0) << uint(left)
		}
		// Where a field begins or ends, by turns.
		for edges := blank ^ (blank<<1 | out&1); edges != 0; edges &= edges - 1 {
			at := base + bits.TrailingZeros64(edges)
			if blank>>uint(at-base)&1 == 0 {
				if len(dst) == cap(dst) {
					return dst
				}
				begin = at
				continue
			}
			dst = append(dst, line[begin:at])
		}
		out = blank >> 63
	}
	if out&1 == 0 && len(line) > 0 {
		dst = append(dst, line[begin:])
	}
	return dst
}

// cutAt splits a line at each sep into dst[:0]; what lies behind the last of most
// fields belongs to it.
func cutAt(line []byte, sep byte, dst [][]byte, most int) [][]byte {
	dst = dst[:0]
	begin, same := 0, uint64(sep)*0x0101010101010101
	for base := 0; base < len(line); base += 8 {
		for at := eights(load8(line, base), same); at != 0; at &= at - 1 {
			if len(dst) == most-1 {
				return append(dst, line[begin:])
			}
			end := base + bits.TrailingZeros64(at)
			dst = append(dst, line[begin:end])
			begin = end + 1
		}
	}
	return append(dst, line[begin:])
}

// trimEnd takes the blanks off a line's end.
func trimEnd(b []byte) []byte {
	for len(b) > 0 && isBlank(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

// eights gives a bit for each of eight bytes that is that of same.
func eights(x, same uint64) uint64 {
	x ^= same
	other := (x&bytes8x7f + bytes8x7f | x) & bytes8x80
	return (other ^ bytes8x80) >> 7 * 0x0102040810204080 >> 56
}

// cutBlanks is cutFields for lines with tabs.
func cutBlanks(line []byte, dst [][]byte) [][]byte {
	for i := 0; len(dst) < cap(dst); {
		for i < len(line) && (line[i] == ' ' || line[i] == '\t') {
			i++
		}
		if i == len(line) {
			break
		}
		begin := i
		for i < len(line) && line[i] != ' ' && line[i] != '\t' {
			i++
		}
		dst = append(dst, line[begin:i])
	}
	return dst
}
