package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cluster/compare"
	"github.com/iopathy/iopathy/cmd/internal/local"
	"github.com/iopathy/iopathy/reports"
)

func (a *app) compareCmd() *cobra.Command {
	above, unpaired := 0.0, false
	cmd := &cobra.Command{
		Use: "compare A B", Short: "Is B slower than A, where, and by how much", GroupID: "job", Args: cobra.ExactArgs(2),
		Long: `compare holds the windows of B against those of A: throughput, latency, queue
depth, time with I/O in flight, classes; each with its change, an interval of 95 %
and an effect size. A and B are

  a lake or an output directory      report-old/  report-new/
  a log, or fio's JSON               before.blkparse after.blkparse
  a part of a lake                   report/@host=h07  report/@yesterday..today
  a part of the lake of --lake       host=h07 host=h08, or 2026-11-01..2026-11-08

with @ before host=GLOB, device=GLOB, model=GLOB, version=GLOB (the last two by the
inventory) and FROM..TO, in any number with commas.
Devices that both sides have are held against themselves (two spans, versions or
lakes); where there are none, or with --unpaired, they are a sample of theirs.

An alarm is a latency, or the share of sick windows, that is worse beyond chance
(at most one alarm in 20 comparisons of equals), or a device that is slower at the
same load. With --fail-above P the worsening must be more than P percent, beyond
chance, and then the exit code is 3. With --out DIR the answer is also a page,
compare.html, and compare.json.`,
		Example: `  iopathy compare report-old/ report-new/
  iopathy compare 2026-11-01..2026-11-08 2026-11-08..2026-11-15 --lake lake/ --fail-above 10
  iopathy compare host=h07 host=h08 --lake lake/ --output json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !(above >= 0) || math.IsInf(above, 0) {
				return usage("--fail-above: a percentage from 0 on is needed")
			}
			if cmd.Flags().Changed("out") {
				if err := a.checkPageDir(a.config.Out); err != nil {
					return err
				}
			}
			var sides [2]compare.Side
			others := [2]string{} // devices: by host, model, version
			for i, arg := range args {
				sel, err := local.ParseSelection(arg)
				if err != nil {
					return failure{exitUsage, err}
				}
				others[i] = sel.Host + "\x00" + sel.Model + "\x00" + sel.Version
				if sides[i], err = a.side(cmd.Context(), sel); err != nil {
					return err
				}
			}
			o := compare.DefaultOptions()
			o.Seed, o.Above = a.config.Seed, above/100
			o.Unpaired = unpaired || others[0] != others[1]
			c, err := compare.Compare(sides[0], sides[1], o)
			if err != nil {
				return err
			}
			object := map[string]any{"tool": "iopathy", "kind": "comparison", "a": args[0], "b": args[1], "comparison": c}
			if cmd.Flags().Changed("out") {
				page := func(w io.Writer) error { return reports.ComparisonHTML(w, c, answer(c), version().Version) }
				if err := a.writePages(a.config.Out, "compare", page, object); err != nil {
					return err
				}
			}
			if a.json() {
				err = a.print(object)
			} else {
				err = writeComparison(a.stdout, c)
			}
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("fail-above") && c.Alarm {
				return failure{exitReached, fmt.Errorf("side B is worse than A by more than %g %%", above)}
			}
			return nil
		},
	}
	cmd.Flags().Float64Var(&above, "fail-above", 0, "exit 3 if B is worse by more than this, in percent")
	cmd.Flags().BoolVar(&a.force, "force", false, "put the page into a directory that holds other things")
	cmd.Flags().BoolVar(&unpaired, "unpaired", false, "devices of one name are not the same device")
	return cmd
}

// side takes the windows of a selection; a log is read into a lake that lives
// as long as this takes.
func (a *app) side(ctx context.Context, sel local.Selection) (compare.Side, error) {
	zone, err := time.LoadLocation(a.config.Ingest.Zone)
	if err != nil {
		return compare.Side{}, usage("ingest.zone: %v", err)
	}
	times := local.Times{Now: a.now(), Zone: zone}
	dir := sel.Where
	if dir == "" {
		if dir, err = a.needLake(true); err != nil {
			return compare.Side{}, err
		}
	}
	inv, err := local.Inventory(&a.config)
	if err != nil {
		return compare.Side{}, failure{exitUsage, err}
	}
	at := dir
	if sel.Where == "" {
		at = local.LakeOf(dir)
	} else if at, err = a.otherLake(dir); err != nil {
		return compare.Side{}, err
	}
	if at != "" {
		side, err := a.job(at).Side(sel, times, inv)
		if err != nil {
			err = failure{exitUsage, err}
		}
		return side, err
	}
	if sel.Where == "" {
		return compare.Side{}, usage("%s is no lake", dir)
	}
	_, rules, err := a.catalogue()
	if err != nil {
		return compare.Side{}, err
	}
	scratch, err := os.MkdirTemp("", "iopathy-compare-")
	if err != nil {
		return compare.Side{}, err
	}
	defer os.RemoveAll(scratch)
	job := a.job(scratch)
	in, err := a.ingest(ctx, job, []string{sel.Where})
	if err != nil {
		return compare.Side{}, err
	}
	windows, _, err := job.Features(ctx, in.IDs)
	if err != nil {
		return compare.Side{}, err
	}
	if windows.Len() == 0 { // results of whole jobs have no windows
		windows.Close()
		if side, err := job.RunSide(sel.Text); err != nil || len(side.Runs) > 0 {
			return side, err
		}
		return compare.Side{}, fmt.Errorf("%s gave no event and no sample", sel.Where)
	}
	d, err := job.Diagnose(windows, inv, rules, false)
	if err != nil {
		return compare.Side{}, err
	}
	if err := job.StoreDiagnosis(d); err != nil {
		return compare.Side{}, err
	}
	return job.Side(sel, times, inv)
}

// devicesShown is how many devices the text lists.
const devicesShown = 10

func writeComparison(out io.Writer, c *compare.Comparison) error {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', tabwriter.AlignRight)
	for _, line := range answer(c) {
		fmt.Fprintln(w, line)
	}
	of := "devices"
	if c.Jobs {
		of = "jobs"
		fmt.Fprintf(w, "\nA: %s, %s\nB: %s, %s\n", local.Printable(c.A), cluster.Counted(c.DevicesA, "job"), local.Printable(c.B), cluster.Counted(c.DevicesB, "job"))
	} else {
		fmt.Fprintf(w, "\nA: %s, %s, %s\nB: %s, %s, %s\n",
			local.Printable(c.A), cluster.Counted(c.DevicesA, "device"), cluster.Counted(c.WindowsA, "window"), local.Printable(c.B), cluster.Counted(c.DevicesB, "device"), cluster.Counted(c.WindowsB, "window"))
	}
	for _, n := range c.Notes {
		fmt.Fprintf(w, "(%s)\n", local.PrintableNote(n))
	}
	fmt.Fprintf(w, "\nB against A, mean over "+of+", with intervals of %g %%:\n", 100*c.Level)
	fmt.Fprint(w, "A\tB\tchange\tlow\thigh\teffect size\t  \n")
	for i := range c.Effects {
		writeEffect(w, &c.Effects[i], c.Effects[i].Metric)
	}
	if c.Paired && len(c.Devices) > 1 {
		figure := "latency_at_load"
		if c.Jobs {
			figure = "latency_p99"
			fmt.Fprintf(w, "\n99th percentile of latency by job:\n")
		} else {
			fmt.Fprintf(w, "\nLatency at the same load by device, the most slowed first:\n")
		}
		fmt.Fprint(w, "A\tB\tchange\tlow\thigh\teffect size\t  \n")
		for i, d := range c.Devices {
			if i == devicesShown {
				fmt.Fprintf(w, "  and %d more (--output json)\n", len(c.Devices)-devicesShown)
				break
			}
			for k := range d.Effects {
				if d.Effects[k].Metric == figure {
					name := local.Printable(d.Device)
					if !c.Jobs {
						name = local.Printable(d.Host) + "/" + name
					}
					writeEffect(w, &d.Effects[k], name)
				}
			}
		}
	}
	return w.Flush()
}

func writeEffect(w io.Writer, e *compare.Effect, name string) {
	alarm := ""
	if e.Alarm {
		alarm = "  worse"
	}
	if e.Ratio {
		unit := ""
		if e.Unit != "1" {
			unit = " " + e.Unit
		}
		fmt.Fprintf(w, "%.4g%s\t%.4g%s\tx %.3f\t%s\t%s\t%+.2f\t  %s%s\n", e.A, unit, e.B, unit, e.Change, bound(float64(e.Low), "x %.3f"), bound(float64(e.High), "x %.3f"), e.Size, name, alarm)
		return
	}
	fmt.Fprintf(w, "%.1f %%\t%.1f %%\t%+.1f\t%s\t%s\t%+.2f\t  %s%s\n", 100*e.A, 100*e.B, 100*e.Change, bound(100*float64(e.Low), "%+.1f"), bound(100*float64(e.High), "%+.1f"), e.Size, name, alarm)
}

// bound writes an end of an interval; one that nothing limits is a dash.
func bound(v float64, format string) string {
	if math.IsInf(v, 0) || v > 1e6 || v < -1e6 {
		return "-"
	}
	return fmt.Sprintf(format, v)
}

// answer is the first lines: slower or not, where, by how much.
func answer(c *compare.Comparison) []string {
	var worse []string
	for _, e := range c.Effects {
		switch {
		case e.Alarm && e.Ratio:
			worse = append(worse, fmt.Sprintf("%s x %.2f (%.2f to %.2f)", e.Metric, e.Change, e.Low, e.High))
		case e.Alarm:
			worse = append(worse, fmt.Sprintf("%s %+.0f points", e.Metric, 100*e.Change))
		}
	}
	var slow, perhaps []string
	for _, d := range c.Devices {
		for _, e := range d.Effects {
			if !e.Alarm && e.Metric == "latency_at_load" && e.Change > 1 && e.P*float64(len(c.Devices)) < c.Alpha && !c.Jobs {
				perhaps = append(perhaps, fmt.Sprintf("%s/%s x %.2f (%.2f to %.2f)", local.Printable(d.Host), local.Printable(d.Device), e.Change, e.Low, e.High))
			}
			if e.Alarm {
				slow = append(slow, fmt.Sprintf("%s/%s x %.2f", local.Printable(d.Host), local.Printable(d.Device), e.Change))
			}
		}
	}
	var lines []string
	switch {
	case len(worse) > 0:
		lines = append(lines, "B is worse than A: "+strings.Join(worse, ", "))
	case c.TooFew && c.Jobs:
		lines = append(lines, "Too few jobs to tell a difference from chance")
	case c.TooFew:
		lines = append(lines, "Too few windows to tell a difference from chance")
	case len(slow) == 0:
		lines = append(lines, "B is not worse than A beyond chance")
	default:
		lines = append(lines, "As a whole B is not worse than A beyond chance")
	}
	if say := lessDone(c); len(worse) > 0 && say != "" {
		lines = append(lines, say)
	}
	if n := len(slow); n > 0 {
		more := ""
		if n > 5 {
			slow, more = slow[:5], fmt.Sprintf(" and %d more", n-5)
		}
		lines = append(lines, fmt.Sprintf("Slower at the same load: %d of %s: %s%s", n, cluster.Counted(len(c.Devices), "device"), strings.Join(slow, ", "), more))
	}
	if n := len(perhaps); n > 0 && c.Over == 0 {
		lines = append(lines, fmt.Sprintf("Perhaps slower at the same load, on too little for an alarm: %d of %s: %s", n, cluster.Counted(len(c.Devices), "device"), strings.Join(perhaps[:min(n, 5)], ", ")))
	}
	return lines
}

// lessDone tells a throughput that fell beyond chance at no less depth: then
// no less was asked for, and the device did less. (With less in flight it may
// be that less was wanted.)
func lessDone(c *compare.Comparison) string {
	of := map[string]*compare.Effect{}
	for i := range c.Effects {
		of[c.Effects[i].Metric] = &c.Effects[i]
	}
	moved, depth := of["throughput"], of["queue_depth"]
	if moved == nil || depth == nil || !(moved.High < 1) || !(depth.High >= 1) {
		return ""
	}
	return fmt.Sprintf("Throughput fell to x %.2f (%.2f to %.2f) at no less depth: the device did less of what was asked", moved.Change, moved.Low, moved.High)
}
