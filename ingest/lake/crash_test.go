package lake

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestSweepBegun shows which parts a sweep removes after a crash: those of
// inputs that a run had begun, and that no manifest names.
func TestSweepBegun(t *testing.T) {
	dir := t.TempDir()
	l, err := NewLock(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cols := []Column{{Name: "x", Data: []int64{1}}}
	put := func(input string, chunk int) Part {
		t.Helper()
		name := PartName{Events, "2026-11-29", "h", input, chunk}.Path()
		p := write(t, filepath.Join(dir, filepath.FromSlash(name)), cols)
		p.Path = name
		return p
	}
	check := func(what string, want ...Part) {
		t.Helper()
		if _, err := l.Sweep(); err != nil {
			t.Fatal(err)
		}
		var left, paths []string
		for _, f := range files(t, filepath.Join(dir, "events")) {
			rel, err := filepath.Rel(dir, f)
			if err != nil {
				t.Fatal(err)
			}
			left = append(left, filepath.ToSlash(rel))
		}
		for _, p := range want {
			paths = append(paths, p.Path)
		}
		if !slices.Equal(left, paths) {
			t.Errorf("%s: left are %v, want %v", what, left, paths)
		}
	}
	a, other := put("a", 0), put("other", 0)
	if err := l.Begin("one", []string{"a"}); err != nil {
		t.Fatal(err)
	}
	if err := l.WriteManifest(Manifest{Run: "one", Inputs: []Input{{ID: "a", Parts: []Part{a}}}}); err != nil {
		t.Fatal(err)
	}
	if err := l.End("one"); err != nil {
		t.Fatal(err)
	}
	check("a run that ended", a, other)

	if err := l.Begin("two", []string{"a", "b"}); err != nil {
		t.Fatal(err)
	}
	put("a", 1)
	put("b", 0)
	staged := StagedPath(filepath.Join(dir, filepath.FromSlash(a.Path)))
	write(t, staged, cols)
	check("a run that crashed", a, other) // what nobody began is somebody's
	put("b", 0)
	check("no run since", a, put("b", 0), other)

	write(t, staged, []Column{{Name: "x", Data: []int64{2, 3}}})
	if err := l.Publish(filepath.Join(dir, filepath.FromSlash(a.Path))); err != nil {
		t.Fatal(err)
	}
	r, err := Open(filepath.Join(dir, filepath.FromSlash(a.Path)), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, n, err := r.Next(); n != 2 || err != nil {
		t.Errorf("the part that took the place has %d rows, %v", n, err)
	}
	if _, err := os.Stat(staged); !os.IsNotExist(err) {
		t.Errorf("it waits still: %v", err)
	}
}
