package analysis

import (
	"fmt"
	"math"
	"strings"

	"github.com/iopathy/iopathy/features"
)

const (
	rhythmLeastBins   = 100 // of a stretch
	rhythmLeast       = 30  // requests of a command
	rhythmShortest    = 4   // bins of a period
	rhythmCycles      = 5   // that must be seen
	rhythmStrength    = 0.3 // of the peak of the autocorrelation over the valleys beside it
	rhythmDeviations  = 12  // over the root of the bins: as much the largest of all lags has by chance, peak to valley
	rhythmFundamental = 0.7 // of the highest peak: the first that is as high is the period, the others its multiples
	rhythmAbove       = 1.3 // times the mean in the peak of a cycle that counts as seen
	rhythmHarmonic    = 2   // times the power of the fundamental, from which on a harmonic is the period itself
	rhythmMost        = 0.5 // of the device's requests in the peaks, of a culprit
)

// rhythmOf is the period of one series of arrivals.
type rhythmOf struct {
	command  string
	period   float64 // bins
	phase    float64 // bins from the start to the middle of the first peak
	strength float64
	cycles   int   // from the first to the last in which the peak is seen
	seen     int   // of them
	within   int64 // arrivals in the peaks
	excess   float64
	total    int64
}

// Periodic tells whether arrivals come with a period, and whose they are: of the
// stretch that features.Rhythm keeps. A period is the first high peak of the
// autocorrelation (Box and Jenkins, Time Series Analysis, 1970), made finer by
// the maximum of the periodogram beside it and by a line through the middles of
// the peaks; the phase is the circular mean of the arrivals in them. It abstains below rhythmStrength, as from Poisson arrivals.
func Periodic(key features.Key, p *features.Profile) Finding {
	f := Finding{Kind: PeriodicCulprit, Key: key}
	r := p.Rhythm()
	var total []int64
	for _, l := range r.Lines {
		if total == nil {
			total = make([]int64, len(l.Arrivals))
		}
		for i, n := range l.Arrivals {
			total[i] += n
		}
	}
	bin := float64(r.BinNS) / 1e9
	if len(total) < rhythmLeastBins {
		f.Says = fmt.Sprintf("whether requests come with a period can't be told: arrivals are known over %s, %s are needed", seconds(float64(len(total))*bin), seconds(rhythmLeastBins*bin))
		return f
	}
	best, all, strongest := rhythmOf{}, []rhythmOf(nil), 0.0
	for _, l := range r.Lines {
		x, ok := periodOf(l.Arrivals)
		strongest = math.Max(strongest, x.strength)
		if x.command = l.Command; ok && x.command != "" {
			all = append(all, x)
			if x.excess > best.excess {
				best = x
			}
		}
	}
	known := best.command != ""
	if !known {
		x, ok := periodOf(total)
		if strongest = math.Max(strongest, x.strength); !ok {
			f.Says = fmt.Sprintf("no period of arrivals can be told over %s: the strongest has %.2g of the %.2g that are needed", seconds(float64(len(total))*bin), strongest, leastStrength(len(total)))
			return f
		}
		best = x
	}
	device, sum := best.inPeaks(total), int64(0)
	for _, n := range total {
		sum += n
	}
	share := ratio(best.within, device)
	f.Told = true
	f.FromNS, f.ToNS = r.StartNS, r.StartNS+int64(len(total))*r.BinNS
	period, apart := best.period*bin, bin/2/float64(best.cycles)
	first := float64(r.StartNS%86_400e9)/1e9 + best.phase*bin
	f.Figures = append(f.Figures, Figure{"period", "s", period, period - apart, period + apart}, figure("first peak, from midnight UTC", "s", first),
		figure("strength", "0..1", best.strength), figure("cycles", "1", float64(best.cycles)), figure("cycles whose peak is seen", "1", float64(best.seen)),
		figure("share of all requests that are in the peaks", "0..1", ratio(device, sum)))
	if !known {
		f.Holds = 2*device >= sum
		f.Says = fmt.Sprintf("requests come every %s (± %s), over %d cycles; whose they are can't be told: no one command has that period", seconds(period), seconds(apart), best.cycles)
		return f
	}
	f.Holds = share >= rhythmMost
	f.Figures = append(f.Figures, figure("the command's share of the requests in the peaks", "0..1", share), figure("share of the command's requests that are in the peaks", "0..1", ratio(best.within, best.total)))
	f.Says = fmt.Sprintf("requests of %s come every %s (± %s), over %d cycles: %.0f %% of the requests in those peaks are its own", plain(best.command), seconds(period), seconds(apart), best.cycles, 100*share)
	if !f.Holds {
		f.Says += ", so it is not what fills them"
	}
	var others []string
	for _, x := range all {
		if x.command != best.command {
			others = append(others, fmt.Sprintf("%s every %s", plain(x.command), seconds(x.period*bin)))
		}
	}
	if len(others) > 0 {
		f.Says += "; also " + strings.Join(others[:min(len(others), 3)], ", ")
	}
	return f
}

func leastStrength(bins int) float64 {
	return math.Max(rhythmStrength, rhythmDeviations/math.Sqrt(float64(bins)))
}

// periodOf finds the period of a series; ok is false if none is sure. The
// strength is that of the best peak all the same.
func periodOf(counts []int64) (x rhythmOf, ok bool) {
	n := len(counts)
	for _, c := range counts {
		x.total += c
	}
	if x.total < rhythmLeast {
		return x, false
	}
	mean := ratio(x.total, int64(n))
	at := func(i int) float64 { return float64(counts[min(max(i, 0), n-1)]) - mean }
	smooth := make([]float64, n) // so that a period between two bins has one peak
	for i := range smooth {
		smooth[i] = (at(i-1) + 2*at(i) + at(i+1)) / 4
	}
	longest := n / rhythmCycles
	r := autocorrelation(smooth, 2*longest)
	if r == nil {
		return x, false
	}
	prominence := func(lag int) float64 {
		left, right := 1.0, 1.0
		for k := 1; k < lag; k++ {
			left = math.Min(left, r[k])
		}
		for k := lag + 1; k <= 2*lag; k++ {
			right = math.Min(right, r[k])
		}
		return r[lag] - math.Max(left, right)
	}
	type peak struct {
		lag      int
		strength float64
	}
	var peaks []peak
	highest := 0.0
	for lag := rhythmShortest; lag <= longest; lag++ {
		if r[lag] <= 0 || r[lag] < r[lag-1] || r[lag] < r[lag+1] {
			continue
		}
		s := math.Min(prominence(lag), 1)
		x.strength = math.Max(x.strength, s)
		if s >= leastStrength(n) {
			peaks = append(peaks, peak{lag, s})
			highest = math.Max(highest, r[lag])
		}
	}
	for _, p := range peaks {
		if r[p.lag] >= rhythmFundamental*highest {
			x.strength = p.strength
			x.refine(smooth, p.lag)
			x.straighten(counts, mean)
			x.straighten(counts, mean)
			return x, x.fold(counts, mean) && !x.shorter(counts, mean)
		}
	}
	return x, false
}

// autocorrelation of a series about 0, for lags up to the given; nil if it
// is all 0.
func autocorrelation(v []float64, lags int) []float64 {
	n := len(v)
	r := make([]float64, lags+1)
	for lag := range r {
		sum := 0.0
		for i := range n - lag {
			sum += v[i] * v[i+lag]
		}
		r[lag] = sum / float64(n-lag)
	}
	if r[0] <= 0 {
		return nil
	}
	for lag := lags; lag >= 0; lag-- {
		r[lag] /= r[0]
	}
	return r
}

// wave is the Fourier sum of a series at a frequency in cycles per bin.
func wave(v []float64, f float64) (re, im float64) {
	s, c := math.Sincos(2 * math.Pi * f)
	ur, ui := 1.0, 0.0
	for _, y := range v {
		re, im = re+y*ur, im+y*ui
		ur, ui = ur*c-ui*s, ur*s+ui*c
	}
	return re, im
}

func power(v []float64, f float64) float64 {
	re, im := wave(v, f)
	return re*re + im*im
}

// shorter tells a period that is only a multiple of one too short for the
// bins: the fundamental is weak beside a harmonic.
func (x *rhythmOf) shorter(counts []int64, mean float64) bool {
	v := make([]float64, len(counts))
	for i, n := range counts {
		v[i] = float64(n) - mean
	}
	own := power(v, 1/x.period)
	for k := 2.0; k <= x.period/2 && k <= 16; k++ {
		if power(v, k/x.period) > rhythmHarmonic*own {
			return true
		}
	}
	return false
}

// refine sets period and phase: the frequency near 1/lag at which the
// periodogram is highest.
func (x *rhythmOf) refine(v []float64, lag int) {
	step := 1 / (8 * float64(len(v)))
	best, most := 1/float64(lag), -1.0
	for f := 1 / (float64(lag) + 0.75); f <= 1/(float64(lag)-0.75); f += step {
		if p := power(v, f); p > most {
			best, most = f, p
		}
	}
	for range 12 {
		step /= 2
		for _, f := range [2]float64{best - step, best + step} {
			if p := power(v, f); p > most {
				best, most = f, p
			}
		}
	}
	x.period = 1 / best
	re, im := wave(v, best)
	x.phase = math.Atan2(im, re)/(2*math.Pi)*x.period + 0.5 // the middle of a bin
	if x.phase < 0 {
		x.phase += x.period
	}
}

// straighten fits a line through the middles of the peaks that are seen: its
// slope is the period. The periodogram of few cycles leans to where they are cut.
func (x *rhythmOf) straighten(counts []int64, mean float64) {
	var n, sk, st, skk, skt float64
	x.eachCycle(counts, func(number, wide int, sum int64, middle float64) {
		if float64(sum) > rhythmAbove*mean*float64(wide) {
			k := float64(number)
			n, sk, st, skk, skt = n+1, sk+k, st+middle, skk+k*k, skt+k*middle
		}
	})
	spread := n*skk - sk*sk
	if n < rhythmCycles || spread <= 0 {
		return
	}
	period := (n*skt - sk*st) / spread
	if math.Abs(period-x.period) > 1 || period <= 0 {
		return
	}
	x.period = period
	x.phase = (st - period*sk) / n
}

// eachCycle gives the cycles: how many bins the peak of each has, the arrivals
// in it, and their mean place in bins.
func (x *rhythmOf) eachCycle(counts []int64, give func(number, wide int, sum int64, middle float64)) {
	for from := 0; from < len(counts); {
		number, _ := x.cycle(from)
		wide, sum, moment := 0, int64(0), 0.0
		for ; from < len(counts); from++ {
			k, peak := x.cycle(from)
			if k != number {
				break
			}
			if peak {
				wide++
				sum += counts[from]
				moment += float64(counts[from]) * (float64(from) + 0.5)
			}
		}
		give(number, wide, sum, moment/math.Max(float64(sum), 1))
	}
}

// cycle gives the cycle of a bin, and whether it lies in the peak of it: within
// an eighth of the period, at least one bin.
func (x *rhythmOf) cycle(i int) (number int, peak bool) {
	c := (float64(i) + 0.5 - x.phase) / x.period
	k := math.Round(c)
	return int(k), math.Abs(c-k)*x.period <= math.Max(1, x.period/8)
}

// inPeaks is the arrivals in the peaks.
func (x *rhythmOf) inPeaks(counts []int64) (sum int64) {
	for i, n := range counts {
		if _, peak := x.cycle(i); peak {
			sum += n
		}
	}
	return sum
}

// fold counts the cycles whose peak is seen: two bursts are no period. It is
// false if they are too few.
func (x *rhythmOf) fold(counts []int64, mean float64) bool {
	first, last, bins := 0, 0, 0
	x.eachCycle(counts, func(number, wide int, sum int64, _ float64) {
		bins += wide
		x.within += sum
		if float64(sum) > rhythmAbove*mean*float64(wide) {
			if x.seen == 0 {
				first = number
			}
			last = number
			x.seen++
		}
	})
	x.cycles = last - first + 1
	x.excess = float64(x.within) - mean*float64(bins)
	return x.seen >= rhythmCycles && 2*x.seen >= x.cycles && x.excess > 0
}
