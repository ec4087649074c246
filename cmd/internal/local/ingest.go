package local

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/ingest/lake"
)

// Account is what an ingest did, as machines are told.
type Account struct {
	Inputs     int64            `json:"inputs"`
	Lines      int64            `json:"lines"`
	Events     int64            `json:"events"`
	Samples    int64            `json:"samples"`
	Ticks      int64            `json:"ticks"`
	Evidence   int64            `json:"evidence"`
	EventLines int64            `json:"event_lines"`
	Merged     int64            `json:"merged_lines"`
	Notes      int64            `json:"notes"`
	Rejects    map[string]int64 `json:"rejects"`
	Unpaired   map[string]int64 `json:"unpaired"`
	Duplicates int64            `json:"duplicates"` // lines of inputs that were read before
	Parts      int64            `json:"parts"`
}

// Ingested is the outcome of Ingest.
type Ingested struct {
	Account
	Reports  []ingest.Report // by path
	Skips    []ingest.Skip
	IDs      []string // of the inputs that have rows in the lake, read now or before
	OverAll  []string // paths of the inputs with too many rejects
	Warnings []string // what a reader of the report should know
}

// Useful reports whether any input gave rows, now or in an earlier run.
func (i *Ingested) Useful() bool { return len(i.IDs) > 0 }

// largeInput is the stored size from which an input gets the whole budget of
// memory: two such are never read at once, however many workers there are.
const largeInput = 8 << 20

// Ingest reads the sources into the lake. Inputs that the lake holds already,
// and copies of one another, are read once; a grown input replaces its parts.
func (j *Job) Ingest(ctx context.Context, sources []string, stdin io.Reader) (*Ingested, error) {
	inputs, skips, err := ingest.Resolve(sources, stdin, j.Config.Ingest)
	if err != nil {
		return nil, err
	}
	inputs, names, named := sidecars(inputs)
	skips = append(skips, named...)
	known, err := knownInputs(j.Lake)
	if err != nil {
		return nil, err
	}
	lock, err := lake.NewLock(j.Lake)
	if err != nil {
		return nil, err
	}
	defer lock.Close()

	marks, err := j.markDuplicates(ctx, inputs, known)
	if err != nil {
		return nil, err
	}
	out := &Ingested{Skips: skips, Reports: make([]ingest.Report, len(inputs))}
	parts := make([][]lake.Part, len(inputs))
	rejects := make([][]ingest.Reject, len(inputs))
	var done atomic.Int64
	var large sync.Mutex
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(j.workers())
	for i := range inputs {
		g.Go(func() error {
			in := inputs[i]
			if in.Path == "-" || size(in.Path) >= largeInput {
				large.Lock()
				defer large.Unlock()
			}
			w := &chunkWriter{lake: j.Lake, names: names[filepath.Dir(in.Path)]}
			rep, err := ingest.Read(gctx, in, j.Config.Ingest, j.workers(), w.write)
			if err != nil {
				return err
			}
			out.Reports[i], parts[i], rejects[i] = rep, w.parts, w.rejects
			j.progress("ingest", done.Add(1), int64(len(inputs)))
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	j.account(out, inputs, marks, parts)
	if err := j.writeRejects(out.Reports, rejects); err != nil {
		return nil, err
	}
	return out, j.writeManifest(lock, out, inputs, parts)
}

// mark says that an input is a copy of one that was read before.
type mark struct{ id string }

// markDuplicates finds the inputs whose identity the lake knows, or that an
// earlier input of this run has, and marks them. The first by path is read.
func (j *Job) markDuplicates(ctx context.Context, inputs []ingest.Input, known map[string]knownInput) ([]mark, error) {
	type identity struct {
		id    string
		bytes int
	}
	ids := make([]identity, len(inputs))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(j.workers())
	for i, in := range inputs {
		if in.Path == "-" {
			continue // it can be read only once
		}
		g.Go(func() error {
			if err := gctx.Err(); err != nil {
				return err
			}
			id, n, err := ingest.Identify(in, j.Config.Ingest, 0)
			if err != nil {
				return nil // Read will say so, with its report
			}
			ids[i] = identity{id, n}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	marks := make([]mark, len(inputs))
	first := map[string]int{}
	for i := range inputs {
		id := ids[i].id
		if id == "" || ids[i].bytes == 0 {
			continue
		}
		if k, ok := known[id]; ok && k.compressed == size(inputs[i].Path) {
			inputs[i].Duplicate, marks[i] = true, mark{id}
			continue
		}
		if f, ok := first[id]; ok && size(inputs[i].Path) == size(inputs[f].Path) {
			inputs[i].Duplicate, marks[i] = true, mark{id}
			continue
		}
		first[id] = i
	}
	return marks, nil
}

func size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// account sums the reports and finds the inputs with too many rejects.
func (j *Job) account(out *Ingested, inputs []ingest.Input, marks []mark, parts [][]lake.Part) {
	seen := map[string]bool{}
	for i := range out.Reports {
		r := &out.Reports[i]
		out.Parts += int64(len(parts[i]))
		if (len(parts[i]) > 0 || inputs[i].Duplicate && marks[i].id != "") && !seen[r.ID] {
			seen[r.ID] = true
			out.IDs = append(out.IDs, r.ID)
		}
		if unexpected := r.Tally.Unexpected(); float64(unexpected) > j.Config.MaxRejects*float64(r.Tally.Lines) {
			out.OverAll = append(out.OverAll, r.Path)
		}
	}
	j.sum(out)
}

// sum adds up the reports.
func (j *Job) sum(out *Ingested) {
	var t ingest.Tally
	for i := range out.Reports {
		r := &out.Reports[i]
		t.Merge(r.Tally)
		out.Events += r.Events
		out.Samples += r.Samples
		out.Evidence += r.Evidence
	}
	out.Inputs = int64(len(out.Reports))
	out.Lines, out.EventLines, out.Merged, out.Notes, out.Duplicates = t.Lines, t.Event, t.Merged, t.Notes, t.Duplicate
	out.Rejects, out.Unpaired = t.Rejects, t.Unpaired
	if out.Rejects == nil {
		out.Rejects = map[string]int64{}
	}
	if out.Unpaired == nil {
		out.Unpaired = map[string]int64{}
	}
}

// keptRejects bounds the rejects file of a run.
const keptRejects = 100000

// writeRejects keeps the bad lines, with their input, beside the manifest.
func (j *Job) writeRejects(reports []ingest.Report, rejects [][]ingest.Reject) error {
	var data []byte
	n := 0
	for i, rs := range rejects {
		for _, r := range rs {
			if n == keptRejects {
				break
			}
			line, err := json.Marshal(struct {
				Path   string `json:"path"`
				ID     string `json:"input"`
				Line   int64  `json:"line"`
				At     int64  `json:"byte"`
				Reason string `json:"reason"`
				Text   string `json:"text"`
			}{reports[i].Path, reports[i].ID, r.Line, r.Position, r.Reason, r.Text})
			if err != nil {
				return err
			}
			data = append(append(data, line...), '\n')
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return lake.WriteFileAtomic(filepath.Join(j.Lake, "runs", j.RunID+".rejects.jsonl"), data)
}

// chunkWriter writes the chunks of one input as parts of the lake.
type chunkWriter struct {
	lake    string
	names   deviceNames // of the input's folder
	parts   []lake.Part
	rejects []ingest.Reject
	cols    []ingest.Column
}

func (w *chunkWriter) write(c *ingest.Chunk) error {
	if room := keptRejects - len(w.rejects); room > 0 {
		w.rejects = append(w.rejects, c.Rejected[:min(room, len(c.Rejected))]...)
	}
	if len(w.names) > 0 {
		c.Names.Rename(func(old string) string { return cmp.Or(w.names[old], old) })
	}
	for _, p := range c.ByHostDate() {
		if rows := p.Events; len(rows) > 0 {
			c.SortEvents(rows)
			has := ingest.EventPresence(c.Batch, rows)
			err := w.part("events", c, p, rows, func(rows []int32) []ingest.Column {
				w.cols = c.EventColumns(rows, c.ID, w.cols[:0])
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
	devices := make([]string, len(rows))
	for i, r := range rows {
		devices[i] = c.Names.String(device(r))
	}
	var file *lake.Writer
	from := 0
	for _, to := range lake.Cuts(devices, lake.GroupRows) {
		cols := columns(rows[from:to])
		if file == nil {
			var err error
			if file, err = lake.Create(filepath.Join(w.lake, filepath.FromSlash(name)), nullable(lake.Fields(cols)), nil); err != nil {
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

// knownInput is an input of an earlier run.
type knownInput struct {
	bytes, compressed int64
}

func knownInputs(dir string) (map[string]knownInput, error) {
	ms, err := lake.Manifests(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	known := map[string]knownInput{}
	for _, m := range ms {
		for _, in := range m.Inputs {
			if len(in.Parts) > 0 && (in.Bytes > known[in.ID].bytes) {
				known[in.ID] = knownInput{in.Bytes, in.CompressedBytes}
			}
		}
	}
	return known, nil
}

func (j *Job) writeManifest(lock *lake.Lock, out *Ingested, inputs []ingest.Input, parts [][]lake.Part) error {
	m := lake.Manifest{Run: j.RunID, Version: j.Version}
	for i, r := range out.Reports {
		tally, err := json.Marshal(r.Tally)
		if err != nil {
			return err
		}
		if inputs[i].Duplicate {
			parts[i] = nil
		}
		m.Inputs = append(m.Inputs, lake.Input{
			ID: r.ID, HeadBytes: r.HeadBytes, Path: r.Path, Format: r.Format, Bytes: r.Bytes, CompressedBytes: r.CompressedBytes,
			Chunks: int64(r.Chunks), Tally: tally, Parts: parts[i], Problem: r.Problem, Torn: r.Torn != "", FirstNS: r.FirstNS, LastNS: r.LastNS,
		})
	}
	return lock.WriteManifest(m)
}

// IngestedBefore is the account of all that the lake's manifests tell, as if
// one run had read it.
func (j *Job) IngestedBefore() (*Ingested, error) {
	ms, err := lake.Manifests(j.Lake)
	if err != nil {
		return nil, err
	}
	out := &Ingested{}
	for _, m := range ms {
		for _, in := range m.Inputs {
			r := ingest.Report{Path: in.Path, ID: in.ID, Format: in.Format, Bytes: in.Bytes, Problem: in.Problem, FirstNS: in.FirstNS, LastNS: in.LastNS}
			if len(in.Tally) > 0 {
				if err := json.Unmarshal(in.Tally, &r.Tally); err != nil {
					return nil, fmt.Errorf("manifest of run %s: %w", m.Run, err)
				}
			}
			for _, p := range in.Parts {
				switch name, err := lake.ParsePart(p.Path); {
				case err != nil:
					return nil, err
				case name.Table == lake.Events:
					r.Events += p.Rows
				case name.Table == lake.Samples:
					r.Samples += p.Rows
				case name.Table == lake.Evidence:
					r.Evidence += p.Rows
				}
			}
			out.Reports = append(out.Reports, r)
		}
	}
	j.sum(out)
	return out, nil
}
