package local

import (
	"cmp"
	"container/heap"
	"errors"
	"io"
	"math"

	"github.com/iopathy/iopathy/ingest"
)

// before is the total order of a device's events: completion, start, offset,
// size, op, input, position.
func before(s, t source) bool {
	a, b := s.head(), t.head()
	if a.TimeNS != b.TimeNS {
		return a.TimeNS < b.TimeNS
	}
	c := cmp.Or(
		cmp.Compare(a.StartNS(), b.StartNS()),
		cmp.Compare(a.OffsetBytes, b.OffsetBytes),
		cmp.Compare(a.SizeBytes, b.SizeBytes),
		cmp.Compare(a.Op, b.Op),
		cmp.Compare(s.input(), t.input()),
		cmp.Compare(a.Position, b.Position),
	)
	return c < 0
}

// source is a sorted sequence of events of one input: head is the next one,
// which holds until the next call of next.
type source interface {
	head() *ingest.Event
	input() string
	next() error           // io.EOF after the last
	ready() []ingest.Event // the head, and those behind it that are at hand
	skip(n int) error      // next, n times; no more than are ready
	minTime() int64
}

// merge calls fn with the events of all sources, some at a time, in the total order. A source
// is opened (its first next is called) only when the events before its least
// time are out, so that sources that follow one another in time are open one
// at a time. sources must be sorted by minTime.
func merge(sources []source, fn func([]ingest.Event) error) error {
	var open queue
	for {
		for len(sources) > 0 && (len(open) == 0 || sources[0].minTime() <= open[0].head().TimeNS) {
			s := sources[0]
			sources = sources[1:]
			if err := s.next(); err == nil {
				heap.Push(&open, s)
			} else if !errors.Is(err, io.EOF) {
				return err
			}
		}
		if len(open) == 0 {
			return nil
		}
		s := open[0]
		if len(open) == 1 {
			// Alone, up to where the next one begins.
			until := int64(math.MaxInt64)
			if len(sources) > 0 {
				until = sources[0].minTime()
			}
			err := error(nil)
			for err == nil && s.head().TimeNS < until {
				ready, n := s.ready(), 0
				for n < len(ready) && ready[n].TimeNS < until {
					n++
				}
				if err := fn(ready[:n]); err != nil {
					return err
				}
				err = s.skip(n)
			}
			switch {
			case err == nil && len(sources) > 0:
				continue
			case err == nil: // at the end of all time
			case errors.Is(err, io.EOF):
				heap.Pop(&open)
				continue
			default:
				return err
			}
		}
		if err := fn(s.ready()[:1]); err != nil {
			return err
		}
		err := s.next()
		switch {
		case err == nil && len(open) > 1:
			heap.Fix(&open, 0)
		case err == nil:
		case errors.Is(err, io.EOF):
			heap.Pop(&open)
		default:
			return err
		}
	}
}

// queue is a heap of open sources by their next event.
type queue []source

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return before(q[i], q[j]) }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)        { *q = append(*q, x.(source)) }
func (q *queue) Pop() any {
	old := *q
	x := old[len(old)-1]
	*q = old[:len(old)-1]
	return x
}
