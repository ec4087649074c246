package local

import (
	"cmp"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/ingest/lake"
)

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
	for _, s := range t.events.Streams(t.key.Device, t.columns()) {
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

// eachBatch calls fn with the columns of all rows of a stream, some rows at a time.
func eachBatch(s *lake.Stream, fn func(cols []lake.Column, n int)) error {
	for {
		cols, n, err := s.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		fn(cols, n)
	}
}

func (v *survey) read(s *lake.Stream, counts func(timeNS, latencyNS int64) bool) error {
	return eachBatch(s, func(cols []lake.Column, n int) {
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
	})
}

// surveyAll is the look-ahead where too many I/Os are long.
func (t *deviceTask) surveyAll() (ahead int64, err error) {
	for _, s := range t.events.Streams(t.key.Device, []string{"latency_ns"}) {
		err := eachBatch(s, func(cols []lake.Column, _ int) {
			for _, c := range cols {
				for _, l := range c.Data.([]int64) {
					ahead = max(ahead, l)
				}
			}
		})
		if err != nil {
			return 0, err
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

// streamEvents is how many rows are made events at a time: few enough to leave
// the nearest cache to the sums that they go into.
const streamEvents = 64

func (s *eventStream) head() *ingest.Event { return &s.hand[0] }
func (s *eventStream) input() string       { return s.from }
func (s *eventStream) minTime() int64      { return s.MinTime }

// ready is the rows that count and are at hand: the next one, and those behind it.
func (s *eventStream) ready() []ingest.Event { return s.hand }

// next moves to the next row that counts.
func (s *eventStream) next() error { return s.skip(1) }

// skip leaves n of the rows that are ready behind.
func (s *eventStream) skip(n int) error {
	for s.hand = s.hand[min(n, len(s.hand)):]; len(s.hand) == 0; {
		if err := s.fill(); err != nil {
			return err
		}
	}
	return nil
}

// choose keeps the events that count.
func (s *eventStream) choose(all []ingest.Event) []ingest.Event {
	if s.counts == nil && s.plan == nil {
		return all
	}
	n := 0
	for i := range all {
		e := &all[i]
		if s.counts != nil && !s.counts(e.TimeNS, max(e.LatencyNS, 0)) ||
			s.plan != nil && (e.TimeNS < s.seg.FromNS || e.TimeNS >= s.seg.ToNS || s.plan.At(e.TimeNS) != s.recording) {
			continue
		}
		if n < i {
			all[n] = *e
		}
		n++
	}
	return all[:n]
}

// fill makes the next rows events, one or more, and keeps those that count.
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
	some := s.room[:min(s.n-s.at, len(s.room))]
	s.rows.Events(s.at, some)
	s.at += len(some)
	s.hand = s.choose(some)
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
