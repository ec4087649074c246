package local

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest/lake"
	"github.com/iopathy/iopathy/reports"
)

// nightsBack bounds how many earlier nights are looked at for how long a
// device has been sick.
const nightsBack = 60

// What the sick share of a device's time, or its worst severity, must change by
// to be worse or better.
const (
	worseShare    = 1.25
	worseSeverity = 1.0
)

// deviceNight is what the labels of some time say of a device.
type deviceNight struct {
	all, sick float64 // ns
	worst     float64
	byKind    map[string]float64 // sick time
}

func (n *deviceNight) add(startNS, endNS int64, verdict cluster.Verdict, pathology string, severity float64) {
	n.all += float64(endNS - startNS)
	if verdict != cluster.Sick {
		return
	}
	if n.byKind == nil {
		n.byKind = map[string]float64{}
	}
	n.sick += float64(endNS - startNS)
	n.byKind[pathology] += float64(endNS - startNS)
	n.worst = max(n.worst, severity)
}

func (n *deviceNight) share() float64 {
	if n.all == 0 {
		return 0
	}
	return n.sick / n.all
}

// most is the pathology with most time.
func (n *deviceNight) most() string {
	best := ""
	for _, p := range sortedKeys(n.byKind) {
		if best == "" || n.byKind[p] > n.byKind[best] {
			best = p
		}
	}
	return best
}

// changes holds what is said of the windows against the lake's labels of the
// last date before the first of theirs. nil if there are none. It follows from the lake and
// the windows alone: the same night again is held against the same earlier one.
func (j *Job) changes(d *Diagnosed) (*reports.Changes, error) {
	if d.Windows.Len() == 0 {
		return nil, nil
	}
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	now := map[features.Key]*deviceNight{}
	for i := range d.Result.Diagnoses.Len() {
		g := d.cell(i)
		first, last = min(first, g.StartNS), max(last, g.EndNS)
		if now[g.Key] == nil {
			now[g.Key] = &deviceNight{}
		}
		now[g.Key].add(g.StartNS, g.EndNS, g.Verdict, g.Pathology, g.Severity)
	}
	manifests, err := j.Manifests()
	if err != nil {
		return nil, err
	}
	byDate := map[string][]lake.Part{}
	for _, p := range lake.Parts(manifests, lake.Labels) {
		if c, err := cellOf(p); err == nil && c.date < lake.Date(first) {
			byDate[c.date] = append(byDate[c.date], p)
		}
	}
	dates := sortedKeys(byDate)
	if len(dates) == 0 {
		return nil, nil
	}
	slices.Reverse(dates)
	before, err := j.nightIn(byDate[dates[0]])
	if err != nil {
		return nil, err
	}
	c := &reports.Changes{Since: dates[0]}
	going := map[features.Key]int{} // still sick, by number in c.Devices
	keys := map[features.Key]bool{}
	for k := range now {
		keys[k] = true
	}
	for k := range before {
		keys[k] = true
	}
	for k := range keys {
		n, b := cmp.Or(now[k], &deviceNight{}), cmp.Or(before[k], &deviceNight{})
		change := reports.DeviceChange{Key: k, Pathology: cmp.Or(n.most(), b.most()), ShareNow: n.share(), Share: b.share(), WorstNow: n.worst, WorstWas: b.worst}
		switch {
		case n.sick > 0 && b.sick > 0:
			change.What, change.Since, change.Trend = reports.StillSick, dates[0], trend(n, b)
		case n.sick > 0:
			change.What, change.Since = reports.NewlySick, lake.Date(first)
		case b.sick > 0 && now[k] == nil:
			change.What = reports.Unseen
		case b.sick > 0:
			change.What = reports.Recovered
		default:
			continue
		}
		c.Devices = append(c.Devices, change)
	}
	slices.SortFunc(c.Devices, func(a, b reports.DeviceChange) int {
		return cmp.Or(cmp.Compare(b.WorstNow, a.WorstNow), cmp.Compare(b.WorstWas, a.WorstWas), strings.Compare(a.Host, b.Host), strings.Compare(a.Device, b.Device))
	})
	for i := range c.Devices {
		if c.Devices[i].What == reports.StillSick {
			going[c.Devices[i].Key] = i
		}
	}
	for _, date := range dates[1:min(len(dates), nightsBack)] {
		if len(going) == 0 {
			break
		}
		night, err := j.nightIn(byDate[date])
		if err != nil {
			return nil, err
		}
		for k, i := range going {
			switch n := night[k]; {
			case n == nil: // there is nothing of it on that date
			case n.sick > 0:
				c.Devices[i].Since = date
			default:
				delete(going, k)
			}
		}
	}
	day, err := startOf(dates[0])
	if err != nil {
		return nil, err
	}
	return c, j.modelChanges(c, d, day+dayNS, last)
}

// trend says whether a device is worse than it was.
func trend(now, was *deviceNight) string {
	switch {
	case now.share() > worseShare*was.share() || now.worst > was.worst+worseSeverity:
		return "worse"
	case was.share() > worseShare*now.share() || was.worst > now.worst+worseSeverity:
		return "better"
	}
	return "the same"
}

// nightIn is nightOf parts of the lake.
func (j *Job) nightIn(parts []lake.Part) (map[features.Key]*deviceNight, error) {
	files, err := j.files(parts)
	if err != nil {
		return nil, err
	}
	return nightOf(j.opener(), files)
}

// nightOf reads the labels of some parts.
func nightOf(o lake.Opener, files []string) (map[features.Key]*deviceNight, error) {
	all := map[features.Key]*deviceNight{}
	for _, file := range files {
		err := eachLabel(o, file, math.MinInt64, math.MaxInt64, func(l *labelRow) {
			if all[l.key] == nil {
				all[l.key] = &deviceNight{}
			}
			all[l.key].add(l.startNS, l.endNS, l.verdict, l.pathology, l.severity)
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// modelChanges adds what became of the model and the classes by data that ends
// in (fromNS, toNS].
func (j *Job) modelChanges(c *reports.Changes, d *Diagnosed, fromNS, toNS int64) error {
	for _, m := range d.Models {
		c.ModelNS = max(c.ModelNS, m.EndNS)
		if m.Cluster.Kind == cluster.Fitted && m.EndNS > fromNS {
			c.Refit, c.Why = true, cmp.Or(c.Why, m.Why)
		}
	}
	c.Shift, c.Feature, c.Far = d.Drift.Shift, d.Drift.Feature, d.Drift.Far
	data, err := readRegistry(j.Lake)
	if err != nil || data == nil {
		return err
	}
	var g cluster.Registry
	if err := json.Unmarshal(data, &g); err != nil {
		return fmt.Errorf("%s: %w", registryFile(j.Lake), err)
	}
	names := map[int]string{}
	for _, k := range g.Classes {
		names[k.ID] = k.Pathology
	}
	for _, e := range g.Log {
		if e.EndNS > fromNS && e.EndNS <= toNS {
			c.Classes = append(c.Classes, reports.ClassChange{RegistryEvent: e, Pathology: names[e.ID]})
		}
	}
	return nil
}
