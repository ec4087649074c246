package nights

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cmd/internal/local"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/reduce"
)

// nightsFolder holds a folder for each date below the output directory.
const nightsFolder = "nights"

// ActionsFile holds, beside the report of a date, what an actuator is told.
const ActionsFile = "actions.jsonl"

// Dir is where the report of a date stands.
func Dir(out, date string) string { return filepath.Join(out, nightsFolder, date) }

// Job is one night's work.
type Job struct {
	Local     *local.Job
	Out       string // directory of the reports
	Ingested  *local.Ingested
	Inventory reduce.Inventory
	Catalogue cluster.Catalogue
	Rules     *cluster.Rules
	NowNS     int64                            // the clock: no day ahead of it counts as the newest
	Say       func(format string, args ...any) // words for people

	// Judged is told of a date before its labels are stored: with those the date is
	// done, and what Judged keeps must outlive a kill. dir is that of its report. May be nil.
	Judged func(dir, date string, d *local.Diagnosed) error
}

// Night is one date that was judged and reported.
type Night struct {
	Date     string            `json:"date"`
	Verdict  local.Outcome     `json:"verdict"`
	Files    []string          `json:"files"`
	Refit    string            `json:"fitted_anew"` // why, in words; "" if it was not
	Drift    local.Drift       `json:"-"`
	Lines    []string          `json:"-"` // the verdict in words
	Episodes []cluster.Episode `json:"-"` // the worst first
	Result   *cluster.Result   `json:"-"` // without its windows' diagnoses
}

// Result is what a night did.
type Result struct {
	Nights    []Night   `json:"nights"` // by date
	Index     string    `json:"index"`  // page over all nights
	Pruned    Pruned    `json:"pruned"`
	Compacted Compacted `json:"compacted"`
	Folded    Folded    `json:"folded"`
}

// Changed says that there was anything to do.
func (r *Result) Changed() bool {
	return len(r.Nights) > 0 || r.Pruned.Parts+r.Pruned.Reports+r.Compacted.Into+r.Folded.Runs+r.Folded.Models > 0
}

// after are the steps that follow when the nights are reported, in their order.
func (n *Job) after() []func(context.Context, *Result) error {
	return []func(context.Context, *Result) error{n.writeIndex, n.prune, n.compact, n.fold}
}

// Run does a night's work. What it has done when it fails, or when ctx ends,
// stands; the next night goes on from there.
func Run(ctx context.Context, n *Job) (*Result, error) {
	r := &Result{Nights: []Night{}}
	if err := sweepReports(n.Out); err != nil {
		return r, err
	}
	fresh, err := n.Local.FeaturesAnew(ctx)
	if err != nil {
		return r, err
	}
	due, err := n.Local.Due()
	if err != nil {
		return r, err
	}
	dates := append(fresh, due...)
	slices.Sort(dates)
	if other, err := n.Local.OtherWindows(); err != nil {
		return r, err
	} else if other != "" {
		n.Say("%s", other)
	}
	for _, date := range slices.Compact(dates) {
		if err := ctx.Err(); err != nil {
			return r, err
		}
		night, err := n.judge(ctx, date)
		if err != nil {
			return r, err
		}
		if night != nil {
			r.Nights = append(r.Nights, *night)
		}
	}
	for _, step := range n.after() {
		if err := ctx.Err(); err != nil {
			return r, err
		}
		if err := step(ctx, r); err != nil {
			return r, err
		}
	}
	return r, nil
}

// judge labels and reports a date; nil for one without windows.
func (n *Job) judge(ctx context.Context, date string) (*Night, error) {
	windows, err := n.Local.WindowsBetween(date, date)
	if err != nil || windows.Len() == 0 {
		return nil, err
	}
	defer windows.Close()
	d, why, err := n.Local.DiagnoseNight(windows, n.Inventory, n.Rules)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	if d.Result.Model != cluster.Fitted {
		why = "" // it was tried: there is too little to fit on, which the next line says
	}
	if why != "" {
		n.Say("%s: fitted anew: %s", date, why)
	}
	if d.Result.Why != "" {
		n.Say("model: %s (%s)", d.Result.Model, d.Result.Why)
	}
	for _, w := range d.Result.Warnings {
		n.Say("%s", w)
	}
	if _, err := n.Local.StoreModel(d); err != nil {
		return nil, err
	}
	files, err := n.Local.Write(ctx, Dir(n.Out, date), d, n.Catalogue, n.Ingested)
	if err != nil {
		return nil, err
	}
	if err := writeSums(Dir(n.Out, date), sumsOf(date, d)); err != nil {
		return nil, err
	}
	if n.Judged != nil {
		if err := n.Judged(Dir(n.Out, date), date, d); err != nil {
			return nil, err
		}
	}
	if err := n.Local.StoreLabels(d); err != nil {
		return nil, err
	}
	said := d.Result
	said.Diagnoses = features.Rows[cluster.Diagnosis]{} // they are as many as the windows
	return &Night{date, local.Summarise(d), files, why, d.Drift, local.Verdict(d, 5), said.Episodes, &said}, nil
}
