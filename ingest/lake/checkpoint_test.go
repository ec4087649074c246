package lake

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestCheckpoints(t *testing.T) {
	dir := t.TempDir()
	lock, err := NewLock(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	write := func(input string, chunk int64, data string) CheckpointFile {
		t.Helper()
		c, err := lock.WriteCheckpoint(input, chunk, []byte(data))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	files := func(want ...CheckpointFile) {
		t.Helper()
		got, err := filepath.Glob(filepath.Join(dir, "checkpoints", "*"))
		if err != nil || len(got) != len(want) {
			t.Fatalf("%v, %v, want %v", got, err, want)
		}
		for _, c := range want {
			if _, err := ReadCheckpoint(dir, c, 100); err != nil {
				t.Error(err)
			}
		}
	}
	named := write("a", 3, "three")
	if named.Path != "checkpoints/a-00003.state" || named.Bytes != 5 {
		t.Errorf("%+v", named)
	}
	b, err := ReadCheckpoint(dir, named, 5)
	if err != nil || !bytes.Equal(b, []byte("three")) {
		t.Errorf("%q, %v", b, err)
	}
	if err := lock.WriteManifest(Manifest{Run: "1", Inputs: []Input{{ID: "a", Checkpoint: &named, Parts: []Part{{Path: "events/x"}}}}}); err != nil {
		t.Fatal(err)
	}
	// A run that crashed behind its checkpoint leaves it; the next one takes it away.
	write("a", 7, "seven")
	if err := lock.Begin("2", []string{"a"}); err != nil {
		t.Fatal(err)
	}
	if n, err := lock.Sweep(); n != 1 || err != nil {
		t.Errorf("%d swept, %v", n, err)
	}
	files(named)
	later := write("a", 8, "eight")
	if err := lock.WriteManifest(Manifest{Run: "3", Inputs: []Input{{ID: "a", Checkpoint: &later, Parts: []Part{{Path: "events/y"}}}}}); err != nil {
		t.Fatal(err)
	}
	if err := lock.Begin("4", nil); err != nil {
		t.Fatal(err)
	}
	if n, err := lock.Sweep(); n != 1 || err != nil { // it crashed before it took the old one away
		t.Errorf("%d swept, %v", n, err)
	}
	files(later)

	check := func(what string, c CheckpointFile) {
		t.Helper()
		if _, err := ReadCheckpoint(dir, c, 100); err == nil {
			t.Errorf("%s is read", what)
		}
	}
	check("one that is too large", CheckpointFile{later.Path, 101, later.SHA256})
	check("one of a negative size", CheckpointFile{later.Path, -1, later.SHA256})
	check("one of another sum", CheckpointFile{later.Path, later.Bytes, named.SHA256})
	check("one of another size", CheckpointFile{later.Path, 4, later.SHA256})
	for _, path := range []string{"runs/3.json", "checkpoints/../runs/3.state", "checkpoints/x/y.state", "checkpoints/x", "/checkpoints/x.state", ""} {
		c := CheckpointFile{path, later.Bytes, later.SHA256}
		check(path, c)
		if err := lock.RemoveCheckpoint(c); err == nil {
			t.Errorf("%q may be removed", path)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(later.Path)), []byte("eighty"), 0o644); err != nil {
		t.Fatal(err)
	}
	check("one that was tampered with", later)
	if err := lock.RemoveCheckpoint(later); err != nil {
		t.Error(err)
	}
	files()
}
