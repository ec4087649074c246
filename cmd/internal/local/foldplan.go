package local

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest/lake"
)

// foldPlan is which days of hosts get new windows, and of what these are made.
type foldPlan struct {
	manifests []lake.Manifest
	stock     *stock
	concerned map[cell]bool // that are asked for
	feeds     []*feed       // of those that get new windows
	records   map[cell]lake.Cell
}

func (j *Job) foldPlan(inputs []string, anew bool) (*foldPlan, error) {
	manifests, err := j.Manifests()
	if err != nil {
		return nil, err
	}
	stock, err := newStock(manifests)
	if err != nil {
		return nil, err
	}
	set := map[string]bool{}
	for _, in := range inputs {
		set[in] = true
	}
	concerned := stock.of(func(in string) bool { return inputs == nil || set[in] })
	look := maps.Clone(concerned) // what is beside them may be made of their rows, too
	for c := range concerned {
		for _, beside := range []cell{c.shift(-1), c.shift(1)} {
			if stock.cells[beside] != nil {
				look[beside] = true
			}
		}
	}
	feeds, records, err := j.stale(stock, look)
	if err != nil {
		return nil, err
	}
	if closed := lake.ClosedDays(manifests); len(closed) > 0 {
		feeds = slices.DeleteFunc(feeds, func(f *feed) bool {
			if _, made := stock.made[f.cell]; made && f.sealed(closed) {
				delete(records, f.cell)
				return true
			}
			return false
		})
	}
	if anew {
		feeds = slices.DeleteFunc(feeds, func(f *feed) bool {
			old, ok := stock.made[f.cell]
			if ok && (old.WindowNS != j.Config.Features.WindowNS || old.TickNS != j.Config.Features.TickNS) {
				delete(records, f.cell)
				return true
			}
			return false
		})
		clear(concerned)
		for c := range records {
			concerned[c] = true
		}
	}
	return &foldPlan{manifests, stock, concerned, feeds, records}, nil
}

// foldCells folds the rows of cells, or takes what other processes have made of
// them, and writes their windows, ticks and profiles.
func (j *Job) foldCells(ctx context.Context, p *foldPlan, keep *keeping) error {
	var here []*feed
	for _, f := range p.feeds {
		if j.folded.of(f.cell, p.records[f.cell].Of) == nil {
			here = append(here, f)
		}
	}
	hosts, err := j.hosts(p.manifests, p.stock, here)
	if err != nil {
		return err
	}
	results, err := j.foldHosts(ctx, p, hosts, keep)
	if err != nil {
		return err
	}
	return tell(joinSlices(results), p.records)
}

// foldHosts folds the hosts' days, and takes those that were folded before. The
// results come in the order of the cells, of their devices and slices.
func (j *Job) foldHosts(ctx context.Context, p *foldPlan, hosts []*hostTask, keep *keeping) ([]*deviceResult, error) {
	var results []*deviceResult
	var stored []*foldedCell
	writer := newTickWriter(j.Lake, keep)
	var done atomic.Int64
	var closed, profiles sync.Pool
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(j.workers())
	for _, f := range p.feeds {
		if ready := j.folded.of(f.cell, p.records[f.cell].Of); ready != nil {
			if ready.whole() {
				stored = append(stored, ready)
				continue
			}
			some := ready.results()
			first := len(results)
			results = append(results, some...)
			g.Go(func() error {
				err := ready.restore(some, func(i int) *tickLane { return writer.lane(first+i, some[i].key, f.cell) })
				if err != nil {
					writer.abort()
				}
				return err
			})
			continue
		}
		h := hosts[0]
		hosts[0], hosts = nil, hosts[1:]
		tasks, told, err := h.tasks(j.Config.Features)
		if err != nil {
			g.Go(func() error { return err })
			break
		}
		f.units = namesOf(tasks)
		var left atomic.Int64
		left.Store(int64(len(tasks)))
		for n, t := range tasks {
			if gctx.Err() != nil {
				break
			}
			if h.own != nil && !h.own(n) {
				left.Add(-1)
				continue
			}
			i, res := len(results), &deviceResult{key: t.key, cell: t.feed.cell, unit: n}
			results = append(results, res)
			// Go waits for a worker: no more hosts are open than workers.
			g.Go(func() error {
				if err := gctx.Err(); err != nil {
					writer.abort() // nobody waits for this one's turn
					return err
				}
				stacked := told[t.key.Device]
				lane := writer.lane(i, t.key, t.feed.cell)
				if stacked == nil || !stacked.LeftOut {
					add := func(x *features.Tick) {
						res.ticks++
						lane.add(x)
					}
					if err := t.fold(j.Config.Features, res, add, &closed, &profiles); err != nil {
						writer.abort()
						return fmt.Errorf("features: %s/%s: %w", t.key.Host, t.key.Device, err)
					}
				}
				if stacked != nil && (t.slice == nil || t.slice.number == 0) {
					res.stand(stacked)
				}
				if left.Add(-1) == 0 {
					j.progress("features", done.Add(1), int64(len(p.feeds)))
				}
				if h.own != nil {
					res.share = res.profile
				}
				lane.res = res
				return lane.close()
			})
		}
	}
	if err := g.Wait(); err != nil {
		writer.abort()
		return nil, err
	}
	if err := writer.close(); err != nil {
		return nil, err
	}
	for _, c := range stored {
		if err := c.adopt(keep, p.records); err != nil {
			return nil, err
		}
	}
	return results, nil
}
