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
	"github.com/iopathy/iopathy/reduce"
	"github.com/iopathy/iopathy/reports"
)

// Bounds of the cards: what is read again for the report does not grow with
// the lake.
const (
	cardDevices   = 1000
	cardWhole     = 8       // devices of which cardRows are read
	cardRows      = 1 << 20 // rows of a device that are read
	cardRest      = 1 << 23 // rows of all the others together, in equal parts
	cardLeast     = 1 << 13 // rows that each of them has at least
	cardIndexes   = 64      // lists of a host's row groups that are kept
	cardColumns   = 150     // of its latency by time
	cardExemplars = 3
	cardSlowest   = 3
	cardPeers     = 2000 // healthy windows that an explanation compares with
)

// Cards reads the requests of the sick devices again: their latency by time,
// who was at work, and where the lines of their worst windows stand. Of all but
// the worst only the time around the worst window is read where they are many.
func (j *Job) Cards(ctx context.Context, d *Diagnosed, catalogue cluster.Catalogue) ([]reports.Card, error) {
	keys := sickDevices(d)
	keys = keys[:min(len(keys), cardDevices)]
	if len(keys) == 0 {
		return nil, nil
	}
	rules, err := cluster.Compile(catalogue)
	if err != nil {
		return nil, err
	}
	manifests, err := j.Manifests()
	if err != nil {
		return nil, err
	}
	sources, own, peers := sourcesOf(manifests), d.runs(), d.peers()
	indexes := map[string]*lake.Index{}
	rest := max(cardRest/max(len(keys)-cardWhole, 1), cardLeast)
	var all []reports.Card
	for i, k := range keys {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		run := own[k]
		worst := d.worst(run)
		if worst < 0 {
			continue // an episode that no window of these data holds
		}
		rows := int64(cardRows)
		if i >= cardWhole {
			rows = int64(min(rest, cardRows))
		}
		c, err := j.cardOf(manifests, sources, indexes, d, k, numbers(run), rows)
		if err != nil {
			return nil, fmt.Errorf("report: %s/%s: %w", Printable(k.Host), Printable(k.Device), err)
		}
		if i < cardWhole {
			if err := j.withCalls(manifests, d, c.Culprits); err != nil {
				return nil, err
			}
		}
		why, err := j.why(d, run, worst, peers, rules)
		if err != nil {
			return nil, err
		}
		c.Why = why
		all = append(all, *c)
	}
	return all, nil
}

// runs is where the windows of each device stand: together.
func (d *Diagnosed) runs() map[features.Key][2]int {
	if d.digest != nil {
		if own := d.digest.Runs(); own != nil {
			return own
		}
	}
	all := map[features.Key][2]int{}
	for i := range d.Windows.Len() {
		k := d.key(i)
		own, ok := all[k]
		if !ok {
			own[0] = i
		}
		own[1] = i + 1
		all[k] = own
	}
	return all
}

// worst is the sick window with the largest severity from one to another, of equal
// ones the first; -1: none is sick.
func (d *Diagnosed) worst(run [2]int) int {
	worst, severity := -1, -1.0
	for i := run[0]; i < run[1]; i++ {
		if c := d.cell(i); c.Verdict == cluster.Sick && c.Severity > severity {
			worst, severity = i, c.Severity
		}
	}
	return worst
}

// peer is a healthy window that others are held against.
type peer struct {
	features.Key
	space  *reduce.Model
	group  string
	vector features.Vector
	known  features.Mask
}

// peers are healthy windows: twice as many as an explanation needs, or all.
func (d *Diagnosed) peers() []peer {
	var healthy []int
	for i := range d.Windows.Len() {
		if d.cell(i).Verdict == cluster.Healthy {
			healthy = append(healthy, i)
		}
	}
	var all []peer
	at := d.Points.Cursor()
	for _, i := range thinned(healthy, 2*cardPeers) {
		p := at(i)
		all = append(all, peer{p.Window.Key, p.Space, p.Normal.Group, p.Vector, p.Window.Missing})
	}
	return all
}

// numbers are those from one to another.
func numbers(run [2]int) (list []int) {
	for i := run[0]; i < run[1]; i++ {
		list = append(list, i)
	}
	return list
}

// thinned keeps every nth of a list, so that at most so many are left.
func thinned[T any](list []T, most int) []T {
	step := max((len(list)+most-1)/most, 1)
	kept := make([]T, 0, min(most, len(list)))
	for i := 0; i < len(list); i += step {
		kept = append(kept, list[i])
	}
	return kept
}

// why explains a device's worst window by the device's other windows and by some
// healthy ones of others.
func (j *Job) why(d *Diagnosed, run [2]int, worst int, peers []peer, rules *cluster.Rules) (*cluster.Explanation, error) {
	small := &Diagnosed{Models: d.Models, naming: d.naming}
	small.Windows, small.Points = d.Windows.Range(run[0], run[1]), d.Points.Range(run[0], run[1])
	small.Result.Diagnoses = d.Result.Diagnoses.Range(run[0], run[1])
	p := d.Points.At(worst)
	own, group := d.habits(run, p), habitOf(peers, p)
	e, err := j.explain(small, worst-run[0], func(m *cluster.Model, points features.Rows[reduce.Point], said features.Rows[cluster.Diagnosis], at int) cluster.Explanation {
		return m.ExplainAgainst(own, group, points, said, at, rules, j.Config.Cluster)
	})
	return &e.Why, err
}

// habits are the medians of a device's healthy windows in the space of one that is sick.
func (d *Diagnosed) habits(run [2]int, p *reduce.Point) (own [features.N]cluster.Median) {
	if len(d.Models) == 1 && d.digest != nil {
		if own := d.digest.Healthy(p.Window.Key); own != nil {
			return *own
		}
	}
	var values [features.N][]float64
	at := d.Points.Cursor()
	for i := run[0]; i < run[1]; i++ {
		if d.cell(i).Verdict != cluster.Healthy {
			continue
		}
		q := at(i)
		for f := range values {
			if q.Space == p.Space && q.Window.Missing.Has(f) {
				values[f] = append(values[f], q.Vector[f])
			}
		}
	}
	for f := range own {
		own[f] = cluster.MedianOf(values[f])
	}
	return own
}

// habitOf are the medians of some healthy windows of other devices of a window's
// group.
func habitOf(peers []peer, p *reduce.Point) (group [features.N]cluster.Median) {
	others := make([]*peer, 0, len(peers))
	for i := range peers {
		if peers[i].Key != p.Window.Key {
			others = append(others, &peers[i])
		}
	}
	var values [features.N][]float64
	for _, q := range thinned(others, cardPeers) {
		for f := range values {
			if q.space == p.Space && q.group == p.Normal.Group && q.known.Has(f) {
				values[f] = append(values[f], q.vector[f])
			}
		}
	}
	for f := range group {
		group[f] = cluster.MedianOf(values[f])
	}
	return group
}

// cardOf folds what is read of a device's requests.
func (j *Job) cardOf(manifests []lake.Manifest, sources map[string]lake.Input, indexes map[string]*lake.Index, d *Diagnosed, k features.Key, own []int, rows int64) (*reports.Card, error) {
	c := &reports.Card{Key: k}
	var sick []int
	kind := ingest.KindNone
	for n := len(own) - 1; n >= 0 && kind == ingest.KindNone; n-- {
		kind = d.kind(own[n])
	}
	for _, i := range own {
		if d.cell(i).Verdict == cluster.Sick {
			sick = append(sick, i)
		}
	}
	slices.SortStableFunc(sick, func(a, b int) int { return cmp.Compare(d.cell(b).Severity, d.cell(a).Severity) })
	worst := d.Windows.At(sick[0]) // a sick device has one
	from, to := d.Windows.At(own[0]).StartNS, d.Windows.At(own[len(own)-1]).EndNS
	c.ActorFrom, c.ActorTo = worst.StartNS, worst.EndNS
	for _, e := range d.Result.Episodes {
		if e.Key == k && e.FromNS <= worst.StartNS && e.ToNS >= worst.EndNS {
			c.ActorFrom, c.ActorTo = e.FromNS, e.ToNS
		}
	}
	episodes := d.episodesOf(k)
	counters, err := j.cgroupShares(d, k, episodes)
	if err != nil {
		return nil, err
	}
	if kind == ingest.KindSample {
		c.Grid, c.Means = means(d, own, from, to), true
		for i, e := range episodes {
			c.Culprits = append(c.Culprits, withCounters(reports.EpisodeCulprits{Key: k, FromNS: e.FromNS, ToNS: e.ToNS}, counters[i]))
		}
		return c, nil
	}
	f := &cardFold{episodes: episodes, key: k, kind: kind, names: &ingest.Names{}, wide: int64(worst.EndNS - worst.StartNS), rows: rows, indexes: indexes}
	for _, i := range sick[:min(len(sick), cardExemplars)] {
		w := d.Windows.At(i)
		f.exemplars = append(f.exemplars, &exemplar{
			Exemplar: reports.Exemplar{StartNS: w.StartNS, EndNS: w.EndNS, Severity: d.cell(i).Severity},
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
			r.Source, r.Lines = filepath.Base(sources[input].Path), ingest.HasLines(sources[input].Format)
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
	for i := range f.culprits {
		x := &f.culprits[i]
		at := slices.IndexFunc(episodes, func(e cluster.Episode) bool { return e.FromNS == x.episode.FromNS })
		c.Culprits = append(c.Culprits, x.culprits(counters[at]))
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
	w := d.Windows.At(own[0])
	g := features.NewLatencyGrid(from, to, cardColumns, w.EndNS-w.StartNS)
	at := d.Windows.Cursor()
	for _, i := range own {
		w := at(i)
		if ms := w.Context[features.CtxLatencyMean]; ms >= 0 && w.Requests > 0 {
			g.Add(w.StartNS, int64(ms*1e6), w.Requests)
		}
	}
	return g
}
