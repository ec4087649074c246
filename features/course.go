package features

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/dsp/fourier"
)

// entropy is the Shannon entropy of the shares of x over log(len(x)): 1 when
// even, 0 when all stands in one place or x sums to 0.
func entropy(x []float64) float64 {
	total := sum(x)
	if total <= 0 || len(x) < 2 {
		return 0
	}
	h := 0.0
	for _, v := range x {
		if v > 0 {
			p := v / total
			h -= p * math.Log(p)
		}
	}
	return h / math.Log(float64(len(x)))
}

func sum(x []float64) float64 {
	s := 0.0
	for _, v := range x {
		s += v
	}
	return s
}

// variation is the coefficient of variation (population) of x; NaN when x is
// empty or its mean is 0.
func variation(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	mean := sum(x) / float64(len(x))
	if mean == 0 {
		return math.NaN()
	}
	m2 := 0.0
	for _, v := range x {
		m2 += (v - mean) * (v - mean)
	}
	return math.Sqrt(m2/float64(len(x))) / math.Abs(mean)
}

// fewPairs is the least number of pairs that a correlation is told from.
const fewPairs = 8

// correlation is Pearson's; NaN with fewer than fewPairs pairs or without variance.
func correlation(x, y []float64) float64 {
	n := float64(len(x))
	if len(x) < fewPairs {
		return math.NaN()
	}
	mx, my := sum(x)/n, sum(y)/n
	var xx, yy, xy float64
	for i := range x {
		dx, dy := x[i]-mx, y[i]-my
		xx, yy, xy = xx+dx*dx, yy+dy*dy, xy+dx*dy
	}
	// Below this the differences are rounding, not a course.
	if xx <= 1e-18*mx*mx*n || yy <= 1e-18*my*my*n {
		return math.NaN()
	}
	return min(max(xy/math.Sqrt(xx*yy), -1), 1)
}

// topShare is the share of the sum of x, none of which is below 0, that its
// largest tenth holds; NaN when the sum is 0.
func (c *calculator) topShare(x []float64) float64 {
	total := sum(x)
	if total <= 0 {
		return math.NaN()
	}
	top := max(len(x)/10, 1)
	c.pairs(len(x))
	for _, v := range x {
		if v > 0 {
			c.x = append(c.x, v)
		}
	}
	slices.Sort(c.x)
	return sum(c.x[max(len(c.x)-top, 0):]) / total
}

// directLags bounds the length for which autocorrelations are summed
// directly; longer series go through a Fourier transform.
const directLags = 1024

// autocorrelator finds the strongest autocorrelation of a series; it keeps
// its scratch between calls.
type autocorrelator struct {
	centred []float64
	padded  []float64
	coeff   []complex128
	fft     *fourier.FFT
}

// peak gives the highest autocorrelation (biased: over the sum of squares of
// the whole series) among the lags from..to-1, and its lag; 0, 0 when there
// is no lag or no variance.
func (a *autocorrelator) peak(x []float64, from, to int) (r float64, lag int) {
	n := len(x)
	to = min(to, n)
	if from >= to {
		return 0, 0
	}
	mean, power := sum(x)/float64(n), 0.0
	a.centred = a.centred[:0]
	for _, v := range x {
		a.centred = append(a.centred, v-mean)
		power += (v - mean) * (v - mean)
	}
	if power <= 0 {
		return 0, 0
	}
	if n > directLags {
		a.transform()
	} else {
		a.direct(from, to)
	}
	r, lag = math.Inf(-1), 0
	for k := from; k < to; k++ {
		if p := a.padded[k] / power; p > r {
			r, lag = p, k
		}
	}
	return r, lag
}

// direct leaves the sums of lagged products in padded, from a lag to before
// another. Four lags go together: a sum waits for itself alone.
func (a *autocorrelator) direct(from, to int) {
	x := a.centred
	n := len(x)
	if len(a.padded) < n {
		a.padded = make([]float64, n)
		a.fft = nil
	}
	k := from
	for ; k+4 <= to; k += 4 {
		var s0, s1, s2, s3 float64
		last := n - k - 3 // products that all four have
		y := x[k:]
		for i, v := range x[:last] {
			z := y[i : i+4 : i+4]
			s0 += v * z[0]
			s1 += v * z[1]
			s2 += v * z[2]
			s3 += v * z[3]
		}
		s0 += x[last] * y[last]
		s0 += x[last+1] * y[last+1]
		s0 += x[last+2] * y[last+2]
		s1 += x[last] * y[last+1]
		s1 += x[last+1] * y[last+2]
		s2 += x[last] * y[last+2]
		a.padded[k], a.padded[k+1], a.padded[k+2], a.padded[k+3] = s0, s1, s2, s3
	}
	for ; k < to; k++ {
		s := 0.0
		y := x[k:]
		for i, v := range x[:n-k] {
			s += v * y[i]
		}
		a.padded[k] = s
	}
}

// transform leaves the sums of lagged products of centred in padded
// (Wiener-Khinchin, zero-padded to twice the length).
func (a *autocorrelator) transform() {
	n := 2 * len(a.centred)
	if a.fft == nil || a.fft.Len() != n || len(a.padded) != n {
		a.fft = fourier.NewFFT(n)
		a.padded = make([]float64, n)
		a.coeff = make([]complex128, n/2+1)
	}
	clear(a.padded[copy(a.padded, a.centred):])
	a.fft.Coefficients(a.coeff, a.padded)
	for i, c := range a.coeff {
		a.coeff[i] = complex(real(c)*real(c)+imag(c)*imag(c), 0)
	}
	a.fft.Sequence(a.padded, a.coeff)
	for i := range a.padded {
		a.padded[i] /= float64(n)
	}
}
