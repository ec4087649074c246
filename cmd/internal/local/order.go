package local

import (
	"cmp"
	"container/heap"
	"errors"
	"io"

	"github.com/iopathy/iopathy/ingest"
)

// row is an event and the input that it comes from.
type row struct {
	ingest.Event
	input string
}

// before is the total order of a device's events: completion, start, offset,
// size, op, input, position.
func before(a, b *row) bool {
	c := cmp.Or(
		cmp.Compare(a.TimeNS, b.TimeNS),
		cmp.Compare(a.StartNS(), b.StartNS()),
		cmp.Compare(a.OffsetBytes, b.OffsetBytes),
		cmp.Compare(a.SizeBytes, b.SizeBytes),
		cmp.Compare(a.Op, b.Op),
		cmp.Compare(a.input, b.input),
		cmp.Compare(a.Position, b.Position),
	)
	return c < 0
}

// source is a sorted sequence of rows: head is the next one.
type source interface {
	head() *row
	next() error // io.EOF after the last
	minTime() int64
}

// merge calls fn with the rows of all sources in the total order. A source is
// opened (its first next is called) only when the rows before its least time
// are out, so that sources that follow one another in time are open one at a
// time. sources must be sorted by minTime.
func merge(sources []source, fn func(*row) error) error {
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
		if err := fn(open[0].head()); err != nil {
			return err
		}
		if err := open[0].next(); err == nil {
			heap.Fix(&open, 0)
		} else if errors.Is(err, io.EOF) {
			heap.Pop(&open)
		} else {
			return err
		}
	}
}

// queue is a heap of open sources by their next row.
type queue []source

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return before(q[i].head(), q[j].head()) }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)        { *q = append(*q, x.(source)) }
func (q *queue) Pop() any {
	old := *q
	x := old[len(old)-1]
	*q = old[:len(old)-1]
	return x
}
