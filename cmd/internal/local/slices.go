package local

import (
	"errors"
	"math"
	"slices"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/ingest/lake"
)

// A device with very many events on a day is folded in slices of its time, so that
// one hot device keeps neither one core nor one machine busy alone. The slices
// follow from the rows of the lake, and not from who folds them: they are the same
// on one machine and on many.
const (
	sliceRows  = int64(4 << 20) // events of a device, on a day, that a slice holds at least
	sliceHalos = 4              // halos that a slice is long at least
	mostSlices = 256
)

// timeSlice is a span of a device's time that is folded by itself, with what was before
// it as far as the folds reach back, and up to where nothing more can change it.
type timeSlice struct {
	number       int
	fromNS, toNS int64
	last         bool
	survey       *survey            // of the device
	kind         ingest.LatencyKind // of the first latency of the device
}

// sliced gives the tasks of a device: itself, or its slices.
func (t *deviceTask) sliced(o features.Options, least int64) ([]*deviceTask, error) {
	if t.events == nil || t.feed == nil || t.events.Rows(t.key.Device) < 2*least {
		return []*deviceTask{t}, nil
	}
	from, to := int64(math.MaxInt64), int64(math.MinInt64)
	for _, s := range t.events.Streams(t.key.Device, []string{"time_ns"}) {
		from, to = min(from, s.MinTime), max(to, s.MaxTime)
	}
	from, to = max(from, t.feed.dayNS), min(to, t.feed.dayNS+dayNS)
	n := min(t.events.Rows(t.key.Device)/least, (to-from)/(sliceHalos*o.HaloNS()), mostSlices)
	if n < 2 {
		return []*deviceTask{t}, nil
	}
	v, err := t.survey()
	if err != nil || !t.simple(&v) {
		return []*deviceTask{t}, err
	}
	kind, err := t.firstKind(&v)
	if err != nil {
		return nil, err
	}
	var out []*deviceTask
	at := t.feed.dayNS
	for i := range n {
		end := floorDiv(from+(to-from)/n*(i+1), o.WindowNS) * o.WindowNS
		if i == n-1 {
			end = t.feed.dayNS + dayNS
		}
		if end <= at {
			continue
		}
		one := *t
		one.slice = &timeSlice{number: len(out), fromNS: at, toNS: end, last: i == n-1, survey: &v}
		if len(out) > 0 {
			one.slice.kind = kind
		}
		out = append(out, &one)
		at = end
	}
	return out, nil
}

// errEnough ends a fold: what it is asked for is out.
var errEnough = errors.New("enough")

// firstKind is the kind of the device's first event with a latency that counts.
func (t *deviceTask) firstKind(v *survey) (ingest.LatencyKind, error) {
	preferred := prefer(v.all())
	kind := ingest.KindNone
	err := t.eachEvent(math.MinInt64, func(e *ingest.Event) error {
		if e.LatencyNS < 0 || !fits(e.Kind, preferred) {
			return nil
		}
		kind = e.Kind
		return errEnough
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return kind, err
}

// eachEvent calls fn with the events of the day that complete at fromNS or later.
func (t *deviceTask) eachEvent(fromNS int64, fn func(*ingest.Event) error) error {
	var names ingest.Names
	var streams []source
	for _, s := range t.events.Streams(t.key.Device, t.columns()) {
		s.Pick(t.reaches)
		if fromNS > math.MinInt64 {
			s.Pick(func(g lake.Group) bool { last, ok := g.Max["time_ns"].(int64); return !ok || last >= fromNS })
		}
		streams = append(streams, &eventStream{Stream: s, names: &names, from: inputOf(s.Path), counts: func(timeNS, latencyNS int64) bool {
			return timeNS >= fromNS && t.counts(timeNS, latencyNS)
		}})
	}
	all := slices.Clone(streams)
	err := merge(streams, func(events []ingest.Event) error {
		for i := range events {
			if err := fn(&events[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return errors.Join(err, closeStreams(all))
}

// closeStreams ends streams that were not read to their end.
func closeStreams(all []source) error {
	var err error
	for _, s := range all {
		err = errors.Join(err, s.(*eventStream).Close())
	}
	return err
}

// reachesBack is from when on a slice needs the events: as far back as the folds
// remember, and from the last event before that, which says whether the device's
// span goes on.
func (t *deviceTask) reachesBack(o features.Options) (int64, error) {
	at := t.slice.fromNS - o.HaloNS()
	before := int64(math.MinInt64)
	for _, s := range t.events.Streams(t.key.Device, []string{"time_ns"}) {
		if s.MinTime >= at {
			continue
		}
		s.Pick(func(g lake.Group) bool {
			first, fok := g.Min["time_ns"].(int64)
			last, lok := g.Max["time_ns"].(int64)
			switch {
			case !fok || !lok:
				return true // devices share it: a small one
			case last < at:
				before = max(before, last)
			}
			return first < at && last >= at
		})
		err := eachBatch(s, func(cols []lake.Column, _ int) {
			for _, ns := range cols[0].Data.([]int64) {
				if ns < at {
					before = max(before, ns)
				}
			}
		})
		if err != nil {
			return 0, err
		}
	}
	if before < t.feed.fromNS { // no event of the day
		before = at
	}
	return before, nil
}

// joinSlices makes one result of those of the slices of a device, whose windows are written.
func joinSlices(results []*deviceResult) []*deviceResult {
	var out []*deviceResult
	for _, r := range results {
		n := len(out)
		if n == 0 || out[n-1].key != r.key || out[n-1].cell != r.cell {
			out = append(out, r)
			continue
		}
		out[n-1].bytes = append(out[n-1].bytes, r.bytes...)
	}
	return out
}
