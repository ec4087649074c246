package features

import (
	"math"
	"math/bits"
)

// A histogram counts values of 0..2^47-1 (39 hours in ns; larger ones count
// as the largest) in buckets of 1/32 of an octave's lower bound: exact below
// 64, within 3.2 % above. Counts are integers, so histograms add exactly in
// any order. The zero value is empty.
type histogram struct {
	n       int64
	used    [(histogramBuckets + 63) / 64]uint64 // a bit for each bucket that is not 0: most of a window's are
	buckets [histogramBuckets]uint32
}

const (
	histogramBits    = 5  // of the mantissa below the leading one
	histogramTop     = 47 // bits of the largest value
	histogramBuckets = (histogramTop - histogramBits - 1 + 2) << histogramBits
)

// bucketOf is the bucket of v: exponent and the five bits after the leading one.
func bucketOf(v int64) int {
	u := uint64(max(v, 0))
	e := max(bits.Len64(u)-histogramBits-1, 0)
	return min(e<<histogramBits+int(u>>(uint(e)&63)), histogramBuckets-1)
}

// bucketRange gives the lowest value of a bucket and the number of values in it.
func bucketRange(b int) (low, width int64) {
	if b < 2<<histogramBits {
		return int64(b), 1
	}
	e := b>>histogramBits - 1
	return int64(b&(1<<histogramBits-1)+1<<histogramBits) << e, 1 << e
}

// bucketMid is the mean of the values of a bucket.
func bucketMid(b int) float64 {
	low, width := bucketRange(b)
	return float64(low) + float64(width-1)/2
}

func (h *histogram) add(v int64) { h.addBucket(bucketOf(v)) }

func (h *histogram) addBucket(b int) {
	h.n++
	h.used[uint(b)/64] |= 1 << (uint(b) % 64) // whether it is the first is a coin's toss: no branch on it
	h.buckets[b]++
}

// each gives the buckets in use, ascending, until yield is false.
func (h *histogram) each(yield func(b int, n uint32) bool) {
	for i, word := range h.used {
		for ; word != 0; word &= word - 1 {
			b := 64*i + bits.TrailingZeros64(word)
			if !yield(b, h.buckets[b]) {
				return
			}
		}
	}
}

// merge adds the counts of o.
func (h *histogram) merge(o *histogram) {
	h.n += o.n
	for b, n := range o.each {
		h.buckets[b] += n
	}
	for i, word := range o.used {
		h.used[i] |= word
	}
}

// reset empties the histogram at the cost of the buckets in use.
func (h *histogram) reset() {
	for b := range h.each {
		h.buckets[b] = 0
	}
	h.n, h.used = 0, [len(h.used)]uint64{}
}

// quantile is the value at rank q x (n-1), the values of a bucket taken as
// evenly spread over it; NaN when empty.
func (h *histogram) quantile(q float64) float64 {
	if h.n == 0 {
		return math.NaN()
	}
	rank := q * float64(h.n-1)
	before, last := int64(0), 0
	for b, n := range h.each {
		if rank < float64(before+int64(n)) {
			return within(b, n, rank-float64(before))
		}
		before, last = before+int64(n), b
	}
	return bucketMid(last)
}

// within is the value at a rank among the n values of a bucket.
func within(b int, n uint32, rank float64) float64 {
	low, width := bucketRange(b)
	return float64(low) + float64(width-1)*(rank+0.5)/float64(n)
}

// lowQuantile is quantile for values that are round in binary, such as sizes:
// the lowest value of the bucket.
func (h *histogram) lowQuantile(q float64) float64 {
	if h.n == 0 {
		return math.NaN()
	}
	low, _ := bucketRange(bucketOf(int64(h.quantile(q))))
	return float64(low)
}

// squares is an exact sum of squares of int64 values, 128 bits wide.
type squares struct{ hi, lo uint64 }

func (s *squares) add(v int64) {
	hi, lo := bits.Mul64(uint64(v), uint64(v))
	var carry uint64
	s.lo, carry = bits.Add64(s.lo, lo, 0)
	s.hi, _ = bits.Add64(s.hi, hi, carry)
}

func (s *squares) float() float64 { return float64(s.hi)*0x1p64 + float64(s.lo) }
