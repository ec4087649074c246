package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A store that can't be reached is another thing than one that is not known: the exit code
// tells them apart, in one line and soon.
func TestStores(t *testing.T) {
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "who", "AWS_SECRET_ACCESS_KEY": "hush-hush", "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_REGION": "", "AWS_PROFILE": "",
	} {
		t.Setenv(name, value)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "s3://b/logs/?endpoint=http://" + l.Addr().String() + "&use_path_style=true&region=us-east-1"
	l.Close() // nobody listens there now
	out := filepath.Join(t.TempDir(), "out")
	check := func(code int, want string, args ...string) {
		t.Helper()
		if s := ended(t, code, args...); !strings.Contains(s, want) || strings.Count(s, "\n") != 1 {
			t.Errorf("%v: %q, want one line with %q", args, s, want)
		}
	}
	check(exitFailed, "can't be reached", "run", nobody, "--out", out)
	check(exitFailed, "can't be reached", "verify", "--lake", nobody)
	check(exitUsage, "no region", "run", "s3://b/logs/", "--out", out)
	check(exitUsage, "was built without gs://", "report", "--lake", "gs://b/lake", "--out", out)
	if _, err := os.Stat(out); err == nil {
		t.Error("a run that could not begin has left an output directory")
	}
}

// Whatever takes a path takes it as a file:// URL.
func TestFileURLs(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return "file://" + filepath.ToSlash(filepath.Join(dir, name)) }
	log, err := filepath.Abs("demo/recording.blkparse.txt.zst")
	if err != nil {
		t.Fatal(err)
	}
	log = "file://" + filepath.ToSlash(log)
	t.Chdir(dir) // where a path that is taken for a name would be made
	for _, args := range [][]string{
		{"run", log, "--host", "demo", "--lake", at("lake"), "--out", at("out"), "--figures", at("figures")},
		{"features", "--lake", at("lake"), "--vectors", at("vectors.csv")},
		{"align", log, log, "--write", at("log.clock")},
		{"compare", log, at("lake"), "--out", at("cmp")},
		{"formats", "--check", log},
		{"verify", at("lake")},
	} {
		ended(t, exitFine, append(args, "--quiet")...)
	}
	for _, name := range []string{"lake/runs", "out/report.html", "figures", "vectors.csv", "log.clock", "cmp"} {
		if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat("file:"); err == nil {
		t.Error("a URL was taken for a path")
	}
}
