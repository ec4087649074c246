package local

import (
	"errors"
	"maps"
	"slices"

	"github.com/iopathy/iopathy/ingest/lake"
	"github.com/iopathy/iopathy/reports"
)

// StoreDiagnosis keeps models and labels in the lake.
func (j *Job) StoreDiagnosis(d *Diagnosed) error {
	if _, err := j.StoreModel(d); err != nil {
		return err
	}
	return j.StoreLabels(d)
}

// StoreLabels keeps the labels, and of which windows they are: with that, the
// days of these windows are done.
func (j *Job) StoreLabels(d *Diagnosed) (err error) {
	defer Rescue(&err)
	lock, err := lake.NewLock(j.Lake)
	if err != nil {
		return err
	}
	defer lock.Close()
	manifests, err := j.Manifests()
	if err != nil {
		return err
	}
	if j.cells == nil {
		return errNoCells
	}
	keep := newKeeping(j, manifests)
	defer keep.drop()
	if err := keep.begin(lock, lake.Labels, lake.Baselines); err != nil {
		return err
	}
	if err := keep.said(d); err != nil {
		return err
	}
	var cells []lake.Cell
	for _, c := range slices.SortedFunc(maps.Keys(j.cells), compareCells) {
		cells = append(cells, lake.Cell{Host: c.host, Date: c.date})
	}
	_, err = keep.store(lock, cells, lake.Labels, lake.Baselines)
	return err
}

// said writes what is said of windows, or takes what shares of them have written.
func (k *keeping) said(d *Diagnosed) error {
	if d.shares != nil {
		return d.shares.adopt(k)
	}
	return errors.Join(k.labels(d), k.baselines(d))
}

// labels writes the labels, a part a date and host.
func (k *keeping) labels(d *Diagnosed) error {
	in := &reports.Input{Windows: d.Windows, Points: d.Points, Result: d.Result}
	for _, c := range cellsOf(d.Windows) {
		name := lake.PartName{Table: lake.Labels, Date: c.date, Host: c.host, Input: "labels"}.Path()
		p, err := writeLabelRows(k.path(name), in, c.rows)
		if err != nil {
			return err
		}
		k.add(name, p)
	}
	return nil
}

// writeLabelRows writes the labels of some windows as one file, a row group at a
// time.
func writeLabelRows(path string, in *reports.Input, rows []int32) (lake.Part, error) {
	w, err := lake.Create(path, lake.Fields(reports.LabelRows(in, nil)), nil)
	if err != nil {
		return lake.Part{}, err
	}
	for some := range slices.Chunk(rows, lake.GroupRows) {
		if err := w.Write(reports.LabelRows(in, some)); err != nil {
			w.Abort()
			return lake.Part{}, err
		}
	}
	return w.Close()
}
