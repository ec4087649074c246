package formats

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
)

// fioFigure reads a figure of fio, with a decimal comma or a point. What it begins its
// minima with, before there is any, is none.
func fioFigure(b []byte) (float64, bool) {
	if i := bytes.IndexByte(b, ','); i > 0 && len(b) <= 40 {
		var mem [40]byte
		b = append(mem[:0], b...)
		b[i] = '.'
	}
	x, ok := fioNumber(b)
	return x, ok && x < 1<<63
}

// fioNumber reads a JSON number; what is none (nan, inf) is not told.
func fioNumber(b []byte) (float64, bool) {
	if len(b) == 0 || len(b) > 40 {
		return 0, false
	}
	if b[0]-'0' <= 9 && b[len(b)-1]-'0' <= 9 && len(b) <= 16 {
		if x, ok := parseFloat(b); ok {
			return x, true
		}
	}
	for _, c := range b {
		if c-'0' > 9 && c != '.' && c != '-' && c != '+' && c|0x20 != 'e' {
			return 0, false
		}
	}
	x, err := strconv.ParseFloat(string(b), 64)
	return x, err == nil && !math.IsInf(x, 0)
}

// fioText is the text of a JSON string, whose inside v is.
func fioText(v []byte) string {
	if bytes.IndexByte(v, '\\') < 0 {
		return string(v)
	}
	var s string
	if json.Unmarshal(append(append([]byte{'"'}, v...), '"'), &s) != nil {
		return string(v)
	}
	return s
}

// jsonUnescaped is the text of a JSON string, whose inside v is: v itself unless there
// are escapes.
func jsonUnescaped(v []byte) []byte {
	if bytes.IndexByte(v, '\\') < 0 {
		return v
	}
	return []byte(fioText(v))
}
