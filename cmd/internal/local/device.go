package local

import (
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/ingest/lake"
)

// The columns that the folds need.
var (
	eventColumns  = []string{"time_ns", "device", "comm", "op", "flags", "offset_bytes", "size_bytes", "queue_ns", "latency_ns", "latency_kind", "depth", "error", "cgroup", "source_offset"}
	sampleColumns = ingest.SampleColumnNames
)

// breakNS is the idle time after which a device's span ends and another
// begins: windows between recordings of different days say nothing.
const breakNS = int64(6 * time.Hour)

// longNS is the latency from which an I/O is announced to the fold instead of
// making every tick wait for it.
const longNS = int64(2 * time.Second)

// mostLong bounds the announcements; beyond it the ticks wait.
const mostLong = 64 << 10

// deviceTask is one device of one host and where its rows are.
type deviceTask struct {
	key     features.Key
	events  *lake.Index // nil: none
	samples *lake.Index
	open    []int64 // starts of I/Os that never completed
	endNS   int64   // end of the inputs that these stand in
}

// deviceResult is what a device's folds gave.
type deviceResult struct {
	windows []features.Window
	kinds   map[ingest.LatencyKind]int64 // events by latency kind
	dropped int64                        // events of kinds that were not used
}

// fold runs a device's rows through the folds of package features; addTick
// gets the ticks. closed holds folds whose memory may be used again.
func (t *deviceTask) fold(o features.Options, res *deviceResult, addTick func(*features.Tick), closed *sync.Pool) error {
	res.kinds = map[ingest.LatencyKind]int64{}
	addWindow := func(w *features.Window) { res.windows = append(res.windows, *w) }
	if t.events == nil {
		return t.foldSamples(o, res, addTick, addWindow)
	}
	ahead, long, err := t.survey(res)
	if err != nil {
		return err
	}
	kind := prefer(res.kinds)
	var names ingest.Names
	start := func() *features.Fold {
		f := features.NewFold(t.key, o, ahead, addTick, addWindow)
		if old, ok := closed.Get().(*features.Fold); ok {
			f.Take(old)
		}
		return f
	}
	fold := start()
	begin := func() {
		for _, s := range t.open {
			fold.AddOpen(s)
		}
		for _, s := range long {
			fold.AddLong(s)
		}
	}
	begin()
	last := int64(0)
	var streams []source
	for _, s := range t.events.Streams(t.key.Device, eventColumns) {
		streams = append(streams, &eventStream{Stream: s, names: &names, from: inputOf(s.Path), kind: kind, dropped: &res.dropped})
	}
	err = merge(streams, func(e *ingest.Event) error {
		if last != 0 && e.StartNS()-last > breakNS {
			fold.Close(0)
			closed.Put(fold)
			fold = start()
		}
		last = e.TimeNS
		fold.Add(e)
		return nil
	})
	if err != nil {
		return err
	}
	fold.Close(t.end(last))
	closed.Put(fold)
	return nil
}

// end is where the I/Os that never completed end: with their input, but not
// more than MaxLatencyNS behind the last that is known of the device.
func (t *deviceTask) end(last int64) int64 {
	for _, s := range t.open {
		last = max(last, s)
	}
	return min(t.endNS, last+ingest.MaxLatencyNS)
}

// survey is what must be known of all of a device's events before the fold
// takes the first.
type survey struct {
	kinds map[ingest.LatencyKind]int64 // events by latency kind
	ahead int64                        // how far the fold must look ahead
	long  []int64                      // starts of the few I/Os that are longer than that
}

// survey looks at the latencies and their kinds. What the bounds of a row
// group tell of them is not read; row groups that devices share are read with
// the columns that the fold needs, which are kept for it.
func (t *deviceTask) survey(res *deviceResult) (ahead int64, long []int64, err error) {
	v := survey{kinds: res.kinds}
	shared := func(g lake.Group) bool { return g.Min == nil }
	for _, s := range t.events.Streams(t.key.Device, []string{"time_ns", "latency_ns", "latency_kind"}) {
		s.Pick(func(g lake.Group) bool { return !shared(g) && !v.bounds(g) })
		if err := v.read(s); err != nil {
			return 0, nil, err
		}
	}
	for _, s := range t.events.Streams(t.key.Device, eventColumns) {
		s.Pick(shared)
		if err := v.read(s); err != nil {
			return 0, nil, err
		}
	}
	if len(v.long) > mostLong {
		return t.surveyAll()
	}
	slices.Sort(v.long)
	return v.ahead, v.long, nil
}

// bounds takes a row group by its bounds, and reports whether these tell all.
func (v *survey) bounds(g lake.Group) bool {
	kind, ok := g.Min["latency_kind"].(string)
	nulls, counted := g.Nulls["latency_kind"]
	if !ok || g.Max["latency_kind"] != kind || !counted || nulls > 0 {
		return false
	}
	largest, ok := g.Max["latency_ns"].(int64)
	if !ok || largest > longNS {
		return false
	}
	v.kinds[ingest.ParseKind(kind)] += g.Rows
	v.ahead = max(v.ahead, largest)
	return true
}

func (v *survey) read(s *lake.Stream) error {
	for {
		cols, n, err := s.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var times, lat []int64
		var valid []bool
		var kinds []string
		for _, c := range cols {
			switch c.Name {
			case "time_ns":
				times = c.Data.([]int64)
			case "latency_ns":
				lat, valid = c.Data.([]int64), c.Valid
			case "latency_kind":
				kinds = c.Data.([]string)
			}
		}
		count(v.kinds, kinds[:n])
		for i, l := range lat {
			if valid != nil && !valid[i] {
				continue
			}
			if l > longNS && len(v.long) <= mostLong {
				v.long = append(v.long, times[i]-l)
				continue
			}
			v.ahead = max(v.ahead, l)
		}
	}
}

// surveyAll is the look-ahead where too many I/Os are long.
func (t *deviceTask) surveyAll() (ahead int64, long []int64, err error) {
	for _, s := range t.events.Streams(t.key.Device, []string{"latency_ns"}) {
		for {
			cols, _, err := s.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return 0, nil, err
			}
			for _, c := range cols {
				for _, l := range c.Data.([]int64) {
					ahead = max(ahead, l)
				}
			}
		}
	}
	return ahead, nil, nil
}

func count(kinds map[ingest.LatencyKind]int64, words []string) {
	for i := 0; i < len(words); {
		n := i + 1
		for n < len(words) && words[n] == words[i] {
			n++
		}
		kinds[ingest.ParseKind(words[i])] += int64(n - i)
		i = n
	}
}

// prefer is the latency kind that a device's windows take where its events
// have several: the block layer's before the device's before an
// application's, unless it is but a fragment of them.
func prefer(kinds map[ingest.LatencyKind]int64) ingest.LatencyKind {
	var all int64
	for _, n := range kinds {
		all += n
	}
	for _, k := range []ingest.LatencyKind{ingest.KindQ2C, ingest.KindD2C, ingest.KindSyscall, ingest.KindApp} {
		if n := kinds[k]; n > 0 && n*20 >= all {
			return k
		}
	}
	return ingest.KindNone
}

// eventStream is a part's rows of a device as a source of the merge.
type eventStream struct {
	*lake.Stream
	names   *ingest.Names
	from    string
	kind    ingest.LatencyKind
	dropped *int64
	rows    ingest.EventRows
	at, n   int
	hand    ingest.Event
}

func (s *eventStream) head() *ingest.Event { return &s.hand }
func (s *eventStream) input() string       { return s.from }
func (s *eventStream) minTime() int64      { return s.MinTime }

// next moves to the next row. An event whose latency is of another kind keeps
// its place, its size and its op; its latency is not mixed in.
func (s *eventStream) next() error {
	if s.at == s.n {
		cols, _, err := s.Next()
		if err != nil {
			return err
		}
		if s.n, err = s.rows.Open(cols, s.names); err != nil {
			return err
		}
		s.at = 0
	}
	e := &s.hand
	s.rows.Event(s.at, e)
	s.at++
	if e.Kind != s.kind && e.LatencyNS >= 0 && !within(e.Kind, s.kind) {
		*s.dropped++
	}
	return nil
}

// within says that latencies of kind a may stand among those of kind b: an I/O
// whose queueing was before the trace began has only its device time.
func within(a, b ingest.LatencyKind) bool {
	return a == ingest.KindD2C && b == ingest.KindQ2C
}

func (t *deviceTask) foldSamples(o features.Options, res *deviceResult, addTick func(*features.Tick), addWindow func(*features.Window)) error {
	if t.samples == nil {
		return nil
	}
	var names ingest.Names
	var all []ingest.Sample
	for _, s := range t.samples.Streams(t.key.Device, sampleColumns) {
		for {
			cols, _, err := s.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			if all, err = ingest.SamplesFromColumns(cols, &names, all); err != nil {
				return err
			}
		}
	}
	slices.SortStableFunc(all, func(a, b ingest.Sample) int { return int(min(max(a.TimeNS-b.TimeNS, -1), 1)) })
	fold := features.NewSampleFold(t.key, o, addTick, addWindow)
	last := int64(0)
	for i := range all {
		if last != 0 && all[i].TimeNS-all[i].IntervalNS-last > breakNS {
			fold.Close()
			fold = features.NewSampleFold(t.key, o, addTick, addWindow)
		}
		last = all[i].TimeNS
		fold.Add(&all[i])
	}
	fold.Close()
	res.kinds[ingest.KindSample] += int64(len(all))
	return nil
}

// inputOf is the input's identity in a part's path.
func inputOf(path string) string {
	name, err := lake.ParsePart(tail(path))
	if err != nil {
		return path
	}
	return name.Input
}
