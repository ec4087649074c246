package local

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cluster/analysis"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest/lake"
	"github.com/iopathy/iopathy/reduce"
)

// Explained is one window: what is said of it, and why.
type Explained struct {
	Point      reduce.Point
	Diagnosis  cluster.Diagnosis
	Why        cluster.Explanation
	Neighbours []cluster.Diagnosis // of the device, in time, the window among them
	Episode    *cluster.Episode    // that the window belongs to; nil: none
}

// Ladder is what the window's requests spent in each stage, and the pressure
// that is known of it.
func (e *Explained) Ladder() (l *analysis.Ladder, pressure string) {
	l = &analysis.Ladder{}
	l.Add(e.Point.Window)
	if e.Diagnosis.Verdict == cluster.Sick {
		pressure = analysis.PressureOf(e.Diagnosis.Pathology, e.Diagnosis.Causes)
	}
	return l, pressure
}

// neighbours is how many windows before and after a window are shown.
const neighbours = 3

// Explain tells why the window number at is labelled as it is.
func (j *Job) Explain(d *Diagnosed, at int, rules *cluster.Rules) (e Explained, err error) {
	defer Rescue(&err)
	return j.explain(d, at, func(m *cluster.Model, points features.Rows[reduce.Point], said features.Rows[cluster.Diagnosis], here int) cluster.Explanation {
		return m.Explain(points, said, here, rules, j.Config.Cluster)
	})
}

// explain is Explain by a function that does so within the windows of one model.
func (j *Job) explain(d *Diagnosed, at int, by func(m *cluster.Model, points features.Rows[reduce.Point], said features.Rows[cluster.Diagnosis], here int) cluster.Explanation) (e Explained, err error) {
	e = Explained{Point: *d.Points.At(at), Diagnosis: *d.Result.Diagnoses.At(at)}
	shift := 0 // of class ids
	for k, m := range d.Models {
		if m.Reduce == e.Point.Space {
			points, said, here := d.sameSpace(k, at)
			e.Why = by(m.Cluster, points, said, here)
			shift = shifts(d.Models)[k]
			break
		}
	}
	for i := range e.Why.Classes {
		e.Why.Classes[i].ID += shift
	}
	first, last := at, at
	for first > 0 && at-first < neighbours && d.Windows.At(first-1).Key == e.Diagnosis.Key {
		first--
	}
	for last+1 < d.Windows.Len() && last-at < neighbours && d.Windows.At(last+1).Key == e.Diagnosis.Key {
		last++
	}
	e.Neighbours = d.Result.Diagnoses.Range(first, last+1).Slice()
	for i := range d.Result.Episodes {
		if x := &d.Result.Episodes[i]; x.Key == e.Diagnosis.Key && x.FromNS <= e.Diagnosis.StartNS && e.Diagnosis.EndNS <= x.ToNS && x.Pathology == e.Diagnosis.Pathology {
			e.Episode = x
		}
	}
	past, err := j.nightsBefore(&e.Point)
	if err != nil {
		return e, err
	}
	for f := range e.Why.Axes {
		e.Why.Axes[f].Nights = past.Week(&e.Point, f)
	}
	return e, nil
}

// sameSpace gives the points of the model with a number, what is said of them,
// and the place of the window number at among them.
func (d *Diagnosed) sameSpace(model, at int) (features.Rows[reduce.Point], features.Rows[cluster.Diagnosis], int) {
	if len(d.Models) == 1 {
		return d.Points, d.Result.Diagnoses, at
	}
	var rows []int32
	here := 0
	for i := range d.Points.Len() {
		if d.Points.At(i).Space != d.Models[model].Reduce {
			continue
		}
		if i == at {
			here = len(rows)
		}
		rows = append(rows, int32(i))
	}
	return features.Fetched(len(rows), func(i int) *reduce.Point { return d.Points.At(int(rows[i])) }),
		features.Fetched(len(rows), func(i int) *cluster.Diagnosis { return d.Result.Diagnoses.At(int(rows[i])) }), here
}

// peersNS is how far around a window those of other hosts are read: its peers
// at the time.
const peersNS = int64(10 * time.Minute)

// Place is a moment of a device.
type Place struct {
	features.Key
	NS          int64
	first, last int64 // of the device's windows
}

// Gap says that no window holds the moment, and what there is instead.
func (p *Place) Gap() error {
	return fmt.Errorf("no window of %s/%s holds %s: its windows go from %s to %s, maybe with gaps", Printable(p.Host), Printable(p.Device), Stamp(p.NS), Stamp(p.first), Stamp(p.last))
}

// Find finds a device of the lake, HOST/DEVICE, and a moment of it. The errors
// say what there is instead.
func (j *Job) Find(device, moment string, times Times) (Place, error) {
	manifests, err := j.Manifests()
	if err != nil {
		return Place{}, err
	}
	p, err := j.courseOf(manifests, device)
	if err != nil {
		return p, err
	}
	times.FirstNS, times.LastNS = p.first, p.last
	if p.NS, err = times.Moment(moment); err != nil {
		return p, err
	}
	if p.NS < p.first || p.NS >= p.last {
		return p, p.Gap()
	}
	return p, nil
}

// Around reads the windows of a day before and after a moment of a device, of
// its host, and those of other hosts at about the same time; it labels them and
// gives the place of the window that holds the moment, -1 if there is none.
func (j *Job) Around(p Place, inv reduce.Inventory, rules *cluster.Rules) (*Diagnosed, int, error) {
	manifests, err := j.Manifests()
	if err != nil {
		return nil, 0, err
	}
	from, to, host := p.NS-dayNS, p.NS+dayNS, literal(p.Host)
	windows, err := j.windowsIn(windowParts(manifests, from, to), func(r *lake.Reader) []int {
		groups := append(groupsOf(r, from, to, host), groupsOf(r, p.NS-peersNS, p.NS+peersNS, "")...)
		slices.Sort(groups)
		return slices.Compact(groups)
	}, func(w *features.Window) bool {
		if w.Host == p.Host {
			return w.EndNS > from && w.StartNS < to
		}
		return w.EndNS > p.NS-peersNS && w.StartNS < p.NS+peersNS
	})
	if err != nil {
		return nil, 0, err
	}
	at := -1
	for i := 0; at < 0 && i < windows.Len(); i++ {
		if w := windows.At(i); w.Key == p.Key && w.StartNS <= p.NS && p.NS < w.EndNS {
			at = i
		}
	}
	if at < 0 {
		windows.Close()
		return nil, at, nil
	}
	d, err := j.Relabel(windows, inv, rules)
	return d, at, err
}

// courseOf finds a device by its name and host, and when its first window
// begins and its last one ends.
func (j *Job) courseOf(manifests []lake.Manifest, device string) (Place, error) {
	c := Place{first: math.MaxInt64, last: math.MinInt64}
	others := map[string]bool{}
	for _, p := range windowParts(manifests, math.MinInt64+2*dayNS, math.MaxInt64) {
		path := j.at(p.Path)
		t, err := openTable(j.opener(), path, []string{"host", "device", "window_start_ns", "window_end_ns"})
		if err != nil {
			return c, err
		}
		for {
			n, err := t.next()
			if errors.Is(err, io.EOF) {
				break
			}
			hosts, devices, start, end := t.text("host"), t.text("device"), t.numbers("window_start_ns"), t.numbers("window_end_ns")
			if err == nil && (len(hosts) != n || len(devices) != n || len(start) != n || len(end) != n) {
				err = fmt.Errorf("%s: it lacks columns of windows", p.Path)
			}
			if err != nil {
				t.close()
				return c, err
			}
			for i := range n {
				switch {
				case len(hosts[i])+1+len(devices[i]) == len(device) && strings.HasPrefix(device, hosts[i]) && strings.HasSuffix(device, "/"+devices[i]):
					c.Key = features.Key{Host: hosts[i], Device: devices[i]}
					c.first, c.last = min(c.first, start[i]), max(c.last, end[i])
				case c.first > c.last && (i == 0 || devices[i] != devices[i-1] || hosts[i] != hosts[i-1]):
					others[hosts[i]+"/"+devices[i]] = true
				}
			}
		}
		t.close()
	}
	if c.first <= c.last {
		return c, nil
	}
	names, more := sortedKeys(others), ""
	if len(names) == 0 {
		return c, errors.New("the lake holds no windows yet: run iopathy features first")
	}
	if len(names) > 5 {
		names, more = names[:5], fmt.Sprintf(" and %d more", len(names)-5)
	}
	return c, fmt.Errorf("the lake holds no windows of %s; it has %s%s", Printable(device), Printable(strings.Join(names, ", ")), more)
}
