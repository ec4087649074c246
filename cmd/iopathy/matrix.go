package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cluster/knee"
	"github.com/iopathy/iopathy/cluster/matrix"
	"github.com/iopathy/iopathy/cmd/internal/local"
	"github.com/iopathy/iopathy/reports"
)

func (a *app) matrixCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "matrix RUNS.yaml", Short: "A test matrix: what the latency hangs on, and where it takes off", GroupID: "job", Args: cobra.ExactArgs(1),
		Long: `matrix reads the runs of a test matrix: fio's JSON, logs, lakes or output
directories, each with its level of every factor:

  factors: [scale, pattern, topology]     # their order, if not by name
  runs:
    - source: small-seq.json              # from the folder of RUNS.yaml
      factors: {scale: 1GB, pattern: sequential, topology: local}
      job: "read-*"                       # of fio's jobs those of this name
      device: "nvme*"                     # of a log's devices

It prints a table of the cells, the share of the variation of log latency that
each factor and each pair explains (with a bootstrap interval of 95 %), where
along a factor of numbers latency takes off, and which cells are empty. With
--out DIR the same is also a page, matrix.html, and matrix.json.`,
		Example: "  iopathy matrix runs.yaml\n  iopathy matrix runs.yaml --out matrix/ --output json",
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("out") {
				if err := a.checkPageDir(a.config.Out); err != nil {
					return err
				}
			}
			file, err := a.fileOf(args[0])
			if err != nil {
				return err
			}
			spec, err := local.ReadTestMatrix(file)
			if err != nil {
				return failure{exitUsage, err}
			}
			var runs []matrix.Run
			for i := range spec.Runs {
				f, err := a.figures(cmd.Context(), &spec.Runs[i])
				if err != nil {
					return err
				}
				runs = append(runs, matrix.Run{Name: spec.Runs[i].Name, Levels: spec.Runs[i].Factors, Figures: f})
			}
			m, err := matrix.New(runs, spec.Factors)
			if err != nil {
				return failure{exitUsage, fmt.Errorf("%s: %w", args[0], err)}
			}
			o := matrix.DefaultOptions()
			o.Seed = a.config.Seed
			r := readMatrix(m, o)
			if cmd.Flags().Changed("out") {
				page := func(w io.Writer) error {
					return reports.MatrixHTML(w, &reports.TestMatrix{Matrix: m, Effects: r.effects, Bends: r.bendLines(), Version: version().Version})
				}
				object := r.object()
				object["tool"], object["kind"] = "iopathy", "matrix"
				if err := a.writePages(a.config.Out, "matrix", page, object); err != nil {
					return err
				}
			}
			if a.json() {
				return a.print(r.object())
			}
			return r.write(a.stdout)
		},
	}
	cmd.Flags().BoolVar(&a.force, "force", false, "put the page into a directory that holds other things")
	return cmd
}

// figures reads one run; a log goes into a lake that lives as long as this.
func (a *app) figures(ctx context.Context, run *local.TestMatrixRun) (matrix.Figures, error) {
	dir, err := a.otherLake(run.Source)
	if err != nil {
		return matrix.Figures{}, err
	}
	if dir != "" {
		job := a.job(dir)
		windows, err := job.Windows()
		if err != nil {
			return matrix.Figures{}, err
		}
		return job.Figures(run, windows)
	}
	scratch, err := os.MkdirTemp("", "iopathy-matrix-")
	if err != nil {
		return matrix.Figures{}, err
	}
	defer os.RemoveAll(scratch)
	job := a.job(scratch)
	in, err := a.ingest(ctx, job, []string{run.Source})
	if err != nil {
		return matrix.Figures{}, err
	}
	var windows *local.Windows
	if in.Useful() {
		if windows, _, err = job.Features(ctx, in.IDs); err != nil {
			return matrix.Figures{}, err
		}
	}
	return job.Figures(run, windows)
}

// matrixReading is a matrix and what was read from it.
type matrixReading struct {
	m       *matrix.Matrix
	effects map[string][]matrix.Effect
	bends   map[string][]matrix.Bend
}

func readMatrix(m *matrix.Matrix, o matrix.Options) matrixReading {
	r := matrixReading{m, map[string][]matrix.Effect{}, map[string][]matrix.Bend{}}
	for _, of := range matrix.Measures {
		if effects, ok := m.Effects(of, o); ok {
			r.effects[of.Name] = effects
		}
		r.bends[of.Name] = m.Bends(of)
	}
	return r
}

// finite is a number for JSON; what is none is null.
func finite(v float64) any {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return v
}

func (r *matrixReading) object() map[string]any {
	cells := []map[string]any{}
	for i := range r.m.Cells {
		c := &r.m.Cells[i]
		cells = append(cells, map[string]any{"levels": r.m.Of(c), "runs": c.Runs, "bytes_per_s": finite(c.BytesPerS), "iops": finite(c.IOPS),
			"latency_p50_ms": finite(c.P50MS), "latency_p99_ms": finite(c.P99MS), "cpu_share": finite(c.CPUShare), "io_wait_share": finite(c.IOWait)})
	}
	empty := []map[string]string{}
	for _, names := range r.m.Empty {
		levels := map[string]string{}
		for i, n := range names {
			levels[r.m.Factors[i].Name] = n
		}
		empty = append(empty, levels)
	}
	effects := map[string]any{}
	for name, list := range r.effects {
		effects[name] = list
	}
	bends := map[string]any{}
	for name, list := range r.bends {
		all := []map[string]any{}
		for _, b := range list {
			all = append(all, map[string]any{"factor": b.Factor, "where": b.Where, "law": b.Law, "state": b.State, "at": finite(b.At), "low": finite(b.Low), "high": finite(b.High),
				"slope_before": finite(b.Before), "slope_after": finite(b.After)})
		}
		bends[name] = all
	}
	return map[string]any{"factors": r.m.Factors, "runs": r.m.Runs, "cells": cells, "empty": empty, "effects": effects, "bends": bends}
}

func (r *matrixReading) write(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', tabwriter.AlignRight)
	for _, f := range r.m.Factors {
		fmt.Fprintf(w, "%s\t", local.Printable(f.Name))
	}
	fmt.Fprint(w, "runs\tMB/s\tIOPS\tP50 ms\tP99 ms\tCPU\tI/O wait\t\n")
	for i := range r.m.Cells {
		c := &r.m.Cells[i]
		for k, l := range c.Levels {
			fmt.Fprintf(w, "%s\t", local.Printable(r.m.Factors[k].Levels[l]))
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%s\t\n", c.Runs, figure(c.BytesPerS/1e6), figure(c.IOPS), figure(c.P50MS), figure(c.P99MS), figure(c.CPUShare), figure(c.IOWait))
	}
	if n := len(r.m.Empty); n > 0 {
		fmt.Fprintf(w, "\nWithout a run: %s\n", cluster.Counted(n, "cell"))
		for i, names := range r.m.Empty {
			if i == 10 {
				fmt.Fprintf(w, "  and %d more\n", n-i)
				break
			}
			fmt.Fprintf(w, "  %s\n", local.Printable(strings.Join(names, ", ")))
		}
	}
	for _, of := range matrix.Measures {
		effects, ok := r.effects[of.Name]
		if !ok {
			fmt.Fprintf(w, "\n%s: too few runs to tell what it hangs on\n", of.Name)
			continue
		}
		fmt.Fprintf(w, "\nWhat %s hangs on (share of the variation of its logarithm, 95 %% interval):\n", of.Name)
		fmt.Fprint(w, "share\tlow\thigh\tratio\t  \n")
		for _, e := range effects {
			mark := ""
			if e.Found {
				mark = "  beyond chance"
			}
			at := fmt.Sprintf("%s against %s", e.At[0], e.At[1])
			if len(e.Factors) > 1 {
				at = fmt.Sprintf("%s with %s, against what each predicts", e.At[0], e.At[1])
			}
			fmt.Fprintf(w, "%.1f %%\t%.1f\t%.1f\tx %.2f\t  %s (%s)%s\n", 100*e.Share, 100*e.Low, 100*e.High, e.Ratio, local.Printable(strings.Join(e.Factors, " x ")), local.Printable(at), mark)
		}
	}
	for _, line := range r.bendLines() {
		fmt.Fprintf(w, "\n%s", line)
	}
	fmt.Fprintln(w)
	return w.Flush()
}

// bendLines say where along the factors of numbers things take off.
func (r *matrixReading) bendLines() []string {
	var lines []string
	for _, of := range matrix.Measures {
		for _, b := range r.bends[of.Name] {
			if b.Law == "saturation" && of.Name != matrix.Measures[0].Name {
				continue // of throughput: once is enough
			}
			lines = append(lines, bendWords(of.Name, &b))
		}
	}
	return lines
}

func figure(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "-"
	}
	return fmt.Sprintf("%.4g", v)
}

// bendWords says where along a factor things take off.
func bendWords(measure string, b *matrix.Bend) string {
	where := ""
	for _, k := range sortedKeys(b.Where) {
		where += fmt.Sprintf(", %s %s", local.Printable(k), local.Printable(b.Where[k]))
	}
	what := measure + " takes off"
	if b.Law == "saturation" {
		what = "throughput stops growing"
	}
	switch b.State {
	case knee.Found:
		return fmt.Sprintf("Along %s%s: %s at %.4g (%.4g to %.4g)", local.Printable(b.Factor), where, what, b.At, b.Low, b.High)
	case knee.Below:
		return fmt.Sprintf("Along %s%s: saturated at every level", local.Printable(b.Factor), where)
	case knee.Beyond:
		return fmt.Sprintf("Along %s%s: no knee up to the last level", local.Printable(b.Factor), where)
	}
	return fmt.Sprintf("Along %s%s: too few runs to tell a knee", local.Printable(b.Factor), where)
}

func sortedKeys(m map[string]string) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
