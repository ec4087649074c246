package configs

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/heatmap"
	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/reduce"
)

// Config is everything a run can be told. Its keys are those of the YAML
// file; a flag is the key with dots turned to dashes, an environment variable
// IOPATHY_ and the key in upper case with dots turned to underscores.
type Config struct {
	Sources    []string      `mapstructure:"sources"`
	Lake       string        `mapstructure:"lake"`
	Out        string        `mapstructure:"out"`
	Inventory  string        `mapstructure:"inventory"`
	Window     time.Duration `mapstructure:"window"`
	Tick       time.Duration `mapstructure:"tick"`
	Seed       uint64        `mapstructure:"seed"`
	Workers    int           `mapstructure:"workers"`
	Output     string        `mapstructure:"output"`
	MaxRejects float64       `mapstructure:"max_rejects"`
	FailOn     float64       `mapstructure:"fail_on"`
	Budget     int           `mapstructure:"budget"` // episodes that the report lists; 0 is all
	Catalogue  string        `mapstructure:"catalogue"`
	Model      string        `mapstructure:"model"`
	Scale      string        `mapstructure:"scale"`
	Anonymise  string        `mapstructure:"anonymise"` // file with the key of the pseudonyms that names become; empty: they stay
	Report     Report        `mapstructure:"report"`
	Refit      time.Duration `mapstructure:"refit"`     // how old a model may be, by its data, before nightly fits anew
	Drift      Drift         `mapstructure:"drift"`     // what nightly fits anew for, beside age
	Retention  Retention     `mapstructure:"retention"` // what nightly removes
	Compact    bool          `mapstructure:"compact"`   // nightly merges the small parts of finished days
	Bucket     Bucket        `mapstructure:"bucket"`    // how a lake in a bucket is worked on
	Alert      Alert         `mapstructure:"alert"`     // what nightly tells, and whom
	Actuator   Actuator      `mapstructure:"actuator"`  // who acts on episodes that nightly finds

	Ingest   ingest.Options       `mapstructure:"ingest"`
	Features features.Options     `mapstructure:"features"`
	Reduce   reduce.Options       `mapstructure:"reduce"`
	Cluster  cluster.Options      `mapstructure:"cluster"`
	Heatmap  heatmap.FleetOptions `mapstructure:"heatmap"`
}

// Bucket is how a lake in a bucket is worked on.
type Bucket struct {
	Dir     string        `mapstructure:"dir"`      // where working copies are made; empty: the system's folder for what is temporary
	KeepMiB int           `mapstructure:"keep_mib"` // of files of the lake that stay in the working copy from stage to stage
	Lease   time.Duration `mapstructure:"lease"`    // how long a writer that was killed keeps others out
}

// Report is how the page is made.
type Report struct {
	EchartsJS string `mapstructure:"echarts_js"` // file of another echarts build to inline
	Title     string `mapstructure:"title"`
}

// Drift is from what on windows are too far from those that the model was
// fitted on; 0 is never.
type Drift struct {
	Shift float64 `mapstructure:"shift"` // of the median healthy window, in robust standard deviations
	Far   float64 `mapstructure:"far"`   // share of sick windows that no pathology explains, beyond that at the fit
}

// Retention is how long tables are kept, counted back from the end of the newest
// data, and how many manifests and models; 0 keeps them for ever.
type Retention struct {
	Events  time.Duration `mapstructure:"events"`  // with samples and evidence
	Ticks   time.Duration `mapstructure:"ticks"`   // and what is kept of devices' analyses
	Labels  time.Duration `mapstructure:"labels"`  // and windows
	Reports time.Duration `mapstructure:"reports"` // pages of nights
	Runs    int           `mapstructure:"runs"`    // manifests that stand alone, with the rejected lines of their runs; 0 folds none
	Models  int           `mapstructure:"models"`  // models that others have taken the place of; 0 keeps all
}

const day = 24 * time.Hour

// Default is the configuration of a run that says nothing.
func Default() Config {
	f := features.DefaultOptions()
	return Config{
		Sources: []string{},
		Window:  time.Duration(f.WindowNS), Tick: time.Duration(f.TickNS),
		Seed: 1, Output: "text", MaxRejects: 0.01, Scale: "group",
		Refit:     7 * day,
		Drift:     Drift{Shift: 1, Far: 0.5},
		Retention: Retention{Events: 14 * day, Ticks: 90 * day, Labels: 400 * day, Reports: 400 * day, Runs: 200, Models: 26},
		Compact:   true,
		Bucket:    Bucket{KeepMiB: 4096, Lease: 3 * time.Minute},
		Report:    Report{Title: "I/O pathology report"},
		Alert:     defaultAlert(),
		Actuator:  defaultActuator(),
		Ingest:    ingest.DefaultOptions(),
		Features:  f,
		Reduce:    reduce.DefaultOptions(),
		Cluster:   cluster.DefaultOptions(),
		Heatmap:   heatmap.DefaultFleetOptions(),
	}
}

// A badSetting is what is wrong with the value of a key.
type badSetting struct {
	key, text string
}

func (b badSetting) Error() string { return "config: " + b.key + ": " + b.text }

// Validate checks what can be checked without opening a file; the error joins
// all that is wrong, and names the keys.
func (c *Config) Validate() error {
	var all []error
	bad := func(key, format string, args ...any) {
		all = append(all, badSetting{key, fmt.Sprintf(format, args...)})
	}
	if c.Window <= 0 {
		bad("window", "%v is not a positive duration", c.Window)
	}
	if c.Tick <= 0 {
		bad("tick", "%v is not a positive duration", c.Tick)
	}
	if c.Workers < 0 {
		bad("workers", "%d is negative", c.Workers)
	}
	if scheme, _, ok := strings.Cut(c.Lake, "://"); ok && !slices.Contains([]string{"file", "s3", "gs", "azblob"}, scheme) {
		bad("lake", "a lake lies in a directory or in a bucket (s3://, gs://, azblob://), not at %s://", scheme)
	}
	if c.Bucket.KeepMiB < 0 {
		bad("bucket.keep_mib", "%d is negative", c.Bucket.KeepMiB)
	}
	if c.Bucket.Lease < time.Second {
		bad("bucket.lease", "%v is less than a second", c.Bucket.Lease)
	}
	if c.Output != "text" && c.Output != "json" {
		bad("output", "%q is neither text nor json", c.Output)
	}
	if !(c.MaxRejects >= 0 && c.MaxRejects <= 1) {
		bad("max_rejects", "%v is not a share between 0 and 1", c.MaxRejects)
	}
	if !(c.FailOn >= 0) {
		bad("fail_on", "%v is negative", c.FailOn)
	}
	if c.Budget < 0 {
		bad("budget", "%d is negative", c.Budget)
	}
	if !(c.Drift.Shift >= 0) {
		bad("drift.shift", "%v is negative", c.Drift.Shift)
	}
	if !(c.Drift.Far >= 0 && c.Drift.Far <= 1) {
		bad("drift.far", "%v is not a share between 0 and 1", c.Drift.Far)
	}
	for _, r := range []struct {
		key  string
		kept time.Duration
	}{{"refit", c.Refit}, {"retention.events", c.Retention.Events}, {"retention.ticks", c.Retention.Ticks}, {"retention.labels", c.Retention.Labels}, {"retention.reports", c.Retention.Reports}} {
		if r.kept < 0 {
			bad(r.key, "%v is negative", r.kept)
		}
	}
	for _, r := range []struct {
		key  string
		kept int
	}{{"runs", c.Retention.Runs}, {"models", c.Retention.Models}} {
		if r.kept < 0 {
			bad("retention."+r.key, "%d is negative", r.kept)
		}
	}
	c.checkAlerts(bad)
	if err := c.Features.Validate(); err != nil && c.Window > 0 && c.Tick > 0 {
		key, text, _ := strings.Cut(err.Error(), ": ")
		bad(key, "%s", text)
	}
	if err := c.Reduce.Validate(); err != nil {
		bad("reduce", "%v", err)
	}
	if err := c.Cluster.Validate(); err != nil {
		bad("cluster", "%v", err)
	}
	if _, err := time.LoadLocation(c.Ingest.Zone); err != nil {
		bad("ingest.zone", "%q is no time zone", c.Ingest.Zone)
	}
	if d, err := time.ParseDuration(c.Ingest.Interval); err != nil || d <= 0 {
		bad("ingest.interval", "%q is not a positive duration", c.Ingest.Interval)
	}
	for _, o := range c.Ingest.ClockOffset {
		if _, err := ingest.ParseClockOffset(o); err != nil {
			bad("ingest.clock_offset", "%v", err)
		}
	}
	all = append(all, list(checkMappings(c.Ingest.Mappings))...)
	if _, err := heatmap.ParseScale(c.Scale); err != nil {
		bad("scale", "%v", err)
	}
	return errors.Join(all...)
}
