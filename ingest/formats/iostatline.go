package formats

import "bytes"

// isBanner tells "Linux RELEASE (HOST) DATE _ARCH_ (N CPU)".
func isBanner(line []byte) bool {
	return bytes.HasPrefix(line, []byte("Linux ")) && bytes.IndexByte(line, '(') > 0 && bytes.IndexByte(line, ')') > 0
}

// plainLine takes the line end, colours, a time in brackets and a mail's quote marks off a
// line. esc
// is a buffer for lines with colours.
func plainLine(line []byte, esc *[]byte) []byte {
	for n := len(line); n > 0 && (line[n-1] == '\r' || line[n-1] == '\n'); n-- {
		line = line[:n-1]
	}
	if bytes.IndexByte(line, 0x1b) >= 0 {
		b := (*esc)[:0]
		for i := 0; i < len(line); i++ {
			if line[i] != 0x1b {
				b = append(b, line[i])
				continue
			}
			for i++; i < len(line) && !isLetter(line[i]); i++ {
			}
		}
		*esc, line = b, b
	}
	if len(line) > 10 && line[0] == '[' { // a loop's own time before each line: "[18:01:12]sda"
		if end := bytes.IndexByte(line[:min(len(line), 32)], ']'); end >= 9 && hasClock(line[1:end]) {
			if line = line[end+1:]; len(line) > 0 && line[0] == ' ' {
				line = line[1:]
			}
		}
	}
	for len(line) > 0 && line[0] == '>' {
		line = line[1:]
		if len(line) > 0 && line[0] == ' ' {
			line = line[1:]
		}
	}
	return line
}

// decimals says that one of the fields is a number with decimals, as no part of
// a device's name is.
func decimals(tok [][]byte) bool {
	for _, t := range tok {
		_, at := scanDigits(t, 0)
		if at == 0 || at+1 >= len(t) || t[at] != '.' && t[at] != ',' {
			continue
		}
		if _, end := scanDigits(t, at+1); end == len(t) {
			return true
		}
	}
	return false
}

// offsetOf is where part, a piece of line, begins.
func offsetOf(line, part []byte) int { return cap(line) - cap(part) }
