package local

import (
	"errors"
	"hash/fnv"
	"io"
	"slices"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest/lake"
	"github.com/iopathy/iopathy/reduce"
)

// What a window must show before a baseline learns from it: no doubt of its
// being healthy, and hardly a gap in what was seen of it. A device that was sick
// for most of a day has no healthy windows that day: what lies just below the
// gate is then the same sickness.
const (
	learnConfidence = 0.5
	learnSeverity   = 0.8 // of the gate
	learnCoverage   = 0.9
	learnShare      = 0.5 // healthy windows among those of the device and day that are judged
)

// baselines writes what the healthy windows were like, a part a date and host,
// in the place of what was written of that day before.
func (k *keeping) baselines(d *Diagnosed) error {
	for _, c := range cellsOf(d.Windows) {
		nights := d.learnt(c.rows)
		if len(nights) == 0 {
			continue // what stood there goes
		}
		name := lake.PartName{Table: lake.Baselines, Date: c.date, Host: c.host, Input: "baselines"}.Path()
		p, err := writeTable(k.path(name), reduce.NightColumns(nights), nil)
		if err != nil {
			return err
		}
		k.add(name, p)
	}
	return nil
}

// learnt makes the nights of some windows, of one host and day, device by device.
func (d *Diagnosed) learnt(rows []int32) []reduce.Night {
	var nights []reduce.Night
	for from, to := 0, 0; from < len(rows); from = to {
		said := []*cluster.Diagnosis{d.Result.Diagnoses.At(int(rows[from]))}
		for to = from + 1; to < len(rows); to++ {
			g := d.Result.Diagnoses.At(int(rows[to]))
			if g.Key != said[0].Key {
				break
			}
			said = append(said, g)
		}
		use := learnable(said)
		points := make([]reduce.Point, len(said))
		for i := range points {
			if use[i] {
				points[i] = *d.Points.At(int(rows[from+i]))
			}
		}
		nights = append(nights, reduce.Learn(points, use)...)
	}
	return nights
}

// learnable tells which windows of one device and day a baseline may learn from.
func learnable(said []*cluster.Diagnosis) []bool {
	healthy, judged := 0, 0
	for _, d := range said {
		switch d.Verdict {
		case cluster.Healthy:
			healthy++
			judged++
		case cluster.Sick:
			judged++
		}
	}
	use := make([]bool, len(said))
	for i, d := range said {
		use[i] = d.Verdict == cluster.Healthy && d.Confidence >= learnConfidence && d.Severity <= learnSeverity && d.Coverage >= learnCoverage &&
			float64(healthy) >= learnShare*float64(judged)
	}
	return use
}

// mostPeerHosts bounds the hosts, beside those at hand, whose devices are read
// as peers.
const mostPeerHosts = 64

// history reads what the days around the family's windows tell of their
// devices, and of others of the same models. A day is never its own baseline,
// whoever labelled it before.
func (j *Job) history(f *family, inv reduce.Inventory) (*reduce.History, error) {
	manifests, err := j.Manifests()
	if err != nil {
		return nil, err
	}
	own, models := map[features.Key]bool{}, map[string]bool{}
	hosts := map[string]bool{}
	for _, k := range f.devices {
		own[k], hosts[k.Host] = true, true
		if m := inv[k].Model; m != "" {
			models[m] = true
		}
	}
	parts := baselineParts(manifests, f.startNS, f.endNS, hosts, len(models) > 0)
	nights, err := j.nightsOf(parts, func(k features.Key, model string, level bool) bool {
		return level && (own[k] || models[model])
	})
	if err != nil {
		return nil, err
	}
	return reduce.NewHistory(f.of(nights)), nil
}

// of gives the nights of the family's latency kind, tick and length.
func (f *family) of(nights []reduce.Night) []reduce.Night {
	return slices.DeleteFunc(nights, func(n reduce.Night) bool {
		return n.Kind != f.kind.String() || n.TickNS != f.tick || n.WindowNS != f.length
	})
}

// baselineParts are the parts of the days around a span: of the hosts, and, with
// peers, of some others.
func baselineParts(manifests []lake.Manifest, fromNS, toNS int64, hosts map[string]bool, peers bool) []lake.Part {
	byHost := map[string][]lake.Part{}
	for _, p := range lake.Parts(manifests, lake.Baselines) {
		if name, ok := dated(p, fromNS-reduce.HistoryNights*dayNS, toNS+reduce.HistoryNights*dayNS); ok && (peers || hosts[name.Host]) {
			byHost[name.Host] = append(byHost[name.Host], p)
		}
	}
	var all []lake.Part
	var others []string
	for _, h := range sortedKeys(byHost) {
		if hosts[h] {
			all = append(all, byHost[h]...)
		} else {
			others = append(others, h)
		}
	}
	if len(others) > mostPeerHosts {
		hash := func(s string) uint64 {
			h := fnv.New64a()
			_, _ = io.WriteString(h, s) // a hash takes all
			return h.Sum64()
		}
		slices.SortStableFunc(others, func(a, b string) int {
			switch x, y := hash(a), hash(b); {
			case x < y:
				return -1
			case x > y:
				return 1
			}
			return 0
		})
		others = others[:mostPeerHosts]
	}
	for _, h := range others {
		all = append(all, byHost[h]...)
	}
	return all
}

// nightsOf reads the nights of parts, those of the devices and axes that are
// wanted.
func (j *Job) nightsOf(parts []lake.Part, use func(k features.Key, model string, level bool) bool) ([]reduce.Night, error) {
	var all []reduce.Night
	for _, p := range parts {
		path := j.at(p.Path)
		r, err := j.opener().Open(path, nil)
		if err != nil {
			return nil, err
		}
		for {
			cols, _, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			var nights []reduce.Night
			if err == nil {
				nights, err = reduce.NightsFromColumns(cols, use)
			}
			if err != nil {
				r.Close()
				return nil, err
			}
			all = append(all, nights...)
		}
		if err := r.Close(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// nightsBefore is all that is known of a point's device by other days.
func (j *Job) nightsBefore(p *reduce.Point) (*reduce.History, error) {
	if p.Space == nil {
		return nil, nil
	}
	manifests, err := j.Manifests()
	if err != nil {
		return nil, err
	}
	w := p.Window
	parts := baselineParts(manifests, w.StartNS, w.EndNS, map[string]bool{w.Host: true}, false)
	nights, err := j.nightsOf(parts, func(k features.Key, _ string, _ bool) bool { return k == w.Key })
	if err != nil {
		return nil, err
	}
	return reduce.NewHistory(slices.DeleteFunc(nights, func(n reduce.Night) bool {
		return n.Kind != p.Space.LatencyKind || n.TickNS != w.TickNS || n.WindowNS != w.EndNS-w.StartNS
	})), nil
}
