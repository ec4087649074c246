package local

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/ingest/lake"
	"github.com/iopathy/iopathy/reduce"
)

// DiagnoseNight judges the windows of a date: by the lake's model, or by one
// that is fitted on them when there is none, when the one there is knows no such
// windows, when it is older than the setting refit allows, or when the windows have
// drifted from those that it was fitted on. why says in words
// that it was fitted anew; "" if not. The old model stays, as models/model-DATE.json, DATE
// being the end of its data.
func (j *Job) DiagnoseNight(windows *Windows, inv reduce.Inventory, rules *cluster.Rules) (d *Diagnosed, why string, err error) {
	defer Rescue(&err)
	if j.Config.Model != "" {
		d, err = j.Diagnose(windows, inv, rules, false)
		return d, "", err
	}
	path := filepath.Join(j.Lake, filepath.FromSlash(lake.ModelPath(modelFile)))
	old, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return j.fitAnew(windows, inv, rules, "the first model of this lake")
	}
	if err != nil {
		return nil, "", fmt.Errorf("model: %w", err)
	}
	models, err := readModels(path)
	if err != nil {
		return nil, "", err
	}
	if why = j.refitDue(models, windows); why == "" {
		if d, err = j.Relabel(windows, inv, rules); err != nil {
			return nil, "", err
		}
		if d.Drift, why = j.drift(d); why == "" {
			return d, "", nil
		}
		d.said.close() // what is said of the same windows takes its place
	}
	var end int64
	for _, m := range models {
		end = max(end, m.EndNS)
	}
	if d, why, err = j.fitAnew(windows, inv, rules, why); err != nil {
		return nil, "", err
	}
	if was, same, err := sameFit(d.Models, models); err != nil || same {
		if was != "" {
			why = was
		}
		return d, why, err
	}
	kept := filepath.Join(j.Lake, filepath.FromSlash(lake.ModelPath("model-"+lake.Date(end)+".json")))
	if now, err := os.ReadFile(kept); err == nil && bytes.Equal(now, old) {
		return d, why, nil
	}
	return d, why, lake.WriteFileAtomic(kept, old)
}

// sameFit says that the models are those that the lake has, but for the words why they
// were fitted, as after a night that was killed before it came to the labels: the
// words of the old ones, which it gives, then stay.
func sameFit(models, old []KindModel) (why string, same bool, err error) {
	plain := func(list []KindModel) ([]byte, error) {
		list = slices.Clone(list)
		for i := range list {
			list[i].Why = ""
		}
		return encodeModels(list)
	}
	was, err := plain(old)
	if err != nil {
		return "", false, err
	}
	now, err := plain(withOthers(models, old))
	if err != nil || !bytes.Equal(was, now) {
		return "", false, err
	}
	for i := range models {
		m := modelOf(old, models[i].Kind, models[i].TickNS, models[i].WindowNS)
		models[i].Why = m.Why
		if why == "" {
			why = m.Why
		}
	}
	return why, true, nil
}

// fitAnew fits on the windows, and notes the reason in the models.
func (j *Job) fitAnew(windows *Windows, inv reduce.Inventory, rules *cluster.Rules, why string) (*Diagnosed, string, error) {
	d, err := j.Diagnose(windows, inv, rules, false)
	if err != nil {
		return nil, "", err
	}
	for i := range d.Models {
		d.Models[i].Why = why
	}
	return d, why, nil
}

// refitDue says why the windows ask for another model; "" if they don't.
func (j *Job) refitDue(models []KindModel, windows *Windows) string {
	for _, f := range families(windows) {
		at := slices.IndexFunc(models, func(m KindModel) bool {
			return m.Kind == f.kind.String() && m.TickNS == f.tick && m.WindowNS == f.length
		})
		if at < 0 {
			return fmt.Sprintf("the model knows no windows of %v with latencies of kind %s", time.Duration(f.length), f.kind)
		}
		m := &models[at]
		switch {
		case m.Cluster.Kind != cluster.Fitted:
			return "there may be enough to fit on by now"
		case j.Config.Refit > 0 && f.endNS-m.EndNS > int64(j.Config.Refit):
			return fmt.Sprintf("the model is of data that end on %s, more than %v ago", lake.Date(m.EndNS), j.Config.Refit)
		}
	}
	return ""
}
