package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/exec/optimized"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/universal"
	"github.com/spf13/pflag"

	"github.com/iopathy/iopathy/configs"
	"github.com/iopathy/iopathy/ingest/bucket"
	_ "github.com/iopathy/iopathy/ingest/formats"
)

// main hands over to Beam where the engine started this program as a worker.
func main() {
	flag.Usage = func() {
		fmt.Fprint(os.Stderr, usage)
		flag.PrintDefaults()
	}
	flag.Parse()
	beam.Init()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, *runners.Runner, flag.Args(), os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

const usage = `iopathy-beam [BEAM FLAGS] run SOURCE... --out DIR [--shards N] [--deadline D]
  [--config FILE] [--inventory FILE] [--window D] [--tick D] [--host H] [--refit]

iopathy's main job on an engine: Prism in this process, or by
  --runner=universal --endpoint=HOST:8099 --environment_type=LOOPBACK|PROCESS|DOCKER
one that speaks Beam's portable protocol. Paths must mean the same to all workers;
SOURCE, --lake and --out may be URLs of buckets, such as s3://BUCKET/PREFIX.

Beam's flags:
`

// run is the program behind Beam's flags; it gives the exit code.
func run(ctx context.Context, runner string, args []string, stdout, stderr io.Writer) int {
	spec, deadline, err := parse(args)
	if err != nil {
		fmt.Fprintf(stderr, "iopathy-beam: %v\n", err)
		return 2
	}
	if runner == "" {
		runner = "prism"
	}
	counters, err := submit(ctx, runner, spec, deadline)
	if err != nil {
		fmt.Fprintf(stderr, "iopathy-beam: %v\n", err)
		return 1
	}
	for _, c := range counters {
		fmt.Fprintf(stdout, "%s %d\n", c.Name, c.Value)
	}
	fmt.Fprintln(stdout, "wrote", bucket.Redact(spec.Config.Out))
	return 0
}

// parse reads the words behind Beam's flags.
func parse(args []string) (Spec, time.Duration, error) {
	d := configs.Default()
	fs := pflag.NewFlagSet("iopathy-beam", pflag.ContinueOnError)
	fs.Usage = func() {}
	file := fs.String("config", "", "YAML file of settings")
	fs.String("out", d.Out, "directory, or URL of a bucket, of the report, and of the lake if --lake says nothing else")
	fs.String("lake", d.Lake, "directory, or URL of a bucket, of the lake")
	fs.String("inventory", d.Inventory, "CSV of devices")
	fs.String("model", d.Model, "label with this model file instead of fitting")
	fs.Duration("window", d.Window, "length of a window")
	fs.Duration("tick", d.Tick, "length of a tick")
	fs.Int("workers", d.Workers, "goroutines of an element")
	fs.String("host", d.Ingest.Host, "host of inputs that name none")
	fs.String("format", d.Ingest.Format, "read every input as this format")
	shards := fs.Int("shards", 16, "pieces of work that a step is cut into, about")
	deadline := fs.Duration("deadline", 24*time.Hour, "how long the engine may take")
	refit := fs.Bool("refit", false, "fit even when the input is small")
	if err := fs.Parse(args); err != nil {
		return Spec{}, 0, err
	}
	words := fs.Args()
	if len(words) == 0 || words[0] != "run" {
		return Spec{}, 0, errors.New("the verb is run: iopathy-beam [BEAM FLAGS] run SOURCE... --out DIR")
	}
	c, _, err := configs.Load(*file, fs)
	if err != nil {
		return Spec{}, 0, err
	}
	for _, path := range []*string{&c.Out, &c.Lake, &c.Inventory, &c.Model} {
		if *path, err = bucket.LocalPath(*path); err != nil {
			return Spec{}, 0, err
		}
	}
	spec := Spec{Config: c, Sources: words[1:], Shards: *shards, Refit: *refit, Version: version(), RunID: time.Now().UTC().Format("20060102T150405.000Z") + "-beam"}
	if len(spec.Sources) == 0 {
		spec.Sources = c.Sources
	}
	return spec, *deadline, spec.check()
}

// version is the word by which iopathy itself calls a build of the same source.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

// counter is one of the counters of a job.
type counter struct {
	Name  string
	Value int64
}

// submit runs the job and gives its counters, by name. An engine that does not
// answer within the deadline is left: what it has written of the lake no manifest names,
// or all of it.
func submit(ctx context.Context, runner string, spec Spec, deadline time.Duration) ([]counter, error) {
	text, err := spec.Encode()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	type outcome struct {
		result beam.PipelineResult
		err    error
	}
	done := make(chan outcome, 1)
	p := build(text)
	go func() {
		r, err := beam.Run(ctx, runner, p)
		done <- outcome{r, err}
	}()
	var o outcome
	select {
	case o = <-done:
	case <-ctx.Done():
		return nil, fmt.Errorf("the engine has not finished: %w", ctx.Err())
	}
	if o.err != nil {
		return nil, fmt.Errorf("the engine: %w", o.err)
	}
	var all []counter
	if o.result != nil {
		for _, c := range o.result.Metrics().AllMetrics().Counters() {
			if c.Key.Namespace != space {
				continue
			}
			if i := slices.IndexFunc(all, func(k counter) bool { return k.Name == c.Key.Name }); i >= 0 {
				all[i].Value += c.Result()
			} else {
				all = append(all, counter{c.Key.Name, c.Result()})
			}
		}
	}
	slices.SortFunc(all, func(a, b counter) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return all, spec.clean(ctx)
}
