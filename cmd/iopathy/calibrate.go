package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cmd/internal/local"
	"github.com/iopathy/iopathy/cmd/internal/score"
	"github.com/iopathy/iopathy/configs"
	"github.com/iopathy/iopathy/ingest/lake"
)

// The files that calibrate writes.
const (
	taughtFile  = "catalogue.yaml"
	figuresFile = "calibration.json"
)

func (a *app) calibrateCmd() *cobra.Command {
	var truth string
	cmd := &cobra.Command{
		Use: "calibrate --truth FILE --lake DIR", Short: "Teach the catalogue a site's own incidents", GroupID: "know", Args: cobra.NoArgs,
		Long: `calibrate learns from incidents whose truth is known: a CSV with the columns host,
device, label, fault_start_ns and fault_end_ns, one row a fault or a healthy
device, or a corpus as evaluate takes it. The windows are those of --lake.

Labels that the catalogue has draw its signatures and gates towards what the
site shows; another label becomes a pathology of its own. Each way to learn is
cross-validated: what some devices teach labels others, in five folds. The best
is kept if it beats the catalogue as it is, and what is worse then is said.

With --out DIR the catalogue goes to DIR/catalogue.yaml, for --catalogue, and
the figures to DIR/calibration.json; without it they are only shown. Little
truth is refused: it takes 30 healthy windows of 3 devices and one label with 12
windows of 3 devices.`,
		Example: "  iopathy calibrate --truth incidents.csv --lake lake/ --inventory inventory.csv --out site/\n  iopathy run logs/ --catalogue site/catalogue.yaml --out report/",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if truth == "" {
				return usage("say what is true: --truth FILE")
			}
			file, err := a.fileOf(truth)
			if err != nil {
				return err
			}
			return a.calibrate(cmd.Context(), file)
		},
	}
	cmd.Flags().StringVar(&truth, "truth", "", "CSV of faults and healthy devices, or the directory of a corpus")
	cmd.Flags().BoolVar(&a.force, "force", false, "replace the catalogue that stands in --out")
	return cmd
}

func (a *app) calibrate(ctx context.Context, truth string) error {
	dir, err := a.needLake(true)
	if err != nil {
		return err
	}
	var files []string
	if a.config.Out != "" {
		files = []string{filepath.Join(a.config.Out, taughtFile), filepath.Join(a.config.Out, figuresFile)}
		if exists(files[0]) && !a.force {
			return usage("%s stands already: --force replaces it", files[0])
		}
	}
	inv, err := local.Inventory(&a.config)
	if err != nil {
		return failure{exitUsage, err}
	}
	catalogue, _, err := a.catalogue()
	if err != nil {
		return err
	}
	job := a.job(dir)
	windows, err := job.Windows()
	if err != nil {
		return err
	}
	if windows.Len() == 0 {
		return errNoWindows
	}
	c, err := job.Calibrate(windows, inv, catalogue, func(windowNS int64) ([]score.Device, error) { return a.incidents(ctx, truth, windowNS) })
	if errors.Is(err, local.ErrLittleTruth) {
		return fmt.Errorf("truth %s: %w", truth, err)
	}
	if err != nil {
		return err
	}
	if len(files) > 0 {
		if err := a.writeTaught(files, c); err != nil {
			return err
		}
	}
	if a.json() {
		return a.print(calibrated{c, append([]string{}, files...)})
	}
	return writeCalibration(a.stdout, c, files)
}

// calibrated is what the JSON holds.
type calibrated struct {
	*local.Calibration
	Files []string `json:"files"`
}

// label is what a pathology may be called.
var label = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

// incidents reads a truth, which may have labels of its own.
func (a *app) incidents(ctx context.Context, truth string, windowNS int64) ([]score.Device, error) {
	corpus, err := corpusOf(truth)
	if err != nil {
		return nil, err
	}
	var devices []score.Device
	if corpus != "" {
		devices, err = readCorpus(ctx, corpus, windowNS, a.config.Workers)
	} else {
		devices, err = readFaults(truth)
	}
	if err != nil {
		return nil, err
	}
	reserved := []string{cluster.Unrecognised, string(cluster.Sick), string(cluster.Idle), string(cluster.Artefact)}
	for i := range devices {
		for _, f := range devices[i].Faults {
			if !label.MatchString(f.Label) || slices.Contains(reserved, f.Label) {
				return nil, usage("truth: %s: %s/%s has the label %q: want lower-case words with dashes, and none of %s", truth, devices[i].Host, devices[i].Device, f.Label, strings.Join(reserved, ", "))
			}
		}
	}
	return devices, nil
}

// writeTaught writes the catalogue and the figures. The catalogue is read
// again before it counts.
func (a *app) writeTaught(files []string, c *local.Calibration) error {
	head := fmt.Sprintf("Calibrated on %s of %s: %s. Cross-validated by device: macroF1\n%.3f, before %.3f; falseAlarm %.3f, before %.3f; deviceAcc %.3f, before %.3f.",
		cluster.Counted(c.Windows, "window"), cluster.Counted(c.Devices, "device"), c.Chosen, c.After.MacroF1, c.Before.MacroF1, c.After.FalseAlarm, c.Before.FalseAlarm, c.After.DeviceAcc, c.Before.DeviceAcc)
	text, err := configs.RewriteCatalogue(a.config.Catalogue, c.Catalogue, head)
	if err != nil {
		return err
	}
	figures, err := json.MarshalIndent(c, "", " ")
	if err != nil {
		return fmt.Errorf("calibrate: %w", err)
	}
	if err := os.MkdirAll(a.config.Out, 0o755); err != nil {
		return fmt.Errorf("calibrate: %w", err)
	}
	if err := lake.WriteFileAtomic(files[0], text); err != nil {
		return err
	}
	written, err := configs.LoadCatalogue(files[0])
	if err == nil {
		_, err = cluster.Compile(written)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("calibrate: what was learnt is no catalogue: %w", err), os.Remove(files[0]))
	}
	return lake.WriteFileAtomic(files[1], append(figures, '\n'))
}

// writeCalibration says in words what was learnt and what it is worth.
func writeCalibration(out io.Writer, c *local.Calibration, files []string) error {
	fmt.Fprintf(out, "Known: %s of %s\n", cluster.Counted(c.Windows, "window"), cluster.Counted(c.Devices, "device"))
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "windows\tdevices\t  label\n")
	for _, l := range c.Labels {
		more := ""
		switch {
		case l.Label == string(cluster.Healthy):
		case l.New && l.Taught:
			more = " (new: becomes a pathology)"
		case l.New:
			more = " (new, and too little to learn from)"
		case !l.Taught:
			more = " (too little to learn from)"
		}
		fmt.Fprintf(w, "%d\t%d\t  %s%s\n", l.Windows, l.Devices, l.Label, more)
	}
	fmt.Fprintf(w, "\nCross-validated, each device labelled by what devices of other folds teach (%d folds):\n", c.Folds)
	fmt.Fprint(w, "macroF1\tdetectF1\tfalseAlarm\tdeviceAcc\t  what is learnt\n")
	line := func(f score.Figures, what string) {
		fmt.Fprintf(w, "%.3f\t%.3f\t%.3f\t%.3f\t  %s\n", f.MacroF1, f.DetectF1, f.FalseAlarm, f.DeviceAcc, what)
	}
	line(c.Before, "nothing: before")
	for _, t := range c.Trials {
		what := t.What
		if t.What == c.Chosen {
			what += ": after"
		}
		line(t.Figures, what)
	}
	if c.Chosen == local.Nothing {
		fmt.Fprint(w, "\nNothing that this truth teaches does better than the catalogue does already; it stays as it is.\n")
	} else {
		fmt.Fprintf(w, "\nLearnt: %s.\n", c.Chosen)
		fmt.Fprint(w, "windows\tdevices\tgate\tbefore\tcosine\t  pathology\n")
		for _, t := range c.Changes {
			gate, before, cosine := "-", "-", "-"
			if t.Gate > 0 {
				gate, before = fmt.Sprintf("%.2f", t.Gate), fmt.Sprintf("%.2f", t.Before)
			}
			if !t.New {
				cosine = fmt.Sprintf("%.3f", t.Cosine)
			}
			more := ""
			switch {
			case t.Parallel != "" && t.New:
				more = " (points where " + t.Parallel + " does: no pathology of its own)"
			case t.Parallel != "":
				more = " (would point where " + t.Parallel + " does: its signature stays)"
			}
			fmt.Fprintf(w, "%d\t%d\t%s\t%s\t%s\t  %s%s\n", t.Windows, t.Devices, gate, before, cosine, t.Pathology, more)
		}
		for _, x := range c.Worse {
			fmt.Fprintf(w, "worse than before: %s\n", x)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, f := range files {
		if _, err := fmt.Fprintln(out, "wrote", f); err != nil {
			return err
		}
	}
	return nil
}
