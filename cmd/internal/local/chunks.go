package local

import (
	"cmp"
	"os"
	"path/filepath"

	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/ingest/lake"
)

// chunkWriter writes the chunks of one input as parts of the lake.
type chunkWriter struct {
	lake    string
	names   deviceNames          // of the input's folder
	below   stack                // of the input's folder
	live    map[string]lake.Part // that the lake has of the input, by path
	only    map[string]bool      // paths of the parts that are written; nil: all
	parts   []lake.Part
	staged  []string // paths of those that wait to take another's place
	rejects []ingest.Reject
	cols    []ingest.Column
	ticks   int64 // histograms of latencies

	checkpoint *lake.CheckpointFile // where the reading of the input goes on
}

func (w *chunkWriter) write(c *ingest.Chunk) error {
	if room := keptRejects - len(w.rejects); room > 0 {
		w.rejects = append(w.rejects, c.Rejected[:min(room, len(c.Rejected))]...)
	}
	if len(w.names) > 0 {
		c.Names.Rename(func(old string) string { return cmp.Or(w.names[old], old) })
	}
	shortHosts(c.Batch)
	for _, p := range c.ByHostDate() {
		if rows := p.Events; len(rows) > 0 {
			has := ingest.EventPresence(c.Batch, rows) // while they stand as they came
			c.SortEvents(rows)
			err := w.part("events", c, p, rows, func(rows []int32) []ingest.Column {
				w.cols = c.EventColumns(rows, c.ID, has, w.cols)
				return ingest.Present(w.cols, has)
			}, func(i int32) ingest.Name { return c.Events[i].Device })
			if err != nil {
				return err
			}
		}
		if rows := p.Samples; len(rows) > 0 {
			c.SortSamples(rows)
			has := ingest.SamplePresence(c.Batch, rows)
			err := w.part("samples", c, p, rows, func(rows []int32) []ingest.Column {
				return ingest.Present(c.SampleColumns(rows, c.ID, nil), has)
			}, func(i int32) ingest.Name { return c.Samples[i].Device })
			if err != nil {
				return err
			}
		}
		if rows := p.Evidence; len(rows) > 0 {
			c.SortEvidence(rows)
			w.ticks += histogramsOf(c.Batch, rows)
			has := ingest.EvidencePresence(c.Batch, rows)
			err := w.part("evidence", c, p, rows, func(rows []int32) []ingest.Column {
				return ingest.Present(c.EvidenceColumns(rows, c.ID, nil), has)
			}, func(i int32) ingest.Name { return c.Batch.Evidence[i].Device })
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// part writes one partition's rows of a chunk, row group by row group.
func (w *chunkWriter) part(table string, c *ingest.Chunk, p ingest.Partition, rows []int32, columns func([]int32) []ingest.Column, device func(int32) ingest.Name) error {
	name := lake.PartName{Table: table, Date: p.Date, Host: p.Host, Input: c.ID, Chunk: int(c.Number)}.Path()
	if w.only != nil && !w.only[name] {
		return nil
	}
	devices := make([]string, len(rows))
	for i, r := range rows {
		devices[i] = c.Names.String(device(r))
	}
	path := filepath.Join(w.lake, filepath.FromSlash(name))
	_, waits := w.live[name]
	if waits {
		path = lake.StagedPath(path)
	}
	var file *lake.Writer
	from := 0
	for _, to := range lake.Cuts(devices, 0, 0) {
		cols := columns(rows[from:to])
		if file == nil {
			var err error
			if file, err = lake.Create(path, nullable(lake.Fields(cols)), nil); err != nil {
				return err
			}
		}
		if err := file.Write(cols); err != nil {
			file.Abort()
			return err
		}
		from = to
	}
	part, err := file.Close()
	if err != nil {
		return err
	}
	part.Path = name
	w.parts = append(w.parts, part)
	if waits {
		w.staged = append(w.staged, name)
	}
	return nil
}

// discard removes what was written: the lake has it already.
func (w *chunkWriter) discard() error {
	for _, p := range w.parts {
		path := filepath.Join(w.lake, filepath.FromSlash(p.Path))
		if _, waits := w.live[p.Path]; waits {
			path = lake.StagedPath(path)
		}
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	w.parts, w.staged, w.rejects, w.ticks = nil, nil, nil, 0
	return nil
}

// nullable lets every column but the time hold nulls: a later row group of the
// part may, where the first does not.
func nullable(fields []lake.Field) []lake.Field {
	for i := range fields {
		fields[i].Nullable = fields[i].Name != "time_ns"
	}
	return fields
}
