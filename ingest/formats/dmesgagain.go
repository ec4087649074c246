package formats

import "bytes"

// dmesgSeam is where another message of the kernel is glued to one that begins with its
// stamp, too: "[  100.8000[  100.900000] ".
func dmesgSeam(line []byte) int {
	if len(line) < 2 || line[0] != '[' {
		return 0
	}
	first := bytes.TrimLeft(line[1:], " ")
	_, dot := scanDigits(first, 0)
	if dot == 0 || dot >= len(first) || first[dot] != '.' {
		return 0
	}
	for i := len(line) - len(first) + dot; i < len(line); i++ {
		at := bytes.IndexByte(line[i:], '[')
		if at < 0 {
			return 0
		}
		i += at
		b := line[i+1:]
		end := bytes.IndexByte(b[:min(len(b), 24)], ']')
		if end < 8 || end+1 >= len(b) || b[end+1] != ' ' {
			continue
		}
		inside := bytes.TrimLeft(b[:end], " ")
		if s, dot := scanDigits(inside, 0); dot > 0 && s >= 0 && dot < len(inside) && inside[dot] == '.' {
			if _, last := scanDigits(inside, dot+1); last == len(inside) && last == dot+7 {
				return i
			}
		}
	}
	return 0
}

// dmesgMostAgain bounds how often a message may be said to have come again.
const dmesgMostAgain = 1000

// dmesgAgain reads what syslog makes of equal messages: "message repeated 3 times:
// [ MESSAGE]", and "last message repeated 3 times", of which the message is nil. n is 0 if
// it is neither.
func dmesgAgain(msg []byte) (n int64, inner []byte) {
	rest, ok := cutPrefix(msg, "message repeated ")
	last := !ok
	if last {
		if rest, ok = cutPrefix(msg, "last message repeated "); !ok {
			return 0, nil
		}
	}
	n, end := scanDigits(rest, 0)
	if end == 0 || n <= 0 || !bytes.HasPrefix(rest[end:], []byte(" time")) {
		return 0, nil
	}
	n = min(n, dmesgMostAgain)
	if last {
		return n, nil
	}
	_, inner, ok = bytes.Cut(rest[end:], []byte(": ["))
	if !ok {
		return 0, nil
	}
	return n, trimBlanks(bytes.TrimSuffix(inner, []byte("]")))
}
