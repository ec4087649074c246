package ingest

import (
	"context"
	"iter"
	"sync"
)

// turns has several goroutines take the blocks of one input in their order. Each
// cuts the next block, looks at it beside the others, waits for its turn, takes it,
// and goes on with another: what it has read, and what it has made of that, is still in
// the cache of its core then. Nothing lies between them but the block that each has in
// hand, so that memory does not depend on who is how quick.
type turns struct {
	cutting sync.Mutex
	next    func() (*block, bool)
	cut     int64 // blocks so far

	turn sync.Mutex
	come sync.Cond
	now  int64 // the block whose turn it is
	err  error // nothing is taken any more
}

// inTurns cuts an input into blocks of lines; look has a look at several at once, take
// takes one after the other. wait gives the error of the reading.
func (r *reader) inTurns(ctx context.Context, c *cutter, look func(*block), take func(*block) error) (func() error, error) {
	next, stop, wait := r.blocks(ctx, c)
	t := turns{next: next}
	t.come.L = &t.turn
	var group sync.WaitGroup
	for range r.workers + 1 { // one may wait for its turn while as many work
		group.Go(func() {
			for {
				b, n := t.block()
				if b == nil {
					return
				}
				look(b)
				if !t.await(n) {
					return
				}
				err := ctx.Err()
				if err == nil {
					err = take(b)
				}
				b.free()
				if !t.pass(err) {
					return
				}
			}
		})
	}
	group.Wait()
	stop()
	return wait, t.err
}

// unpackedBlocks is how many blocks of a packed input may wait for their turn, 32 MiB:
// while a chunk is handed on, the next one is unpacked, which one goroutine does.
const unpackedBlocks = 32 << 20 / blockBytes

// blocks gives the blocks of an input, one at a time: cut by whoever asks for one, or
// ahead of that, where cutting takes long.
func (r *reader) blocks(ctx context.Context, c *cutter) (next func() (*block, bool), stop func(), wait func() error) {
	if c.flow.compression != Plain {
		cut := make(chan *block, unpackedBlocks)
		wait = pump(ctx, c.lines, cut)
		return func() (*block, bool) { b, ok := <-cut; return b, ok }, func() {}, wait
	}
	var failed error
	next, stop = iter.Pull(func(yield func(*block) bool) {
		failed = c.lines(func(b *block) error {
			if !yield(b) {
				return context.Canceled
			}
			return nil
		})
	})
	return next, stop, func() error { return failed }
}

// block cuts the next block and gives its number; nil at the end.
func (t *turns) block() (*block, int64) {
	t.cutting.Lock()
	defer t.cutting.Unlock()
	b, ok := t.next()
	if !ok {
		return nil, 0
	}
	t.cut++
	return b, t.cut - 1
}

// await waits for the turn of a block; false says that there will be none.
func (t *turns) await(n int64) bool {
	t.turn.Lock()
	defer t.turn.Unlock()
	for t.now != n && t.err == nil {
		t.come.Wait()
	}
	return t.err == nil
}

// pass gives the turn to the next block, unless there was an error.
func (t *turns) pass(err error) bool {
	t.turn.Lock()
	defer t.turn.Unlock()
	t.now++
	t.err = err
	t.come.Broadcast()
	return err == nil
}
