package main

import (
	"fmt"
	"io"
	"math"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cluster/analysis"
	"github.com/iopathy/iopathy/cmd/internal/local"
	"github.com/iopathy/iopathy/reports"
)

func (a *app) explainCmd() *cobra.Command {
	return &cobra.Command{
		Use: "explain HOST/DEVICE TIME --lake DIR", Short: "Why one window has its label: numbers, scores, evidence, votes", GroupID: "job", Args: cobra.ExactArgs(2),
		Long: `explain shows how the window of a device that holds TIME came to its label: the
12 features against healthy, the device's own healthy windows and its group's;
the score of each pathology and whether it passes its gate; which rules of the
catalogue hold; which cause the window votes for; by how much the sick windows
in a row stand over the gate, and what is asked for; and the smallest change of
one feature that would change the label. TIME is a time as people write it:
2006-01-02T15:04:05Z, "2006-01-02 15:04:05" (in ingest.zone), "yesterday 02:00",
nanoseconds since 1970, or +12.3s from the device's first window (from second 0
where the recording's own clock is relative).`,
		Example: "  iopathy explain h07/sdc \"2026-11-29 02:13:00\" --lake report/lake\n  iopathy explain h07/sdc +90s --lake report/lake --output json",
		RunE: func(_ *cobra.Command, args []string) error {
			dir, err := a.needLake(true)
			if err != nil {
				return err
			}
			inv, err := local.Inventory(&a.config)
			if err != nil {
				return failure{exitUsage, err}
			}
			_, rules, err := a.catalogue()
			if err != nil {
				return err
			}
			zone, err := time.LoadLocation(a.config.Ingest.Zone)
			if err != nil {
				return usage("ingest.zone: %v", err)
			}
			job := a.job(dir)
			place, err := job.Find(args[0], args[1], local.Times{Now: a.now(), Zone: zone})
			if err != nil {
				return failure{exitUsage, err}
			}
			d, at, err := job.Around(place, inv, rules)
			if err != nil {
				return err
			}
			if at < 0 {
				return failure{exitUsage, place.Gap()}
			}
			e, err := job.Explain(d, at, rules)
			if err != nil {
				return err
			}
			slow, err := job.Slowest(d.Windows.At(at), slowestShown)
			if err != nil {
				return err
			}
			asked, err := job.AnalysesOf(d, d.Windows.At(at).Key)
			if err != nil {
				return err
			}
			var who reports.EpisodeCulprits
			if e.Episode != nil {
				if who, err = job.Culprits(d, e.Episode, d.Windows.At(at).Kind); err != nil {
					return err
				}
			}
			twins, err := job.Twins(&e.Point)
			if err != nil {
				return err
			}
			if a.json() {
				o := explained(&e, twins)
				o["analyses"] = reports.AnalysisObjects(asked)
				o["slowest"] = slowObjects(slow)
				ladder, pressure := e.Ladder()
				o["culprits"] = reports.CulpritObjects(who.List)
				o["ladder"] = reports.StageObjects(ladder, pressure)
				return a.print(o)
			}
			if err := writeExplained(a.stdout, &e, twins); err != nil {
				return err
			}
			if err := writeCulprits(a.stdout, &who); err != nil {
				return err
			}
			if err := writeSlowest(a.stdout, slow); err != nil {
				return err
			}
			return writeAnalyses(a.stdout, asked)
		},
	}
}

// saidOf is a diagnosis as the JSON shows it.
type saidOf struct {
	StartNS    int64   `json:"window_start_ns"`
	EndNS      int64   `json:"window_end_ns"`
	Verdict    string  `json:"verdict"`
	Pathology  string  `json:"pathology"`
	ClassID    int     `json:"class_id"`
	Severity   float64 `json:"severity"`
	Confidence float64 `json:"confidence"`
	Margin     float64 `json:"margin"`
	RootCause  string  `json:"root_cause"`
}

func said(d *cluster.Diagnosis) saidOf {
	return saidOf{d.StartNS, d.EndNS, string(d.Verdict), d.Pathology, d.ClassID, d.Severity, d.Confidence, d.Margin, d.RootCause}
}

func explained(e *local.Explained, past []cluster.Twin) map[string]any {
	var near []saidOf
	for i := range e.Neighbours {
		near = append(near, said(&e.Neighbours[i]))
	}
	twins := []map[string]any{}
	for i := range past {
		t := &past[i]
		twins = append(twins, map[string]any{"host": t.Host, "device": t.Device, "distance": t.Distance, "said": said(&t.Diagnosis)})
	}
	n := e.Point.Normal
	causes := []map[string]any{}
	for _, c := range e.Diagnosis.Causes {
		causes = append(causes, map[string]any{"id": c.ID, "name": c.Name, "votes": c.Votes, "of": c.Of, "share": c.Share, "low": c.Low, "high": c.High})
	}
	return map[string]any{
		"host": e.Point.Window.Host, "device": e.Point.Window.Device, "latency_kind": e.Point.Window.Kind.String(),
		"requests": e.Point.Window.Requests, "coverage": e.Point.Window.Coverage, "model": e.Diagnosis.Model,
		"normal":    map[string]any{"source": n.Source, "group": n.Group, "windows": n.Windows, "nights": n.Nights, "alone": n.Alone, "expected_ms": math.Pow(10, n.Expected) / 1e6},
		"diagnosis": said(&e.Diagnosis), "alone": said(&e.Why.Alone), "neighbours": near, "episode_causes": causes,
		"features": e.Why.Axes, "scores": e.Why.Entries, "classes": e.Why.Classes, "flips": e.Why.Flips, "row": e.Why.Row, "twins": twins,
	}
}

// words is a verdict in one or two words.
func words(d *cluster.Diagnosis) string {
	if d.Verdict == cluster.Sick {
		return d.Pathology
	}
	return string(d.Verdict)
}

func writeExplained(out io.Writer, e *local.Explained, twins []cluster.Twin) error {
	p, d := &e.Point, &e.Diagnosis
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "%s/%s from %s to %s: %s", local.Printable(p.Window.Host), local.Printable(p.Window.Device), local.Stamp(d.StartNS), local.Stamp(d.EndNS), words(d))
	if d.ClassID > 0 {
		fmt.Fprintf(w, ", class %d of the %s model", d.ClassID, d.Model)
	}
	fmt.Fprintf(w, "\nseverity %.2f, confidence %.0f %%, coverage %.2f, %s, latencies of kind %s\n", d.Severity, 100*d.Confidence, d.Coverage, cluster.Counted(p.Window.Requests, "request"), p.Window.Kind)
	if d.Verdict == cluster.Idle || d.Verdict == cluster.Artefact {
		fmt.Fprint(w, "It isn't judged: too little happened in it, or too little of it can be timed.\n")
	} else if alone := &e.Why.Alone; words(alone) != words(d) {
		fmt.Fprintf(w, "By itself it would be %s (severity %.2f); its neighbours decide.\n", words(alone), alone.Severity)
	}
	if r := &e.Why.Row; r.Windows > 0 {
		verdict := "enough"
		if !(r.Excess >= r.Needs) {
			verdict = "too little: a gate is a quantile, so that some healthy windows always lie just beyond it"
		}
		fmt.Fprintf(w, "Sick windows in a row, this one among them: %d; they stand over the gate by %.2f in sum (a window of 10 s weighs 1), %.2f is asked for (cluster.excess): %s.\n", r.Windows, r.Excess, r.Needs, verdict)
	}
	fmt.Fprint(w, "\nNeighbours:\n")
	for i := range e.Neighbours {
		n := &e.Neighbours[i]
		here := ""
		if n.StartNS == d.StartNS {
			here = "  this one"
		}
		fmt.Fprintf(w, "  %s  %s, severity %.2f%s\n", local.Stamp(n.StartNS), words(n), n.Severity, here)
	}
	writeAxes(w, e)
	writeStages(w, e)
	if d.Verdict == cluster.Sick || d.Verdict == cluster.Healthy {
		writeScores(w, e)
		writeEvidence(w, e)
		writeCauses(w, e)
		writeNotes(w, e)
		writeFlips(w, e)
		writeTwins(w, twins)
	}
	return w.Flush()
}

// writeAnalyses gives the answers about the device, those that can't be told too.
func writeAnalyses(w io.Writer, asked []analysis.Finding) error {
	if len(asked) == 0 {
		return nil
	}
	fmt.Fprint(w, "\nSingle questions about the device:\n")
	for i := range asked {
		x := &asked[i]
		mark := "  "
		if x.Holds {
			mark = "! "
		}
		fmt.Fprintf(w, "%s%s: %s\n", mark, x.Kind, x.Says) // names in it are fit to be printed
	}
	return nil
}

// slowestShown is how many requests stand for a window.
const slowestShown = 5

func slowObjects(slow []reports.SlowLine) []map[string]any {
	all := []map[string]any{}
	for i := range slow {
		e := &slow[i].Event
		all = append(all, map[string]any{"time_ns": e.TimeNS, "latency_ns": e.LatencyNS, "op": e.Op.String(), "offset_bytes": e.OffsetBytes, "size_bytes": e.SizeBytes,
			"comm": slow[i].Comm, "source": slow[i].Source, "source_offset": e.Position, "raw": slow[i].Raw})
	}
	return all
}

// writeSlowest gives the window's slowest requests with their lines.
func writeSlowest(w io.Writer, slow []reports.SlowLine) error {
	if len(slow) == 0 {
		return nil
	}
	fmt.Fprint(w, "\nSlowest requests, and where their lines stand:\n")
	for i := range slow {
		s := &slow[i]
		e := &s.Event
		fmt.Fprintf(w, "  %.3f ms  %s %d bytes at %d  %s  %s, byte %d\n", float64(e.LatencyNS)/1e6, e.Op, e.SizeBytes, e.OffsetBytes, local.Printable(s.Comm), local.Printable(s.Source), e.Position)
		if s.Raw != "" {
			fmt.Fprintf(w, "      %s\n", s.Raw)
		}
	}
	return nil
}

// writeTwins lists the past windows most like this one.
func writeTwins(w io.Writer, twins []cluster.Twin) {
	fmt.Fprint(w, "\nPast windows most like it (0 the same, 1 nothing in common):\n")
	if len(twins) == 0 {
		fmt.Fprint(w, "  the lake holds none\n")
	}
	for i := range twins {
		t := &twins[i]
		cause := ""
		if t.RootCause != "" {
			cause = ", " + t.RootCause
		}
		fmt.Fprintf(w, "  %.2f  %s/%s %s: %s, severity %.2f%s\n", t.Distance, local.Printable(t.Host), local.Printable(t.Device), local.Stamp(t.StartNS), words(&t.Diagnosis), t.Severity, cause)
	}
}
