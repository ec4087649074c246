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
func (j *Job) Explain(d *Diagnosed, at int, rules *cluster.Rules) (Explained, error) {
	e := Explained{Point: d.Points[at], Diagnosis: d.Result.Diagnoses[at]}
	shift := 0 // of class ids
	for k, m := range d.Models {
		if m.Reduce == e.Point.Space {
			var points []reduce.Point
			var said []cluster.Diagnosis
			here := 0
			for i := range d.Points {
				if d.Points[i].Space != m.Reduce {
					continue
				}
				if i == at {
					here = len(points)
				}
				points, said = append(points, d.Points[i]), append(said, d.Result.Diagnoses[i])
			}
			e.Why = m.Cluster.Explain(points, said, here, rules, j.Config.Cluster)
			shift = shifts(d.Models)[k]
			break
		}
	}
	for i := range e.Why.Classes {
		e.Why.Classes[i].ID += shift
	}
	first, last := at, at
	for first > 0 && at-first < neighbours && d.Windows[first-1].Key == d.Windows[at].Key {
		first--
	}
	for last+1 < len(d.Windows) && last-at < neighbours && d.Windows[last+1].Key == d.Windows[at].Key {
		last++
	}
	e.Neighbours = d.Result.Diagnoses[first : last+1]
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
	manifests, err := lake.Manifests(j.Lake)
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
	manifests, err := lake.Manifests(j.Lake)
	if err != nil {
		return nil, 0, err
	}
	windows, err := j.windowsOf(manifests, p.NS-dayNS, p.NS+dayNS, literal(p.Host))
	if err != nil {
		return nil, 0, err
	}
	peers, err := j.windowsOf(manifests, p.NS-peersNS, p.NS+peersNS, "")
	if err != nil {
		return nil, 0, err
	}
	for i := range peers {
		if peers[i].Host != p.Host {
			windows = append(windows, peers[i])
		}
	}
	sortWindows(windows)
	at := slices.IndexFunc(windows, func(w features.Window) bool { return w.Key == p.Key && w.StartNS <= p.NS && p.NS < w.EndNS })
	if at < 0 {
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
		path, err := j.at(p.Path)
		if err != nil {
			return c, err
		}
		t, err := openTable(path, []string{"host", "device", "window_start_ns", "window_end_ns"})
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
