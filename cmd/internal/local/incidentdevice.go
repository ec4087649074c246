package local

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/ingest/lake"
	"github.com/iopathy/iopathy/reports"
)

// sourcesOf gives the inputs by their ids.
func sourcesOf(manifests []lake.Manifest) map[string]lake.Input {
	all := map[string]lake.Input{}
	for _, m := range manifests {
		for _, in := range m.Inputs {
			if in.Gave() {
				all[in.ID] = in
			}
		}
	}
	return all
}

// incidentDevice folds the events of one device.
func (j *Job) incidentDevice(manifests []lake.Manifest, inc Incident, margin int64, d *Diagnosed, k features.Key, sources map[string]lake.Input) (*reports.IncidentDevice, error) {
	one := &reports.IncidentDevice{Key: k, Worst: -1, Actors: map[string][]features.Actor{}}
	kind := ingest.KindNone
	first, last := int64(math.MaxInt64), int64(math.MinInt64) // of its windows
	severity := 0.0
	for i := range d.Windows.Len() {
		w := d.Windows.At(i)
		if w.Key != k {
			continue
		}
		first, last = min(first, w.StartNS), max(last, w.EndNS)
		if w.Kind != ingest.KindNone {
			kind = w.Kind
		}
		if r := d.Result.Diagnoses.At(i); inc.touches(w) && (one.Worst < 0 || r.Severity > severity) {
			one.Worst, severity = i, r.Severity
		}
	}
	one.Own, one.Peers, one.Group = baselines(d, inc, k, one.Worst)
	var names ingest.Names
	fold := features.NewIncident(inc.FromNS, inc.ToNS, margin, kind, &names)
	if kind != ingest.KindSample {
		if err := j.foldIncident(manifests, k, kind, fold, &names, one); err != nil {
			return nil, err
		}
	} else {
		one.Messages = append(one.Messages, "The device was seen by interval counters: there are no single requests to look at, and figures are those of the windows that a phase overlaps")
	}
	fold.Clip(first, last)
	one.Phases = fold.Phases()
	if kind == ingest.KindSample {
		apart := true
		for p := range one.Phases {
			apart = countPhase(&one.Phases[p], d.Windows, k) && apart
		}
		if !apart {
			one.Messages = append(one.Messages, "The counters don't tell reads from writes: all bytes stand as read")
		}
	}
	for by := range features.ActorKind(3) {
		if actors := fold.Actors(by); len(actors) > 0 {
			one.Actors[by.String()] = actors
		}
	}
	var words []string
	one.Slowest, words = j.slowLines(fold, sources)
	one.Messages = append(one.Messages, words...)
	return one, nil
}

// slowLines are the slowest requests with their lines, and a word on those
// logs whose lines can't be shown.
func (j *Job) slowLines(fold *features.Incident, sources map[string]lake.Input) (lines []reports.SlowLine, words []string) {
	for _, s := range fold.Slowest() {
		lines = append(lines, reports.SlowLine{SlowIO: s, Source: filepath.Base(sources[s.Input].Path)})
	}
	return lines, j.quote(lines, sources)
}

// Slowest gives the slowest requests that were in flight in a window, with
// their lines; none of a device that interval counters saw.
func (j *Job) Slowest(w *features.Window, most int) ([]reports.SlowLine, error) {
	if w.Kind == ingest.KindSample {
		return nil, nil
	}
	manifests, err := j.Manifests()
	if err != nil {
		return nil, err
	}
	var names ingest.Names
	fold := features.NewIncident(w.StartNS, w.EndNS, 0, w.Kind, &names)
	if err := j.foldIncident(manifests, w.Key, w.Kind, fold, &names, &reports.IncidentDevice{}); err != nil {
		return nil, err
	}
	lines, _ := j.slowLines(fold, sourcesOf(manifests))
	return lines[:min(len(lines), most)], nil
}

// foldIncident reads the device's events of the span: the parts of its days
// and host, the row groups whose times touch it.
func (j *Job) foldIncident(manifests []lake.Manifest, k features.Key, kind ingest.LatencyKind, fold *features.Incident, names *ingest.Names, one *reports.IncidentDevice) error {
	from, to := fold.Span()
	paths, err := j.partsTouching(manifests, k, from, to)
	if err != nil || len(paths) == 0 {
		return err
	}
	index, err := j.indexed(paths)
	if err != nil {
		return err
	}
	stands, err := j.standing(manifests, k, index, from, to, j.indexed)
	if err != nil {
		return err
	}
	seen := map[string]bool{}    // inputs of the device's own events
	callers := map[string]bool{} // inputs of those who called
	for _, s := range index.Streams(k.Device, incidentColumns) {
		s.Pick(func(g lake.Group) bool { return touching(g, from, to) })
		input := inputOf(s.Path)
		err := eventsIn(s, names, func(e *ingest.Event) {
			if e.StartNS() >= to || e.TimeNS < from {
				return
			}
			one.Rows++
			own := e.LatencyNS < 0 || fits(e.Kind, kind)
			switch {
			case own && stands(e.TimeNS, input):
				seen[input] = true
				fold.Add(e, input)
			case !own && e.Kind >= ingest.KindSyscall:
				callers[input] = true
				fold.AddCall(e) // what a caller measured of the same time
			}
		})
		if err != nil {
			return err
		}
	}
	return clockBetween(sourcesOf(manifests), seen, callers, fold)
}

// clockBetween tells a fold how well the clocks of callers agree with those of
// the device's logs: they are one where a log holds both, and else differ by no
// more than the errors of the alignments by which either was set. Where nothing
// was aligned nothing is known.
func clockBetween(sources map[string]lake.Input, own, callers map[string]bool, fold *features.Incident) error {
	worst := func(inputs map[string]bool) (most, least int64, err error) {
		least = math.MaxInt64
		for _, id := range sortedKeys(inputs) {
			var c ingest.ClockReport
			if text := sources[id].Clock; len(text) > 0 {
				if err := json.Unmarshal(text, &c); err != nil {
					return 0, 0, fmt.Errorf("manifest's clock of input %s: %w", id, err)
				}
			}
			most, least = max(most, c.ErrorNS), min(least, c.ErrorNS)
		}
		return most, least, nil
	}
	if len(callers) == 0 || len(own) == 0 {
		return nil
	}
	if len(callers) == 1 && len(own) == 1 && maps.Equal(callers, own) {
		fold.CallClock(0)
		return nil
	}
	device, deviceLeast, err := worst(own)
	if err != nil {
		return err
	}
	call, callLeast, err := worst(callers)
	if err != nil {
		return err
	}
	if callLeast > 0 || deviceLeast > 0 { // each of one side was held against the other, or what set the other
		fold.CallClock(device + call)
	}
	return nil
}

// eventsIn gives the events of a stream to its end.
func eventsIn(s *lake.Stream, names *ingest.Names, give func(*ingest.Event)) error {
	var rows ingest.EventRows
	for {
		cols, _, err := s.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		n, err := rows.Open(cols, names)
		if err != nil {
			return errors.Join(err, s.Close())
		}
		for i := range n {
			e := rows.Event(i)
			give(&e)
		}
	}
}

// partsTouching gives the parts of a device's host that may hold events in
// flight in a span: those of its days of which a row group's bounds say so.
// Of the others nothing but the footer is read.
func (j *Job) partsTouching(manifests []lake.Manifest, k features.Key, from, to int64) ([]string, error) {
	last := to + ingest.MaxLatencyNS // a request that was in flight may end later
	var paths []string
	for _, p := range lake.Parts(manifests, lake.Events) {
		if name, ok := dated(p, from, last); !ok || name.Host != k.Host {
			continue
		}
		path := j.at(p.Path)
		r, err := j.opener().Open(path, []string{"time_ns"})
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(r.RowGroups(), func(g lake.Group) bool { return mayHold(g, k.Device) && touching(g, from, to) }) {
			paths = append(paths, path)
		}
		if err := r.Close(); err != nil {
			return nil, err
		}
	}
	slices.Sort(paths)
	return paths, nil
}

// mayHold says whether a row group may hold rows of a device.
func mayHold(g lake.Group, device string) bool {
	lo, lok := g.Min["device"].(string)
	hi, hok := g.Max["device"].(string)
	return !lok || !hok || g.Nulls["device"] > 0 || lo <= device && device <= hi
}

// standing says which input stands for the device at a moment, where several
// tools recorded it: what was seen twice counts once. Only where the span has
// several inputs all that the host has of these days is surveyed, by an index that open gives.
func (j *Job) standing(manifests []lake.Manifest, k features.Key, index *lake.Index, from, to int64, open func([]string) (*lake.Index, error)) (func(ns int64, input string) bool, error) {
	facts, err := j.factsOfInputs(manifests)
	if err != nil {
		return nil, err
	}
	t := &deviceTask{key: k, events: index, inputs: facts}
	if len(streamsByInput(index, k.Device)) < 2 {
		return func(int64, string) bool { return true }, nil
	}
	var paths []string
	for _, p := range lake.Parts(manifests, lake.Events) {
		if name, ok := dated(p, from-int64(dayNS), to+ingest.MaxLatencyNS); ok && name.Host == k.Host {
			path := j.at(p.Path)
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	if t.events, err = open(paths); err != nil {
		return nil, err
	}
	v, err := t.survey()
	if err != nil {
		return nil, err
	}
	if t.simple(&v) {
		return func(int64, string) bool { return true }, nil
	}
	recs, of, err := t.recordings(&v)
	if err != nil {
		return nil, err
	}
	if err := t.count(j.Config.Features, recs, of); err != nil {
		return nil, err
	}
	plain := make([]features.Recording, len(recs))
	for i := range recs {
		plain[i] = recs[i].Recording
	}
	plan := features.Choose(plain, j.Config.Features)
	return func(ns int64, input string) bool {
		r, ok := of[input]
		return ok && plan.At(ns) == r
	}, nil
}

// indexed lists the row groups of parts, for who asks for a span.
func (j *Job) indexed(paths []string) (*lake.Index, error) {
	return j.opener().Index(paths, "time_ns", "latency_ns", "latency_kind")
}

// incidentColumns are the columns that the fold needs.
var incidentColumns = append(slices.Clone(eventColumns), "file")

// touching says whether a row group may hold an I/O that was in flight in a
// span; of one that devices share nothing is known.
func touching(g lake.Group, from, to int64) bool {
	lo, lok := g.Min["time_ns"].(int64)
	hi, hok := g.Max["time_ns"].(int64)
	if !lok || !hok {
		return true
	}
	longest, ok := g.Max["latency_ns"].(int64)
	if !ok {
		longest = 0
		if g.Nulls["latency_ns"] != g.Rows {
			longest = ingest.MaxLatencyNS
		}
	}
	return hi >= from && lo-longest < to
}

// baselines are the medians of a device's healthy windows outside the
// incident, and of its group's other devices during it.
func baselines(d *Diagnosed, inc Incident, k features.Key, worst int) (own, peers reports.Baseline, group string) {
	group = "of the same kind"
	if worst >= 0 {
		group = cmp.Or(d.Points.At(worst).Normal.Group, group)
	}
	var mine, theirs []*features.Window
	for i := range d.Windows.Len() {
		w := d.Windows.At(i)
		if w.Idle || w.Requests == 0 {
			continue
		}
		switch {
		case w.Key == k && !inc.touches(w) && d.Result.Diagnoses.At(i).Verdict == cluster.Healthy:
			mine = append(mine, w)
		case w.Key != k && inc.touches(w) && d.Points.At(i).Normal.Group == group:
			theirs = append(theirs, w)
		}
	}
	return baseline(mine), baseline(theirs), group
}

func baseline(ws []*features.Window) reports.Baseline {
	mid := func(k int) float64 {
		var v []float64
		for _, w := range ws {
			if x := w.Context[k]; !math.IsNaN(x) {
				v = append(v, x)
			}
		}
		if len(v) == 0 {
			return math.NaN()
		}
		slices.Sort(v)
		return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
	}
	return reports.Baseline{Windows: len(ws), IOPS: mid(features.CtxIOPS), BytesPerS: mid(features.CtxBytesPerS), P50MS: mid(features.CtxLatencyP50), P99MS: mid(features.CtxLatencyP99), MeanDepth: mid(features.CtxMeanDepth)}
}
