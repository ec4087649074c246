package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/heatmap"
	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/ingest/lake"
	"github.com/iopathy/iopathy/reduce"
	"github.com/iopathy/iopathy/reports"
)

// Sequence is the number of the lake's last run: what was read before it may
// be kept as long as it is the same.
func (j *Job) Sequence() (int64, error) {
	manifests, err := j.Manifests()
	if err != nil {
		return 0, err
	}
	last := int64(0)
	for _, m := range manifests {
		last = max(last, m.Sequence)
	}
	return last, nil
}

// Nights sums the lake's labels up by date, and the devices by the nights on
// which they were sick, those first that were so most often.
func (j *Job) Nights() ([]reports.Night, []reports.Recurrence, error) {
	manifests, err := j.Manifests()
	if err != nil {
		return nil, nil, err
	}
	byDate := map[string][]string{}
	for _, p := range lake.Parts(manifests, lake.Labels) {
		name, err := lake.ParsePart(p.Path)
		if err != nil {
			return nil, nil, err
		}
		path := j.at(p.Path)
		byDate[name.Date] = append(byDate[name.Date], path)
	}
	var nights []reports.Night
	devices := map[features.Key]*recurring{}
	for _, date := range sortedKeys(byDate) {
		night := reports.Night{Date: date, SickSeconds: map[string]float64{}}
		seen, sick := map[features.Key]bool{}, map[features.Key]bool{}
		for _, file := range byDate[date] {
			err := eachLabel(j.opener(), file, math.MinInt64, math.MaxInt64, func(l *labelRow) {
				night.Windows++
				seen[l.key] = true
				if l.verdict != cluster.Sick {
					return
				}
				seconds := float64(l.endNS-l.startNS) / 1e9
				night.SickSeconds[l.pathology] += seconds
				night.Worst = max(night.Worst, l.severity)
				d := devices[l.key]
				if d == nil {
					d = &recurring{seconds: map[string]float64{}}
					devices[l.key] = d
				}
				if !sick[l.key] {
					sick[l.key] = true
					d.nights++
					d.last = date
				}
				d.seconds[l.pathology] += seconds
			})
			if err != nil {
				return nil, nil, err
			}
		}
		night.Devices, night.SickDevices = len(seen), len(sick)
		nights = append(nights, night)
	}
	var all []reports.Recurrence
	for k, d := range devices {
		all = append(all, d.recurrence(k))
	}
	slices.SortFunc(all, func(a, b reports.Recurrence) int {
		return cmp.Or(cmp.Compare(b.Nights, a.Nights), cmp.Compare(b.SickSeconds, a.SickSeconds), strings.Compare(a.Host, b.Host), strings.Compare(a.Device, b.Device))
	})
	return nights, all, nil
}

type recurring struct {
	nights  int
	last    string
	seconds map[string]float64
}

func (d *recurring) recurrence(k features.Key) reports.Recurrence {
	r := reports.Recurrence{Key: k, Nights: d.nights, Last: d.last}
	for _, p := range sortedKeys(d.seconds) {
		r.SickSeconds += d.seconds[p]
		if r.Pathology == "" || d.seconds[p] > d.seconds[r.Pathology] {
			r.Pathology = p
		}
	}
	return r
}

// ErrNoWindow says that the lake holds no such window.
var ErrNoWindow = errors.New("the lake holds no such window")

// Night makes the report of one date, of a page that is served.
func (j *Job) Night(date string, inv reduce.Inventory, catalogue cluster.Catalogue, rules *cluster.Rules) (*reports.Input, error) {
	day, err := time.Parse("2006-01-02", date)
	if err != nil {
		return nil, fmt.Errorf("%q is no date: %w", date, ErrNoWindow)
	}
	d, err := j.labelled(day.UnixNano(), day.AddDate(0, 0, 1).UnixNano(), "", inv, rules)
	if err != nil {
		return nil, err
	}
	scale, err := heatmap.ParseScale(j.Config.Scale)
	if err != nil {
		return nil, err
	}
	in, err := j.IngestedBefore()
	if err != nil {
		return nil, err
	}
	changes, err := j.changes(d)
	if err != nil {
		return nil, err
	}
	return &reports.Input{Changes: changes, Title: "I/O pathologies, " + date, Version: j.Version, Windows: d.Windows, Points: d.Points, Result: d.Result, Catalogue: catalogue,
		Scale: scale, Axes: axes(d), Ingest: summary(in), Config: j.settings(), Model: d.Result.Why, Seed: j.Config.Seed, Drill: true}, nil
}

// labelled reads the windows of a span and labels them by the lake's model.
func (j *Job) labelled(fromNS, toNS int64, host string, inv reduce.Inventory, rules *cluster.Rules) (*Diagnosed, error) {
	manifests, err := j.Manifests()
	if err != nil {
		return nil, err
	}
	windows, err := j.windowsOf(manifests, fromNS, toNS, host)
	if err != nil {
		return nil, err
	}
	if windows.Len() == 0 {
		return nil, ErrNoWindow
	}
	return j.Relabel(windows, inv, rules)
}

// WindowDetail gathers the page of the window of a device that holds a moment:
// what is said of it, its events, past windows like it.
func (j *Job) WindowDetail(ctx context.Context, k features.Key, ns int64, inv reduce.Inventory, catalogue cluster.Catalogue, rules *cluster.Rules, most int) (detail *reports.WindowDetail, err error) {
	defer Rescue(&err)
	d, err := j.labelled(ns-dayNS, ns+dayNS, literal(k.Host), inv, rules)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	at := -1
	for i := 0; at < 0 && i < d.Windows.Len(); i++ {
		if w := d.Windows.At(i); w.Key == k && w.StartNS <= ns && ns < w.EndNS {
			at = i
		}
	}
	if at < 0 {
		return nil, ErrNoWindow
	}
	w := d.Windows.At(at)
	detail = &reports.WindowDetail{Window: *w, Diagnosis: *d.Result.Diagnoses.At(at), Catalogue: catalogue, Version: j.Version}
	if at > 0 {
		if before := d.Windows.At(at - 1); before.Key == k {
			detail.Before = reports.WindowLink(k.Host, k.Device, before.StartNS)
		}
	}
	detail.After = reports.WindowLink(k.Host, k.Device, w.EndNS)
	if detail.Twins, err = j.Twins(d.Points.At(at)); err != nil {
		return nil, err
	}
	detail.Events, detail.More, err = j.eventsOf(w, most)
	return detail, err
}

// eventsOf gives the events of a device that completed in a window, in the
// order of completion, and how many more there are.
func (j *Job) eventsOf(w *features.Window, most int) ([]reports.SlowLine, int, error) {
	if w.Kind == ingest.KindSample {
		return nil, 0, nil
	}
	manifests, err := j.Manifests()
	if err != nil {
		return nil, 0, err
	}
	paths, err := j.partsTouching(manifests, w.Key, w.StartNS, w.EndNS)
	if err != nil {
		return nil, 0, err
	}
	index, err := j.opener().Index(paths, "time_ns", "latency_ns")
	if err != nil {
		return nil, 0, err
	}
	sources := sourcesOf(manifests)
	var names ingest.Names
	var out []reports.SlowLine
	more := 0
	for _, s := range index.Streams(w.Device, incidentColumns) {
		s.Pick(func(g lake.Group) bool { return touching(g, w.StartNS, w.EndNS) })
		in := sources[inputOf(s.Path)]
		err := eventsIn(s, &names, func(e *ingest.Event) {
			if e.TimeNS < w.StartNS || e.TimeNS >= w.EndNS {
				return
			}
			if len(out) == most {
				more++
				return
			}
			out = append(out, reports.SlowLine{SlowIO: features.SlowIO{Event: *e, Input: in.ID, Comm: names.String(e.Comm), File: names.String(e.File), Cgroup: names.String(e.Cgroup)}, Source: filepath.Base(in.Path)})
		})
		if err != nil {
			return nil, 0, err
		}
	}
	slices.SortStableFunc(out, func(a, b reports.SlowLine) int {
		return cmp.Or(cmp.Compare(a.Event.TimeNS, b.Event.TimeNS), strings.Compare(a.Input, b.Input), cmp.Compare(a.Event.Position, b.Event.Position))
	})
	j.quote(out, sources)
	return out, more, nil
}

// DeviceSick gives the sick windows of a device over all nights.
func (j *Job) DeviceSick(k features.Key) ([]cluster.Diagnosis, error) {
	manifests, err := j.Manifests()
	if err != nil {
		return nil, err
	}
	var out []cluster.Diagnosis
	for _, p := range lake.Parts(manifests, lake.Labels) {
		path := j.at(p.Path)
		err = eachLabel(j.opener(), path, math.MinInt64, math.MaxInt64, func(l *labelRow) {
			if l.key == k && l.verdict == cluster.Sick {
				out = append(out, cluster.Diagnosis{Key: l.key, StartNS: l.startNS, EndNS: l.endNS, Verdict: l.verdict, Pathology: l.pathology, Severity: l.severity})
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
