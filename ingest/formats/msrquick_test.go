package formats

import (
	"math/rand/v2"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

// TestMSRQuick: the quick path takes no line that the exact one does not take in
// the same way.
func TestMSRQuick(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 10))
	w := &logText{r: r}
	for i := range 3000 {
		msrRow(w, i)
	}
	var quick, exact ingest.Out
	taken := 0
	text := w.Bytes()
	for len(text) > 0 {
		line, rest, _ := cutLine(text)
		for range 4 {
			if len(line) > msrRoom-30 {
				break
			}
			exact.Events, quick.Events = exact.Events[:0], quick.Events[:0]
			reason := msr{}.event(line, &exact)
			if reason == "" { // what it knows of names comes from lines that were taken
				quick.Names = exact.Names
			}
			b := append(append(append(make([]byte, 0, 300), line...), '\n'), make([]byte, msrRoom)...)
			if n := (msr{}).quick(b, &quick); n > 0 {
				taken++
				if n != len(line)+1 {
					t.Fatalf("%q: %d bytes were taken", line, n)
				}
				if reason != "" || quick.Events[0] != exact.Events[0] {
					t.Fatalf("%q: %+v, want %+v %s", line, quick.Events[0], exact.Events, reason)
				}
			}
			line = append(make([]byte, 0, len(line)), line...)
			for range r.IntN(3) {
				line[r.IntN(len(line))] = "0123456789,.RWread"[r.IntN(18)]
			}
			line = line[:len(line)-r.IntN(2)*r.IntN(9)]
		}
		text = rest
	}
	if taken < 4000 {
		t.Errorf("%d lines were read quickly", taken)
	}
}
