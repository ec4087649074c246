package alerts

import (
	"bytes"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cmd/internal/local"
	"github.com/iopathy/iopathy/cmd/internal/nights"
	"github.com/iopathy/iopathy/ingest/lake"
)

// Figures is what the metrics are made of.
type Figures struct {
	Version  string
	Newest   *nights.Sums // of the newest date; nil: there is none
	Account  local.Account
	Duration time.Duration // of the run
	Now      time.Time     // its end
	Backlog  []Backlog
}

// Backlog is a queue as it stands.
type Backlog struct {
	Receiver string
	Waiting  int
	Dropped  int64
}

// Metrics writes the figures in Prometheus' text format, by name and labels:
// names and units by its conventions (base units, snake case, no _total on what
// is no counter). Every pathology of the catalogue has its sample, also with 0.
func Metrics(f Figures, catalogue cluster.Catalogue) ([]byte, error) {
	reg := prometheus.NewPedanticRegistry()
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "iopathy", Name: name, Help: help}, labels)
		reg.MustRegister(g) // fails only for what is written here
		return g
	}
	one := func(name, help string, v float64) { gauge(name, help).WithLabelValues().Set(v) }
	gauge("build_info", "Version of iopathy; always 1.", "version").WithLabelValues(f.Version).Set(1)
	one("run_duration_seconds", "How long the last night's work took.", f.Duration.Seconds())
	one("last_success_timestamp_seconds", "When a night's work last ended well, in seconds since 1970.", float64(f.Now.UnixMilli())/1000)
	one("inputs", "Inputs that the last run found.", float64(f.Account.Inputs))
	one("input_bytes", "Decompressed bytes that the last run read and the lake did not hold.", float64(f.Account.NewBytes))
	one("input_lines", "Lines of the inputs of the last run.", float64(f.Account.Lines))
	total := int64(0)
	for _, n := range f.Account.Rejects {
		total += n
	}
	one("rejected_lines", "Lines of the inputs of the last run that could not be read.", float64(total))
	waiting := gauge("alerts_waiting", "Messages that no receiver has taken yet.", "receiver")
	dropped := gauge("alerts_dropped", "Messages that had no room in the queue or were refused, since there is the queue.", "receiver")
	for _, b := range f.Backlog {
		waiting.WithLabelValues(b.Receiver).Set(float64(b.Waiting))
		dropped.WithLabelValues(b.Receiver).Set(float64(b.Dropped))
	}
	if s := f.Newest; s != nil {
		day, err := time.Parse(time.DateOnly, s.Date)
		if err != nil {
			return nil, fmt.Errorf("metrics: date of a night: %w", err)
		}
		one("night_timestamp_seconds", "Beginning of the newest date that was judged, in seconds since 1970; the figures of devices are of it.", float64(day.Unix()))
		one("devices", "Devices that were judged.", float64(s.Devices))
		one("windows", "Windows that were judged.", float64(s.Windows))
		one("severity", "Largest severity of a window; 1 is the gate, 10 the most.", s.Worst)
		if s.Coverage != nil {
			one("coverage_ratio", "Share of the requests that were seen, mean of the windows.", *s.Coverage)
		}
		one("drift", "Robust standard deviations by which the median healthy window has moved since the fit of the model.", s.Shift)
		one("drift_unexplained_ratio", "Share of sick windows that no pathology explains, less what it was at the fit of the model.", s.Far)
		sick := gauge("sick_devices", "Devices with sick windows; one may have several pathologies.", "pathology")
		seconds := gauge("sick_device_seconds", "Time that devices were sick, added up.", "pathology")
		episodes := gauge("episodes", "Episodes.", "pathology")
		severity := gauge("episode_severity", "Severity of the worst episode; 0 if there is none.", "pathology")
		slugs := []string{cluster.Unrecognised}
		for _, p := range catalogue.Pathologies {
			slugs = append(slugs, p.Slug)
		}
		for p := range s.SickDevices {
			slugs = append(slugs, p) // of a catalogue of another night
		}
		for _, p := range slugs {
			sick.WithLabelValues(p).Set(float64(s.SickDevices[p]))
			seconds.WithLabelValues(p).Set(s.SickSeconds[p])
			episodes.WithLabelValues(p).Set(float64(s.Episodes[p].Number))
			severity.WithLabelValues(p).Set(s.Episodes[p].Worst)
		}
	}
	families, err := reg.Gather()
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	var b bytes.Buffer
	for _, m := range families {
		if _, err := expfmt.MetricFamilyToText(&b, m); err != nil {
			return nil, fmt.Errorf("metrics: %w", err)
		}
	}
	return b.Bytes(), nil
}

// WriteMetrics writes the figures of a run that ended well into the file that
// the settings name, whole. The file of a run that fails stays as it was, and
// its last success gets old.
func (k *Desk) WriteMetrics(f Figures) error {
	path := k.config.Alert.Metrics
	if path == "" {
		return nil
	}
	var err error
	if f.Newest, err = nights.Newest(k.out, f.Now.UnixNano()); err != nil {
		return err
	}
	for _, s := range []*sender{k.webhook, k.actuator} {
		if s == nil {
			continue
		}
		st, waiting, err := s.queue.load()
		if err != nil {
			return err
		}
		f.Backlog = append(f.Backlog, Backlog{s.what, len(waiting), st.Dropped})
	}
	text, err := Metrics(f, k.catalogue)
	if err != nil {
		return err
	}
	if err := lake.WriteFileAtomic(path, text); err != nil {
		return fmt.Errorf("alert.metrics: %w", err)
	}
	return nil
}
