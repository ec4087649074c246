package cluster

import (
	"cmp"
	"math"
	"slices"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/reduce"
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

// episodes joins consecutive sick windows of one device and pathology, worst
// first, and gives each window the causes of its episode.
func episodes(points []reduce.Point, d []Diagnosis, said []saying, causes []int, order []int, r *Rules) []Episode {
	var all []Episode
	for from := 0; from < len(order); {
		to := from + 1
		a := &d[order[from]]
		if a.Verdict != Sick {
			from++
			continue
		}
		for to < len(order) && follows(&d[order[to-1]], &d[order[to]]) {
			to++
		}
		all = append(all, episode(points, d, said, causes, order[from:to], r))
		from = to
	}
	slices.SortStableFunc(all, func(a, b Episode) int {
		return cmp.Or(cmp.Compare(b.Severity, a.Severity), cmp.Compare(b.SickSeconds, a.SickSeconds))
	})
	return all
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

func episode(points []reduce.Point, d []Diagnosis, said []saying, causes, at []int, r *Rules) Episode {
	first, last := &d[at[0]], &d[at[len(at)-1]]
	e := Episode{Key: first.Key, FromNS: first.StartNS, ToNS: last.EndNS, Pathology: first.Pathology, Windows: len(at)}
	worst, confidence := first, 0.0
	classes := map[int]int{}
	for _, i := range at {
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
		w := points[i].Window
		covered := float64(int64(w.CoveredTicks)*w.TickNS) / 1e9
		e.SickSeconds += covered
		if b := w.Context[features.CtxBytesPerS] * covered; !math.IsNaN(b) {
			e.DelayedBytes += b
		}
	}
	e.Confidence = confidence / float64(len(at))
	e.Evidence = worst.Evidence
	minutes := float64(e.ToNS-e.FromNS) / 60e9
	e.Severity = min(worst.Severity*min(2, math.Sqrt(minutes/5)), maxSeverity)
	e.Level = level(e.Severity)
	if entry := said[at[0]].entry; entry >= 0 {
		e.Causes = poll(&r.entries[entry], causes, at)
		for _, i := range at {
			d[i].Causes = e.Causes
			if len(e.Causes) > 0 && e.Causes[0].Votes > 0 {
				d[i].RootCause, d[i].RootCauseShare = e.Causes[0].ID, e.Causes[0].Share
			}
		}
	}
	return e
}

// poll counts the votes of windows for the causes of a pathology, most votes
// first, equal ones in the order of the catalogue. A window whose facts are
// missing abstains; one for which no cause holds votes for none. Nothing comes
// back when all abstain.
func poll(e *entry, causes, at []int) []Cause {
	votes, of := make([]int, len(e.causes)), 0
	for _, i := range at {
		if causes[i] > -2 {
			of++
		}
		if causes[i] >= 0 {
			votes[causes[i]]++
		}
	}
	if of == 0 {
		return nil
	}
	var all []Cause
	for c, n := range votes {
		if n == 0 {
			continue
		}
		x := Cause{ID: e.Causes[c].ID, Name: e.Causes[c].Name, Votes: n, Of: of, Share: float64(n) / float64(of)}
		x.Low, x.High = wilson(n, of)
		all = append(all, x)
	}
	slices.SortStableFunc(all, func(a, b Cause) int { return cmp.Compare(b.Votes, a.Votes) })
	return all
}

// classes describes the model's classes by the windows that were labelled.
func (m *Model) classes(points []reduce.Point, looks []look, said []saying, causes []int, d []Diagnosis, r *Rules) []Class {
	out := make([]Class, len(m.Classes))
	members := make([][]int, len(m.Classes))
	for i := range said {
		if said[i].verdict == Sick && said[i].class >= 0 {
			members[said[i].class] = append(members[said[i].class], i)
		}
	}
	silhouettes := m.memberSilhouettes(points, members)
	for c := range out {
		p := &m.Classes[c]
		x := Class{ID: p.ID, Pathology: p.Pathology, Nearest: p.Nearest, Score: p.Score, Prototype: p.Direction, Members: len(members[c]), Silhouette: silhouettes[c]}
		seen := map[features.Key]bool{}
		own := 0
		var voters []int
		entry := r.index(p.Pathology)
		for _, i := range members[c] {
			seen[points[i].Window.Key] = true
			if d[i].Pathology == p.Pathology {
				own++
				voters = append(voters, i)
			}
		}
		x.Devices = len(seen)
		if len(members[c]) > 0 {
			x.Purity = float64(own) / float64(len(members[c]))
		}
		if entry >= 0 {
			x.Causes = poll(&r.entries[entry], causes, voters)
		}
		x.Deciding = deciding(p.Direction)
		out[c] = x
	}
	return out
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

// memberSilhouettes is the mean silhouette of each class over the labelled
// members.
func (m *Model) memberSilhouettes(points []reduce.Point, members [][]int) []float64 {
	out := make([]float64, len(members))
	g := gathering{}
	var part []int
	for c, list := range members {
		for _, i := range list {
			g.d = len(points[i].Y)
			g.rows = append(g.rows, points[i].Y...)
			normalise(g.rows[len(g.rows)-g.d:])
			part = append(part, c)
		}
	}
	n := make([]float64, len(members))
	for i, s := range g.silhouettes(part) {
		if !math.IsNaN(s) {
			out[part[i]] += s
			n[part[i]]++
		}
	}
	for c := range out {
		if n[c] > 0 {
			out[c] /= n[c]
		}
	}
	return out
}
