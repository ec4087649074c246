package local

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest/lake"
	"github.com/iopathy/iopathy/reduce"
	"github.com/iopathy/iopathy/reports"
)

// NightDir is where the report of a date stands below the output directory.
func NightDir(out, date string) string { return filepath.Join(out, "nights", date) }

// DiagnoseNight judges the windows of a date: by the lake's model, or by one
// that is fitted on them when there is none, when the one there is knows no such
// windows, or when it is older than the setting refit allows. why says in words
// that it was fitted anew; "" if not. The old model stays, as models/model-DATE.json, DATE
// being the end of its data.
func (j *Job) DiagnoseNight(windows []features.Window, inv reduce.Inventory, rules *cluster.Rules) (d *Diagnosed, why string, err error) {
	if j.Config.Model != "" {
		d, err = j.Diagnose(windows, inv, rules, false)
		return d, "", err
	}
	path := filepath.Join(j.Lake, filepath.FromSlash(lake.ModelPath(modelFile)))
	old, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		d, err = j.Diagnose(windows, inv, rules, false)
		return d, "the first model of this lake", err
	}
	if err != nil {
		return nil, "", fmt.Errorf("model: %w", err)
	}
	models, err := readModels(path)
	if err != nil {
		return nil, "", err
	}
	if why = j.refitDue(models, windows); why == "" {
		d, err = j.Relabel(windows, inv, rules)
		return d, "", err
	}
	var end int64
	for _, m := range models {
		end = max(end, m.EndNS)
	}
	if d, err = j.Diagnose(windows, inv, rules, false); err != nil {
		return nil, "", err
	}
	kept := filepath.Join(j.Lake, filepath.FromSlash(lake.ModelPath("model-"+lake.Date(end)+".json")))
	if now, err := os.ReadFile(kept); err == nil && bytes.Equal(now, old) {
		return d, why, nil
	}
	return d, why, lake.WriteFileAtomic(kept, old)
}

// refitDue says why the windows ask for another model; "" if they don't.
func (j *Job) refitDue(models []KindModel, windows []features.Window) string {
	for _, f := range families(windows) {
		at := slices.IndexFunc(models, func(m KindModel) bool {
			return m.Kind == f.kind.String() && m.TickNS == f.tick && m.WindowNS == f.length
		})
		if at < 0 {
			return fmt.Sprintf("the model knows no windows of %v with latencies of kind %s", time.Duration(f.length), f.kind)
		}
		m := &models[at]
		var end int64
		for i := range f.windows {
			end = max(end, f.windows[i].EndNS)
		}
		switch {
		case m.Cluster.Kind != cluster.Fitted:
			return "there may be enough to fit on by now"
		case j.Config.Refit > 0 && end-m.EndNS > int64(j.Config.Refit):
			return fmt.Sprintf("the model is of data that end on %s, more than %v ago", lake.Date(m.EndNS), j.Config.Refit)
		}
	}
	return ""
}

// WriteIndex writes the page over the nights into the output directory. Nights
// without a report there are not on it.
func (j *Job) WriteIndex(out string, catalogue cluster.Catalogue) (string, error) {
	nights, devices, err := j.Nights()
	if err != nil {
		return "", err
	}
	nights = slices.DeleteFunc(nights, func(n reports.Night) bool {
		_, err := os.Stat(filepath.Join(NightDir(out, n.Date), "report.html"))
		return err != nil
	})
	path := filepath.Join(out, "index.html")
	return path, lake.WriteAtomic(path, func(w io.Writer) error {
		return reports.NightsIndex(w, nights, devices, catalogue, j.Version)
	})
}
