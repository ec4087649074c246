package ingest

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"
)

// turns has several goroutines take the blocks of one input in their order. Each
// cuts the next block and looks at it beside the others. If its turn has come it takes
// it, else it looks at more, up to held blocks: what it has read, and what it has made of
// that, is in the cache of its core when it takes it, and nobody waits for a core that is
// slower. Who has nothing to take hands on a chunk that is whole while the others read:
// one goroutine more would push them from core to core.
type turns struct {
	cutting sync.Mutex
	next    func() (*block, bool)
	cut     int64 // blocks so far

	turn sync.Mutex
	come sync.Cond
	now  atomic.Int64 // the block whose turn it is
	err  error        // nothing is taken any more
	over sync.Once    // all is taken
}

// held is the most blocks that a goroutine holds which wait for their turn.
const held = 3

// inTurns cuts an input into blocks of lines; look has a look at several at once, held
// of each worker, take takes one after the other. wait gives the error of the reading.
func (r *reader) inTurns(ctx context.Context, c *cutter, look func(*block), take func(*block) error) (func() error, error) {
	r.byTurns = true
	next, stop, wait := r.blocks(ctx, c)
	t := turns{next: next}
	t.come.L = &t.turn
	one := func(b *block, n int64) bool {
		if !t.await(n) {
			return false
		}
		err := ctx.Err()
		if err == nil {
			err = take(b)
		}
		b.free()
		return t.pass(err)
	}
	var group sync.WaitGroup
	for range r.workers {
		group.Go(func() {
			type numbered struct {
				*block
				n int64
			}
			var mine []numbered
			for {
				for len(mine) > 0 && (len(mine) == held || t.now.Load() == mine[0].n) {
					if !one(mine[0].block, mine[0].n) {
						return
					}
					mine = append(mine[:0], mine[1:]...)
				}
				if len(mine) == 0 {
					r.hand()
				}
				b, n := t.block()
				if b != nil {
					look(b)
					mine = append(mine, numbered{b, n})
					continue
				}
				for _, b := range mine {
					if !one(b.block, b.n) {
						return
					}
				}
				if t.await(n) {
					t.over.Do(r.leave)
				}
				r.hand()
				return
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

// block cuts the next block and gives its number, at the end nil and the number of all.
func (t *turns) block() (*block, int64) {
	t.cutting.Lock()
	defer t.cutting.Unlock()
	b, ok := t.next()
	if !ok {
		return nil, t.cut
	}
	t.cut++
	return b, t.cut - 1
}

// await waits for the turn of a block; false says that there will be none.
func (t *turns) await(n int64) bool {
	t.turn.Lock()
	defer t.turn.Unlock()
	for t.now.Load() != n && t.err == nil {
		t.come.Wait()
	}
	return t.err == nil
}

// pass gives the turn to the next block, unless there was an error.
func (t *turns) pass(err error) bool {
	t.turn.Lock()
	defer t.turn.Unlock()
	t.now.Add(1)
	t.err = err
	t.come.Broadcast()
	return err == nil
}
