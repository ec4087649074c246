package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// What query prints for a lake in a bucket does what it is printed for, of a real
// server of S3. IOPATHY_PYTHON names a Python that has the engines, IOPATHY_DUCKDB_EXTENSIONS
// a folder of DuckDB's extensions, which it fetches from the network otherwise.
func TestOneLinersS3(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the one-liners are for a POSIX shell")
	}
	url, _ := store(t)
	ended(t, exitFine, "run", "demo/recording.blkparse.txt.zst", "--host", "demo", "--lake", url, "--out", t.TempDir(), "--quiet")
	const query = `SELECT count(*) AS n FROM labels WHERE device <> 'it''s' AND pathology <> '"' OR pathology IS NULL`
	out, err := iopathy(t, "query", query, "--lake", url, "--output", "json").Output()
	if err == nil {
		t.Fatal("query asks a bucket")
	}
	var got struct{ How map[string]string }
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	python := os.Getenv("IOPATHY_PYTHON")
	if python == "" {
		python = "python3"
	}
	if python, err = exec.LookPath(python); err != nil {
		t.Skip("no python here")
	}
	shim := t.TempDir()
	script := func(name, text string) {
		if err := os.WriteFile(filepath.Join(shim, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	script("python3", "exec '"+python+"' \"$@\"")
	extensions := os.Getenv("IOPATHY_DUCKDB_EXTENSIONS")
	script("duckdb", "exec '"+python+"' -c 'import duckdb, sys; c = duckdb.connect(config={\"extension_directory\": \""+extensions+"\"}); print(c.sql(sys.argv[2]))' \"$@\"")
	t.Setenv("PATH", shim+string(os.PathListSeparator)+os.Getenv("PATH"))
	for _, engine := range []string{"pandas", "polars", "duckdb"} {
		t.Run(engine, func(t *testing.T) {
			if exec.Command(python, "-c", "import pyarrow, "+engine).Run() != nil {
				t.Skip("python has no " + engine)
			}
			if engine == "duckdb" && extensions == "" {
				t.Skip("IOPATHY_DUCKDB_EXTENSIONS is not set")
			}
			out, err := exec.Command("sh", "-c", got.How[engine]).CombinedOutput()
			if err != nil {
				t.Fatalf("%s: %v: %s", got.How[engine], err, out)
			}
			if !regexp.MustCompile(`\b36(\.0|\b|00000)`).Match(out) { // windows of the demo
				t.Errorf("it says %s", out)
			}
		})
	}
}

// A log on a server of S3 is read as one in a directory is.
func TestSourceS3(t *testing.T) {
	lake, objects := store(t)
	const demo = "demo/recording.blkparse.txt.zst"
	data, err := os.ReadFile(demo)
	if err != nil {
		t.Fatal(err)
	}
	logs := filepath.Join(filepath.Dir(objects), "logs", "deep er")
	if err := os.MkdirAll(logs, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(logs, filepath.Base(demo)), data, 0o666); err != nil {
		t.Fatal(err)
	}
	near, far := t.TempDir(), t.TempDir()
	ended(t, exitFine, "run", demo, "--host", "demo", "--out", near)
	ended(t, exitFine, "run", strings.Replace(lake, "/it?", "/logs/?", 1), "--host", "demo", "--out", far)
	for _, name := range []string{"report.html", "report.json", "labels.csv"} {
		sameFile(t, filepath.Join(far, name), filepath.Join(near, name))
	}
	sameParquets(t, filepath.Join(far, "lake"), filepath.Join(near, "lake"))
}

// serve shows a lake in a bucket, and what is published there while it does.
func TestServeS3(t *testing.T) {
	lake, _ := store(t)
	dir := t.TempDir()
	log := func(name, day string) string {
		path := filepath.Join(dir, name)
		var b strings.Builder
		b.WriteString("time_ns,host,device,pid,comm,op,flags,offset_bytes,size_bytes,queue_ns,latency_ns,error\n")
		at, err := time.Parse(time.DateOnly, day)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 2000 {
			b.WriteString(strconv.FormatInt(at.UnixNano()+int64(i)*50e6, 10) + ",h1,sda,1,app,R,,0,4096,1000,10000000,0\n")
		}
		if err := os.WriteFile(path, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ended(t, exitFine, "nightly", log("a.csv", "2026-03-01"), "--lake", lake, "--out", filepath.Join(dir, "nights"), "--quiet")
	cmd := iopathy(t, "serve", "--lake", lake, "--addr", "127.0.0.1:0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	get := func(path string) string {
		t.Helper()
		r, err := http.Get(strings.TrimSpace(url) + path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		page, err := io.ReadAll(r.Body)
		if err != nil || r.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s, %v: %s", path, r.Status, err, page)
		}
		return string(page)
	}
	if page := get(""); !strings.Contains(page, "2026-03-01") || strings.Contains(page, "2026-03-02") {
		t.Fatalf("of one night the page is %s", page)
	}
	if page := get("night/2026-03-01"); !strings.Contains(page, "sda") {
		t.Errorf("the night's page is %s", page)
	}
	ended(t, exitFine, "nightly", log("b.csv", "2026-03-02"), "--lake", lake, "--out", filepath.Join(dir, "nights"), "--quiet")
	for !strings.Contains(get(""), "2026-03-02") {
		time.Sleep(200 * time.Millisecond) // it looks every few seconds
	}
	get("night/2026-03-02")
}
