package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cmd/internal/local"
	"github.com/iopathy/iopathy/ingest"
)

func (a *app) runCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "run SOURCE... --out DIR", Short: "The main job: ingest, features, fit, label, report", GroupID: "job",
		Example: `  iopathy run trace.blkparse.gz --out report/
  iopathy run logs/ --inventory inventory.csv --window 10s --tick 100ms --out report/
  zcat events.csv.gz | iopathy run - --out report/ --output json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.shard != "" {
				return a.readShard(cmd.Context(), args)
			}
			_, err := a.mainJob(cmd.Context(), args)
			return err
		},
	}
	a.shardFlag(cmd, "read only the share of process i of N into --out, for merge")
	cmd.Flags().BoolVar(&a.force, "force", false, "put the report into a directory that holds other things")
	cmd.Flags().StringVar(&a.figuresDir, "figures", "", "directory for every figure as SVG (maps also PNG) and the tables as CSV, JSON, Parquet")
	cmd.Flags().BoolVar(&a.refit, "refit", false, "fit even when the input is small")
	return cmd
}

// sources are the arguments, or those of the config file.
func (a *app) sources(args []string) ([]string, error) {
	if len(args) == 0 {
		args = a.config.Sources
	}
	if len(args) == 0 {
		return nil, usage("say what to read: a file, a directory, a glob, the URL of a bucket, or - for standard input")
	}
	return args, nil
}

// mainJob is `iopathy run`: the five stages one after another. What was said
// comes back even when the outcome asks for an exit code of its own.
func (a *app) mainJob(ctx context.Context, args []string) (*local.Diagnosed, error) {
	sources, err := a.sources(args)
	if err != nil {
		return nil, err
	}
	return a.wholeJob(ctx, func(job *local.Job) (*local.Ingested, error) { return frugally(ctx, job, sources, a.stdin) })
}

// wholeJob is the five stages, of which the first is given.
func (a *app) wholeJob(ctx context.Context, ingest func(*local.Job) (*local.Ingested, error)) (*local.Diagnosed, error) {
	if a.config.Out == "" {
		return nil, usage("say where the report goes: --out DIR")
	}
	if err := errors.Join(local.CheckOut(a.config.Out, a.force), local.CheckFigures(a.figuresDir, a.force)); err != nil {
		return nil, failure{exitUsage, err}
	}
	inv, err := local.Inventory(&a.config)
	if err != nil {
		return nil, failure{exitUsage, err}
	}
	catalogue, rules, err := a.catalogue()
	if err != nil {
		return nil, err
	}
	lakeDir, err := a.writeLake(false)
	if err != nil {
		return nil, err
	}
	fresh := firstMissing(lakeDir, a.config.Out)
	job := a.job(lakeDir)
	in, err := a.hear(ingest(job))
	if err != nil {
		removeFresh(fresh)
		return nil, err
	}
	if !in.Useful() {
		removeFresh(fresh)
		return nil, failure{exitFailed, errNothing}
	}
	if err := a.publish(ctx); err != nil {
		return nil, err
	}
	windows, ticks, err := job.Features(ctx, in.IDs)
	if err != nil {
		return nil, err
	}
	in.Ticks = ticks
	d, err := job.Diagnose(windows, inv, rules, a.refit)
	if err != nil {
		return nil, err
	}
	a.words(&d.Result)
	if err := a.store(ctx, job, d); err != nil {
		return nil, err
	}
	files, err := job.Write(ctx, a.config.Out, d, catalogue, in)
	if err != nil {
		return nil, err
	}
	if err := a.tell(d, in, files); err != nil {
		return nil, err
	}
	return d, a.verdictCode(d, in)
}

// store keeps what was said of windows.
func (a *app) store(ctx context.Context, job *local.Job, d *local.Diagnosed) error {
	if err := job.StoreDiagnosis(d); err != nil {
		return err
	}
	return a.publish(ctx)
}

// ingest runs the stage and says in words what was wrong with the inputs.
func (a *app) ingest(ctx context.Context, job *local.Job, sources []string) (*local.Ingested, error) {
	return a.hear(frugally(ctx, job, sources, a.stdin))
}

// frugally ingests with half the garbage that the collector of memory would let
// lie: the rows of a chunk live throughout, nothing else does, so that it has little to
// do, and the peak is the same however long the input is. The environment's GOGC stands.
func frugally(ctx context.Context, job *local.Job, sources []string, stdin io.Reader) (*local.Ingested, error) {
	if os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(50))
	}
	return job.Ingest(ctx, sources, stdin)
}

// hear says in words what was wrong with the inputs of an ingest.
func (a *app) hear(in *local.Ingested, err error) (*local.Ingested, error) {
	if err != nil {
		if local.IsSourceError(err) {
			return nil, failure{exitUsage, err}
		}
		return nil, err
	}
	for _, w := range in.Warnings {
		a.say("iopathy: %s", plain(w))
	}
	for _, line := range leftOut(in.Skips) {
		a.say("iopathy: %s", line)
	}
	for _, r := range in.Reports {
		path := plain(r.Path)
		if r.Note != "" {
			a.say("iopathy: %s: %s", path, plain(r.Note))
		}
		switch {
		case r.Problem != "":
			a.say("iopathy: %s: %s", path, plain(r.Problem))
		case r.Torn != "":
			a.say("iopathy: %s: ends torn (%s): what came before it was read", path, r.Torn)
		case r.Events+r.Samples+r.Evidence+r.Tally.Duplicate == 0:
			why := r.Tally.Rejects
			if len(why) == 0 {
				why = r.Tally.Unpaired
			}
			a.say("iopathy: %s: no event and no sample in %s of %s%s", path, cluster.Counted(r.Tally.Lines, "line"), r.Format, reasons(why))
		case r.Tally.Unexpected() > 0 && !slices.Contains(in.OverAll, r.Path):
			a.say("iopathy: %s: %d of %s rejected%s", path, r.Tally.Unexpected(), cluster.Counted(r.Tally.Lines, "line"), reasons(r.Tally.UnexpectedBy()))
		}
		if slices.Contains(in.OverAll, r.Path) {
			a.say("iopathy: %s: more than %g %% of its lines were rejected%s (they stand in runs/*.rejects.jsonl of the lake)", path, 100*a.config.MaxRejects, reasons(r.Tally.UnexpectedBy()))
		}
	}
	return in, nil
}

// leftOut says which files below the sources were left out: what is lost by name,
// all else by its reason, with the first of each.
func leftOut(skips []ingest.Skip) (lines []string) {
	count, first := map[string]int{}, map[string]string{}
	for _, s := range skips {
		switch {
		case s.Used:
		case s.Lost:
			lines = append(lines, fmt.Sprintf("%s: left out: %s", plain(s.Path), plain(s.Reason)))
		case count[s.Reason] == 0:
			first[s.Reason] = plain(s.Path)
			fallthrough
		default:
			count[s.Reason]++
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(count)) {
		line := fmt.Sprintf("%s: left out: %s", first[reason], plain(reason))
		if n := count[reason] - 1; n > 0 {
			line += fmt.Sprintf("; and %d more", n)
		}
		lines = append(lines, line)
	}
	return lines
}

// reasons is why lines were rejected, in words, the most frequent first.
func reasons(rejects map[string]int64) string {
	if len(rejects) == 0 {
		return ""
	}
	names := slices.Sorted(maps.Keys(rejects))
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(rejects[b], rejects[a]) })
	var words []string
	for i, n := range names {
		if i == 4 {
			words = append(words, "...")
			break
		}
		words = append(words, fmt.Sprintf("%s %d", n, rejects[n]))
	}
	return ": " + strings.Join(words, ", ")
}

// words prints the warnings of the diagnosis.
func (a *app) words(r *cluster.Result) {
	if r.Why != "" {
		a.say("iopathy: model: %s (%s)", r.Model, r.Why)
	}
	for _, w := range r.Warnings {
		a.say("iopathy: %s", w)
	}
}

// verdictCode turns the outcome into the exit code.
func (a *app) verdictCode(d *local.Diagnosed, in *local.Ingested) error {
	if in != nil && len(in.OverAll) > 0 {
		return failure{exitRejects, fmt.Errorf("too many rejects in %d of %s (--max-rejects %g)", len(in.OverAll), cluster.Counted(in.Inputs, "input"), a.config.MaxRejects)}
	}
	return a.reached(d.Result.Episodes)
}

// reached says that an episode is as severe as was asked for.
func (a *app) reached(episodes []cluster.Episode) error {
	if a.config.FailOn > 0 {
		for _, e := range episodes {
			if e.Severity >= a.config.FailOn {
				return failure{exitReached, fmt.Errorf("%s/%s: %s of severity %.1f reaches --fail-on %g", e.Host, e.Device, e.Pathology, e.Severity, a.config.FailOn)}
			}
		}
	}
	return nil
}

// firstMissing is the topmost of the directories that a run would make.
func firstMissing(dirs ...string) []string {
	var missing []string
	for _, d := range dirs {
		for d = filepath.Clean(d); !exists(d); d = filepath.Dir(d) {
			missing = append(missing, d)
		}
	}
	return missing
}

// removeFresh takes away what a run that gave nothing has made.
func removeFresh(dirs []string) {
	for i := len(dirs) - 1; i >= 0; i-- {
		_ = os.RemoveAll(dirs[i]) // best effort: the run's own error is told
	}
}

// tell prints the outcome: one JSON object, or the verdict in words.
func (a *app) tell(d *local.Diagnosed, in *local.Ingested, files []string) error {
	if a.json() {
		out := map[string]any{"verdict": local.Summarise(d), "files": append([]string{}, files...)}
		if in.Inputs > 0 {
			out["ingest"] = in.Account
		}
		return a.print(out)
	}
	for _, line := range local.Verdict(d, 5) {
		if _, err := fmt.Fprintln(a.stdout, line); err != nil {
			return err
		}
	}
	for _, f := range files {
		if _, err := fmt.Fprintln(a.stdout, "wrote", f); err != nil {
			return err
		}
	}
	return nil
}

// errNoWindows says that a lake has nothing for a stage to work on.
var errNoWindows = errors.New("the lake holds no windows yet: run iopathy features first")
