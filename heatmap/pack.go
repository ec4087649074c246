package heatmap

import "math"

// Code is a log code of values: 0 missing, 1 zero, and 2..Top-1 from Low up
// by PerDecade codes a decade, so that each value is known within half a step.
type Code struct {
	Low       float64 `json:"low"`
	PerDecade float64 `json:"per_decade"`
	Top       int     `json:"top"` // number of codes, at most 65536
}

// NewCode spreads 2^bits codes over [low, high].
func NewCode(low, high float64, bits int) Code {
	top := 1 << bits
	return Code{Low: low, PerDecade: float64(top-3) / math.Log10(high/low), Top: top}
}

// Encode gives the code of v; values beyond the ends take the end's code.
func (c Code) Encode(v float64) uint16 {
	return c.encode(v, math.Log(c.Low))
}

// encode is Encode with the logarithm of Low, which is the same for all.
func (c Code) encode(v, low float64) uint16 {
	switch {
	case math.IsNaN(v):
		return 0
	case v <= 0:
		return 1
	}
	n := math.Round((math.Log(v) - low) * c.PerDecade / math.Ln10)
	return uint16(2 + max(0, min(n, float64(c.Top-3))))
}

// Decode gives the value of a code; NaN for missing.
func (c Code) Decode(code uint16) float64 {
	switch code {
	case 0:
		return math.NaN()
	case 1:
		return 0
	}
	return c.Low * math.Pow(10, float64(code-2)/c.PerDecade)
}

// Packed is a raster as planes of bytes. Values holds what each cell's IOPS
// code is beyond that of the cell before it (modulo the number of codes; 0 is
// before the first), in zigzag (0, -1, 1, -2 as 0, 1, 2, 3): the high bytes of
// all cells, then the low bytes; then the same for latency and depth. Windows
// are mostly like those before them, so such planes compress well. Steps tells
// which colour a code has.
type Packed struct {
	Codes  [3]Code
	Values []byte
	// Steps: by channel, the first code at which the colour byte is at least
	// b+1 (at most 255-b for latency, where more is darker), for b = 0..254.
	Steps [3][255]uint16
	State []byte // State by cell
}

// codeBits is the precision of packed values: a step of 0.05 % while the page
// stays small, 0.6 % beyond fineCells.
const (
	codeBits   = 16
	coarseBits = 12
	fineCells  = 300_000
)

// Pack codes the raster for a page. A colour made from codes differs from
// the exact one by no more than the code's precision.
func (r *Raster) Pack(s Scale) Packed {
	bits := codeBits
	if r.Cols*r.Rows > fineCells {
		bits = coarseBits
	}
	p := Packed{Codes: [3]Code{NewCode(1e-3, 1e8, bits), NewCode(1e-4, 1e6, bits), NewCode(1e-3, 1e5, bits)}}
	n := r.Cols * r.Rows
	p.Values = make([]byte, 6*n)
	for k, plane := range [][]float32{r.IOPS, r.LatencyMS, r.Depth} {
		high, low := p.Values[2*k*n:(2*k+1)*n], p.Values[(2*k+1)*n:(2*k+2)*n]
		code, log, spare := p.Codes[k], math.Log(p.Codes[k].Low), 16-bits
		before := uint16(0)
		for i, v := range plane {
			c := code.encode(float64(v), log)
			step := int16((c-before)<<spare) >> spare // signed, of so many bits
			zigzag := uint16(step<<1) ^ uint16(step>>15)
			high[i], low[i], before = byte(zigzag>>8), byte(zigzag), c
		}
		p.Steps[k] = steps(k, p.Codes[k], s)
	}
	p.State = make([]byte, n)
	for i, st := range r.State {
		p.State[i] = byte(st)
	}
	return p
}

// steps finds by bisection where the colour byte of a channel changes: it is
// monotone in the code.
func steps(channel int, code Code, s Scale) (out [255]uint16) {
	value := func(c int) uint8 {
		v := code.Decode(uint16(c))
		switch channel {
		case 0:
			return s.Color(v, 0, 0)[0]
		case 1:
			return 255 - s.Color(0, v, 0)[1]
		default:
			return s.Color(0, 0, v)[2]
		}
	}
	for b := range 255 {
		lo, hi := 1, code.Top // hi: none
		for lo < hi {
			mid := (lo + hi) / 2
			if int(value(mid)) >= b+1 {
				hi = mid
			} else {
				lo = mid + 1
			}
		}
		out[b] = uint16(min(lo, 65535))
	}
	return out
}
