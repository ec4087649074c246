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
	lo, hi  int // first used bucket, one past the last
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
	return min(e<<histogramBits+int(u>>e), histogramBuckets-1)
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
	if h.n == 0 {
		h.lo, h.hi = b, b+1
	} else {
		h.lo, h.hi = min(h.lo, b), max(h.hi, b+1)
	}
	h.n++
	h.buckets[b]++
}

// merge adds the counts of o.
func (h *histogram) merge(o *histogram) {
	if o.n == 0 {
		return
	}
	if h.n == 0 {
		h.lo, h.hi = o.lo, o.hi
	} else {
		h.lo, h.hi = min(h.lo, o.lo), max(h.hi, o.hi)
	}
	h.n += o.n
	for b := o.lo; b < o.hi; b++ {
		h.buckets[b] += o.buckets[b]
	}
}

// reset empties the histogram at the cost of the buckets in use.
func (h *histogram) reset() {
	clear(h.buckets[h.lo:h.hi])
	h.n, h.lo, h.hi = 0, 0, 0
}

// quantile is the value at rank q x (n-1), the values of a bucket taken as
// evenly spread over it; NaN when empty.
func (h *histogram) quantile(q float64) float64 {
	if h.n == 0 {
		return math.NaN()
	}
	rank := q * float64(h.n-1)
	before := 0.0
	for b := h.lo; b < h.hi; b++ {
		n := float64(h.buckets[b])
		if n > 0 && rank < before+n {
			low, width := bucketRange(b)
			return float64(low) + float64(width-1)*(rank-before+0.5)/n
		}
		before += n
	}
	return bucketMid(h.hi - 1)
}

// beyond counts the values above limit, and sums them, to the precision of a bucket.
func (h *histogram) beyond(limit float64) (n int64, sum float64) {
	for b := h.hi - 1; b >= h.lo; b-- {
		mid := bucketMid(b)
		if mid <= limit {
			break
		}
		n += int64(h.buckets[b])
		sum += mid * float64(h.buckets[b])
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
	for b := h.lo; b < h.hi; b++ {
		middle += float64(h.buckets[b]) * bucketMid(b)
	}
	middle /= n
	var m2, m4 float64
	for b := h.lo; b < h.hi; b++ {
		if c := float64(h.buckets[b]); c > 0 {
			d := bucketMid(b) - middle
			d *= d
			m2 += c * d
			m4 += c * d * d
		}
	}
	m2, m4 = m2/n, m4/n
	if within := exact - m2; within > 0 {
		m4 += 6*m2*within + 1.8*within*within
		m2 = exact
	}
	return math.Sqrt(exact) / mean, m4/(m2*m2) - 3
}
