package generate

import "math/bits"

// pcg is the generator of math/rand/v2's PCG, the state of which is not to be had: a
// linear congruence of 128 bits, its output by O'Neill's double xorshift multiply.
// TestDraws holds it to that one.
type pcg struct{ high, low uint64 }

// fill gives the next numbers.
func (p *pcg) fill(to *[ahead]uint64) {
	// The multiplier and the increment of the congruence, and the output's multiplier.
	const (
		timesHigh, timesLow = 2549297995355413924, 4865540595714422341
		plusHigh, plusLow   = 6364136223846793005, 1442695040888963407
		cheap               = 0xda942042e4dd58b5
	)
	h, l := p.high, p.low
	for i := range to {
		over, low := bits.Mul64(l, timesLow)
		next, carry := bits.Add64(low, plusLow, 0)
		over += l*timesHigh + plusHigh + carry
		h, l = h*timesLow+over, next // nothing else is in the way from one to the next
		v := h
		v ^= v >> 32
		v *= cheap
		v ^= v >> 48
		to[i] = v * (l | 1)
	}
	p.high, p.low = h, l
}
