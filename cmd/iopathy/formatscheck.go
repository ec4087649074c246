package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cmd/internal/local"
	"github.com/iopathy/iopathy/ingest"
)

// checkFormats says what the sources are read as, and shows the first of what
// that gives.
func (a *app) checkFormats(ctx context.Context, sources []string) error {
	job := local.Job{Config: a.config}
	all, skips, err := job.Check(ctx, sources, a.stdin)
	if err != nil {
		if local.IsSourceError(err) {
			return failure{exitUsage, err}
		}
		return err
	}
	if a.json() {
		if all == nil {
			all = []local.Checked{}
		}
		if err := a.print(map[string]any{"inputs": all}); err != nil {
			return err
		}
	} else {
		for i := range all {
			if i > 0 {
				fmt.Fprintln(a.stdout)
			}
			if err := writeChecked(a.stdout, &all[i]); err != nil {
				return err
			}
		}
	}
	for _, s := range skips {
		a.say("%s: left out: %s", plainText(s.Path), s.Reason)
	}
	useful, over := 0, 0
	problem := "nothing was found in it"
	for i := range all {
		if r := &all[i].Report; r.Events+r.Samples+r.Evidence > 0 {
			useful++
		} else if r.Problem != "" {
			problem = r.Problem
		}
		if all[i].OverAll {
			over++
		}
	}
	switch {
	case useful == 0 && len(all) == 1:
		return failure{exitFailed, fmt.Errorf("%s: %s", plainText(all[0].Path), problem)}
	case useful == 0:
		return failure{exitFailed, fmt.Errorf("none of %s gives a record", cluster.Counted(len(all), "input"))}
	case over > 0:
		return failure{exitRejects, fmt.Errorf("too many rejects in %d of %s (--max-rejects %g)", over, cluster.Counted(len(all), "input"), a.config.MaxRejects)}
	}
	return nil
}

// plainText is a text of unknown origin, fit for a terminal.
func plainText(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}

func stampText(ns int64) string {
	return time.Unix(0, ns).UTC().Format("2006-01-02T15:04:05.000000000Z")
}

// writeChecked prints what became of an input.
func writeChecked(w io.Writer, c *local.Checked) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	line := func(key, format string, args ...any) { fmt.Fprintf(t, key+"\t"+format+"\n", args...) }
	line("input", "%s", plainText(c.Path))
	if c.Format != "" {
		by := ""
		if c.Mapping != "" {
			by = ", by the mapping " + c.Mapping
		}
		line("format", "%s%s", c.Format, by)
	}
	line("claimed by", "%s", claims(c.Scores))
	if c.Problem != "" {
		line("problem", "%s", plainText(c.Problem))
	}
	if c.Torn != "" {
		line("torn", "%s", c.Torn)
	}
	if c.Format != "" {
		line("lines", "%d: %d of records, %d merged, %s, %d rejected, %d unpaired", c.Tally.Lines, c.Tally.Event, c.Tally.Merged, cluster.Counted(c.Tally.Notes, "note"), c.Tally.Rejected(), c.Tally.UnpairedLines())
		line("records", "%s, %s, %s of evidence", cluster.Counted(c.Events, "event"), cluster.Counted(c.Samples, "sample"), cluster.Counted(c.Report.Evidence, "piece"))
	}
	if c.Events+c.Samples > 0 {
		line("time", "%s to %s (%v)", stampText(c.FirstNS), stampText(c.LastNS), time.Duration(c.LastNS-c.FirstNS))
		if c.LastNS < 365*24*3600*1e9 {
			line("", "a relative clock: --ingest-start-ns gives the epoch of its 0")
		}
	}
	var kinds []string
	for _, k := range sortedWords(c.Kinds) {
		kinds = append(kinds, fmt.Sprintf("%s (%d)", k, c.Kinds[k]))
	}
	if len(kinds) > 0 {
		line("latency", "%s", strings.Join(kinds, ", "))
	}
	list := c.DeviceList()
	for i, d := range list {
		if i == 10 {
			line("", "and %d more", len(list)-i)
			break
		}
		line([...]string{"devices", ""}[min(i, 1)], "%s (%d)", plainText(d), c.Devices[d])
	}
	if c.More > 0 {
		line("", "and %s of devices that are not listed", cluster.Counted(c.More, "row"))
	}
	if c.Needs != "" {
		line("needs", "%s", c.Needs)
	}
	if c.Lacks != "" {
		line("lacks", "%s", c.Lacks)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, kind := range []string{"event", "sample", "evidence"} {
		if err := writeRecords(w, kind, c.Records); err != nil {
			return err
		}
	}
	return writeRejected(w, c)
}

// claims puts scores into words.
func claims(all []ingest.Score) string {
	if len(all) == 0 {
		return "no format"
	}
	var words []string
	for _, s := range all {
		switch {
		case s.Mapping != "":
			words = append(words, "the mapping "+s.Mapping)
		case s.Sure == 1:
			words = append(words, s.Format+" (1, possible)")
		default:
			words = append(words, fmt.Sprintf("%s (%d, sure)", s.Format, s.Sure))
		}
	}
	return strings.Join(words, ", ")
}

func sortedWords[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// writeRecords prints the records of a kind as a table of the columns that any
// of them knows.
func writeRecords(w io.Writer, kind string, records []map[string]any) error {
	names := map[string][]string{
		"event": ingest.EventColumnNames, "sample": ingest.SampleColumnNames, "evidence": ingest.EvidenceColumnNames,
	}[kind]
	var rows []map[string]any
	for _, r := range records {
		if r["record"] == kind {
			rows = append(rows, r)
		}
	}
	var cols []string
	for _, name := range names {
		known := slices.ContainsFunc(rows, func(r map[string]any) bool { v, ok := r[name]; return ok && v != "" })
		if known && name != "source_offset" {
			cols = append(cols, name)
		}
	}
	if len(cols) == 0 {
		return nil
	}
	fmt.Fprintf(w, "\nfirst records (%s):\n", kind)
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, strings.Join(cols, "\t"))
	for _, r := range rows {
		var cells []string
		for _, name := range cols {
			v, ok := r[name]
			switch {
			case !ok || v == "":
				cells = append(cells, "-")
			case name == "time_ns":
				cells = append(cells, stampText(v.(int64)))
			default:
				cells = append(cells, plainText(fmt.Sprint(v)))
			}
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	return t.Flush()
}

// writeRejected prints the first rejected lines, and the reasons of all.
func writeRejected(w io.Writer, c *local.Checked) error {
	for _, set := range []struct {
		name    string
		reasons map[string]int64
	}{{"rejected", c.Tally.Rejects}, {"unpaired", c.Tally.Unpaired}} {
		if len(set.reasons) == 0 {
			continue
		}
		fmt.Fprintf(w, "\n%s:\n", set.name)
		for _, reason := range sortedWords(set.reasons) {
			fmt.Fprintf(w, "  %d %s\n", set.reasons[reason], reason)
		}
	}
	if len(c.Rejected) == 0 {
		return nil
	}
	fmt.Fprintln(w, "\nfirst rejected lines:")
	for _, r := range c.Rejected {
		if _, err := fmt.Fprintf(w, "  %s:%d: %s: %s\n", plainText(c.Path), r.Line, r.Reason, plainText(r.Text)); err != nil {
			return err
		}
	}
	return nil
}
