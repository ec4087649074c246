// Package compare tells whether one set of windows is slower than another,
// where, and by how much, with intervals that a healthy difference seldom
// leaves.
//
// Every figure of a device is taken over its windows; what is compared is the
// mean over devices of log B/A, or of B - A for shares, so that one big device
// does not speak for the fleet. Where both sides have the same devices, each
// is its own control; else the devices are a sample of what such devices do.
//
// The uncertainty of a device is that of a circular block bootstrap over its
// windows (Politis and Romano 1992), since neighbouring windows resemble each
// other; that of the fleet is the larger of what these say and what the spread
// over the devices says. The intervals are Student's, with the degrees of
// freedom of what was resampled. Alarms are corrected for the number of
// questions by Holm's method.
package compare

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
)

// Side is one of the two things compared: windows by device and time, and what
// was said of each (nil if nothing was); or, where no I/O was recorded, the sums
// of jobs.
type Side struct {
	Name    string
	Windows []features.Window
	Labels  []Label
	Runs    []Run
}

// Label is what was said of one window.
type Label struct {
	Verdict   cluster.Verdict
	Pathology string
}

// Options of a comparison.
type Options struct {
	Seed      uint64
	Resamples int     // of the bootstrap
	Level     float64 // of the intervals
	Alpha     float64 // share of comparisons of equals that may raise an alarm
	Unpaired  bool    // the devices are others even where their names are equal
	Above     float64 // least relative worsening that is an alarm, 0.1 is 10 %
}

// DefaultOptions are those of iopathy compare.
func DefaultOptions() Options {
	return Options{Seed: 1, Resamples: 1000, Level: 0.95, Alpha: 0.05}
}

// Effect is one figure on both sides.
type Effect struct {
	Metric string  `json:"metric"`
	Unit   string  `json:"unit"`
	Worse  string  `json:"worse"` // higher, lower, or neither
	A      float64 `json:"a"`     // mean over the devices: geometric for figures, arithmetic for shares
	B      float64 `json:"b"`
	Ratio  bool    `json:"ratio"` // the change is B/A; else B - A
	Change float64 `json:"change"`
	Low    Bound   `json:"low"` // interval of the change
	High   Bound   `json:"high"`
	Size   float64 `json:"effect_size"` // Cohen's d: change over the pooled spread of the windows, of the devices where they are others
	P      float64 `json:"p"`           // two-sided, of no change, before correction
	Alarm  bool    `json:"alarm"`       // worse by more than asked, after correction
	Units  int     `json:"units"`       // what was resampled: devices, or blocks of windows

	beyond func(above float64) float64 // one-sided p of a worsening beyond that
}

// Bound is an end of an interval; an infinite one is null in JSON.
type Bound float64

// MarshalJSON writes what JSON has no number for as null.
func (b Bound) MarshalJSON() ([]byte, error) {
	if v := float64(b); math.IsInf(v, 0) || math.IsNaN(v) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(b))
}

// Device is one device that both sides have.
type Device struct {
	Host    string   `json:"host"`
	Device  string   `json:"device"`
	Effects []Effect `json:"effects"`
}

// Comparison is the answer. Effects are in the order of Metrics, then the
// classes; Devices, only where they are paired, by how much slower B is.
type Comparison struct {
	A, B               string    `json:"-"`
	Paired             bool      `json:"paired"`
	Jobs               bool      `json:"jobs"` // the devices are jobs that give sums only
	DevicesA           int       `json:"devices_a"`
	DevicesB           int       `json:"devices_b"`
	WindowsA           int       `json:"windows_a"`
	WindowsB           int       `json:"windows_b"`
	Effects            []Effect  `json:"effects"`
	Devices            []Device  `json:"devices"`
	Alarm              bool      `json:"alarm"`
	TooFew             bool      `json:"too_few"` // to raise an alarm of the whole
	Notes              []string  `json:"notes"`
	LeftOut            []LeftOut `json:"left_out"` // by reason, then name
	NotTold            []string  `json:"not_told"` // metrics that a side has no figure of
	Resamples          int       `json:"resamples"`
	Level, Alpha, Over float64   `json:"-"`
}

// fewest is how many judged windows a device needs on a side, and fewestUnits
// how many resampled units an alarm needs.
const (
	fewest      = 3
	fewestUnits = 6
)

// Compare holds B against A. The windows of both must have one latency kind,
// tick and length.
func Compare(a, b Side, o Options) (*Comparison, error) {
	if len(a.Runs)+len(b.Runs) > 0 {
		return runs(a, b, o)
	}
	if err := alike(a.Windows, b.Windows); err != nil {
		return nil, err
	}
	da, db := devices(&a), devices(&b)
	c := &Comparison{A: a.Name, B: b.Name, DevicesA: len(da), DevicesB: len(db), Resamples: o.Resamples, Level: o.Level, Alpha: o.Alpha, Over: o.Above, Devices: []Device{}, Notes: []string{}}
	for _, d := range da {
		c.WindowsA += len(d.windows)
	}
	for _, d := range db {
		c.WindowsB += len(d.windows)
	}
	if c.WindowsA == 0 || c.WindowsB == 0 {
		return nil, errors.New("compare: a side has no device with enough windows in which something happened")
	}
	metrics := slices.Clone(Metrics)
	if a.Labels != nil && b.Labels != nil {
		metrics = append(metrics, classes(&a, &b)...)
	} else {
		c.Notes = append(c.Notes, "one side has no labels: the classes are not compared")
	}
	pairs := match(da, db)
	c.Paired = len(pairs) > 0 && !o.Unpaired
	c.leaveOut(&a, &b)
	if c.Paired {
		c.paired(pairs, metrics, o)
	} else {
		c.unpaired(da, db, metrics, o)
	}
	c.told(metrics)
	c.alarms(o)
	return c, nil
}

// alike says whether windows of two sides can be held against each other.
func alike(a, b []features.Window) error {
	if len(a) == 0 || len(b) == 0 {
		return errors.New("compare: a side has no windows")
	}
	kind := func(ws []features.Window) (kind string, tick, length int64) {
		for i := range ws {
			if k := ws[i].Kind.String(); k != "none" && kind == "" {
				kind = k
			}
		}
		return kind, ws[0].TickNS, ws[0].EndNS - ws[0].StartNS
	}
	ka, ta, la := kind(a)
	kb, tb, lb := kind(b)
	if ka != kb && ka != "" && kb != "" {
		return fmt.Errorf("compare: latencies of kind %s can't be held against those of kind %s", ka, kb)
	}
	if ta != tb || la != lb {
		return fmt.Errorf("compare: windows of %d ns with ticks of %d ns can't be held against windows of %d ns with ticks of %d ns: make both alike (--window, --tick)", la, ta, lb, tb)
	}
	return nil
}

// series is the judged windows of a device on one side.
type series struct {
	key     features.Key
	windows []*features.Window
	labels  []Label
}

// devices sorts the windows of a side; devices with too few are left out.
func devices(s *Side) []*series {
	byKey := map[features.Key]*series{}
	var all []*series
	for i := range s.Windows {
		w := &s.Windows[i]
		if !judged(s, i) {
			continue
		}
		d := byKey[w.Key]
		if d == nil {
			d = &series{key: w.Key}
			byKey[w.Key] = d
			all = append(all, d)
		}
		d.windows = append(d.windows, w)
		if s.Labels != nil {
			d.labels = append(d.labels, s.Labels[i])
		}
	}
	all = slices.DeleteFunc(all, func(d *series) bool { return len(d.windows) < fewest })
	slices.SortFunc(all, func(x, y *series) int {
		return cmp.Or(cmp.Compare(x.key.Host, y.key.Host), cmp.Compare(x.key.Device, y.key.Device))
	})
	return all
}

// match pairs the devices that both sides have.
func match(a, b []*series) [][2]*series {
	of := map[features.Key]*series{}
	for _, d := range b {
		of[d.key] = d
	}
	var pairs [][2]*series
	for _, d := range a {
		if other := of[d.key]; other != nil {
			pairs = append(pairs, [2]*series{d, other})
		}
	}
	return pairs
}

// paired compares each device with itself.
func (c *Comparison) paired(pairs [][2]*series, metrics []Metric, o Options) {
	for _, p := range pairs {
		c.Devices = append(c.Devices, Device{Host: p[0].key.Host, Device: p[0].key.Device})
	}
	for k, m := range metrics {
		var changes, errs, as, bs, sizes []float64
		units := 0
		for i, p := range pairs {
			a, oka := m.of(p[0], o, key(k, i, 0))
			b, okb := m.of(p[1], o, key(k, i, 1))
			if !oka || !okb {
				continue
			}
			se := math.Hypot(a.err, b.err)
			n := min(a.blocks, b.blocks)
			units += n
			changes, errs = append(changes, b.value-a.value), append(errs, se)
			as, bs = append(as, a.value), append(bs, b.value)
			apart := size(b.value-a.value, math.Hypot(a.spread, b.spread)/math.Sqrt2)
			sizes = append(sizes, apart)
			c.Devices[i].Effects = append(c.Devices[i].Effects, m.effect(a.value, b.value, b.value-a.value, se, apart, n, o))
		}
		if len(changes) == 0 {
			continue
		}
		n := float64(len(changes))
		se := norm(errs) / n
		if len(changes) > 1 {
			se = max(se, deviation(changes)/math.Sqrt(n))
		}
		if len(changes) >= fewestUnits {
			units = len(changes)
		}
		c.Effects = append(c.Effects, m.effect(mean(as), mean(bs), mean(changes), se, mean(sizes), units, o))
	}
	slices.SortStableFunc(c.Devices, func(x, y Device) int { return cmp.Compare(slowing(y.Effects), slowing(x.Effects)) })
}

// unpaired compares the devices of one side with other devices.
func (c *Comparison) unpaired(da, db []*series, metrics []Metric, o Options) {
	alone := len(da) == 1 || len(db) == 1
	if alone {
		c.Notes = append(c.Notes, "a side has one device only: what such devices differ by is not in the intervals, and no alarm is raised")
	} else {
		c.Notes = append(c.Notes, "the two sides have different devices: the intervals hold what such devices differ by")
	}
	for k, m := range metrics {
		take := func(ds []*series, side int) (values, errs, spreads []float64) {
			for i, d := range ds {
				if v, ok := m.of(d, o, key(k, i, side)); ok {
					values, errs, spreads = append(values, v.value), append(errs, v.err), append(spreads, v.spread)
				}
			}
			return values, errs, spreads
		}
		va, ea, sa := take(da, 0)
		vb, eb, sb := take(db, 1)
		if len(va) == 0 || len(vb) == 0 {
			continue
		}
		part := func(values, errs []float64) float64 {
			n := float64(len(values))
			se := norm(errs) / n
			if len(values) > 1 {
				se = max(se, deviation(values)/math.Sqrt(n))
			}
			return se
		}
		units := min(len(va), len(vb))
		spread := math.Hypot(mean(sa), mean(sb)) / math.Sqrt2
		if len(va) > 1 && len(vb) > 1 {
			spread = math.Hypot(deviation(va), deviation(vb)) / math.Sqrt2
		}
		change := mean(vb) - mean(va)
		c.Effects = append(c.Effects, m.effect(mean(va), mean(vb), change, math.Hypot(part(va, ea), part(vb, eb)), size(change, spread), units, o))
	}
}

// slowing is how much slower a device has become, for sorting.
func slowing(effects []Effect) float64 {
	for _, e := range effects {
		if e.Metric == atLoad {
			return e.Change
		}
	}
	return 0
}

// alarms marks what is worse by more than asked: half of alpha goes to the
// whole, half to the single devices; each half is Holm's.
func (c *Comparison) alarms(o Options) {
	var whole, single []*Effect
	for i := range c.Effects {
		if e := &c.Effects[i]; e.Worse != neither {
			whole = append(whole, e)
		}
	}
	for i := range c.Devices {
		for k := range c.Devices[i].Effects {
			if e := &c.Devices[i].Effects[k]; e.Metric == atLoad {
				single = append(single, e)
			}
		}
	}
	c.TooFew = !slices.ContainsFunc(whole, func(e *Effect) bool { return e.Units >= fewestUnits })
	c.Alarm = holm(whole, o.Alpha/2, o.Above)
	if holm(single, o.Alpha/2, o.Above) {
		c.Alarm = true
	}
}
