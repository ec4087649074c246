package ingest

import (
	"context"
	"fmt"
	"io"
	"math"
	"sync"
)

// member is one stream of records, and how far it was read.
type member struct {
	*part
	number   int
	buf      []byte
	from, to int   // what of buf is not decoded yet
	pos      int64 // of buf[from] in the member
	line     int64 // number of the record at buf[from], from 1
	time     int64 // of that record
	ended    bool  // nothing follows buf[:to]

	feed *feed  // that reads ahead; nil: nothing does
	hand *fed   // of which buf is
	at   int    // which of its records stands at buf[from]
	own  []byte // what is left of one, and the next
}

// more reads on behind what is not decoded yet.
func (m *member) more(ctx context.Context, o Options) error {
	if m.feed != nil {
		return m.next(ctx)
	}
	if m.from > 0 {
		m.edge = tail(m.edge, m.edge, m.buf[:m.from])
		m.from, m.to = 0, copy(m.buf, m.buf[m.from:m.to])
	}
	if m.to == len(m.buf) {
		if m.to >= MaxRecord {
			return errRecord{pos: m.pos}
		}
		m.buf = append(m.buf, make([]byte, len(m.buf))...)
	}
	n, err := m.flow.fill(m.buf[m.to:], o.ReadBytes)
	m.to += n
	if err == io.EOF {
		m.ended, err = true, nil
	}
	return err
}

func (m *member) before(n *member) bool {
	return m.time < n.time || m.time == n.time && m.number < n.number
}

// merge is the members that have records left, as a heap: the one with the
// earliest record is the first.
type merge []*member

func (h merge) down(i int) {
	for {
		c := 2*i + 1
		if c >= len(h) {
			return
		}
		if c+1 < len(h) && h[c+1].before(h[c]) {
			c++
		}
		if !h[c].before(h[i]) {
			return
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
}

// until is the time up to which the first member's records come before all
// others.
func (h merge) until() int64 {
	if len(h) == 1 {
		return math.MaxInt64
	}
	second := h[1]
	if len(h) > 2 && h[2].before(second) {
		second = h[2]
	}
	if h[0].number < second.number || second.time == math.MinInt64 {
		return second.time
	}
	return second.time - 1
}

// records decodes the records of all members in the order of time; among equals
// that of the members. It holds one buffer a member, whatever their sizes. A
// chunk is a span of ChunkBytes of the bytes in that order.
func (r *reader) records(ctx context.Context, f Format, src *Source, parts []*part) (func() error, error) {
	for _, p := range parts {
		src.Heads = append(src.Heads, p.head)
	}
	dec, err := f.Records(src)
	if err != nil {
		return nil, err
	}
	src.Heads = nil
	if err := r.keep(dec); err != nil {
		return nil, err
	}
	none := func() error { return nil }
	var feeds sync.WaitGroup
	defer feeds.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ahead, _ := dec.(ReadDecoder)
	pos := int64(0)
	var heap merge
	all := make([]*member, len(parts))
	r.places = func() (list []Place) {
		for _, m := range all {
			at := place(m.pos, m.line, m.edge, m.buf[:m.from])
			if at == nil || m.ended {
				return nil
			}
			list = append(list, at...)
		}
		return list
	}
	// next finds the time of a member's next record; false at its end.
	next := func(m *member) (bool, error) {
		for {
			if read := m.read(); read != nil {
				if m.time = read.Time(m.at); m.time >= 0 {
					return true, nil
				}
			}
			data := m.buf[m.from:m.to]
			if ns, known := dec.Time(m.number, data); known {
				m.time = ns
				return true, nil
			}
			if m.ended {
				return false, r.left(m, &pos)
			}
			if err := ctx.Err(); err != nil {
				return false, err
			}
			if err := m.more(ctx, r.o); err != nil {
				return false, err
			}
		}
	}
	for i, p := range parts {
		m := &member{part: p, number: i, line: 1}
		if r.from != nil {
			m.pos, m.line = r.from.Places[i].Pos, r.from.Places[i].Line
			pos += m.pos
		}
		if ahead != nil {
			m.feed = newFeed(ctx, p, ahead, i, len(parts), r.o.ReadBytes, &feeds)
		} else {
			m.buf = p.mem[:]
			m.to = copy(m.buf, p.head)
		}
		all[i] = m
		switch ok, err := next(m); {
		case err != nil:
			return none, err
		case ok:
			heap = append(heap, m)
		}
	}
	for i := len(heap)/2 - 1; i >= 0; i-- {
		heap.down(i)
	}
	for len(heap) > 0 {
		m := heap[0]
		if err := r.begin(pos / r.o.ChunkBytes); err != nil {
			return none, err
		}
		r.out.Position, r.out.Lineno = m.pos, m.line
		data := m.buf[m.from:m.to]
		run := Run{Member: m.number, Data: data, Room: int(min(r.out.Limit-pos, math.MaxInt32)), Until: heap.until(), Final: m.ended}
		var took int
		if read := m.read(); read != nil {
			took = ahead.Take(run, read, m.at, r.out)
			m.at += int(r.out.Lineno - m.line)
		} else {
			took = dec.Decode(run, r.out)
		}
		if took < 0 || took > len(data) {
			return none, fmt.Errorf("internal: format %s took %d of %d bytes", f.Name, took, len(data))
		}
		m.from += took
		m.pos += int64(took)
		m.line = r.out.Lineno
		pos += int64(took)
		r.room(pos)
		if took == 0 { // a record that is not whole
			if !m.ended {
				if err := m.more(ctx, r.o); err != nil {
					return none, err
				}
				continue
			}
			if err := r.left(m, &pos); err != nil {
				return none, err
			}
		} else if ok, err := next(m); err != nil {
			return none, err
		} else if ok {
			heap.down(0)
			continue
		}
		heap[0] = heap[len(heap)-1]
		heap = heap[:len(heap)-1]
		heap.down(0)
	}
	return none, r.end(none, func(out *Out) {
		out.Position = pos
		dec.End(out)
	})
}

// left gives what is left of a member that has ended its fate: a torn record.
func (r *reader) left(m *member, pos *int64) error {
	r.loose = r.loose || len(r.in.Members) > 0
	data := m.buf[m.from:m.to]
	if len(data) == 0 {
		return nil
	}
	if err := r.begin(*pos / r.o.ChunkBytes); err != nil {
		return err
	}
	r.out.Tally.Lines++
	r.out.Position, r.out.Lineno = m.pos, m.line
	r.out.Reject(data, "torn-record")
	*pos += int64(len(data))
	m.from = m.to
	return nil
}
