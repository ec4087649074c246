package formats

import (
	"bytes"

	"github.com/iopathy/iopathy/ingest"
)

// What a traced program prints goes to the terminal that strace prints to as well, with
// and without a line's end: before a line of strace, and amid a call that prints.

// straceAmid is where a line of strace begins behind other text, 0 if none does: the pid
// as terminals have it, or a stamp of a fraction of a second, and a call or the rest of
// one behind it.
func straceAmid(line []byte) int {
	for from := 1; from < len(line); {
		i := bytes.Index(line[from:], []byte("[pid "))
		if i < 0 {
			break
		}
		from += i
		if p := straceCut(line[from:]); p.pid >= 0 && p.stamp != straceStampNone && straceBegins(p.rest) {
			return from
		}
		from++
	}
	for dot := 10; dot < len(line); dot++ {
		i := bytes.IndexByte(line[dot:], '.')
		if i < 0 {
			return 0
		}
		dot += i
		if dot+8 >= len(line) || line[dot+7] != ' ' || !straceBegins(line[dot+8:]) {
			continue
		}
		begin := dot
		for begin > 0 && dot-begin < 10 && isDecimal(line[begin-1]) {
			begin--
		}
		if dot-begin != 10 || begin == 0 {
			continue
		}
		if p := straceCut(line[begin:]); p.stamp == straceStampEpoch {
			pid := begin // of a file's layout
			for pid > 0 && line[pid-1] == ' ' {
				pid--
			}
			digits := pid
			for digits > 0 && isDecimal(line[digits-1]) {
				digits--
			}
			if pid < begin && digits < pid && digits > 0 && line[digits-1] == ' ' {
				return digits
			}
			return begin
		}
	}
	return 0
}

// straceBegins says that a call begins, or the rest of one.
func straceBegins(b []byte) bool {
	return straceName(b) > 1 || bytes.HasPrefix(b, []byte("<... "))
}

// straceEchoes says that a call that has no end writes to where strace prints: what it
// writes stands amid it, and the rest behind that.
func straceEchoes(l *straceLine) bool {
	return l.kind == straceWrite && len(l.args) > 2 && (l.args[0] == '1' || l.args[0] == '2') && (l.args[1] == ',' || l.args[1] == '<')
}

// straceEchoLines bounds the lines that one call may print amid itself.
const straceEchoLines = 64

// echoed takes a line amid such a call, or the call's rest; false says that the line is
// neither.
func (d *strace) echoed(l *straceLine, out *ingest.Out) bool {
	if d.echo == 0 {
		return false
	}
	d.echo--
	switch {
	case l.pid >= 0 && l.stamp != straceStampNone, l.stamp != straceStampNone && straceBegins(l.rest):
		d.echo = 0
		return false
	case len(l.rest) > 0 && l.rest[0] == ')' && bytes.Contains(l.rest, []byte(" = ")):
		d.echo = 0
	}
	out.Note()
	return true
}
