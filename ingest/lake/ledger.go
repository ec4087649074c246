package lake

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
)

// A Ledger reads the manifests of a lake over and over, and each file of them once:
// one that is the same file as before, by its identity, size and time, says the same,
// since manifests are replaced whole and never written into. The zero value is one
// that has read nothing. It is safe for concurrent use; what it gives is shared by all
// who ask and must not be changed.
type Ledger struct {
	mu   sync.Mutex
	held map[string]heldManifest // by path
}

type heldManifest struct {
	file     os.FileInfo
	manifest Manifest
}

// Manifests is the function Manifests.
func (l *Ledger) Manifests(dir string) ([]Manifest, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := make(map[string]heldManifest)
	all, err := settledRuns(dir, func(path string) (Manifest, error) {
		info, err := os.Stat(path)
		if err != nil {
			return Manifest{}, err
		}
		h, ok := l.held[path]
		if !ok || !os.SameFile(h.file, info) || h.file.Size() != info.Size() || !h.file.ModTime().Equal(info.ModTime()) {
			// The time is of before the reading: one that is replaced meanwhile is read again.
			if h.manifest, err = readManifest(path); err != nil {
				return Manifest{}, err
			}
			h.file = info
		}
		now[path] = h
		return h.manifest, nil
	})
	if err != nil {
		return nil, err
	}
	l.held = now
	return all, nil
}

// sequenceOf is the place of a run's manifest among all others: its old one, or the
// next. Of each manifest the first fields alone are read.
func sequenceOf(dir, run string) (int64, error) {
	paths, err := runFiles(dir)
	if err != nil {
		return 0, err
	}
	next, own, folded := int64(1), int64(0), int64(0)
	for _, path := range paths {
		m, err := readHead(path)
		if err != nil {
			return 0, fmt.Errorf("lake: manifest %s: %w", path, err)
		}
		next = max(next, m.Sequence+1)
		if m.Run == run {
			own = m.Sequence
		}
		if strings.HasPrefix(m.Run, foldedRun) {
			folded = max(folded, m.Sequence)
		}
	}
	if own > folded || own > 0 && strings.HasPrefix(run, foldedRun) { // else a folded one stands for it
		return own, nil
	}
	return next, nil
}

// readHead reads schema, run and sequence of a manifest, which stand before all else.
func readHead(path string) (m Manifest, err error) {
	f, err := os.Open(path)
	if err != nil {
		return m, err
	}
	defer f.Close()
	d := json.NewDecoder(f)
	if err := delim(d, '{'); err != nil {
		return m, err
	}
	for m.Sequence == 0 && d.More() {
		name, err := d.Token()
		if err != nil {
			return m, err
		}
		switch name {
		case "schema":
			err = d.Decode(&m.Schema)
		case "run":
			err = d.Decode(&m.Run)
		case "sequence":
			err = d.Decode(&m.Sequence)
		default:
			var skipped json.RawMessage
			err = d.Decode(&skipped)
		}
		if err != nil {
			return m, err
		}
	}
	switch {
	case m.Schema != Schema:
		return m, fmt.Errorf("schema %q, this version reads %q", m.Schema, Schema)
	case m.Run == "" || m.Sequence <= 0:
		return m, errors.New("no run or no sequence")
	}
	return m, nil
}
