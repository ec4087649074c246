package ingest

import "slices"

// Out is where a decoder puts what it reads: the rows of the chunk in hand,
// the names they use, the fates of the lines, the bad ones.
//
// Position and Lineno are those of the line in hand (of block[0] for a
// StreamDecoder); the rows that the helpers add carry Position. Limit is the
// end of the chunk in hand, for a StreamDecoder.
type Out struct {
	Batch
	Position int64
	Lineno   int64
	Limit    int64
}

// Batch is the rows of a chunk and the account of its lines. Rows refer to
// Names of the same batch.
type Batch struct {
	Events   []Event
	Samples  []Sample
	Evidence []Evidence
	Names    Names
	Tally    Tally
	Rejected []Reject // the first KeptRejects

	sorting sorting
}

// MaxLatencyNS is the longest that an I/O may take: a day. What is longer is a
// broken stamp, and would make every tick of its span wait for it.
const MaxLatencyNS = 24 * 3600 * 1_000_000_000

// MaxSizeBytes is the largest that an I/O may be: a tebibyte. The kernel cuts those
// that it makes at 4 GiB, and one call of a program moves less than 2; what is larger
// is a broken number.
const MaxSizeBytes = 1 << 40

// MaxIntervalNS is the longest interval of a sample: 31 days. What is longer is a
// broken stamp, or says nothing of when something was done.
const MaxIntervalNS = 31 * 24 * 3600 * 1_000_000_000

// Event adds an event that the line in hand completes, and counts that line. A
// latency over MaxLatencyNS, or a size over MaxSizeBytes, makes it a reject.
func (o *Out) Event(e Event) {
	switch {
	case e.LatencyNS > MaxLatencyNS:
		o.Reject(nil, "latency-over-a-day")
		return
	case e.SizeBytes > MaxSizeBytes:
		o.Reject(nil, "size-over-a-tebibyte")
		return
	}
	e.Position = o.Position
	o.Events = append(o.Events, e)
	o.Tally.Event++
}

// Sample adds a sample that the line in hand holds, and counts that line. An interval
// over MaxIntervalNS makes it a reject.
func (o *Out) Sample(s Sample) {
	if s.IntervalNS > MaxIntervalNS {
		o.Reject(nil, "interval-over-a-month")
		return
	}
	s.Position = o.Position
	o.Samples = append(o.Samples, s)
	o.Tally.Event++
}

// Fact adds a piece of evidence without counting a line.
func (o *Out) Fact(e Evidence) {
	e.Position = o.Position
	o.Evidence = append(o.Evidence, e)
}

// Facts adds n pieces of evidence without counting a line, which the caller fills
// in, Position included, before it adds others.
func (o *Out) Facts(n int) []Evidence {
	begin := len(o.Evidence)
	o.Evidence = slices.Grow(o.Evidence, n)[:begin+n]
	return o.Evidence[begin:]
}

// Note counts the line in hand as one that holds no data.
func (o *Out) Note() { o.Tally.Notes++ }

// Reject counts the line in hand as bad and keeps its head.
func (o *Out) Reject(line []byte, reason string) {
	o.Tally.Add(FateRejected, reason, 1)
	if len(o.Rejected) < KeptRejects {
		o.keep(Reject{Position: o.Position, Line: o.Lineno, Reason: reason, Text: string(line[:min(len(line), RejectTextBytes)])})
	}
}

// Count gives n lines seen earlier a fate (a queued I/O's line when it is
// merged, completed or left unpaired at the end).
func (o *Out) Count(f Fate, reason string, n int64) { o.Tally.Add(f, reason, n) }

func (o *Out) keep(r Reject) {
	if len(o.Rejected) < KeptRejects {
		o.Rejected = append(o.Rejected, r)
	}
}

// Append adds the rows and the account of another batch behind those of b. The
// names get the numbers that they would have if b had seen all lines itself.
func (b *Batch) Append(o *Batch) {
	list := o.Names.List()
	number := make([]Name, len(list))
	same := true
	for i, s := range list {
		number[i] = b.Names.InternString(s)
		same = same && number[i] == Name(i)
	}
	events, samples, facts := len(b.Events), len(b.Samples), len(b.Evidence)
	b.Events = append(b.Events, o.Events...)
	b.Samples = append(b.Samples, o.Samples...)
	b.Evidence = append(b.Evidence, o.Evidence...)
	if !same {
		for i := events; i < len(b.Events); i++ {
			e := &b.Events[i]
			e.Host, e.Device, e.Comm = number[e.Host], number[e.Device], number[e.Comm]
			e.File, e.Cgroup = number[e.File], number[e.Cgroup]
		}
		for i := samples; i < len(b.Samples); i++ {
			s := &b.Samples[i]
			s.Host, s.Device = number[s.Host], number[s.Device]
		}
		for i := facts; i < len(b.Evidence); i++ {
			e := &b.Evidence[i]
			e.Host, e.Device, e.Name, e.Text = number[e.Host], number[e.Device], number[e.Name], number[e.Text]
		}
	}
	b.Tally.Merge(o.Tally)
	for _, r := range o.Rejected {
		if len(b.Rejected) == KeptRejects {
			break
		}
		b.Rejected = append(b.Rejected, r)
	}
}

// Reset empties a batch for reuse; the rows' memory is kept, the names are not.
func (b *Batch) Reset() {
	*b = Batch{Events: b.Events[:0], Samples: b.Samples[:0], Evidence: b.Evidence[:0], sorting: b.sorting}
}
