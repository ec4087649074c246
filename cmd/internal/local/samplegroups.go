package local

import (
	"cmp"
	"errors"
	"io"
	"slices"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
)

// sampleGroup is the samples of a device in inputs of one format and of about
// one interval.
type sampleGroup struct {
	format   string
	interval int64 // median of the first input
	ids      []string
	inputs   [][]ingest.Sample // by input, by time
	knows    int               // kinds of counters, summed over the samples
	samples  int
}

// all is the samples of a group by time, of each time one.
func (g *sampleGroup) all() []ingest.Sample {
	return features.PickSamples([][][]ingest.Sample{g.inputs}, nil)[0]
}

// sameInterval is how many times longer an interval of a group may be than
// its shortest: intervals are not quite even.
const sameInterval = 1.5

// sampleGroups reads the device's samples; the group that tells most comes
// first, then the finest.
func (t *deviceTask) sampleGroups() ([]sampleGroup, error) {
	if t.samples == nil {
		return nil, nil
	}
	var names ingest.Names
	byInput := map[string][]ingest.Sample{}
	for _, s := range t.samples.Streams(t.key.Device, sampleColumns) {
		id := inputOf(s.Path)
		for {
			cols, _, err := s.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, err
			}
			if byInput[id], err = ingest.SamplesFromColumns(cols, &names, byInput[id]); err != nil {
				return nil, err
			}
		}
	}
	type member struct {
		id, format string
		interval   int64
		samples    []ingest.Sample
	}
	var members []member
	for _, id := range sortedKeys(byInput) {
		all := byInput[id]
		slices.SortStableFunc(all, func(a, b ingest.Sample) int { return cmp.Compare(a.TimeNS, b.TimeNS) })
		members = append(members, member{id, t.facts(id).format, medianInterval(all), all})
	}
	slices.SortStableFunc(members, func(a, b member) int {
		return cmp.Or(cmp.Compare(a.format, b.format), cmp.Compare(a.interval, b.interval))
	})
	var groups []sampleGroup
	for _, m := range members {
		if n := len(groups); n == 0 || groups[n-1].format != m.format || float64(m.interval) > sameInterval*float64(groups[n-1].interval) {
			groups = append(groups, sampleGroup{format: m.format, interval: m.interval})
		}
		g := &groups[len(groups)-1]
		g.ids, g.inputs = append(g.ids, m.id), append(g.inputs, m.samples)
		for i := range m.samples {
			g.knows += features.Knows(&m.samples[i])
		}
		g.samples += len(m.samples)
	}
	slices.SortStableFunc(groups, func(a, b sampleGroup) int {
		return cmp.Or(cmp.Compare(b.knows*a.samples, a.knows*b.samples), cmp.Compare(a.interval, b.interval), cmp.Compare(slices.Min(a.ids), slices.Min(b.ids)))
	})
	return groups, nil
}

func medianInterval(all []ingest.Sample) int64 {
	lengths := make([]int64, len(all))
	for i := range all {
		lengths[i] = all[i].IntervalNS
	}
	slices.Sort(lengths)
	return lengths[len(lengths)/2]
}

// foldSamples folds the samples of the times in which no recording of events
// stands for the device, of each time one, and gives those that were of use.
func foldSamples(key features.Key, f *folding, groups []sampleGroup, plan *features.Plan) [][]ingest.Sample {
	var taken []features.Extent
	for _, s := range plan.Stretches {
		taken = append(taken, s.Extent)
	}
	inputs := make([][][]ingest.Sample, len(groups))
	for i := range groups {
		inputs[i] = groups[i].inputs
	}
	picked := features.PickSamples(inputs, taken)
	for i, all := range picked {
		others := taken
		for k := range picked { // those before it are what was of use, those behind what may be
			for _, s := range picked[k] {
				if k != i {
					others = append(others[:len(others):len(others)], features.Extent{FromNS: s.TimeNS - s.IntervalNS, ToNS: s.TimeNS})
				}
			}
		}
		// A window that others have the larger part of is theirs.
		var ticks []features.Tick
		var used []ingest.Sample
		flushed := 0 // samples whose windows are told
		addTick := func(x *features.Tick) { ticks = append(ticks, *x) }
		addWindow := func(w *features.Window) {
			shared := slices.ContainsFunc(others, func(s features.Extent) bool { return s.FromNS < w.EndNS && w.StartNS < s.ToNS })
			if !shared || 2*int64(w.CoveredTicks)*w.TickNS >= w.EndNS-w.StartNS {
				for t := range ticks {
					f.addTick(&ticks[t])
				}
				used = append(used, all[flushed:flushed+len(ticks)]...)
				f.addWindow(w)
			}
			flushed += len(ticks)
			ticks = ticks[:0]
		}
		fold := features.NewSampleFold(key, f.o, addTick, addWindow)
		last := int64(0)
		for k := range all {
			if last != 0 && all[k].TimeNS-all[k].IntervalNS-last > breakNS {
				fold.Close()
				fold = features.NewSampleFold(key, f.o, addTick, addWindow)
			}
			last = all[k].TimeNS
			fold.Add(&all[k])
		}
		fold.Close()
		picked[i] = used
	}
	return picked
}
