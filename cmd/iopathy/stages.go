package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cmd/internal/local"
	"github.com/iopathy/iopathy/reports"
)

func (a *app) ingestCmd() *cobra.Command {
	mend := false
	cmd := &cobra.Command{
		Use: "ingest SOURCE... --lake DIR", Short: "Read logs into the lake", GroupID: "stage",
		Example: "  iopathy ingest logs/ --lake lake/\n  iopathy ingest --repair logs/ --lake lake/",
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.shard != "" {
				return a.readShard(cmd.Context(), args)
			}
			sources, err := a.sources(args)
			if err != nil {
				return err
			}
			dir, err := a.writeLake(false)
			if err != nil {
				return err
			}
			if mend {
				return a.repair(cmd.Context(), sources)
			}
			fresh := firstMissing(dir)
			in, err := a.ingest(cmd.Context(), a.job(dir), sources)
			if err != nil {
				removeFresh(fresh)
				return err
			}
			if !in.Useful() {
				removeFresh(fresh)
			}
			if in.Useful() || a.mirror != nil && !a.mirror.Empty() {
				if err := a.publish(cmd.Context()); err != nil {
					return err
				}
			}
			if a.json() {
				if err := a.print(in.Account); err != nil {
					return err
				}
			} else {
				fmt.Fprintf(a.stdout, "%s, %s: %s, %s, %d rejected, %d unpaired, %d of copies; %s\n",
					cluster.Counted(in.Inputs, "input"), cluster.Counted(in.Lines, "line"), cluster.Counted(in.Events, "event"), cluster.Counted(in.Samples, "sample"), total(in.Rejects), total(in.Unpaired), in.Duplicates, cluster.Counted(in.Parts, "part"))
			}
			if !in.Useful() {
				return failure{exitFailed, fmt.Errorf("no input gave an event or a sample")}
			}
			if len(in.OverAll) > 0 {
				return failure{exitRejects, fmt.Errorf("too many rejects in %d of %s (--max-rejects %g)", len(in.OverAll), cluster.Counted(in.Inputs, "input"), a.config.MaxRejects)}
			}
			return nil
		},
	}
	a.shardFlag(cmd, "read only the share of process i of N into --out, for merge")
	cmd.Flags().BoolVar(&mend, "repair", false, "write only the parts anew that verify finds damaged or missing")
	return cmd
}

func total(m map[string]int64) int64 {
	var n int64
	for _, v := range m {
		n += v
	}
	return n
}

func (a *app) featuresCmd() *cobra.Command {
	vectors := ""
	cmd := &cobra.Command{
		Use: "features --lake DIR | PART... --shard i/N", Short: "Describe each device and window by 12 features", GroupID: "stage",
		Example: "  iopathy features --lake lake/ --window 10s --tick 100ms\n  iopathy features --lake lake/ --vectors vectors.csv\n  iopathy features part-0 part-1 --shard 0/2",
		RunE: func(cmd *cobra.Command, args []string) error {
			if vectors != "" {
				return a.vectors(cmd.Context(), args, vectors)
			}
			if a.shard != "" {
				return a.foldShard(cmd.Context(), args)
			}
			if len(args) > 0 {
				return usage("accepts no arguments but with --shard")
			}
			dir, err := a.writeLake(true)
			if err != nil {
				return err
			}
			windows, ticks, err := a.job(dir).MakeFeatures(cmd.Context())
			if err != nil {
				return err
			}
			if err := a.publish(cmd.Context()); err != nil {
				return err
			}
			if a.json() {
				return a.print(map[string]any{"windows": windows, "ticks": ticks})
			}
			_, err = fmt.Fprintf(a.stdout, "%s, %s\n", cluster.Counted(windows, "window"), cluster.Counted(ticks, "tick"))
			return err
		},
	}
	a.shardFlag(cmd, "make the share of process i of N of what the shards have read (PART...)")
	cmd.Flags().StringVar(&vectors, "vectors", "", "write the 12 features of each window as CSV to this file (- is standard output), and nothing else: the lake stays as it is")
	return cmd
}

// diagnosed is what fit and label begin with: the windows of the lake, and what
// is said of them.
func (a *app) diagnosed(fit bool) (*local.Job, *local.Diagnosed, error) {
	if _, err := a.writeLake(true); err != nil {
		return nil, nil, err
	}
	return a.diagnosedOf(fit, "", "9999-12-31")
}

// diagnosedOf is diagnosed of the dates from the first to the last.
func (a *app) diagnosedOf(fit bool, first, last string) (*local.Job, *local.Diagnosed, error) {
	dir, err := a.needLake(true)
	if err != nil {
		return nil, nil, err
	}
	inv, err := local.Inventory(&a.config)
	if err != nil {
		return nil, nil, failure{exitUsage, err}
	}
	_, rules, err := a.catalogue()
	if err != nil {
		return nil, nil, err
	}
	job := a.job(dir)
	windows, err := job.WindowsBetween(first, last)
	if err != nil {
		return nil, nil, err
	}
	if other, err := job.OtherWindows(); err != nil {
		return nil, nil, err
	} else if other != "" {
		a.say("iopathy: %s", other)
	}
	switch {
	case windows.Len() == 0 && first != "":
		return nil, nil, usage("the lake holds no windows from %s to %s", first, last)
	case windows.Len() == 0:
		return nil, nil, errNoWindows
	}
	if !fit {
		d, err := job.Relabel(windows, inv, rules)
		return job, d, err
	}
	d, err := job.Diagnose(windows, inv, rules, a.refit)
	return job, d, err
}

func (a *app) fitCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "fit --lake DIR", Short: "Fit the model on the lake's windows", GroupID: "stage", Args: cobra.NoArgs,
		Example: "  iopathy fit --lake lake/ --inventory inventory.csv",
		RunE: func(*cobra.Command, []string) error {
			job, d, err := a.diagnosed(true)
			if err != nil {
				return err
			}
			a.words(&d.Result)
			path, err := job.StoreModel(d)
			if err != nil {
				return err
			}
			if err := a.publish(a.ctx); err != nil {
				return err
			}
			path = strings.Replace(path, job.Lake, job.Named(), 1)
			if a.json() {
				return a.print(map[string]any{"model": d.Result.Model, "classes": len(d.Result.Classes), "file": path})
			}
			_, err = fmt.Fprintf(a.stdout, "%s model, %s: %s\n", d.Result.Model, cluster.Counted(len(d.Result.Classes), "class"), path)
			return err
		},
	}
	cmd.Flags().BoolVar(&a.refit, "refit", false, "fit even when the input is small")
	return cmd
}

func (a *app) labelCmd() *cobra.Command {
	return &cobra.Command{
		Use: "label --lake DIR", Short: "Label the lake's windows with its model", GroupID: "stage", Args: cobra.NoArgs,
		Example: "  iopathy label --lake lake/",
		RunE: func(*cobra.Command, []string) error {
			job, d, err := a.diagnosed(false)
			if err != nil {
				return err
			}
			if err := a.store(a.ctx, job, d); err != nil {
				return err
			}
			if err := a.tell(d, &local.Ingested{}, nil); err != nil {
				return err
			}
			return a.verdictCode(d, nil)
		},
	}
}

func (a *app) reportCmd() *cobra.Command {
	schema := false
	var night, from, to string
	cmd := &cobra.Command{
		Use: "report --lake DIR --out DIR", Short: "Write the report of what the lake holds", GroupID: "stage", Args: cobra.NoArgs,
		Example: "  iopathy report --lake lake/ --out report/\n  iopathy report --lake lake/ --night 2026-11-29 --out report/",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if schema {
				_, err := a.stdout.Write(reports.Schema())
				return err
			}
			if a.config.Out == "" {
				return usage("say where the report goes: --out DIR")
			}
			if err := errors.Join(local.CheckOut(a.config.Out, a.force), local.CheckFigures(a.figuresDir, a.force)); err != nil {
				return failure{exitUsage, err}
			}
			catalogue, _, err := a.catalogue()
			if err != nil {
				return err
			}
			first, last, err := dates(night, from, to)
			if err != nil {
				return err
			}
			job, d, err := a.diagnosedOf(false, first, last)
			if err != nil {
				return err
			}
			in, err := job.IngestedBefore()
			if err != nil {
				return err
			}
			files, err := job.Write(cmd.Context(), a.config.Out, d, catalogue, in)
			if err != nil {
				return err
			}
			if err := a.tell(d, in, files); err != nil {
				return err
			}
			return a.verdictCode(d, nil)
		},
	}
	cmd.Flags().BoolVar(&schema, "schema", false, "print the JSON Schema of report.json and do nothing else")
	cmd.Flags().BoolVar(&a.force, "force", false, "put the report into a directory that holds other things")
	cmd.Flags().StringVar(&a.figuresDir, "figures", "", "directory for every figure as SVG (maps also PNG) and the tables as CSV, JSON, Parquet")
	cmd.Flags().StringVar(&night, "night", "", "of this date alone: 2006-01-02")
	cmd.Flags().StringVar(&from, "from", "", "of this date and later ones")
	cmd.Flags().StringVar(&to, "to", "", "of dates up to this one")
	return cmd
}

// dates are the first and last date of a report; "" where all are asked for.
func dates(night, from, to string) (first, last string, err error) {
	if night != "" && from+to != "" {
		return "", "", usage("--night is one date: without --from and --to")
	}
	first, last = cmp.Or(night, from), cmp.Or(night, to, "9999-12-31")
	for _, d := range []string{first, last} {
		if _, err := time.Parse(time.DateOnly, d); d != "" && err != nil {
			return "", "", usage("%q is no date such as 2026-11-29", d)
		}
	}
	if first > last {
		return "", "", usage("--from %s is after --to %s", first, last)
	}
	return first, last, nil
}
