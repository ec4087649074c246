package local

import (
	"cmp"
	"errors"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/ingest/lake"
)

// Two inputs of one format that overlap in time are looked at, to tell two
// recordings of the same I/O from two parts of one.
const (
	alikeEvents    = 4096       // of the overlap that are compared
	alikeShare     = 0.5        // from which they are two recordings
	alikeTolerance = int64(1e6) // ns by which the stamps of two block traces may differ
	alikeInputs    = 16         // earlier ones that an input is compared with
)

// recording is one recording of a device and the inputs that it is made of.
type recording struct {
	features.Recording
	format   string
	inputs   []string
	counters string // format of the counters that it was held against
}

// streamsByInput gives the spans of a device's rows by input.
func streamsByInput(index *lake.Index, device string) map[string]*inputSpan {
	if index == nil {
		return nil
	}
	spans := map[string]*inputSpan{}
	for _, s := range index.Streams(device, []string{"time_ns"}) {
		id := inputOf(s.Path)
		if spans[id] == nil {
			spans[id] = &inputSpan{id: id, from: math.MaxInt64, to: math.MinInt64}
		}
		spans[id].from, spans[id].to = min(spans[id].from, s.MinTime), max(spans[id].to, s.MaxTime)
	}
	return spans
}

// inputSpan is an input's first and last row of a device.
type inputSpan struct {
	id       string
	from, to int64
}

// simple says that there is nothing to choose: the events are those of one
// tool, no two of its inputs overlap, and nothing tells of what it missed.
func (t *deviceTask) simple(v *survey) bool {
	if t.events == nil {
		return len(streamsByInput(t.samples, t.key.Device)) == 0
	}
	if t.samples != nil && len(t.samples.Streams(t.key.Device, []string{"time_ns"})) > 0 {
		return false
	}
	var all []*inputSpan
	for _, s := range streamsByInput(t.events, t.key.Device) {
		all = append(all, s)
	}
	sortSpans(all)
	for i, s := range all {
		a := t.facts(s.id)
		if len(a.seen) > 0 || i > 0 && (s.from < all[i-1].to || a.format != t.facts(all[0].id).format || prefer(v.kinds[s.id]) != prefer(v.kinds[all[0].id])) {
			return false
		}
	}
	return true
}

func sortSpans(all []*inputSpan) {
	slices.SortFunc(all, func(a, b *inputSpan) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to), strings.Compare(a.id, b.id))
	})
}

// facts is what the lake tells of an input.
func (t *deviceTask) facts(id string) *inputFacts {
	if f := t.inputs[id]; f != nil {
		return f
	}
	return &inputFacts{}
}

// foldChosen folds a device that several recordings tell of.
func (t *deviceTask) foldChosen(f *folding, v *survey, res *deviceResult) error {
	recs, of, err := t.recordings(v)
	if err != nil {
		return err
	}
	groups, err := t.sampleGroups()
	if err != nil {
		return err
	}
	plain := make([]features.Recording, len(recs))
	if len(recs) > 0 {
		if err := t.count(f.o, recs, of); err != nil {
			return err
		}
		t.lose(f.o, recs, groups)
		for i := range recs {
			plain[i] = recs[i].Recording
		}
	}
	plan := features.Choose(plain, f.o)
	// The samples come first: their ticks are few, and wait for their turn.
	var waiting []features.Tick
	picked := foldSamples(t.key, &folding{o: f.o, addWindow: f.addWindow, addTick: func(x *features.Tick) { waiting = append(waiting, *x) }}, groups, &plan)
	slices.SortStableFunc(waiting, func(a, b features.Tick) int { return cmp.Compare(a.StartNS, b.StartNS) })
	flush := func(until int64) {
		for len(waiting) > 0 && waiting[0].StartNS <= until {
			f.addTick(&waiting[0])
			waiting = waiting[1:]
		}
	}
	segs := plan.Segments()
	open := t.openBySegment(&plan, segs, of)
	for i, seg := range segs {
		from, to := seg.FromNS, seg.ToNS
		if i == 0 {
			from = math.MinInt64 // what was under way when the recording began
		}
		if i == len(segs)-1 {
			to = math.MaxInt64 // what never completed
		}
		within := folding{o: f.o, closed: f.closed, profile: f.profile, fromNS: f.fromNS, toNS: f.toNS}
		within.addTick = func(x *features.Tick) {
			if x.StartNS >= from && x.StartNS < to {
				flush(x.StartNS)
				f.addTick(x)
			}
		}
		within.addWindow = func(w *features.Window) {
			if w.StartNS >= from && w.StartNS < to {
				plan.Look(w)
				f.addWindow(w)
			}
		}
		if err := t.foldEvents(&within, v, &plan, of, seg, open[i]); err != nil {
			return err
		}
	}
	flush(math.MaxInt64)
	slices.SortStableFunc(res.windows, func(a, b features.Window) int { return cmp.Compare(a.StartNS, b.StartNS) })
	res.sources = t.sources(f.o, recs, plain, &plan, groups, picked)
	return nil
}

// openBySegment gives each I/O that never completed to the segment that it
// starts in (or before, or after), if its recording stands for the device then.
func (t *deviceTask) openBySegment(plan *features.Plan, segs []features.Segment, of map[string]int) [][]openIO {
	out := make([][]openIO, len(segs))
	for _, o := range t.open {
		at := -1
		for i := range segs {
			if i == 0 || segs[i].FromNS <= o.startNS {
				at = i
			}
		}
		if r, ok := of[o.input]; at >= 0 && ok && plan.Owner(o.startNS) == r {
			if at < len(segs)-1 {
				o.endNS = min(o.endNS, segs[at].ToNS)
			}
			out[at] = append(out[at], o)
		}
	}
	return out
}

// recordings makes recordings of the inputs: those of one format are one, but
// for inputs that hold the same I/O at the same time.
func (t *deviceTask) recordings(v *survey) (recs []recording, of map[string]int, err error) {
	byFormat := map[string][]*inputSpan{}
	for _, s := range streamsByInput(t.events, t.key.Device) {
		f := t.facts(s.id).format
		byFormat[f] = append(byFormat[f], s)
	}
	of = map[string]int{}
	for _, format := range sortedKeys(byFormat) {
		all := byFormat[format]
		sortSpans(all)
		first := len(recs)
		for i, s := range all {
			kind := prefer(v.kinds[s.id])
			facts := t.facts(s.id)
			rank := features.RankOf(facts.kind, kind)
			barred := map[int]bool{}
			compared := 0
			for k := i - 1; k >= 0 && compared < alikeInputs; k-- {
				if all[k].to <= s.from || barred[of[all[k].id]] {
					continue
				}
				compared++
				same, err := t.alike(all[k], s, rank)
				if err != nil {
					return nil, nil, err
				}
				if same {
					barred[of[all[k].id]] = true
				}
			}
			r := first
			for r < len(recs) && (barred[r] || recs[r].Kind != kind || recs[r].Rank != rank) {
				r++
			}
			if r == len(recs) {
				recs = append(recs, recording{Recording: features.Recording{Name: s.id, Rank: rank, Kind: kind, Seen: map[int64]float64{}}, format: format})
			}
			of[s.id] = r
			recs[r].Name = min(recs[r].Name, s.id)
			recs[r].Spans = append(recs[r].Spans, features.Extent{FromNS: s.from, ToNS: s.to})
			recs[r].inputs = append(recs[r].inputs, s.id)
		}
	}
	return recs, of, nil
}

// alike compares what two inputs, the first of which begins first, hold of the
// time that is common to both.
func (t *deviceTask) alike(a, b *inputSpan, rank features.Rank) (bool, error) {
	tolerance := int64(0)
	if rank <= features.RankDriver {
		tolerance = alikeTolerance
	}
	to := min(a.to, b.to)
	ofB, err := t.excerpt(b.id, b.from, to, alikeEvents)
	if err != nil || len(ofB) == 0 {
		return false, err
	}
	if len(ofB) == alikeEvents {
		to = ofB[len(ofB)-1].TimeNS
	}
	ofA, err := t.excerpt(a.id, b.from-tolerance, to+tolerance, 4*alikeEvents)
	return err == nil && features.Alike(ofA, ofB, tolerance) >= alikeShare, err
}

// excerpt reads the first events of an input that complete in [from, to], by
// time, most at the most.
func (t *deviceTask) excerpt(id string, from, to int64, most int) (out []ingest.Event, err error) {
	var names ingest.Names
	var rows ingest.EventRows
	for _, s := range t.events.Streams(t.key.Device, []string{"time_ns", "op", "offset_bytes", "size_bytes", "pid"}) {
		if inputOf(s.Path) != id || s.MaxTime < from || s.MinTime > to || len(out) >= most && s.MinTime > out[most-1].TimeNS {
			continue
		}
		taken := 0
		for taken <= most {
			cols, _, err := s.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, err
			}
			n, err := rows.Open(cols, &names)
			if err != nil {
				return nil, err
			}
			for i := 0; i < n && taken <= most; i++ {
				if e := rows.Event(i); e.TimeNS > to {
					taken = most + 1
				} else if e.TimeNS >= from {
					out = append(out, e)
					taken++
				}
			}
		}
		_ = s.Close() // it was read as far as it is of use
		slices.SortStableFunc(out, func(a, b ingest.Event) int { return cmp.Compare(a.TimeNS, b.TimeNS) })
		out = out[:min(len(out), most)]
	}
	return out, nil
}

// count fills the series of the recordings.
func (t *deviceTask) count(o features.Options, recs []recording, of map[string]int) error {
	for i := range recs {
		// Its own span: clocks may lie decades apart.
		from, to := int64(math.MaxInt64), int64(math.MinInt64)
		for _, s := range recs[i].Spans {
			from, to = min(from, s.FromNS), max(to, s.ToNS)
		}
		recs[i].Count = features.NewSeries(from, to, o)
	}
	for _, s := range t.events.Streams(t.key.Device, []string{"time_ns", "op", "size_bytes"}) {
		if err := addTo(recs[of[inputOf(s.Path)]].Count, s); err != nil {
			return err
		}
	}
	return nil
}

// addTo counts the reads and writes of a stream of events.
func addTo(series *features.Series, s *lake.Stream) error {
	return eachBatch(s, func(cols []lake.Column, n int) {
		var times, sizes []int64
		var valid []bool
		var ops []string
		for _, c := range cols {
			switch c.Name {
			case "time_ns":
				times = c.Data.([]int64)
			case "op":
				ops = c.Data.([]string)
			case "size_bytes":
				sizes, valid = c.Data.([]int64), c.Valid
			}
		}
		for i := range n {
			if ops == nil || ops[i] != "read" && ops[i] != "write" {
				continue
			}
			size := int64(0)
			if sizes != nil && (valid == nil || valid[i]) {
				size = sizes[i]
			}
			series.Add(times[i], 1, size)
		}
	})
}

// lose tells the recordings what they missed: by notices of the tools, and by
// counters of the same time.
func (t *deviceTask) lose(o features.Options, recs []recording, groups []sampleGroup) {
	for i := range recs {
		r := &recs[i]
		for _, id := range r.inputs {
			for w, seen := range t.facts(id).seen {
				lower(r.Seen, w, seen)
			}
		}
		for _, g := range groups {
			all := g.all()
			if seen := features.NewCounters(all).Seen(&r.Recording, o); seen != nil {
				for w, share := range seen {
					lower(r.Seen, w, share)
				}
				r.counters = g.format
				break
			}
		}
	}
}

func lower(m map[int64]float64, w int64, share float64) {
	if old, ok := m[w]; !ok || share < old {
		m[w] = share
	}
}
