package generate

import "math"

// draws is the source of numbers of one device: those of math/rand/v2's PCG, made
// ahead, since what stays in registers from one to the next costs half.
type draws struct {
	pcg  pcg
	at   uint // how many of next were drawn
	next [ahead]uint64
}

const ahead = 128

// newDraws makes the source of a device: seed says which fleet, stream which of
// its devices.
func newDraws(seed, stream uint64) *draws {
	return &draws{pcg: pcg{seed, stream*0x9e3779b97f4a7c15 + 1}, at: ahead}
}

// bits are 64 random ones.
func (d *draws) bits() uint64 {
	if d.at == ahead {
		d.fill()
	}
	d.at++
	return d.next[(d.at-1)%ahead]
}

//go:noinline
func (d *draws) fill() {
	d.pcg.fill(&d.next)
	d.at = 0
}

// unit is even in [0,1).
func (d *draws) unit() float64 { return unit(d.bits()) }

// below is even in [0,n), n below 2^32; the bias of a multiplication is under 2^-32.
func (d *draws) below(n int) int { return below(d.bits(), n) }

// unit is even in [0,1) where bits are.
func unit(bits uint64) float64 { return float64(int64(bits>>11)) * 0x1p-53 }

// below is even in [0,n) where bits are.
func below(bits uint64, n int) int { return int((bits >> 32) * uint64(n) >> 32) }

// between is even in [lo,hi).
func (d *draws) between(lo, hi float64) float64 { return lo + (hi-lo)*d.unit() }

// logBetween is even in the logarithm, for what spans orders of magnitude.
func (d *draws) logBetween(lo, hi float64) float64 {
	return lo * math.Exp(d.unit()*math.Log(hi/lo))
}

// chance is true with probability p.
func (d *draws) chance(p float64) bool { return d.unit() < p }

// wait is exponential with this mean: the gap of a Poisson process.
func (d *draws) wait(mean float64) float64 { return mean * d.exponential(d.bits()) }

// exponential is of mean 1, where u is random.
func (d *draws) exponential(u uint64) float64 {
	for {
		i := uint8(u >> 32)
		step := &ziggurat[i]
		x := float64(uint32(u)) * float64(step.width)
		if uint32(u) < step.inside {
			return x
		}
		v := float64(d.bits()<<11>>11) * 0x1p-53
		if i == 0 {
			return zigguratEnd - math.Log(v)
		}
		if step.height+float32(v)*(ziggurat[i-1].height-step.height) < float32(math.Exp(-x)) {
			return x
		}
		u = d.bits()
	}
}

// ziggurat is the exponential law as 256 steps of equal area under exp(-x): Marsaglia
// and Tsang, The ziggurat method for generating random variables, 2000.
var ziggurat = func() (steps [256]struct {
	inside        uint32 // below it, bits fall under the curve whatever their height
	width, height float32
}) {
	const area, scale = 3.949659822581557e-3, 1 << 32
	last := len(steps) - 1
	x, before := zigguratEnd, zigguratEnd
	bottom := area / math.Exp(-x)
	steps[0].inside, steps[0].width, steps[0].height = uint32(x/bottom*scale), float32(bottom/scale), 1
	steps[last].width, steps[last].height = float32(x/scale), float32(math.Exp(-x))
	for i := last - 1; i > 0; i-- {
		x = -math.Log(area/x + math.Exp(-x))
		steps[i+1].inside = uint32(x / before * scale)
		before = x
		steps[i].width, steps[i].height = float32(x/scale), float32(math.Exp(-x))
	}
	return steps
}()

// zigguratEnd is where the tail begins.
const zigguratEnd = 7.69711747013104972

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

// sample is a draw from the law where bits are random.
func (s *spread) sample(bits uint64) float64 {
	i := bits >> 56
	return s[i] + (s[i+1]-s[i])*(float64(int64(bits&(1<<56-1)))*0x1p-56)
}
