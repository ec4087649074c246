package formats

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestCutFields: eight bytes at a time give the fields that one at a time does,
// with the same capacity, which is what tells their place.
func TestCutFields(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	var one, eight [9][]byte
	for range 20_000 {
		line := make([]byte, r.IntN(200))
		blanks := 1 + r.IntN(20)
		for i := range line {
			line[i] = " ab\xa0\x09!"[min(r.IntN(blanks+1), 1)*r.IntN(5)]
			if line[i] == '\t' {
				line[i] = 'c'
			}
		}
		want, got := cutBlanks(line, one[:0]), cutFields(line, eight[:0])
		if !slices.EqualFunc(want, got, func(a, b []byte) bool { return string(a) == string(b) && cap(a) == cap(b) }) {
			t.Fatalf("%q: %q, want %q", line, got, want)
		}
	}
}

// TestParseIOValue: numbers of up to eight bytes are read as all others are.
func TestParseIOValue(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 5))
	columns := []ioColumn{{ioReads, 1}, {ioReadBytes, 1024}, {ioUtil, 1}, {ioQueue, 1}}
	for range 200_000 {
		tok := make([]byte, r.IntN(11))
		for i := range tok {
			tok[i] = "0123456789.,-kx%\x00"[min(r.IntN(20), 3)*r.IntN(5)+r.IntN(2)]
		}
		c := columns[r.IntN(len(columns))]
		want, why := parseIOText(tok, c)
		if got, reason := parseIOValue(tok, c); got != want || reason != why {
			t.Fatalf("%q: %v %q, want %v %q", tok, got, reason, want, why)
		}
	}
}
