package main

import (
	"bytes"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/iopathy/iopathy/cmd/internal/gateway"
)

// store starts a server of S3 and gives the URL of a lake in it, and the directory
// where its objects lie.
func store(t *testing.T) (url, dir string) {
	t.Helper()
	addr, bucket := gateway.Start(t)
	return "s3://" + gateway.Bucket + "/it" + gateway.Query(addr), filepath.Join(bucket, "it")
}

// ended runs iopathy, wants an exit code, and gives what it said.
func ended(t *testing.T, code int, args ...string) string {
	t.Helper()
	cmd := iopathy(t, args...)
	var words bytes.Buffer
	cmd.Stdout, cmd.Stderr = &words, &words
	_ = cmd.Run() // the exit code tells
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Errorf("iopathy %v: exit code %d, want %d\n%s", args, got, code, words.String())
	}
	if s := words.String(); strings.Contains(s, "hush") || strings.Contains(s, "iopathy-lake-") || strings.Contains(s, "iopathy-folder-") {
		t.Errorf("iopathy %v tells a secret, or where its working copy is: %s", args, s)
	}
	return words.String()
}

// TestVerbsS3 does with a lake on a server of S3 what can be done with one in a
// directory: the pages and tables are equal.
func TestVerbsS3(t *testing.T) {
	url, objects := store(t)
	out, plain := t.TempDir(), t.TempDir()
	demo := "demo/recording.blkparse.txt.zst"
	lake := filepath.Join(plain, "lake")
	ended(t, exitFine, "run", demo, "--host", "demo", "--lake", lake, "--out", plain)
	ended(t, exitFine, "run", demo, "--host", "demo", "--lake", url, "--out", out)
	for _, name := range []string{"report.html", "report.json", "labels.csv"} {
		sameFile(t, filepath.Join(out, name), filepath.Join(plain, name))
	}
	sameParquets(t, objects, lake)
	ended(t, exitFine, "report", "--lake", url, "--out", filepath.Join(out, "again"))
	ended(t, exitFine, "report", "--lake", lake, "--out", filepath.Join(plain, "again"))
	sameFile(t, filepath.Join(out, "again", "report.html"), filepath.Join(plain, "again", "report.html"))
	for _, verb := range [][]string{
		{"verify"}, {"features"}, {"fit"}, {"label"}, {"explain", "demo/dev:7:1", "+40s"}, {"compare", "host=demo", "host=demo"},
	} {
		a := ended(t, exitFine, append(verb, "--lake", url, "--out", filepath.Join(out, verb[0]))...)
		b := ended(t, exitFine, append(verb, "--lake", lake, "--out", filepath.Join(plain, verb[0]))...)
		at, _, _ := strings.Cut(url, "?")
		if a = strings.ReplaceAll(strings.ReplaceAll(a, at, lake), out, plain); a != b {
			t.Errorf("%v says %q of the bucket, %q of the directory", verb, a, b)
		}
	}
	ended(t, exitFine, "postmortem", "--from", "+20s", "--to", "+60s", "--lake", url, "--out", filepath.Join(out, "pm"))
	ended(t, exitFine, "postmortem", "--from", "+20s", "--to", "+60s", "--lake", lake, "--out", filepath.Join(plain, "pm"))
	sameFile(t, filepath.Join(out, "pm", "postmortem.html"), filepath.Join(plain, "pm", "postmortem.html"))
	if s := ended(t, exitFine, "query", "SELECT 1", "--print", "--lake", url); !strings.Contains(s, "'s3://lakes/it/events/") || !strings.Contains(s, "PROVIDER credential_chain") {
		t.Errorf("query --print: %s", s)
	}
	if s := ended(t, exitFailed, "query", "SELECT 1", "--lake", url); !strings.Contains(s, "storage_options") {
		t.Errorf("query: %s", s)
	}
	ended(t, exitUsage, "serve", "--lake", strings.Replace(url, "/it?", "/none?", 1))
	ended(t, exitUsage, "report", "--lake", strings.Replace(url, "/it?", "/none?", 1), "--out", filepath.Join(out, "none"))
	ended(t, exitFine, "nightly", demo, "--host", "demo", "--lake", url, "--out", filepath.Join(out, "nights"))
	ended(t, exitFine, "ingest", "--repair", demo, "--host", "demo", "--lake", url)

	if err := os.MkdirAll(filepath.Join(objects, ".writer"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(objects, ".writer", "00000007"), []byte(`{"pid":12,"host":"other","lease_ns":180000000000}`), 0o666); err != nil {
		t.Fatal(err)
	}
	if s := ended(t, exitBusy, "ingest", demo, "--lake", url); !strings.Contains(s, `process 12 on host "other"`) || !strings.Contains(s, "taken over in") {
		t.Errorf("somebody else writes: %s", s)
	}
}

func sameFile(t *testing.T, got, want string) {
	t.Helper()
	a, err := os.ReadFile(got)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(want)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a, b) {
		t.Errorf("%s is another than %s", got, want)
	}
}

// sameParquets compares all files of two lakes but the manifests, which tell when
// a run was.
func sameParquets(t *testing.T, got, want string) {
	t.Helper()
	n := 0
	err := filepath.WalkDir(want, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Base(filepath.Dir(path)) == "runs" {
			return err
		}
		rel, err := filepath.Rel(want, path)
		n++
		sameFile(t, filepath.Join(got, rel), path)
		return err
	})
	if err != nil || n == 0 {
		t.Errorf("%d files compared: %v", n, err)
	}
}

// TestURLsS3 gives URLs wherever a verb takes a path: what comes of it is what comes of
// the same on this machine.
func TestURLsS3(t *testing.T) {
	url, objects := store(t)
	dir := t.TempDir()
	at := func(name string) string { return strings.Replace(url, "/it?", "/it/"+name+"?", 1) }
	stored := func(name string) string { return filepath.Join(objects, filepath.FromSlash(name)) }
	here := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	put := func(name, data string) {
		t.Helper()
		for _, path := range []string{stored(name), here(name)} {
			if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(data), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	log, err := os.ReadFile("demo/recording.blkparse.txt.zst")
	if err != nil {
		t.Fatal(err)
	}
	put("log.zst", string(log))
	put("inventory.csv", "host,device,model,rotational\ndemo,dev:7:4,small,0\n")
	key := here("key")
	put("key", "0123456789abcdef0123456789abcdef0123456789abcdef")
	same := func(names ...string) {
		t.Helper()
		for _, name := range names {
			sameFile(t, stored(name), here(name))
		}
	}
	do := func(code int, args ...string) {
		t.Helper()
		ended(t, code, append(args, "--quiet")...)
	}
	// The main job, by two shards and in one go.
	do(exitFine, "run", here("log.zst"), "--host", "demo", "--inventory", here("inventory.csv"), "--out", here("out"))
	for _, i := range []string{"0", "1"} {
		do(exitFine, "run", at("log.zst"), "--host", "demo", "--shard", i+"/2", "--out", at("part-"+i))
	}
	do(exitUsage, "merge", at("part-0"), at("part-2"), "--host", "demo", "--out", at("none"))
	for _, i := range []string{"0", "1"} {
		do(exitFine, "features", at("part-0"), at("part-1"), "--host", "demo", "--shard", i+"/2")
	}
	do(exitFine, "merge", at("part-0"), at("part-1"), "--host", "demo", "--inventory", at("inventory.csv"), "--out", at("out"))
	same("out/report.html", "out/report.json", "out/labels.csv", "out/labels.parquet")
	sameParquets(t, stored("out/lake"), here("out/lake"))
	do(exitReached, "report", "--lake", at("out/lake"), "--fail-on", "0.1", "--out", at("again"))
	do(exitReached, "report", "--lake", here("out/lake"), "--fail-on", "0.1", "--out", here("again"))
	same("again/report.html")
	do(exitUsage, "report", "--lake", at("out/lake"), "--out", url) // which holds other things
	// What reads other lakes.
	do(exitFine, "compare", at("out"), at("out/lake"), "--out", at("cmp"))
	do(exitFine, "anonymise", at("out/lake"), "--anonymise", key, "--lake", at("hidden"))
	do(exitFine, "anonymise", here("out/lake"), "--anonymise", key, "--lake", here("hidden"))
	sameParquets(t, stored("hidden"), here("hidden"))
	do(exitUsage, "anonymise", at("nothing"), "--anonymise", key, "--lake", at("hidden2"))
	do(exitFine, "align", at("log.zst"), here("log.zst"))
	do(exitFine, "generate", "--devices", "1", "--hours", "0.01", "--out", at("made"))
	do(exitFine, "generate", "--devices", "1", "--hours", "0.01", "--out", here("made"))
	same("made/labels.csv", "made/inventory.csv")
	// What takes none says so.
	for _, args := range [][]string{
		{"nightly", at("log.zst"), "--lake", at("lake"), "--out", at("nights")},
		{"features", "--lake", at("out/lake"), "--vectors", at("v.csv")},
		{"report", "--lake", at("out/lake"), "--out", at("x"), "--figures", at("f")},
		{"anonymise", at("out/lake"), "--anonymise", at("key"), "--lake", at("y")},
		{"report", "--lake", at("out/lake"), "--out", at("x"), "--catalogue", at("none.yaml")},
		{"report", "--lake", at("out/lake"), "--out", at("x*")},
	} {
		if s := ended(t, exitUsage, args...); !strings.Contains(s, "s3://") {
			t.Errorf("%v: %s", args, s)
		}
	}
	if left, err := filepath.Glob(filepath.Join(os.TempDir(), "iopathy-folder-*")); err != nil || len(left) > 0 {
		t.Logf("folders are left, of this or of others: %v, %v", left, err)
	}
}

// TestDrillBucket kills nights on a lake in a bucket at random moments. After
// each kill a reader finds a lake without a fault; the last night, which nobody
// kills, leaves the files that a night leaves which nobody ever killed.
func TestDrillBucket(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some minutes")
	}
	kills := 2
	if s := os.Getenv("IOPATHY_SOAK_KILLS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		kills = n
	}
	url, objects := store(t)
	t.Setenv("IOPATHY_BUCKET_DIR", t.TempDir())
	logs, plain, out, outB := t.TempDir(), filepath.Join(t.TempDir(), "lake"), t.TempDir(), t.TempDir()
	data, err := os.ReadFile("demo/recording.blkparse.txt.zst")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(logs, "a.zst"), data, 0o666); err != nil {
		t.Fatal(err)
	}
	args := func(lake, out string) []string {
		return []string{"nightly", logs, "--host", "demo", "--lake", lake, "--out", out, "--quiet"}
	}
	began := time.Now()
	ended(t, exitFine, args(plain, out)...)
	took := 2 * time.Since(began)
	rng := rand.New(rand.NewPCG(7, 11))
	amid := 0
	for i := range kills {
		cmd := iopathy(t, args(url, outB)...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration((float64(i) + rng.Float64()) / float64(kills) * float64(took)))
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
		if _, err := os.Stat(filepath.Join(objects, ".publish")); err == nil {
			amid++
		}
		if runs, _ := filepath.Glob(filepath.Join(objects, "runs", "*.json")); len(runs) > 0 {
			ended(t, exitFine, "verify", "--lake", url)
		}
		leases, err := filepath.Glob(filepath.Join(objects, ".writer", "*"))
		if err != nil {
			t.Fatal(err)
		}
		old := time.Now().Add(-time.Hour)
		for _, path := range leases {
			if err := os.Chtimes(path, old, old); err != nil { // as if it had lapsed
				t.Fatal(err)
			}
		}
	}
	ended(t, exitFine, args(url, outB)...)
	sameParquets(t, objects, plain)
	left, err := os.ReadDir(os.Getenv("IOPATHY_BUCKET_DIR"))
	if err != nil || len(left) > 0 {
		t.Errorf("working copies are left: %v, %v", left, err)
	}
	t.Logf("%d kills, %d of them while it was published", kills, amid)
}
