package local

import (
	"slices"
	"strings"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/ingest/lake"
	"github.com/iopathy/iopathy/reports"
)

// cardFold is what one pass over a device's requests fills.
type cardFold struct {
	key       features.Key
	kind      ingest.LatencyKind
	names     *ingest.Names
	wide      int64 // of a window
	rows      int64 // that may be read
	indexes   map[string]*lake.Index
	grid      *features.LatencyGrid
	actors    *features.Incident
	episodes  []cluster.Episode // whose culprits are told
	culprits  []culpritFold
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
	for i := range f.culprits {
		f.culprits[i].Add(e, input)
	}
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
			path := j.at(p.Path)
			paths = append(paths, path)
		}
	}
	start := func() {
		f.grid = features.NewLatencyGrid(from, to, cardColumns, min(f.wide, 100e6))
		*actorFrom, *actorTo = max(*actorFrom, from), min(*actorTo, to)
		f.actors = features.NewIncident(*actorFrom, *actorTo, 0, f.kind, f.names)
		f.culprits = newCulpritFolds(f.episodes, from, to, f.kind, f.names)
	}
	if len(paths) == 0 {
		start()
		return false, nil
	}
	slices.Sort(paths)
	index, err := f.index(j, paths)
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
		if rows <= f.rows || to-from <= 2*f.wide {
			break
		}
		half := max((to-from)/4, f.wide)
		mid := (worst.StartNS + worst.EndNS) / 2
		from, to, part = max(from, mid-half), min(to, mid+half), true
	}
	start()
	stands, err := j.standing(manifests, f.key, index, from, to, func(paths []string) (*lake.Index, error) { return f.index(j, paths) })
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

// index lists the row groups of some parts, once for the devices of a host.
func (f *cardFold) index(j *Job, paths []string) (*lake.Index, error) {
	key := strings.Join(paths, "\n")
	if index := f.indexes[key]; index != nil {
		return index, nil
	}
	index, err := j.indexed(paths)
	if err == nil && len(f.indexes) < cardIndexes {
		f.indexes[key] = index
	}
	return index, err
}
