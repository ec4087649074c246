package formats

import (
	"bytes"

	"github.com/iopathy/iopathy/ingest"
)

// straceShape is what a line is by itself, whatever the lines before it.
type straceShape uint8

const (
	straceElse   straceShape = iota // none of these
	straceBlank                     // nothing
	straceSaid                      // a message of strace
	straceBack                      // "<... CALL resumed>", "<detached ...>", or what begins like them
	straceGone                      // +++ exited
	straceSignal                    // ---
	straceTotals                    // the head of a summary
	straceHalf                      // a call that another thread's line interrupts
	straceAttach                    // a call that an attach message cuts
	straceWhole                     // a call, up to its end
)

// straceLine is a line, read as far as that needs no other line.
type straceLine struct {
	stracePrefix
	line     []byte
	shape    straceShape
	detached bool
	kind     straceKind
	name     []byte // of the call
	args     []byte // behind the opening bracket, or behind "resumed>"
	cut      int    // where the message begins in args
	straceEnd
}

func (l *straceLine) read(line []byte) {
	l.stracePrefix, l.line, l.name = straceCut(line), line, nil
	b := l.rest
	switch {
	case len(b) == 0:
		l.shape = straceBlank
		return
	case straceMessage(b):
		l.shape = straceSaid
		return
	case b[0] == '<' || b[0] == ' ':
		l.shape = straceBack
		l.back(b)
		return
	case b[0] == '+' && bytes.HasPrefix(b, []byte("+++ ")):
		l.shape = straceGone
		return
	case b[0] == '-' && bytes.HasPrefix(b, []byte("--- ")):
		l.shape = straceSignal
		return
	case straceStack(b):
		l.shape = straceSaid
		return
	case b[0] == '%' && bytes.HasPrefix(b, []byte("% time")):
		l.shape = straceTotals
		return
	}
	n := straceName(b)
	if n == 0 {
		if i := straceAmid(line); i > 0 {
			l.read(line[i:])
			l.line = line
			return
		}
		l.shape = straceElse
		return
	}
	l.name, l.kind, l.args = b[:n], straceKindOf(b[:n]), b[n+1:]
	args := l.args
	if i := len(args) - len(straceUnfinished); i >= 0 && string(args[i:]) == straceUnfinished {
		l.shape, l.args = straceHalf, args[:i]
		return
	}
	if len(args) > 0 && args[len(args)-1] == 'd' && bytes.HasSuffix(args, []byte(" attached")) {
		if i := bytes.LastIndex(args, []byte("strace: Process ")); i >= 0 {
			if _, ok := straceAttached(args[i:]); ok {
				l.shape, l.cut = straceAttach, i
				return
			}
		}
	}
	if len(args) > 0 && args[len(args)-1] == ']' && bytes.HasSuffix(args, []byte(" bit mode. ]")) {
		if i := bytes.LastIndex(args, []byte("[ Process PID=")); i >= 0 {
			l.shape, l.cut = straceAttach, len(bytes.TrimSuffix(args[:i], []byte("strace: ")))
			return
		}
	}
	l.shape = straceWhole
	l.straceEnd.read(l.kind, args)
}

// back reads the end of a call that was interrupted.
func (l *straceLine) back(b []byte) {
	b = bytes.TrimLeft(b, " ")
	if l.detached = bytes.HasPrefix(b, []byte("<detached ...>")); l.detached {
		return
	}
	rest, ok := bytes.CutPrefix(b, []byte("<... "))
	if i := bytes.Index(rest, []byte(" resumed>")); ok && i >= 0 {
		l.name, l.args = rest[:i:i], rest[i+len(" resumed>"):]
		l.kind = straceKindOf(l.name)
	}
}

// straceEnd is a call's arguments and what it returned.
type straceEnd struct {
	torn   bool // it has no end
	split  straceArgs
	result straceResult
}

// read reads the text behind the opening bracket of a call, if its kind matters.
func (e *straceEnd) read(kind straceKind, args []byte) {
	e.torn = false
	if kind == straceNote || kind == straceExit {
		return
	}
	i := straceSplit(args, &e.split)
	if i < 0 {
		e.torn = true
		return
	}
	ok := false
	e.result, ok = straceReturn(args[i:])
	e.torn = !ok
}

// straceAhead reads lines ahead of their turn.
type straceAhead struct{ lines []straceLine }

func (a *straceAhead) Reset() { a.lines = a.lines[:0] }

func (a *straceAhead) Read(line []byte) bool {
	if len(a.lines) < cap(a.lines) {
		a.lines = a.lines[:len(a.lines)+1]
	} else {
		a.lines = append(a.lines, straceLine{})
	}
	a.lines[len(a.lines)-1].read(line)
	return true
}

func (d *strace) Ahead() ingest.Ahead { return new(straceAhead) }

func (d *strace) Take(a ingest.Ahead, i int, _ []byte, out *ingest.Out) {
	d.take(&a.(*straceAhead).lines[i], out)
}
