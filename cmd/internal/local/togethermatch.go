package local

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/ingest/align"
)

// surely says whether two logs are so surely of the same I/Os that a clock may be set by it.
func surely(r *align.Result) bool {
	resolves := r.ResolutionA + r.ResolutionB
	return r.ErrorNS <= togetherError+resolves && r.Share >= togetherShare &&
		(!r.OneLayer() || r.SDNS <= float64(togetherError+resolves))
}

// align aligns the logs of single I/Os: dated ones first, then what is aligned already,
// in the order of ranks and identities. Logs of one tool are not held against one
// another: they are parts of one recording, or of other devices.
func (g *group) align() {
	var refs []*groupLog
	rest := slices.Clone(g.logs)
	slices.SortStableFunc(rest, func(a, b *groupLog) int {
		switch {
		case a.loose == b.loose:
			return 0
		case a.loose:
			return 1
		}
		return -1
	})
	tried := map[[2]*groupLog]bool{}
	refer := func(l *groupLog) {
		if l.block() && len(refs) < togetherRefs {
			refs = append(refs, l)
		}
	}
	for len(rest) > 0 {
		found := false
		var left []*groupLog
		for _, l := range rest {
			switch {
			case !l.loose && !g.unnamed:
				refer(l)
				continue
			case g.match(l, refs, tried):
				found = true
			case l.loose:
				left = append(left, l)
				continue
			}
			refer(l)
		}
		if rest = left; !found && len(rest) > 0 {
			refer(rest[0]) // it keeps its zero
			rest = rest[1:]
		}
	}
	g.learnDated(tried)
}

// match aligns a log with the first of refs that it fits.
func (g *group) match(l *groupLog, refs []*groupLog, tried map[[2]*groupLog]bool) bool {
	for _, ref := range refs {
		pair := [2]*groupLog{ref, l}
		if tried[pair] || ref.format == l.format {
			continue
		}
		tried[pair] = true
		r, err := align.Estimate(ref.source, l.source)
		if err != nil || !surely(r) {
			continue
		}
		if !l.loose {
			if max(r.OffsetNS, -r.OffsetNS) > togetherDates {
				continue // one work, done twice
			}
			l.root = ref.top()
			g.learn(l, ref, r)
			return true
		}
		l.root = ref.top()
		g.learn(l, ref, r)
		l.moved = true
		l.clock = ingest.Clock{
			Bare: true, OffsetNS: r.OffsetNS, DriftPPB: r.DriftPPB, AtNS: r.AtNS,
			ErrorNS: r.ErrorNS, Anchor: fmt.Sprintf("%s%s, ± %v", ingest.AlignedWith, Printable(ref.name), roundSpan(r.ErrorNS)),
		}
		l.source.Correct(&l.clock)
		for _, all := range l.moments {
			for i := range all {
				all[i].TimeNS = l.clock.Time(all[i].TimeNS)
			}
		}
		return true
	}
	return false
}

// count holds traces of the block layer against counters: those date what nothing
// else did, and the other way round.
func (g *group) count() {
	undated := func(l *groupLog) bool { return l.loose && !l.moved }
	for _, l := range g.logs {
		if top := l.top(); undated(top) {
			g.dateByCounters(top)
		}
	}
	for _, s := range g.samples {
		for _, l := range g.logs {
			if !l.block() || s.top() == l.top() || !undated(s) && !g.unnamed {
				continue
			}
			fit, ok := l.counted(s)
			switch {
			case !ok:
				continue
			case undated(s):
				s.moved = true
				s.clock = ingest.Clock{Bare: true, OffsetNS: -fit.OffsetNS, ErrorNS: fit.ErrorNS, Anchor: fmt.Sprintf("%s%s by its counters, ± %v", ingest.AlignedWith, Printable(l.name), roundSpan(fit.ErrorNS))}
			case max(fit.OffsetNS, -fit.OffsetNS) > togetherDates+fit.ErrorNS:
				continue
			}
			s.root = l.top()
			break
		}
	}
}

// dateByCounters dates what is aligned with one log by those counters that tell best.
func (g *group) dateByCounters(top *groupLog) {
	var best align.Fit
	var by *groupLog
	for _, l := range g.logs {
		if !l.block() || l.top() != top {
			continue
		}
		for _, s := range g.samples {
			if s.loose {
				continue
			}
			fit, ok := l.counted(s)
			if ok && (by == nil || cmp.Or(cmp.Compare(fit.ErrorNS, best.ErrorNS), cmp.Compare(best.Share, fit.Share)) < 0) {
				best, by = fit, s
			}
		}
	}
	if by == nil {
		return
	}
	for _, l := range g.logs {
		if l.top() != top {
			continue
		}
		l.moved, l.clock.Bare = true, true
		l.clock.OffsetNS += best.OffsetNS
		for _, all := range l.moments {
			for i := range all {
				all[i].TimeNS += best.OffsetNS
			}
		}
	}
	top.clock.ErrorNS = best.ErrorNS
	top.clock.Anchor = fmt.Sprintf("%sthe counters of %s, ± %v", ingest.AlignedWith, Printable(by.name), roundSpan(best.ErrorNS))
}

// counted holds a log against counters, by the device that both call alike and of which
// the log holds most.
func (l *groupLog) counted(s *groupLog) (fit align.Fit, ok bool) {
	devices := sortedKeys(l.moments)
	slices.SortStableFunc(devices, func(a, b string) int { return cmp.Compare(len(l.moments[b]), len(l.moments[a])) })
	for _, d := range devices[:min(len(devices), togetherRefs)] {
		if fit, err := align.Counters(l.moments[d], s.rows[d]); err == nil {
			return fit, true
		}
	}
	return align.Fit{}, false
}

// roundSpan is a duration in three digits.
func roundSpan(ns int64) time.Duration {
	d := time.Duration(ns)
	for unit := time.Duration(1); unit < time.Hour; unit *= 10 {
		if d < 1000*unit {
			return d.Round(unit)
		}
	}
	return d.Round(time.Second)
}
