package cluster

import (
	"cmp"
	"math"
	"slices"

	"github.com/iopathy/iopathy/features"
)

// Levels of an episode's severity.
const (
	warnFrom     = 2
	badFrom      = 4
	criticalFrom = 7
)

// level names a severity.
func level(severity float64) string {
	switch {
	case severity >= criticalFrom:
		return "critical"
	case severity >= badFrom:
		return "bad"
	case severity >= warnFrom:
		return "warn"
	}
	return ""
}

// cost is what a window took.
type cost struct{ seconds, bytes float64 }

func costOf(w *features.Window) cost {
	c := cost{seconds: float64(int64(w.CoveredTicks)*w.TickNS) / 1e9}
	c.bytes = w.Context[features.CtxBytesPerS] * c.seconds
	return c
}

// episodes joins consecutive sick windows of one device and pathology, in time,
// and gives each window the causes of its episode.
func episodes(d []Diagnosis, said []saying, causes []int, costs []cost, r *Rules) []Episode {
	var all []Episode
	for from := 0; from < len(d); {
		to := from + 1
		if d[from].Verdict != Sick {
			from++
			continue
		}
		for to < len(d) && follows(&d[to-1], &d[to]) {
			to++
		}
		all = append(all, episode(d[from:to], said[from].entry, causes[from:to], costs[from:to], r))
		from = to
	}
	return all
}

// worstFirst sorts episodes that stand by device and time.
func worstFirst(all []Episode) {
	slices.SortStableFunc(all, func(a, b Episode) int {
		return cmp.Or(cmp.Compare(b.Severity, a.Severity), cmp.Compare(b.SickSeconds, a.SickSeconds))
	})
}

// Costliest picks at most most episodes, those that cost most: by the time the
// device was sick, then by the bytes that were delayed, then by severity. 0
// keeps all as they are. The second value is how many are left out.
func Costliest(all []Episode, most int) ([]Episode, int) {
	if most <= 0 {
		return all, 0
	}
	picked := slices.Clone(all)
	slices.SortStableFunc(picked, func(a, b Episode) int {
		return cmp.Or(cmp.Compare(b.SickSeconds, a.SickSeconds), cmp.Compare(b.DelayedBytes, a.DelayedBytes), cmp.Compare(b.Severity, a.Severity),
			cmp.Compare(a.Host, b.Host), cmp.Compare(a.Device, b.Device), cmp.Compare(a.FromNS, b.FromNS))
	})
	most = min(most, len(picked))
	return picked[:most], len(picked) - most
}

func follows(a, b *Diagnosis) bool {
	return b.Verdict == Sick && a.Key == b.Key && a.EndNS == b.StartNS && a.Pathology == b.Pathology
}

func episode(d []Diagnosis, entry int, causes []int, costs []cost, r *Rules) Episode {
	first, last := &d[0], &d[len(d)-1]
	e := Episode{Key: first.Key, FromNS: first.StartNS, ToNS: last.EndNS, Pathology: first.Pathology, Windows: len(d)}
	worst, confidence := first, 0.0
	classes := map[int]int{}
	for i := range d {
		x := &d[i]
		if x.Severity > worst.Severity {
			worst = x
		}
		confidence += x.Confidence
		for _, r := range x.Readings {
			e.Readings = gatherReading(e.Readings, r)
		}
		classes[x.ClassID]++
		if n := classes[x.ClassID]; n > classes[e.ClassID] || n == classes[e.ClassID] && x.ClassID < e.ClassID {
			e.ClassID = x.ClassID
		}
		e.SickSeconds += costs[i].seconds
		if b := costs[i].bytes; !math.IsNaN(b) {
			e.DelayedBytes += b
		}
	}
	e.Confidence = confidence / float64(len(d))
	e.Evidence = worst.Evidence
	minutes := float64(e.ToNS-e.FromNS) / 60e9
	e.Severity = min(worst.Severity*min(2, math.Sqrt(minutes/5)), maxSeverity)
	e.Level = level(e.Severity)
	if entry >= 0 {
		var votes ballot
		for _, c := range causes {
			votes.add(c)
		}
		e.Causes = votes.count(&r.entries[entry])
		for i := range d {
			d[i].Causes = e.Causes
			if len(e.Causes) > 0 && e.Causes[0].Votes > 0 {
				d[i].RootCause, d[i].RootCauseShare = e.Causes[0].ID, e.Causes[0].Share
			}
		}
	}
	return e
}

// What a window says of the causes of its pathology, beside the number of one.
const (
	heldNone  = -1 // could be told, and none holds
	abstained = -2
)

// ballot is the votes of windows for the causes of a pathology. A window whose
// facts are missing abstains; one for which no cause holds votes for none.
type ballot struct {
	votes []int // by cause
	of    int
}

func (b *ballot) add(cause int) {
	if cause > abstained {
		b.of++
	}
	if cause >= 0 {
		for len(b.votes) <= cause {
			b.votes = append(b.votes, 0)
		}
		b.votes[cause]++
	}
}

// count gives the causes with most votes first, equal ones in the order of the
// catalogue. Nothing comes back when all abstain.
func (b *ballot) count(e *entry) []Cause {
	if b.of == 0 {
		return nil
	}
	var all []Cause
	for c, n := range b.votes {
		if n == 0 {
			continue
		}
		x := Cause{ID: e.Causes[c].ID, Name: e.Causes[c].Name, Votes: n, Of: b.of, Share: float64(n) / float64(b.of)}
		x.Low, x.High = wilson(n, b.of)
		all = append(all, x)
	}
	slices.SortStableFunc(all, func(a, b Cause) int { return cmp.Compare(b.Votes, a.Votes) })
	return all
}

// deciding lists the features that make up nine tenths of a direction, the
// largest first.
func deciding(v features.Vector) []int {
	order := make([]int, features.N)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(math.Abs(v[b]), math.Abs(v[a])) })
	sum := 0.0
	for i, f := range order {
		sum += v[f] * v[f]
		if sum >= 0.9 {
			return order[:i+1]
		}
	}
	return order
}
