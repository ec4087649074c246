package ingest

import "fmt"

// Fate is what became of a line (of a record, for binary formats). Each has
// exactly one, and the fates of an input sum to its lines.
type Fate uint8

// The fates. FateEvent: part of an event, a sample or a piece of evidence
// (several lines may make one). FateMerged: an I/O that was merged into
// another's event. FateNote: header, comment, plug, message, summary, blank.
// FateRejected: not understood or impossible. FateUnpaired: half of an I/O
// whose other half the input does not hold. FateDuplicate: a line of an
// input that was read before.
const (
	FateEvent Fate = iota
	FateMerged
	FateNote
	FateRejected
	FateUnpaired
	FateDuplicate
	fateCount
)

// CheckState implements StateChecker.
func (f *Fate) CheckState() error {
	if *f >= fateCount {
		return fmt.Errorf("fate %d", *f)
	}
	return nil
}

// Reject is a line that was not understood, as a value. Text is its head, at
// most RejectTextBytes long.
type Reject struct {
	Position int64 // byte offset in the decompressed input
	Line     int64 // from 1
	Reason   string
	Text     string
}

// RejectTextBytes bounds the text that a Reject keeps of its line.
const RejectTextBytes = 200

// KeptRejects bounds the rejects kept of one chunk; all are counted.
const KeptRejects = 200

// Tally counts fates. Reasons are short constants of the format ("bad-time",
// "since-boot"), so both maps are small.
type Tally struct {
	Lines     int64            `json:"lines"`
	Event     int64            `json:"event_lines"`
	Merged    int64            `json:"merged_lines"`
	Notes     int64            `json:"notes"`
	Duplicate int64            `json:"duplicate_lines"`
	Rejects   map[string]int64 `json:"rejects"`
	Unpaired  map[string]int64 `json:"unpaired"`
}

// Add counts n lines of a fate; reason matters for rejected and unpaired.
func (t *Tally) Add(f Fate, reason string, n int64) {
	if n == 0 {
		return
	}
	switch f {
	case FateEvent:
		t.Event += n
	case FateMerged:
		t.Merged += n
	case FateNote:
		t.Notes += n
	case FateDuplicate:
		t.Duplicate += n
	case FateRejected:
		if t.Rejects == nil {
			t.Rejects = make(map[string]int64)
		}
		t.Rejects[reason] += n
	case FateUnpaired:
		if t.Unpaired == nil {
			t.Unpaired = make(map[string]int64)
		}
		t.Unpaired[reason] += n
	default:
		panic(fmt.Sprintf("ingest: fate %d", f))
	}
}

// Merge adds the counts of another tally; it is associative and commutative.
func (t *Tally) Merge(o Tally) {
	t.Lines += o.Lines
	t.Event += o.Event
	t.Merged += o.Merged
	t.Notes += o.Notes
	t.Duplicate += o.Duplicate
	for r, n := range o.Rejects {
		t.Add(FateRejected, r, n)
	}
	for r, n := range o.Unpaired {
		t.Add(FateUnpaired, r, n)
	}
}

// Rejected is the number of rejected lines of all reasons.
func (t *Tally) Rejected() int64 { return sum(t.Rejects) }

// UnpairedLines is the number of unpaired lines of all reasons.
func (t *Tally) UnpairedLines() int64 { return sum(t.Unpaired) }

// Accounted is the sum of all fates; it equals Lines once an input is read.
func (t *Tally) Accounted() int64 {
	return t.Event + t.Merged + t.Notes + t.Duplicate + t.Rejected() + t.UnpairedLines()
}

func sum(m map[string]int64) int64 {
	var s int64
	for _, n := range m {
		s += n
	}
	return s
}
