package lake

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// The encodings of Parquet, as far as a lake's pages use them, each appended
// to a page. The names in quotes are sections of "Encodings" in the Parquet
// format's specification (github.com/apache/parquet-format, Encodings.md).
// They are written here because arrow v17's encoders cost five times as much.

// The shape of delta blocks. The specification wants blocks of a multiple of
// 128 values and miniblocks of a multiple of 32; these are what most write.
const (
	deltaBlock = 128
	deltaMini  = 32
	deltaMinis = deltaBlock / deltaMini
)

// appendDelta appends values as "Delta Encoding (DELTA_BINARY_PACKED = 5)":
// a header (block size, miniblocks, values, first value), then blocks (least
// delta, widths of the miniblocks, the deltas less the least, packed).
// Differences wrap around in two's complement, as the specification says: so
// does the reader's sum, and any two values follow each other.
func appendDelta(dst []byte, v []int64) []byte {
	dst = binary.AppendUvarint(dst, deltaBlock)
	dst = binary.AppendUvarint(dst, deltaMinis)
	dst = binary.AppendUvarint(dst, uint64(len(v)))
	if len(v) == 0 {
		return append(dst, 0)
	}
	last := v[0]
	dst = binary.AppendVarint(dst, last)
	var d [deltaBlock]uint64
	for rest := v[1:]; len(rest) > 0; {
		block := rest[:min(deltaBlock, len(rest))]
		rest = rest[len(block):]
		least := int64(math.MaxInt64)
		for i, x := range block {
			delta := x - last
			last = x
			d[i] = uint64(delta)
			least = min(least, delta)
		}
		dst = binary.AppendVarint(dst, least)
		at := len(dst)
		dst = append(dst, 0, 0, 0, 0) // a miniblock without values has width 0 and no bytes
		for m := 0; m*deltaMini < len(block); m++ {
			mini := (*[deltaMini]uint64)(d[m*deltaMini:])
			n := min(deltaMini, len(block)-m*deltaMini)
			var all uint64
			for i := range n {
				mini[i] -= uint64(least)
				all |= mini[i]
			}
			clear(mini[n:]) // the last miniblock is filled up
			width := bits.Len64(all)
			dst[at+m] = byte(width)
			dst = appendMini(dst, mini, width)
		}
	}
	return dst
}

// appendMini packs a miniblock, lowest bit first, and spoils it. Neighbours
// are joined while two fit into a word: fewer words to shift.
func appendMini(dst []byte, mini *[deltaMini]uint64, width int) []byte {
	if width == 0 {
		return dst
	}
	dst, out := extend(dst, width*deltaMini/8)
	v, w := mini[:], uint(width)
	for w <= 32 && len(v) > 1 {
		half := v[:len(v)/2]
		for i := range half {
			half[i] = v[2*i] | v[2*i+1]<<w
		}
		v, w = half, 2*w
	}
	var acc uint64
	n := uint(0)
	for _, x := range v {
		acc |= x << (n & 63)
		if n += w; n >= 64 {
			binary.LittleEndian.PutUint64(out, acc)
			out = out[8:]
			n -= 64
			acc = x >> (w - n) // 0 where x is used up: then w-n is 64 or its high bits are none
		}
	}
	if n > 0 { // an odd width leaves half a word
		binary.LittleEndian.PutUint32(out, uint32(acc))
	}
	return dst
}

// extend gives dst n bytes more, and these.
func extend(dst []byte, n int) (all, more []byte) {
	at := len(dst)
	if cap(dst)-at < n {
		dst = append(dst, make([]byte, n)...)
	}
	dst = dst[:at+n]
	return dst, dst[at:]
}

// minRepeat is the fewest bits that equal values would take when packed, to be
// worth a run of their own, which costs about four bytes with the header of
// the packed run after it.
const minRepeat = 32

// appendIndexes appends the page of a "Dictionary Encoding (RLE_DICTIONARY =
// 8)": the width of an index in a byte, then the indexes as "Run Length
// Encoding / Bit-Packing Hybrid (RLE = 3)". Packed runs hold groups of eight.
func appendIndexes(dst []byte, ix []uint16, width int) []byte {
	dst = append(dst, byte(width))
	from := 0 // of the values that are not yet written
	for i := 0; i < len(ix); {
		if len(ix)-i >= 8 {
			v := (*[8]uint16)(ix[i:])
			x := v[0]
			if (x^v[1])|(x^v[2])|(x^v[3])|(x^v[4])|(x^v[5])|(x^v[6])|(x^v[7]) == 0 {
				end := i + 8
				for end < len(ix) && ix[end] == x {
					end++
				}
				if (end-i)*width >= minRepeat {
					dst = appendPacked(dst, ix[from:i], width)
					dst = binary.AppendUvarint(dst, uint64(end-i)<<1)
					dst = append(dst, byte(x))
					if width > 8 {
						dst = append(dst, byte(x>>8))
					}
					from, i = end, end
					continue
				}
			}
		}
		i += 8
	}
	return appendPacked(dst, ix[from:], width)
}

// appendPacked appends a packed run; none for no values. The last group is
// filled up with zeroes.
func appendPacked(dst []byte, ix []uint16, width int) []byte {
	if len(ix) == 0 {
		return dst
	}
	groups := (len(ix) + 7) / 8
	dst = binary.AppendUvarint(dst, uint64(groups)<<1|1)
	dst, out := extend(dst, groups*width)
	w := uint(width)
	for len(ix) >= 8 {
		packEight(out, (*[8]uint16)(ix), w)
		ix, out = ix[8:], out[width:]
	}
	if len(ix) > 0 {
		var last [8]uint16
		copy(last[:], ix)
		packEight(out, &last, w)
	}
	return dst
}

// packEight packs eight values of w bits, 16 at most, into w bytes.
func packEight(out []byte, v *[8]uint16, w uint) {
	w &= 31 // tells the compiler that shifts by w are short
	lo := uint64(v[0]) | uint64(v[1])<<w | uint64(v[2])<<(2*w) | uint64(v[3])<<(3*w)
	hi := uint64(v[4]) | uint64(v[5])<<w | uint64(v[6])<<(2*w) | uint64(v[7])<<(3*w)
	if w <= 8 {
		lo |= hi << (4 * w)
		if len(out) >= 8 { // what it spoils beyond w bytes is written next
			binary.LittleEndian.PutUint64(out, lo)
			return
		}
		for i := range w {
			out[i] = byte(lo >> (8 * i))
		}
		return
	}
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:], lo|hi<<(4*w)) // nothing of hi where w is 16
	binary.LittleEndian.PutUint64(b[8:], hi>>(64-4*w))
	copy(out, b[:w])
}

// appendLevels appends the definition levels of n rows of a nullable column as
// a data page of version 1 has them: their length, then 1 (a value) or 0 (a
// null) a row in the hybrid of runs and packed bits. bitmap is those bits, nil
// for no nulls.
func appendLevels(dst, bitmap []byte, n int) []byte {
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	if bitmap == nil {
		dst = append(binary.AppendUvarint(dst, uint64(n)<<1), 1)
	} else {
		dst = appendBitRuns(dst, bitmap, n)
	}
	binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}

// appendBitRuns writes bytes of eight equal bits that follow each other as a
// run, the others packed. The bits beyond n are zero.
func appendBitRuns(dst, bitmap []byte, n int) []byte {
	packed := func(from, to int) {
		if to > from {
			dst = binary.AppendUvarint(dst, uint64(to-from)<<1|1)
			dst = append(dst, bitmap[from:to]...)
		}
	}
	from, whole := 0, n/8
	for i := 0; i < whole; {
		b := bitmap[i]
		if b != 0 && b != 0xff {
			i++
			continue
		}
		end := i + 1
		for end < whole && bitmap[end] == b {
			end++
		}
		if 8*(end-i) >= minRepeat {
			packed(from, i)
			dst = append(binary.AppendUvarint(dst, uint64(end-i)<<4), b&1) // (end-i)*8 rows
			from = end
		}
		i = end
	}
	packed(from, len(bitmap))
	return dst
}

// appendBits appends a bit for each, lowest first: "Plain (PLAIN = 0)" of
// booleans. The bits beyond the last are zero.
func appendBits(dst []byte, v []bool) []byte {
	for ; len(v) >= 8; v = v[8:] {
		w := (*[8]bool)(v)
		dst = append(dst, bit(w[0])|bit(w[1])<<1|bit(w[2])<<2|bit(w[3])<<3|bit(w[4])<<4|bit(w[5])<<5|bit(w[6])<<6|bit(w[7])<<7)
	}
	if len(v) > 0 {
		var b byte
		for i, set := range v {
			b |= bit(set) << i
		}
		dst = append(dst, b)
	}
	return dst
}

// bit is branchless as the compiler makes it.
func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// The others of "Plain (PLAIN = 0)": little endian, strings after their
// length in four bytes.

func appendInts(dst []byte, v []int64) []byte {
	dst, out := extend(dst, 8*len(v))
	for i, x := range v {
		binary.LittleEndian.PutUint64(out[8*i:], uint64(x))
	}
	return dst
}

func appendInt32s(dst []byte, v []int32) []byte {
	dst, out := extend(dst, 4*len(v))
	for i, x := range v {
		binary.LittleEndian.PutUint32(out[4*i:], uint32(x))
	}
	return dst
}

func appendFloats(dst []byte, v []float64) []byte {
	dst, out := extend(dst, 8*len(v))
	for i, x := range v {
		binary.LittleEndian.PutUint64(out[8*i:], math.Float64bits(x))
	}
	return dst
}

func appendStrings(dst []byte, v []string) []byte {
	for _, s := range v {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(s)))
		dst = append(dst, s...)
	}
	return dst
}
