package features

import (
	"math"
	"math/bits"
)

// tally is the buckets in use of one or more histograms, ascending, laid out
// for several questions; it keeps its memory between calls of fill.
type tally struct {
	n    int64
	rows []tallyRow
}

type tallyRow struct {
	mid    float64 // the mean of the bucket
	bucket int32
	n      uint32
}

// fill makes it the sum of histograms.
func (c *tally) fill(first *histogram, more ...*histogram) {
	rows := c.rows[:0]
	c.n = first.n
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
			rows = append(rows, tallyRow{bucketMid(b), int32(b), n})
		}
	}
	c.rows = rows
}

// quantile is that of the histogram.
func (c *tally) quantile(q float64) float64 {
	if c.n == 0 {
		return math.NaN()
	}
	rank := q * float64(c.n-1)
	whole, before := int64(rank), int64(0)
	for i := range c.rows {
		r := &c.rows[i]
		if whole < before+int64(r.n) {
			return within(int(r.bucket), r.n, rank-float64(before))
		}
		before += int64(r.n)
	}
	return c.rows[len(c.rows)-1].mid
}

// beyond counts the values above limit, and sums them, to the precision of a bucket.
func (c *tally) beyond(limit float64) (n int64, sum float64) {
	for i := len(c.rows) - 1; i >= 0 && c.rows[i].mid > limit; i-- {
		n += int64(c.rows[i].n)
		sum += c.rows[i].mid * float64(c.rows[i].n)
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
	for _, r := range c.rows {
		middle += float64(r.n) * r.mid
	}
	middle /= n
	var m2, m4 float64
	for _, r := range c.rows {
		w, d := float64(r.n), r.mid-middle
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
