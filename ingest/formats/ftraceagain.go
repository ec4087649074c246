package formats

import "github.com/iopathy/iopathy/ingest"

// traceAgain tells the lines that a copy of tracefs' file trace has from the one before
// it in the same log: reading that file consumes nothing, so that who copies it again
// and again to the end of a log has the events of the first copy in all later ones.
// A copy begins with its header. Its lines stand by time: up to the last stamp of the
// copy before they are repeated.
type traceAgain struct {
	first, last int64 // stamps of the copy in hand
	lines       int64 // of it at the last stamp
	until, skip int64 // the last stamp of the copy before, and its lines there
	any         bool  // the copy in hand has events
	header      bool  // the next event is the first of a copy
	copied      bool  // events are of the copy before
}

// begin takes the first line of a copy's header.
func (a *traceAgain) begin() {
	a.header = a.header || a.any
}

// repeated says whether the event of a stamp is told again.
func (a *traceAgain) repeated(ns int64, out *ingest.Out) bool {
	if a.header {
		// A clock that was set back, or another boot's, begins elsewhere.
		a.copied = ns >= a.first && ns <= a.last
		a.until, a.skip = a.last, a.lines
		a.header, a.any = false, false
	}
	if !a.any {
		a.first, a.last, a.lines, a.any = ns, ns, 0, true
	}
	switch {
	case ns > a.last:
		a.last, a.lines = ns, 1
	case ns == a.last:
		a.lines++
	}
	if !a.copied {
		return false
	}
	if ns > a.until {
		a.copied = false
		return false
	}
	if ns == a.until {
		if a.skip == 0 {
			return false
		}
		a.skip--
	}
	out.Count(ingest.FateDuplicate, "", 1)
	return true
}
