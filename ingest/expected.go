package ingest

import "maps"

// byDesign are the reasons for which a format sets lines aside although they
// are no fault of the input: averages since boot, counters that began anew,
// requests that the trace set itself marks as never answered.
// They are counted as rejects, and held against no input.
var byDesign = []string{"since-boot", "counter-reset", "no-response"}

// UnexpectedBy is the rejected lines that are held against the input, by reason.
func (t *Tally) UnexpectedBy() map[string]int64 {
	by := maps.Clone(t.Rejects)
	for _, r := range byDesign {
		delete(by, r)
	}
	return by
}

// Unexpected is the number of rejected lines that are held against the input
// when its share of rejects is judged.
func (t *Tally) Unexpected() int64 {
	n := t.Rejected()
	for _, r := range byDesign {
		n -= t.Rejects[r]
	}
	return n
}
