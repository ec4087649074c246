package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/iopathy/iopathy/cmd/internal/local"
	"github.com/iopathy/iopathy/ingest/lake"
)

func (a *app) nightlyCmd() *cobra.Command {
	return &cobra.Command{
		Use: "nightly [SOURCE...] --config FILE", Short: "What a timer starts: new logs into the lake, a report for each date that they concern", GroupID: "job",
		Example: "  iopathy nightly --config /etc/iopathy.yaml\n  iopathy nightly /var/log/io --out /var/lib/iopathy --fail-on 4 --quiet",
		RunE:    func(cmd *cobra.Command, args []string) error { return a.nightly(cmd.Context(), args) },
	}
}

// nightly reads what is new in the sources, makes the windows that it concerns,
// and reports their dates.
func (a *app) nightly(ctx context.Context, args []string) error {
	sources, err := a.sources(args)
	if err != nil {
		return err
	}
	if a.config.Out == "" {
		return usage("say where the reports go: --out DIR")
	}
	dir, err := a.needLake(false)
	if err != nil {
		return err
	}
	inv, err := local.ReadInventory(a.config.Inventory)
	if err != nil {
		return failure{exitUsage, err}
	}
	catalogue, rules, err := a.catalogue()
	if err != nil {
		return err
	}
	lock, err := lake.NewLock(filepath.Join(a.config.Out, "nights"))
	if err != nil {
		return err
	}
	defer lock.Close()
	job := a.job(dir)
	job.SkipEmpty = true
	in, err := a.ingest(ctx, job, sources)
	if err != nil {
		return err
	}
	if in.NewBytes > 0 && !in.Useful() {
		a.say("iopathy: no input gave an event or a sample")
	}
	dates, err := job.FeaturesAnew(ctx)
	if err != nil {
		return err
	}
	if other, err := job.OtherWindows(); err != nil {
		return err
	} else if other != "" {
		a.say("iopathy: %s", other)
	}
	nights := []map[string]any{}
	var outcome error
	for _, date := range dates {
		if err := ctx.Err(); err != nil {
			return err
		}
		windows, err := job.WindowsBetween(date, date)
		if err != nil {
			return err
		}
		if len(windows) == 0 {
			continue
		}
		d, why, err := job.DiagnoseNight(windows, inv, rules)
		if err != nil {
			return err
		}
		if why != "" {
			a.say("iopathy: %s: fitted anew: %s", date, why)
		}
		a.words(&d.Result)
		if err := job.StoreDiagnosis(d); err != nil {
			return err
		}
		files, err := job.Write(ctx, local.NightDir(a.config.Out, date), d, catalogue, in)
		if err != nil {
			return err
		}
		if outcome == nil {
			outcome = a.verdictCode(d, nil)
		}
		if a.json() {
			nights = append(nights, map[string]any{"date": date, "verdict": local.Summarise(d), "files": files, "fitted_anew": why})
			continue
		}
		fmt.Fprintln(a.stdout, date)
		for _, line := range local.Verdict(d, 5) {
			fmt.Fprintln(a.stdout, line)
		}
	}
	index := filepath.Join(a.config.Out, "index.html")
	if len(nights) > 0 || len(dates) > 0 || !exists(index) {
		if index, err = job.WriteIndex(a.config.Out, catalogue); err != nil {
			return err
		}
	}
	switch {
	case a.json():
		if err := a.print(map[string]any{"nights": nights, "ingest": in.Account, "index": index}); err != nil {
			return err
		}
	case len(dates) == 0:
		fmt.Fprintln(a.stdout, "nothing new")
	default:
		fmt.Fprintln(a.stdout, "wrote", index)
	}
	if len(in.OverAll) > 0 {
		return failure{exitRejects, fmt.Errorf("%d of %d inputs have too many rejects (--max-rejects %g)", len(in.OverAll), in.Inputs, a.config.MaxRejects)}
	}
	return outcome
}
