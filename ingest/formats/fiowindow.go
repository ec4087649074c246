package formats

import "slices"

// fioRateLog is one of the logs.
type fioRateLog struct {
	iops   bool
	layout fioLayout
	window int64 // length in ms, 0: not known
	spans  bool  // a rate holds since the line before

	run     int64 // number of the job in hand, from 0
	last    int64 // end of the window before the one in hand; -1: none
	gapless bool  // nothing between them was rejected
	open    fioWindow
	waits   []fioWindow
}

// fioWindow is what one log tells of a window.
type fioWindow struct {
	run, end, from int64 // ms; from is -1 where it is not known
	idle           int64 // ms before it in which nothing moved
	rates          [fioDirections]int64
	seen           [fioDirections]bool
	torn           bool  // a line in or before it was rejected: what isn't seen is not known
	lines          int64 // 0: there is none
	pos, lineno    int64
}

// fioWindowOf finds the length of a log's windows, and whether they are
// spans of any length.
func fioWindowOf(rows [][fioMaxColumns]int64) (window int64, spans bool) {
	var steps []int64
	last := int64(0)
	for i := range rows {
		t := rows[i][0]
		switch d := t - last; {
		case d >= -2 && d <= 2: // the same window
		case d > 0 && d < maxLatencyNS/1e6:
			steps = append(steps, d)
			fallthrough
		default:
			last = t
		}
	}
	if len(steps) == 0 {
		return 0, false
	}
	slices.Sort(steps)
	window = steps[0]
	if len(steps) > 8 {
		window = steps[len(steps)/8] // the last window of a job may be cut short
	}
	uneven := 0
	for _, s := range steps {
		if off := (s + window/2) % window; max(off, window/2)-min(off, window/2) > max(window/16, 3) {
			uneven++
		}
	}
	return window, rows[0][0] == 0 || len(steps) > 3 && 4*uneven > len(steps)
}

// place gives the job that a line with a stamp belongs to: the next one
// if the stamp falls back, or its direction was told of at that stamp.
func (m *fioRateLog) place(t, ddir int64) (run int64, joins bool) {
	w := &m.open
	if w.lines == 0 {
		if m.last >= 0 && t < m.last {
			return m.run + 1, false
		}
		return m.run, false
	}
	near := t - w.end
	if near >= -2 && near <= 2 && ddir < fioDirections && !w.seen[ddir] {
		return m.run, true
	}
	if near <= 0 {
		return m.run + 1, false
	}
	return m.run, false
}

// order is a time by which the lines of a log stand in their order, and those
// of two logs of one job side by side.
func (m *fioRateLog) order() int64 { return m.run<<fioRunShift | max(m.open.end, m.last, 0) }

// span settles from when the rates of the window in hand hold.
func (m *fioRateLog) span() {
	w := &m.open
	before := m.last
	if before < 0 && w.end < fioEpochMS {
		before = 0 // the job's start
	}
	switch length := w.end - before; {
	case before < 0 && m.window > 0:
		w.from = w.end - m.window
	case before < 0:
	case m.spans && !m.gapless && m.window > 0:
		w.from = max(w.end-m.window, before)
	case m.spans || m.window == 0 || 2*length <= 3*m.window:
		w.from = before
	default:
		w.from = w.end - m.window
		if m.gapless {
			w.idle = w.from - before
		}
	}
	m.gapless = true
}
