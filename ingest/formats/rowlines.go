package formats

import "github.com/iopathy/iopathy/ingest"

// rowLines accounts for the lines of a JSON document whose rows are samples:
// several rows may end in one line, and a row's fate is known only when its
// report is settled. A line's fate is event if at least one sample ends in it,
// else that of its last row; a line without rows is a note.
type rowLines struct {
	bytes    int64 // of the line in hand
	rows     int64 // device objects that ended in it
	pending  fateOfLine
	pendings bool
}

// fateOfLine is the fate of a line whose rows are being settled.
type fateOfLine struct {
	lineno, position int64
	fate             ingest.Fate
	reason           string
	text             []byte
}

// endLine ends the line in hand.
func (l *rowLines) endLine(out *ingest.Out) {
	out.Tally.Lines++
	if l.rows == 0 {
		out.Note()
	}
	l.rows, l.bytes = 0, 0
}

// account keeps the fate of the line whose rows are being settled, in the order
// of lines, until a row of a later one comes.
func (l *rowLines) account(out *ingest.Out, r *ioRow, f ingest.Fate, reason string) {
	if l.pendings && l.pending.lineno != r.lineno {
		l.settleLine(out)
	}
	if l.pendings && (l.pending.fate == ingest.FateEvent || f == ingest.FateNote) {
		return
	}
	l.pendings = true
	l.pending = fateOfLine{r.lineno, r.position, f, reason, r.text}
}

// settleLine tells out the fate that account keeps, at the line's own place.
func (l *rowLines) settleLine(out *ingest.Out) {
	if !l.pendings {
		return
	}
	l.pendings = false
	p := &l.pending
	if p.fate != ingest.FateRejected {
		out.Count(p.fate, p.reason, 1)
		return
	}
	position, lineno := out.Position, out.Lineno
	out.Position, out.Lineno = p.position, p.lineno
	out.Reject(p.text, p.reason)
	out.Position, out.Lineno = position, lineno
}
