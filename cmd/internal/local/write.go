package local

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/configs"
	"github.com/iopathy/iopathy/heatmap"
	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/ingest/bucket"
	"github.com/iopathy/iopathy/ingest/lake"
	"github.com/iopathy/iopathy/reports"
)

// Write puts the report's files into dir, each whole or not at all, and gives
// their paths.
func (j *Job) Write(ctx context.Context, dir string, d *Diagnosed, catalogue cluster.Catalogue, in *Ingested) (_ []string, err error) {
	defer Rescue(&err)
	scale, err := heatmap.ParseScale(j.Config.Scale)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	labels, err := j.writeLabels(dir, d, catalogue)
	if err != nil {
		return nil, err
	}
	files, failed := []string(nil), error(nil)
	written := sync.OnceFunc(func() { files, failed = labels() })
	defer written() // whatever ends the call: nothing writes on behind its back
	account := summary(in)
	if account.Devices, err = j.deviceSources(); err != nil {
		return nil, err
	}
	for _, s := range account.Devices {
		if s.Note != "" {
			account.Problems = append(account.Problems, s.Host+"/"+s.Device+": "+s.Note)
		}
	}
	analyses, err := j.Analyses(d)
	if err != nil {
		return nil, err
	}
	cards, err := j.Cards(ctx, d, catalogue)
	if err != nil {
		return nil, err
	}
	changes, err := j.changes(d)
	if err != nil {
		return nil, err
	}
	input := &reports.Input{
		Analyses: analyses, Cards: cards, Changes: changes,
		Title: j.Config.Report.Title, Version: j.Version,
		Windows: d.Windows, Digest: d.digest, Points: d.Points, Result: d.Result, Catalogue: catalogue,
		Scale: scale, Axes: axes(d), Ingest: account, Config: j.settings(), Model: d.Result.Why, Seed: j.Config.Seed, Budget: j.Config.Budget,
	}
	if path := j.Config.Report.EchartsJS; path != "" {
		js, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("report: echarts: %w", err)
		}
		input.Echarts = string(js)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// The page and its twin for programs are made at once: neither needs the other.
	makers := []struct {
		name string
		make func(io.Writer, *reports.Input) error
	}{{"report.html", reports.HTML}, {"report.json", reports.JSON}}
	var made errgroup.Group
	for _, m := range makers {
		made.Go(func() (err error) {
			defer Rescue(&err)
			return lake.WriteAtomic(filepath.Join(dir, m.name), func(w io.Writer) error { return m.make(w, input) })
		})
	}
	if err := made.Wait(); err != nil {
		return nil, err
	}
	j.progress("report", 1, 2)
	if written(); failed != nil {
		return nil, failed
	}
	for _, m := range makers {
		files = append(files, filepath.Join(dir, m.name))
	}
	j.progress("report", 2, 2)
	if j.FiguresDir != "" {
		more, err := writeFigures(ctx, j.FiguresDir, input)
		files = append(files, more...)
		if err != nil {
			return files, err
		}
	}
	slices.Sort(files)
	return files, nil
}

// unsaid are the settings that differ between machines and runs of the same
// input, or tell where things lie: the report says nothing of them.
var unsaid = []string{"sources", "lake", "out", "inventory", "workers", "output", "fail_on", "catalogue", "model", "report.echarts_js", "anonymise", "ingest.read_bytes", "ingest.clock_offset", "bucket.dir", "bucket.keep_mib", "bucket.lease"}

// always are the settings that the report tells even when they are the default.
var always = []string{"window", "tick", "seed", "scale", "max_rejects", "cluster.k", "ingest.zone", "ingest.interval"}

// named are the settings that may have names of machines, which pseudonyms hide.
var named = []string{"ingest.host", "ingest.mappings"}

// settings is the effective configuration as text: what a reader asks for
// first, and what else is not the default.
func (j *Job) settings() string {
	var b strings.Builder
	usual := map[string]any{}
	for _, v := range configs.Default().Values() {
		usual[v.Key] = v.Value
	}
	for _, v := range j.Config.Values() {
		if !slices.Contains(unsaid, v.Key) && !strings.HasPrefix(v.Key, "alert.") && !strings.HasPrefix(v.Key, "actuator.") && (j.Config.Anonymise == "" || !slices.Contains(named, v.Key)) && (slices.Contains(always, v.Key) || !reflect.DeepEqual(v.Value, usual[v.Key])) {
			fmt.Fprintf(&b, "%s: %v\n", v.Key, v.Value)
		}
	}
	fmt.Fprintf(&b, "inventory: %v\n", j.Config.Inventory != "")
	return b.String()
}

// summary is the account of the inputs in the report's words. An input is
// named by the last part of its path: the rest tells of the machine.
func summary(in *Ingested) reports.Summary {
	var s reports.Summary
	for i := range in.Reports {
		r := &in.Reports[i]
		s.Sources = append(s.Sources, reports.Source{
			Name: filepath.Base(r.Path), Format: r.Format, SHA256: r.ID, Clock: clockWords(r.Clock),
			Lines: r.Tally.Lines, Events: r.Events, Samples: r.Samples, Evidence: r.Evidence,
			EventLines: r.Tally.Event, Merged: r.Tally.Merged, Notes: r.Tally.Notes, Repeats: r.Tally.Duplicate,
			Rejects: r.Tally.Rejects, Unpaired: r.Tally.Unpaired,
		})
		switch {
		case r.Problem != "":
			s.Problems = append(s.Problems, filepath.Base(r.Path)+": "+r.Problem)
		case r.Torn != "":
			s.Problems = append(s.Problems, filepath.Base(r.Path)+": ends torn ("+r.Torn+")")
		}
	}
	slices.SortStableFunc(s.Sources, func(a, b reports.Source) int {
		return strings.Compare(a.Name+"\x00"+a.SHA256, b.Name+"\x00"+b.SHA256)
	})
	for _, left := range in.Skips {
		if left.Lost {
			s.Problems = append(s.Problems, filepath.Base(left.Path)+": left out: "+left.Reason)
		}
	}
	slices.Sort(s.Problems)
	s.Problems = append(s.Problems, in.Warnings...)
	return s
}

// clockWords says how the stamps of an input became times.
func clockWords(c ingest.ClockReport) string {
	if c.Base == "" {
		return "" // it was not read, or by a version that did not tell
	}
	return c.String()
}

// IsSourceError tells an error in the words of the command line (a SOURCE that
// does not exist) from one of the work, or of a store that is down.
func IsSourceError(err error) bool {
	return err != nil && !bucket.Down(err) && (strings.Contains(err.Error(), "ingest: source") || strings.Contains(err.Error(), "no format \""))
}
