package ingest

import "sync/atomic"

// besideBytes is the most that the rows of a chunk may take for the next chunk to
// be read before they are done with: two such take less than one of the largest.
const besideBytes = 40 << 20

// emission is a chunk that is handed on while the next one is read.
type emission struct {
	done  chan error             // nil if none is
	alone chan struct{}          // nil: closed
	out   *Out                   // its rows
	doing atomic.Pointer[func()] // hands it on; nil: somebody does, or none is
}

// begins hands on a chunk, whose rows stand in out, once somebody has begun it.
func (e *emission) begins(c *Chunk, emit func(*Chunk) error, out *Out) {
	done := make(chan error, 1)
	e.done, e.alone, e.out = done, make(chan struct{}), out
	c.Alone = e.alone
	doing := func() { done <- emit(c) }
	e.doing.Store(&doing)
}

// hand hands on the chunk, if there is one, unless somebody does.
func (e *emission) hand() {
	if doing := e.doing.Swap(nil); doing != nil {
		(*doing)()
	}
}

// leave tells who hands on the chunk that nothing is read any more.
func (e *emission) leave() {
	if e.alone != nil {
		close(e.alone)
		e.alone = nil
	}
}

// handed waits until the chunk that is handed on is done with.
func (e *emission) handed() error {
	if e.done == nil {
		return nil
	}
	e.leave()
	e.hand()
	err := <-e.done
	e.out.Reset()
	outPool.Put(e.out)
	e.done, e.out = nil, nil
	return err
}

// bytes is about what the rows of a batch take.
func (b *Batch) bytes() int {
	const event, sample, evidence = 88, 192, 56
	return event*len(b.Events) + sample*len(b.Samples) + evidence*len(b.Evidence)
}
