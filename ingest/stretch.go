package ingest

import (
	"bytes"
	"errors"
	"io"
)

// Stretch is some chunks of an input, those from From up to To; To 0 is to the
// input's end. An input that is CanStretch is read by several processes so, each
// of which reads a stretch: the chunks are those of one reading.
type Stretch struct{ From, To int64 }

// CanStretch says whether an input can be read from the start of any chunk on:
// it is a file that is not compressed, of a format without memory between
// lines. chunks is how many it has. What is wrong with it, reading it says.
func CanStretch(in Input, o Options) (chunks int64, ok bool) {
	o = o.filled()
	if len(in.Members) > 0 || in.Table || in.Duplicate || in.Size <= o.ChunkBytes {
		return 0, false
	}
	if f, problem := FormatOf(in, o); problem != "" || f.Line == nil {
		return 0, false
	}
	p, err := openPart(in, o, magicBytes)
	if err != nil {
		return 0, false
	}
	defer p.close()
	s, ok := p.file.(io.Seeker)
	if !ok || p.flow.compression != Plain {
		return 0, false
	}
	end, err := s.Seek(0, io.SeekEnd)
	return (end + o.ChunkBytes - 1) / o.ChunkBytes, err == nil && end > o.ChunkBytes
}

// errPast ends the cutting of lines: what follows is of another stretch.
var errPast = errors.New("past the stretch")

// start puts the cutter in front of the first line that starts in its stretch.
// The numbers of lines then count from there.
func (c *cutter) start(p *part, s Stretch) error {
	c.until = s.To * c.chunk
	if s.From == 0 {
		return nil
	}
	before := s.From*c.chunk - 1 // a line starts behind a newline there, or a later one
	edge, err := p.behind(before, min(edgeBytes, before), c.size)
	if err != nil {
		return err
	}
	c.head, c.edge, c.pos = nil, edge, before
	buffer := make([]byte, 64<<10)
	rest := p.head
	for {
		if len(rest) == 0 {
			n, err := p.flow.fill(buffer, c.size)
			if n == 0 && err == io.EOF {
				return nil // no line starts in it
			}
			if err != nil && err != io.EOF {
				return err
			}
			rest = buffer[:n]
		}
		end := bytes.IndexByte(rest, '\n') + 1
		took := end
		if end == 0 {
			took = len(rest)
		}
		c.edge = tail(nil, c.edge, rest[:took])
		c.pos += int64(took)
		if rest = rest[took:]; end > 0 {
			c.head = rest
			return nil
		}
	}
}

// JoinStretches makes the report of one reading of those of the stretches of an
// input, in their order and without a gap.
func JoinStretches(all []Report) Report {
	out := all[len(all)-1] // which has seen the end
	sum := all[0]
	sum.Tally = Tally{}
	sum.Tally.Merge(all[0].Tally)
	out.Clock, out.Checkpoint = all[0].Clock, all[0].Checkpoint
	back := all[0].Clock.Back
	for i := 1; i < len(all); i++ {
		r := &all[i]
		if r.Checkpoint != nil {
			out.Checkpoint = r.Checkpoint.behind(&sum)
			out.Checkpoint.Back = back.then(r.Checkpoint.Back)
		}
		back = back.then(r.Clock.Back)
		// Times before 1971 anywhere tell of the clock of all; without rows a
		// stretch tells nothing.
		if r.rows() > 0 && (sum.rows() == 0 || r.Clock.Loose && !out.Clock.Loose) {
			out.Clock = r.Clock
		}
		sum.FirstNS, sum.LastNS = joinSpans(sum.rows(), sum.FirstNS, sum.LastNS, r.rows(), r.FirstNS, r.LastNS)
		sum.Chunks += r.Chunks
		sum.Events, sum.Samples, sum.Evidence = sum.Events+r.Events, sum.Samples+r.Samples, sum.Evidence+r.Evidence
		sum.Tally.Merge(r.Tally)
	}
	out.Clock.Back = back
	out.Chunks, out.Events, out.Samples, out.Evidence = sum.Chunks, sum.Events, sum.Samples, sum.Evidence
	out.Tally, out.FirstNS, out.LastNS = sum.Tally, sum.FirstNS, sum.LastNS
	out.NewBytes = out.Bytes
	return out
}

func (r *Report) rows() int64 { return r.Events + r.Samples }

// joinSpans is the span of rows of two stretches, of which either may have none.
func joinSpans(n, first, last, more, from, to int64) (int64, int64) {
	switch {
	case more == 0:
		return first, last
	case n == 0:
		return from, to
	}
	return min(first, from), max(last, to)
}

// behind gives the checkpoint of a stretch as one reading of the input would:
// with what the stretches before it have counted.
func (c *Checkpoint) behind(sum *Report) *Checkpoint {
	out := *c
	out.Places = []Place{c.Places[0]}
	out.Places[0].Line += sum.Tally.Lines
	out.Chunks += int64(sum.Chunks)
	out.FirstNS, out.LastNS = joinSpans(sum.rows(), sum.FirstNS, sum.LastNS, c.Events+c.Samples, c.FirstNS, c.LastNS)
	out.Events, out.Samples, out.Evidence = out.Events+sum.Events, out.Samples+sum.Samples, out.Evidence+sum.Evidence
	out.Tally = Tally{}
	out.Tally.Merge(sum.Tally)
	out.Tally.Merge(c.Tally)
	return &out
}
