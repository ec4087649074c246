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
	"slices"
	"strings"

	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/ingest/lake"
)

// Copied is what Anonymised has copied.
type Copied struct {
	Inputs int   `json:"inputs"`
	Parts  int   `json:"parts"`
	Rows   int64 `json:"rows"`
}

// Anonymised copies the rows of a lake that holds names, all that logs gave, into the
// job's lake, which holds nothing yet, under the pseudonyms of its settings: it is what an
// ingest of the same logs with that key makes. What was made of the rows is not
// copied: Features and what follows make it anew. o opens the parts of the lake that is copied.
func (j *Job) Anonymised(ctx context.Context, from string, o lake.Opener) (c Copied, err error) {
	if _, err := os.Stat(filepath.Join(from, pseudonymsFile)); err == nil {
		return c, fmt.Errorf("config: anonymise: the names in %s are pseudonyms already", from)
	} else if !errors.Is(err, os.ErrNotExist) {
		return c, fmt.Errorf("lake: %w", err)
	}
	manifests, err := lake.Manifests(from)
	if err != nil {
		return c, err
	}
	inputs, told, err := lastInputs(manifests)
	if err != nil {
		return c, err
	}
	if len(inputs) == 0 {
		return c, fmt.Errorf("lake %s holds no rows", from)
	}
	asked, err := askedFacts(j.Config.Catalogue)
	if err != nil {
		return c, err
	}
	lock, err := lake.NewLock(j.Lake)
	if err != nil {
		return c, err
	}
	defer lock.Close()
	if _, err := lock.Sweep(); err != nil {
		return c, err
	}
	there, err := lake.Manifests(j.Lake)
	if err != nil {
		return c, err
	}
	if len(there) > 0 {
		return c, fmt.Errorf("lake %s holds runs already: take one that holds nothing yet", j.Lake)
	}
	p, err := j.anonymise(nil)
	if err != nil {
		return c, err
	}
	if p == nil {
		return c, errors.New("config: anonymise: say which key: --anonymise FILE")
	}
	var ids []string
	for i := range inputs {
		ids = append(ids, inputs[i].ID)
	}
	slices.Sort(ids)
	if err := lock.Begin(j.RunID, slices.Compact(ids)); err != nil {
		return c, err
	}
	defer func() {
		if err != nil {
			_, swept := lock.Sweep()
			err = errors.Join(err, swept)
		}
	}()
	m := lake.Manifest{Run: j.RunID, Version: j.Version}
	hosts := map[string]bool{}
	at := map[string]int{}
	for i := range inputs {
		at[inputs[i].ID] = i
	}
	var parts []lake.Part
	for _, table := range []string{lake.Events, lake.Samples, lake.Evidence} {
		parts = append(parts, lake.Parts(manifests, table)...)
	}
	for n, part := range parts {
		if err := ctx.Err(); err != nil {
			return c, err
		}
		name, err := lake.ParsePart(part.Path)
		if err != nil {
			return c, err
		}
		i, known := at[name.Input]
		if !known {
			return c, fmt.Errorf("lake %s: no run tells of the input of %s", from, part.Path)
		}
		hosts[name.Host] = true
		copied, err := copyNamed(o, filepath.Join(from, filepath.FromSlash(part.Path)), j.Lake, name, p, namesFacts(inputs[i].Format), asked)
		if err != nil {
			return c, err
		}
		inputs[i].Parts = append(inputs[i].Parts, copied)
		c.Parts, c.Rows = c.Parts+1, c.Rows+copied.Rows
		j.progress("copy", int64(n+1), int64(len(parts)))
	}
	j.hideInputs(p, inputs, told, sortedKeys(hosts))
	for _, d := range closedDays(manifests) {
		m.Closed = append(m.Closed, lake.Day{Host: p.Of(HostField, d.Host), Date: d.Date})
	}
	m.Inputs, c.Inputs = inputs, len(inputs)
	if err := lock.WriteManifest(m); err != nil {
		return c, err
	}
	return c, lock.End(j.RunID)
}

// closedDays are the days that take no more rows, by host and date.
func closedDays(manifests []lake.Manifest) []lake.Day {
	var out []lake.Day
	for d := range lake.ClosedDays(manifests) {
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b lake.Day) int {
		return cmp.Or(strings.Compare(a.Host, b.Host), strings.Compare(a.Date, b.Date))
	})
	return out
}

// lastInputs gives the last records of the inputs that have rows, and their reports
// as far as they may have names; in the order in which the lake met them.
func lastInputs(manifests []lake.Manifest) ([]lake.Input, []ingest.Report, error) {
	at := map[string]int{}
	var inputs []lake.Input
	for _, m := range manifests {
		for _, in := range m.Inputs {
			if !in.Gave() {
				continue
			}
			in.Checkpoint, in.Parts = nil, []lake.Part{} // a checkpoint holds names
			if i, ok := at[in.ID]; ok {
				inputs[i] = in
				continue
			}
			at[in.ID] = len(inputs)
			inputs = append(inputs, in)
		}
	}
	reports := make([]ingest.Report, len(inputs))
	for i, in := range inputs {
		reports[i] = ingest.Report{Path: in.Path, Problem: in.Problem, Note: in.Note, Host: in.Host}
		if len(in.Clock) > 0 {
			if err := json.Unmarshal(in.Clock, &reports[i].Clock); err != nil {
				return nil, nil, fmt.Errorf("manifest's clock of input %s: %w", in.ID, err)
			}
		}
	}
	return inputs, reports, nil
}

// hideInputs puts pseudonyms into the records of inputs.
func (j *Job) hideInputs(p *Pseudonyms, inputs []lake.Input, told []ingest.Report, hosts []string) {
	var of []ingest.Input
	for i := range told {
		of = append(of, ingest.Input{Path: told[i].Path, Host: told[i].Host})
	}
	account := &Ingested{Reports: told}
	p.account(account, of, hosts, &j.Config)
	for i := range inputs {
		in, r := &inputs[i], &account.Reports[i]
		in.Path, in.Problem, in.Note, in.Host = r.Path, r.Problem, r.Note, p.Of(HostField, in.Host)
		in.Below = p.stack(in.Below)
		if len(in.Clock) > 0 {
			in.Clock, _ = json.Marshal(r.Clock) // plain numbers and words: it never fails
		}
	}
}

// fieldOf is the field of pseudonyms that a column of rows belongs to.
var fieldOf = map[string]string{"host": HostField, "device": DeviceField, "comm": CommField, "file": FileField, "cgroup": CgroupField}

// copyNamed copies a part into the lake at dir under pseudonyms, its rows in their
// order. It holds all of them: a part is of one chunk.
func copyNamed(o lake.Opener, path, dir string, name lake.PartName, p *Pseudonyms, general bool, asked map[string]bool) (lake.Part, error) {
	cols, n, err := wholePart(o, path)
	if err != nil {
		return lake.Part{}, err
	}
	text := func(column string) []string {
		for i := range cols {
			if cols[i].Name == column {
				s, _ := cols[i].Data.([]string)
				return s
			}
		}
		return nil
	}
	for column, field := range fieldOf {
		for i, s := range text(column) {
			text(column)[i] = p.Of(field, s)
		}
	}
	names, texts := text("name"), text("text")
	if name.Table == lake.Evidence {
		for i := range names {
			said := ""
			if texts != nil {
				said = texts[i]
			}
			var as string
			if as, said = p.fact(names[i], said, general, asked); texts != nil {
				texts[i] = said
			}
			names[i] = as
		}
	}
	for i := range cols {
		if _, words := cols[i].Data.([]string); words && fieldOf[cols[i].Name] == "" && !slices.Contains([]string{"op", "flags", "latency_kind", "input", "name", "text"}, cols[i].Name) {
			return lake.Part{}, fmt.Errorf("%s: the column %q may hold names, and this version does not know it", path, cols[i].Name)
		}
	}
	rows := make([]int32, n)
	for i := range rows {
		rows[i] = int32(i)
	}
	devices := text("device")
	var times []int64
	for i := range cols {
		if cols[i].Name == "time_ns" {
			times, _ = cols[i].Data.([]int64)
		}
	}
	slices.SortStableFunc(rows, func(a, b int32) int { // of a device they stand in their order
		by := 0
		if devices != nil {
			by = strings.Compare(devices[a], devices[b])
		}
		if by == 0 && name.Table == lake.Evidence {
			by = cmp.Or(cmp.Compare(times[a], times[b]), strings.Compare(names[a], names[b]))
		}
		return by
	})
	sorted := make([]string, n)
	for i, r := range rows {
		if devices != nil {
			sorted[i] = devices[r]
		}
	}
	name.Host = p.Of(HostField, name.Host)
	file := filepath.Join(dir, filepath.FromSlash(name.Path()))
	w, err := lake.Create(file, nullable(lake.Fields(cols)), nil)
	if err != nil {
		return lake.Part{}, err
	}
	from := 0
	for _, to := range lake.Cuts(sorted, 0, 0) {
		if err := w.Write(taken(cols, rows[from:to])); err != nil {
			w.Abort()
			return lake.Part{}, err
		}
		from = to
	}
	part, err := w.Close()
	part.Path = name.Path()
	return part, err
}

// wholePart reads all rows of a part.
func wholePart(o lake.Opener, path string) (cols []lake.Column, n int, err error) {
	r, err := o.Open(path, nil)
	if err != nil {
		return nil, 0, err
	}
	defer r.Close()
	for {
		more, rows, err := r.Next()
		if err == io.EOF {
			return cols, n, nil
		}
		if err != nil {
			return nil, 0, err
		}
		if cols == nil {
			cols = make([]lake.Column, len(more))
		}
		for i := range more {
			c := &cols[i]
			c.Name = more[i].Name
			if c.Valid == nil && more[i].Valid != nil {
				c.Valid = slices.Repeat([]bool{true}, n)
			}
			switch {
			case more[i].Valid != nil:
				c.Valid = append(c.Valid, more[i].Valid...)
			case c.Valid != nil:
				c.Valid = append(c.Valid, slices.Repeat([]bool{true}, rows)...)
			}
			c.Data = joined(c.Data, more[i].Data)
		}
		n += rows
	}
}

// joined puts values of a column behind others.
func joined(all, more any) any {
	switch d := more.(type) {
	case []int64:
		was, _ := all.([]int64)
		return append(was, d...)
	case []int32:
		was, _ := all.([]int32)
		return append(was, d...)
	case []float64:
		was, _ := all.([]float64)
		return append(was, d...)
	case []string:
		was, _ := all.([]string)
		return append(was, d...)
	case []bool:
		was, _ := all.([]bool)
		return append(was, d...)
	}
	return more
}

// taken gives some rows of columns, in the order in which they are asked for.
func taken(cols []lake.Column, rows []int32) []lake.Column {
	out := make([]lake.Column, len(cols))
	for i, c := range cols {
		out[i].Name = c.Name
		if c.Valid != nil {
			out[i].Valid = pick(c.Valid, rows)
		}
		switch d := c.Data.(type) {
		case []int64:
			out[i].Data = pick(d, rows)
		case []int32:
			out[i].Data = pick(d, rows)
		case []float64:
			out[i].Data = pick(d, rows)
		case []string:
			out[i].Data = pick(d, rows)
		case []bool:
			out[i].Data = pick(d, rows)
		}
	}
	return out
}

func pick[T any](all []T, rows []int32) []T {
	out := make([]T, len(rows))
	for i, r := range rows {
		out[i] = all[r]
	}
	return out
}
