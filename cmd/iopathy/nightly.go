package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cmd/internal/alerts"
	"github.com/iopathy/iopathy/cmd/internal/local"
	"github.com/iopathy/iopathy/cmd/internal/nights"
)

func (a *app) nightlyCmd() *cobra.Command {
	return &cobra.Command{
		Use: "nightly [SOURCE...] --config FILE", Short: "What a timer starts: new logs into the lake, a report for each date that they concern", GroupID: "job",
		Example: "  iopathy nightly --config /etc/iopathy.yaml\n  iopathy nightly /var/log/io --out /var/lib/iopathy --fail-on 4 --quiet",
		RunE:    func(cmd *cobra.Command, args []string) error { return a.nightly(cmd.Context(), args) },
	}
}

// grace is how long the logs in hand may take to be read to their end after the
// night was told to stop.
const grace = time.Minute

// nightly reads what is new in the sources, makes the windows that it concerns,
// and reports their dates.
func (a *app) nightly(ctx context.Context, args []string) error {
	began := time.Now()
	sources, err := a.sources(args)
	if err != nil {
		return err
	}
	if a.config.Out == "" {
		return usage("say where the reports go: --out DIR")
	}
	dir, err := a.writeLake(false)
	if err != nil {
		return err
	}
	inv, err := local.Inventory(&a.config)
	if err != nil {
		return failure{exitUsage, err}
	}
	catalogue, rules, err := a.catalogue()
	if err != nil {
		return err
	}
	say := func(format string, args ...any) { a.say("iopathy: "+format, args...) }
	desk, err := alerts.NewDesk(&a.config, a.config.Out, catalogue, version().Version, say)
	if err != nil {
		return failure{exitUsage, err}
	}
	lock, err := nights.NewLock(dir, a.config.Out)
	if err != nil {
		return err
	}
	defer lock.Close()
	job := a.job(dir)
	job.SkipEmpty, job.Stop = true, ctx.Done()
	in, err := a.ingest(beyond(ctx, grace), job, sources)
	if err != nil {
		return err
	}
	if in.Left > 0 {
		a.say("iopathy: told to stop: %s left for the next night", cluster.Counted(in.Left, "input"))
	}
	if in.NewBytes > 0 && !in.Useful() {
		a.say("iopathy: no input gave an event or a sample")
	}
	if err := a.publish(beyond(ctx, grace)); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	job.Stop = nil
	if err := job.Mend(ctx, sources, say); err != nil {
		return err
	}
	done, err := nights.Run(ctx, &nights.Job{Local: job, Out: a.config.Out, Ingested: in, Inventory: inv, Catalogue: catalogue, Rules: rules, NowNS: a.now().UnixNano(),
		Say: say, Judged: func(dir, date string, d *local.Diagnosed) error { return desk.Judged(job, dir, date, d) }})
	if err != nil {
		return err
	}
	if err := a.publish(ctx); err != nil {
		return err
	}
	if err := desk.Send(ctx); err != nil {
		return err
	}
	if err := desk.WriteMetrics(alerts.Figures{Version: version().Version, Account: in.Account, Duration: time.Since(began), Now: a.now()}); err != nil {
		return err
	}
	if err := a.tellNight(done, in); err != nil {
		return err
	}
	if len(in.OverAll) > 0 {
		return failure{exitRejects, fmt.Errorf("too many rejects in %d of %s (--max-rejects %g)", len(in.OverAll), cluster.Counted(in.Inputs, "input"), a.config.MaxRejects)}
	}
	for _, n := range done.Nights {
		if err := a.reached(n.Episodes); err != nil {
			return err
		}
	}
	return nil
}

// beyond is a context that ends some time after another.
func beyond(ctx context.Context, grace time.Duration) context.Context {
	later, end := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() {
		extend(ctx, grace+patience)
		time.AfterFunc(grace, end)
	})
	return later
}

// tellNight prints what a night did.
func (a *app) tellNight(r *nights.Result, in *local.Ingested) error {
	if a.json() {
		return a.print(struct {
			*nights.Result
			Ingest local.Account `json:"ingest"`
		}{r, in.Account})
	}
	for _, n := range r.Nights {
		fmt.Fprintln(a.stdout, n.Date)
		for _, line := range n.Lines {
			fmt.Fprintln(a.stdout, line)
		}
	}
	if p := r.Pruned; p.Parts+p.Reports > 0 {
		fmt.Fprintf(a.stdout, "removed for their age: %s (%s), the events of %s, %s\n", cluster.Counted(p.Parts, "part"), cluster.Counted(p.Bytes, "byte"), cluster.Counted(p.Days, "host-day"), cluster.Counted(p.Reports, "report"))
	}
	if c := r.Compacted; c.Into > 0 {
		fmt.Fprintf(a.stdout, "merged %s into %d\n", cluster.Counted(c.Parts, "part"), c.Into)
	}
	if f := r.Folded; f.Runs+f.Models > 0 {
		fmt.Fprintf(a.stdout, "folded the manifests of %s into one, removed %s\n", cluster.Counted(f.Runs, "run"), cluster.Counted(f.Models, "old model"))
	}
	if !r.Changed() {
		_, err := fmt.Fprintln(a.stdout, "nothing new")
		return err
	}
	_, err := fmt.Fprintln(a.stdout, "wrote", r.Index)
	return err
}
