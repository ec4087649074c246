package lake

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkManifests opens a lake of three years: 1,100 nights of 20 hosts.
func BenchmarkManifests(b *testing.B) {
	dir := b.TempDir()
	l, err := NewLock(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	for _, m := range years() {
		f, err := createFile(filepath.Join(dir, filepath.FromSlash(RunPath(m.Run))))
		if err != nil {
			b.Fatal(err)
		}
		if err := errors.Join(m.encode(f), f.Close(), os.Rename(f.temp, f.path)); err != nil {
			b.Fatal(err)
		}
	}
	open := func(b *testing.B) {
		size := int64(0)
		files, err := filepath.Glob(filepath.Join(dir, "runs", "*.json"))
		if err != nil {
			b.Fatal(err)
		}
		for _, f := range files {
			if info, err := os.Stat(f); err == nil {
				size += info.Size()
			}
		}
		for b.Loop() {
			if _, err := Manifests(dir); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(len(files)), "manifests")
		b.ReportMetric(float64(size)/1e6, "MB")
	}
	b.Run("alone", open)
	b.Run("fold", func(b *testing.B) {
		for b.Loop() {
			if _, err := l.Fold(200, 100, "v"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("folded", open)
}

// years is a history of 1,100 nights of 20 hosts, made year by year as nights fold it, since
// what retention removes is looked for in all that stands.
func years() []Manifest {
	all := history(rand.New(rand.NewPCG(3, 4)), 100, 20, 14)
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	out := slices.Clone(all)
	for k := 1; k < 11; k++ {
		var pairs []string
		for d := -1; d <= 100; d++ {
			pairs = append(pairs, start.AddDate(0, 0, d).Format(time.DateOnly), start.AddDate(0, 0, d+100*k).Format(time.DateOnly))
		}
		move := strings.NewReplacer(pairs...)
		for _, m := range all {
			out = append(out, moved(m, move, int64(k), int64(len(all))))
		}
	}
	// What is past its time by the defaults, as of the nights before the last 100:
	// events 14 days, ticks 90, windows and labels 400.
	at := len(out) - len(all)
	old := Manifest{Schema: Schema, Run: "retention", Sequence: out[at].Sequence, Inputs: []Input{}}
	for table, days := range map[string]int{Events: 14, Ticks: 90, Windows: 400, Labels: 400} {
		for _, p := range Parts(out[:at], table) {
			if name, _ := ParsePart(p.Path); name.Date < start.AddDate(0, 0, 1100-days).Format(time.DateOnly) { // it was made of a name
				old.Removed = append(old.Removed, p.Path)
			}
		}
	}
	for i := range out[at:] {
		out[at+i].Sequence++
	}
	return slices.Insert(out, at, old)
}

// moved is a manifest of a later time.
func moved(m Manifest, move *strings.Replacer, k, n int64) Manifest {
	parts := func(list []Part) []Part {
		list = slices.Clone(list)
		for i := range list {
			list[i].Path = move.Replace(list[i].Path)
		}
		return list
	}
	m.Run, m.Sequence = fmt.Sprintf("%03d-%s", k, m.Run), m.Sequence+k*n
	m.Parts, m.Bundles = parts(m.Parts), parts(m.Bundles)
	m.Inputs = slices.Clone(m.Inputs)
	for i := range m.Inputs {
		in := &m.Inputs[i]
		in.Parts = parts(in.Parts)
		in.Path, in.ID, in.SeenID = move.Replace(in.Path), fmt.Sprintf("%02d%s", k, in.ID[2:]), fmt.Sprintf("%02d%s", k, in.SeenID[2:])
	}
	m.Removed = slices.Clone(m.Removed)
	for i := range m.Removed {
		m.Removed[i] = move.Replace(m.Removed[i])
	}
	m.Cells, m.Judged, m.Closed = slices.Clone(m.Cells), slices.Clone(m.Judged), slices.Clone(m.Closed)
	for i := range m.Cells {
		m.Cells[i].Date = move.Replace(m.Cells[i].Date)
	}
	for i := range m.Judged {
		m.Judged[i].Date = move.Replace(m.Judged[i].Date)
	}
	for i := range m.Closed {
		m.Closed[i].Date = move.Replace(m.Closed[i].Date)
	}
	return m
}
