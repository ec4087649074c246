package local

import (
	"cmp"
	"slices"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
)

// family is the windows that one model may judge.
type family struct {
	kind         ingest.LatencyKind
	tick, length int64
	index        []int
	windows      []features.Window
	all          bool  // they are all windows, and no copies
	without      []int // of these, those that have no kind of their own
}

// families sorts the windows by latency kind, tick and length; windows in
// which nothing has a latency go with the largest family of their tick.
func families(windows []features.Window) []*family {
	var all []*family
	find := func(w *features.Window, kind ingest.LatencyKind) *family {
		for _, f := range all {
			if f.kind == kind && f.tick == w.TickNS && f.length == w.EndNS-w.StartNS {
				return f
			}
		}
		f := &family{kind: kind, tick: w.TickNS, length: w.EndNS - w.StartNS}
		all = append(all, f)
		return f
	}
	kinds := kindsOf(windows)
	for i := range windows {
		f := find(&windows[i], kinds[i])
		f.index = append(f.index, i)
	}
	for _, f := range all {
		if f.all = len(all) == 1; f.all { // as they are: copies would take as much memory again
			f.windows = windows
			for i := range windows {
				if windows[i].Kind != f.kind {
					f.without = append(f.without, i)
				}
			}
			break
		}
		f.windows = make([]features.Window, len(f.index))
		for i, at := range f.index {
			f.windows[i] = windows[at]
			f.windows[i].Kind = f.kind // a window in which nothing completed has no kind of its own
		}
	}
	slices.SortStableFunc(all, func(a, b *family) int {
		return cmp.Or(cmp.Compare(len(b.index), len(a.index)), cmp.Compare(a.kind, b.kind), cmp.Compare(a.tick, b.tick), cmp.Compare(a.length, b.length))
	})
	return all
}

// kindsOf gives the latency kind of each window. One in which nothing has a
// latency takes that of the window before it, of the device and of its tick and
// length, or else of the one after it.
func kindsOf(windows []features.Window) []ingest.LatencyKind {
	type series struct {
		features.Key
		tick, length int64
	}
	kinds := make([]ingest.LatencyKind, len(windows))
	last := map[series]ingest.LatencyKind{}
	of := func(i int) {
		w := &windows[i]
		k := series{w.Key, w.TickNS, w.EndNS - w.StartNS}
		if kinds[i] = cmp.Or(w.Kind, kinds[i], last[k]); kinds[i] != ingest.KindNone {
			last[k] = kinds[i]
		}
	}
	for i := range windows {
		of(i)
	}
	clear(last)
	for i := len(windows) - 1; i >= 0; i-- {
		of(i)
	}
	return kinds
}

// lendKind gives the windows that have no kind of their own that of the family;
// what it gives back takes it from them again.
func (f *family) lendKind() (giveBack func()) {
	own := make([]ingest.LatencyKind, len(f.without))
	for k, i := range f.without {
		own[k], f.windows[i].Kind = f.windows[i].Kind, f.kind
	}
	return func() {
		for k, i := range f.without {
			f.windows[i].Kind = own[k]
		}
	}
}
