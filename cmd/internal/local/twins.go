package local

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/ingest/lake"
	"github.com/iopathy/iopathy/reduce"
	"github.com/iopathy/iopathy/reports"
)

// twinsShown is how many twins are looked for, and mostTwins bounds the labels
// that are read for them: those of the same hosts first, the latest first.
const (
	twinsShown = 10
	mostTwins  = 4_000_000
)

// Twins gives the past windows most like one, with what was said of them then.
func (j *Job) Twins(p *reduce.Point) ([]cluster.Twin, error) {
	found, err := j.twinsOf([]*reduce.Point{p}, mostTwins)
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// twinsOf looks for the twins of several windows at once. The labels hold what
// a window's point is made of, so that they alone are read, a batch at a time,
// whatever the number of nights.
func (j *Job) twinsOf(selves []*reduce.Point, most int64) ([][]cluster.Twin, error) {
	manifests, err := j.Manifests()
	if err != nil {
		return nil, err
	}
	last := int64(math.MinInt64)
	hosts := map[string]bool{}
	searches := make([]*cluster.TwinSearch, len(selves))
	for i, p := range selves {
		searches[i] = cluster.NewTwinSearch(p, twinsShown)
		last = max(last, p.Window.StartNS)
		hosts[p.Window.Host] = true
	}
	parts := pastLabels(manifests, last, hosts)
	kinds := map[cell][]lake.Part{}
	for _, p := range lake.Parts(manifests, lake.Windows) {
		if c, err := cellOf(p); err == nil {
			kinds[c] = append(kinds[c], p)
		}
	}
	for _, p := range parts {
		if most <= 0 {
			break
		}
		c, err := cellOf(p)
		if err != nil {
			return nil, err
		}
		of, err := j.kindsIn(kinds[c])
		if err != nil {
			return nil, err
		}
		path := j.at(p.Path)
		n, err := offerLabels(j.opener(), path, last, of, selves, searches)
		if err != nil {
			return nil, err
		}
		most -= n
	}
	out := make([][]cluster.Twin, len(searches))
	for i, s := range searches {
		out[i] = s.Found()
	}
	return out, nil
}

// findTwins gives each device of an incident the past windows most like its
// worst one; the labels are read once for all of them.
func (j *Job) findTwins(pm *reports.Postmortem, d *Diagnosed) error {
	var selves []*reduce.Point
	for i := range pm.Devices {
		selves = append(selves, d.Points.At(pm.Devices[i].Worst))
	}
	found, err := j.twinsOf(selves, mostTwins)
	if err != nil {
		return err
	}
	for i := range pm.Devices {
		pm.Devices[i].Twins = found[i]
	}
	return nil
}

// literal is a glob that a name alone matches.
func literal(name string) string {
	var b strings.Builder
	for _, r := range []byte(name) {
		if strings.IndexByte(`*?[\`, r) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(r)
	}
	return b.String()
}

// pastLabels are the parts of labels up to a moment, in the order in which they
// are read: the given hosts', then the others', the latest first.
func pastLabels(manifests []lake.Manifest, last int64, hosts map[string]bool) []lake.Part {
	type dayPart struct {
		lake.Part
		cell
	}
	var all []dayPart
	for _, p := range lake.Parts(manifests, lake.Labels) {
		if c, err := cellOf(p); err == nil && c.date <= lake.Date(last) {
			all = append(all, dayPart{p, c})
		}
	}
	rank := func(p *dayPart) int {
		if hosts[p.host] {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(all, func(a, b dayPart) int {
		return cmp.Or(cmp.Compare(rank(&a), rank(&b)), -strings.Compare(a.date, b.date), strings.Compare(a.host, b.host))
	})
	parts := make([]lake.Part, len(all))
	for i := range all {
		parts[i] = all[i].Part
	}
	return parts
}

// spaceKey is what windows must have in common for one model to measure them.
type spaceKey struct {
	kind           string
	tickNS, length int64
}

func spaceOf(p *reduce.Point) spaceKey {
	return spaceKey{p.Space.LatencyKind, p.Window.TickNS, p.Window.EndNS - p.Window.StartNS}
}

// cellKinds is the latency kind and the tick of the windows of a cell: of all
// of them, or of each.
type cellKinds struct {
	all  *spaceKey
	each map[labelKey]spaceKey
}

func (k *cellKinds) of(key features.Key, startNS int64) (spaceKey, bool) {
	if k.all != nil {
		return *k.all, true
	}
	s, ok := k.each[labelKey{key, startNS}]
	return s, ok
}

// kindColumns are the columns that tell the kind of a window.
var kindColumns = []string{"host", "device", "window_start_ns", "latency_kind", "tick_ns"}

// kindsIn reads the kinds of the windows of a cell, from the bounds alone where
// these are of one kind.
func (j *Job) kindsIn(parts []lake.Part) (*cellKinds, error) {
	var k cellKinds
	mixed := false
	for _, p := range parts {
		path := j.at(p.Path)
		r, err := j.opener().Open(path, kindColumns)
		if err != nil {
			return nil, err
		}
		for _, g := range r.RowGroups() {
			lo, lok := g.Min["latency_kind"].(string)
			hi, hok := g.Max["latency_kind"].(string)
			from, fok := g.Min["tick_ns"].(int64)
			to, tok := g.Max["tick_ns"].(int64)
			one := spaceKey{kind: lo, tickNS: from}
			if !lok || !hok || !fok || !tok || lo != hi || from != to || k.all != nil && *k.all != one {
				mixed = true
				break
			}
			k.all = &one
		}
		if err := r.Close(); err != nil {
			return nil, err
		}
	}
	if !mixed {
		return &k, nil
	}
	k = cellKinds{each: map[labelKey]spaceKey{}}
	for _, p := range parts {
		path := j.at(p.Path)
		if err := readKinds(j.opener(), path, k.each); err != nil {
			return nil, err
		}
	}
	return &k, nil
}

func readKinds(o lake.Opener, file string, into map[labelKey]spaceKey) error {
	t, err := openTable(o, file, kindColumns)
	if err != nil {
		return err
	}
	defer t.close()
	for {
		n, err := t.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		host, device, kind := t.text("host"), t.text("device"), t.text("latency_kind")
		start, tick := t.numbers("window_start_ns"), t.numbers("tick_ns")
		if len(host) != n || len(device) != n || len(kind) != n || len(start) != n || len(tick) != n {
			return fmt.Errorf("%s: it lacks columns of windows", file)
		}
		for i := range n {
			into[labelKey{features.Key{Host: host[i], Device: device[i]}, start[i]}] = spaceKey{kind: kind[i], tickNS: tick[i]}
		}
	}
}

// offerLabels offers the labels of a part, and says how many were read.
func offerLabels(o lake.Opener, file string, last int64, kinds *cellKinds, selves []*reduce.Point, searches []*cluster.TwinSearch) (rows int64, err error) {
	columns := []string{"host", "device", "window_start_ns", "window_end_ns", "verdict", "pathology", "class_id", "severity", "confidence", "root_cause"}
	for _, f := range features.Features {
		columns = append(columns, f.Name)
	}
	t, err := openTable(o, file, columns)
	if err != nil {
		return 0, err
	}
	defer t.close()
	t.Select(groupsOf(t.Reader, math.MinInt64, last, ""))
	for {
		n, err := t.next()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		rows += int64(n)
		host, device, verdict := t.text("host"), t.text("device"), t.text("verdict")
		start, end, severity := t.numbers("window_start_ns"), t.numbers("window_end_ns"), t.figures("severity")
		if len(host) != n || len(device) != n || len(verdict) != n || len(start) != n || len(end) != n || len(severity) != n {
			return rows, fmt.Errorf("%s: it lacks columns of labels", file)
		}
		pathology, cause, class, confidence := t.text("pathology"), t.text("root_cause"), t.numbers("class_id"), t.figures("confidence")
		var values [features.N][]float64
		var valid [features.N][]bool
		for f := range features.N {
			values[f], valid[f] = t.figures(features.Features[f].Name), t.valid(features.Features[f].Name)
		}
		for i := range n {
			d := cluster.Diagnosis{Key: features.Key{Host: host[i], Device: device[i]}, StartNS: start[i], EndNS: end[i], Verdict: cluster.Verdict(verdict[i]), Severity: severity[i]}
			if d.Verdict != cluster.Sick && d.Verdict != cluster.Healthy {
				continue
			}
			of, ok := kinds.of(d.Key, d.StartNS)
			if !ok {
				continue // its windows were made anew, and not yet labelled
			}
			of.length = d.EndNS - d.StartNS
			var v features.Vector
			known := func(f int) bool { return values[f] != nil && (valid[f] == nil || valid[f][i]) }
			for f := range v {
				if known(f) {
					v[f] = values[f][i]
				}
			}
			if d.Verdict == cluster.Sick {
				d.Pathology, d.RootCause = elementOf(pathology, i), elementOf(cause, i)
				d.ClassID = int(elementOf(class, i))
			}
			d.Confidence = elementOf(confidence, i)
			for s, self := range selves {
				own := spaceOf(self)
				if of == own || of.kind == ingest.KindNone.String() && of.tickNS == own.tickNS && of.length == own.length {
					z := self.Space.Standardise(&v, known)
					searches[s].Offer(&z, &d)
				}
			}
		}
	}
}

// elementOf is an element of a column that may be absent.
func elementOf[T any](column []T, i int) (v T) {
	if i < len(column) {
		v = column[i]
	}
	return v
}

// table is a part that is read by names of columns.
type table struct {
	*lake.Reader
	columns map[string]lake.Column
}

func openTable(o lake.Opener, file string, columns []string) (*table, error) {
	r, err := o.Open(file, columns)
	if err != nil {
		return nil, err
	}
	return &table{r, map[string]lake.Column{}}, nil
}

// close gives up what is left; a part that was read to its end has told its errors.
func (t *table) close() { _ = t.Reader.Close() }

func (t *table) next() (int, error) {
	cols, n, err := t.Next()
	clear(t.columns)
	for _, c := range cols {
		t.columns[c.Name] = c
	}
	return n, err
}

func (t *table) text(name string) []string     { v, _ := t.columns[name].Data.([]string); return v }
func (t *table) numbers(name string) []int64   { v, _ := t.columns[name].Data.([]int64); return v }
func (t *table) figures(name string) []float64 { v, _ := t.columns[name].Data.([]float64); return v }
func (t *table) valid(name string) []bool      { return t.columns[name].Valid }
