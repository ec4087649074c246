package local

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/configs"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/heatmap"
	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/ingest/lake"
	"github.com/iopathy/iopathy/reduce"
	"github.com/iopathy/iopathy/reports"
)

// Diagnosed is what is said of the windows, and the models that said it.
type Diagnosed struct {
	Windows features.Rows[features.Window]
	Points  features.Rows[reduce.Point] // one a window
	Result  cluster.Result
	Models  []KindModel
	Drift   Drift   // from the windows that the models were fitted on; zero where it was not asked for
	naming  *naming // of the classes; nil where they have their names from the lake's model
	windows *Windows
	said    *saidSet
	shares  *labelled       // that it was joined of; nil: it is not of shares
	digest  *reports.Digest // of all windows; nil until the report is written
}

// Close gives back the room that the windows and what is said of them take beside
// memory. Nothing of them may be asked for afterwards.
func (d *Diagnosed) Close() {
	if d != nil && d.windows != nil {
		d.said.close()
		d.windows.Close()
	}
}

// cell is what is asked most of window i; fast where a report is in the making.
func (d *Diagnosed) cell(i int) heatmap.Cell {
	if d.digest != nil {
		return d.digest.Cell(i)
	}
	return heatmap.Of(d.Windows, d.Result.Diagnoses).Cell(i)
}

// key is the device of window i.
func (d *Diagnosed) key(i int) features.Key {
	if d.digest != nil {
		return d.digest.Key(i)
	}
	return d.Windows.At(i).Key
}

// kind is that of the latencies of window i.
func (d *Diagnosed) kind(i int) ingest.LatencyKind {
	if d.digest != nil {
		return d.digest.Kind(i)
	}
	return d.Windows.At(i).Kind
}

// layered says whether windows from one to another may hold layers of a host against
// each other.
func (d *Diagnosed) layered(from, to int) bool {
	return d.digest == nil || d.digest.Layered(from, to)
}

// KindModel is the models of the windows of one latency kind, tick and length:
// kinds are never mixed.
type KindModel struct {
	Kind     string         `json:"latency_kind"`
	TickNS   int64          `json:"tick_ns"`
	WindowNS int64          `json:"window_ns"`
	EndNS    int64          `json:"end_ns,omitempty"`  // of the data that it was fitted on
	Why      string         `json:"why,omitempty"`     // in words, why it took the place of another
	Born     *mark          `json:"born,omitempty"`    // where the windows that it was fitted on stood
	Devices  []knownDevice  `json:"devices,omitempty"` // what the inventory told of them
	Reduce   *reduce.Model  `json:"reduce"`
	Cluster  *cluster.Model `json:"cluster"`
}

// Diagnose fits on the windows (or takes the shipped model, or the file that
// the config names) and labels them. Classes have the ids of the lake's registry.
func (j *Job) Diagnose(windows *Windows, inv reduce.Inventory, rules *cluster.Rules, refit bool) (d *Diagnosed, err error) {
	defer Rescue(&err)
	if err := j.witness(windows, rules); err != nil {
		return nil, err
	}
	if j.Config.Model != "" {
		models, err := readModels(j.Config.Model)
		if err != nil {
			return nil, err
		}
		names, err := j.newNaming(windows)
		if err != nil {
			return nil, err
		}
		return j.label(windows, inv, rules, models, names)
	}
	shipped, err := shippedModel()
	if err != nil {
		return nil, err
	}
	return j.fit(windows, inv, rules, shipped, refit)
}

func shippedModel() (*cluster.Model, error) {
	var m cluster.Model
	if err := json.Unmarshal(configs.ShippedModel(), &m); err != nil {
		return nil, fmt.Errorf("shipped model: %w", err)
	}
	return &m, nil
}

func forced(refit bool) string {
	if refit {
		return cluster.Fitted
	}
	return ""
}

// fit takes what is known beforehand from the shipped model.
func (j *Job) fit(windows *Windows, inv reduce.Inventory, rules *cluster.Rules, shipped *cluster.Model, refit bool) (*Diagnosed, error) {
	force := forced(refit)
	names, err := j.newNaming(windows)
	if err != nil {
		return nil, err
	}
	return j.judge(windows, names, func(f *family) (res cluster.Result, km KindModel, known reduce.Inventory, err error) {
		km, why, err := j.fitFamily(f, f.sampled(j.Config.Reduce.Sample), inv, rules, shipped, force)
		if err != nil {
			return res, km, inv, err
		}
		points := f.points(km.Reduce, inv)
		res = km.Cluster.LabelRows(points, rules, j.Config.Cluster, f.put)
		res.Why = cmp.Or(why, res.Why)
		res = names.name(&km, f, points, res, rules, j.Config.Cluster)
		born := markOf(points, f.said())
		km.Born = &born
		return res, km, inv, nil
	})
}

// fitFamily finds the model of a family by some of its windows, and why it has the
// classes that it has.
func (j *Job) fitFamily(f *family, some features.Rows[features.Window], inv reduce.Inventory, rules *cluster.Rules, shipped *cluster.Model, force string) (km KindModel, why string, err error) {
	km = KindModel{Kind: f.kind.String(), TickNS: f.tick, WindowNS: f.length, EndNS: f.endNS, Devices: knownDevices(inv, f.devices)}
	past, err := j.history(f, inv)
	if err != nil {
		return km, "", err
	}
	before := *shipped
	before.Reduce = shipped.Reduce.Remembering(past)
	if km.Reduce, err = cluster.Space(some, inv, rules, &before, j.Config.Reduce, j.Config.Cluster); err != nil {
		return km, "", err
	}
	points := km.Reduce.Points(some, inv)
	if !f.among.inFile() {
		points = features.List(points.Slice())
	}
	km.Cluster, why, err = cluster.Choose(points, rules, shipped, force, j.Config.Cluster)
	return km, why, err
}

// Relabel labels the windows with the model of the lake, or of the config.
// Without an inventory the one that the model was fitted with counts. The
// classes of the lake's own model have their lasting ids already.
func (j *Job) Relabel(windows *Windows, inv reduce.Inventory, rules *cluster.Rules) (d *Diagnosed, err error) {
	defer Rescue(&err)
	if j.Config.Model != "" {
		return j.Diagnose(windows, inv, rules, false)
	}
	path := filepath.Join(j.Lake, filepath.FromSlash(lake.ModelPath(modelFile)))
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("the lake holds no model yet: run iopathy fit first, or give --model FILE")
	}
	models, err := readModels(path)
	if err != nil {
		return nil, err
	}
	if err := j.witness(windows, rules); err != nil {
		return nil, err
	}
	return j.label(windows, inv, rules, models, nil)
}

// label labels with given models; names may be nil.
func (j *Job) label(windows *Windows, inv reduce.Inventory, rules *cluster.Rules, models []KindModel, names *naming) (*Diagnosed, error) {
	return j.judge(windows, names, func(f *family) (res cluster.Result, km KindModel, known reduce.Inventory, err error) {
		m, err := f.modelIn(models)
		if err != nil {
			return res, km, known, err
		}
		km, known = *m, inv
		if known == nil {
			known = inventoryOf(km.Devices)
		}
		if err := km.Reduce.Check(f.windows); err != nil {
			return res, km, known, err
		}
		past, err := j.history(f, known)
		if err != nil {
			return res, km, known, err
		}
		km.Reduce = km.Reduce.Remembering(past)
		points := f.points(km.Reduce, known)
		res = km.Cluster.LabelRows(points, rules, j.Config.Cluster, f.put)
		if names != nil {
			res = names.name(&km, f, points, res, rules, j.Config.Cluster)
		}
		return res, km, known, nil
	})
}

// judge labels each family on its own and joins what is said.
func (j *Job) judge(windows *Windows, names *naming, one func(*family) (cluster.Result, KindModel, reduce.Inventory, error)) (*Diagnosed, error) {
	said, err := newSaidSet(windows)
	if err != nil {
		return nil, err
	}
	d := &Diagnosed{Windows: windows.Rows, naming: names, windows: windows, said: said}
	d.Result.Model = cluster.Shipped
	all := families(windows)
	spaces, inventories := make([]func(*features.Window) reduce.Point, len(all)), make([]reduce.Inventory, len(all)) // what each family is projected by
	for n, f := range all {
		f.set = said
		res, km, inv, err := one(f)
		if err = cmp.Or(err, said.err); err != nil {
			said.close()
			return nil, err
		}
		d.Models, spaces[n], inventories[n] = append(d.Models, km), km.Reduce.Projector(inv), inv
		f.shift = shifts(d.Models)[n]
		join(&d.Result, &res, f, n == 0)
		j.progress("diagnose", int64(n+1), int64(len(all)))
	}
	of := familyOf(all, windows.Len())
	var lock sync.Mutex // of the spaces
	d.Points = features.Fetched(windows.Len(), func(i int) *reduce.Point {
		w := windows.At(i)
		lock.Lock()
		defer lock.Unlock()
		p := spaces[of(i)](w)
		return &p
	})
	shifted := func(i int, g *cluster.Diagnosis) *cluster.Diagnosis {
		if shift := all[of(i)].shift; shift > 0 && g.ClassID > 0 {
			other := *g
			other.ClassID += shift
			return &other
		}
		return g
	}
	d.Result.Diagnoses = features.Fetched(windows.Len(), func(i int) *cluster.Diagnosis { return shifted(i, said.at(i)) })
	if windows.inFile() {
		d.Points = d.Points.WithCursor(func() func(i int) *reduce.Point {
			window, own, last, p := windows.Cursor(), make([]func(*features.Window) reduce.Point, len(all)), -1, new(reduce.Point)
			for n := range all {
				own[n] = d.Models[n].Reduce.Projector(inventories[n])
			}
			return func(i int) *reduce.Point {
				if i != last {
					*p, last = own[of(i)](window(i)), i
				}
				return p
			}
		})
		d.Result.Diagnoses = d.Result.Diagnoses.WithCursor(func() func(i int) *cluster.Diagnosis {
			next := said.cursor()
			return func(i int) *cluster.Diagnosis { return shifted(i, next(i)) }
		})
	}
	if !windows.inFile() { // all of it has room
		d.Points, d.Result.Diagnoses = features.List(d.Points.Slice()), features.List(d.Result.Diagnoses.Slice())
	}
	d.Result.Findings = untold(j.found, d.Result.Episodes)
	slices.SortStableFunc(d.Result.Classes, func(a, b cluster.Class) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortStableFunc(d.Result.Episodes, func(a, b cluster.Episode) int { return cmp.Compare(b.Severity, a.Severity) })
	return d, nil
}

// join adds a family's result, with its shift added to the numbers of its classes.
func join(all, res *cluster.Result, f *family, first bool) {
	if first {
		*all = *res
		return
	}
	for _, c := range res.Classes {
		c.ID += f.shift
		all.Classes = append(all.Classes, c)
	}
	for _, e := range res.Episodes {
		if e.ClassID > 0 {
			e.ClassID += f.shift
		}
		all.Episodes = append(all.Episodes, e)
	}
	all.Warnings = append(all.Warnings, fmt.Sprintf("judged apart, by a %[4]s model: %[1]s of %[2]v with latencies of kind %[3]s",
		cluster.Counted(f.windows.Len(), "window"), time.Duration(f.length), f.kind, res.Model))
	all.Warnings = append(all.Warnings, res.Warnings...)
}

// axes is the principal components of the first family's model.
func axes(d *Diagnosed) []reports.Axis {
	if len(d.Models) == 0 || d.Models[0].Reduce == nil {
		return nil
	}
	m := d.Models[0].Reduce
	total := 0.0
	for _, v := range m.Variance {
		total += v
	}
	var out []reports.Axis
	for i, c := range m.Components {
		a := reports.Axis{}
		copy(a.Loading[:], c)
		if total > 0 && i < len(m.Variance) {
			a.Share = m.Variance[i] / total
		}
		if math.IsNaN(a.Share) {
			a.Share = 0
		}
		out = append(out, a)
	}
	return out
}
