package formats

import (
	"math/bits"

	"github.com/iopathy/iopathy/ingest"
)

// tenths are the powers of ten by which the digits behind a point are divided.
var tenths = [8]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7}

// shortFigure reads a number of one to eight bytes: digits, or digits, point and
// digits; ok is false for all else, which may be a number yet. Both the digits and
// the power of ten are exact, so that their quotient is rounded once (Clinger,
// PLDI 1990).
func shortFigure(b []byte, point byte) (x float64, ok bool) {
	y := load8(b, 0) ^ bytes8x30
	n := leading(y)
	if n == 0 || len(b) > 8 {
		return 0, false
	}
	if n >= len(b) {
		return float64(joined(y, len(b))), true
	}
	m := len(b) - 1 // digits
	if byte(y>>(8*uint(n)&63)) != point^0x30 || n == m {
		return 0, false
	}
	before := uint64(1)<<(8*uint(n)&63) - 1
	y = y&before | y>>8&^before // the point taken out
	if leading(y) < m {
		return 0, false
	}
	return float64(joined(y, m)) / tenths[m-n], true
}

// pointFigure reads digits, a point and digits of at most 15 digits in all; ok is
// false for all else.
func pointFigure(b []byte) (x float64, ok bool) {
	if len(b) > 16 {
		return 0, false
	}
	v, end := scanDigits(b, 0)
	if end == 0 || end >= len(b) || b[end] != '.' {
		return 0, false
	}
	frac, stop := scanDigits(b, end+1)
	if stop != len(b) {
		return 0, false
	}
	ten := uint64(1)
	if n := stop - end - 1; n <= 8 {
		ten = tens[n]
	} else {
		ten = tens[8] * tens[n-8]
	}
	return float64(uint64(v)*ten+uint64(frac)) / float64(ten), true
}

// hasClock says that a colon stands behind a digit, as it does in each time of day.
func hasClock(b []byte) bool {
	const colons = 0x3a3a3a3a3a3a3a3a
	for base := 0; base < len(b); base += 8 {
		for at := eights(load8(b, base), colons); at != 0; at &= at - 1 {
			if i := base + bits.TrailingZeros64(at); i > 0 && isDecimal(b[i-1]) {
				return true
			}
		}
	}
	return false
}

// blankField reads a number as shortFigure does, its parts of up to seven digits
// each, that stands behind blanks at line[i] and before a blank or the line's end;
// end is the index behind it.
func blankField(line []byte, i int, point byte) (x float64, end int, ok bool) {
	if i < len(line) && line[i] == ' ' {
		i = skipSpaces(line, i+1)
	}
	y := load8(line, i) ^ bytes8x30
	n := leading(y)
	if n == 0 || n == 8 {
		return 0, i, false
	}
	x = float64(joined(y, n))
	if i += n; i < len(line) && line[i] == point {
		y = load8(line, i+1) ^ bytes8x30
		m := leading(y)
		if m == 0 || m == 8 {
			return 0, i, false
		}
		x = (x*tenths[m] + float64(joined(y, m))) / tenths[m]
		i += 1 + m
	}
	return x, i, i >= len(line) || line[i] == ' '
}

// skipSpaces is the index of what stands behind the spaces at line[i].
func skipSpaces(line []byte, i int) int {
	for i < len(line) {
		n := bits.TrailingZeros64(load8(line, i)^bytes8x20) / 8
		if i += n; n < 8 {
			break
		}
	}
	return min(i, len(line))
}

// factName is a fact's name, and the number that it has in the batch in hand.
type factName struct {
	text string
	id   ingest.Name `state:"-"`
}

// in is the name's number in out.
func (f *factName) in(out *ingest.Out) ingest.Name {
	if f.id == 0 || out.Names.String(f.id) != f.text {
		f.id = out.Names.InternString(f.text)
	}
	return f.id
}
