package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest/lake"
	"github.com/iopathy/iopathy/reduce"
	"github.com/iopathy/iopathy/reports"
)

// Incident is what a postmortem is asked about.
type Incident struct {
	FromNS, ToNS int64
	Host, Device string // globs; empty is all
}

// Bounds of a postmortem.
const (
	incidentDevices = 6 // that are looked at in detail
	leastMargin     = int64(2 * time.Minute)
	mostMargin      = int64(time.Hour)
)

// Postmortem gathers the page of an incident: the windows of its devices with
// an equal time before and after, what is said of them by the lake's model,
// and the events of the sick ones. It reads what the span needs: days and
// hosts by their folders, row groups by their bounds.
func (j *Job) Postmortem(ctx context.Context, inc Incident, inv reduce.Inventory, catalogue cluster.Catalogue, rules *cluster.Rules) (_ *reports.Postmortem, err error) {
	defer Rescue(&err)
	manifests, err := j.Manifests()
	if err != nil {
		return nil, err
	}
	if inc, err = j.within(manifests, inc); err != nil {
		return nil, err
	}
	margin := min(max(inc.ToNS-inc.FromNS, leastMargin), mostMargin)
	pm := &reports.Postmortem{Title: j.title(), Version: j.Version, FromNS: inc.FromNS, ToNS: inc.ToNS, MarginNS: margin, Catalogue: catalogue}
	windows, err := j.windowsOf(manifests, inc.FromNS-margin, inc.ToNS+margin, inc.Host)
	if err != nil {
		return nil, err
	}
	if !inc.concerns(windows) {
		windows.Close()
		return nil, j.noIncident(manifests, inc)
	}
	d, err := j.Relabel(windows, inv, rules)
	if err != nil {
		return nil, err
	}
	pm.Windows, pm.Diagnoses, pm.Model = d.Windows, d.Result.Diagnoses, d.Result.Why
	if pm.Model == "" {
		pm.Model = "the classes are those of the lake's model"
	}
	for _, e := range d.Result.Episodes {
		if inc.asks(e.Key) && e.FromNS < inc.ToNS && e.ToNS > inc.FromNS {
			pm.Episodes = append(pm.Episodes, e)
		}
	}
	chosen := inc.choose(d, pm.Episodes)
	if err := j.elsewhere(manifests, inc, chosen, pm); err != nil {
		return nil, err
	}
	sources := sourcesOf(manifests)
	for i, k := range chosen {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		one, err := j.incidentDevice(manifests, inc, margin, d, k, sources)
		if err != nil {
			return nil, fmt.Errorf("postmortem: %s/%s: %w", Printable(k.Host), Printable(k.Device), err)
		}
		e, err := j.Explain(d, one.Worst, rules)
		if err != nil {
			return nil, err
		}
		one.Why = e.Why
		pm.Devices = append(pm.Devices, *one)
		j.progress("postmortem", int64(i+1), int64(len(chosen)))
	}
	return pm, j.findTwins(pm, d)
}

// within cuts a span that goes far beyond the lake's data on either side: else
// the pictures would show years of nothing, and sums of times might overflow.
func (j *Job) within(manifests []lake.Manifest, inc Incident) (Incident, error) {
	first, last := spanOf(manifests)
	if first > last || inc.FromNS > last || inc.ToNS < first {
		return inc, j.noIncident(manifests, inc)
	}
	grid := max(int64(j.Config.Window), 1)
	if first-inc.FromNS > mostMargin || inc.FromNS < -mostMargin && first >= 0 {
		inc.FromNS = first - first%grid
	}
	if inc.ToNS-last > mostMargin {
		inc.ToNS = last + grid - last%grid
	}
	return inc, nil
}

func (inc *Incident) asks(k features.Key) bool {
	host, _ := path.Match(inc.Host, k.Host) // the verb has checked the patterns
	device, _ := path.Match(inc.Device, k.Device)
	return (inc.Host == "" || host) && (inc.Device == "" || device)
}

func (inc *Incident) touches(w *features.Window) bool {
	return w.StartNS < inc.ToNS && w.EndNS > inc.FromNS
}

// concerns says that some of the windows are the incident's.
func (inc *Incident) concerns(windows *Windows) bool {
	for i := range windows.Len() {
		if w := windows.At(i); inc.touches(w) && inc.asks(w.Key) {
			return true
		}
	}
	return false
}

// choose gives the devices to look at: those of the episodes, the worst first;
// without any, the one that came nearest to being sick.
func (inc *Incident) choose(d *Diagnosed, episodes []cluster.Episode) []features.Key {
	var keys []features.Key
	for _, e := range episodes {
		if !slices.Contains(keys, e.Key) {
			keys = append(keys, e.Key)
		}
	}
	type severe struct {
		key      features.Key
		severity float64
	}
	var rest []severe
	for i := range d.Windows.Len() {
		w := d.Windows.At(i)
		if !inc.touches(w) || !inc.asks(w.Key) || slices.Contains(keys, w.Key) {
			continue
		}
		if n := len(rest); n > 0 && rest[n-1].key == w.Key {
			rest[n-1].severity = max(rest[n-1].severity, d.Result.Diagnoses.At(i).Severity)
		} else {
			rest = append(rest, severe{w.Key, d.Result.Diagnoses.At(i).Severity})
		}
	}
	slices.SortStableFunc(rest, func(a, b severe) int { return cmp.Compare(b.severity, a.severity) })
	if len(keys) == 0 && len(rest) > 0 {
		keys = append(keys, rest[0].key)
	}
	return keys[:min(len(keys), incidentDevices)]
}

// noIncident says what there is instead.
func (j *Job) noIncident(manifests []lake.Manifest, inc Incident) error {
	first, last := spanOf(manifests)
	if first > last {
		return errors.New("the lake holds nothing yet")
	}
	if len(lake.Parts(manifests, lake.Windows)) == 0 {
		return errors.New("the lake holds no windows yet: run iopathy features, or run, first")
	}
	return fmt.Errorf("the lake holds no window of such a device from %s to %s; its data go from %s to %s", Stamp(inc.FromNS), Stamp(inc.ToNS), Stamp(first), Stamp(last))
}

// DataSpan is the first and the last moment of what the lake holds.
func (j *Job) DataSpan() (first, last int64, err error) {
	manifests, err := j.Manifests()
	if err != nil {
		return 0, 0, err
	}
	if first, last = spanOf(manifests); first > last {
		return 0, 0, nil
	}
	return first, last, nil
}

// spanOf is the first and the last moment of the inputs of a lake; without any
// the first is after the last.
func spanOf(manifests []lake.Manifest) (first, last int64) {
	first, last = math.MaxInt64, math.MinInt64
	for _, m := range manifests {
		for _, in := range m.Inputs {
			if in.Gave() {
				first, last = min(first, in.FirstNS), max(last, in.LastNS)
			}
		}
	}
	return first, last
}

// dated says that a part's day may hold something of a span.
func dated(p lake.Part, fromNS, toNS int64) (lake.PartName, bool) {
	name, err := lake.ParsePart(p.Path)
	if err != nil {
		return name, false
	}
	return name, name.Date >= lake.Date(fromNS) && name.Date <= lake.Date(toNS)
}

// windowsOf reads the windows of a span and of hosts that a glob names.
func (j *Job) windowsOf(manifests []lake.Manifest, fromNS, toNS int64, host string) (*Windows, error) {
	return j.windowsIn(windowParts(manifests, fromNS, toNS), func(r *lake.Reader) []int { return groupsOf(r, fromNS, toNS, host) }, func(w *features.Window) bool {
		ok, _ := path.Match(host, w.Host) // the verb has checked the pattern
		return w.EndNS > fromNS && w.StartNS < toNS && (host == "" || ok)
	})
}

// windowParts are the parts that may hold windows of a span: of the length and
// tick made last, or, where there are none such, of those that there are.
func windowParts(manifests []lake.Manifest, fromNS, toNS int64) []lake.Part {
	var parts, others []lake.Part
	other := othersOf(manifests)
	for _, p := range lake.Parts(manifests, lake.Windows) {
		switch name, ok := dated(p, fromNS-dayNS, toNS); {
		case !ok:
		case other[cell{name.Host, name.Date}]:
			others = append(others, p)
		default:
			parts = append(parts, p)
		}
	}
	if len(parts) == 0 {
		return others
	}
	return parts
}

// groupsOf are the row groups that may hold windows of a span and a host.
func groupsOf(r *lake.Reader, fromNS, toNS int64, host string) []int {
	var keep []int
	exact := host != "" && !strings.ContainsAny(host, `*?[\`)
	for i, g := range r.RowGroups() {
		lo, lok := g.Min["window_start_ns"].(int64)
		hi, hok := g.Max["window_end_ns"].(int64)
		if lok && lo >= toNS || hok && hi <= fromNS {
			continue
		}
		first, fok := g.Min["host"].(string)
		last, aok := g.Max["host"].(string)
		if exact && fok && aok && (host < first || host > last) {
			continue
		}
		keep = append(keep, i)
	}
	return keep
}

// elsewhere reads from the labels which other devices were sick.
func (j *Job) elsewhere(manifests []lake.Manifest, inc Incident, chosen []features.Key, pm *reports.Postmortem) error {
	seen := map[features.Key]bool{}
	sick := map[features.Key]*reports.Elsewhere{}
	for _, p := range lake.Parts(manifests, lake.Labels) {
		if _, ok := dated(p, inc.FromNS-int64(dayNS), inc.ToNS); !ok {
			continue
		}
		file := j.at(p.Path)
		err := eachLabel(j.opener(), file, inc.FromNS, inc.ToNS, func(l *labelRow) {
			if l.startNS >= inc.ToNS || l.endNS <= inc.FromNS {
				return
			}
			seen[l.key] = true
			if l.verdict != cluster.Sick || slices.Contains(chosen, l.key) {
				return
			}
			e := sick[l.key]
			if e == nil {
				e = &reports.Elsewhere{Key: l.key, FromNS: l.startNS}
				sick[l.key] = e
			}
			e.FromNS, e.ToNS = min(e.FromNS, l.startNS), max(e.ToNS, l.endNS)
			if l.severity > e.Severity {
				e.Severity, e.Pathology = l.severity, l.pathology
			}
		})
		if err != nil {
			return err
		}
	}
	for _, e := range sick {
		pm.Elsewhere = append(pm.Elsewhere, *e)
	}
	slices.SortFunc(pm.Elsewhere, func(a, b reports.Elsewhere) int {
		return cmp.Or(cmp.Compare(b.Severity, a.Severity), strings.Compare(a.Host, b.Host), strings.Compare(a.Device, b.Device))
	})
	pm.Others = len(seen)
	return nil
}

type labelRow struct {
	key            features.Key
	startNS, endNS int64
	verdict        cluster.Verdict
	pathology      string
	severity       float64
}

// eachLabel gives the labels of a part whose row groups touch a span.
func eachLabel(o lake.Opener, file string, fromNS, toNS int64, give func(*labelRow)) error {
	r, err := o.Open(file, []string{"host", "device", "window_start_ns", "window_end_ns", "verdict", "pathology", "severity"})
	if err != nil {
		return err
	}
	defer r.Close()
	r.Select(groupsOf(r, fromNS, toNS, ""))
	for {
		cols, rows, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var host, device, verdict, pathology []string
		var start, end []int64
		var severity []float64
		for _, c := range cols {
			switch d := c.Data.(type) {
			case []string:
				switch c.Name {
				case "host":
					host = d
				case "device":
					device = d
				case "verdict":
					verdict = d
				case "pathology":
					pathology = d
				}
			case []int64:
				if c.Name == "window_start_ns" {
					start = d
				} else if c.Name == "window_end_ns" {
					end = d
				}
			case []float64:
				severity = d
			}
		}
		if len(host) != rows || len(device) != rows || len(verdict) != rows || len(pathology) != rows || len(start) != rows || len(end) != rows || len(severity) != rows {
			return fmt.Errorf("%s: it lacks columns of labels", file)
		}
		for i := range rows {
			give(&labelRow{features.Key{Host: host[i], Device: device[i]}, start[i], end[i], cluster.Verdict(verdict[i]), pathology[i], severity[i]})
		}
	}
}
