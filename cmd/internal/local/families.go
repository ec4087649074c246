package local

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/reduce"
)

// family is the windows that one model may judge.
type family struct {
	kind         ingest.LatencyKind
	tick, length int64
	n            int
	index        []int32                        // of its windows; nil: they are all
	windows      features.Rows[features.Window] // with the family's kind, also those that have none of their own
	among        *Windows                       // of which they are
	startNS      int64                          // of the first
	endNS        int64                          // of the last
	devices      []features.Key                 // as they come
	set          *saidSet                       // takes what is said
	shift        int                            // of class ids
}

// at is the number of window i of the family among all.
func (f *family) at(i int) int {
	if f.index == nil {
		return i
	}
	return int(f.index[i])
}

// put takes what is said of window i of the family.
func (f *family) put(i int, d *cluster.Diagnosis) { f.set.put(f.at(i), d) }

// said is what is said of the family's windows.
func (f *family) said() features.Rows[cluster.Diagnosis] {
	return features.Fetched(f.n, func(i int) *cluster.Diagnosis { return f.set.at(f.at(i)) })
}

// modelIn finds the family's model.
func (f *family) modelIn(models []KindModel) (*KindModel, error) {
	if m := modelOf(models, f.kind.String(), f.tick, f.length); m != nil {
		return m, nil
	}
	w := f.devices[0]
	return nil, fmt.Errorf("the model knows no windows of %d ns with ticks of %d ns and latencies of kind %s (%s/%s has such): fit anew",
		f.length, f.tick, f.kind, w.Host, w.Device)
}

// sampled are the windows that a fit takes.
func (f *family) sampled(most int) features.Rows[features.Window] {
	at := reduce.Sample(f.windows, most)
	if at == nil {
		return f.windows
	}
	return features.Fetched(len(at), func(i int) *features.Window { return f.windows.At(int(at[i])) })
}

// points are the family's windows among their peers.
func (f *family) points(space *reduce.Model, inv reduce.Inventory) features.Rows[reduce.Point] {
	points := space.Points(f.windows, inv)
	if !f.among.inFile() {
		points = features.List(points.Slice())
	}
	return points
}

// familyOf tells the number of each window's family.
func familyOf(all []*family, windows int) func(i int) int {
	if len(all) < 2 {
		return func(int) int { return 0 }
	}
	of := make([]uint16, windows)
	for n, f := range all {
		for _, at := range f.index {
			of[at] = uint16(n)
		}
	}
	return func(i int) int { return int(of[i]) }
}

// families sorts the windows by latency kind, tick and length; windows in
// which nothing has a latency go with the largest family of their tick.
func families(windows *Windows) []*family {
	var all []*family
	find := func(s *series, kind ingest.LatencyKind) *family {
		for _, f := range all {
			if f.kind == kind && f.tick == s.tick && f.length == s.length {
				return f
			}
		}
		f := &family{kind: kind, tick: s.tick, length: s.length, among: windows}
		all = append(all, f)
		return f
	}
	kinds, own, ends, list := kindsOf(windows.Rows)
	one := true
	for i, k := range kinds {
		s := &list[own[i]]
		f := find(s, k)
		one = one && len(all) == 1
		if start := ends[i] - s.length; f.n == 0 || start < f.startNS {
			f.startNS = start
		}
		f.n++
		f.endNS = max(f.endNS, ends[i])
		if n := len(f.devices); n == 0 || f.devices[n-1] != s.Key {
			f.devices = append(f.devices, s.Key)
		}
	}
	for _, f := range all {
		if !one {
			f.index = make([]int32, 0, f.n)
		}
	}
	for i := 0; !one && i < len(kinds); i++ {
		f := find(&list[own[i]], kinds[i])
		f.index = append(f.index, int32(i))
	}
	for _, f := range all {
		f.windows = features.Fetched(f.n, func(i int) *features.Window {
			w := windows.At(f.at(i))
			if w.Kind != f.kind { // in which nothing completed
				lent := *w
				lent.Kind = f.kind
				return &lent
			}
			return w
		})
	}
	slices.SortStableFunc(all, largestFirst)
	return all
}

func largestFirst(a, b *family) int {
	return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.kind, b.kind), cmp.Compare(a.tick, b.tick), cmp.Compare(a.length, b.length))
}

// series is the windows of a device of one tick and length.
type series struct {
	features.Key
	tick, length int64
	kind         ingest.LatencyKind // heard last
}

// kindsOf gives the latency kind of each window, the number of its series, and its
// end.
// One in which nothing has a latency takes that of the window before it, of its
// series, or else of the one after it.
func kindsOf(windows features.Rows[features.Window]) (kinds []ingest.LatencyKind, own []int32, ends []int64, list []series) {
	kinds, own, ends = make([]ingest.LatencyKind, windows.Len()), make([]int32, windows.Len()), make([]int64, windows.Len())
	number := map[series]int32{}
	n, last := int32(0), series{length: -1}
	for i := range kinds {
		w := windows.At(i)
		k := series{Key: w.Key, tick: w.TickNS, length: w.EndNS - w.StartNS}
		if k != last {
			var ok bool
			if n, ok = number[k]; !ok {
				n = int32(len(list))
				number[k] = n
				list = append(list, k)
			}
			last = k
		}
		s := &list[n]
		kinds[i], own[i], ends[i] = cmp.Or(w.Kind, s.kind), n, w.EndNS
		s.kind = cmp.Or(kinds[i], s.kind)
	}
	for i := range list {
		list[i].kind = ingest.KindNone
	}
	for i := len(kinds) - 1; i >= 0; i-- {
		s := &list[own[i]]
		if kinds[i] = cmp.Or(kinds[i], s.kind); kinds[i] != ingest.KindNone {
			s.kind = kinds[i]
		}
	}
	return kinds, own, ends, list
}

// pick gives the points of the family's windows, and what is said of them.
func (f *family) pick(d *Diagnosed) (features.Rows[reduce.Point], features.Rows[cluster.Diagnosis]) {
	return features.Fetched(f.n, func(i int) *reduce.Point { return d.Points.At(f.at(i)) }),
		features.Fetched(f.n, func(i int) *cluster.Diagnosis { return d.Result.Diagnoses.At(f.at(i)) })
}
