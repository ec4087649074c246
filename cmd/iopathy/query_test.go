package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// A command of the name duckdb gets the views and the query on its standard
// input, and its rows come out as one object.
func TestQueryRunsDuckDB(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the program many times over")
	}
	if runtime.GOOS == "windows" {
		t.Skip("the stand-in for duckdb is a shell script")
	}
	dir := t.TempDir()
	out := filepath.Join(dir, "demo")
	in(t, exitFine, "demo", "--out", out, "--quiet")
	script := "#!/bin/sh\necho \"$@\" > '" + dir + "/flags'\ncat > '" + dir + "/asked'\n[ -e '" + dir + "/fail' ] && exit 3\n[ -e '" + dir + "/silent' ] || printf '[{\"n\":\"1\"},\\n{\"n\":\"2\"}]\\n'\n"
	if err := os.WriteFile(filepath.Join(dir, "duckdb"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	ask := func(want int) map[string][]map[string]string {
		t.Helper()
		stdout, _ := in(t, want, "query", "SELECT 1", "--lake", filepath.Join(out, "lake"), "--output", "json")
		var got map[string][]map[string]string
		if want == exitFine {
			if err := json.Unmarshal([]byte(stdout), &got); err != nil {
				t.Fatalf("%s: %v", stdout, err)
			}
		}
		return got
	}
	if got := ask(exitFine)["rows"]; len(got) != 2 || got[1]["n"] != "2" {
		t.Errorf("rows are %v", got)
	}
	asked, err := os.ReadFile(filepath.Join(dir, "asked"))
	if err != nil || !strings.Contains(string(asked), "CREATE VIEW windows") || !strings.HasSuffix(string(asked), "\nSELECT 1;\n") {
		t.Errorf("duckdb was asked %s (%v)", asked, err)
	}
	if flags, err := os.ReadFile(filepath.Join(dir, "flags")); err != nil || string(flags) != "-bail -json\n" {
		t.Errorf("flags are %q (%v)", flags, err)
	}
	touch := func(name string) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	touch("silent")
	if got, ok := ask(exitFine)["rows"]; !ok || len(got) != 0 {
		t.Errorf("rows of nothing are %v", got)
	}
	touch("fail")
	ask(exitFailed)
}
