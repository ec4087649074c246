package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cmd/internal/local"
	"github.com/iopathy/iopathy/reports"
)

// facts lists what an expression was held against.
func facts(h *cluster.Heard) string {
	var s []string
	for _, f := range h.Facts {
		if f.Value == nil {
			s = append(s, f.Name+" missing")
		} else {
			s = append(s, fmt.Sprintf("%s %.4g", f.Name, *f.Value))
		}
	}
	return strings.Join(s, ", ")
}

func writeEvidence(w io.Writer, e *local.Explained) {
	fmt.Fprint(w, "\nEvidence that holds:\n")
	abstain, none := 0, true
	for i := range e.Why.Entries {
		l := &e.Why.Entries[i]
		for k := range l.Rules {
			h := &l.Rules[k]
			if !h.Told {
				abstain++
			}
			if h.Holds {
				none = false
				fmt.Fprintf(w, "  %s %+.2f: %s\n      %s  [%s]\n", l.Pathology, h.Weight, h.Says, h.When, facts(h))
			}
		}
	}
	if none {
		fmt.Fprint(w, "  none\n")
	}
	if abstain > 0 {
		fmt.Fprintf(w, "  (for want of a fact %s abstained)\n", cluster.Counted(abstain, "rule"))
	}
}

func writeCauses(w io.Writer, e *local.Explained) {
	for i := range e.Why.Entries {
		l := &e.Why.Entries[i]
		if l.Pathology != e.Diagnosis.Pathology {
			continue
		}
		fmt.Fprintf(w, "\nCauses of %s:\n", l.Pathology)
		for k := range l.Causes {
			h := &l.Causes[k]
			state := "doesn't hold"
			switch {
			case h.Votes:
				state = "gets this window's vote"
			case h.Holds:
				state = "holds, after the one before it"
			case !h.Told:
				state = "abstains"
			}
			fmt.Fprintf(w, "  %s: %s; %s\n      %s  [%s]\n", h.ID, h.Says, state, h.When, facts(h))
		}
		for _, c := range e.Diagnosis.Causes {
			vote := "vote"
			if c.Votes == 1 || c.Of == 1 {
				vote = "votes"
			}
			fmt.Fprintf(w, "  episode: %d of %s %s for %s (%.0f to %.0f %% at 95 %%)\n", c.Votes, cluster.Counted(c.Of, "window"), vote, c.ID, 100*c.Low, 100*c.High)
		}
	}
}

// writeNotes tells whether other than storage explains a wait: what the catalogue
// notes of the host's CPUs, memory and GPUs, and what can't be told of them.
func writeNotes(w io.Writer, e *local.Explained) {
	var holds []*cluster.Heard
	told := 0
	for i := range e.Why.Notes {
		h := &e.Why.Notes[i]
		if h.Told {
			told++
		}
		if h.Holds {
			holds = append(holds, h)
		}
	}
	fmt.Fprint(w, "\nIs it other than storage?\n")
	switch {
	case told == 0:
		fmt.Fprint(w, "  no source tells of CPUs, memory, pressure or GPUs\n")
	case len(holds) == 0:
		fmt.Fprintf(w, "  nothing of it holds (%d of %s can be told)\n", told, cluster.Counted(len(e.Why.Notes), "note"))
	}
	for _, h := range holds {
		fmt.Fprintf(w, "  %s: %s\n      %s  [%s]\n", h.ID, h.Says, h.When, facts(h))
	}
	if e.Episode == nil {
		return
	}
	for i := range e.Episode.Outside {
		o := &e.Episode.Outside[i]
		fmt.Fprintf(w, "  its episode, %s: %s\n      next: %s\n", o.ID, o.Words(), o.Advice)
	}
	if len(holds) > 0 && len(e.Episode.Outside) == 0 {
		fmt.Fprint(w, "  but not in its episode: the device's healthy windows show the same, or too few of its sick ones do\n")
	}
}

// writeCulprits tells who took how much of the device before, during and after the
// window's episode.
func writeCulprits(out io.Writer, who *reports.EpisodeCulprits) error {
	if len(who.List) == 0 {
		return nil
	}
	fmt.Fprintf(out, "\nWho did it, of its episode from %s to %s (! a share that rose with it):\n", local.Stamp(who.FromNS), local.Stamp(who.ToNS))
	for i := range who.List {
		mark := "  "
		if who.List[i].Rises {
			mark = "! "
		}
		fmt.Fprintf(out, "%s%s\n", mark, who.List[i].Words()) // names in it are fit to be printed
	}
	return nil
}
