package ingest

import "math"

// Chunk is the rows of the lines that start in one fixed span of an input's
// decompressed bytes: chunk k holds [k x ChunkBytes, (k+1) x ChunkBytes). It is
// the same whatever the workers and the size of reads. A span in which no line
// starts has no chunk.
type Chunk struct {
	Input  Input
	ID     string // identity of the input
	Format string
	Number int64
	Final  bool // the input has passed its end: it will not change when the input grows
	*Batch      // rows, names and the account of its lines; reused after emit

	// Alone is closed once nothing is read meanwhile: until then a core is left to
	// what reads on. It is nil if nothing is read from the start.
	Alone <-chan struct{}
}

// Report is what became of one input: of all of it, also when the reading went on
// from a checkpoint.
type Report struct {
	Path            string `json:"path"`
	ID              string `json:"id"`         // identity, 32 hex digits
	SeenID          string `json:"seen_id"`    // identity of its head as it is now: ID, unless Input.ID was set
	HeadBytes       int    `json:"head_bytes"` // of that head
	Host            string `json:"host"`       // for rows whose content names none
	Format          string `json:"format"`
	Mapping         string `json:"mapping,omitempty"` // by which it was read
	Compression     string `json:"compression"`
	CompressedBytes int64  `json:"compressed_bytes"` // as stored
	Bytes           int64  `json:"bytes"`            // decompressed
	NewBytes        int64  `json:"new_bytes"`        // of these, decoded now: all, or those behind the checkpoint
	Chunks          int    `json:"chunks"`
	Tally           Tally  `json:"tally"`
	Torn            string `json:"torn,omitempty"`    // the damage at which the input ends, as a name
	Problem         string `json:"problem,omitempty"` // why it was not read, or not to its end, in words
	Events          int64  `json:"events"`
	Samples         int64  `json:"samples"`
	Evidence        int64  `json:"evidence"`
	FirstNS         int64  `json:"first_ns"` // earliest start; 0 without events and samples
	LastNS          int64  `json:"last_ns"`  // latest completion

	Clock ClockReport `json:"clock"` // of its stamps; empty if it was not read to its end

	Note       string      `json:"note,omitempty"` // why the reading did not go on from Input.Resume
	Kept       int64       `json:"-"`              // the first chunk that was read now; 0 if the reading began at the start
	Checkpoint *Checkpoint `json:"-"`              // the last; nil without Input.Checkpoints, or of one chunk
}

// add counts a chunk that is complete; its times stand in the report already.
func (r *Report) add(b *Batch) {
	r.Chunks++
	r.Tally.Merge(b.Tally)
	r.Events += int64(len(b.Events))
	r.Samples += int64(len(b.Samples))
	r.Evidence += int64(len(b.Evidence))
}

// rowSpan is from the earliest start to the latest end of the rows of an input.
type rowSpan struct {
	from, to        int64
	known           bool
	events, samples int // of the chunk in hand that it has seen
	back            StepsBack
}

// see takes the rows of the chunk in hand that it has not seen, best while the cache
// still holds them.
func (s *rowSpan) see(b *Batch) {
	if s.events == len(b.Events) && s.samples == len(b.Samples) {
		return
	}
	if !s.known {
		s.from, s.to, s.known = math.MaxInt64, math.MinInt64, true
	}
	from, to := s.from, s.to
	for i := s.events; i < len(b.Events); i++ {
		e := &b.Events[i]
		from, to = min(from, e.TimeNS-max(e.LatencyNS, 0)), max(to, e.TimeNS)
	}
	for i := s.samples; i < len(b.Samples); i++ {
		p := &b.Samples[i]
		from, to = min(from, p.TimeNS-p.IntervalNS), max(to, p.TimeNS)
	}
	s.back.events(b.Events, s.events)
	s.back.samples(b.Samples, s.samples)
	s.from, s.to, s.events, s.samples = from, to, len(b.Events), len(b.Samples)
}
