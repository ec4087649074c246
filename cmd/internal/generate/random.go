package generate

import (
	"math"
	"math/rand/v2"
)

// draws is the source of numbers of one device.
type draws struct {
	pcg  rand.PCG
	rand *rand.Rand // over pcg
}

// newDraws makes the source of a device: seed says which fleet, stream which of
// its devices.
func newDraws(seed, stream uint64) *draws {
	d := new(draws)
	d.pcg.Seed(seed, stream*0x9e3779b97f4a7c15+1)
	d.rand = rand.New(&d.pcg)
	return d
}

// unit is even in [0,1).
func (d *draws) unit() float64 { return float64(d.pcg.Uint64()>>11) * 0x1p-53 }

// below is even in [0,n), n below 2^32; the bias of a multiplication is under 2^-32.
func (d *draws) below(n int) int { return int((d.pcg.Uint64() >> 32) * uint64(n) >> 32) }

// between is even in [lo,hi).
func (d *draws) between(lo, hi float64) float64 { return lo + (hi-lo)*d.unit() }

// logBetween is even in the logarithm, for what spans orders of magnitude.
func (d *draws) logBetween(lo, hi float64) float64 {
	return lo * math.Exp(d.unit()*math.Log(hi/lo))
}

// chance is true with probability p.
func (d *draws) chance(p float64) bool { return d.unit() < p }

// wait is exponential with this mean: the gap of a Poisson process.
func (d *draws) wait(mean float64) float64 { return d.rand.ExpFloat64() * mean }

func pick[T any](d *draws, of ...T) T { return of[d.below(len(of))] }

// spread is a log-normal law of median 1 as a table of quantiles, between which
// sample goes straight.
type spread [257]float64

func newSpread(sigma float64) *spread {
	s := new(spread)
	for i := range s {
		p := (float64(i) + 0.5) / float64(len(s))
		s[i] = math.Exp(sigma * math.Sqrt2 * math.Erfinv(2*p-1))
	}
	return s
}

func (s *spread) sample(d *draws) float64 {
	u := d.pcg.Uint64()
	i := u >> 56
	f := float64(u&(1<<56-1)) * 0x1p-56
	return s[i] + (s[i+1]-s[i])*f
}
