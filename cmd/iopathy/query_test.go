package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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

// The one-liners of other engines do what they are printed for, in a lake whose
// path is full of what shells, SQL, Python and patterns take for their own, beside
// one that its patterns would match.
func TestOneLinersRun(t *testing.T) {
	if testing.Short() {
		t.Skip("starts interpreters")
	}
	if runtime.GOOS == "windows" {
		t.Skip("the one-liners are for a POSIX shell")
	}
	dir := t.TempDir()
	t.Chdir(dir)
	in(t, exitFine, "demo", "--out", "wei d", "--quiet")
	lake := filepath.Join("we[ir] *?'q\"{a}$b `c` & d", "lake")
	for _, to := range []string{lake, filepath.Join("wer abcq", "lake")} {
		if err := os.CopyFS(to, os.DirFS(filepath.Join("wei d", "lake"))); err != nil {
			t.Fatal(err)
		}
	}
	path := os.Getenv("PATH")
	t.Setenv("PATH", filepath.Join(dir, "nothing"))
	const query = `SELECT count(*) AS n FROM labels WHERE device <> 'it''s' AND pathology <> '"' OR pathology IS NULL`
	lines := func(lake string) map[string]string {
		stdout, _ := in(t, exitFailed, "query", query, "--lake", lake, "--output", "json")
		var got struct{ How map[string]string }
		if err := json.Unmarshal([]byte(stdout), &got); err != nil {
			t.Fatal(err)
		}
		return got.How
	}
	how := lines(lake)
	if how["clickhouse"] != "" {
		t.Errorf("ClickHouse can't quote the pattern of %s", how["clickhouse"])
	}
	how["clickhouse"] = lines(filepath.Join("wei d", "lake"))["clickhouse"]
	views, _ := in(t, exitFine, "query", query, "--lake", lake, "--print")
	t.Setenv("PATH", path)
	python := os.Getenv("IOPATHY_PYTHON") // one that has the engines
	if python == "" {
		python = "python3"
	}
	python, err := exec.LookPath(python)
	if err != nil {
		t.Skip("no python here")
	}
	has := func(module string) bool { return exec.Command(python, "-c", "import "+module).Run() == nil }
	run := func(t *testing.T, name string, words ...string) {
		t.Helper()
		out, err := exec.Command(name, words...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if !regexp.MustCompile(`\b36(\.0|\b|00000)`).Match(out) { // windows of the demo
			t.Errorf("it says %s", out)
		}
	}
	shim := filepath.Join(dir, "shim")
	if err := os.Mkdir(shim, 0o755); err != nil {
		t.Fatal(err)
	}
	script := func(name, text string) {
		if err := os.WriteFile(filepath.Join(shim, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	script("python3", "exec '"+python+"' \"$@\"")
	if _, err := exec.LookPath("duckdb"); err != nil {
		script("duckdb", "exec '"+python+"' -c 'import duckdb, sys; print(duckdb.sql(sys.argv[2]))' \"$@\"")
	}
	t.Setenv("PATH", shim+string(os.PathListSeparator)+path)
	if _, err := exec.LookPath("clickhouse"); err != nil { // its engine as a module of Python
		script("clickhouse", "exec '"+python+`' -c 'import sys
from chdb.session import Session
s = Session()
for q in sys.argv[3].split("; "): print(s.query(q))' "$@"`)
	}
	// What the shell of pyspark has ready.
	script("spark", "exec '"+python+`' -c 'import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
exec(sys.argv[1])' "$@"`)
	for engine, module := range map[string]string{"duckdb": "duckdb", "pandas": "pandas", "polars": "polars", "clickhouse": "chdb", "spark": "pyspark"} {
		t.Run(engine, func(t *testing.T) {
			if !has(module) {
				t.Skip("python has no " + module)
			}
			if code, ok := strings.CutPrefix(how[engine], "pyspark, then: "); ok {
				run(t, "spark", code)
				return
			}
			run(t, "sh", "-c", how[engine])
		})
	}
	t.Run("views", func(t *testing.T) {
		if !has("duckdb") {
			t.Skip("python has no duckdb")
		}
		run(t, "duckdb", "-c", views)
	})
}
