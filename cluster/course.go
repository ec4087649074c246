package cluster

import (
	"slices"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/reduce"
)

// LabelRows is Label of points that need not lie in memory: what is said of each
// goes to put, device by device and in time, and isn't kept. It reads each point
// twice. Held are some 300 bytes of each window whose neighbours may still have a say,
// that is of a stretch of a device without a few windows in a row that are well, and
// less than 100 of each sick window, for the silhouettes.
func (m *Model) LabelRows(points features.Rows[reduce.Point], r *Rules, o Options, put func(i int, d *Diagnosis)) Result {
	return m.Join([]*Share{m.LabelShare(points, r, o, put)}, r)
}

// LabelShare is LabelRows of all points of some hosts.
func (m *Model) LabelShare(points features.Rows[reduce.Point], r *Rules, o Options, put func(i int, d *Diagnosis)) *Share {
	j := newJudge(r, m, o)
	c := course{m: m, points: points, put: put, near: assigner{m: m}, sequence: sequence{j: j}, tally: newTally(m, j), asides: asides{w: j.w}}
	order := sortedByKey(points)
	var key features.Key
	for k := range points.Len() {
		i := nth(order, k)
		p := points.At(i)
		if k == 0 || p.Window.Key != key {
			c.end()
			key = p.Window.Key
		}
		c.add(i, p)
	}
	c.end()
	return c.tally.share(c.episodes)
}

// course is the windows of a device of which not all is said yet.
type course struct {
	m        *Model
	points   features.Rows[reduce.Point]
	put      func(i int, d *Diagnosis)
	near     assigner
	episodes []Episode
	first    int // episode of the device
	tally    *tally
	asides   asides

	sequence
	well int // windows at the end that aren't sick by themselves
}

// settleFrom is the number of windows from which it pays to settle some.
const settleFrom = 256

// add takes the next window.
func (c *course) add(i int, p *reduce.Point) {
	l := c.j.look(p)
	c.steps = append(c.steps, stepOf(i, p.Window))
	c.looks = append(c.looks, l)
	c.said = append(c.said, c.m.first(&l, c.near.class(p, &l), c.j.r, c.j.o))
	if c.well++; l.verdict == Sick {
		c.well = 0
	}
	// What comes after so many well windows has no say in what came before them,
	// nor the other way round.
	if reach := c.reach(p.Window.EndNS - p.Window.StartNS); len(c.steps) >= settleFrom && c.well > 2*reach {
		c.settle(len(c.steps) - reach)
	}
}

// reach is how many windows of a length a sick one can change before it and
// behind: those within the longest warm-up, and some more by hysteresis, by the
// filling of gaps, and by the three that are looked at ahead.
func (c *course) reach(ns int64) int {
	warm := 0.0
	for e := range c.j.r.entries {
		warm = max(warm, c.j.r.entries[e].WarmUpS)
	}
	return 8 + int(warm*1e9/float64(max(ns, 1)))
}

// end says what is left to be said of a device.
func (c *course) end() {
	c.settle(len(c.steps))
	c.asides.end(c.episodes[c.first:])
	c.first = len(c.episodes)
}

// settle says what is to be said of the first n windows, and keeps the rest.
func (c *course) settle(n int) {
	rest := slices.Clone(c.said[n:]) // as they are by themselves
	if !c.j.o.Alone {
		c.hear()
	}
	d, causes, costs := make([]Diagnosis, n), make([]int, n), make([]cost, n)
	for i := range d {
		p, s := c.points.At(int(c.steps[i].window)), &c.said[i]
		if s.entry >= 0 && len(c.j.r.entries[s.entry].known) > 0 {
			if c.j.w.look(p); c.j.w.guesses(s.entry) {
				s.entry = -1
			}
		}
		d[i] = c.m.diagnosis(p, &c.looks[i], s, c.j, &causes[i])
		costs[i] = costOf(p.Window)
		c.tally.add(p, s, &d[i], causes[i])
		c.asides.add(c.steps[i].window, p, d[i].Verdict)
	}
	at := len(c.episodes)
	c.episodes = append(c.episodes, episodes(d, c.said[:n], causes, costs, c.j.r)...)
	for i := range d {
		for at < len(c.episodes) && c.episodes[at].ToNS <= d[i].StartNS {
			at++
		}
		if at < len(c.episodes) && d[i].Verdict == Sick {
			c.asides.belongs(c.steps[i].window, at-c.first) // each sick window is of an episode
		}
	}
	for i := range d {
		c.put(int(c.steps[i].window), &d[i])
	}
	c.said = append(c.said[:0], rest...)
	c.steps = append(c.steps[:0], c.steps[n:]...)
	c.looks = append(c.looks[:0], c.looks[n:]...)
	c.well = min(c.well, len(c.steps))
}
