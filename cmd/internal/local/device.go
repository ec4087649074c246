package local

import (
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/ingest/lake"
	"github.com/iopathy/iopathy/reports"
)

// The columns that the folds need.
var (
	eventColumns  = []string{"time_ns", "device", "comm", "op", "flags", "offset_bytes", "size_bytes", "queue_ns", "get_ns", "insert_ns", "latency_ns", "latency_kind", "depth", "error", "cgroup", "source_offset"}
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

	slice   *timeSlice // nil: all of the day
	vectors bool       // nothing else is wanted
}

// columns are those of events that the folds read.
func (t *deviceTask) columns() []string {
	if t.vectors {
		return vectorColumns
	}
	return eventColumns
}

// span is the time whose windows and ticks are the task's.
func (t *deviceTask) span() (fromNS, toNS int64) {
	if t.slice != nil {
		return t.slice.fromNS, t.slice.toNS
	}
	return t.feed.dayNS, t.feed.dayNS + dayNS
}

// deviceResult is what a device's folds gave.
type deviceResult struct {
	key     features.Key
	cell    cell
	windows []features.Window      // until they are written
	bytes   []windowBytes          // of these
	sources *reports.DeviceSources // where there is something to tell of them
	profile features.DeviceProfile

	unit  int                    // its number among the tasks of the cell
	ticks int64                  // that it gave
	share features.DeviceProfile // of a unit of a cell of which others have other units
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
	from, to := t.span()
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
	return t.foldInto(&f, res)
}

// foldInto folds the rows, whatever they are.
func (t *deviceTask) foldInto(f *folding, res *deviceResult) error {
	if t.histograms != nil {
		foldHistograms(t.key, f, t.histograms)
		return nil
	}
	var v survey
	switch {
	case t.slice != nil:
		v = *t.slice.survey
	case t.events != nil:
		var err error
		if v, err = t.survey(); err != nil {
			return err
		}
	}
	if t.simple(&v) {
		return t.foldEvents(f, &v, nil, nil, features.Segment{Kind: prefer(v.all()), Extent: features.Extent{FromNS: math.MinInt64, ToNS: math.MaxInt64}}, t.open)
	}
	return t.foldChosen(f, &v, res)
}

// folding is what the folds of one device share.
type folding struct {
	o         features.Options
	closed    *sync.Pool
	addTick   func(*features.Tick)
	addWindow func(*features.Window)
	profile   *features.Profile // of what completes in; nil: none, and vectors alone are wanted
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
	if f.profile != nil {
		f.profile.UseNames(&names)
	}
	counts, since, until := t.counts, int64(math.MinInt64), int64(math.MaxInt64)
	if t.slice != nil {
		if t.slice.number > 0 {
			var err error
			if since, err = t.reachesBack(f.o); err != nil {
				return err
			}
			counts = func(timeNS, latencyNS int64) bool { return timeNS >= since && t.counts(timeNS, latencyNS) }
		}
		if !t.slice.last {
			until = t.slice.toNS + v.ahead + f.o.TickNS // the folds close what is before toNS
		}
	}
	start := func() *features.Fold {
		fold := features.NewFold(t.key, f.o, v.ahead, f.addTick, f.addWindow)
		if f.profile != nil {
			fold.Observe(f.profile, f.fromNS, f.toNS)
		} else {
			fold.VectorsOnly()
		}
		if old, ok := f.closed.Get().(*features.Fold); ok {
			fold.Take(old)
		}
		return fold
	}
	fold := start()
	if t.slice != nil {
		fold.Begin(t.slice.kind)
	}
	last := int64(0)
	end := int64(0) // of the inputs of I/Os that never completed
	for _, s := range open {
		fold.AddOpen(s.startNS)
		end, last = max(end, min(s.endNS, seg.ToNS)), max(last, s.startNS)
	}
	for _, l := range v.long {
		if l.endNS >= since && (plan == nil || plan.At(l.endNS) == of[l.input] && l.endNS >= seg.FromNS && l.endNS < seg.ToNS) && fits(l.kind, seg.Kind) {
			fold.AddLong(l.startNS)
		}
	}
	opened := last
	last = 0
	var streams []source
	var spare [][]ingest.Event
	for _, s := range t.events.Streams(t.key.Device, t.columns()) {
		s.Pick(t.reaches)
		if since > math.MinInt64 {
			s.Pick(func(g lake.Group) bool { last, ok := g.Max["time_ns"].(int64); return !ok || last >= since })
		}
		e := &eventStream{Stream: s, names: &names, from: inputOf(s.Path), counts: counts, spare: &spare}
		if plan != nil {
			if s.MaxTime < seg.FromNS || s.MinTime >= seg.ToNS {
				continue
			}
			e.plan, e.recording, e.seg = plan, of[e.from], seg.Extent
		}
		streams = append(streams, e)
	}
	all := slices.Clone(streams)
	err := merge(streams, func(events []ingest.Event) error {
		from := 0 // those before it are in the fold
		for i := range events {
			e := &events[i]
			if e.LatencyNS >= 0 && !fits(e.Kind, seg.Kind) {
				// It keeps its place, its size and its op; its latency is not mixed in.
				e.LatencyNS, e.QueueNS, e.GetNS, e.InsertNS = ingest.Missing, ingest.Missing, ingest.Missing, ingest.Missing
			}
			if last != 0 && e.StartNS()-last > breakNS {
				fold.AddAll(events[from:i])
				from = i
				fold.Close(0)
				f.closed.Put(fold)
				fold = start()
			}
			last = e.TimeNS
			if e.TimeNS >= until {
				fold.AddAll(events[from : i+1])
				return errEnough
			}
		}
		fold.AddAll(events[from:])
		return nil
	})
	if errors.Is(err, errEnough) {
		f.closed.Put(fold)
		return closeStreams(all)
	}
	if err != nil {
		return err
	}
	// I/Os that never completed end with their input, but not more than
	// MaxLatencyNS behind the last that is known of the device.
	fold.Close(min(end, max(last, opened)+ingest.MaxLatencyNS))
	f.closed.Put(fold)
	return nil
}
