package main

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cmd/internal/local"
)

func writeAxes(w io.Writer, e *local.Explained) {
	n := e.Point.Normal
	from := n.Source
	switch n.Source {
	case "group":
		from += " " + local.Printable(n.Group)
	case "nights":
		from = fmt.Sprintf("such work on %s of the device", cluster.Counted(n.Nights, "other night"))
	case "peers":
		from = fmt.Sprintf("such work of %s of %s on other nights", cluster.Counted(n.Windows, "other device"), local.Printable(n.Group))
	}
	fmt.Fprintf(w, "\nFeatures (a request of this size is expected to take %.3g ms at one in flight: %s", math.Pow(10, n.Expected)/1e6, from)
	if n.Source != "peers" {
		fmt.Fprintf(w, ", %s", cluster.Counted(n.Windows, "window"))
	}
	fmt.Fprint(w, "):\n")
	if n.Alone {
		fmt.Fprint(w, "No baseline yet: no earlier night and no peer; a device that is slow all the time would look the same.\n")
	}
	fmt.Fprint(w, "value\tnormal\tz\town\tnights\tgroup\t  feature\n")
	median := func(m cluster.Median) string {
		if m.Windows == 0 {
			return "-"
		}
		return fmt.Sprintf("%.3f", m.Value)
	}
	var axis cluster.Axis
	most := 0
	for _, axis = range e.Why.Axes {
		value := fmt.Sprintf("%.3f", axis.Value)
		if axis.Missing {
			value = "missing"
		}
		nights := "-"
		if q := axis.Nights; q.Windows > 0 {
			nights = fmt.Sprintf("%.3f..%.3f", q.Low, q.High)
			most = max(most, q.Nights)
		}
		fmt.Fprintf(w, "%s\t%.3f\t%+.2f\t%s\t%s\t%s\t  %s\n", value, axis.Centre, axis.Z, median(axis.Own), nights, median(axis.Group), axis.Feature)
	}
	fmt.Fprintf(w, "(own: median of %s of the device; nights: 10 to 90 %% of its healthy windows of %s; group: median of %s of its group)\n",
		cluster.Counted(axis.Own.Windows, "other healthy window"), cluster.Counted(most, "other night"), cluster.Counted(axis.Group.Windows, "healthy window"))
}

// writeStages tells what the window's requests spent in each stage.
func writeStages(w io.Writer, e *local.Explained) {
	l, pressure := e.Ladder()
	steps := l.Steps()
	if len(steps) == 0 {
		return
	}
	fmt.Fprint(w, "\nStages of its requests (ms; clock: the error that clocks make):\n")
	fmt.Fprint(w, "n\tmean\tsd\tP50\tP99\tclock\t  stage\n")
	for _, s := range steps {
		clock := "unknown"
		if !math.IsNaN(s.ClockNS) {
			clock = fmt.Sprintf("%.3g", s.ClockNS/1e6)
		}
		fmt.Fprintf(w, "%d\t%.3g\t%.3g\t%.3g\t%.3g\t%s\t  %s\n", s.N, s.MeanNS/1e6, s.DevNS/1e6, s.P50NS/1e6, s.P99NS/1e6, clock, s.Name)
	}
	if a, ok := l.Attribute(pressure); ok {
		fmt.Fprintf(w, "%s\n", a.Says)
	}
}

func writeScores(w io.Writer, e *local.Explained) {
	fmt.Fprint(w, "\nScores (cosine + evidence; sick from severity 1, which is projection over gate):\n")
	fmt.Fprint(w, "score\tcosine\tevidence\tmargin\tprojection\tgate\tseverity\t  pathology\n")
	for _, l := range e.Why.Entries {
		mark := ""
		if l.Pathology == e.Diagnosis.Pathology {
			mark = " (said)"
		} else if l.Pathology == e.Diagnosis.Nearest {
			mark = " (nearest)"
		}
		fmt.Fprintf(w, "%.3f\t%.3f\t%+.2f\t%+.3f\t%.2f\t%.2f\t%.2f\t  %s%s\n", l.Score, l.Cosine, l.Evidence, l.Margin, l.Projection, l.Gate, l.Severity, l.Pathology, mark)
	}
	if len(e.Why.Classes) > 0 {
		var near []string
		for _, c := range e.Why.Classes {
			near = append(near, fmt.Sprintf("%d %s at %.3f", c.ID, c.Pathology, c.Distance))
		}
		fmt.Fprintf(w, "Classes by cosine distance: %s\n", strings.Join(near, "; "))
	}
}

// flipsShown is how many of the flips the text shows.
const flipsShown = 4

func writeFlips(w io.Writer, e *local.Explained) {
	fmt.Fprint(w, "\nOne feature that would change what the window says by itself, the rest as it is:\n")
	if len(e.Why.Flips) == 0 {
		fmt.Fprint(w, "  none does\n")
	}
	for i, f := range e.Why.Flips {
		if i == flipsShown {
			break
		}
		fmt.Fprintf(w, "  %s from %.3f to %.3f (%+.2f healthy scales): %s\n", f.Feature, f.From, f.To, f.Z, f.Becomes)
	}
}
