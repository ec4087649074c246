package local

import (
	"cmp"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/ingest/lake"
	"github.com/iopathy/iopathy/reports"
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

// edgeNS is how long after the end of a day its folds look on, so that the last
// windows of the day end as if there were no such end.
const edgeNS = int64(10 * time.Minute)

// deviceTask is one device of one host, on one day, and where its rows are.
type deviceTask struct {
	key     features.Key
	feed    *feed       // nil: whatever the day
	events  *lake.Index // nil: none
	samples *lake.Index
	open    []openIO               // that never completed
	inputs  map[string]*inputFacts // of the lake, by identity

	histograms []features.LatencyHistogram // of a device of which there is nothing better
}

// deviceResult is what a device's folds gave.
type deviceResult struct {
	key     features.Key
	cell    cell
	windows []features.Window
	sources *reports.DeviceSources // where there is something to tell of them
	profile features.DeviceProfile
}

// fold runs a device's rows through the folds of package features; addTick
// gets the ticks, by time. closed and profiles hold folds whose memory may be
// used again.
func (t *deviceTask) fold(o features.Options, res *deviceResult, addTick func(*features.Tick), closed, profiles *sync.Pool) error {
	p, ok := profiles.Get().(*features.Profile)
	if !ok {
		p = features.NewProfile(o)
	}
	defer func() {
		res.profile = features.DeviceProfile{Key: t.key, TickNS: p.TickNS(), Rows: p.Rows()}
		p.Reset()
		profiles.Put(p)
	}()
	from, to := t.feed.dayNS, t.feed.dayNS+dayNS
	f := folding{o: o, closed: closed, profile: p, fromNS: from, toNS: to}
	f.addTick = func(x *features.Tick) {
		if x.StartNS >= from && x.StartNS < to {
			p.AddTick(x)
			addTick(x)
		}
	}
	f.addWindow = func(w *features.Window) {
		if w.StartNS >= from && w.StartNS < to {
			res.windows = append(res.windows, *w)
		}
	}
	if t.histograms != nil {
		foldHistograms(t.key, &f, t.histograms)
		return nil
	}
	var v survey
	if t.events != nil {
		var err error
		if v, err = t.survey(); err != nil {
			return err
		}
	}
	if t.simple(&v) {
		return t.foldEvents(&f, &v, nil, nil, features.Segment{Kind: prefer(v.all()), Extent: features.Extent{FromNS: math.MinInt64, ToNS: math.MaxInt64}}, t.open)
	}
	return t.foldChosen(&f, &v, res)
}

// folding is what the folds of one device share.
type folding struct {
	o         features.Options
	closed    *sync.Pool
	addTick   func(*features.Tick)
	addWindow func(*features.Window)
	profile   *features.Profile // of what completes in
	fromNS    int64             // this span
	toNS      int64
}

// foldEvents folds the events of a segment. Without a plan it takes those of
// all inputs; with one those that it names, of being the recording of an input.
func (t *deviceTask) foldEvents(f *folding, v *survey, plan *features.Plan, of map[string]int, seg features.Segment, open []openIO) error {
	if t.events == nil {
		return nil
	}
	var names ingest.Names
	start := func() *features.Fold {
		fold := features.NewFold(t.key, f.o, v.ahead, f.addTick, f.addWindow)
		fold.Observe(f.profile, f.fromNS, f.toNS)
		if old, ok := f.closed.Get().(*features.Fold); ok {
			fold.Take(old)
		}
		return fold
	}
	fold := start()
	last := int64(0)
	end := int64(0) // of the inputs of I/Os that never completed
	for _, s := range open {
		fold.AddOpen(s.startNS)
		end, last = max(end, min(s.endNS, seg.ToNS)), max(last, s.startNS)
	}
	for _, l := range v.long {
		if (plan == nil || plan.At(l.endNS) == of[l.input] && l.endNS >= seg.FromNS && l.endNS < seg.ToNS) && fits(l.kind, seg.Kind) {
			fold.AddLong(l.startNS)
		}
	}
	opened := last
	last = 0
	var streams []source
	var spare [][]ingest.Event
	for _, s := range t.events.Streams(t.key.Device, eventColumns) {
		s.Pick(t.reaches)
		e := &eventStream{Stream: s, names: &names, from: inputOf(s.Path), counts: t.counts, spare: &spare}
		if plan != nil {
			if s.MaxTime < seg.FromNS || s.MinTime >= seg.ToNS {
				continue
			}
			e.plan, e.recording, e.seg = plan, of[e.from], seg.Extent
		}
		streams = append(streams, e)
	}
	err := merge(streams, func(e *ingest.Event) error {
		if e.LatencyNS >= 0 && !fits(e.Kind, seg.Kind) {
			// It keeps its place, its size and its op; its latency is not mixed in.
			e.LatencyNS, e.QueueNS = ingest.Missing, ingest.Missing
		}
		if last != 0 && e.StartNS()-last > breakNS {
			fold.Close(0)
			f.closed.Put(fold)
			fold = start()
		}
		last = e.TimeNS
		fold.Add(e)
		return nil
	})
	if err != nil {
		return err
	}
	// I/Os that never completed end with their input, but not more than
	// MaxLatencyNS behind the last that is known of the device.
	fold.Close(min(end, max(last, opened)+ingest.MaxLatencyNS))
	f.closed.Put(fold)
	return nil
}

// survey is what must be known of all of a device's events before the fold
// takes the first.
type survey struct {
	kinds map[string]map[ingest.LatencyKind]int64 // events by input and latency kind
	ahead int64                                   // how far the fold must look ahead
	long  []longIO                                // the few I/Os that are longer than that

	input string // in hand
}

// longIO is an I/O that is announced to the fold.
type longIO struct {
	startNS, endNS int64
	kind           ingest.LatencyKind
	input          string
}

// all is the events by latency kind.
func (v *survey) all() map[ingest.LatencyKind]int64 {
	all := map[ingest.LatencyKind]int64{}
	for _, kinds := range v.kinds {
		for k, n := range kinds {
			all[k] += n
		}
	}
	return all
}

// of makes the input of a stream the one in hand.
func (v *survey) of(s *lake.Stream) {
	v.input = inputOf(s.Path)
	if v.kinds[v.input] == nil {
		v.kinds[v.input] = map[ingest.LatencyKind]int64{}
	}
}

// survey looks at the latencies and their kinds. What the bounds of a row
// group tell of them is not read; row groups that devices share are read with
// the columns that the fold needs, which are kept for it.
func (t *deviceTask) survey() (v survey, err error) {
	v.kinds = map[string]map[ingest.LatencyKind]int64{}
	shared := func(g lake.Group) bool { return g.Min == nil }
	for _, s := range t.events.Streams(t.key.Device, []string{"time_ns", "latency_ns", "latency_kind"}) {
		v.of(s)
		s.Pick(func(g lake.Group) bool { return !shared(g) && t.reaches(g) && !v.bounds(g) })
		if err := v.read(s, t.counts); err != nil {
			return v, err
		}
	}
	for _, s := range t.events.Streams(t.key.Device, eventColumns) {
		v.of(s)
		s.Pick(shared)
		if err := v.read(s, t.counts); err != nil {
			return v, err
		}
	}
	if len(v.long) > mostLong {
		v.long = nil
		v.ahead, err = t.surveyAll()
		return v, err
	}
	slices.SortFunc(v.long, func(a, b longIO) int {
		return cmp.Or(cmp.Compare(a.startNS, b.startNS), cmp.Compare(a.endNS, b.endNS), strings.Compare(a.input, b.input))
	})
	return v, nil
}

// counts says whether an event is of the day, or close enough to matter for it.
func (t *deviceTask) counts(timeNS, latencyNS int64) bool {
	if t.feed == nil {
		return true
	}
	to := t.feed.dayNS + dayNS
	return timeNS >= t.feed.fromNS && (timeNS < to+edgeNS || timeNS-latencyNS < to)
}

// reaches says whether a row group may hold events that count.
func (t *deviceTask) reaches(g lake.Group) bool {
	if t.feed == nil {
		return true
	}
	first, fok := g.Min["time_ns"].(int64)
	last, lok := g.Max["time_ns"].(int64)
	if !fok || !lok {
		return true
	}
	longest, ok := g.Max["latency_ns"].(int64)
	if _, some := g.Nulls["latency_ns"]; !ok && !some {
		longest = 0 // no latencies
	} else if !ok {
		longest = ingest.MaxLatencyNS
	}
	return last >= t.feed.fromNS && t.counts(max(first, t.feed.fromNS), longest)
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
	v.kinds[v.input][ingest.ParseKind(kind)] += g.Rows
	v.ahead = max(v.ahead, largest)
	return true
}

func (v *survey) read(s *lake.Stream, counts func(timeNS, latencyNS int64) bool) error {
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
		count(v.kinds[v.input], kinds[:n])
		for i, l := range lat {
			if valid != nil && !valid[i] || !counts(times[i], l) {
				continue
			}
			if l > longNS && len(v.long) <= mostLong {
				v.long = append(v.long, longIO{times[i] - l, times[i], ingest.ParseKind(kinds[i]), v.input})
				continue
			}
			v.ahead = max(v.ahead, l)
		}
	}
}

// surveyAll is the look-ahead where too many I/Os are long.
func (t *deviceTask) surveyAll() (ahead int64, err error) {
	for _, s := range t.events.Streams(t.key.Device, []string{"latency_ns"}) {
		for {
			cols, _, err := s.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return 0, err
			}
			for _, c := range cols {
				for _, l := range c.Data.([]int64) {
					ahead = max(ahead, l)
				}
			}
		}
	}
	return ahead, nil
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
	names *ingest.Names
	from  string
	rows  ingest.EventRows
	at, n int               // rows that were taken of those that are open
	hand  []ingest.Event    // of rows: the next one that counts, and those behind it
	room  []ingest.Event    // where they stand
	spare *[][]ingest.Event // room of streams that are at their end; may be nil

	counts func(timeNS, latencyNS int64) bool // nil: all rows do

	plan      *features.Plan // nil: all rows count
	recording int            // of the plan, whose rows these are
	seg       features.Extent
}

// streamEvents is how many rows are made events at a time.
const streamEvents = 256

func (s *eventStream) head() *ingest.Event { return &s.hand[0] }
func (s *eventStream) input() string       { return s.from }
func (s *eventStream) minTime() int64      { return s.MinTime }

// next moves to the next row that counts.
func (s *eventStream) next() error {
	for {
		if len(s.hand) > 1 {
			s.hand = s.hand[1:]
		} else if err := s.fill(); err != nil {
			return err
		}
		e := &s.hand[0]
		if s.counts != nil && !s.counts(e.TimeNS, max(e.LatencyNS, 0)) {
			continue
		}
		if s.plan == nil || e.TimeNS >= s.seg.FromNS && e.TimeNS < s.seg.ToNS && s.plan.At(e.TimeNS) == s.recording {
			return nil
		}
	}
}

// fill makes the next rows events, one or more.
func (s *eventStream) fill() error {
	for s.at == s.n {
		cols, _, err := s.Next()
		if err != nil {
			if s.room != nil && s.spare != nil {
				*s.spare = append(*s.spare, s.room)
			}
			s.room, s.hand = nil, nil
			return err
		}
		if s.n, err = s.rows.Open(cols, s.names); err != nil {
			return err
		}
		s.at = 0
	}
	if s.room == nil && s.spare != nil && len(*s.spare) > 0 {
		n := len(*s.spare) - 1
		s.room, *s.spare = (*s.spare)[n], (*s.spare)[:n]
	} else if s.room == nil {
		s.room = make([]ingest.Event, streamEvents)
	}
	s.hand = s.room[:min(s.n-s.at, len(s.room))]
	s.rows.Events(s.at, s.hand)
	s.at += len(s.hand)
	return nil
}

// fits says that latencies of kind a may stand among those of kind b: an I/O
// whose queueing was before the trace began has only its device time.
func fits(a, b ingest.LatencyKind) bool {
	return a == b || a == ingest.KindD2C && b == ingest.KindQ2C
}

// inputOf is the input's identity in a part's path.
func inputOf(path string) string {
	name, err := lake.ParsePart(tail(path))
	if err != nil {
		return path
	}
	return name.Input
}
