package formats

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/iopathy/iopathy/ingest"
)

// known writes a number, or - for one that is Missing.
func known[T int32 | int64](v T) string {
	if v == ingest.Missing {
		return "-"
	}
	return strconv.FormatInt(int64(v), 10)
}

func word(b *ingest.Batch, n ingest.Name) string {
	if n == 0 {
		return "-"
	}
	s := b.Names.String(n)
	if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' }) {
		return strconv.Quote(s)
	}
	return s
}

// dump writes the rows of a batch as text, a line each.
func dump(w *strings.Builder, b *ingest.Batch) {
	for i := range b.Events {
		e := &b.Events[i]
		flags := e.Flags.String()
		if flags == "" {
			flags = "-"
		}
		stages := ""
		if e.GetNS >= 0 || e.InsertNS >= 0 {
			stages = fmt.Sprintf(" get %s insert %s", known(e.GetNS), known(e.InsertNS))
		}
		fmt.Fprintf(w, "event %d %s %s %s %s offset %s size %s queue %s%s latency %s %s depth %s error %d pid %s comm %s file %s cgroup %s @%d\n",
			e.TimeNS, word(b, e.Host), word(b, e.Device), e.Op, flags, known(e.OffsetBytes), known(e.SizeBytes), known(e.QueueNS), stages,
			known(e.LatencyNS), e.Kind, known(e.Depth), e.Error, known(e.PID), word(b, e.Comm), word(b, e.File), word(b, e.Cgroup), e.Position)
	}
	for i := range b.Samples {
		s := &b.Samples[i]
		fmt.Fprintf(w, "sample %d interval %d %s %s", s.TimeNS, s.IntervalNS, word(b, s.Host), word(b, s.Device))
		for k, name := range counterNames {
			if v := counters(s)[k]; v != ingest.Missing {
				fmt.Fprintf(w, " %s %d", name, v)
			}
		}
		fmt.Fprintf(w, " @%d\n", s.Position)
	}
	for i := range b.Evidence {
		e := &b.Evidence[i]
		fmt.Fprintf(w, "evidence %d %s %s %s %s %s @%d\n", e.TimeNS, word(b, e.Host), word(b, e.Device), word(b, e.Name),
			strconv.FormatFloat(e.Value, 'g', -1, 64), word(b, e.Text), e.Position)
	}
	for _, r := range b.Rejected {
		fmt.Fprintf(w, "reject line %d @%d %s %q\n", r.Line, r.Position, r.Reason, r.Text)
	}
}

var counterNames = ingest.SampleColumnNames[4:23]

func counters(s *ingest.Sample) [19]int64 {
	return [...]int64{
		s.Reads, s.Writes, s.Discards, s.Flushes, s.ReadBytes, s.WriteBytes, s.DiscardBytes,
		s.ReadNS, s.WriteNS, s.DiscardNS, s.FlushNS, s.ReadMerges, s.WriteMerges, s.DiscardMerges,
		s.TotalIOs, s.TotalBytes, s.TotalNS, s.InFlightNS, s.BusyNS,
	}
}

func fates(t ingest.Tally) string {
	return fmt.Sprintf("lines %d event %d merged %d notes %d rejects %v unpaired %v", t.Lines, t.Event, t.Merged, t.Notes, t.Rejects, t.Unpaired)
}

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		var x, y string
		if i < len(w) {
			x = w[i]
		}
		if i < len(g) {
			y = g[i]
		}
		if x != y {
			return fmt.Sprintf("line %d\nwant %s\ngot  %s", i+1, x, y)
		}
	}
	return "no difference"
}

// byKind sorts dumped rows by kind and keeps their order within each: across
// chunks the kinds alternate.
func byKind(rows string) string {
	lines := strings.SplitAfter(rows, "\n")
	slices.SortStableFunc(lines, func(a, b string) int {
		a, _, _ = strings.Cut(a, " ")
		b, _, _ = strings.Cut(b, " ")
		return strings.Compare(a, b)
	})
	return strings.Join(lines, "")
}
