package features

import (
	"github.com/iopathy/iopathy/ingest"
)

// slot is an open tick: sums of what completed in it, and the times in it.
type slot struct {
	tick     Tick
	starts   []int64 // since the tick's start
	ends     []int64 // since the tick's start, doubled, odd for an I/O of no length; ascending
	unsorted bool    // starts are not ascending
}

// nearOrder is how far a start is moved to its place as it comes; a tick with
// one that lies farther is sorted when it closes.
const nearOrder = 64

// arrive keeps a start, in order if it is near its place.
func (s *slot) arrive(offset int64) {
	n := len(s.starts)
	s.starts = append(s.starts, offset)
	if s.unsorted {
		return
	}
	i, least := n, max(n-nearOrder, 0)
	for i > least && s.starts[i-1] > offset {
		s.starts[i] = s.starts[i-1]
		i--
	}
	s.starts[i] = offset
	s.unsorted = i > 0 && s.starts[i-1] > offset
}

// add counts a completed event in its tick.
func (s *slot) add(e *ingest.Event) {
	t := &s.tick
	size := max(e.SizeBytes, 0)
	// Which it is, is a coin's toss: no branch on it.
	read, write := one(e.Op == ingest.OpRead), one(e.Op == ingest.OpWrite)
	t.Reads += read
	t.Writes += write
	t.Others += 1 - read - write
	t.ReadBytes += size & -read
	t.WriteBytes += size & -write
	if e.LatencyNS >= 0 {
		t.TimedReads += read
		t.ReadLatencyNS += e.LatencyNS & -read
		t.Timed++
		t.LatencyNS += e.LatencyNS
		t.MaxLatencyNS = max(t.MaxLatencyNS, e.LatencyNS)
	}
}
