package local

import (
	"cmp"
	"maps"
	"slices"

	"github.com/iopathy/iopathy/ingest/lake"
)

// division is the share of a shard of the cells.
type division struct {
	feeds []*feed
	hosts []*hostTask // of feeds
}

// namesOf lists the units of a cell.
func namesOf(tasks []*deviceTask) []unitName {
	out := make([]unitName, len(tasks))
	for i, t := range tasks {
		out[i].Device = t.key.Device
		if t.slice != nil {
			out[i].Slice = t.slice.number
		}
	}
	return out
}

// divide gives each shard about the same number of rows: the cells, and of those
// that would be too much for one shard the devices, and the slices of a device. Every shard
// divides alike.
func (j *Job) divide(p *foldPlan, shard Shard, fetch func(path string) error) (*division, error) {
	type item struct {
		weight     int64
		feed, unit int // unit -1: all
	}
	weights := make([]int64, len(p.feeds))
	total := int64(0)
	for i, f := range p.feeds {
		for _, part := range slices.Concat(f.events, f.samples, f.evidence) {
			weights[i] += part.Rows
		}
		total += weights[i]
	}
	var items []item
	var large []*feed
	for i, f := range p.feeds {
		if shard.Of > 1 && weights[i] > total/int64(2*shard.Of) {
			large = append(large, f)
		} else {
			items = append(items, item{weights[i], i, -1})
		}
	}
	hosts := map[cell]*hostTask{}
	open := func(feeds []*feed) error {
		if err := j.fetchFor(p, feeds, fetch); err != nil {
			return err
		}
		all, err := j.hosts(p.manifests, p.stock, feeds)
		for i, h := range all {
			hosts[feeds[i].cell] = h
		}
		return err
	}
	if err := open(large); err != nil {
		return nil, err
	}
	for i, f := range p.feeds {
		h := hosts[f.cell]
		if h == nil {
			continue
		}
		tasks, _, err := h.tasks(j.Config.Features)
		if err != nil {
			return nil, err
		}
		slicesOf := map[string]int64{}
		for _, t := range tasks {
			slicesOf[t.key.Device]++
		}
		for k, t := range tasks {
			it := item{1, i, k}
			if t.events != nil {
				it.weight += t.events.Rows(t.key.Device) / slicesOf[t.key.Device]
			}
			if t.samples != nil {
				it.weight += t.samples.Rows(t.key.Device)
			}
			items = append(items, it)
		}
	}
	// The largest first, each to the shard that has least.
	slices.SortStableFunc(items, func(a, b item) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.feed, b.feed), cmp.Compare(a.unit, b.unit))
	})
	loads := make([]int64, shard.Of)
	own := map[int]map[int]bool{}
	for _, it := range items {
		to := 0
		for k := range loads {
			if loads[k] < loads[to] {
				to = k
			}
		}
		loads[to] += it.weight + 1
		if to == shard.Index {
			if own[it.feed] == nil {
				own[it.feed] = map[int]bool{}
			}
			own[it.feed][it.unit] = true
		}
	}
	d := &division{}
	var small []*feed
	for _, i := range slices.Sorted(maps.Keys(own)) {
		f := p.feeds[i]
		d.feeds = append(d.feeds, f)
		if hosts[f.cell] == nil {
			small = append(small, f)
		} else {
			hosts[f.cell].own = func(unit int) bool { return own[i][unit] }
		}
	}
	if err := open(small); err != nil {
		return nil, err
	}
	for _, f := range d.feeds {
		d.hosts = append(d.hosts, hosts[f.cell])
	}
	return d, nil
}

// fetchFor brings the parts that feeds are folded of: all of the inputs in play,
// since what an input lost is told of the input.
func (j *Job) fetchFor(p *foldPlan, feeds []*feed, fetch func(path string) error) error {
	inPlay := map[string]bool{}
	for _, f := range feeds {
		maps.Copy(inPlay, f.inputs)
	}
	for _, table := range []string{lake.Events, lake.Samples, lake.Evidence} {
		for _, part := range lake.Parts(p.manifests, table) {
			if inPlay[inputOf(part.Path)] {
				if err := fetch(part.Path); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
