package lake

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A Manifest accounts for one run: what it read and what it wrote. Readers see
// only parts that a manifest names.
type Manifest struct {
	Schema   string          `json:"schema"`
	Run      string          `json:"run"`
	Sequence int64           `json:"sequence"` // 1 for the lake's first run; given by WriteManifest
	Version  string          `json:"version"`  // of iopathy
	Options  json.RawMessage `json:"options,omitempty"`
	Inputs   []Input         `json:"inputs"`
	Parts    []Part          `json:"parts,omitempty"`   // those that no single input made
	Bundles  []Part          `json:"bundles,omitempty"` // files that parts lie in; what no part lies in is no more
	Removed  []string        `json:"removed,omitempty"` // paths of earlier parts that are no more
	Cells    []Cell          `json:"cells,omitempty"`   // the windows and ticks that this run made
	Judged   []Judged        `json:"judged,omitempty"`  // the days of hosts that this run labelled
	Closed   []Day           `json:"closed,omitempty"`  // days of hosts whose rows were removed for their age: no more are taken
	Folded   bool            `json:"folded,omitempty"`  // it stands for all runs up to its sequence
}

// A Day is a day of a host.
type Day struct {
	Host string `json:"host"`
	Date string `json:"date"`
}

// shift is the day of the same host some days later.
func (d Day) shift(days int) Day {
	t, err := time.Parse(time.DateOnly, d.Date)
	if err != nil {
		return d
	}
	return Day{d.Host, t.AddDate(0, 0, days).Format(time.DateOnly)}
}

// Judged says of which windows the labels of a day of a host are. Of several
// records of one the last counts.
type Judged struct {
	Day
	Of string `json:"of"` // as in the Cell of these windows
}

// JudgedOf gives of which windows the labels of each day of a host are.
func JudgedOf(all []Manifest) map[Day]string {
	now := make(map[Day]string)
	for _, m := range all {
		for _, j := range m.Judged {
			now[j.Day] = j.Of
		}
	}
	return now
}

// ClosedDays gives the days of hosts that take no more rows.
func ClosedDays(all []Manifest) map[Day]bool {
	now := make(map[Day]bool)
	for _, m := range all {
		for _, d := range m.Closed {
			now[d] = true
		}
	}
	return now
}

// A Cell is a day of a host, as windows and ticks are kept. Of several records
// of one the last counts.
type Cell struct {
	Host     string          `json:"host"`
	Date     string          `json:"date"`
	Of       string          `json:"of"` // hash of the parts and options that they were made of
	WindowNS int64           `json:"window_ns"`
	TickNS   int64           `json:"tick_ns"`
	Devices  json.RawMessage `json:"devices,omitempty"` // of which recordings the windows of devices are, where there were several
}

// Cells gives the last record of each cell, by host and date.
func Cells(all []Manifest) []Cell {
	type key struct{ host, date string }
	now := make(map[key]Cell)
	for _, m := range all {
		for _, c := range m.Cells {
			now[key{c.Host, c.Date}] = c
		}
	}
	return slices.SortedFunc(maps.Values(now), func(a, b Cell) int {
		return cmp.Or(strings.Compare(a.Host, b.Host), strings.Compare(a.Date, b.Date))
	})
}

// An Input is what a run did with one input. ID is the identity of its first
// HeadBytes decompressed bytes, as they were when it was first seen; SeenID
// and SeenBytes are the same of the head as this run found it, which may have
// grown. Bytes counts decompressed bytes.
type Input struct {
	ID              string              `json:"id"`
	HeadBytes       int                 `json:"head_bytes"`
	SeenID          string              `json:"seen_id,omitempty"`
	SeenBytes       int                 `json:"seen_bytes,omitempty"`
	Path            string              `json:"path"`
	Format          string              `json:"format"`
	Bytes           int64               `json:"bytes"`
	CompressedBytes int64               `json:"compressed_bytes"`
	NewBytes        int64               `json:"new_bytes"` // of Bytes, those that this run decoded
	Chunks          int64               `json:"chunks"`
	FirstNS         int64               `json:"first_ns"` // earliest start
	LastNS          int64               `json:"last_ns"`  // latest completion
	Torn            bool                `json:"torn,omitempty"`
	Problem         string              `json:"problem,omitempty"`
	Tally           json.RawMessage     `json:"tally,omitempty"`
	Below           map[string][]string `json:"below,omitempty"` // devices that carry the I/O of others, as files beside the input tell
	Clock           json.RawMessage     `json:"clock,omitempty"` // how its stamps became times
	Host            string              `json:"host,omitempty"`  // that it was found to be of, by I/Os that others have, when nothing named one
	Names           map[string]string   `json:"names,omitempty"` // of devices that it knows by numbers, as logs that have the same I/Os tell
	Parts           []Part              `json:"parts"`
	Gone            *Gone               `json:"gone,omitempty"`       // of parts that are no more; nil where none are known to be
	Checkpoint      *CheckpointFile     `json:"checkpoint,omitempty"` // where its reading goes on when it has grown
	Note            string              `json:"note,omitempty"`       // why its reading did not go on there
}

// WriteManifest writes m as the manifest of its run. A run that has one keeps
// its place in the sequence, a new run comes after all others. The parts must
// lie in the lake already.
func (l *Lock) WriteManifest(m Manifest) error {
	s, err := l.StageManifest(m)
	if err != nil {
		return err
	}
	return s.Commit()
}

// A StagedManifest is written, and waits to be seen.
type StagedManifest struct{ file *newFile }

// Commit makes the manifest the one of its run.
func (s *StagedManifest) Commit() error {
	if err := s.file.place(); err != nil {
		return fmt.Errorf("lake: manifest %s: %w", s.file.path, err)
	}
	return nil
}

// StageManifest does all of WriteManifest that can fail for want of room: what
// it tells of may take its place between it and Commit. What is never
// committed is swept.
func (l *Lock) StageManifest(m Manifest) (*StagedManifest, error) {
	if l.file == nil {
		return nil, errors.New("lake: manifest: the lock was given back")
	}
	if m.Run == "" {
		return nil, errors.New("lake: manifest: a run without an id")
	}
	var err error
	if m.Sequence, err = sequenceOf(l.dir, m.Run); err != nil {
		return nil, err
	}
	m.Schema = Schema
	if m.Inputs == nil {
		m.Inputs = []Input{}
	}
	for i, in := range m.Inputs {
		if in.Parts == nil {
			m.Inputs[i].Parts = []Part{}
		}
	}
	path := filepath.Join(l.dir, filepath.FromSlash(RunPath(m.Run)))
	f, err := createFile(path)
	if err != nil {
		return nil, err
	}
	if err = m.encode(f); err != nil {
		f.abort()
	} else {
		err = f.settle()
	}
	if err != nil {
		return nil, fmt.Errorf("lake: manifest %s: %w", path, err)
	}
	return &StagedManifest{f}, nil
}

// Manifests reads the manifests of a lake in the sequence of their runs. A
// lake without any gives none.
func Manifests(dir string) ([]Manifest, error) { return settledRuns(dir, readManifest) }

// settledRuns is Manifests, by a way to read one.
func settledRuns(dir string, read func(path string) (Manifest, error)) ([]Manifest, error) {
	for try := 1; ; try++ {
		all, _, err := readRuns(dir, read)
		if err == nil || try == 5 || !errors.Is(err, fs.ErrNotExist) {
			return all, err
		}
		// A manifest went while we looked: it was folded into one that stands by now.
	}
}

// runFiles are the files of the manifests, by name.
func runFiles(dir string) (paths []string, err error) {
	runs := filepath.Join(dir, "runs")
	files, err := os.ReadDir(runs)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("lake: manifests: %w", err)
	}
	for _, f := range files {
		if strings.HasSuffix(f.Name(), ".json") { // what is being written ends in .tmp
			paths = append(paths, filepath.Join(runs, f.Name()))
		}
	}
	return paths, nil
}

// readRuns is Manifests, with those that a folded one stands for.
func readRuns(dir string, read func(path string) (Manifest, error)) (all, shadowed []Manifest, err error) {
	paths, err := runFiles(dir)
	if err != nil {
		return nil, nil, err
	}
	folded := int64(0)
	for _, path := range paths {
		m, err := read(path)
		if err != nil {
			return nil, nil, fmt.Errorf("lake: manifest %s: %w", path, err)
		}
		if m.Schema != Schema {
			return nil, nil, fmt.Errorf("lake: manifest %s: schema %q, this version reads %q", path, m.Schema, Schema)
		}
		if m.Folded {
			folded = max(folded, m.Sequence)
		}
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b Manifest) int {
		return cmp.Or(cmp.Compare(a.Sequence, b.Sequence), strings.Compare(a.Run, b.Run))
	})
	if folded > 0 {
		behind := func(m *Manifest) bool { return m.Sequence > folded || m.Folded && m.Sequence == folded }
		var live []Manifest
		for i := range all {
			if behind(&all[i]) {
				live = append(live, all[i])
			} else {
				shadowed = append(shadowed, all[i])
			}
		}
		all = live
	}
	return all, shadowed, nil
}

// Parts gives the parts of a table that the manifests name, by plain path. Of
// several records of one path the last counts, and a removed one is gone.
func Parts(all []Manifest, table string) []Part {
	now := make(map[string]Part)
	for _, m := range all {
		for _, path := range m.Removed {
			delete(now, path)
		}
		add := func(parts []Part) {
			for _, p := range parts {
				if strings.HasPrefix(p.Path, table+"/") {
					now[p.Path] = p
				}
			}
		}
		for _, in := range m.Inputs {
			add(in.Parts)
		}
		add(m.Parts)
	}
	return slices.SortedFunc(maps.Values(now), func(a, b Part) int { return strings.Compare(Alone(a.Path), Alone(b.Path)) })
}
