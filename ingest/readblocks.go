package ingest

import (
	"bytes"
	"context"
	"fmt"
)

// serial decodes lines in their order.
func (r *reader) serial(ctx context.Context, f Format, src *Source) (func() error, error) {
	dec, err := f.Lines(src)
	if err != nil {
		return nil, err
	}
	c, err := r.cutter(dec)
	if err != nil {
		return nil, err
	}
	c.parts = f.Cut
	if a, ok := dec.(AheadDecoder); ok && r.workers > 1 && r.rep.HeadBytes == IdentityBytes {
		return r.ahead(ctx, a, c)
	}
	return r.inOrder(ctx, dec, dec.End, c)
}

func (r *reader) inOrder(ctx context.Context, dec LineDecoder, settle func(*Out), c *cutter) (func() error, error) {
	blocks := make(chan *block, 4)
	hand := r.inHand()
	wait := pump(ctx, c.lines, blocks)
	for b := range blocks {
		hand.block = b
		if err := r.begin(b.chunk); err != nil {
			return wait, err
		}
		hand.passed(b)
		decode(dec, b, r.out)
		r.room(b.pos + int64(len(b.data)))
		b.free()
	}
	return wait, r.end(wait, settle)
}

// parallel decodes blocks of lines at once and joins them in their order.
func (r *reader) parallel(ctx context.Context, f Format, src *Source) (func() error, error) {
	dec, err := f.Line(src)
	if err != nil {
		return nil, err
	}
	c, err := r.cutter(dec)
	if err != nil {
		return nil, err
	}
	if r.workers == 1 || r.rep.HeadBytes < IdentityBytes {
		return r.inOrder(ctx, dec, nil, c)
	}
	hand := r.inHand()
	wait, err := r.inTurns(ctx, c, func(b *block) {
		b.out = smallPool.Get().(*Out)
		decode(dec, b, b.out)
	}, func(b *block) error {
		hand.block = b
		if err := r.begin(b.chunk); err != nil {
			return err
		}
		hand.passed(b)
		r.out.Append(&b.out.Batch)
		b.out.Reset()
		smallPool.Put(b.out)
		r.room(b.pos + int64(len(b.data)))
		return nil
	})
	if err != nil {
		return wait, err
	}
	return wait, r.end(wait, nil)
}

// decode decodes the lines of a block.
func decode(dec LineDecoder, b *block, out *Out) {
	out.Tally.Lines += b.lines
	if b.fault != "" {
		out.Position, out.Lineno = b.pos, b.line
		out.Reject(b.data, b.fault)
		return
	}
	data, pos, lineno := b.data, b.pos, b.line
	nul, colours := bytes.IndexByte(data, 0) >= 0, bytes.IndexByte(data, escape) >= 0
	run, _ := dec.(RunDecoder)
	if nul || colours || pos == 0 {
		run = nil
	}
	for len(data) > 0 {
		if run != nil {
			out.Position, out.Lineno = pos, lineno
			took := run.Run(data, out)
			data, pos, lineno = data[took:], out.Position, out.Lineno
			if len(data) == 0 {
				return
			}
		}
		line, took := data, len(data)
		if nl := bytes.IndexByte(data, '\n'); nl >= 0 {
			line, took = data[:nl], nl+1
		}
		for n := len(line); n > 0 && line[n-1] == '\r'; n-- {
			line = line[:n-1]
		}
		if colours {
			line = uncoloured(line)
		}
		if pos == 0 {
			line = bytes.TrimPrefix(line, bom)
		}
		out.Position, out.Lineno = pos, lineno
		if nul && bytes.IndexByte(line, 0) >= 0 {
			out.Reject(line, "nul-byte")
		} else {
			dec.Line(line, out)
		}
		data = data[took:]
		pos += int64(took)
		lineno++
	}
}

// stream decodes binary records, or JSON, with what was not taken carried on.
func (r *reader) stream(ctx context.Context, f Format, src *Source) (func() error, error) {
	dec, err := f.Stream(src)
	if err != nil {
		return nil, err
	}
	c, err := r.cutter(dec)
	if err != nil {
		return nil, err
	}
	blocks := make(chan *block, 4)
	var carry []byte
	pos, line, need, done, edge := c.pos, c.line+1, 0, 0, c.edge
	r.places = func() []Place { return place(pos, line, edge, carry[:done]) }
	wait := pump(ctx, c.stream, blocks)
	take := func(final bool) error {
		r.sealed = final
		for done < len(carry) {
			if err := r.begin(pos / r.o.ChunkBytes); err != nil {
				return err
			}
			r.out.Position, r.out.Lineno = pos, line
			took := dec.Decode(carry[done:], final, r.out)
			if took < 0 || took > len(carry)-done {
				return fmt.Errorf("internal: format %s took %d of %d bytes", f.Name, took, len(carry)-done)
			}
			if took == 0 {
				break
			}
			line += int64(bytes.Count(carry[done:done+took], []byte{'\n'}))
			pos += int64(took)
			done += took
		}
		edge = tail(edge, edge, carry[:done])
		carry, done = carry[:copy(carry, carry[done:])], 0
		// A record that is not whole is not asked for again until twice as much
		// is there: the work stays in proportion to the input.
		need = 2 * len(carry)
		if len(carry) >= MaxRecord {
			return errRecord{pos: pos}
		}
		return nil
	}
	for b := range blocks {
		carry = append(carry, b.data...)
		b.free()
		if len(carry) < need {
			continue
		}
		if err := take(false); err != nil {
			return wait, err
		}
	}
	if err := wait(); err != nil {
		return wait, err
	}
	if err := take(true); err != nil {
		return wait, err
	}
	if len(carry) > 0 {
		r.out.Tally.Lines++
		r.out.Position, r.out.Lineno = pos, line
		r.out.Reject(carry, "torn-record")
	}
	return wait, r.end(wait, dec.End)
}
