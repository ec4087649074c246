package local

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/ingest/lake"
)

// chunkWriter writes the chunks of one input as parts of the lake.
type chunkWriter struct {
	lake    string
	names   deviceNames          // of the input's folder
	below   stack                // of the input's folder
	live    map[string]lake.Part // that the lake has of the input, by path
	closed  map[lake.Day]bool    // that take no more events and samples
	late    map[lake.Day]int64   // rows that were of such
	only    map[string]bool      // paths of the parts that are written; nil: all
	parts   []lake.Part
	staged  []string // paths of those that wait to take another's place
	rejects []ingest.Reject
	asked   map[string]bool // names of evidence that stay
	workers int             // that pack row groups at once
	packing packing
	ticks   int64 // histograms of latencies

	pseudonyms *Pseudonyms // nil: names stay

	checkpoint *lake.CheckpointFile // where the reading of the input goes on
}

func (w *chunkWriter) write(c *ingest.Chunk) error {
	if room := keptRejects - len(w.rejects); room > 0 {
		w.rejects = append(w.rejects, c.Rejected[:min(room, len(c.Rejected))]...)
	}
	if len(w.names) > 0 {
		c.Names.Rename(func(old string) string { return cmp.Or(w.names[old], old) })
	}
	w.pseudonyms.rows(c, w.asked)
	shortHosts(c.Batch)
	var drafts []draft
	add := func(table string, p *ingest.Partition, ends []int, columns func(from, to int, h *hand) []ingest.Column) {
		name := lake.PartName{Table: table, Date: p.Date, Host: p.Host, Input: c.ID, Chunk: int(c.Number)}.Path()
		if w.only == nil || w.only[name] {
			drafts = append(drafts, draft{name, ends, columns})
		}
	}
	for _, p := range c.ByHostDate(w.workers) {
		if day := (lake.Day{Host: p.Host, Date: p.Date}); w.closed[day] {
			if w.late == nil {
				w.late = map[lake.Day]int64{}
			}
			w.late[day] += int64(p.Events.Len() + len(p.Samples))
			p.Events, p.Samples = ingest.Ordered{}, nil
		}
		if p.Events.Len() > 0 {
			has := p.Events.Presence()
			add(lake.Events, &p, lake.CutRuns(p.Events.Runs(), 0, 0), func(from, to int, h *hand) []ingest.Column {
				h.rows = p.Events.Rows(from, to, h.rows)
				h.cols = c.EventColumns(h.rows, c.ID, has, h.cols)
				return ingest.Present(h.cols, has)
			})
		}
		if rows := p.Samples; len(rows) > 0 {
			c.SortSamples(rows)
			has := ingest.SamplePresence(c.Batch, rows)
			add(lake.Samples, &p, cuts(rows, c, func(i int32) ingest.Name { return c.Samples[i].Device }), func(from, to int, _ *hand) []ingest.Column {
				return ingest.Present(c.SampleColumns(rows[from:to], c.ID, nil), has)
			})
		}
		if rows := p.Evidence; len(rows) > 0 {
			c.SortEvidence(rows)
			w.ticks += histogramsOf(c.Batch, rows)
			has := ingest.EvidencePresence(c.Batch, rows)
			add(lake.Evidence, &p, cuts(rows, c, func(i int32) ingest.Name { return c.Batch.Evidence[i].Device }), func(from, to int, _ *hand) []ingest.Column {
				return ingest.Present(c.EvidenceColumns(rows[from:to], c.ID, nil), has)
			})
		}
	}
	return w.store(drafts, c.Alone)
}

// cuts says where to cut rows into row groups.
func cuts(rows []int32, c *ingest.Chunk, device func(int32) ingest.Name) []int {
	devices := make([]string, len(rows))
	for i, r := range rows {
		devices[i] = c.Names.String(device(r))
	}
	return lake.Cuts(devices, 0, 0)
}

// store writes the parts of a chunk, row group by row group.
func (w *chunkWriter) store(drafts []draft, alone <-chan struct{}) error {
	var pieces []piece
	for i, d := range drafts {
		from := 0
		for _, to := range d.ends {
			pieces = append(pieces, piece{i, from, to})
			from = to
		}
	}
	var file *lake.Writer
	err := w.packing.inOrder(len(pieces), w.workers, alone, func(i int, h *hand, to *lake.Packed) error {
		p := pieces[i]
		cols := drafts[p.draft].columns(p.from, p.to, h)
		return to.Pack(nullable(lake.Fields(cols)), cols)
	}, func(i int, g *lake.Packed) (err error) {
		d := &drafts[pieces[i].draft]
		if file == nil {
			if file, err = lake.Create(w.path(d.name), g.Fields(), nil); err != nil {
				return err
			}
		}
		if err := file.Append(g); err != nil {
			return err
		}
		if pieces[i].to < d.ends[len(d.ends)-1] {
			return nil
		}
		part, err := file.Close()
		if err != nil {
			return err
		}
		file = nil
		part.Path = d.name
		w.parts = append(w.parts, part)
		if _, waits := w.live[d.name]; waits {
			w.staged = append(w.staged, d.name)
		}
		return nil
	})
	if file != nil {
		file.Abort()
	}
	return err
}

// path is where the file of a part is written: beside the one whose place it
// takes, if there is one.
func (w *chunkWriter) path(name string) string {
	path := filepath.Join(w.lake, filepath.FromSlash(name))
	if _, waits := w.live[name]; waits {
		path = lake.StagedPath(path)
	}
	return path
}

// discard removes what was written: the lake has it already.
func (w *chunkWriter) discard() error {
	for _, p := range w.parts {
		if err := os.Remove(w.path(p.Path)); err != nil {
			return err
		}
	}
	w.parts, w.staged, w.rejects, w.late, w.ticks = nil, nil, nil, nil, 0
	return nil
}

// tooLate says in words what was of days that retention has closed.
func tooLate(writers []*chunkWriter) []string {
	rows := int64(0)
	days := map[lake.Day]bool{}
	first, last := "", ""
	for _, w := range writers {
		for d, n := range w.late {
			if first == "" || d.Date < first {
				first = d.Date
			}
			rows, last, days[d] = rows+n, max(last, d.Date), true
		}
	}
	if rows == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s of %s (%s to %s) left aside: the events of those days are past their retention, and were removed", cluster.Counted(rows, "row"), cluster.Counted(len(days), "host-day"), first, last)}
}

// nullable lets every column but the time hold nulls: a later row group of the
// part may, where the first does not.
func nullable(fields []lake.Field) []lake.Field {
	for i := range fields {
		fields[i].Nullable = fields[i].Name != "time_ns"
	}
	return fields
}
