package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// sourceView is an input's line in the provenance.
type sourceView struct {
	Name, Format, SHA, Lines, Rows, Notes, Merged, Repeats string
	Rejects, Unpaired                                      string
	Clock, Reasons                                         string
	Adds                                                   bool // the fates sum to the lines
}

func (f *facts) provenance(p *pageView) {
	f.recordings(p)
	var total Source
	total.Rejects, total.Unpaired = map[string]int64{}, map[string]int64{}
	for i := range f.in.Ingest.Sources {
		s := &f.in.Ingest.Sources[i]
		if i < maxSources {
			p.Sources = append(p.Sources, newSourceView(s))
		} else {
			p.SourcesLeft++
		}
		total.Lines += s.Lines
		total.Events += s.Events
		total.Samples += s.Samples
		total.Ticks += s.Ticks
		total.Evidence += s.Evidence
		total.EventLines += s.EventLines
		total.Merged += s.Merged
		total.Notes += s.Notes
		total.Repeats += s.Repeats
		for r, n := range s.Rejects {
			total.Rejects[r] += n
		}
		for r, n := range s.Unpaired {
			total.Unpaired[r] += n
		}
	}
	p.Totals = newSourceView(&total)
	p.Totals.Name = plural(len(f.in.Ingest.Sources), "input")
}

func newSourceView(s *Source) sourceView {
	v := sourceView{
		Name: label(s.Name), Format: label(s.Format), Clock: label(s.Clock), SHA: label(s.SHA256), Lines: count(s.Lines),
		Notes: count(s.Notes), Merged: count(s.Merged), Repeats: count(s.Repeats),
		Rejects: count(s.Rejected()), Unpaired: count(s.UnpairedLines()),
		Reasons: reasons(s.Rejects, s.Unpaired),
		Adds:    s.EventLines+s.Merged+s.Notes+s.Repeats+s.Rejected()+s.UnpairedLines() == s.Lines,
	}
	var rows []string
	for _, r := range []struct {
		n    int64
		name string
	}{{s.Events, "event"}, {s.Samples, "sample"}, {s.Ticks, "tick"}, {s.Evidence, "fact"}} {
		if r.n > 0 {
			rows = append(rows, plural(int(r.n), r.name))
		}
	}
	v.Rows = strings.Join(rows, ", ")
	if v.Rows == "" {
		v.Rows = "nothing"
	}
	return v
}

// reasons lists counts by reason, the largest first.
func reasons(maps ...map[string]int64) string {
	var out []string
	for _, m := range maps {
		for _, r := range sortedReasons(m) {
			out = append(out, fmt.Sprintf("%s %s", label(r), count(m[r])))
		}
	}
	return strings.Join(out, ", ")
}

// sortedReasons are the reasons with a count, the largest first.
func sortedReasons(m map[string]int64) []string {
	names := make([]string, 0, len(m))
	for r, n := range m {
		if n != 0 {
			names = append(names, r)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(m[b], m[a]), strings.Compare(a, b)) })
	return names
}
