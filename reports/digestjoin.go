package reports

import (
	"math"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
)

// joiner joins pieces, in their order.
type joiner struct {
	g     *Digest
	facts []int
	names names

	device  int32 // in hand; -1: none
	sick    bool
	healthy [][]float64 // its healthy windows', by feature and fact

	last            digestRow // of the device in hand
	first           bool      // it is its first
	coverage, known float64   // of last
	touches         bool      // last, to the window before it
}

// add takes the next piece.
func (j *joiner) add(p *stretch) {
	devices, groups := p.names.keys.among(&j.names.keys), p.names.groups.among(&j.names.groups)
	slugs, spaces := p.names.slugs.among(&j.names.slugs), p.names.spaces.among(&j.names.spaces)
	for i := range p.rows {
		row := &p.rows[i]
		row.device, row.slug = devices[row.device], uint16(slugs[row.slug])
		if len(groups) > 0 {
			row.group, row.space = groups[row.group], uint16(spaces[row.space])
		}
		j.row(row, p, i)
	}
	j.g.blocks = append(j.g.blocks, p.rows)
}

// row takes what depends on the windows before and after a window.
func (j *joiner) row(row *digestRow, p *stretch, i int) {
	g := j.g
	if !g.straight {
		return
	}
	at := p.from + i
	touches := false
	if row.device != j.device {
		j.closeDevice(at)
		if int(row.device) != len(g.runs) { // it was in hand before
			g.straight = false
			return
		}
		g.runs = append(g.runs, deviceRun{from: at, to: at})
		j.device, j.first = row.device, true
	} else {
		if row.startNS < j.last.startNS {
			g.straight = false
			return
		}
		touches = j.last.endNS == row.startNS
		j.seen(touches)
		j.first = false
	}
	j.last, j.coverage, j.known, j.touches = *row, p.coverage[i], p.known[i], touches
	switch row.verdict() {
	case cluster.Sick:
		j.sick = true
	case cluster.Healthy:
		for k := range j.healthy {
			if v := p.facts[k][i]; v == v {
				j.healthy[k] = append(j.healthy[k], v)
			}
		}
	}
}

// seen counts what was seen of the last window, which the one after it touches or not:
// see facts.cover.
func (j *joiner) seen(touches bool) {
	if j.last.flags&rowIdle != 0 {
		return
	}
	seen := j.coverage
	if !j.touches || !touches {
		seen = j.known
	}
	j.g.covered += seen
	j.g.judged++
	if seen < 0.5 {
		j.g.low++
	}
}

// closeDevice ends the device in hand, whose windows end before one.
func (j *joiner) closeDevice(at int) {
	if j.device < 0 {
		return
	}
	j.seen(false)
	run := &j.g.runs[j.device]
	run.to = at
	if j.sick {
		run.own = new([features.N]cluster.Median)
		for k := range features.N {
			run.own[k] = cluster.MedianOf(j.healthy[k])
		}
		for _, v := range j.healthy[features.N:] {
			usual := math.NaN()
			if len(v) > 0 {
				usual = lowerMedian(v)
			}
			run.usual = append(run.usual, usual)
		}
	}
	j.sick = false
	for k := range j.healthy {
		j.healthy[k] = j.healthy[k][:0]
	}
}

func (j *joiner) end() {
	g := j.g
	if g.straight {
		j.closeDevice(g.n)
	}
	if !g.straight {
		g.runs = nil
	}
	g.keys, g.slugs, g.groups, g.spaces = j.names.keys.all, j.names.slugs.all, j.names.groups.all, j.names.spaces.all
}
