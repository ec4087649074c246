package local

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest/lake"
)

const (
	tickBuffer = 32 << 10  // ticks of a row group
	laneTicks  = 2 << 10   // that a device gathers before it takes the lock
	heldTicks  = 128 << 10 // that wait for their turn in memory, of all devices: 17 MiB
	largeTicks = 32 << 10  // from which on a device that must wait goes on to a file
)

// tickWriter stores ticks, windows and profiles, a part of each a host and date. Devices come from several
// workers and are written in the order of their numbers, so that the files'
// bytes don't depend on who was first. The one whose turn it is writes as it
// goes. Another keeps its ticks in memory, as long as there is room for them;
// then a large device goes on to a file of its own, so that the workers don't
// wait for each other, and a small one waits. The one whose turn it is never
// waits, so all get theirs.
type tickWriter struct {
	lake string
	keep *keeping

	mu       sync.Mutex
	turns    sync.Cond
	next     int // whose turn it is
	lanes    map[int]*tickLane
	held     int // ticks that wait in memory
	free     [][]features.Tick
	cell     cell // in hand
	windows  windowPart
	profiles profilePart
	part     *tickPart
	spare    *tickPart // one that is closed; its memory is used again
	err      error
}

// tickLane is the ticks of one device.
type tickLane struct {
	to     *tickWriter
	number int
	key    features.Key
	cell   cell
	hand   []features.Tick
	res    *deviceResult // nil: its ticks are all

	// Under the lock of to.
	waiting [][]features.Tick
	count   int          // of the ticks that were given before its turn
	spill   *lake.Writer // what came after those
	path    string
	done    bool
}

type tickPart struct {
	name string
	w    *lake.Writer
	keys []features.Key
	rows []features.Tick
}

func newTickWriter(dir string, keep *keeping) *tickWriter {
	t := &tickWriter{lake: dir, keep: keep, lanes: map[int]*tickLane{}, windows: windowPart{keep: keep}, profiles: profilePart{keep: keep}}
	t.turns.L = &t.mu
	return t
}

// lane begins device number i.
func (t *tickWriter) lane(i int, key features.Key, c cell) *tickLane {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := &tickLane{to: t, number: i, key: key, cell: c}
	t.lanes[i] = l
	return l
}

// add takes the next tick. A failure shows at the end.
func (l *tickLane) add(x *features.Tick) {
	if l.hand = append(l.hand, *x); len(l.hand) >= laneTicks {
		l.to.mu.Lock()
		l.give()
		l.to.mu.Unlock()
	}
}

// close ends the lane.
func (l *tickLane) close() error {
	t := l.to
	t.mu.Lock()
	defer t.mu.Unlock()
	l.give()
	l.done = true
	t.advance()
	return t.err
}

// advance gives the turn to the next lane that is not done.
func (t *tickWriter) advance() {
	for l := t.lanes[t.next]; l != nil && l.done && t.err == nil; l = t.lanes[t.next] {
		t.drain(l)
		if t.err == nil {
			t.fail(t.finish(l))
		}
		delete(t.lanes, t.next)
		t.next++
	}
	if l := t.lanes[t.next]; l != nil {
		t.drain(l)
	}
	t.turns.Broadcast()
}

// give passes on what is in hand: to the files if it is the lane's turn.
func (l *tickLane) give() {
	t := l.to
	for t.err == nil && t.next != l.number && t.held+len(l.hand) > heldTicks && l.count < largeTicks {
		t.turns.Wait()
	}
	switch {
	case t.err != nil || len(l.hand) == 0:
	case t.next == l.number:
		t.write(l, l.hand)
	case l.spill == nil && t.held+len(l.hand) <= heldTicks:
		l.waiting = append(l.waiting, l.hand)
		l.count += len(l.hand)
		t.held += len(l.hand)
		l.hand = nil
		if n := len(t.free); n > 0 {
			l.hand, t.free = t.free[n-1], t.free[:n-1]
		}
	default:
		if err := l.put(); err != nil {
			t.fail(fmt.Errorf("features: ticks that wait: %w", err))
		}
	}
	l.hand = l.hand[:0]
}

// put adds what is in hand to the lane's own file.
func (l *tickLane) put() (err error) {
	keys := make([]features.Key, len(l.hand))
	cols := features.TickColumns(keys, l.hand)
	if l.spill == nil {
		// What a crash leaves of it goes as all hidden files do.
		l.path = filepath.Join(l.to.lake, lake.Ticks, fmt.Sprintf(".%d.tmp", l.number))
		if l.spill, err = lake.Create(l.path, lake.Fields(cols), nil); err != nil {
			return err
		}
	}
	l.count += len(l.hand)
	return l.spill.Write(cols)
}

// drain writes what waits of the lane whose turn it is.
func (t *tickWriter) drain(l *tickLane) {
	for _, rows := range l.waiting {
		if t.err == nil {
			t.write(l, rows)
		}
		t.held -= len(rows)
		if cap(rows) >= laneTicks && len(t.free)*laneTicks < heldTicks {
			t.free = append(t.free, rows[:0])
		}
	}
	l.waiting = nil
	if l.spill == nil || t.err != nil {
		return
	}
	spill := l.spill
	l.spill = nil
	if _, err := spill.Close(); err != nil {
		t.fail(err)
		return
	}
	err := t.reread(l)
	t.fail(errors.Join(err, os.Remove(l.path)))
}

// reread writes what stands in the lane's own file.
func (t *tickWriter) reread(l *tickLane) error {
	r, err := lake.Open(l.path, nil)
	if err != nil {
		return err
	}
	defer r.Close()
	for t.err == nil {
		cols, _, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		_, rows, err := features.TicksFromColumns(cols)
		if err != nil {
			return err
		}
		t.write(l, rows)
	}
	return nil
}

func (t *tickWriter) fail(err error) {
	if t.err == nil && err != nil {
		t.err = err
		t.turns.Broadcast()
	}
}

const dayNS = 24 * 60 * 60 * int64(1e9)

// write stores ticks of a device, whose turn it is.
func (t *tickWriter) write(l *tickLane, rows []features.Tick) {
	if t.fail(t.enter(l.cell)); t.err != nil {
		return
	}
	if t.part == nil {
		if t.part = t.spare; t.part == nil {
			t.part = new(tickPart)
		}
		t.part.name = lake.PartName{Table: lake.Ticks, Date: l.cell.date, Host: l.cell.host, Input: "ticks"}.Path()
	}
	for p := t.part; len(rows) > 0; {
		n := min(len(rows), tickBuffer-len(p.rows)) // that the row group has room for
		p.rows = append(p.rows, rows[:n]...)
		for range n {
			p.keys = append(p.keys, l.key)
		}
		rows = rows[n:]
		if len(p.rows) == tickBuffer {
			if t.fail(t.flush(p)); t.err != nil {
				return
			}
		}
	}
}

func (t *tickWriter) flush(p *tickPart) error {
	if len(p.rows) == 0 {
		return nil
	}
	cols := features.TickColumns(p.keys, p.rows)
	if p.w == nil {
		var err error
		if p.w, err = lake.Create(t.keep.path(p.name), lake.Fields(cols), nil); err != nil {
			return err
		}
	}
	p.keys, p.rows = p.keys[:0], p.rows[:0]
	return p.w.Write(cols)
}

// closeCell ends the parts of the cell in hand.
func (t *tickWriter) closeCell() error {
	return errors.Join(t.closeTicks(), t.windows.close(), t.profiles.close())
}

func (t *tickWriter) closeTicks() error {
	p := t.part
	if p == nil {
		return nil
	}
	if err := t.flush(p); err != nil {
		return err
	}
	t.part = nil
	part, err := p.w.Close()
	if err != nil {
		return err
	}
	t.keep.add(p.name, part)
	p.w = nil
	t.spare = p
	return nil
}

func (t *tickWriter) close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err = t.closeCell()
	}
	return t.err
}

func (t *tickWriter) abort() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fail(errors.New("features: given up"))
	if t.part != nil && t.part.w != nil {
		t.part.w.Abort()
	}
	for _, w := range []*lake.Writer{t.windows.w, t.profiles.w} {
		if w != nil {
			w.Abort()
		}
	}
	for _, l := range t.lanes {
		if l.spill != nil {
			l.spill.Abort()
		}
	}
}
