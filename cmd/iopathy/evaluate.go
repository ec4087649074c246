package main

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/iopathy/iopathy/cmd/internal/local"
	"github.com/iopathy/iopathy/cmd/internal/score"
	"github.com/iopathy/iopathy/features"
)

func (a *app) evaluateCmd() *cobra.Command {
	var least float64
	var shuffle bool
	cmd := &cobra.Command{
		Use: "evaluate LABELS TRUTH", Short: "Hold a labels.csv against a known truth", GroupID: "know", Args: cobra.ExactArgs(2),
		Long: `evaluate compares a labels.csv with what is known: accuracy by class, the
confusion matrix, how far the confidence can be trusted, and whether the causes
are right. TRUTH is a CSV with the columns host, device, label, fault_start_ns
and fault_end_ns, one row a fault or a healthy device; or the directory of a
corpus: labels.csv (run, label, parameters, fault_start_ns, fault_end_ns) and
the recordings runs/RUN.csv.gz.

A window counts as sick when at least half of it lies in a fault (a
sudden-stall: 0.2 s of one), as healthy when none of it does; the rest are left
out. With a corpus each window of 8 or more requests must have a label, and F1 is
the mean over healthy and all pathologies; with a plain CSV over those that occur.

With --lake the periods of bursts that the windows tell are held against a
corpus, too.

--shuffle-names labels the windows of --lake anew under a catalogue whose names
stand at other signatures: the classes come from the linkage alone, so the
adjusted Rand index must stay.`,
		Example: "  iopathy evaluate report/labels.csv incidents.csv\n  iopathy evaluate report/labels.csv corpus/ --min-f1 0.9 --output json",
		RunE: func(cmd *cobra.Command, args []string) error {
			truth, err := a.truth(cmd.Context(), args[0], args[1])
			if err != nil {
				return err
			}
			m := truth.score(truth.said)
			var other *score.Measures
			if shuffle {
				if other, err = a.shuffled(truth); err != nil {
					return err
				}
			}
			periods, err := a.periods(truth)
			if err != nil {
				return err
			}
			if a.json() {
				err = a.print(evaluation{Measures: m, Shuffled: shuffledARI(other), Periods: periods})
			} else {
				err = writeMeasures(a.stdout, m, other, periods)
			}
			if err == nil && other != nil && other.ARI != m.ARI {
				return fmt.Errorf("with shuffled names the adjusted Rand index is %.6f, not %.6f: LABELS isn't of this lake, or names have a say in the classes", other.ARI, m.ARI)
			}
			if err == nil && m.MacroF1 < least {
				return failure{exitReached, fmt.Errorf("macroF1 %.3f is below --min-f1 %g", m.MacroF1, least)}
			}
			return err
		},
	}
	cmd.Flags().Float64Var(&least, "min-f1", 0, "exit 3 if macroF1 is below this")
	cmd.Flags().BoolVar(&shuffle, "shuffle-names", false, "also with shuffled names; needs --lake")
	return cmd
}

// evaluation is what the JSON holds.
type evaluation struct {
	*score.Measures
	Shuffled *float64           `json:"ariShuffledNames,omitempty"`
	Periods  *score.PeriodScore `json:"periods,omitempty"`
}

// periods scores the periods of bursts that the windows of --lake tell; nil
// without a lake or where the truth tells none.
func (a *app) periods(truth *sides) (*score.PeriodScore, error) {
	if a.config.Lake == "" {
		return nil, nil
	}
	dir, err := a.needLake(true)
	if err != nil {
		return nil, err
	}
	windows, err := a.job(dir).Windows()
	if err != nil {
		return nil, err
	}
	told := make([]score.Told, windows.Len())
	for i := range windows.Len() {
		w := windows.At(i)
		told[i] = score.Told{Key: score.Key{Host: w.Host, Device: w.Device}, StartNS: w.StartNS, EndNS: w.EndNS, PeriodS: w.Context[features.CtxPeriod]}
	}
	return score.Periods(told, truth.devices), nil
}

func shuffledARI(m *score.Measures) *float64 {
	if m == nil {
		return nil
	}
	return &m.ARI
}

// sides is what was said and what is true, read.
type sides struct {
	said    []score.Said
	devices []score.Device
	slugs   []string // the classes to score, beside healthy
	window  int64
}

func (s *sides) score(said []score.Said) *score.Measures {
	return score.Score(said, s.devices, s.slugs, s.window)
}

// truth reads both sides.
func (a *app) truth(ctx context.Context, labels, truth string) (_ *sides, err error) {
	for _, name := range []*string{&labels, &truth} {
		if *name, err = a.fileOf(*name); err != nil {
			return nil, err
		}
	}
	corpus, err := corpusOf(truth)
	if err != nil {
		return nil, err
	}
	catalogue, _, err := a.catalogue()
	if err != nil {
		return nil, err
	}
	var slugs []string
	for _, p := range catalogue.Pathologies {
		slugs = append(slugs, p.Slug)
	}
	if corpus != "" {
		said, window, err := openLabels(labels, func(score.Key) bool { return true })
		if err != nil {
			return nil, err
		}
		if window == 0 {
			return nil, fmt.Errorf("labels: %s: no window", labels)
		}
		devices, err := readCorpus(ctx, corpus, window, a.config.Workers)
		if err != nil {
			return nil, err
		}
		if err := knownLabels(truth, devices, slugs); err != nil {
			return nil, err
		}
		return &sides{said, devices, slugs, window}, nil
	}
	devices, err := readFaults(truth)
	if err != nil {
		return nil, err
	}
	if err := knownLabels(truth, devices, slugs); err != nil {
		return nil, err
	}
	of := map[score.Key]bool{}
	occurs := map[string]bool{}
	for i := range devices {
		of[devices[i].Key] = true
		for _, f := range devices[i].Faults {
			occurs[f.Label] = true
		}
	}
	said, window, err := openLabels(labels, func(k score.Key) bool { return of[k] })
	if err != nil {
		return nil, err
	}
	if window == 0 {
		return nil, fmt.Errorf("labels: %s: no window of a device of %s", labels, truth)
	}
	for i := range said {
		occurs[said[i].Pathology] = true
	}
	slugs = slices.DeleteFunc(slugs, func(s string) bool { return !occurs[s] })
	return &sides{said, devices, slugs, window}, nil
}

// corpusOf is the directory of the corpus that a truth is, or whose labels.csv
// it is: one that names runs, not devices. "" is a plain table of faults.
func corpusOf(truth string) (string, error) {
	info, err := os.Stat(truth)
	if err != nil {
		return "", failure{exitUsage, fmt.Errorf("truth: %w", err)}
	}
	if info.IsDir() {
		return truth, nil
	}
	f, err := os.Open(truth)
	if err != nil {
		return "", failure{exitUsage, fmt.Errorf("truth: %w", err)}
	}
	defer f.Close()
	head, _, _ := bufio.NewReader(io.LimitReader(f, 4096)).ReadLine() // what can't be read is no corpus
	columns := strings.Split(string(head), ",")
	if slices.Contains(columns, "run") && !slices.Contains(columns, "host") {
		return filepath.Dir(truth), nil
	}
	return "", nil
}

// readFaults reads a plain table of faults.
func readFaults(path string) ([]score.Device, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, failure{exitUsage, fmt.Errorf("truth: %w", err)}
	}
	defer f.Close()
	devices, err := score.ReadFaults(f)
	if err != nil {
		return nil, failure{exitUsage, fmt.Errorf("truth: %s: %w", path, err)}
	}
	return devices, nil
}

// knownLabels checks that the truth speaks of what the catalogue has.
func knownLabels(path string, devices []score.Device, slugs []string) error {
	for i := range devices {
		for _, f := range devices[i].Faults {
			if !slices.Contains(slugs, f.Label) {
				return usage("truth: %s: %s/%s has the label %q, which the catalogue doesn't know", path, devices[i].Host, devices[i].Device, f.Label)
			}
		}
	}
	return nil
}

func openLabels(path string, of func(score.Key) bool) ([]score.Said, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, failure{exitUsage, fmt.Errorf("labels: %w", err)}
	}
	defer f.Close()
	said, window, err := score.ReadLabels(bufio.NewReaderSize(f, 1<<20), of)
	if err != nil {
		return nil, 0, failure{exitUsage, fmt.Errorf("labels: %s: %w", path, err)}
	}
	return said, window, nil
}

// readCorpus reads the truth of a corpus and counts the requests of its
// recordings, several at once.
func readCorpus(ctx context.Context, dir string, window int64, workers int) ([]score.Device, error) {
	path := filepath.Join(dir, "labels.csv")
	f, err := os.Open(path)
	if err != nil {
		return nil, failure{exitUsage, fmt.Errorf("truth: %w", err)}
	}
	defer f.Close()
	runs, err := score.ReadTruth(f)
	if err != nil {
		return nil, failure{exitUsage, fmt.Errorf("truth: %s: %w", path, err)}
	}
	devices := make([]score.Device, len(runs))
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(workers)
	for i := range runs {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			d := &devices[i]
			d.Faults, d.Cause, d.Period = runs[i].Faults, runs[i].Cause, runs[i].Period
			path := filepath.Join(dir, "runs", runs[i].Name+".csv.gz")
			d.Key, d.Requests, err = countRun(path, window)
			if errors.Is(err, fs.ErrNotExist) {
				return failure{exitUsage, fmt.Errorf("truth: %w", err)}
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return devices, nil
}

func countRun(path string, window int64) (score.Key, map[int64]int, error) {
	f, err := os.Open(path)
	if err != nil {
		return score.Key{}, nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return score.Key{}, nil, fmt.Errorf("truth: %s: %w", path, err)
	}
	k, n, err := score.CountRequests(z, window)
	if err != nil {
		err = fmt.Errorf("truth: %s: %w", path, err)
	}
	return k, n, err
}

// shuffled scores what the windows of the lake are labelled under shuffled
// names.
func (a *app) shuffled(truth *sides) (*score.Measures, error) {
	dir, err := a.needLake(true)
	if err != nil {
		return nil, err
	}
	inv, err := local.Inventory(&a.config)
	if err != nil {
		return nil, failure{exitUsage, err}
	}
	catalogue, _, err := a.catalogue()
	if err != nil {
		return nil, err
	}
	job := a.job(dir)
	windows, err := job.Windows()
	if err != nil {
		return nil, err
	}
	if windows.Len() == 0 {
		return nil, errNoWindows
	}
	d, err := job.Shuffled(windows, inv, catalogue)
	if err != nil {
		return nil, err
	}
	var said []score.Said
	for i := range d.Result.Diagnoses.Len() {
		said = append(said, local.Said(d.Result.Diagnoses.At(i)))
	}
	return truth.score(said), nil
}
