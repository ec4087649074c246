package alerts

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"text/template"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cmd/internal/local"
	"github.com/iopathy/iopathy/cmd/internal/nights"
	"github.com/iopathy/iopathy/configs"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest/lake"
)

// Desk is who tells of the nights of one directory of reports.
type Desk struct {
	config    *configs.Config
	out       string
	catalogue cluster.Catalogue
	template  *template.Template
	say       func(format string, args ...any)
	webhook   *sender // nil: none
	actuator  *sender // nil: none, or a dry run
	texts     []string
}

// folder is where the queues stand, below the directory of the reports.
const folder = "alerts"

// streams of the generators of waits.
const (
	webhookStream = iota
	actuatorStream
)

// NewDesk reads secrets and template, so that what is wrong with them is told
// before the night's work.
func NewDesk(c *configs.Config, out string, catalogue cluster.Catalogue, version string, say func(format string, args ...any)) (*Desk, error) {
	d := &Desk{config: c, out: out, catalogue: catalogue, say: say}
	var err error
	if d.template, err = Template(c.Alert.Text.Template); err != nil {
		return nil, err
	}
	add := func(name string, stream uint64, w configs.Webhook, to receiver) *sender {
		return &sender{queue{filepath.Join(out, folder, name), w.Queue}, to, w.Tries, rand.New(rand.NewPCG(c.Seed, stream)), pause, name, say}
	}
	if w := c.Alert.Webhook; w.URL != "" {
		to, err := newByHTTP(w, "alert.webhook", version)
		if err != nil {
			return nil, err
		}
		d.webhook = add("webhook", webhookStream, w, to)
	}
	a := &c.Actuator
	var to receiver
	switch {
	case len(a.Command) > 0:
		to = byCommand{a.Command, a.Timeout}
	case a.URL != "":
		if to, err = newByHTTP(a.Webhook(), "actuator", version); err != nil {
			return nil, err
		}
	}
	if to != nil && !a.DryRun {
		d.actuator = add("actuator", actuatorStream, a.Webhook(), to)
	}
	return d, nil
}

// Judged takes down what is to be told of a date. It comes before the labels of
// the date are stored; dir is that of its report.
func (k *Desk) Judged(job *local.Job, dir, date string, d *local.Diagnosed) error {
	m, err := messageOf(date, d, k.catalogue, k.config.Alert.Severity)
	if err != nil {
		return err
	}
	if m != nil {
		if m.Text, err = words(k.template, m); err != nil {
			return fmt.Errorf("alert.text.template: %w", err)
		}
		k.texts = append(k.texts, m.Text)
	}
	if m != nil && k.webhook != nil {
		if err := k.webhook.put(m.ID, m); err != nil {
			return err
		}
	}
	return k.act(job, dir, date, d)
}

// put queues a message as JSON.
func (s *sender) put(id string, message any) error {
	body, err := jsonLine(message)
	if err != nil {
		return err
	}
	dropped, err := s.queue.put(id, body)
	if dropped > 0 {
		s.say("%s: the queue is full: dropped %s, from the oldest on", s.what, cluster.Counted(dropped, "message"))
	}
	return err
}

// jsonLine is a value as JSON on a line.
func jsonLine(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("alerts: %w", err)
	}
	return b.Bytes(), nil
}

// act writes the actions of a date beside its report, and queues them unless
// it is a dry run.
func (k *Desk) act(job *local.Job, dir, date string, d *local.Diagnosed) error {
	a := &k.config.Actuator
	path := filepath.Join(dir, nights.ActionsFile)
	if len(a.Command) == 0 && a.URL == "" {
		return nil
	}
	wanted := map[features.Key]bool{}
	for _, e := range d.Result.Episodes {
		if e.Severity >= a.Severity && e.Confidence >= a.Confidence {
			wanted[e.Key] = true
		}
	}
	regions, err := job.Regions(func(key features.Key) bool { return wanted[key] })
	if err != nil {
		return err
	}
	actions, err := actionsOf(date, d, k.catalogue, a.Severity, a.Confidence, regions)
	if err != nil {
		return err
	}
	var lines []byte
	for _, x := range actions {
		line, err := jsonLine(x)
		if err != nil {
			return err
		}
		lines = append(lines, line...)
		if k.actuator != nil {
			if err := k.actuator.put(x.ID, x); err != nil {
				return err
			}
		}
	}
	if len(actions) == 0 {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("alerts: %w", err)
		}
		return nil
	}
	if k.actuator == nil {
		k.say("actuator: dry run: what would be sent for %s of %s stands in %s", cluster.Counted(len(actions), "episode"), date, path)
	}
	return lake.WriteFileAtomic(path, lines)
}

// Send sends what waits, of this night and of earlier ones, and writes the
// words. A receiver that is down is no error.
func (k *Desk) Send(ctx context.Context) error {
	if path := k.config.Alert.Text.File; path != "" && len(k.texts) > 0 {
		var text string
		for _, t := range k.texts {
			text += t
		}
		if err := lake.WriteFileAtomic(path, []byte(text)); err != nil {
			return fmt.Errorf("alert.text.file: %w", err)
		}
	}
	for _, s := range []*sender{k.webhook, k.actuator} {
		if s != nil {
			if err := s.send(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}
