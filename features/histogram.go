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
	n := h.buckets[b]
	if n == 0 {
		h.used[b/64] |= 1 << (b % 64)
	}
	h.buckets[b] = n + 1
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

// ends gives the first bucket in use, and one past the last.
func (h *histogram) ends() (lo, hi int) {
	for i, word := range h.used {
		if word == 0 {
			continue
		}
		if hi == 0 {
			lo = 64*i + bits.TrailingZeros64(word)
		}
		hi = 64*i + bits.Len64(word)
	}
	return lo, hi
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
			low, width := bucketRange(b)
			return float64(low) + float64(width-1)*(rank-float64(before)+0.5)/float64(n)
		}
		before, last = before+int64(n), b
	}
	return bucketMid(last)
}

// beyond counts the values above limit, and sums them, to the precision of a bucket.
func (h *histogram) beyond(limit float64) (n int64, sum float64) {
	for i := len(h.used) - 1; i >= 0; i-- {
		for word := h.used[i]; word != 0; {
			k := bits.Len64(word) - 1
			word &^= 1 << k
			b := 64*i + k
			mid := bucketMid(b)
			if mid <= limit {
				return n, sum
			}
			n += int64(h.buckets[b])
			sum += mid * float64(h.buckets[b])
		}
	}
	return n, sum
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

// moments gives the coefficient of variation and the excess kurtosis
// m4/m2^2 - 3 (population moments) of the values counted in h, given their
// exact mean and mean square; both are 0 when the values are equal.
//
// The variance is exact. m4 is that of the buckets' middles, plus what the
// spread d within buckets adds, taken as independent of the bucket and
// uniform: 6 x m2(middles) x d + 1.8 x d^2. So a long tail, which the buckets
// resolve, is told from values that share a bucket or two; for such values
// alone, where the middles spread more than the values do, the shape is that
// of the middles.
func (h *histogram) moments(mean, meanSquare float64) (cv, kurtosis float64) {
	exact := meanSquare - mean*mean
	if h.n == 0 || mean <= 0 || exact <= 1e-14*meanSquare {
		return 0, 0
	}
	n, middle := float64(h.n), 0.0
	for b, k := range h.each {
		middle += float64(k) * bucketMid(b)
	}
	middle /= n
	var m2, m4 float64
	for b, k := range h.each {
		c, d := float64(k), bucketMid(b)-middle
		d *= d
		m2 += c * d
		m4 += c * d * d
	}
	m2, m4 = m2/n, m4/n
	if within := exact - m2; within > 0 {
		m4 += 6*m2*within + 1.8*within*within
		m2 = exact
	}
	return math.Sqrt(exact) / mean, m4/(m2*m2) - 3
}
