package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLeftOutIsTold holds that what is found below a source and not read is told,
// and what is lost by it stands among the report's problems.
func TestLeftOutIsTold(t *testing.T) {
	dir := t.TempDir()
	logs, out := filepath.Join(dir, "logs"), filepath.Join(dir, "out")
	if err := os.Mkdir(logs, 0o777); err != nil {
		t.Fatal(err)
	}
	headed(t, filepath.Join(logs, "a.csv"), "0", 1, 2, 5_000)
	for _, name := range []string{".one", ".two"} {
		if err := os.WriteFile(filepath.Join(logs, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "nowhere"), filepath.Join(logs, "b.csv")); err != nil {
		t.Fatal(err)
	}
	// Of two members the header of the second is damaged.
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, name := range []string{"c.csv", "d.csv"} {
		headed(t, filepath.Join(dir, name), name, 1, 2, 5_000)
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Replace(archive.Bytes(), []byte("d.csv"), []byte("e.csv"), 1) // its sum is another now
	if err := os.WriteFile(filepath.Join(logs, "x.tar"), damaged, 0o666); err != nil {
		t.Fatal(err)
	}

	cmd := iopathy(t, "run", logs, "--out", out)
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, said.String())
	}
	const lost = "x.tar: left out: the rest of the archive, which is damaged: corrupt-tar"
	for _, want := range []string{
		filepath.Join(logs, lost),
		filepath.Join(logs, ".one") + ": left out: hidden; and 1 more",
		filepath.Join(logs, "b.csv") + ": left out: a link to nothing",
	} {
		if !strings.Contains(said.String(), "iopathy: "+want+"\n") {
			t.Errorf("it does not say %q, but\n%s", want, said.String())
		}
	}
	text, err := os.ReadFile(filepath.Join(out, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var report struct{ Problems []string }
	if err := json.Unmarshal(text, &report); err != nil {
		t.Fatal(err)
	}
	if len(report.Problems) != 1 || report.Problems[0] != lost {
		t.Errorf("the report's problems are %q", report.Problems)
	}
}
