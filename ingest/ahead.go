package ingest

import (
	"bytes"
	"context"
	"sync"
)

// AheadDecoder is a LinesDecoder of which the reading of usual lines needs nothing of
// the lines before them, which takes most of its time: several blocks are read at once,
// ahead of their turn, and what was read is taken in its order.
type AheadDecoder interface {
	LinesDecoder
	// Ahead opens a reader. It is used by one goroutine at a time and shares nothing
	// that changes with the decoder or with other readers.
	Ahead() Ahead
	// Take does what Line would with a line, the i-th that a reader of Ahead has read.
	Take(a Ahead, i int, line []byte, out *Out)
}

// Ahead reads lines, one after the other, which stay as they are until Reset. Of a line
// for which Read is false it keeps nothing: it is left to Line.
type Ahead interface {
	Read(line []byte) bool
	Reset()
}

// aheadBlock is what was read of the lines of a block.
type aheadBlock struct {
	Ahead
	lines []aheadLine
}

type aheadLine struct {
	from, end int32 // in the block, without the line's end
	read      bool
}

// read reads the lines of a block, unless some of them are to be seen to one by one.
func (a *aheadBlock) read(b *block) bool {
	data := b.data
	if b.fault != "" || b.pos == 0 || bytes.IndexByte(data, 0) >= 0 || bytes.IndexByte(data, escape) >= 0 {
		return false
	}
	a.Reset()
	a.lines = a.lines[:0]
	for at := 0; at < len(data); {
		end, next := len(data), len(data)
		if nl := bytes.IndexByte(data[at:], '\n'); nl >= 0 {
			end, next = at+nl, at+nl+1
		}
		for end > at && data[end-1] == '\r' {
			end--
		}
		a.lines = append(a.lines, aheadLine{int32(at), int32(end), a.Read(data[at:end])})
		at = next
	}
	return true
}

// take decodes the lines of a block that was read.
func (a *aheadBlock) take(dec AheadDecoder, b *block, out *Out) {
	out.Tally.Lines += b.lines
	read := 0
	for i := range a.lines {
		l := &a.lines[i]
		out.Position, out.Lineno = b.pos+int64(l.from), b.line+int64(i)
		line := b.data[l.from:l.end]
		if l.read {
			dec.Take(a.Ahead, read, line, out)
			read++
		} else {
			dec.Line(line, out)
		}
	}
}

// ahead decodes lines in their order, of which workers have read the usual ones.
func (r *reader) ahead(ctx context.Context, dec AheadDecoder, c *cutter) (func() error, error) {
	spare := sync.Pool{New: func() any { return &aheadBlock{Ahead: dec.Ahead()} }} // of each core its own
	hand := r.inHand()
	wait, err := r.inTurns(ctx, c, func(b *block) {
		a := spare.Get().(*aheadBlock)
		if a.read(b) {
			b.ahead = a
		} else {
			spare.Put(a)
		}
	}, func(b *block) error {
		hand.block = b
		if err := r.begin(b.chunk); err != nil {
			return err
		}
		hand.passed(b)
		if b.ahead != nil {
			b.ahead.take(dec, b, r.out)
			spare.Put(b.ahead)
		} else {
			decode(dec, b, r.out)
		}
		r.room(b.pos + int64(len(b.data)))
		return nil
	})
	if err != nil {
		return wait, err
	}
	return wait, r.end(wait, dec.End)
}
