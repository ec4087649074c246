package align

import (
	"cmp"
	"math"
	"slices"
)

// pair is an I/O that both have seen.
type pair struct{ a, b int32 }

// line is the difference of the clocks over the time of b: base + at0 + slope x (t - ref).
type line struct {
	base  int64 // a whole part, so that floats stay small
	ref   int64
	at0   float64
	slope float64
}

func (l *line) residual(a, b int64) float64 {
	return float64(a-b-l.base) - l.at0 - l.slope*float64(b-l.ref)
}

// match pairs equal I/Os in the order of time, each once, if they lie within tol
// of the line.
func match(a, b []IO, all []pairs, l *line, tol float64, out []pair) []pair {
	out = out[:0]
	usedA, usedB := make([]bool, len(a)), make([]bool, len(b))
	for _, g := range all {
		j := 0
		for _, i := range g.a {
			if usedA[i] {
				continue
			}
			at := a[i].stamp()
			far := func(n int) float64 { return l.residual(at, b[g.b[n]].stamp()) }
			for j < len(g.b) && (usedB[g.b[j]] || far(j) > tol) {
				j++
			}
			best := j
			for n := j + 1; n < len(g.b) && far(n) >= -tol; n++ {
				if !usedB[g.b[n]] && math.Abs(far(n)) < math.Abs(far(best)) {
					best = n
				}
			}
			if best == len(g.b) {
				break
			}
			if math.Abs(far(best)) <= tol {
				out = append(out, pair{i, g.b[best]})
				usedA[i], usedB[g.b[best]] = true, true
				j = best + 1
			}
		}
	}
	slices.SortFunc(out, func(x, y pair) int { return cmp.Or(cmp.Compare(x.b, y.b), cmp.Compare(x.a, y.a)) })
	return out
}

// matched narrows the match down about the line that each round finds.
func matched(a, b []IO, all []pairs, delta int64, tol, least float64) ([]pair, line) {
	l := line{base: delta, ref: b[len(b)/2].stamp()}
	var found []pair
	for range 8 {
		found = match(a, b, all, &l, tol, found)
		if len(found) < MinMatches {
			return found, l
		}
		spread := l.fit(a, b, found)
		next := min(tol, max(least, 8*spread))
		if next == tol {
			break
		}
		tol = next
	}
	return match(a, b, all, &l, tol, found), l
}

// fit lays the line through the pairs, by medians: half of them may be wrong.
// The slope is the median of those between the i-th pair and the one half the
// pairs behind it (Theil's incomplete method, 1950). It gives the median
// distance from the line.
func (l *line) fit(a, b []IO, found []pair) float64 {
	n := len(found)
	x, y := make([]float64, n), make([]float64, n)
	for i, p := range found {
		tb := b[p.b].stamp()
		x[i], y[i] = float64(tb-l.ref), float64(a[p.a].stamp()-tb-l.base)
	}
	l.slope = theil(x, y)
	rest := make([]float64, n)
	for i := range x {
		rest[i] = y[i] - l.slope*x[i]
	}
	l.at0 = median(rest)
	for i := range rest {
		rest[i] = math.Abs(rest[i] - l.at0)
	}
	return median(rest)
}

// maxSlope is the greatest drift that is believed; ingest.MaxDriftPPB.
const maxSlope = 1e-3

// theil is the median slope; 0 where the pairs are too few or too close in time.
func theil(x, y []float64) float64 {
	half := len(x) / 2
	var slopes []float64
	for i := 0; i+half < len(x); i++ {
		if d := x[i+half] - x[i]; d > 1e6 { // a ms
			slopes = append(slopes, (y[i+half]-y[i])/d)
		}
	}
	if len(slopes) < MinMatches/2 {
		return 0
	}
	return min(max(median(slopes), -maxSlope), maxSlope)
}

// median is the middle one of the values.
func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	v = slices.Clone(v)
	slices.Sort(v)
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[len(v)/2]
}
