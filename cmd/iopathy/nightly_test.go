package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/ingest/lake"
)

// Two nights, a night without anything new, and a late log of the first.
func TestNightly(t *testing.T) {
	dir := t.TempDir()
	logs, out := filepath.Join(dir, "logs"), filepath.Join(dir, "out")
	if err := os.Mkdir(logs, 0o777); err != nil {
		t.Fatal(err)
	}
	night := func() {
		t.Helper()
		in(t, exitFine, "nightly", logs, "--out", out, "--quiet")
	}
	page := func(name string) string {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	eventFile(t, filepath.Join(logs, "a.csv"), 1, 3, 2_000_000) // 2023-11-14 23:13
	night()
	if index := page("index.html"); !strings.Contains(index, `href="nights/2023-11-14/report.html"`) || strings.Contains(index, `href="/`) {
		t.Error("the index does not lead to the night alone")
	}
	first := page("nights/2023-11-14/report.json")
	if !strings.Contains(first, `"since": ""`) {
		t.Error("the first night is held against another")
	}

	before := tree(t, out)
	runs, err := os.ReadDir(filepath.Join(out, "lake", "runs"))
	if err != nil {
		t.Fatal(err)
	}
	night()
	if now, err := os.ReadDir(filepath.Join(out, "lake", "runs")); err != nil || len(now) != len(runs) {
		t.Errorf("nothing new, and %d files in runs, were %d; %v", len(now), len(runs), err)
	}
	for name, text := range tree(t, out) {
		if before[name] != text {
			t.Errorf("nothing new, and %s is another", name)
		}
	}
	if len(tree(t, out)) != len(before) {
		t.Error("nothing new, and there are other files")
	}

	eventFile(t, filepath.Join(logs, "b.csv"), 25, 3, 2_000_000) // a day later
	night()
	if !strings.Contains(page("nights/2023-11-15/report.json"), `"since": "2023-11-14"`) || !strings.Contains(page("index.html"), "nights/2023-11-15/report.html") {
		t.Error("the second night is not held against the first, or not in the index")
	}
	if page("nights/2023-11-14/report.json") != first {
		t.Error("the report of the first night is another")
	}
	second := page("nights/2023-11-15/report.html")

	eventFile(t, filepath.Join(logs, "late.csv"), 0, 3, 2_000_000) // 22:13 of the first
	night()
	if page("nights/2023-11-14/report.json") == first {
		t.Error("a late log did not update its night")
	}
	if page("nights/2023-11-15/report.html") != second {
		t.Error("a late log of one night made the report of another anew")
	}

	lock, err := lake.NewLock(filepath.Join(out, "nights"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	in(t, exitFailed, "nightly", logs, "--out", out, "--quiet")
}
