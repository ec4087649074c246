package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cmd/internal/local"
)

// shardFlag gives a verb the flag --shard.
func (a *app) shardFlag(cmd *cobra.Command, does string) {
	cmd.Flags().StringVar(&a.shard, "shard", "", "i/N: "+does)
}

// readShard is `iopathy run` and `iopathy ingest` with --shard: it reads the share
// of one of N processes into --out, for merge.
func (a *app) readShard(ctx context.Context, args []string) error {
	shard, err := local.ParseShard(a.shard)
	if err != nil {
		return failure{exitUsage, err}
	}
	sources, err := a.sources(args)
	if err != nil {
		return err
	}
	if a.config.Out == "" {
		return usage("say where the share of the shard goes: --out DIR")
	}
	if err := local.CheckShare(a.config.Out); err != nil {
		return failure{exitUsage, err}
	}
	job := a.job(a.config.Out)
	share, err := job.ReadShare(ctx, sources, shard, a.config.Out)
	if err != nil {
		if local.IsSourceError(err) {
			return failure{exitUsage, err}
		}
		return err
	}
	n := share.Account(job)
	if a.json() {
		return a.print(n)
	}
	_, err = fmt.Fprintf(a.stdout, "shard %d/%d: %s of %s, %s: %s, %s; %s\n",
		shard.Index, shard.Of, cluster.Counted(len(share.Pieces), "piece"), cluster.Counted(share.Inputs, "input"), cluster.Counted(n.Lines, "line"),
		cluster.Counted(n.Events, "event"), cluster.Counted(n.Samples, "sample"), cluster.Counted(n.Parts, "part"))
	return err
}

// foldShard is `iopathy features` with --shard.
func (a *app) foldShard(ctx context.Context, dirs []string) error {
	shard, err := local.ParseShard(a.shard)
	if err != nil {
		return failure{exitUsage, err}
	}
	shares, folders, err := a.shareDirs(dirs)
	if err != nil {
		return err
	}
	n, err := a.job("").FoldShare(ctx, shares, shard)
	if err != nil {
		return err
	}
	for _, f := range folders {
		if f != nil { // of one of them there is something new
			if err := f.Send(ctx); err != nil {
				return err
			}
		}
	}
	if a.json() {
		return a.print(map[string]any{"windows": n.Windows, "ticks": n.Ticks})
	}
	_, err = fmt.Fprintf(a.stdout, "shard %d/%d: %s, %s\n", shard.Index, shard.Of, cluster.Counted(n.Windows, "window"), cluster.Counted(n.Ticks, "tick"))
	return err
}

func (a *app) mergeCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "merge PART... --out DIR", Short: "Make one run of what the shards of a job have read", GroupID: "job", Args: cobra.MinimumNArgs(1),
		Example: `  iopathy run logs/ --shard 0/2 --out part-0
  iopathy run logs/ --shard 1/2 --out part-1
  iopathy merge part-0 part-1 --out report/`,
		RunE: func(cmd *cobra.Command, args []string) error {
			shares, _, err := a.shareDirs(args)
			if err != nil {
				return err
			}
			_, err = a.wholeJob(cmd.Context(), func(job *local.Job) (*local.Ingested, error) {
				if err := job.LoadFolds(shares); err != nil {
					return nil, err
				}
				return job.Gather(cmd.Context(), shares)
			})
			return err
		},
	}
	cmd.Flags().BoolVar(&a.force, "force", false, "put the report into a directory that holds other things")
	cmd.Flags().StringVar(&a.figuresDir, "figures", "", "directory for every figure as SVG (maps also PNG) and the tables as CSV, JSON, Parquet")
	cmd.Flags().BoolVar(&a.refit, "refit", false, "fit even when the input is small")
	return cmd
}

var errNothing = errors.New("nothing to report: no input gave an event or a sample")
