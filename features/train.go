package features

import (
	"math"
	"slices"
)

// A train is bursts that follow one another in time. Those of several programs
// with one period each lie between each other, so that the times from burst to
// burst are no period, and others do: nearly every burst has one a period later.
const (
	mostBursts    = 1024 // of a window, whose starts are kept
	fewBursts     = 6    // below which no period is told
	smallBurst    = 4    // times smaller than the largest, which is no burst of the train
	trainSteps    = 16   // bursts that a burst is compared with
	trainCycles   = 4    // that a window must hold
	trainEqual    = 0.08 // distances that differ by less count as equal
	trainChance   = 0.5  // of the bursts that would have one by chance, above which nothing can be told
	trainShare    = 0.6  // of the bursts that have one a period later, beyond chance
	trainPeakWide = 1.15 // a higher share no more than this beyond the first that is high enough is its peak
)

// burst is a group of arrivals.
type burst struct {
	startNS, size int64
}

// train is the period of the window's bursts in seconds by the distances between
// their starts (the histogram of intervals of all orders, Perkel, Gerstein and
// Moore, 1967): the shortest distance at which, beyond what as many bursts at
// random would have, most bursts have another. NaN tells none.
func (c *calculator) train(line *sweep) float64 {
	largest := int64(0)
	for _, b := range line.bursts {
		largest = max(largest, b.size)
	}
	starts := c.starts[:0]
	for _, b := range line.bursts {
		if smallBurst*b.size >= largest {
			starts = append(starts, b.startNS)
		}
	}
	c.starts = starts
	n := len(starts)
	if n < fewBursts {
		return math.NaN()
	}
	span := starts[n-1] - starts[0]
	apart := c.apart[:0]
	for i := range starts {
		for _, later := range starts[i+1 : min(i+1+trainSteps, n)] {
			if d := later - starts[i]; d <= span/trainCycles {
				apart = append(apart, d)
			}
		}
	}
	c.apart = apart
	slices.Sort(apart)

	best, from, to, first := 0.0, 0, 0, 0.0
	for i, low, high := 0, 0, 0; i < len(apart); i++ {
		d := float64(apart[i])
		for float64(apart[low]) < (1-trainEqual)*d {
			low++
		}
		for high < len(apart) && float64(apart[high]) <= (1+trainEqual)*d {
			high++
		}
		if first > 0 && d > trainPeakWide*first {
			break
		}
		with := float64(high-low) / max(float64(n)*(1-d/float64(span)), 1)
		chance := 2 * trainEqual * d * float64(n) / float64(span)
		if chance > trainChance {
			break
		}
		share := (with - chance) / (1 - chance)
		if share < trainShare {
			continue
		}
		if first == 0 {
			first = d
		}
		if share > best {
			best, from, to = share, low, high
		}
	}
	if best == 0 {
		return math.NaN()
	}
	return float64(apart[(from+to-1)/2]) / 1e9
}
