package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cmd/internal/score"
)

// writeMeasures prints the tables, and as the last line the measures. shuffled
// is what they are with shuffled names, periods how those of bursts were found;
// both may be nil.
func writeMeasures(out io.Writer, m, shuffled *score.Measures, periods *score.PeriodScore) error {
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
	if periods != nil {
		fmt.Fprintf(out, "\nperiods of bursts within 10 %%: %d of %s, %d untold", periods.Right, cluster.Counted(periods.Devices, "device"), periods.Untold)
		for _, p := range periods.Wrong {
			fmt.Fprintf(out, "; %s/%s %.3g s, not %.3g s", p.Host, p.Device, p.SaidS, p.TrueS)
		}
		fmt.Fprintln(out)
	}
	if shuffled != nil {
		fmt.Fprintf(out, "\nwith shuffled names ari=%.3f ariCoverage=%.2f\n", shuffled.ARI, shuffled.ARICoverage)
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
