package ingest

import (
	"context"
	"io"
	"sync"
)

// feed reads the records of one member ahead of their turn: a goroutine of its own
// reads bytes, decompresses them and reads the records in them, while others are taken.
type feed struct {
	full, free chan *fed
}

// fed is some bytes of a member, behind those of the last, and the records at their
// start.
type fed struct {
	mem   []byte
	data  []byte
	read  RecordsReader // nil: none was read
	ended bool          // nothing follows
	err   error
}

// The bytes that are read at a time: fewer for each where there are many members, so
// that all together take little memory.
const (
	fedBytes      = 128 << 10
	fedLeastBytes = 8 << 10
	fedAllBytes   = 1 << 20
	fedAhead      = 3 // of each member, the one in hand among them
)

// newFeed starts to read a member of so many, which is done when group is.
func newFeed(ctx context.Context, p *part, dec ReadDecoder, number, members, size int, group *sync.WaitGroup) *feed {
	f := &feed{full: make(chan *fed, fedAhead), free: make(chan *fed, fedAhead)}
	each := max(fedLeastBytes, min(fedBytes, fedAllBytes/members))
	usual := true
	for range fedAhead {
		b := &fed{read: dec.Reader(number)}
		usual = usual && b.read != nil
		f.free <- b
	}
	group.Go(func() {
		rest, eof := p.head, false // in the memory of the part, then of the last block
		for first := true; ; first = false {
			var b *fed
			select {
			case b = <-f.free:
			case <-ctx.Done():
				return
			}
			switch need := max(each, 2*len(rest)); {
			case first: // what is in memory stays there
				b.mem = p.mem[:]
				copy(b.mem, rest)
			case len(b.mem) < need:
				mem := make([]byte, need)
				copy(mem, rest)
				b.mem = mem
			default:
				copy(b.mem, rest)
			}
			n, more := len(rest), 0
			if !eof {
				var err error
				more, err = p.flow.fill(b.mem[n:], size)
				if eof = err == io.EOF; !eof {
					b.err = err
				}
			}
			b.data, rest = b.mem[:n+more], nil
			b.ended = eof && more == 0 && !(first && n > 0) // told when all else is taken
			if usual {
				var took int
				if took, usual = b.read.Read(b.data); usual && !b.ended {
					b.data, rest = b.data[:took], b.data[took:]
				}
			} else {
				b.read = nil
			}
			f.full <- b // there is room for all
			if b.ended || b.err != nil {
				return
			}
		}
	})
	return f
}

// next puts what a feed has read behind what is left of the member.
func (m *member) next(ctx context.Context) error {
	var b *fed
	select {
	case b = <-m.feed.full:
	case <-ctx.Done():
		return ctx.Err()
	}
	if b.err != nil {
		return b.err
	}
	m.edge = tail(m.edge, m.edge, m.buf[:m.from])
	m.ended = b.ended
	if m.from == m.to {
		m.feed.back(m.hand)
		m.hand, m.buf, m.from, m.to, m.at = b, b.data, 0, len(b.data), 0
		return nil
	}
	// What is left is no usual record: neither is what follows.
	left := m.buf[m.from:m.to]
	if len(left)+len(b.data) > MaxRecord {
		return errRecord{pos: m.pos}
	}
	m.own = append(append(m.own[:0], left...), b.data...)
	m.feed.back(b)
	m.feed.back(m.hand)
	m.hand = nil
	m.buf, m.from, m.to = m.own, 0, len(m.own)
	return nil
}

func (f *feed) back(b *fed) {
	if b != nil {
		f.free <- b
	}
}

// read is the reader of the records at the member's place that were read; nil if none
// are left.
func (m *member) read() RecordsReader {
	if m.hand == nil || m.hand.read == nil || m.at >= m.hand.read.Len() {
		return nil
	}
	return m.hand.read
}
