package formats

import (
	"math"
	"slices"
)

// ioRate is a rate of a report whose product with the interval is whole. Those
// of I/Os are independent enough to count as evidence; bytes follow from them.
type ioRate struct {
	x, half float64
	ios     bool
}

// longest is a year in hundredths of a second, beyond which no interval is.
const longest = 3.2e9

// usualPeriods are the intervals that people ask iostat for, in hundredths.
var usualPeriods = [...]int64{100, 200, 300, 400, 500, 600, 1000, 1200, 1500, 2000, 3000, 6000}

// learn finds the period by the reports held, or gives 0 to wait for more; last
// says that it must not wait.
func (p *ioReports) learn(last bool) int64 {
	assumed := p.nominal
	if p.learnt > 0 {
		assumed = p.learnt
	}
	body := p.held
	if body[0].first && !p.keepFirst && !p.told.skips {
		body = body[1:]
	}
	last = last || len(p.held) >= heldReports || p.heldRows >= heldRowsBound
	// Stamps are cut to seconds: an interval of 1.00 s now and then shows as
	// 2 s, so the smaller of two differences counts.
	var prev *ioReport
	var least, steps int64
	for i := range p.held {
		r := &p.held[i]
		if !r.stamped {
			continue
		}
		if prev != nil && r.stampNS-prev.stampNS >= 1e9 {
			d := (r.stampNS - prev.stampNS) / 1e7
			if steps++; steps == 1 || d < least {
				least = d
			}
		}
		prev = r
	}
	switch {
	case steps >= 2 || steps == 1 && last:
		return least
	case prev != nil && !last:
		return 0
	}
	for i := range body {
		if lo, hi, ok := body[i].span(); ok && hi-lo <= 0.06*hi {
			mid := int64(math.Round(min(lo+hi, longest) / 2))
			if second := (mid + 50) / 100 * 100; abs(mid-second) <= 2+mid/100 {
				mid = second
			}
			return max(mid, 1)
		}
	}
	if !last && len(body) == 0 {
		return 0
	}
	if len(body) == 0 { // a single report: only its own rates can tell
		for _, c := range append([]int64{assumed}, usualPeriods[:]...) {
			if f := p.fits(p.held, c); f.share == 1 && f.chance < 1e-6 {
				return c
			}
		}
		return assumed
	}
	// What fits the true period fits its multiples, and often its fractions: of
	// rates over 2 s every other one is whole over 1 s. So the assumed period
	// stands only on several distinct rates, and the shortest other one wins.
	if f := p.fits(body, assumed); f.share >= 0.8 {
		if f.distinct >= 8 || last {
			return assumed
		}
		return 0
	}
	for _, c := range usualPeriods {
		if f := p.fits(body, c); f.share >= 0.8 && f.chance < 1e-5 {
			return c
		}
	}
	if last {
		return assumed
	}
	return 0
}

// ioFit is how well reports fit a period.
type ioFit struct {
	share    float64 // of the reports with any rate: those that come out whole
	chance   float64 // the likelihood of that for rates that have nothing to do with it
	distinct int     // rates that chance stands on
}

// fits says how many of the reports come out whole over the period or a few
// hundredths around it.
func (p *ioReports) fits(reports []ioReport, period int64) ioFit {
	f := ioFit{share: 1, chance: 1}
	seen := make(map[float64]bool)
	whole, of := 0, 0
	for i := range reports {
		rates := p.ratesOf(&reports[i])
		if len(rates) == 0 {
			continue
		}
		of++
		tried := 0
		for k := int64(0); k <= jitter(period); k++ {
			cs := period + k
			if tried++; !wholeOver(rates, cs) {
				cs = period - k
				if tried++; k == 0 || !wholeOver(rates, cs) {
					continue
				}
			}
			whole++
			chance := float64(tried)
			for _, r := range rates {
				if tol := r.half * float64(cs) / 100; r.ios && tol < 0.25 && !seen[r.x] {
					seen[r.x] = true
					chance *= 2 * tol
					f.distinct++
				}
			}
			f.chance *= min(1, chance)
			break
		}
	}
	if of > 0 {
		f.share = float64(whole) / float64(of)
	}
	return f
}

// jitter is by how much, in hundredths, intervals commonly differ from the period.
func jitter(period int64) int64 { return 4 + period/200 }

// ratesOf gathers the distinct rates of a report that must come out whole.
func (p *ioReports) ratesOf(r *ioReport) []ioRate {
	p.rates = distinct(p.gather(r))
	return p.rates
}

// gather is ratesOf without an order, and with what repeats.
func (p *ioReports) gather(r *ioReport) []ioRate {
	rates := p.rates[:0]
	for i := range r.rows {
		row := &r.rows[i]
		if row.group || row.reason != "" {
			continue
		}
		for f := ioReads; f <= ioTotalBytes; f++ {
			x := row.values[f]
			if x.v == 0 || !x.known() {
				continue
			}
			if f <= ioDiscardMerges {
				rates = append(rates, ioRate{x.v, x.half, true})
			} else {
				rates = append(rates, ioRate{x.v / 512, x.half / 512, false})
			}
		}
		if len(rates) >= ratesBound {
			break
		}
	}
	p.rates = rates
	return rates
}

// distinct sorts rates, those of I/Os first, and drops what repeats.
func distinct(rates []ioRate) []ioRate {
	slices.SortFunc(rates, func(a, b ioRate) int {
		switch {
		case a.ios != b.ios && a.ios:
			return -1
		case a.ios != b.ios:
			return 1
		case a.x < b.x:
			return -1
		case a.x > b.x:
			return 1
		}
		return 0
	})
	return slices.CompactFunc(rates, func(a, b ioRate) bool { return a.ios == b.ios && a.x == b.x })
}

// wholeOver says whether all rates are whole numbers over cs hundredths of a
// second, as far as their digits tell.
func wholeOver(rates []ioRate, cs int64) bool {
	t := float64(cs) / 100
	for _, r := range rates {
		n, tol := r.x*t, r.half*t
		if tol < 0.25 && math.Abs(n-math.Round(n)) > tol+1e-9*(1+n) {
			return false
		}
	}
	return true
}

// chanceOver is how likely rates that have nothing to do with an interval would
// be whole over it.
func chanceOver(rates []ioRate, cs int64) float64 {
	chance := 1.0
	for _, r := range rates {
		if tol := r.half * float64(cs) / 100; r.ios && tol < 0.25 {
			chance *= 2 * tol
		}
	}
	return chance
}

// span gives the intervals, in hundredths of a second, that the sums and rates
// of the plain layout allow: bytes over bytes per second.
func (r *ioReport) span() (lo, hi float64, ok bool) {
	lo, hi = 0, math.Inf(1)
	for i := range r.rows {
		row := &r.rows[i]
		if row.group || row.reason != "" {
			continue
		}
		for k := range 3 {
			x, s := row.values[ioReadBytes+ioField(k)], row.values[ioReadSum+ioField(k)]
			if !s.known() || !x.known() || x.v <= x.half || s.v == 0 {
				continue
			}
			lo = max(lo, (s.v-2*s.half)/(x.v+x.half)*100)
			hi = min(hi, (s.v+2*s.half)/(x.v-x.half)*100)
			ok = true
		}
	}
	return lo, hi, ok && lo <= hi
}

// ioDrift is by how much, in hundredths, the intervals that were found exceed the
// differences of their reports' stamps, since a report whose interval was not found.
// Stamps are cut to seconds: so it stays within a second, and so does each interval of
// the difference of its stamps. What is found by chance does not.
type ioDrift struct{ sum, least, most int64 }

// driftSlack is, in hundredths, what lies between the reading of counters and of the clock.
const driftSlack = 20

// nearPeriod is by how many hundredths the period may lie beyond the bounds and still be
// what is looked for about.
const nearPeriod = 5

// bounds are the intervals between two reports whose stamps are d apart.
func (p *ioDrift) bounds(d int64) (lo, hi int64) {
	return d + max(-99, p.most-p.sum-99-driftSlack), d + min(99, p.least-p.sum+99+driftSlack)
}

func (p *ioDrift) add(over int64, exact bool) {
	if !exact {
		*p = ioDrift{}
		return
	}
	p.sum += over
	p.least, p.most = min(p.least, p.sum), max(p.most, p.sum)
}

// interval finds the interval of a report in hundredths of a second; exact says
// that its counters come out whole.
func (p *ioReports) interval(r *ioReport) (cs int64, exact bool) {
	period := p.period
	nearest := period
	lo, hi := period-period/50-2, period+period/50+5
	if r.stamped && p.hasPrev && r.stampNS > p.prevNS {
		d := (r.stampNS - p.prevNS) / 1e7
		if d < period && d == p.shorter {
			p.period, period = d, d
		}
		p.shorter = d
		nearest = d
		lo, hi = p.drift.bounds(d)
		if period < lo-nearPeriod || period > hi+nearPeriod {
			period = d
		}
		period = min(max(period, lo), hi)
		defer func() { p.drift.add(cs-d, exact) }()
	} else {
		p.drift = ioDrift{}
	}
	if l, h, ok := r.span(); ok && l < longest {
		l, h := int64(math.Ceil(l)), int64(math.Floor(min(h, longest)))
		switch {
		case l <= h && l <= hi && h >= lo:
			lo, hi = max(lo, l), min(hi, h)
		case l <= h:
			lo, hi = l, h
		}
		if period < lo || period > hi {
			period = lo + (hi-lo)/2
		}
		nearest = period
	}
	lo, hi = max(lo, period-200, 1), min(hi, period+200)
	period = max(period, 1)
	rates, sorted := p.gather(r), false
	tried := 0.0
	for k := int64(0); period+k <= hi || period-k >= lo; k++ {
		if k == 2+period/100 { // not the period: rather the stamps' own difference than any other
			if c, ok := p.stamped(nearest, lo, hi); ok {
				return c, true
			}
			rates = p.rates
		}
		for _, c := range [2]int64{period + k, period - k} {
			if c < lo || c > hi || k == 0 && tried > 0 {
				continue
			}
			tried++
			if !wholeOver(rates, c) {
				continue
			}
			if k <= 1+period/100 {
				return c, true
			}
			if !sorted {
				rates, sorted = distinct(rates), true
			}
			if chanceOver(rates, c)*tried < 0.01 {
				return c, true
			}
		}
	}
	return max(nearest, 1), false
}

// stamped finds the interval about the difference of the stamps over which the rates
// gathered last are whole, and would hardly be by chance.
func (p *ioReports) stamped(d, lo, hi int64) (c int64, ok bool) {
	near := jitter(d)
	for k := range near + 1 {
		for _, c := range [2]int64{d + k, d - k} {
			if c >= lo && c <= hi && wholeOver(p.rates, c) {
				p.rates = distinct(p.rates)
				return c, chanceOver(p.rates, c)*float64(2*near+1) < 0.01
			}
		}
	}
	return 0, false
}

// sinceBoot says whether a first report is, or may be, since boot.
func (p *ioReports) sinceBoot(r *ioReport) bool {
	switch {
	case p.keepFirst:
		return false
	case p.told.known:
		return !p.told.skips
	}
	nothing := true
	for i := range r.rows {
		nothing = nothing && (r.rows[i].reason != "" || r.rows[i].zero())
	}
	if nothing {
		return false
	}
	if lo, hi, ok := r.span(); ok && hi-lo <= 0.1*hi {
		slack := float64(100 + p.period/50)
		return lo > float64(p.period)+slack || hi < float64(p.period)-slack
	}
	f := p.fits([]ioReport{*r}, p.period)
	return f.share < 1 || f.chance > 1e-4
}

func abs(n int64) int64 { return max(n, -n) }
