package local

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cmd/internal/score"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/reduce"
)

// What a truth must hold for something to be learnt from it: a label is held
// out with its device, so that one device less must still do.
const (
	leastDevices = cluster.TeachDevices + 1
	leastWindows = cluster.TeachWindows + 4
	mostFolds    = 5
)

// ErrLittleTruth says that a truth is too small to learn from.
var ErrLittleTruth = errors.New("too little truth")

// Calibration is what a site's truth taught, and what it is worth.
type Calibration struct {
	Windows   int               `json:"windows"` // that the truth speaks of
	Devices   int               `json:"devices"`
	Folds     int               `json:"folds"`
	Labels    []CalibratedWith  `json:"labels"`
	Before    score.Figures     `json:"before"`
	Trials    []Trial           `json:"trials"`
	Chosen    string            `json:"chosen"` // what of a trial; nothing
	After     score.Figures     `json:"after"`
	Worse     []string          `json:"worse"` // measures that are worse than before
	Changes   []cluster.Taught  `json:"changes"`
	Catalogue cluster.Catalogue `json:"-"`
}

// CalibratedWith is a label of the truth.
type CalibratedWith struct {
	Label   string `json:"label"`
	Devices int    `json:"devices"`
	Windows int    `json:"windows"`
	Taught  bool   `json:"taught"` // there was enough of it
	New     bool   `json:"new"`    // the catalogue doesn't have it
}

// Trial is one way to learn, cross-validated.
type Trial struct {
	What    string        `json:"what"`
	Figures score.Figures `json:"figures"`
	lesson  cluster.Lesson
}

// Nothing is what was chosen where no way to learn does better than before.
const Nothing = "nothing"

// placedWindows is the windows of the most frequent length with a latency
// kind, by family.
type placedWindows struct {
	families [][]reduce.Point
	points   []reduce.Point // of all families
	windowNS int64
}

// Calibrate learns from a truth. Each way to learn is tried with the devices
// in up to five folds: what the others teach labels those of a fold. Normals
// and classes see all windows, as they do in a run, and no label. The best by
// macroF1 is chosen if it beats the catalogue as it is.
func (j *Job) Calibrate(windows *Windows, inv reduce.Inventory, c cluster.Catalogue, truth func(windowNS int64) ([]score.Device, error)) (*Calibration, error) {
	shipped, err := shippedModel()
	if err != nil {
		return nil, err
	}
	rules, err := cluster.Compile(c)
	if err != nil {
		return nil, err
	}
	if err := j.witness(windows, rules); err != nil {
		return nil, err
	}
	placed, err := j.place(windows, inv, rules, shipped)
	if err != nil {
		return nil, err
	}
	devices, err := truth(placed.windowNS)
	if err != nil {
		return nil, err
	}
	labels := trueLabels(placed.points, devices)
	out := &Calibration{Folds: mostFolds}
	if err := out.count(placed.points, labels, c); err != nil {
		return nil, err
	}
	slugs, newLabels := []string{}, false
	teach := slices.Clone(labels)
	for _, l := range out.Labels {
		if l.Label != string(cluster.Healthy) {
			slugs = append(slugs, l.Label)
			newLabels = newLabels || l.New
		}
		for i := range teach {
			if !l.Taught && teach[i] == l.Label {
				teach[i] = ""
			}
		}
	}
	folds := foldsOf(placed.points, labels)
	said, err := j.said(placed, rules, shipped)
	if err != nil {
		return nil, err
	}
	out.Before = score.Score(said, devices, slugs, placed.windowNS).Figures()
	for _, t := range ways(newLabels) {
		if said, err = j.heldOut(placed, c, teach, folds, shipped, t.lesson); err != nil {
			return nil, err
		}
		t.Figures = score.Score(said, devices, slugs, placed.windowNS).Figures()
		out.Trials = append(out.Trials, t)
	}
	out.Chosen, out.After, out.Catalogue = Nothing, out.Before, c
	for _, t := range out.Trials {
		if t.Figures.MacroF1 <= out.After.MacroF1 {
			continue
		}
		out.Chosen, out.After = t.What, t.Figures
		if out.Catalogue, out.Changes, err = cluster.Teach(c, placed.points, teach, shipped, t.lesson, j.Config.Cluster); err != nil {
			return nil, err
		}
	}
	out.Worse = out.After.WorseThan(out.Before)
	return out, nil
}

// ways lists what may be learnt, the smallest change first.
func ways(newLabels bool) []Trial {
	all := []Trial{
		{What: "gates", lesson: cluster.Lesson{Gates: true}},
		{What: "signatures", lesson: cluster.Lesson{Signatures: true}},
		{What: "signatures and gates", lesson: cluster.Lesson{Signatures: true, Gates: true}},
	}
	if newLabels {
		all = append([]Trial{{What: "new pathologies"}}, all...)
		for i := range all[1:] {
			all[i+1].What = "new pathologies, " + all[i+1].What
		}
	}
	return all
}

// place measures the windows against their peers.
func (j *Job) place(windows *Windows, inv reduce.Inventory, rules *cluster.Rules, shipped *cluster.Model) (*placedWindows, error) {
	lengths := map[int64]int{}
	p := &placedWindows{}
	for i := range windows.Len() {
		w := windows.At(i)
		lengths[w.EndNS-w.StartNS]++
	}
	for _, l := range slices.Sorted(maps.Keys(lengths)) {
		if lengths[l] > lengths[p.windowNS] {
			p.windowNS = l
		}
	}
	for _, f := range families(windows) {
		if f.length != p.windowNS {
			continue
		}
		points, _, err := cluster.Place(f.windows.Slice(), inv, rules, shipped, j.Config.Reduce, j.Config.Cluster)
		if err != nil {
			return nil, err
		}
		p.families = append(p.families, points)
		p.points = append(p.points, points...)
	}
	return p, nil
}

// trueLabels is the truth of each point, "" where it doesn't count or nothing
// is known.
func trueLabels(points []reduce.Point, devices []score.Device) []string {
	of := map[score.Key]*score.Device{}
	for i := range devices {
		of[devices[i].Key] = &devices[i]
	}
	labels := make([]string, len(points))
	for i := range points {
		w := points[i].Window
		if d := of[score.Key{Host: w.Host, Device: w.Device}]; d != nil {
			if label, counts := d.At(w.StartNS, w.EndNS); counts {
				labels[i] = label
			}
		}
	}
	return labels
}

// count lists the labels, and refuses a truth that teaches nothing.
func (c *Calibration) count(points []reduce.Point, labels []string, catalogue cluster.Catalogue) error {
	devices := map[features.Key]bool{}
	for i := range labels {
		if labels[i] != "" {
			devices[points[i].Window.Key] = true
			c.Windows++
		}
	}
	c.Devices = len(devices)
	known := cluster.Lessons(points, labels)
	healthy, enough := known[string(cluster.Healthy)], false
	for _, label := range slices.Sorted(maps.Keys(known)) {
		k := known[label]
		l := CalibratedWith{Label: label, Devices: k.Devices, Windows: k.Windows, Taught: k.Devices >= leastDevices && k.Windows >= leastWindows}
		if label != string(cluster.Healthy) {
			l.New = !slices.ContainsFunc(catalogue.Pathologies, func(p cluster.Pathology) bool { return p.Slug == label })
			enough = enough || l.Taught
		}
		c.Labels = append(c.Labels, l)
	}
	switch {
	case c.Windows == 0:
		return fmt.Errorf("%w: it speaks of no window of the lake", ErrLittleTruth)
	case healthy.Windows < cluster.TeachHealthy || healthy.Devices < leastDevices:
		return fmt.Errorf("%w: %s of %s; %d of %d are needed, for without them nobody knows what a false alarm is (rows with the label healthy, or devices with a fault and the time around it)",
			ErrLittleTruth, cluster.Counted(healthy.Windows, "healthy window"), cluster.Counted(healthy.Devices, "device"), cluster.TeachHealthy, leastDevices)
	case !enough:
		var has []string
		for _, l := range c.Labels {
			if l.Label != string(cluster.Healthy) {
				has = append(has, fmt.Sprintf("%s %d of %d", l.Label, l.Windows, l.Devices))
			}
		}
		return fmt.Errorf("%w: no label has %s of %s, so that one can be held out (windows and devices: %s)",
			ErrLittleTruth, cluster.Counted(leastWindows, "window"), cluster.Counted(leastDevices, "device"), cmp.Or(strings.Join(has, ", "), "none is sick"))
	}
	return nil
}

// foldsOf deals the devices that have a truth into folds, those of one label
// in turn, so that each fold has some of each. A device is sick of what most of
// its sick windows are.
func foldsOf(points []reduce.Point, labels []string) map[features.Key]int {
	votes := map[features.Key]map[string]int{}
	for i, l := range labels {
		if l == "" {
			continue
		}
		k := points[i].Window.Key
		if votes[k] == nil {
			votes[k] = map[string]int{}
		}
		if l != string(cluster.Healthy) {
			votes[k][l]++
		}
	}
	type device struct {
		features.Key
		label string
	}
	var all []device
	for k, v := range votes {
		d := device{Key: k}
		for _, l := range slices.Sorted(maps.Keys(v)) {
			if v[l] > v[d.label] {
				d.label = l
			}
		}
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b device) int {
		return cmp.Or(cmp.Compare(a.label, b.label), cmp.Compare(a.Host, b.Host), cmp.Compare(a.Device, b.Device))
	})
	fold := map[features.Key]int{}
	for i, d := range all {
		fold[d.Key] = i % mostFolds
	}
	return fold
}

// heldOut labels the devices of each fold by what the others teach.
func (j *Job) heldOut(p *placedWindows, c cluster.Catalogue, teach []string, folds map[features.Key]int, shipped *cluster.Model, lesson cluster.Lesson) ([]score.Said, error) {
	var all []score.Said
	for f := range mostFolds {
		seen := slices.Clone(teach)
		for i := range seen {
			if at, ok := folds[p.points[i].Window.Key]; ok && at == f {
				seen[i] = ""
			}
		}
		taught, _, err := cluster.Teach(c, p.points, seen, shipped, lesson, j.Config.Cluster)
		if err != nil {
			return nil, err
		}
		rules, err := cluster.Compile(taught)
		if err != nil {
			return nil, err
		}
		said, err := j.said(p, rules, shipped)
		if err != nil {
			return nil, err
		}
		for _, s := range said {
			if at, ok := folds[features.Key{Host: s.Host, Device: s.Device}]; ok && at == f {
				all = append(all, s)
			}
		}
	}
	return all, nil
}

// said labels all windows, as a run does.
func (j *Job) said(p *placedWindows, rules *cluster.Rules, shipped *cluster.Model) ([]score.Said, error) {
	var all []score.Said
	for _, points := range p.families {
		res, _, err := cluster.Diagnose(points, rules, shipped, "", j.Config.Cluster)
		if err != nil {
			return nil, err
		}
		for i := range res.Diagnoses.Len() {
			all = append(all, Said(res.Diagnoses.At(i)))
		}
	}
	return all, nil
}

// Said is a diagnosis as it is scored.
func Said(g *cluster.Diagnosis) score.Said {
	s := score.Said{
		Key: score.Key{Host: g.Host, Device: g.Device}, StartNS: g.StartNS, EndNS: g.EndNS,
		Verdict: string(g.Verdict), Pathology: g.Pathology, Severity: g.Severity, Confidence: g.Confidence, RootCause: g.RootCause,
	}
	if g.ClassID != 0 && g.Verdict == cluster.Sick {
		s.ClassID = strconv.Itoa(g.ClassID)
	}
	return s
}
