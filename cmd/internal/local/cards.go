package local

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/ingest/lake"
	"github.com/iopathy/iopathy/reports"
)

// Bounds of the cards: what is read again for the report does not grow with
// the lake.
const (
	cardDevices   = 8
	cardRows      = 1 << 20 // rows of a device that are read
	cardColumns   = 150     // of its latency by time
	cardExemplars = 3
	cardSlowest   = 3
	cardPeers     = 2000 // healthy windows that an explanation compares with
)

// Cards reads the requests of the worst devices again: their latency by time,
// who was at work, and where the lines of their worst windows stand.
func (j *Job) Cards(ctx context.Context, d *Diagnosed, catalogue cluster.Catalogue) ([]reports.Card, error) {
	keys := worstDevices(d)
	keys = keys[:min(len(keys), cardDevices)]
	if len(keys) == 0 {
		return nil, nil
	}
	rules, err := cluster.Compile(catalogue)
	if err != nil {
		return nil, err
	}
	manifests, err := lake.Manifests(j.Lake)
	if err != nil {
		return nil, err
	}
	sources := sourcesOf(manifests)
	var all []reports.Card
	for _, k := range keys {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c, err := j.cardOf(manifests, sources, d, k)
		if err != nil {
			return nil, fmt.Errorf("report: %s/%s: %w", Printable(k.Host), Printable(k.Device), err)
		}
		small, at := d.around(k)
		why := j.Explain(small, at, rules).Why
		c.Why = &why
		all = append(all, *c)
	}
	return all, nil
}

// around is a device's windows and some healthy ones of others, and the place
// of the device's worst window among them.
func (d *Diagnosed) around(k features.Key) (*Diagnosed, int) {
	others := 0
	for i := range d.Windows {
		if d.Windows[i].Key != k && d.Result.Diagnoses[i].Verdict == cluster.Healthy {
			others++
		}
	}
	step := max((others+cardPeers-1)/cardPeers, 1)
	small := &Diagnosed{Models: d.Models, naming: d.naming}
	worst, n := 0, 0
	for i := range d.Windows {
		r := &d.Result.Diagnoses[i]
		own := d.Windows[i].Key == k
		if !own {
			if r.Verdict != cluster.Healthy {
				continue
			}
			if n++; (n-1)%step != 0 {
				continue
			}
		}
		small.Windows = append(small.Windows, d.Windows[i])
		small.Points = append(small.Points, d.Points[i])
		small.Result.Diagnoses = append(small.Result.Diagnoses, *r)
		at := len(small.Windows) - 1
		if w := &small.Result.Diagnoses[worst]; own && r.Verdict == cluster.Sick && (w.Key != k || w.Verdict != cluster.Sick || r.Severity > w.Severity) {
			worst = at
		}
	}
	return small, worst
}

// cardOf folds what is read of a device's requests.
func (j *Job) cardOf(manifests []lake.Manifest, sources map[string]lake.Input, d *Diagnosed, k features.Key) (*reports.Card, error) {
	c := &reports.Card{Key: k}
	var own, sick []int
	kind := ingest.KindNone
	for i := range d.Windows {
		if d.Windows[i].Key != k {
			continue
		}
		own = append(own, i)
		if d.Windows[i].Kind != ingest.KindNone {
			kind = d.Windows[i].Kind
		}
		if d.Result.Diagnoses[i].Verdict == cluster.Sick {
			sick = append(sick, i)
		}
	}
	slices.SortStableFunc(sick, func(a, b int) int {
		return cmp.Compare(d.Result.Diagnoses[b].Severity, d.Result.Diagnoses[a].Severity)
	})
	worst := &d.Windows[sick[0]] // it is one of the worst devices
	from, to := d.Windows[own[0]].StartNS, d.Windows[own[len(own)-1]].EndNS
	c.ActorFrom, c.ActorTo = worst.StartNS, worst.EndNS
	for _, e := range d.Result.Episodes {
		if e.Key == k && e.FromNS <= worst.StartNS && e.ToNS >= worst.EndNS {
			c.ActorFrom, c.ActorTo = e.FromNS, e.ToNS
		}
	}
	if kind == ingest.KindSample {
		c.Grid, c.Means = means(d, own, from, to), true
		return c, nil
	}
	f := &cardFold{key: k, kind: kind, names: &ingest.Names{}, wide: int64(worst.EndNS - worst.StartNS)}
	for _, i := range sick[:min(len(sick), cardExemplars)] {
		w := &d.Windows[i]
		f.exemplars = append(f.exemplars, &exemplar{
			Exemplar: reports.Exemplar{StartNS: w.StartNS, EndNS: w.EndNS, Severity: d.Result.Diagnoses[i].Severity},
			fold:     features.NewIncident(w.StartNS, w.EndNS, 0, kind, f.names), ranges: map[string]*reports.ByteRange{},
		})
	}
	part, err := j.foldCard(manifests, f, from, to, worst, &c.ActorFrom, &c.ActorTo)
	if err != nil {
		return nil, err
	}
	c.Grid, c.Part = f.grid, part
	if f.grid.Total == 0 { // histograms, or rows without latency
		c.Grid, c.Means = means(d, own, from, to), true
	}
	for _, e := range f.exemplars {
		for _, input := range sortedKeys(e.ranges) {
			r := e.ranges[input]
			r.Source = filepath.Base(sources[input].Path)
			e.Ranges = append(e.Ranges, *r)
		}
		for _, s := range e.fold.Slowest() {
			if len(e.Slowest) < cardSlowest {
				e.Slowest = append(e.Slowest, reports.SlowLine{SlowIO: s, Source: filepath.Base(sources[s.Input].Path)})
			}
		}
		if len(e.Ranges) > 0 {
			c.Exemplars = append(c.Exemplars, e.Exemplar)
		}
	}
	c.Actors = map[string][]features.Actor{}
	for by := range features.ActorKind(3) {
		if actors := f.actors.Actors(by); len(actors) > 0 {
			c.Actors[by.String()] = actors
		}
	}
	return c, nil
}

// means is a grid of the windows' mean latencies, where nothing finer is known.
func means(d *Diagnosed, own []int, from, to int64) *features.LatencyGrid {
	w := &d.Windows[own[0]]
	g := features.NewLatencyGrid(from, to, cardColumns, w.EndNS-w.StartNS)
	for _, i := range own {
		w := &d.Windows[i]
		if ms := w.Context[features.CtxLatencyMean]; ms >= 0 && w.Requests > 0 {
			g.Add(w.StartNS, int64(ms*1e6), w.Requests)
		}
	}
	return g
}

// cardFold is what one pass over a device's requests fills.
type cardFold struct {
	key       features.Key
	kind      ingest.LatencyKind
	names     *ingest.Names
	wide      int64 // of a window
	grid      *features.LatencyGrid
	actors    *features.Incident
	exemplars []*exemplar
}

type exemplar struct {
	reports.Exemplar
	fold   *features.Incident
	ranges map[string]*reports.ByteRange
}

func (f *cardFold) add(e *ingest.Event, input string) {
	if e.LatencyNS >= 0 {
		f.grid.Add(e.TimeNS, e.LatencyNS, 1)
	}
	f.actors.Add(e, input)
	for _, x := range f.exemplars {
		if e.TimeNS < x.StartNS || e.TimeNS >= x.EndNS {
			continue
		}
		x.fold.Add(e, input)
		r := x.ranges[input]
		if r == nil {
			r = &reports.ByteRange{First: e.Position, Last: e.Position}
			x.ranges[input] = r
		}
		r.First, r.Last = min(r.First, e.Position), max(r.Last, e.Position)
		r.Requests++
	}
}

// foldCard reads the device's requests from one moment to another, or, where
// these are too many, those of a shorter time around its worst window; then it
// gives true.
func (j *Job) foldCard(manifests []lake.Manifest, f *cardFold, from, to int64, worst *features.Window, actorFrom, actorTo *int64) (part bool, err error) {
	var paths []string
	for _, p := range lake.Parts(manifests, lake.Events) {
		if name, ok := dated(p, from, to+ingest.MaxLatencyNS); ok && name.Host == f.key.Host {
			paths = append(paths, filepath.Join(j.Lake, filepath.FromSlash(p.Path)))
		}
	}
	start := func() {
		f.grid = features.NewLatencyGrid(from, to, cardColumns, min(f.wide, 100e6))
		*actorFrom, *actorTo = max(*actorFrom, from), min(*actorTo, to)
		f.actors = features.NewIncident(*actorFrom, *actorTo, 0, f.kind, f.names)
	}
	if len(paths) == 0 {
		start()
		return false, nil
	}
	slices.Sort(paths)
	index, err := lake.NewIndex(paths, "time_ns", "latency_ns", "latency_kind")
	if err != nil {
		return false, err
	}
	for {
		rows := int64(0)
		for _, s := range index.Streams(f.key.Device, incidentColumns) {
			s.Pick(func(g lake.Group) bool {
				if touching(g, from, to) {
					rows += g.Rows
				}
				return false
			})
		}
		if rows <= cardRows || to-from <= 2*f.wide {
			break
		}
		half := max((to-from)/4, f.wide)
		mid := (worst.StartNS + worst.EndNS) / 2
		from, to, part = max(from, mid-half), min(to, mid+half), true
	}
	start()
	stands, err := j.standing(manifests, f.key, index, from, to)
	if err != nil {
		return part, err
	}
	for _, s := range index.Streams(f.key.Device, incidentColumns) {
		s.Pick(func(g lake.Group) bool { return touching(g, from, to) })
		input := inputOf(s.Path)
		err := eventsIn(s, f.names, func(e *ingest.Event) {
			if e.TimeNS >= from && e.TimeNS < to && (e.LatencyNS < 0 || fits(e.Kind, f.kind)) && stands(e.TimeNS, input) {
				f.add(e, input)
			}
		})
		if err != nil {
			return part, err
		}
	}
	return part, nil
}
