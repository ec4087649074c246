package formats

import (
	"bytes"
	"strconv"

	"github.com/iopathy/iopathy/ingest"
)

// A traceRow is the decoder of a trace set whose cells stand between commas.
type traceRow interface {
	// row takes a line, or says what is wrong with it.
	row(line []byte, out *ingest.Out) (why string)
}

// takeRow gives a line its fate. One that the set's own layout does not take is
// tried as spreadsheets and data frames write the same columns.
func takeRow(d traceRow, line []byte, out *ingest.Out) {
	why := d.row(line, out)
	if why == "" {
		return
	}
	if plain := plainCells(line, 1); plain != nil {
		if why = d.row(plain, out); why == "" {
			return
		}
	}
	if roundedCell(line) {
		why = roundedNumber
	}
	out.Reject(line, why)
}

// roundedNumber is the reason for a row with a number of which a program kept the
// first digits alone, such as 1.28166E+17: a time or an address is gone with them.
const roundedNumber = "rounded-number"

// plainCellsMost bounds the lines that are tried in other layouts: those of trace sets
// are a tenth as long.
const plainCellsMost = 1024

// plainCells is a line with bare cells between commas: without quotation marks and
// blanks around cells, with commas in place of semicolons (whose numbers have decimal
// commas) or tabs, and whole numbers without ".0" or an exponent, as long as no more
// than so many digits of theirs are lost. It is nil if nothing would change.
func plainCells(line []byte, lost int) []byte {
	if len(line) > plainCellsMost {
		return nil
	}
	sep := byte(',')
	if bytes.Count(line, []byte{';'}) >= 3 {
		sep = ';'
	} else if bytes.IndexByte(line, ',') < 0 && bytes.IndexByte(line, '\t') >= 0 {
		sep = '\t'
	}
	out := make([]byte, 0, len(line)+32)
	for rest, more := line, true; more; {
		var cell []byte
		cell, rest, more = bytes.Cut(rest, []byte{sep})
		cell = bytes.Trim(cell, " \t\"")
		if sep == ';' {
			cell = bytes.ReplaceAll(cell, []byte{','}, []byte{'.'})
		}
		out = append(wholeCell(out, cell, lost), ',')
	}
	if out = out[:len(out)-1]; bytes.Equal(out, line) {
		return nil
	}
	return out
}

// wholeCell adds a cell; a whole number that a program took for a fraction ("4096.0",
// "1.577808144360767e+15") as it was. Of more digits than a float holds, the last one
// is lost.
func wholeCell(dst, cell []byte, lost int) []byte {
	digits, zeros, ok := floatDigits(cell)
	if !ok || zeros < 0 || zeros > lost || len(digits) == len(cell) {
		return append(dst, cell...)
	}
	dst = append(dst, digits...)
	for range zeros {
		dst = append(dst, '0')
	}
	return dst
}

// roundedCell says whether a line has a number whose last digits are lost.
func roundedCell(line []byte) bool {
	if !bytes.Contains(line, []byte("E+")) && !bytes.Contains(line, []byte("e+")) {
		return false
	}
	for _, cell := range bytes.FieldsFunc(line, func(r rune) bool { return r == ',' || r == ';' || r == '\t' }) {
		if _, zeros, ok := floatDigits(bytes.Trim(cell, " \"")); ok && zeros > 1 {
			return true
		}
	}
	return false
}

// floatDigits takes a number with a point or an exponent apart: its digits, and how
// many zeros belong behind them (less than 0: it has decimals).
func floatDigits(cell []byte) (digits []byte, zeros int, ok bool) {
	if len(cell) == 0 || len(cell) > 32 || !isDigit(cell[0]) {
		return nil, 0, false
	}
	mantissa, exponent := cell, 0
	if i := bytes.IndexAny(cell, "eE"); i > 0 {
		e, err := strconv.Atoi(string(cell[i+1:]))
		if err != nil || e < -64 || e > 64 {
			return nil, 0, false
		}
		mantissa, exponent = cell[:i], e
	}
	whole, decimals, point := bytes.Cut(mantissa, []byte{'.'})
	if point && len(decimals) == 0 { // cut off
		return nil, 0, false
	}
	if exponent == 0 || len(decimals) > max(exponent, 0) {
		decimals = bytes.TrimRight(decimals, "0")
	}
	digits = append(append(make([]byte, 0, 32), whole...), decimals...)
	for _, c := range digits {
		if !isDigit(c) {
			return nil, 0, false
		}
	}
	return digits, exponent - len(decimals), true
}

// guessed is a line for a sniff, which looks at the columns and not at what they say:
// lost digits are taken for zeros.
func guessed(line []byte) []byte {
	if roundedCell(line) {
		if plain := plainCells(line, 18); plain != nil {
			return plain
		}
	}
	return line
}

// headed says whether a head begins with the header of a trace set, in small letters:
// then it is of that set, however many of its rows are faulty.
func headed(head []byte, header string) bool {
	first, _, _ := bytes.Cut(bytes.TrimLeft(head, "\r\n"), []byte{'\n'})
	first = bytes.TrimRight(first, "\r")
	if fold(first, header) {
		return true
	}
	plain := plainCells(first, 1)
	return plain != nil && fold(plain, header)
}
