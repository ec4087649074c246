package local

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/iopathy/iopathy/ingest/lake"
)

// Folded counts what a shard has folded.
type Folded struct {
	Windows, Ticks int64
	Slices         int64 // of devices whose time is cut
}

// FoldShare makes the windows and ticks of the share of a shard of all that the
// shares have read, and leaves them beside what that shard has read. It says how many that are.
func (j *Job) FoldShare(ctx context.Context, s *Shares, shard Shard) (Folded, error) {
	if shard.Of != s.all[0].Of {
		return Folded{}, fmt.Errorf("shard %d/%d of what %d shards have read: the number of shards must be the same", shard.Index, shard.Of, s.all[0].Of)
	}
	at := slices.IndexFunc(s.all, func(sh *Share) bool { return sh.Index == shard.Index })
	one := j.on(filepath.Join(s.Dirs[at], foldsDir))
	if err := os.RemoveAll(one.Lake); err != nil {
		return Folded{}, fmt.Errorf("folds: %w", err)
	}
	first := s.all[0]
	var pieces []*PieceRead
	type lying struct {
		share int
		lake.Part
	}
	from := map[string]lying{} // by path
	lakes := s.lakes()
	for i, sh := range s.all {
		pieces = append(pieces, sh.Pieces...)
		for _, p := range sh.Pieces {
			for _, part := range p.Parts {
				from[part.Path] = lying{i, part}
			}
		}
	}
	if _, err := one.gatherPieces(ctx, pieces, first.Inputs, nil, nil, func(*PieceRead) string { return "" }); err != nil {
		return Folded{}, err
	}
	return one.leaveFolds(ctx, shard, first.Sources, func(path string) error {
		at := from[path]
		if away := s.elsewhere[at.share]; away != nil {
			if err := away.BringParts(shareLake, []lake.Part{at.Part}); err != nil {
				return err
			}
		}
		return lake.Adopt(lakes[at.share], one.Lake, path)
	})
}

// FoldLake makes the windows and ticks of the share of a shard of all that the lake
// holds, and leaves them in dir for LoadFoldDirs; what is there is removed. The lake stays as it is.
func (j *Job) FoldLake(ctx context.Context, sources string, shard Shard, dir string) (Folded, error) {
	one := j.on(dir)
	if err := os.RemoveAll(dir); err != nil {
		return Folded{}, fmt.Errorf("folds: %w", err)
	}
	manifests, err := j.Manifests()
	if err != nil {
		return Folded{}, err
	}
	for _, m := range manifests {
		if err := lake.Adopt(j.Lake, dir, lake.RunPath(m.Run)); err != nil {
			return Folded{}, err
		}
	}
	return one.leaveFolds(ctx, shard, sources, func(path string) error {
		if err := j.Fetch(path); err != nil {
			return err
		}
		return lake.Adopt(j.Lake, dir, path)
	})
}

// leaveFolds folds the share of a shard of the job's lake, which is none but in name,
// and leaves what came of it there.
func (j *Job) leaveFolds(ctx context.Context, shard Shard, sources string, fetch func(path string) error) (n Folded, err error) {
	cells, err := j.foldSome(ctx, shard, fetch)
	if err != nil {
		return n, err
	}
	for _, c := range cells {
		cuts := map[string]int64{}
		for _, u := range c.Order {
			cuts[u.Device]++
		}
		for _, u := range c.Units {
			n.Windows, n.Ticks = n.Windows+int64(u.Windows), n.Ticks+u.Ticks
			if cuts[c.Order[u.At].Device] > 1 {
				n.Slices++
			}
		}
	}
	data, err := json.Marshal(foldShare{Tool, j.Version, sources, shard.Index, shard.Of, cells})
	if err != nil {
		return n, fmt.Errorf("folds: %w", err)
	}
	for _, table := range []string{lake.Events, lake.Samples, lake.Evidence, "runs", "checkpoints"} { // links, and what counts no more
		if err := os.RemoveAll(filepath.Join(j.Lake, table)); err != nil {
			return n, fmt.Errorf("folds: %w", err)
		}
	}
	return n, lake.WriteFileAtomic(filepath.Join(j.Lake, foldsFile), append(data, '\n'))
}

// foldSome folds the share of a shard of the lake's cells; fetch brings a part that
// it needs into the lake.
func (j *Job) foldSome(ctx context.Context, shard Shard, fetch func(path string) error) ([]*foldedPart, error) {
	p, err := j.foldPlan(nil, false)
	if err != nil {
		return nil, err
	}
	share, err := j.divide(p, shard, fetch)
	if err != nil {
		return nil, err
	}
	p.feeds = share.feeds
	keep := newKeeping(j, p.manifests)
	results, err := j.foldHosts(ctx, p, share.hosts, keep)
	if err != nil {
		return nil, err
	}
	byCell := map[cell][]*deviceResult{}
	for _, r := range results {
		byCell[r.cell] = append(byCell[r.cell], r)
	}
	var all []*foldedPart
	for _, f := range p.feeds {
		some := byCell[f.cell]
		out := &foldedPart{Host: f.host, Date: f.date, Feed: p.records[f.cell].Of, Order: f.units}
		whole := len(some) == len(out.Order)
		for _, r := range some {
			u := foldedUnit{At: r.unit, Ticks: r.ticks, Windows: len(r.bytes), Sources: r.sources}
			if !whole {
				u.TickNS, u.Profile = r.share.TickNS, r.share.Rows
			}
			out.Units = append(out.Units, u)
		}
		if some = joinSlices(some); whole && len(some) > 0 {
			if err := tell(some, p.records); err != nil {
				return nil, err
			}
			out.Devices = p.records[f.cell].Devices
		}
		all = append(all, out)
	}
	for _, part := range keep.parts {
		c, err := cellOf(part)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(all, func(o *foldedPart) bool { return o.Host == c.host && o.Date == c.date })
		all[i].Parts = append(all[i].Parts, part)
	}
	return all, nil
}
