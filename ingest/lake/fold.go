package lake

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Gone is what a record of an input tells of parts that are not under the names
// any more that it gave them: removed for their age, merged, written anew.
type Gone struct {
	Parts     int   `json:"parts"`
	EventRows int64 `json:"event_rows"` // of these
}

// Gave says that the run made parts of the input, whether they are still there
// or not: only such an input is known again.
func (in *Input) Gave() bool { return len(in.Parts) > 0 || in.Gone != nil }

// EventRows counts the events that the run knew of the input.
func (in *Input) EventRows() (rows int64) {
	if in.Gone != nil {
		rows = in.Gone.EventRows
	}
	for _, p := range in.Parts {
		if strings.HasPrefix(p.Path, Events+"/") {
			rows += p.Rows
		}
	}
	return rows
}

// foldedRun begins the names of folded manifests, and of no others.
const foldedRun = "folded-"

// Fold makes one manifest of the oldest ones, so that left are behind it, if more
// than most stand alone, and removes theirs and the files of their rejected lines.
// What the manifests say of the lake as it is stays the same: live parts, which
// logs are known and where their reading goes on, of what windows and labels were
// made, closed days. What is no more is left out, but for logs, which are
// known for ever. The same manifests give the same bytes.
//
// The new manifest counts from the moment that it has its name, in place of all
// up to its sequence: what a crash leaves of those the next Fold removes.
func (l *Lock) Fold(most, left int, version string) (folded int, err error) {
	if l.file == nil {
		return 0, errors.New("lake: fold: the lock was given back")
	}
	all, shadowed, err := readRuns(l.dir, readManifest)
	if err != nil {
		return 0, err
	}
	if err := l.removeRuns(shadowed); err != nil {
		return 0, err
	}
	alone := len(all)
	if alone > 0 && all[0].Folded {
		alone--
	}
	if alone <= most || alone <= left {
		return 0, nil
	}
	old := all[:len(all)-left]
	m := fold(old)
	m.Schema, m.Version, m.Folded = Schema, version, true
	m.Sequence = old[len(old)-1].Sequence
	m.Run = fmt.Sprintf("%s%09d", foldedRun, m.Sequence)
	path := filepath.Join(l.dir, filepath.FromSlash(RunPath(m.Run)))
	f, err := createFile(path)
	if err != nil {
		return 0, err
	}
	if err = m.encode(f); err != nil {
		f.abort()
	} else {
		err = f.commit()
	}
	if err != nil {
		return 0, fmt.Errorf("lake: manifest %s: %w", path, err)
	}
	return alone - left, l.removeRuns(old)
}

// removeRuns removes manifests, after what lies beside them.
func (l *Lock) removeRuns(all []Manifest) error {
	for _, m := range all {
		path := filepath.Join(l.dir, filepath.FromSlash(RunPath(m.Run)))
		for _, file := range []string{filepath.Join(l.dir, filepath.FromSlash(RejectsPath(m.Run))), path} {
			if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("lake: fold: %w", err)
			}
		}
	}
	return nil
}

// fold is one manifest that says what these do.
func fold(all []Manifest) (m Manifest) {
	live := make(map[string]Part)
	rows, made := make(map[Day]bool), make(map[Day]bool) // days with parts of either kind
	for _, table := range tables {
		of := made
		if table == Events || table == Samples || table == Evidence {
			of = rows
		}
		for _, p := range Parts(all, table) {
			live[p.Path] = p
			if name, err := ParsePart(p.Path); err == nil {
				of[Day{name.Host, name.Date}] = true
			}
		}
	}
	m.Inputs = foldInputs(all, live)
	named := make(map[string]bool)
	for _, in := range m.Inputs {
		for _, p := range in.Parts {
			named[p.Path] = true
		}
	}
	files := make(map[string]bool)
	var paths []string
	for path := range live {
		files[FileOf(path)] = true
		if !named[path] {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	for _, path := range paths {
		m.Parts = append(m.Parts, live[path])
	}
	m.Bundles = lasts(all, func(m *Manifest) []Part { return m.Bundles }, func(p Part) string { return p.Path })
	m.Bundles = slices.DeleteFunc(m.Bundles, func(p Part) bool { return !files[p.Path] })
	m.Closed = lasts(all, func(m *Manifest) []Day { return m.Closed }, func(d Day) Day { return d })
	day := func(c Cell) Day { return Day{c.Host, c.Date} }
	m.Cells = lasts(all, func(m *Manifest) []Cell { return m.Cells }, day)
	kept := make(map[Day]bool)
	for i, c := range m.Cells {
		d := day(c)
		// Rows count for the windows of the days beside theirs, and the last cell of
		// all tells which length and tick the lake's windows have.
		if made[d] || made[Day{"", d.Date}] || rows[d] || rows[d.shift(-1)] || rows[d.shift(1)] || i == len(m.Cells)-1 {
			kept[d] = true
		}
	}
	m.Cells = slices.DeleteFunc(m.Cells, func(c Cell) bool { return !kept[day(c)] })
	m.Judged = lasts(all, func(m *Manifest) []Judged { return m.Judged }, func(j Judged) Day { return j.Day })
	m.Judged = slices.DeleteFunc(m.Judged, func(j Judged) bool { return !kept[j.Day] })
	return m
}

// lasts gives the last record of each key, in the order of these.
func lasts[T any, K comparable](all []Manifest, list func(*Manifest) []T, key func(T) K) (out []T) {
	seen := make(map[K]bool)
	for i := len(all) - 1; i >= 0; i-- {
		l := list(&all[i])
		for k := len(l) - 1; k >= 0; k-- {
			if at := key(l[k]); !seen[at] {
				seen[at] = true
				out = append(out, l[k])
			}
		}
	}
	slices.Reverse(out)
	return out
}

// foldInputs leaves out the records that others say all of: what is known of an
// input is in the last record that has parts of it, each head that it was seen with, and
// each file beside it in the last that has it; of what gave nothing the last of each path counts.
func foldInputs(all []Manifest, live map[string]Part) (out []Input) {
	type head struct {
		id, seen string
		bytes    int
	}
	var records []*Input
	gave, below, latest := make(map[string]int), make(map[string]int), make(map[string]int)
	for i := range all {
		for k := range all[i].Inputs {
			in := &all[i].Inputs[k]
			n := len(records)
			records = append(records, in)
			if in.Gave() {
				gave[in.ID] = n
			}
			if len(in.Below) > 0 {
				below[in.ID] = n
			}
			if was, ok := latest[in.ID]; !ok || in.LastNS > records[was].LastNS {
				latest[in.ID] = n
			}
		}
	}
	heads := make(map[head]int)
	account := make(map[int]bool) // records that an account of all inputs tells of
	paths, copies := make(map[string]int), make(map[string]int)
	for n, in := range records {
		at, known := gave[in.ID]
		if known && in.SeenID != "" {
			heads[head{in.ID, in.SeenID, in.SeenBytes}] = n
		}
		if !in.Gave() {
			paths[in.Path] = n
			if !known || records[at].Path != in.Path {
				copies[in.Path] = n
			}
		}
	}
	keep := make(map[int]bool)
	for _, of := range []map[string]int{gave, paths, copies} {
		for _, n := range of {
			keep[n], account[n] = true, true
		}
	}
	for _, n := range below {
		keep[n] = true
	}
	for id, n := range latest {
		if _, known := gave[id]; known {
			keep[n] = true
		}
	}
	for _, n := range heads {
		keep[n] = true
	}
	for n, in := range records {
		if keep[n] {
			out = append(out, in.folded(live, gave[in.ID] == n && in.Gave(), account[n]))
		}
	}
	return out
}

// folded is the record without parts that are no more; only the last of an input
// names parts and a checkpoint, only those of the account tell of lines and clocks.
func (in *Input) folded(live map[string]Part, last, account bool) Input {
	out := *in
	out.Parts = []Part{}
	if !last {
		out.Checkpoint = nil
	}
	if !account {
		out.Tally, out.Clock = nil, nil
	}
	if !in.Gave() {
		return out
	}
	gone := Gone{}
	if in.Gone != nil {
		gone = *in.Gone
	}
	for _, p := range in.Parts {
		if l, ok := live[p.Path]; last && ok && l.Rows == p.Rows && l.Bytes == p.Bytes && slices.Equal(l.Blocks, p.Blocks) {
			out.Parts = append(out.Parts, l)
			continue
		}
		gone.Parts++
		if strings.HasPrefix(p.Path, Events+"/") {
			gone.EventRows += p.Rows
		}
	}
	if out.Gone = &gone; gone.Parts == 0 {
		out.Gone = nil
	}
	if !out.Gave() {
		out.Gone = &gone
	}
	return out
}
