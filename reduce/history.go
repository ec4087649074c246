package reduce

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/iopathy/iopathy/features"
)

// Bounds and weights of a history.
const (
	// HistoryNights is the most nights that a baseline is of.
	HistoryNights = 14
	// mostPeers is how many devices of a model stand for it.
	mostPeers = 64
	// fewNights is the number of earlier nights below which later ones count too.
	fewNights = 3
	// agreeing is how many nights must agree before they may raise a normal: one
	// night alone, maybe a sick one, is no habit.
	agreeing = 2
	// trustedPeers is how many other devices bound what a device may call its habit.
	trustedPeers = 3
	// firstSlack is log10 of what a single night says little about: how nights
	// differ. It falls with the number of nights.
	firstSlack = 0.3
	// habitSpread is log10 of the spread of one night that the healthy scale
	// allows for already; what a tenth of the healthy windows exceed beyond it
	// is habit.
	habitSpread = 0.3
)

// History is what is known of devices by their nights before. It is immutable;
// nil knows nothing.
type History struct {
	own   map[features.Key][]Night // by day
	peers map[string][]Night       // by model, then device, then day
}

// NewHistory makes a history of nights of one latency kind, tick and window.
// What it knows doesn't depend on their order; parts of one day add up.
func NewHistory(nights []Night) *History {
	if len(nights) == 0 {
		return nil
	}
	sorted := slices.Clone(nights)
	slices.SortStableFunc(sorted, func(a, b Night) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Device, b.Device), cmp.Compare(a.DayNS, b.DayNS))
	})
	h := &History{own: map[features.Key][]Night{}, peers: map[string][]Night{}}
	for from, to := 0, 0; from < len(sorted); from = to {
		n := sorted[from]
		for to = from + 1; to < len(sorted) && sorted[to].Key == n.Key && sorted[to].DayNS == n.DayNS; to++ {
			n = n.with(&sorted[to])
		}
		h.own[n.Key] = append(h.own[n.Key], n)
		if n.Model != "" {
			h.peers[n.Model] = append(h.peers[n.Model], n)
		}
	}
	return h
}

// with adds up two parts of a night.
func (n Night) with(o *Night) Night {
	axes := maps.Clone(n.Axes)
	for axis, s := range o.Axes {
		axes[axis] = merge(axes[axis], s)
	}
	n.Axes, n.Model = axes, max(n.Model, o.Model)
	return n
}

// habit is the level of one kind of work over some nights.
type habit struct {
	level   float64 // log10 ns: the median of the windows of the nights that count
	high    float64 // their 90 % quantile
	nights  int     // that count
	windows int
}

// Past is the nights that a window of a day is held against.
type Past struct {
	Nights int // of them
	Later  int // of them after the day
	nights []Night
}

// around gives the nights of a device that a day is held against: the latest
// before it, and, where these are few, the first after it. The day itself is
// never among them.
func (h *History) around(k features.Key, day int64, has func(*Night) bool) Past {
	if h == nil {
		return Past{}
	}
	return around(h.own[k], day, has)
}

func around(all []Night, day int64, has func(*Night) bool) Past {
	var p Past
	for i := len(all) - 1; i >= 0 && len(p.nights) < HistoryNights; i-- {
		if d := all[i].DayNS; d < day && day-d <= HistoryNights*dayNS && has(&all[i]) {
			p.nights = append(p.nights, all[i])
		}
	}
	if len(p.nights) < fewNights {
		for i := 0; i < len(all) && len(p.nights) < HistoryNights; i++ {
			if d := all[i].DayNS; d > day && d-day <= HistoryNights*dayNS && has(&all[i]) {
				p.nights = append(p.nights, all[i])
				p.Later++
			}
		}
	}
	p.Nights = len(p.nights)
	return p
}

// habit pools the nights that agree with the fastest: a device can't be faster
// than it is when healthy, so a night that is slower than the fast ones by more
// than ownBound was a slow night, and is no part of the habit. Fast is the
// lower quarter of the nights' medians, the fastest of up to four.
func (p *Past) habit(axis int) habit {
	medians := make([]float64, len(p.nights))
	for i := range p.nights {
		medians[i] = p.nights[i].Axes[axis].quantile(axis, 0.5)
	}
	if len(medians) == 0 {
		return habit{}
	}
	sorted := slices.Sorted(slices.Values(medians))
	fast := sorted[(len(sorted)-1)/4]
	var kept []Sketch
	for i := range p.nights {
		if medians[i] <= fast+ownBound {
			kept = append(kept, p.nights[i].Axes[axis])
		}
	}
	s := merge(kept...)
	return habit{level: s.quantile(axis, 0.5), high: s.quantile(axis, 0.9), nights: len(kept), windows: s.windows()}
}

// tolerated is the level that a device's own habit explains: its median, what
// its healthy windows exceed that by, and a slack for nights not seen yet.
func (b habit) tolerated() float64 {
	return b.level + max(b.high-b.level-habitSpread, 0) + firstSlack/float64(b.nights)
}

// ofPeers is the habit of the other devices of a model in work of a kind: the
// median of theirs. It says by how many.
func (h *History) ofPeers(model string, k features.Key, day int64, axis int) (level float64, devices int) {
	if h == nil || model == "" {
		return 0, 0
	}
	has := func(n *Night) bool { return len(n.Axes[axis]) > 0 }
	all := h.peers[model]
	var levels []float64
	for from := 0; from < len(all) && len(levels) < mostPeers; {
		to := from + 1
		for to < len(all) && all[to].Key == all[from].Key {
			to++
		}
		if all[from].Key != k {
			p := around(all[from:to], day, has)
			if b := p.habit(axis); b.windows >= fewHealthy {
				levels = append(levels, b.level)
			}
		}
		from = to
	}
	slices.Sort(levels)
	if len(levels) == 0 {
		return 0, 0
	}
	return quantile(levels, 0.5), len(levels)
}

// known is what a history says of a device, day and kind of work.
type known struct {
	own     habit
	peers   float64
	devices int
}

type asked struct {
	features.Key
	day  int64
	axis int
}

// recall remembers what was asked already: windows of a device and day ask the
// same. It belongs to one Project or Fit.
type recall struct {
	h    *History
	seen map[asked]known
}

func (m *Model) recall() *recall {
	if m.history == nil {
		return nil
	}
	return &recall{m.history, map[asked]known{}}
}

func (r *recall) of(w *features.Window, model string) known {
	q := asked{w.Key, dayOf(w.StartNS), features.N + workOf(w)}
	if k, ok := r.seen[q]; ok {
		return k
	}
	p := r.h.around(q.Key, q.day, func(n *Night) bool { return len(n.Axes[q.axis]) > 0 })
	k := known{own: p.habit(q.axis)}
	k.peers, k.devices = r.h.ofPeers(model, q.Key, q.day, q.axis)
	r.seen[q] = k
	return k
}

// refine puts what earlier nights tell in the place of what the windows at hand
// do: the device's own habit, then its peers', each for work of the window's
// kind alone. n is the normal by the group g (nil: none) and the windows at hand.
func (r *recall) refine(n *Normal, w *features.Window, d Device, g *Group) {
	if r == nil || !usable(w) {
		return
	}
	k := r.of(w, d.Model)
	others := 0 // devices at hand that the group's normal is of, beside this one
	if g != nil && g.Name == d.Model && d.Model != "" {
		others = max(g.Devices-1, 0)
	}
	coarser, from := n.Value, others
	if k.devices > 0 {
		n.Value = shrink(k.peers, k.devices, n.Value, float64(others))
		if k.devices >= others {
			n.Source, n.Windows, n.Nights = "peers", k.devices, 0
		}
		coarser, from = n.Value, others+k.devices
		n.Alone = false
	}
	own := k.own
	if own.windows < fewHealthy {
		return
	}
	level := own.tolerated()
	if own.nights < agreeing { // it may have been sick itself: it only proves what the device can do
		if level >= n.Value {
			return
		}
	} else if from > 0 {
		level = shrink(level, own.windows, coarser, float64(fewHealthy))
		if from >= trustedPeers {
			level = min(level, coarser+ownBound)
		}
	}
	if from < trustedPeers && !durable(w) {
		level = min(level, slowest(d.Rotational))
	}
	n.Value = level
	n.Source, n.Windows, n.Nights, n.Alone = "nights", own.windows, own.nights, false
}

// Quantiles of the values of an axis over a device's nights.
type Quantiles struct {
	Low     float64 `json:"low"` // 10 %
	Median  float64 `json:"median"`
	High    float64 `json:"high"` // 90 %
	Windows int     `json:"windows"`
	Nights  int     `json:"nights"`
}

// Week gives the quantiles of a feature over the nights that a point of a day
// is held against, in the unit of Point.Vector: those of the latency at load
// are relative to the point's own normal. It needs nights with all axes.
func (h *History) Week(p *Point, feature int) Quantiles {
	past := h.around(p.Window.Key, dayOf(p.Window.StartNS), func(n *Night) bool { return len(n.Axes[feature]) > 0 })
	var all []Sketch
	for i := range past.nights {
		all = append(all, past.nights[i].Axes[feature])
	}
	s := merge(all...)
	q := Quantiles{Windows: s.windows(), Nights: past.Nights}
	if q.Windows == 0 {
		return q
	}
	zero := 0.0
	if feature == features.LatencyLoadResidual {
		zero = p.Normal.Value
	}
	q.Low, q.Median, q.High = s.quantile(feature, 0.1)-zero, s.quantile(feature, 0.5)-zero, s.quantile(feature, 0.9)-zero
	if math.IsNaN(q.Median) {
		return Quantiles{}
	}
	return q
}

// Remembering gives the model with a history, that it then prefers to what it
// was fitted on; a model that is fitted with it as its prior has the history,
// too. The history is no part of the model's file.
func (m *Model) Remembering(h *History) *Model {
	c := *m
	c.history = h
	return &c
}

// History is what Remembering gave it; nil if nothing is known.
func (m *Model) History() *History { return m.history }
