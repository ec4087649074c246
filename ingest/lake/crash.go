package lake

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// begunSuffix ends the name of the note that a run leaves while it writes.
const begunSuffix = ".begun"

func (l *Lock) begunPath(run string) string {
	return strings.TrimSuffix(filepath.Join(l.dir, filepath.FromSlash(RunPath(run))), ".json") + begunSuffix
}

// Begin notes that a run is about to write parts of the inputs of these
// identities. If it ends without a manifest, Sweep removes them.
func (l *Lock) Begin(run string, inputs []string) error {
	if l.file == nil {
		return errors.New("lake: begin: the lock was given back")
	}
	b, err := json.Marshal(inputs)
	if err != nil {
		return fmt.Errorf("lake: begin: %w", err)
	}
	return WriteFileAtomic(l.begunPath(run), append(b, '\n'))
}

// End takes back the note of Begin: the run's manifest stands.
func (l *Lock) End(run string) error {
	if err := os.Remove(l.begunPath(run)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("lake: end: %w", err)
	}
	return nil
}

// Sweep removes what a crash left in the lake, and says how many files that
// were: half-written ones, parts that wait to take another's place, and parts
// and checkpoints that a run had begun to write, or was to remove, and no manifest names. Other files that no
// manifest names are somebody's, and stay. The lock is what makes it safe:
// nobody else writes.
func (l *Lock) Sweep() (removed int, err error) {
	if l.file == nil {
		return 0, errors.New("lake: sweep: the lock was given back")
	}
	begun, notes, err := l.begun()
	if err != nil {
		return 0, fmt.Errorf("lake: sweep: %w", err)
	}
	var named, gone map[string]bool
	if len(notes) > 0 {
		all, err := Manifests(l.dir)
		if err != nil {
			return 0, err
		}
		named, gone = names(all), removedFiles(all)
		if removed, err = l.PruneCheckpoints(all); err != nil {
			return removed, err
		}
	}
	err = filepath.WalkDir(l.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		switch {
		case strings.HasPrefix(d.Name(), ".") && strings.HasSuffix(d.Name(), ".tmp"):
		case len(notes) > 0 && l.unnamed(path, begun, named, gone):
		default:
			return nil
		}
		if err := os.Remove(path); err != nil {
			return err
		}
		removed++
		return nil
	})
	for _, note := range notes {
		if err == nil {
			err = os.Remove(note)
		}
	}
	if err != nil {
		return removed, fmt.Errorf("lake: sweep: %w", err)
	}
	return removed, nil
}

// begun gives the identities of the inputs of runs that did not end, and the
// notes that tell so. A note is written whole: one that can't be read is
// damaged, and names nothing.
func (l *Lock) begun() (inputs map[string]bool, notes []string, err error) {
	files, err := os.ReadDir(filepath.Join(l.dir, "runs"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	inputs = make(map[string]bool)
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), begunSuffix) {
			continue
		}
		path := filepath.Join(l.dir, "runs", f.Name())
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, nil, err
		}
		var ids []string
		if json.Unmarshal(b, &ids) == nil {
			for _, id := range ids {
				inputs[id] = true
			}
		}
		notes = append(notes, path)
	}
	return inputs, notes, nil
}

// removedFiles gives the paths that manifests say are no more.
func removedFiles(all []Manifest) map[string]bool {
	gone := make(map[string]bool)
	for _, m := range all {
		for _, path := range m.Removed {
			gone[path] = true
		}
	}
	return gone
}

// Replace writes the manifest of a run that removes parts, and then removes
// their files, with the folders that are empty then. What a crash leaves of
// them Sweep removes.
func (l *Lock) Replace(m Manifest) error {
	if err := l.Begin(m.Run, nil); err != nil {
		return err
	}
	if err := l.WriteManifest(m); err != nil {
		return err
	}
	all, err := Manifests(l.dir)
	if err != nil {
		return err
	}
	named := names(all)
	for _, p := range m.Removed {
		if _, err := ParsePart(p); err != nil {
			return err
		}
		if file := FileOf(p); !named[file] {
			if err := l.removeFile(file); err != nil {
				return err
			}
		}
	}
	if err := l.Thin(m.Run+"-thin", m.Version, m.Removed); err != nil {
		return err
	}
	return l.End(m.Run)
}

// unnamed says whether a file is a part of a begun input, or one that was to go,
// and no manifest names it.
func (l *Lock) unnamed(path string, begun, named, gone map[string]bool) bool {
	rel, err := filepath.Rel(l.dir, path)
	if err != nil {
		return false
	}
	rel = filepath.ToSlash(rel)
	if bundled.MatchString(rel) { // its name says that it is ours
		return gone != nil && !named[rel]
	}
	name, err := ParsePart(rel)
	return err == nil && (begun[name.Input] || gone[rel]) && !named[rel]
}

// tables are the folders that hold parts.
var tables = []string{Baselines, Events, Evidence, Labels, Profiles, Samples, Ticks, Windows}

// names gives the paths of all parts that the manifests name.
func names(all []Manifest) map[string]bool {
	named := make(map[string]bool)
	for _, table := range tables {
		for _, p := range Parts(all, table) {
			named[FileOf(p.Path)] = true
		}
	}
	return named
}

// StagedPath is where a part waits that will take the place of the one at
// path: a hidden file beside it, which Sweep removes after a crash.
func StagedPath(path string) string {
	dir, base := filepath.Split(path)
	return dir + "." + base + ".next.tmp"
}

// Publish gives the part that waits at StagedPath its place at path.
func (l *Lock) Publish(path string) error {
	if l.file == nil {
		return errors.New("lake: publish: the lock was given back")
	}
	if err := os.Rename(StagedPath(path), path); err != nil {
		return fmt.Errorf("lake: publish: %w", err)
	}
	if err := syncDir(filepath.Dir(path)); err != nil {
		return fmt.Errorf("lake: publish %s: %w", path, err)
	}
	return nil
}
