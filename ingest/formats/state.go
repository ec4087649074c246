package formats

import (
	"errors"
	"math"
	"slices"
)

// What a decoder keeps is saved with a checkpoint and loaded when the input has
// grown. Here stands what must hold of loaded numbers that are indices, bounds
// and links: bytes of any origin leave a checkpoint unused, and do no harm.

var errState = errors.New("it is no state of the decoder")

// holds is nil if all of the conditions hold.
func holds(conditions ...bool) error {
	if slices.Contains(conditions, false) {
		return errState
	}
	return nil
}

// CheckState implements ingest.StateChecker; so do those that follow.
func (f *ctrField) CheckState() error { return holds(*f <= ctrFields) }

// CheckState holds the field of a counter.
func (m *promMetric) CheckState() error { return holds(m.field < ctrFields) }

// CheckState holds the field of a column.
func (c *ioColumn) CheckState() error { return holds(c.field <= ioOther) }

// CheckState holds the name of the device.
func (d *cgroupIO) CheckState() error { return holds(!d.waits || len(d.device) >= 4) }

// CheckState holds the place in a report.
func (d *iostatText) CheckState() error { return holds(d.next >= 0, d.stampLen >= 0) }

// CheckState holds which counters there are.
func (s *ctrSnapshot) CheckState() error { return holds(s.known < 1<<ctrFields) }

// CheckState holds the length of a time.
func (s *markSeam) CheckState() error { return holds(s.n == 0 || s.n >= 16) }

// CheckState holds the interval of a command line.
func (t *ioTold) CheckState() error { return holds(t.period >= 0) }

// CheckState holds the place among the values.
func (d *promJSON) CheckState() error {
	return holds(d.next >= 0, len(d.fine) >= len(d.values))
}

// CheckState holds the places of the texts of a scrape.
func (d *promText) CheckState() error {
	in := func(all ...promSpan) bool {
		return !slices.ContainsFunc(all, func(s promSpan) bool { return s.from < 0 || s.to < s.from || s.to > len(d.arena) })
	}
	for i := range d.entries {
		if e := &d.entries[i]; !in(e.device, e.host) {
			return errState
		}
	}
	for i := range d.facts {
		if f := &d.facts[i]; !in(f.name, f.device, f.host, f.text) {
			return errState
		}
	}
	for _, i := range d.index {
		if i < 0 || i >= len(d.entries) {
			return errState
		}
	}
	return nil
}

// CheckState holds the length of the name.
func (c *dmesgTag) CheckState() error { return holds(c.n >= 0, c.n <= len(c.device)) }

// CheckState holds the places of the ring.
func (t *dmesgTags) CheckState() error {
	return holds(t.used >= 0, t.used <= len(t.list), t.next >= 0, t.next < len(t.list))
}

// CheckState holds the length of the name.
func (r *dmesgReset) CheckState() error { return holds(r.n >= 0, r.n <= len(r.device)) }

// CheckState holds the depth.
func (w *jsonWalk) CheckState() error { return holds(w.depth >= 0) }

// CheckState holds the depth.
func (d *fioJSON) CheckState() error { return holds(d.depth >= 0) }

// CheckState holds the place of the ring and the processes.
func (d *strace) CheckState() error {
	if d.echo < 0 {
		return errState
	}
	for _, p := range d.procs {
		if p == nil {
			return errState
		}
	}
	return holds(d.next >= 0, d.torn == nil || d.torn.proc != nil)
}

// CheckState holds the call that is under way.
func (p *straceProc) CheckState() error { return holds(!p.begun || p.call.proc != nil) }

// CheckState holds the files.
func (t *straceFiles) CheckState() error {
	for _, f := range t.open {
		if f == nil {
			return errState
		}
	}
	return holds(t.open != nil)
}

// CheckState holds the members.
func (d *blktrace) CheckState() error { return holds(len(d.members) == d.count) }

// CheckState holds the numbers of the devices and of their I/Os.
func (p *blkPairs) CheckState() error {
	for _, i := range p.index {
		if i < 0 || int(i) >= len(p.devs) {
			return errState
		}
	}
	for i := range p.table.ios[1:] {
		if io := &p.table.ios[1+i]; io.state != blkFreeState && int(io.dev) >= len(p.devs) {
			return errState
		}
	}
	return holds(p.dev >= 0, len(p.devs) <= blkDevices, len(p.index) == len(p.devs), p.limit > 0, p.limit <= blkOpenLimit,
		p.lastUnseen >= 0, p.lastUnseen < blkUnseen, p.lastEnding >= 0, p.lastEnding < blkSequences)
}

// CheckState walks all lists of the table: each I/O stands once in the list of
// its age, in that of its start and, if it has one, in that of its end. The
// indices of the latter two are made anew, by the lists' first I/Os.
func (t *blkTable) CheckState() error {
	n := int32(min(len(t.ios), math.MaxInt32))
	if n == 0 {
		return errState
	}
	seen := make([]bool, n)
	visit := func(i int32) bool {
		ok := i > 0 && i < n && !seen[i]
		if ok {
			seen[i] = true
		}
		return ok
	}
	open, ends, prev := 0, 0, int32(0)
	for i := t.oldest; i != 0; prev, i = i, t.ios[i].ageNext {
		if !visit(i) || t.ios[i].agePrev != prev || t.ios[i].state >= blkFreeState || t.ios[i].dev < 0 {
			return errState
		}
		open++
		if t.ios[i].hasEnd() {
			ends++
		}
	}
	if prev != t.newest || open != t.open {
		return errState
	}
	for i := t.free; i != 0; i = t.ios[i].ageNext {
		if !visit(i) || t.ios[i].state != blkFreeState {
			return errState
		}
	}
	clear(seen)
	t.starts, t.ends = newBlkIndex(), newBlkIndex()
	for h := t.oldest; h != 0; h = t.ios[h].ageNext {
		first := &t.ios[h]
		if first.startPrev != 0 {
			continue
		}
		key, prev := blkKey(first.dev, first.sector), int32(0)
		for i := h; i != 0; prev, i = i, t.ios[i].startNext {
			if !visit(i) || t.ios[i].startPrev != prev || t.ios[i].state >= blkFreeState || blkKey(t.ios[i].dev, t.ios[i].sector) != key {
				return errState
			}
			open--
		}
		if t.starts.get(key).head != 0 {
			return errState
		}
		t.starts.set(key, blkList{h, prev})
	}
	clear(seen)
	for h := t.oldest; h != 0; h = t.ios[h].ageNext {
		first := &t.ios[h]
		if !first.hasEnd() || first.endPrev != 0 {
			continue
		}
		key, prev := blkKey(first.dev, first.sector+first.sectors), int32(0)
		for i := h; i != 0; prev, i = i, t.ios[i].endNext {
			if !visit(i) || t.ios[i].endPrev != prev || !t.ios[i].hasEnd() || blkKey(t.ios[i].dev, t.ios[i].sector+t.ios[i].sectors) != key {
				return errState
			}
			ends--
		}
		if t.ends.get(key).head != 0 {
			return errState
		}
		t.ends.set(key, blkList{head: h})
	}
	return holds(open == 0, ends == 0)
}

// CheckState holds the number of the logs.
func (d *fioRates) CheckState() error { return holds(len(d.members) == d.count) }

// CheckState holds where the columns stand, and the length of windows.
func (m *fioRateLog) CheckState() error {
	return holds(m.layout.ddir >= 0, m.layout.ddir < fioMaxColumns-1, m.window >= 0, m.run >= 0, m.run < fioMostRuns)
}

// CheckState counts the columns that are facts anew.
func (d *vmstat) CheckState() error {
	d.count()
	return holds(len(d.cols) <= vmstatMost)
}

// CheckState holds the file of a heading.
func (d *cgroupIOMax) CheckState() error { return holds(d.file >= 0, d.file <= len(cgroupFiles)) }
