package cluster

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/reduce"
)

// What a site must know before anything is learnt from it, and how far that
// goes.
const (
	TeachDevices = 2  // devices with a label, below which nothing is learnt of it
	TeachWindows = 8  // windows with a label
	TeachHealthy = 30 // healthy windows, below which there are no gates

	// Parallel is the cosine above which two signatures can't be told apart.
	Parallel = 0.98

	// HighestGate is the largest gate that a catalogue may give.
	HighestGate = 10.0
	lowestGate  = 1.0 // taught gates stay at or above the scale of the healthy windows
	teachGate   = 4.0 // and at or below this

	// What is shipped counts for as much as so many devices or healthy windows.
	priorDevices = 3
	priorWindows = 20

	axisFloor    = 0.1 // share of the longest axis below which a taught axis is 0
	taughtLength = 3.0 // of a new signature, in healthy scales
)

// Lesson says what Teach may change.
type Lesson struct {
	Signatures bool // of the pathologies that the catalogue has
	Gates      bool
}

// Taught is what was learnt of one pathology.
type Taught struct {
	Pathology string  `json:"pathology"`
	New       bool    `json:"new,omitempty"` // the catalogue didn't have it
	Devices   int     `json:"devices"`
	Windows   int     `json:"windows"`
	Cosine    float64 `json:"cosine"`             // of the signature with that before; 0 if new
	Parallel  string  `json:"parallel,omitempty"` // the pathology whose direction the windows have, so that the signature stays or a new label is none
	Gate      float64 `json:"gate,omitempty"`
	Before    float64 `json:"gate_before,omitempty"`
}

// Lessons counts the windows and devices of each label in a truth; idle
// windows teach nothing.
func Lessons(points []reduce.Point, truth []string) map[string]Taught {
	all := map[string]Taught{}
	of := map[string]map[features.Key]bool{}
	for i, label := range truth {
		if label == "" || points[i].Window.Idle {
			continue
		}
		if of[label] == nil {
			of[label] = map[features.Key]bool{}
		}
		of[label][points[i].Window.Key] = true
		t := all[label]
		t.Pathology, t.Windows, t.Devices = label, t.Windows+1, len(of[label])
		all[label] = t
	}
	return all
}

// Teachable reports whether there is enough of a label to learn from.
func (t Taught) Teachable() bool { return t.Devices >= TeachDevices && t.Windows >= TeachWindows }

// Teach gives a catalogue that has learnt from a site's labelled points. truth
// holds a slug, "healthy", or "" for a window that doesn't count. A label that
// the catalogue doesn't have becomes a pathology of its own, with a signature
// and without rules. Signatures are the mean direction of the label's windows,
// each device weighing one, drawn towards the one before as if by three
// devices more; gates the 98 % quantile of what healthy windows project, drawn
// towards the one before as if by 20 windows more. What has too little truth
// stays. model gives the gates of before; it may be nil.
func Teach(c Catalogue, points []reduce.Point, truth []string, model *Model, lesson Lesson, o Options) (Catalogue, []Taught, error) {
	if len(truth) != len(points) {
		panic("cluster: truth is not one a point")
	}
	known := Lessons(points, truth)
	out := Catalogue{Pathologies: slices.Clone(c.Pathologies), Notes: c.Notes}
	changes := map[string]Taught{}
	for i := range out.Pathologies {
		p := &out.Pathologies[i]
		if t := known[p.Slug]; t.Teachable() && lesson.Signatures {
			before, err := direction(p.Signature)
			if err != nil {
				return c, nil, fmt.Errorf("cluster: teach %s: %w", p.Slug, err)
			}
			after := meanDirection(points, truth, p.Slug, &before)
			signature := signatureOf(&after, lengthOf(p.Signature))
			if after, err = direction(signature); err != nil {
				return c, nil, fmt.Errorf("cluster: teach %s: %w", p.Slug, err)
			}
			if t.Parallel = parallel(out.Pathologies, p.Slug, &after); t.Parallel == "" {
				p.Signature, before = signature, after
			}
			old, _ := direction(c.Pathologies[i].Signature) // checked above
			t.Cosine = round(dotVector(&old, &before), 4)
			changes[p.Slug] = t
		}
	}
	for _, slug := range slices.Sorted(maps.Keys(known)) {
		t := known[slug]
		if slug == string(Healthy) || !t.Teachable() || slices.ContainsFunc(out.Pathologies, func(p Pathology) bool { return p.Slug == slug }) {
			continue
		}
		d := meanDirection(points, truth, slug, nil)
		p := Pathology{Slug: slug, Signature: signatureOf(&d, taughtLength)}
		t.New = true
		if d, err := direction(p.Signature); err != nil {
			t.Parallel = string(Healthy) // none of its windows departs from it
		} else {
			t.Parallel = parallel(out.Pathologies, slug, &d)
		}
		if changes[slug] = t; t.Parallel != "" {
			continue
		}
		p.ID, p.Colour = free(out.Pathologies)
		p.Name = strings.ToUpper(slug[:1]) + strings.ReplaceAll(slug[1:], "-", " ")
		p.Symptom = fmt.Sprintf("Taught by this site: %s of %s.", Counted(t.Windows, "window"), Counted(t.Devices, "device"))
		out.Pathologies = append(out.Pathologies, p)
	}
	if lesson.Gates {
		if err := teachGates(&out, points, truth, model, known, changes, o); err != nil {
			return c, nil, err
		}
	}
	list := make([]Taught, 0, len(changes))
	for i := range out.Pathologies {
		if t, ok := changes[out.Pathologies[i].Slug]; ok {
			list = append(list, t)
			delete(changes, t.Pathology)
		}
	}
	for _, slug := range slices.Sorted(maps.Keys(changes)) { // that are no pathologies
		list = append(list, changes[slug])
	}
	return out, list, nil
}

// parallel names the pathology other than one's own whose signature points
// where a direction does; "" if none does.
func parallel(all []Pathology, own string, d *features.Vector) string {
	for i := range all {
		if all[i].Slug == own {
			continue
		}
		if other, err := direction(all[i].Signature); err == nil && dotVector(d, &other) > Parallel {
			return all[i].Slug
		}
	}
	return ""
}

// teachGates sets gates by the healthy windows that lean to each pathology.
func teachGates(c *Catalogue, points []reduce.Point, truth []string, model *Model, known map[string]Taught, changes map[string]Taught, o Options) error {
	if known[string(Healthy)].Windows < TeachHealthy {
		return nil
	}
	r, err := Compile(*c)
	if err != nil {
		return err
	}
	before := model.gates(r)
	projections := leaning(points, truth, r, o)
	for i := range c.Pathologies {
		p := &c.Pathologies[i]
		n := float64(len(projections[i]))
		if n == 0 {
			continue
		}
		q := min(max(quantile(projections[i], gateQuantile), lowestGate), teachGate)
		t, ok := changes[p.Slug]
		if !ok {
			t = known[p.Slug]
			t.Pathology, t.Cosine = p.Slug, 1
		}
		p.Gate = round((n*q+priorWindows*before[i])/(n+priorWindows), 3)
		t.Gate, t.Before = p.Gate, before[i]
		changes[p.Slug] = t
	}
	return nil
}

// meanDirection is the mean direction of a label's windows, each device
// weighing one, with the direction of before as some devices more.
func meanDirection(points []reduce.Point, truth []string, label string, before *features.Vector) features.Vector {
	type device struct {
		sum features.Vector
		n   float64
	}
	of := map[features.Key]*device{}
	for i := range points {
		if truth[i] != label || points[i].Window.Idle {
			continue
		}
		n := norm(&points[i].Z)
		if n == 0 {
			continue
		}
		d := of[points[i].Window.Key]
		if d == nil {
			d = &device{}
			of[points[i].Window.Key] = d
		}
		d.n++
		for f, x := range points[i].Z {
			d.sum[f] += x / n
		}
	}
	keys := slices.SortedFunc(maps.Keys(of), func(a, b features.Key) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Device, b.Device))
	})
	var mean features.Vector
	for _, k := range keys {
		for f, x := range of[k].sum {
			mean[f] += x / of[k].n
		}
	}
	if before != nil {
		for f, x := range before {
			mean[f] += priorDevices * x
		}
	}
	return mean
}

// signatureOf writes a direction as a catalogue does: by name, of a length,
// short axes left out.
func signatureOf(d *features.Vector, length float64) map[string]float64 {
	s := map[string]float64{}
	n, most := norm(d), 0.0
	for _, x := range d {
		most = max(most, math.Abs(x))
	}
	if n == 0 {
		return s
	}
	for f, x := range d {
		if math.Abs(x) >= axisFloor*most {
			s[features.Features[f].Name] = round(length*x/n, 2)
		}
	}
	return s
}

func lengthOf(signature map[string]float64) float64 {
	s := 0.0
	for _, f := range features.Features {
		s += signature[f.Name] * signature[f.Name]
	}
	return math.Sqrt(s)
}

func dotVector(a, b *features.Vector) float64 {
	s := 0.0
	for f := range a {
		s += a[f] * b[f]
	}
	return s
}

// spare are colours for pathologies that a site adds, far from those of the
// shipped ones.
var spare = [...]string{"#999999", "#661100", "#332288", "#44AA99", "#DDCC77", "#AA4499", "#117733", "#888888"}

// free is the next id, and a colour that no entry has.
func free(all []Pathology) (id int, colour string) {
	taken := map[string]bool{}
	for i := range all {
		id = max(id, all[i].ID)
		taken[strings.ToUpper(all[i].Colour)] = true
	}
	id++
	for _, c := range spare {
		if !taken[c] {
			return id, c
		}
	}
	for n := id * 0x2B3C5; ; n += 0x10101 {
		if c := fmt.Sprintf("#%06X", n&0xFFFFFF); !taken[c] {
			return id, c
		}
	}
}
