package features

import (
	"math"
	"math/bits"
)

// tally is the buckets in use of one or more histograms, ascending, laid out
// for several questions; it keeps its memory between calls of fill.
type tally struct {
	n       int64
	buckets []int32
	counts  []uint32
	mids    []float64 // the means of the buckets
}

// fill makes it the sum of histograms.
func (c *tally) fill(first *histogram, more ...*histogram) {
	c.n, c.buckets, c.counts, c.mids = first.n, c.buckets[:0], c.counts[:0], c.mids[:0]
	for _, h := range more {
		c.n += h.n
	}
	for i, word := range first.used {
		for _, h := range more {
			word |= h.used[i]
		}
		for ; word != 0; word &= word - 1 {
			b := 64*i + bits.TrailingZeros64(word)
			n := first.buckets[b]
			for _, h := range more {
				n += h.buckets[b]
			}
			c.buckets, c.counts, c.mids = append(c.buckets, int32(b)), append(c.counts, n), append(c.mids, bucketMid(b))
		}
	}
}

// quantile is that of the histogram.
func (c *tally) quantile(q float64) float64 {
	if c.n == 0 {
		return math.NaN()
	}
	rank := q * float64(c.n-1)
	whole, before := int64(rank), int64(0)
	for i, n := range c.counts {
		if whole < before+int64(n) {
			return within(int(c.buckets[i]), n, rank-float64(before))
		}
		before += int64(n)
	}
	return c.mids[len(c.mids)-1]
}

// beyond counts the values above limit, and sums them, to the precision of a bucket.
func (c *tally) beyond(limit float64) (n int64, sum float64) {
	for i := len(c.mids) - 1; i >= 0 && c.mids[i] > limit; i-- {
		n += int64(c.counts[i])
		sum += c.mids[i] * float64(c.counts[i])
	}
	return n, sum
}

// moments gives the coefficient of variation and the excess kurtosis
// m4/m2^2 - 3 (population moments) of the values, given their
// exact mean and mean square; both are 0 when the values are equal.
//
// The variance is exact. m4 is that of the buckets' middles, plus what the
// spread d within buckets adds, taken as independent of the bucket and
// uniform: 6 x m2(middles) x d + 1.8 x d^2. So a long tail, which the buckets
// resolve, is told from values that share a bucket or two; for such values
// alone, where the middles spread more than the values do, the shape is that
// of the middles.
func (c *tally) moments(mean, meanSquare float64) (cv, kurtosis float64) {
	exact := meanSquare - mean*mean
	if c.n == 0 || mean <= 0 || exact <= 1e-14*meanSquare {
		return 0, 0
	}
	n, middle := float64(c.n), 0.0
	for i, k := range c.counts {
		middle += float64(k) * c.mids[i]
	}
	middle /= n
	var m2, m4 float64
	for i, k := range c.counts {
		w, d := float64(k), c.mids[i]-middle
		d *= d
		m2 += w * d
		m4 += w * d * d
	}
	m2, m4 = m2/n, m4/n
	if within := exact - m2; within > 0 {
		m4 += 6*m2*within + 1.8*within*within
		m2 = exact
	}
	return math.Sqrt(exact) / mean, m4/(m2*m2) - 3
}
