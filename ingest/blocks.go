package ingest

import (
	"bytes"
	"context"
	"io"
	"sync"
)

// blockBytes is the size of a block of lines: small enough for a core's cache,
// large enough that handing it on costs nothing.
const blockBytes = 128 << 10

// block is what one decoder takes at a time: whole lines that all start in one
// chunk, or the head of one line that is bad as such.
type block struct {
	data  []byte
	pos   int64  // of data[0] in the decompressed input
	line  int64  // number of the first line, from 1
	lines int64  // how many lines
	chunk int64  // in which they start
	fault string // "line-too-long", "torn-line": data is the head of such a line
	mem   []byte
	out   *Out        // what a worker made of it
	ahead *aheadBlock // what was read of it; nil: nothing
}

// blockPool keeps the memory of blocks between inputs.
var blockPool = sync.Pool{New: func() any { return &block{mem: make([]byte, blockBytes)} }}

func (b *block) free() {
	*b = block{mem: b.mem}
	if len(b.mem) >= blockBytes {
		blockPool.Put(b)
	}
}

// newBlock gives a block with room for n bytes at least; one for few bytes is
// made for them, so that tiny chunks cost little.
func newBlock(n int) *block {
	if n <= blockBytes/8 {
		return &block{mem: make([]byte, n)}
	}
	b := blockPool.Get().(*block)
	if len(b.mem) < n {
		b.mem = make([]byte, n)
	}
	return b
}

// cutter cuts an inflow into blocks.
type cutter struct {
	flow  *inflow
	head  []byte // read already
	size  int    // of a read
	chunk int64
	pos   int64            // bytes handed on
	line  int64            // lines handed on
	edge  []byte           // the last bytes before pos
	parts func([]byte) int // Format.Cut
	until int64            // lines that start here or behind are not of the stretch; 0: all are
}

// cutter makes the checkpoints of dec ready and gives the cutter of the one
// stream that it decodes, at the place where the reading begins.
func (r *reader) cutter(dec any) (*cutter, error) {
	if err := r.keep(dec); err != nil {
		return nil, err
	}
	p := r.parts[0]
	c := &cutter{flow: p.flow, head: p.head, size: r.o.ReadBytes, chunk: r.o.ChunkBytes, edge: p.edge}
	switch {
	case r.from != nil:
		c.pos, c.line = r.from.Places[0].Pos, r.from.Places[0].Line-1
	case r.in.Stretch != Stretch{}:
		if err := c.start(p, r.in.Stretch); err != nil {
			return nil, err
		}
		p.edge = c.edge
	}
	return c, nil
}

// inHand is the block of lines in hand and the last bytes before it, for
// checkpoints.
type inHand struct {
	*block
	edge []byte
}

func (r *reader) inHand() *inHand {
	h := &inHand{edge: r.parts[0].edge}
	r.places = func() []Place { return place(h.pos, h.line, h.edge) }
	return h
}

// passed takes down the end of a block. Of a line that is bad as such too
// little is known to tell it again.
func (h *inHand) passed(b *block) {
	if b.fault != "" {
		h.edge = h.edge[:0]
		return
	}
	h.edge = tail(h.edge, h.edge, b.data)
}

// fill reads on into p: what is left of the head first.
func (c *cutter) fill(p []byte) (int, error) {
	if len(c.head) > 0 {
		n := copy(p, c.head)
		c.head = c.head[n:]
		return n, nil
	}
	return c.flow.fill(p, c.size)
}

// lines cuts the input into blocks of lines and sends them in order.
func (c *cutter) lines(send func(*block) error) error {
	if err := c.allLines(send); err != errPast {
		return err
	}
	return nil
}

func (c *cutter) allLines(send func(*block) error) error {
	b := newBlock(blockBytes)
	n := 0
	for ended := false; !ended; {
		// Fill the block; behind a line that is longer, fill more.
		seen := 0
		last := -1
		for {
			if n == len(b.mem) {
				b.mem = append(b.mem, make([]byte, min(len(b.mem), MaxLine+1-len(b.mem)))...)
			}
			m, err := c.fill(b.mem[n:])
			n += m
			if err == io.EOF {
				ended = true
			} else if err != nil {
				return err
			}
			if n < len(b.mem) && !ended {
				continue
			}
			if last = bytes.LastIndexByte(b.mem[seen:n], '\n'); last >= 0 {
				last += seen
			}
			seen = n
			if last >= 0 || ended || n > MaxLine {
				break
			}
		}
		if last < 0 && n > MaxLine && c.parts != nil {
			last = c.parts(b.mem[:n]) - 1
		}
		if last < 0 && n > MaxLine {
			rest, m, err := c.long(b, n, send)
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
			b, n = rest, m
			ended = false
			continue
		}
		if last < 0 {
			break
		}
		end := last + 1
		next := newBlock(max(blockBytes, n-end+1))
		rest := copy(next.mem, b.mem[end:n])
		if err := c.send(b, end, send); err != nil {
			return err
		}
		b, n = next, rest
	}
	if n == 0 {
		return nil
	}
	if c.flow.torn != "" { // what is left of a line may read as a whole one
		return c.fault(b, n, "torn-line", send)
	}
	return c.send(b, n, send)
}

// past says that what comes next is not of the stretch.
func (c *cutter) past() bool { return c.until > 0 && c.pos >= c.until }

// send hands on the first n bytes of b, lines all, cut where a chunk ends.
func (c *cutter) send(b *block, n int, send func(*block) error) error {
	data := b.mem[:n]
	for len(data) > 0 {
		if c.past() {
			return errPast
		}
		chunk := c.pos / c.chunk
		cut := len(data)
		if left := (chunk+1)*c.chunk - c.pos; left < int64(len(data)) {
			if nl := bytes.IndexByte(data[left-1:], '\n'); nl >= 0 {
				cut = int(left) + nl
			}
		}
		part := b
		if cut < len(data) { // the rest of the block's memory is still in use
			part = newBlock(cut)
			copy(part.mem, data[:cut])
			part.data = part.mem[:cut]
		} else {
			part.data = data
		}
		part.pos, part.line, part.chunk = c.pos, c.line+1, chunk
		part.lines = int64(bytes.Count(data[:cut], []byte{'\n'}))
		if data[cut-1] != '\n' {
			part.lines++
		}
		c.pos += int64(cut)
		c.line += part.lines
		data = data[cut:]
		if err := send(part); err != nil {
			return err
		}
	}
	return nil
}

// fault hands on one bad line that is n bytes long, its newline included.
func (c *cutter) fault(b *block, n int, reason string, send func(*block) error) error {
	if c.past() {
		return errPast
	}
	b.data = b.mem[:min(n, RejectTextBytes)]
	b.fault, b.pos, b.line, b.lines, b.chunk = reason, c.pos, c.line+1, 1, c.pos/c.chunk
	c.pos += int64(n)
	c.line++
	return send(b)
}

// long passes over a line that is longer than MaxLine, of which b holds n
// bytes, and gives a block with what follows; io.EOF if nothing does.
func (c *cutter) long(b *block, n int, send func(*block) error) (*block, int, error) {
	next := newBlock(blockBytes)
	if err := c.fault(b, n, "line-too-long", send); err != nil {
		return nil, 0, err
	}
	for {
		m, err := c.fill(next.mem)
		if err != nil && err != io.EOF {
			return nil, 0, err
		}
		if nl := bytes.IndexByte(next.mem[:m], '\n'); nl >= 0 {
			c.pos += int64(nl + 1)
			return next, copy(next.mem, next.mem[nl+1:m]), nil
		}
		c.pos += int64(m)
		if err == io.EOF {
			next.free()
			return nil, 0, io.EOF
		}
	}
}

// stream cuts the input into blocks of bytes whose borders depend on nothing
// but the chunks, and sends them in order.
func (c *cutter) stream(send func(*block) error) error {
	for {
		left := (c.pos/c.chunk+1)*c.chunk - c.pos
		want := int(min(left, blockBytes-c.pos%c.chunk%blockBytes))
		b := newBlock(want)
		n := 0
		var err error
		for n < want && err == nil {
			var m int
			m, err = c.fill(b.mem[n:want])
			n += m
		}
		if err != nil && err != io.EOF {
			return err
		}
		b.data, b.pos, b.chunk = b.mem[:n], c.pos, c.pos/c.chunk
		c.pos += int64(n)
		if n == 0 {
			b.free()
		} else if serr := send(b); serr != nil {
			return serr
		}
		if err == io.EOF {
			return nil
		}
	}
}

// pump runs a cutter in its own goroutine, so that reading and decompressing
// go on beside decoding. The returned function waits and gives its error.
func pump(ctx context.Context, cut func(func(*block) error) error, to chan<- *block) (wait func() error) {
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		err = cut(func(b *block) error {
			select {
			case to <- b:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		close(to)
	}()
	return func() error {
		<-done
		return err
	}
}
