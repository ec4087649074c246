package main

import (
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/iopathy/iopathy/cmd/internal/local"
	"github.com/iopathy/iopathy/ingest/align"
	"github.com/iopathy/iopathy/ingest/lake"
)

func (a *app) alignCmd() *cobra.Command {
	to := ""
	cmd := &cobra.Command{
		Use: "align A B", Short: "Find how the clocks of two logs of one host differ", GroupID: "know", Args: cobra.ExactArgs(2),
		Long: `align reads two logs that have seen the same I/Os, finds those that are in both (by
device, offset, size and operation, as sequences), and prints how far and how fast
the clock of B is from that of A, with the time from stamp to stamp.
--write gives a clock file: named B.clock and left beside the log B, ingest and run read B
by the clock of A. Exit code 1: too few I/Os match, or the match is ambiguous.`,
		Example: "  iopathy align trace.blkparse biosnoop.txt\n  iopathy align trace.blkparse biosnoop.txt --write biosnoop.txt.clock",
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] == "-" && args[1] == "-" {
				return usage("the standard input can be only one of the two")
			}
			r, err := a.job("").Align(cmd.Context(), args[0], args[1], a.stdin)
			if err != nil {
				if local.IsSourceError(err) {
					return failure{exitUsage, err}
				}
				return err
			}
			if to != "" {
				if info, err := os.Stat(to); err == nil && !info.Mode().IsRegular() {
					return usage("--write %s: not a regular file", to)
				}
				if err := lake.WriteFileAtomic(to, []byte(local.ClockText(r))); err != nil {
					return fmt.Errorf("align: %w", err)
				}
			}
			if a.json() {
				return a.print(r)
			}
			return a.tellAlign(r, args[0], args[1])
		},
	}
	cmd.Flags().StringVar(&to, "write", "", "clock file for B (B.clock is found beside B)")
	return cmd
}

// tellAlign says in words how two clocks differ.
func (a *app) tellAlign(r *align.Result, nameA, nameB string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "a: %s, %d I/Os (%s), stamps to %s\n", plain(nameA), r.SeenA, r.KindA, span(float64(r.ResolutionA)))
	fmt.Fprintf(&b, "b: %s, %d I/Os (%s), stamps to %s\n", plain(nameB), r.SeenB, r.KindB, span(float64(r.ResolutionB)))
	fmt.Fprintf(&b, "%d I/Os are in both", r.Matched)
	switch {
	case r.ByTimesAlone:
		b.WriteString(", told by their times alone: one of the logs has no offsets")
	case len(r.ShiftsBytes) > 0:
		fmt.Fprintf(&b, "; offsets of b are those of a %+d bytes", r.ShiftsBytes[0])
		if n := len(r.ShiftsBytes); n > 1 {
			fmt.Fprintf(&b, ", or as in %d other extents", n-1)
		}
	}
	if r.Sampled {
		b.WriteString(" (of a sample by offset)")
	}
	if r.Beginning {
		b.WriteString(" (of the beginnings of both)")
	}
	b.WriteString("\n")
	for i, d := range r.Devices {
		if i == 5 {
			fmt.Fprintf(&b, "  and %d more pairs of devices\n", len(r.Devices)-i)
			break
		}
		fmt.Fprintf(&b, "  %s of a is %s of b: %d\n", name(d.A), name(d.B), d.IOs)
	}
	fmt.Fprintf(&b, "to be added to times of b: %d ns ± %s (%s)", r.OffsetNS, span(float64(r.ErrorNS)), signedSpan(r.OffsetNS))
	fmt.Fprintf(&b, "; standard deviation of one I/O %s\n", span(r.SDNS))
	if r.DriftPPB == 0 {
		fmt.Fprintf(&b, "drift: none that shows (± %.3f ppm)\n", r.DriftError/1e3)
	} else {
		word := "slower"
		if r.DriftPPB < 0 {
			word = "faster"
		}
		fmt.Fprintf(&b, "drift: b is %s by %.3f ± %.3f ppm; the offset is that at its time %s\n", word, math.Abs(float64(r.DriftPPB))/1e3, r.DriftError/1e3, local.Stamp(r.AtNS))
	}
	for _, h := range r.Hops {
		fmt.Fprintf(&b, "  %s to %s: mean %s ± %s, standard deviation %s, %d I/Os\n", h.From, h.To, span(h.MeanNS), span(h.ErrorNS), span(h.SDNS), h.IOs)
	}
	_, err := fmt.Fprint(a.stdout, b.String())
	return err
}

// span writes ns for people, to three digits.
func span(ns float64) string {
	d := time.Duration(math.Round(ns))
	for unit := time.Duration(1); unit < time.Hour; unit *= 10 {
		if d.Abs() < 1000*unit {
			return d.Round(unit).String()
		}
	}
	return d.Round(time.Second).String()
}

// signedSpan is an offset as a duration, or as the date of b's stamp 0.
func signedSpan(ns int64) string {
	if ns > int64(10*365*24*time.Hour) {
		return "0 is " + time.Unix(0, ns).UTC().Format("2006-01-02T15:04:05.000000000Z")
	}
	return time.Duration(ns).String()
}

func name(s string) string {
	if s == "" {
		return "the only device"
	}
	return local.Printable(s)
}
