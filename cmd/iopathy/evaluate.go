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
	"text/tabwriter"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/iopathy/iopathy/cmd/internal/score"
)

func (a *app) evaluateCmd() *cobra.Command {
	var least float64
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
the mean over healthy and all pathologies; with a plain CSV over those that occur.`,
		Example: "  iopathy evaluate report/labels.csv incidents.csv\n  iopathy evaluate report/labels.csv corpus/ --min-f1 0.9 --output json",
		RunE: func(cmd *cobra.Command, args []string) error {
			m, err := a.evaluate(cmd.Context(), args[0], args[1])
			if err != nil {
				return err
			}
			if a.json() {
				err = a.print(m)
			} else {
				err = writeMeasures(a.stdout, m)
			}
			if err == nil && m.MacroF1 < least {
				return failure{exitReached, fmt.Errorf("macroF1 %.3f is below --min-f1 %g", m.MacroF1, least)}
			}
			return err
		},
	}
	cmd.Flags().Float64Var(&least, "min-f1", 0, "exit 3 if macroF1 is below this")
	return cmd
}

// evaluate reads both sides and scores.
func (a *app) evaluate(ctx context.Context, labels, truth string) (*score.Measures, error) {
	info, err := os.Stat(truth)
	if err != nil {
		return nil, failure{exitUsage, fmt.Errorf("truth: %w", err)}
	}
	catalogue, _, err := a.catalogue()
	if err != nil {
		return nil, err
	}
	var slugs []string
	for _, p := range catalogue.Pathologies {
		slugs = append(slugs, p.Slug)
	}
	if info.IsDir() {
		said, window, err := openLabels(labels, func(score.Key) bool { return true })
		if err != nil {
			return nil, err
		}
		if window == 0 {
			return nil, fmt.Errorf("labels: %s: no window", labels)
		}
		devices, err := readCorpus(ctx, truth, window, a.config.Workers)
		if err != nil {
			return nil, err
		}
		if err := knownLabels(truth, devices, slugs); err != nil {
			return nil, err
		}
		return score.Score(said, devices, slugs, window), nil
	}
	f, err := os.Open(truth)
	if err != nil {
		return nil, failure{exitUsage, fmt.Errorf("truth: %w", err)}
	}
	defer f.Close()
	devices, err := score.ReadFaults(f)
	if err != nil {
		return nil, failure{exitUsage, fmt.Errorf("truth: %s: %w", truth, err)}
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
	return score.Score(said, devices, slugs, window), nil
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
			d.Faults, d.Cause = runs[i].Faults, runs[i].Cause
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

// writeMeasures prints the tables, and as the last line the measures.
func writeMeasures(out io.Writer, m *score.Measures) error {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "windows\tprecision\trecall\tF1\t  label\n")
	for _, c := range m.Classes {
		fmt.Fprintf(w, "%d\t%.3f\t%.3f\t%.3f\t  %s\n", c.Windows, c.Precision, c.Recall, c.F1, c.Label)
	}
	fmt.Fprint(w, "\nConfusion (a row is true, a column was said):\n")
	for i := range m.Confusion.Said {
		fmt.Fprintf(w, "%c\t", 'A'+i)
	}
	fmt.Fprint(w, "\n")
	for i, t := range m.Confusion.Truth {
		for _, n := range m.Confusion.Counts[i] {
			if n == 0 {
				fmt.Fprint(w, ".\t")
			} else {
				fmt.Fprintf(w, "%d\t", n)
			}
		}
		fmt.Fprintf(w, "  %c %s\n", 'A'+i, t)
	}
	for i := len(m.Confusion.Truth); i < len(m.Confusion.Said); i++ {
		fmt.Fprintf(w, "%s  %c %s\n", strings.Repeat("\t", len(m.Confusion.Said)), 'A'+i, m.Confusion.Said[i])
	}
	fmt.Fprintf(w, "\nReliability of confidence (mean error %.3f):\n", m.Calibration)
	fmt.Fprint(w, "from\tto\twindows\tmean\tright\t\n")
	for _, b := range m.Reliability {
		fmt.Fprintf(w, "%.1f\t%.1f\t%d\t%.3f\t%.3f\t\n", b.From, b.To, b.Windows, b.Confidence, b.Right)
	}
	if len(m.Causes) > 0 {
		devices, right, abstained, wrong := 0, 0, 0, 0
		fmt.Fprint(w, "\nCauses, by device:\n")
		fmt.Fprint(w, "devices\tright\twrong\tnone said\tnot named\t  what was done\n")
		for _, c := range m.Causes {
			fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%d\t  %s: %s%s\n", c.Devices, c.Right, c.Wrong, c.Abstained, c.Unnamed, c.Label, c.What, others(&c))
			devices, right, abstained, wrong = devices+c.Devices, right+c.Right, abstained+c.Abstained, wrong+c.Wrong
		}
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%d\t  in all\n", devices, right, wrong, abstained, devices-right-wrong-abstained)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	coverage := "-"
	if m.CoverageKnown {
		coverage = fmt.Sprintf("%.3f", m.WindowCoverage)
	}
	_, err := fmt.Fprintf(out, `
%d of %d sick devices named right (by severity); detection precision=%.3f recall=%.3f; classes used %d; devices seen %d of %d
macroF1=%.3f detectF1=%.3f falseAlarm=%.3f deviceAcc=%.3f ari=%.3f ariCoverage=%.2f windows=%d windowCoverage=%s runs=%.2f
`, m.NamedRight, m.SickDevices, m.DetectPrecision, m.DetectRecall, m.ClassesUsed, m.DevicesSeen, m.Devices,
		m.MacroF1, m.DetectF1, m.FalseAlarm, m.DeviceAcc, m.ARI, m.ARICoverage, m.Windows, coverage, m.Runs)
	return err
}

// others lists the wrong causes that were said.
func others(c *score.CauseScore) string {
	var wrong []string
	for id := range c.Said {
		if !slices.Contains(c.Accepted, id) {
			wrong = append(wrong, id)
		}
	}
	if len(wrong) == 0 {
		return ""
	}
	slices.Sort(wrong)
	return " (wrong: " + strings.Join(wrong, ", ") + ")"
}
