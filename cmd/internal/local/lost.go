package local

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/ingest/lake"
)

// inputFacts is what the lake tells of an input beside its rows.
type inputFacts struct {
	name   string // the last part of its path
	format string
	kind   ingest.LatencyKind // of the format
	lastNS int64
	lines  int64             // that are part of events
	rows   int64             // events
	lost   []loss            // by time
	seen   map[int64]float64 // by number of the window: the share of the I/O that it saw, where it is not all
}

// loss is a notice of n lost records. What was lost lies between the notice
// and the next event, or, without a time, anywhere.
type loss struct {
	atNS, nextNS int64
	n            float64
}

// wholeLoss is the text of notices that are of a whole recording.
const wholeLoss = "of the whole recording"

// factsOfInputs reads them from the manifests.
func (j *Job) factsOfInputs(manifests []lake.Manifest) (map[string]*inputFacts, error) {
	kinds := map[string]ingest.LatencyKind{}
	for _, f := range ingest.Formats() {
		kinds[f.Name] = f.Kind
	}
	all := map[string]*inputFacts{}
	for _, m := range manifests {
		for _, in := range m.Inputs {
			f := all[in.ID]
			if f == nil {
				f = &inputFacts{}
				all[in.ID] = f
			}
			f.lastNS = max(f.lastNS, in.LastNS)
			if !in.Gave() {
				continue
			}
			f.name, f.format, f.kind = base(in.Path), in.Format, kinds[in.Format]
			var t ingest.Tally
			if len(in.Tally) > 0 && json.Unmarshal(in.Tally, &t) == nil {
				f.lines = t.Event + t.Merged + t.UnpairedLines()
			}
			f.rows = in.EventRows()
		}
	}
	return all, nil
}

// weigh turns the notices of lost records into the share of each window's I/O
// that was seen: a lost record is as much of an I/O as the input's lines are
// on the average. Of which device they were nobody knows: the share is that of
// all devices of the input.
func (j *Job) weigh(inputs map[string]*inputFacts, parts []string) error {
	files := map[string][]string{}
	for _, p := range parts {
		if f := inputs[inputOf(p)]; f != nil && len(f.lost) > 0 {
			files[inputOf(p)] = append(files[inputOf(p)], p)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(files)) {
		if err := inputs[id].weigh(files[id], j.Config.Features); err != nil {
			return err
		}
	}
	return nil
}

func (f *inputFacts) weigh(parts []string, o features.Options) error {
	if f.rows == 0 || f.lines == 0 {
		return nil
	}
	slices.SortFunc(f.lost, func(a, b loss) int { return cmp.Or(cmp.Compare(a.atNS, b.atNS), cmp.Compare(a.n, b.n)) })
	events := map[int64]int64{}
	for _, p := range parts {
		if err := eachTime(p, func(ns int64) {
			events[floorDiv(ns, o.WindowNS)]++
			i, _ := slices.BinarySearchFunc(f.lost, ns, func(l loss, at int64) int { return cmp.Compare(l.atNS, at) })
			// All notices at the time before this event wait for it.
			for i--; i >= 0 && ns < f.lost[i].nextNS; i-- {
				f.lost[i].nextNS = ns
			}
		}); err != nil {
			return err
		}
	}
	perRecord := min(float64(f.rows)/float64(f.lines), 1)
	whole := 0.0
	lost := map[int64]float64{}
	for _, l := range f.lost {
		n := l.n * perRecord
		if l.atNS == math.MinInt64 {
			whole += n
			continue
		}
		if l.nextNS == math.MaxInt64 {
			l.nextNS = l.atNS
		}
		l.nextNS = min(l.nextNS, l.atNS+breakNS)
		first, last := floorDiv(l.atNS, o.WindowNS), floorDiv(l.nextNS, o.WindowNS)
		for w := first; w <= last; w++ {
			share := 1.0
			if l.nextNS > l.atNS {
				share = float64(min(l.nextNS, (w+1)*o.WindowNS)-max(l.atNS, w*o.WindowNS)) / float64(l.nextNS-l.atNS)
			}
			lost[w] += n * share
		}
	}
	f.seen = map[int64]float64{}
	share := float64(f.rows) / (float64(f.rows) + whole)
	for w, n := range events {
		if seen := share * float64(n) / (float64(n) + lost[w]); seen < 1 {
			f.seen[w] = seen
		}
	}
	for w := range lost {
		if events[w] == 0 {
			f.seen[w] = 0
		}
	}
	return nil
}

// eachTime calls fn with the time of every row of a part.
func eachTime(path string, fn func(int64)) error {
	r, err := lake.Open(path, []string{"time_ns"})
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		cols, _, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, ns := range cols[0].Data.([]int64) {
			fn(ns)
		}
	}
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
