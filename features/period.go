package features

import "math"

const (
	periodWindows = 3    // windows that a long period is read from
	periodBins    = 25   // of a window, for that
	periodShare   = 0.5  // of the time that lies in equal gaps between arrivals
	periodic      = 0.35 // autocorrelation of arrivals that tells a period
	gapBuckets    = 5    // of a histogram: gaps within 8 % count as equal
)

// period is the period of arrivals in seconds, or NaN. Bursts tell it by their
// starts, whatever arrives between them (train.go). Where there are none, one under
// three ticks is read from the gaps between arrivals: when at least half of the time
// lies in gaps of one length, they part the bursts. One of up to half a window is
// read from the autocorrelation of the ticks, a longer one from that of the
// last windows in coarser bins.
func (c *calculator) period(p *part) float64 {
	if train := c.train(p.line); train > 0 {
		return train
	}
	spacing := c.spacing(p)
	tick := float64(c.o.TickNS) / 1e9
	if spacing < firstLag*tick {
		return spacing
	}
	if len(p.rows) < c.o.MinTicks {
		return spacing
	}
	if p.peakArrivals >= periodic {
		return float64(p.peakLag) * tick
	}
	if n := len(c.history); n >= 2*periodBins {
		r, lag := c.auto.peak(c.history, periodBins/2, n/2)
		if r >= periodic {
			return float64(lag) * float64(c.o.WindowNS) / periodBins / 1e9
		}
	}
	return spacing
}

// spacing is the mean time per gap of the commonest length, or NaN.
func (c *calculator) spacing(p *part) float64 {
	if p.line.spacing.n < fewPairs {
		return math.NaN()
	}
	c.arrived.fill(&p.line.spacing)
	rows := c.arrived.rows
	sums := room(&c.x, len(rows))
	for i, r := range rows {
		sums[i] = float64(r.n) * r.mid
	}
	total, within, count := 0.0, 0.0, int64(0)
	best, bestCount := 0.0, int64(0)
	out := 0 // the first that has not left
	for i, r := range rows {
		for ; rows[out].bucket+gapBuckets < r.bucket; out++ {
			within -= sums[out]
			count -= int64(rows[out].n)
		}
		total += sums[i]
		within += sums[i]
		count += int64(r.n)
		if rows[out].bucket+gapBuckets == r.bucket {
			within -= sums[out]
			count -= int64(rows[out].n)
			out++
		}
		if within > best {
			best, bestCount = within, count
		}
	}
	if best < periodShare*total || bestCount < fewPairs {
		return math.NaN()
	}
	return total / 1e9 / float64(bestCount)
}

// remember keeps the arrivals of a window for the next ones; a window that is
// not covered whole starts anew.
func (c *calculator) remember(arrivals []float64, full bool) {
	if !full {
		c.history = c.history[:0]
		return
	}
	if len(c.history) >= periodWindows*periodBins {
		c.history = c.history[:copy(c.history, c.history[periodBins:])]
	}
	from := len(c.history)
	for range periodBins {
		c.history = append(c.history, 0)
	}
	bins := c.history[from:]
	for i, n := range arrivals {
		bins[i*periodBins/len(arrivals)] += n
	}
}
