package features

import (
	"math"
	"slices"
)

const (
	fullSecond     = 0.95 // busy share from which on a second is full
	fewFull        = 3    // full seconds that tell a ceiling
	ceilingSpread  = 0.1  // spread at which a ceiling is worth 1/e
	partsOfWindow  = 10   // where ticks or window don't fit whole seconds
	nanosPerSecond = int64(1e9)
)

// seconds fills the facts that read the window by aligned seconds: token
// buckets and pacing show their own beat at finer bins. Where whole seconds
// don't fit ticks and window, a tenth of the window stands for a second.
func (c *calculator) seconds(f *Context, p *part, timed bool) {
	length := nanosPerSecond
	if length%c.o.TickNS != 0 || c.o.WindowNS%length != 0 {
		length = (c.o.WindowNS/c.o.TickNS + partsOfWindow - 1) / partsOfWindow * c.o.TickNS
	}
	start := floorDiv(p.rows[0].StartNS, c.o.WindowNS) * c.o.WindowNS
	full, mostWritten := 0, int64(0)
	c.x = c.x[:0]
	for i := 0; i < len(p.rows); {
		var bytes, written, busy int64
		for second := (p.rows[i].StartNS - start) / length; i < len(p.rows) && (p.rows[i].StartNS-start)/length == second; i++ {
			bytes += p.rows[i].Bytes()
			written += p.rows[i].WriteBytes
			busy += p.rows[i].BusyNS
		}
		mostWritten = max(mostWritten, written)
		if float64(busy) >= fullSecond*float64(length) {
			full++
			c.x = append(c.x, float64(bytes))
		}
	}
	f[CtxWritePeakBytes] = float64(mostWritten)
	if !timed {
		return
	}
	f[CtxFullSeconds] = float64(full) / math.Max(float64(int64(len(p.rows))*c.o.TickNS)/float64(length), 1)
	f[CtxCeiling] = 0
	if full < fewFull {
		return
	}
	mid := median(c.x)
	if mid <= 0 {
		return
	}
	for i, v := range c.x {
		c.x[i] = math.Abs(v - mid)
	}
	f[CtxCeilingSpread] = 1.4826 * median(c.x) / mid
	size := clip(math.Log10(ratio(float64(p.a.sizedBytes), float64(p.a.sized)))-plateauSize, 0, 1)
	f[CtxCeiling] = math.Sqrt(f[CtxFullSeconds]*math.Exp(-f[CtxCeilingSpread]/ceilingSpread)) * size
}

// median sorts x.
func median(x []float64) float64 {
	slices.Sort(x)
	n := len(x)
	if n%2 == 1 {
		return x[n/2]
	}
	return (x[n/2-1] + x[n/2]) / 2
}
