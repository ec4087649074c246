package configs

import (
	"fmt"
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
	Report     Report        `mapstructure:"report"`
	Refit      time.Duration `mapstructure:"refit"`     // how old a model may be, by its data, before nightly fits anew
	Drift      Drift         `mapstructure:"drift"`     // what nightly fits anew for, beside age
	Retention  Retention     `mapstructure:"retention"` // what nightly removes
	Compact    bool          `mapstructure:"compact"`   // nightly merges the small parts of finished days
	Alert      Alert         `mapstructure:"alert"`     // kept for verbs to come: checked, not read

	Ingest   ingest.Options       `mapstructure:"ingest"`
	Features features.Options     `mapstructure:"features"`
	Reduce   reduce.Options       `mapstructure:"reduce"`
	Cluster  cluster.Options      `mapstructure:"cluster"`
	Heatmap  heatmap.FleetOptions `mapstructure:"heatmap"`
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
// data; 0 keeps them for ever.
type Retention struct {
	Events  time.Duration `mapstructure:"events"`  // with samples and evidence
	Ticks   time.Duration `mapstructure:"ticks"`   // and what is kept of devices' analyses
	Labels  time.Duration `mapstructure:"labels"`  // and windows
	Reports time.Duration `mapstructure:"reports"` // pages of nights
}

// Alert is what a pager is told.
type Alert struct {
	Severity float64 `mapstructure:"severity"` // of an episode, at least
	Metrics  string  `mapstructure:"metrics"`  // file for node_exporter's textfile collector
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
		Retention: Retention{Events: 14 * day, Ticks: 90 * day, Labels: 400 * day, Reports: 400 * day},
		Compact:   true,
		Report:    Report{Title: "I/O pathology report"},
		Alert:     Alert{Severity: 4},
		Ingest:    ingest.DefaultOptions(),
		Features:  f,
		Reduce:    reduce.DefaultOptions(),
		Cluster:   cluster.DefaultOptions(),
		Heatmap:   heatmap.DefaultFleetOptions(),
	}
}

// Validate checks what can be checked without opening a file; the error names
// the key.
func (c *Config) Validate() error {
	bad := func(key, format string, args ...any) error {
		return fmt.Errorf("config: %s: %s", key, fmt.Sprintf(format, args...))
	}
	switch {
	case c.Window <= 0:
		return bad("window", "%v is not a positive duration", c.Window)
	case c.Tick <= 0:
		return bad("tick", "%v is not a positive duration", c.Tick)
	case c.Workers < 0:
		return bad("workers", "%d is negative", c.Workers)
	case c.Output != "text" && c.Output != "json":
		return bad("output", "%q is neither text nor json", c.Output)
	case c.MaxRejects < 0 || c.MaxRejects > 1:
		return bad("max_rejects", "%v is not a share between 0 and 1", c.MaxRejects)
	case c.FailOn < 0:
		return bad("fail_on", "%v is negative", c.FailOn)
	case c.Refit < 0:
		return bad("refit", "%v is negative", c.Refit)
	case c.Budget < 0:
		return bad("budget", "%d is negative", c.Budget)
	case !(c.Drift.Shift >= 0):
		return bad("drift.shift", "%v is negative", c.Drift.Shift)
	case !(c.Drift.Far >= 0 && c.Drift.Far <= 1):
		return bad("drift.far", "%v is not a share between 0 and 1", c.Drift.Far)
	}
	for _, r := range []struct {
		key  string
		kept time.Duration
	}{{"events", c.Retention.Events}, {"ticks", c.Retention.Ticks}, {"labels", c.Retention.Labels}, {"reports", c.Retention.Reports}} {
		if r.kept < 0 {
			return bad("retention."+r.key, "%v is negative", r.kept)
		}
	}
	if err := c.Features.Validate(); err != nil {
		return fmt.Errorf("config: %w", err)
	}
	if err := c.Reduce.Validate(); err != nil {
		return bad("reduce", "%v", err)
	}
	if err := c.Cluster.Validate(); err != nil {
		return bad("cluster", "%v", err)
	}
	if _, err := time.LoadLocation(c.Ingest.Zone); err != nil {
		return bad("ingest.zone", "%q is no time zone", c.Ingest.Zone)
	}
	if d, err := time.ParseDuration(c.Ingest.Interval); err != nil || d <= 0 {
		return bad("ingest.interval", "%q is not a positive duration", c.Ingest.Interval)
	}
	for _, o := range c.Ingest.ClockOffset {
		if _, err := ingest.ParseClockOffset(o); err != nil {
			return bad("ingest.clock_offset", "%v", err)
		}
	}
	if err := checkMappings(c.Ingest.Mappings); err != nil {
		return err
	}
	if _, err := heatmap.ParseScale(c.Scale); err != nil {
		return bad("scale", "%v", err)
	}
	return nil
}
