package generate

import (
	"math"
	"math/rand/v2"
)

// draws says what there is: devices, what works on them, what befalls them. What comes of
// it is drawn from sources of their own (mix).
type draws struct{ *rand.PCG }

// newDraws makes the source of a device: seed says which fleet, stream which of
// its devices.
func newDraws(seed, stream uint64) *draws {
	return &draws{rand.NewPCG(seed, stream*0x9e3779b97f4a7c15+1)}
}

// split makes a source that has nothing to do with this one.
func (d *draws) split() mix { return mix(d.Uint64()) }

// unit is even in [0,1).
func (d *draws) unit() float64 { return unit(d.Uint64()) }

// below is even in [0,n), n below 2^32; the bias of a multiplication is under 2^-32.
func (d *draws) below(n int) int { return below(d.Uint64(), n) }

// between is even in [lo,hi).
func (d *draws) between(lo, hi float64) float64 { return lo + (hi-lo)*d.unit() }

// logBetween is even in the logarithm, for what spans orders of magnitude.
func (d *draws) logBetween(lo, hi float64) float64 {
	return lo * math.Exp(d.unit()*math.Log(hi/lo))
}

// chance is true with probability p.
func (d *draws) chance(p float64) bool { return d.unit() < p }

func pick[T any](d *draws, of ...T) T { return of[d.below(len(of))] }

// unit is even in [0,1) where bits are.
func unit(bits uint64) float64 { return float64(int64(bits>>11)) * 0x1p-53 }

// below is even in [0,n) where bits are.
func below(bits uint64, n int) int { return int((bits >> 32) * uint64(n) >> 32) }

// mix is the source of what happens, of which each load and each device has some:
// SplitMix64 of Steele, Lea and Flood, Fast splittable pseudorandom number generators,
// 2014. Its numbers need nothing of one another but a sum, so that a processor makes
// several at a time.
type mix uint64

// bits are 64 random ones.
func (m *mix) bits() uint64 {
	*m += 0x9e3779b97f4a7c15
	z := uint64(*m)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// unit is even in [0,1).
func (m *mix) unit() float64 { return unit(m.bits()) }

// ahead is how many draws are made at a time, which costs less than one by one.
const ahead = 128

// waits are exponential draws of mean 1, the gaps of a Poisson process.
type waits struct {
	random mix
	at     uint // how many of next were taken
	next   [ahead]float64
}

func newWaits(random mix) *waits { return &waits{random: random, at: ahead} }

// take is the next.
func (w *waits) take() float64 {
	if w.at == ahead {
		w.fill()
	}
	w.at++
	return w.next[(w.at-1)%ahead]
}

//go:noinline
func (w *waits) fill() {
	random := w.random
	for i := range w.next {
		u := random.bits()
		step := &ziggurat[uint8(u>>32)]
		x := float64(uint32(u)) * float64(step.width)
		if uint32(u) >= step.inside {
			x, random = outside(u, random)
		}
		w.next[i] = x
	}
	w.random, w.at = random, 0
}

// outside is the exponential draw of mean 1 where u is random and below no step's inside.
func outside(u uint64, random mix) (float64, mix) {
	for {
		i := uint8(u >> 32)
		step := &ziggurat[i]
		x := float64(uint32(u)) * float64(step.width)
		if uint32(u) < step.inside {
			return x, random
		}
		v := float64(random.bits()<<11>>11) * 0x1p-53
		if i == 0 {
			return zigguratEnd - math.Log(v), random
		}
		if step.height+float32(v)*(ziggurat[i-1].height-step.height) < float32(math.Exp(-x)) {
			return x, random
		}
		u = random.bits()
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
func (s *spread) sample(bits uint32) float64 {
	i := bits >> 24
	return s[i] + (s[i+1]-s[i])*(float64(int32(bits&(1<<24-1)))*0x1p-24)
}

// factors are draws from such a law.
type factors struct {
	law    *spread
	random mix
	at     uint // how many of next were taken
	next   [ahead]float64
}

func newFactors(sigma float64, random mix) *factors {
	return &factors{law: newSpread(sigma), random: random, at: ahead}
}

// take is the next.
func (f *factors) take() float64 {
	if f.at == ahead {
		f.fill()
	}
	f.at++
	return f.next[(f.at-1)%ahead]
}

//go:noinline
func (f *factors) fill() {
	random := f.random
	for i := 0; i < ahead; i += 2 {
		u := random.bits()
		f.next[i], f.next[i+1] = f.law.sample(uint32(u)), f.law.sample(uint32(u>>32))
	}
	f.random, f.at = random, 0
}
