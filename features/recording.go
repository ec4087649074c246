package features

import (
	"cmp"
	"math"
	"slices"

	"github.com/iopathy/iopathy/ingest"
)

// Rank orders the recordings of a device: which of them is taken where several
// saw it. A block trace sees every request and its queueing, a snooper of the
// driver not the queueing, an application only what is its own, and counters
// no single request.
type Rank uint8

// The ranks, the best first.
const (
	RankBlock Rank = iota
	RankDriver
	RankApplication
	RankSamples
)

var rankNames = [...]string{"block trace", "driver trace", "application", "samples"}

func (r Rank) String() string { return rankNames[min(int(r), len(rankNames)-1)] }

// RankOf is the rank of recordings of a format, by what it measures and by
// what the events have: a block trace may lack the queueing, a table of events
// may come from anywhere.
func RankOf(format, events ingest.LatencyKind) Rank {
	switch {
	case format == ingest.KindSample:
		return RankSamples
	case events == ingest.KindSyscall, events == ingest.KindApp:
		return RankApplication
	case format == ingest.KindQ2C, events == ingest.KindQ2C:
		return RankBlock
	case format == ingest.KindSyscall, format == ingest.KindApp:
		return RankApplication
	}
	return RankDriver
}

// sees says that a rank sees all of a device's I/O, so that it can be held
// against counters and against others of which that is true.
func (r Rank) sees() bool { return r <= RankDriver }

// Extent is a stretch of time: from the first completion to the last, or
// [FromNS, ToNS) where it is said.
type Extent struct{ FromNS, ToNS int64 }

// Recording is what one tool recorded of one device: an input, or several that
// are parts of one whole.
type Recording struct {
	Name  string // breaks ties: the least identity of its inputs
	Rank  Rank
	Kind  ingest.LatencyKind
	Spans []Extent          // first and last completion of each input
	Count *Series           // of its reads and writes
	Seen  map[int64]float64 // by number of the window: the share of the I/O that it saw, where it is not all
}

// Seen shares are told apart in twentieths: a recording that has one request
// more than another in one window and one less in the next is no better.
const seenSteps = 20

// fewRequests is how many requests of a window tell nothing of who saw more.
const fewRequests = 8

// Choose chooses one recording a tick. In each window recordings are ordered:
// those that saw less than half of what others did come last; then by rank, by
// what share they saw, by how much they hold in all, by name. Of several latency kinds the window takes
// that of the first which covers at least half of what is covered of it, so that
// kinds are never mixed; then each tick takes the first recording of that kind
// which was running. The order in which the recordings are given is of no
// consequence.
func Choose(recs []Recording, o Options) Plan {
	c := chooser{recs: recs, o: o, plan: Plan{Seen: map[int64]float64{}, windowNS: o.WindowNS}}
	for i := range recs {
		c.running = append(c.running, merged(recs[i].Spans, o.TickNS))
	}
	c.next = make([]int, len(recs))
	for i := range recs {
		n := int64(0)
		if recs[i].Count != nil {
			n, _ = recs[i].Count.Between(math.MinInt64/2, math.MaxInt64/2)
		}
		c.held = append(c.held, n)
	}
	var all []Extent
	for _, r := range c.running {
		all = append(all, r...)
	}
	all = merged(all, o.WindowNS)
	for _, s := range all {
		for at := s.FromNS; at < s.ToNS; at += o.WindowNS {
			c.window(at)
		}
	}
	return c.plan
}

// merged gives spans of whole units, in order and apart.
func merged(spans []Extent, unit int64) []Extent {
	out := make([]Extent, 0, len(spans))
	for _, s := range spans {
		out = append(out, Extent{floorDiv(s.FromNS, unit) * unit, (floorDiv(max(s.ToNS, s.FromNS), unit) + 1) * unit})
	}
	slices.SortFunc(out, func(a, b Extent) int { return cmp.Or(cmp.Compare(a.FromNS, b.FromNS), cmp.Compare(a.ToNS, b.ToNS)) })
	n := 0
	for _, s := range out {
		if n > 0 && s.FromNS <= out[n-1].ToNS {
			out[n-1].ToNS = max(out[n-1].ToNS, s.ToNS)
			continue
		}
		out[n] = s
		n++
	}
	return out[:n]
}

type chooser struct {
	recs    []Recording
	o       Options
	running [][]Extent // of each recording, in whole ticks
	next    []int      // the first of these that does not end before the window
	held    []int64    // requests of each recording
	plan    Plan
}

// candidate is a recording in a window.
type candidate struct {
	index int
	spans []Extent // in which it runs
	seen  float64
	share float64 // of what was seen by who saw most
}

func (c *chooser) window(from int64) {
	to := from + c.o.WindowNS
	var all []candidate
	for i := range c.recs {
		if spans := c.within(i, from, to); len(spans) > 0 {
			seen, ok := c.recs[i].Seen[floorDiv(from, c.o.WindowNS)]
			if !ok {
				seen = 1
			}
			all = append(all, candidate{index: i, spans: spans, seen: seen, share: seen})
		}
	}
	if len(all) > 1 {
		c.order(all, from, to)
	}
	var covered []Extent
	for _, a := range all {
		covered = append(covered, a.spans...)
	}
	whole := length(joined(covered))
	kind := c.kind(all, whole)
	var taken []Extent
	used, seen := int64(0), 0.0
	for _, a := range all {
		if c.recs[a.index].Kind != kind {
			continue
		}
		for _, s := range without(a.spans, taken) {
			c.add(Stretch{Extent: s, Recording: a.index, Kind: kind})
			used += s.ToNS - s.FromNS
			seen += a.seen * float64(s.ToNS-s.FromNS)
		}
		taken = joined(append(taken, a.spans...))
	}
	c.settle()
	if share := seen / float64(used); used > 0 && share < 1 {
		c.plan.Seen[floorDiv(from, c.o.WindowNS)] = share
	}
}

// within gives the spans of a recording in a window; windows come in order.
func (c *chooser) within(i int, from, to int64) (spans []Extent) {
	run := c.running[i]
	for c.next[i] < len(run) && run[c.next[i]].ToNS <= from {
		c.next[i]++
	}
	for _, s := range run[c.next[i]:] {
		if s.FromNS >= to {
			break
		}
		spans = append(spans, Extent{max(s.FromNS, from), min(s.ToNS, to)})
	}
	return spans
}

// order sorts the candidates, the best first.
func (c *chooser) order(all []candidate, from, to int64) {
	counts := make([]int64, len(all))
	most := int64(0)
	for i := range all {
		if r := &c.recs[all[i].index]; r.Rank.sees() && r.Count.tells(c.o.WindowNS) {
			counts[i], _ = r.Count.Between(from, to)
			most = max(most, counts[i])
		}
	}
	for i := range all {
		if r := &c.recs[all[i].index]; most >= fewRequests && r.Rank.sees() && r.Count.tells(c.o.WindowNS) {
			all[i].share *= float64(counts[i]) / float64(most)
		}
	}
	poor := func(a *candidate) int {
		if a.share < 0.5 {
			return 1
		}
		return 0
	}
	steps := func(a *candidate) int { return int(math.Round(a.share * seenSteps)) }
	slices.SortFunc(all, func(a, b candidate) int {
		ra, rb := &c.recs[a.index], &c.recs[b.index]
		return cmp.Or(poor(&a)-poor(&b), cmp.Compare(ra.Rank, rb.Rank), steps(&b)-steps(&a),
			cmp.Compare(c.held[b.index], c.held[a.index]), cmp.Compare(ra.Name, rb.Name))
	})
}

// kind is the latency kind of a window.
func (c *chooser) kind(all []candidate, whole int64) ingest.LatencyKind {
	best, most := ingest.KindNone, int64(-1)
	for i := range all {
		kind := c.recs[all[i].index].Kind
		var spans []Extent
		for _, a := range all {
			if c.recs[a.index].Kind == kind {
				spans = append(spans, a.spans...)
			}
		}
		n := length(joined(spans))
		if 2*n >= whole {
			return kind
		}
		if n > most {
			best, most = kind, n
		}
	}
	return best
}

func (c *chooser) add(s Stretch) { c.plan.Stretches = append(c.plan.Stretches, s) }

// settle puts the stretches of the last window in order and joins those that
// go on.
func (c *chooser) settle() {
	all := c.plan.Stretches
	from := len(all)
	for from > 0 && floorDiv(all[from-1].FromNS, c.o.WindowNS) == floorDiv(all[len(all)-1].FromNS, c.o.WindowNS) {
		from--
	}
	slices.SortFunc(all[from:], func(a, b Stretch) int { return cmp.Compare(a.FromNS, b.FromNS) })
	out := all[:from]
	for _, s := range all[from:] {
		if n := len(out); n > 0 && out[n-1].Recording == s.Recording && out[n-1].Kind == s.Kind && out[n-1].ToNS == s.FromNS {
			out[n-1].ToNS = s.ToNS
			continue
		}
		out = append(out, s)
	}
	c.plan.Stretches = out
}

// joined gives spans in order and apart; it may change the slice it is given.
func joined(spans []Extent) []Extent {
	slices.SortFunc(spans, func(a, b Extent) int { return cmp.Or(cmp.Compare(a.FromNS, b.FromNS), cmp.Compare(a.ToNS, b.ToNS)) })
	n := 0
	for _, s := range spans {
		if n > 0 && s.FromNS <= spans[n-1].ToNS {
			spans[n-1].ToNS = max(spans[n-1].ToNS, s.ToNS)
			continue
		}
		spans[n] = s
		n++
	}
	return spans[:n]
}

// without gives what is left of spans outside of others, both in order and apart.
func without(spans, others []Extent) (out []Extent) {
	for _, s := range spans {
		for _, o := range others {
			if o.ToNS <= s.FromNS || o.FromNS >= s.ToNS {
				continue
			}
			if o.FromNS > s.FromNS {
				out = append(out, Extent{s.FromNS, o.FromNS})
			}
			s.FromNS = o.ToNS
			if s.FromNS >= s.ToNS {
				break
			}
		}
		if s.FromNS < s.ToNS {
			out = append(out, s)
		}
	}
	return out
}

func length(spans []Extent) (n int64) {
	for _, s := range spans {
		n += s.ToNS - s.FromNS
	}
	return n
}
