package formats

// jsonToken is what jsonFlow finds next.
type jsonToken uint8

const (
	jsonNothing jsonToken = iota // blanks, separators, words outside
	jsonLine                     // a line's end
	jsonKey                      // a name before a colon: flow.key
	jsonText                     // a string: flow.text
	jsonNumber                   // a number, true, false or null: flow.text
	jsonOpen                     // { or [: flow.sign
	jsonClose                    // } or ]: flow.sign
)

// jsonFlow reads JSON as a flow of tokens rather than as a tree: documents
// behind one another, words around them and a missing end do not matter to it. A
// string is told from a key by what stands behind it.
type jsonFlow struct {
	key    []byte // of the value in hand; it stays until the next key
	text   []byte
	sign   byte
	held   []byte // a string, until it is known what it is
	holds  bool
	commas bool  // a comma between two digits is a decimal one, outside of arrays of numbers
	lineno int64 // lines that ended
}

// next takes the next token of b; 0 bytes say that it needs more of them. A
// string that turns out to be a value is told by the sign behind it, which is not
// taken with it: the token counts as one at that sign. If that lies at b[room] or
// beyond, where another chunk begins, the string waits for it.
func (f *jsonFlow) next(b []byte, final bool, room int) (t jsonToken, n int) {
	c := b[0]
	if f.holds && c != ' ' && c != '\t' && c != '\n' && c != '\r' {
		f.holds = false
		if c == ':' {
			f.key = append(f.key[:0], f.held...)
			return jsonKey, 1
		}
		f.text = f.held
		return jsonText, 0
	}
	switch {
	case c == '\n':
		f.lineno++
		return jsonLine, 1
	case c == ' ' || c == '\t':
		n = 1
		for n < len(b) && b[n] == c {
			n++
		}
		return jsonNothing, n
	case c == '"':
		s, n, more := jsonString(b)
		if more && !final {
			return jsonNothing, 0
		}
		if n == 0 {
			return jsonNothing, 1
		}
		if n < len(b) {
			switch b[n] {
			case ':':
				f.key = append(f.key[:0], s...)
				return jsonKey, f.separator(b, n)
			case ',', ']', '}':
				if n < room {
					f.text = s
					return jsonText, n
				}
			}
		}
		f.held, f.holds = append(f.held[:0], s...), true
		return jsonNothing, n
	case c == '{' || c == '[':
		f.sign = c
		return jsonOpen, 1
	case c == '}' || c == ']':
		f.sign = c
		return jsonClose, 1
	case c == '-' || c == '+' && !f.commas || isLetter(c) || isDecimal(c):
		n, more := jsonWord(b)
		if f.commas {
			n, more = jsonScalar(b)
		}
		if more && !final {
			return jsonNothing, 0
		}
		f.text = b[:n]
		return jsonNumber, f.separator(b, n)
	case c == ',':
		return jsonNothing, f.separator(b, 0)
	}
	return jsonNothing, 1
}

// separator is the index behind a colon or comma at b[n], if one is there, and a
// blank behind it.
func (f *jsonFlow) separator(b []byte, n int) int {
	if n < len(b) && (b[n] == ',' || b[n] == ':') {
		if n++; n < len(b) && b[n] == ' ' {
			n++
		}
	}
	return n
}

// jsonWord is the length of a number or a word; more says that it may go on.
func jsonWord(b []byte) (n int, more bool) {
	for n < len(b) && n < 64 {
		c := b[n]
		if !isDecimal(c) && c != '.' && c != '-' && c != '+' && !isLetter(c) {
			return n, false
		}
		n++
	}
	return n, n < 64
}
