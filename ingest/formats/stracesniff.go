package formats

import "bytes"

// sniffStrace is sure if most of the head's lines are strace's.
func sniffStrace(head []byte, _ string) int {
	seen, other := 0, 0
	for line := range bytes.Lines(head) {
		whole := bytes.HasSuffix(line, []byte("\n"))
		line = bytes.TrimRight(line, "\r\n ")
		if len(line) == 0 {
			continue
		}
		p := straceCut(line)
		switch {
		case straceStack(p.rest):
		case bytes.HasPrefix(p.rest, []byte("% time ")) && bytes.Contains(p.rest, []byte(" usecs/call ")):
			return 2
		case straceLike(p.rest), straceAmid(line) > 0:
			seen++
		case whole:
			other++
		}
	}
	if seen > 0 && seen >= other {
		return 2
	}
	return 0
}

// straceLike tells a line of strace, without pid and stamp.
func straceLike(b []byte) bool {
	switch {
	case straceMessage(b), bytes.HasPrefix(b, []byte("<... ")) && bytes.Contains(b, []byte(" resumed>")),
		bytes.HasPrefix(b, []byte("+++ ")) && bytes.HasSuffix(b, []byte(" +++")),
		bytes.HasPrefix(b, []byte("--- ")) && bytes.HasSuffix(b, []byte(" ---")):
		return true
	}
	name := straceName(b)
	return name > 1 && (bytes.HasSuffix(b, []byte(straceUnfinished)) || bytes.Contains(b[name:], []byte(")")) && bytes.Contains(b[name:], []byte(" = ")))
}

// straceStack tells a line of the stack that -k prints behind each call:
// "> /usr/lib/libc.so.6(__read+0x14) [0xeec74]".
func straceStack(b []byte) bool {
	return len(b) > 2 && b[0] == '>' && b[1] == ' ' && b[len(b)-1] == ']' && bytes.Contains(b, []byte(" [0x"))
}

// straceMessage tells what strace says of itself.
func straceMessage(b []byte) bool {
	if rest, ok := bytes.CutPrefix(b, []byte("strace: ")); ok {
		return len(rest) > 0
	}
	for _, p := range []string{"Process ", "[ Process PID="} {
		if bytes.HasPrefix(b, []byte(p)) && len(b) > len(p) && b[len(p)]-'0' <= 9 {
			return true
		}
	}
	return false
}

// straceName is the length of the call's name if b begins with NAME(, else 0.
func straceName(b []byte) int {
	for i, c := range b {
		switch {
		case c >= 'a' && c <= 'z' || c == '_' || i > 0 && c >= '0' && c <= '9':
		case c == '(':
			return i
		default:
			return 0
		}
	}
	return 0
}

// straceAttached is the pid of "[strace: ]Process N attached".
func straceAttached(b []byte) (int32, bool) {
	i := bytes.Index(b, []byte("Process "))
	if i < 0 {
		return 0, false
	}
	v, end := scanDigits(b, i+len("Process "))
	if v <= 0 || v > 1<<30 || !bytes.HasPrefix(b[end:], []byte(" attached")) {
		return 0, false
	}
	return int32(v), true
}
