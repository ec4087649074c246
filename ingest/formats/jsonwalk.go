package formats

import (
	"bytes"

	"github.com/iopathy/iopathy/ingest"
)

// jsonWalkDepth is how deep a jsonWalk tells paths.
const jsonWalkDepth = 10

// jsonVisitor is told what a jsonWalk meets.
type jsonVisitor interface {
	// value is a key's value, or an element of a list (its key is empty); text
	// says that it stood in quotation marks.
	value(v []byte, text bool, out *ingest.Out)
	// opened and closed tell of an object or list: on both calls the walk's depth
	// counts it.
	opened(out *ingest.Out)
	closed(out *ingest.Out)
	// torn tells of a document that has no end.
	torn(out *ingest.Out)
}

// jsonWalk reads documents of JSON line by line with the path of each value, whatever
// stands around or between them. A list of documents counts as the documents.
type jsonWalk struct {
	depth int
	keys  [jsonWalkDepth][]byte // of the open objects and lists
	nth   [jsonWalkDepth]int    // elements seen of the open lists
	lists [jsonWalkDepth]bool   // which of them are lists
	key   []byte
	has   bool

	first   string // the key that documents begin with: where it stands deeper another one is glued or wrapped
	wrapped bool   // the document that is said to be torn may hold the next one
	loose   bool   // the last value is a number at the end of its line
	commas  bool   // a comma between two digits of a key's value is a decimal one
}

// at is the key of the open object or list of a depth, from 1; the document itself has none.
func (w *jsonWalk) at(depth int) string {
	if depth < 1 || depth > min(w.depth, jsonWalkDepth) {
		return ""
	}
	return string(w.keys[depth-1])
}

// line takes a line; false says that it is no JSON.
func (w *jsonWalk) line(b []byte, v jsonVisitor, out *ingest.Out) bool {
	trimmed := trimBlanks(b)
	if w.depth > 0 && len(b) > 0 && b[0] == '{' { // the document before it was cut off
		w.cut(v, out)
	}
	switch {
	case len(trimmed) == 0:
	case w.depth > 0 && !fioBelongs(trimmed) && !jsonIsWord(trimmed):
		return false
	case w.depth > 0 || trimmed[0] == '{':
		return w.tokens(trimmed, v, out)
	case len(bytes.Trim(trimmed, "[], ")) == 0:
	case trimmed[0] == '[' && bytes.IndexByte(trimmed, '{') > 0 && len(bytes.Trim(trimmed[:bytes.IndexByte(trimmed, '{')], "[ \t")) == 0:
		return w.tokens(trimmed, v, out)
	default:
		return false
	}
	return true
}

// jsonIsWord tells a line that is an element of a list: true, null.
func jsonIsWord(b []byte) bool {
	switch string(bytes.TrimSuffix(b, []byte(","))) {
	case "true", "false", "null":
		return true
	}
	return false
}

func (w *jsonWalk) tokens(b []byte, v jsonVisitor, out *ingest.Out) bool {
	for i := 0; i < len(b); {
		switch c := b[i]; c {
		case ' ', '\t', ',', ':':
			i++
		case '{', '[':
			i++
			if c == '{' && w.within() && !w.has { // no key stands before it: the document was cut off, and another is glued to it
				w.cut(v, out)
			}
			if w.depth > 0 || c == '{' {
				w.open(c == '[', v, out)
			}
		case '}', ']':
			i++
			if w.depth == 0 {
				continue
			}
			v.closed(out)
			w.depth--
			w.has = false
		case '"':
			if w.depth == 0 {
				return false
			}
			s, n, _ := jsonString(b[i:])
			if n == 0 {
				w.has = false
				at, more := tornString(b[i:])
				if i += at; at > 0 && b[i] == '{' {
					w.cut(v, out)
				}
				if !more {
					return true
				}
				continue
			}
			i += n
			j := i
			for j < len(b) && isBlank(b[j]) {
				j++
			}
			switch {
			case j < len(b) && b[j] == ':': // of a key without a value nothing is known
				if w.depth > 1 && string(s) == w.first && w.within() {
					w.wrapped = true
					w.cut(v, out)
					w.wrapped = false
					w.open(false, v, out)
				}
				w.key, w.has = append(w.key[:0], s...), true
				i = j + 1
			case w.has:
				v.value(s, true, out)
				w.has = false
			default:
				w.element(s, true, v, out)
			}
		default:
			if w.depth == 0 {
				return false // text behind the document
			}
			from := i
			for i < len(b) && (!fioEnds(b[i]) || w.commas && w.has && decimalComma(b, i)) {
				i++
			}
			w.loose = i == len(b)
			if i < len(b) && (b[i] == '{' || b[i] == '"') { // cut off
				w.has = false
			} else if w.has {
				v.value(b[from:i], false, out)
				w.has = false
			} else {
				w.element(b[from:i], false, v, out)
			}
		}
	}
	return true
}

// tornString is the index of what may follow a string that was cut off: of a bracket in
// it, with which another document begins, else behind its quote; more is false if
// nothing does.
func tornString(b []byte) (at int, more bool) {
	end := bytes.IndexByte(b[1:], '"') + 1
	if end == 0 {
		if b[len(b)-1] == '{' {
			return len(b) - 1, true
		}
		return 0, false
	}
	if at := bytes.LastIndexByte(b[:end], '{'); at > 0 {
		return at, true
	}
	return 1, true
}

// decimalComma says that b[i] is a comma between two digits.
func decimalComma(b []byte, i int) bool {
	return b[i] == ',' && i > 0 && i+1 < len(b) && isDecimal(b[i-1]) && isDecimal(b[i+1])
}

func (w *jsonWalk) element(b []byte, text bool, v jsonVisitor, out *ingest.Out) {
	if w.depth <= jsonWalkDepth {
		w.nth[w.depth-1]++
	}
	w.key = w.key[:0]
	v.value(b, text, out)
}

// within says that an object is open, whose values have keys.
func (w *jsonWalk) within() bool {
	return w.depth > 0 && w.depth <= jsonWalkDepth && !w.lists[w.depth-1]
}

// cut ends a document that has no end.
func (w *jsonWalk) cut(v jsonVisitor, out *ingest.Out) {
	w.depth, w.has = 0, false
	v.torn(out)
}

func (w *jsonWalk) open(list bool, v jsonVisitor, out *ingest.Out) {
	if w.depth < jsonWalkDepth {
		w.keys[w.depth], w.nth[w.depth], w.lists[w.depth] = w.keys[w.depth][:0], 0, list
		if w.has {
			w.keys[w.depth] = append(w.keys[w.depth], w.key...)
		}
	}
	w.depth++
	w.has = false
	v.opened(out)
}
