package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/iopathy/iopathy/cmd/internal/local"
	"github.com/iopathy/iopathy/cmd/internal/mirror"
	"github.com/iopathy/iopathy/configs"
	"github.com/iopathy/iopathy/ingest/bucket"
	"github.com/iopathy/iopathy/ingest/lake"
)

// The exit codes.
const (
	exitFine        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitReached     = 3 // finished, and the asked threshold was reached
	exitRejects     = 4 // too many rejects
	exitBusy        = 5 // another iopathy writes there
	exitInterrupted = 130
)

// failure is an error that chooses the exit code.
type failure struct {
	code int
	err  error
}

func (f failure) Error() string { return f.err.Error() }
func (f failure) Unwrap() error { return f.err }

func usage(format string, args ...any) error {
	return failure{exitUsage, fmt.Errorf(format, args...)}
}

// app is what every verb is given.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	config         configs.Config
	values         []configs.Value
	configFile     string
	quiet          bool
	force          bool
	refit          bool
	figuresDir     string
	shard          string
	buckets        bucket.Opened    // of sources and lakes that are URLs
	clock          func() time.Time // nil: the machine's
	mirror         *mirror.Copy     // working copy of a lake in a bucket; nil: the lake is a directory, or not open
	copies         []*mirror.Copy   // that one, and those of lakes beside it
	folders        []*mirror.Folder // directories that stand for folders of buckets
	out            *mirror.Folder   // that of --out; nil: it is a directory
	place          bucket.Place     // of that lake
	ctx            context.Context  // of the run
}

// now is the time of the machine's clock, which may be set back between two runs.
func (a *app) now() time.Time {
	if a.clock != nil {
		return a.clock()
	}
	return time.Now()
}

// run is the whole program: it returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{stdin: stdin, stderr: stderr}
	a.stdout = naming{stdout, a}
	return a.run(ctx, args)
}

func (a *app) run(ctx context.Context, args []string) int {
	a.ctx = ctx
	stdin, stdout, stderr := a.stdin, a.stdout, a.stderr
	root := a.root()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := a.closeLake(a.send(execute(ctx, root)))
	if err == nil {
		return exitFine
	}
	var f failure
	var busy *lake.Busy
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "iopathy: interrupted")
		return exitInterrupted
	case errors.As(err, &busy):
		fmt.Fprintf(stderr, "iopathy: %v\n", err)
		return exitBusy
	case errors.As(err, &f):
		fmt.Fprintf(stderr, "iopathy: %v\n", f.err)
		return f.code
	case bucket.Wrong(err):
		fmt.Fprintf(stderr, "iopathy: %v\n", err)
		return exitUsage
	case isUsage(err):
		fmt.Fprintf(stderr, "iopathy: %v (see iopathy --help)\n", err)
		return exitUsage
	default:
		fmt.Fprintf(stderr, "iopathy: %v\n", err)
		return exitFailed
	}
}

// execute runs the verb. Verbs read windows by themselves, too: what befalls the
// file that they lie in is an error like others.
func execute(ctx context.Context, root *cobra.Command) (err error) {
	defer local.Rescue(&err)
	return root.ExecuteContext(ctx)
}

// isUsage knows the errors that cobra makes of wrong words and flags.
func isUsage(err error) bool {
	for _, head := range []string{"unknown command", "unknown flag", "unknown shorthand", "flag needs", "invalid argument", "accepts ", "requires ", "required flag", "config: "} {
		if strings.HasPrefix(err.Error(), head) {
			return true
		}
	}
	return false
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "iopathy VERB [flags] [SOURCE...]",
		Short: "Mine I/O logs for I/O pathologies",
		Long: `iopathy reads what storage tools write (block traces, fio, iostat), keeps every
I/O in a Parquet lake, describes each device and window by 12 temporal features,
finds the sick ones, names what they suffer from with evidence, and writes an
offline HTML report. A SOURCE is a file, a directory, a glob, the URL of a
bucket (s3://BUCKET/PREFIX/) or - for standard input.`,
		Example: `  iopathy demo
  iopathy run trace.blkparse.gz --out report/
  iopathy run logs/ --inventory inventory.csv --out report/`,
		SilenceUsage:      true,
		SilenceErrors:     true,
		DisableAutoGenTag: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return a.load(cmd) },
	}
	pf := root.PersistentFlags()
	pf.StringVar(&a.configFile, "config", "", "YAML file of settings (see iopathy config show)")
	pf.BoolVar(&a.quiet, "quiet", false, "no words on stderr but errors")
	a.settingFlags(root)
	root.AddGroup(&cobra.Group{ID: "job", Title: "Jobs:"}, &cobra.Group{ID: "stage", Title: "Stages:"}, &cobra.Group{ID: "know", Title: "Knowledge:"})
	root.AddCommand(a.runCmd(), a.demoCmd(), a.ingestCmd(), a.featuresCmd(), a.fitCmd(), a.labelCmd(), a.reportCmd(), a.nightlyCmd(), a.mergeCmd(),
		a.evaluateCmd(), a.calibrateCmd(), a.explainCmd(), a.postmortemCmd(), a.compareCmd(), a.matrixCmd(), a.formatsCmd(), a.queryCmd(), a.serveCmd(), a.catalogueCmd(), a.configCmd(), a.verifyCmd(), a.pseudonymCmd(), a.anonymiseCmd(), a.alignCmd(), a.generateCmd(), a.manCmd(), a.versionCmd())
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return failure{exitUsage, err} })
	return root
}

// settingFlags gives each config key that people set by hand its flag; the
// name is the key with dots and underscores turned to dashes.
func (a *app) settingFlags(root *cobra.Command) {
	d := configs.Default()
	pf := root.PersistentFlags()
	pf.String("lake", d.Lake, "directory, or URL of a bucket, of the Parquet lake (default OUT/lake)")
	pf.String("out", d.Out, "directory for report.html, report.json, labels.csv, labels.parquet")
	pf.String("inventory", d.Inventory, "CSV with host,device,model,rotational, and limits of devices")
	pf.Duration("window", d.Window, "length of a window, the unit that is classified")
	pf.Duration("tick", d.Tick, "length of a tick, the smallest time bin")
	pf.Uint64("seed", d.Seed, "seed of what is sampled")
	pf.Int("workers", d.Workers, "goroutines; 0 is one a core; the result does not depend on it")
	pf.String("output", d.Output, "text, or json: one object on stdout and nothing else")
	pf.Float64("max-rejects", d.MaxRejects, "share of an input's lines that may be rejected")
	pf.Float64("fail-on", d.FailOn, "exit 3 if an episode is at least this severe; 0 is off")
	pf.Int("budget", d.Budget, "report only so many episodes, the most costly first; 0 is all")
	pf.String("catalogue", d.Catalogue, "another catalogue of pathologies (YAML)")
	pf.String("model", d.Model, "label with this model file instead of fitting")
	pf.String("anonymise", d.Anonymise, "file with a key: names from logs become pseudonyms in everything that is written")
	pf.String("scale", d.Scale, "colour scale: group, mission, or IOPS,MS,DEPTH")
	pf.String("report-echarts-js", d.Report.EchartsJS, "inline this echarts build")
	pf.String("report-title", d.Report.Title, "title of the report")
	for _, short := range []string{"", "ingest-"} {
		pf.String(short+"format", d.Ingest.Format, "read every input as this format (see iopathy formats)")
		pf.String(short+"host", d.Ingest.Host, "host of inputs that name none")
	}
	pf.Int("ingest-read-bytes", d.Ingest.ReadBytes, "size of one read; the result does not depend on it")
	pf.StringArray("clock-offset", d.Ingest.ClockOffset, "OFFSET or GLOB=OFFSET: the time of a log's stamp 0 (RFC 3339, @SECONDS), or a duration to add")
	pf.Bool("clock-mtime", d.Ingest.ClockMtime, "tie a relative clock that nothing else does to the time its file was last written")
	pf.Bool("clock-align", d.Ingest.ClockAlign, "date a clock that nothing else does by another log of the host that saw the same I/Os")
	pf.Int64("ingest-start-ns", d.Ingest.StartNS, "epoch in ns of second 0 of sources with a relative clock")
	pf.String("ingest-zone", d.Ingest.Zone, "zone of local time stamps")
	pf.String("ingest-interval", d.Ingest.Interval, "interval of samples without time stamps")
	pf.String("ingest-latency-unit", d.Ingest.LatencyUnit, "unit of fio's latency logs: ns or us")
	for _, short := range []string{"", "cluster-"} {
		pf.String(short+"k", d.Cluster.K.String(), "number of classes; auto chooses by stability and silhouette")
	}
	for _, hidden := range []string{"ingest-read-bytes", "ingest-format", "ingest-host", "cluster-k"} {
		_ = pf.MarkHidden(hidden) // it exists: registered above
	}
}

// load settles the configuration once, before any verb.
func (a *app) load(cmd *cobra.Command) error {
	if cmd.Name() == "validate" || cmd.Name() == "version" || cmd.Parent() != nil && cmd.Parent().Name() == "completion" {
		return nil
	}
	c, values, err := configs.Load(a.configFile, cmd.Flags())
	if err != nil {
		return failure{exitUsage, err}
	}
	a.config, a.values = c, values
	return a.fromBuckets(cmd)
}

// say writes words for people.
func (a *app) say(format string, args ...any) {
	if !a.quiet {
		fmt.Fprintln(a.stderr, a.standIns().Replace(fmt.Sprintf(format, args...)))
	}
}

// json reports whether machines listen.
func (a *app) json() bool { return a.config.Output == "json" }

// print writes one JSON object on stdout.
func (a *app) print(v any) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
