package local

import (
	"sync"
	"sync/atomic"

	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/ingest/lake"
)

// draft is a part that is to be written: its row groups can be packed at once,
// each by itself.
type draft struct {
	name    string // its path below the lake
	ends    []int  // of its row groups, in rows
	columns func(from, to int, h *hand) []ingest.Column
}

// hand is the memory of one who packs row groups.
type hand struct {
	rows []int32
	cols []ingest.Column
}

// piece is a row group of a draft.
type piece struct{ draft, from, to int }

// packing is the memory of all who pack, kept from chunk to chunk.
type packing struct {
	hands  []*hand
	packed []*lake.Packed
}

// inOrder packs n row groups, several at once, and stores them in their order. It
// is done when it returns; an error of either ends it.
func (m *packing) inOrder(n, workers int, alone <-chan struct{}, pack func(i int, h *hand, to *lake.Packed) error, store func(i int, g *lake.Packed) error) error {
	workers = min(workers, n)
	for len(m.hands) < workers {
		m.hands = append(m.hands, new(hand))
	}
	for len(m.packed) < workers+1 {
		m.packed = append(m.packed, new(lake.Packed))
	}
	if workers <= 1 {
		for i := range n {
			if err := pack(i, m.hands[0], m.packed[0]); err != nil {
				return err
			}
			if err := store(i, m.packed[0]); err != nil {
				return err
			}
		}
		return nil
	}
	type outcome struct {
		g   *lake.Packed
		err error
	}
	done := make([]chan outcome, n)
	for i := range done {
		done[i] = make(chan outcome, 1)
	}
	// Who has memory takes the next row group: the one that is stored next is never
	// without.
	free := make(chan *lake.Packed, workers+1)
	for _, g := range m.packed[:workers+1] {
		free <- g
	}
	var next atomic.Int64
	quit := make(chan struct{})
	var group sync.WaitGroup
	for k, h := range m.hands[:workers] {
		group.Go(func() {
			if k == workers-1 && alone != nil {
				select {
				case <-alone:
				case <-quit:
					return
				}
			}
			for {
				select {
				case <-quit:
					return
				case g := <-free:
					i := int(next.Add(1)) - 1
					if i >= n {
						free <- g
						return
					}
					done[i] <- outcome{g, pack(i, h, g)}
				}
			}
		})
	}
	var err error
	for i := 0; i < n && err == nil; i++ {
		o := <-done[i]
		if err = o.err; err == nil {
			err = store(i, o.g)
		}
		free <- o.g
	}
	close(quit)
	group.Wait()
	return err
}
