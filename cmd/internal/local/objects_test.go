package local

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gocloud.dev/blob/memblob"

	"github.com/iopathy/iopathy/configs"
	"github.com/iopathy/iopathy/ingest/bucket"
)

// inMemory are buckets of which s3://logs is one in memory.
func inMemory(t *testing.T) (*bucket.Opened, *bucket.Bucket) {
	t.Helper()
	b := bucket.Over(memblob.OpenBucket(nil), "s3://logs", bucket.Options{BlockBytes: 4096, Pause: time.Microsecond})
	all := &bucket.Opened{}
	all.Take(bucket.Place{Scheme: "s3", Bucket: "logs"}, b)
	t.Cleanup(func() {
		if err := all.Close(); err != nil {
			t.Error(err)
		}
	})
	return all, b
}

func upload(t *testing.T, b *bucket.Bucket, key string, data []byte) {
	t.Helper()
	err := b.Put(context.Background(), key, int64(len(data)), func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil })
	if err != nil {
		t.Fatal(err)
	}
}

// parquetOf gives the Parquet files of a lake, by path.
func parquetOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".parquet") {
			data, rerr := os.ReadFile(path)
			rel, _ := filepath.Rel(dir, path)
			all[filepath.ToSlash(rel)], err = string(data), rerr
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func sameParquet(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	if len(got) != len(want) || len(want) == 0 {
		t.Errorf("%s: %d Parquet files, want %d", what, len(got), len(want))
	}
	for path, data := range want {
		if got[path] != data {
			t.Errorf("%s: %s is another (%d bytes, want %d)", what, path, len(got[path]), len(data))
		}
	}
}

// TestObjects reads the same files from a directory and from a bucket, also
// when one of them has grown: the lakes are equal, and so is what is left out.
func TestObjects(t *testing.T) {
	buckets, b := inMemory(t)
	dir := t.TempDir()
	log := func(n int) string { return csvHeader + csvRows("sda", 0, n) }
	files := map[string]string{
		"a.csv": log(500), "host=x/b.csv": strings.ReplaceAll(log(40), "sda", "sdb"),
		"copy.csv": log(500), ".hidden/c.csv": log(3), "host=x/.d.csv": log(3),
		"lake/.lock": "", "lake/runs/1.json": "{}", "lake/events/e.csv": log(3),
		"out/report.json": "{}", "out/labels.csv": "x", "out/more.csv": log(60),
		"t.parquet": "PAR1",
	}
	job := func(lakeDir string) *Job {
		return &Job{Config: configs.Default(), Lake: lakeDir, RunID: "one", Buckets: buckets}
	}
	lakes := []string{filepath.Join(t.TempDir(), "lake"), filepath.Join(t.TempDir(), "lake")}
	both := func(step string) {
		for name, data := range files {
			path := filepath.Join(dir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
				t.Fatal(err)
			}
			upload(t, b, "in/"+name, []byte(data))
		}
		var accounts [2]Account
		var skips [2][]string
		for i, source := range []string{dir, "s3://logs/in/"} {
			j := job(lakes[i])
			j.RunID = step
			out, err := j.Ingest(context.Background(), []string{source}, nil)
			if err != nil {
				t.Fatal(err)
			}
			accounts[i] = out.Account
			for _, s := range out.Skips {
				at := strings.TrimPrefix(filepath.ToSlash(s.Path), filepath.ToSlash(dir)+"/")
				skips[i] = append(skips[i], strings.TrimPrefix(at, "s3://logs/in/")+": "+s.Reason)
			}
			slices.Sort(skips[i])
		}
		if accounts[0].Events != accounts[1].Events || accounts[0].Inputs != accounts[1].Inputs || accounts[0].Bytes != accounts[1].Bytes || accounts[0].NewBytes != accounts[1].NewBytes || accounts[0].Events == 0 {
			t.Errorf("%s: from files %+v, from objects %+v", step, accounts[0], accounts[1])
		}
		if !slices.Equal(skips[0], skips[1]) || len(skips[0]) != 6 {
			t.Errorf("%s: left out of files %q, of objects %q", step, skips[0], skips[1])
		}
		sameParquet(t, step, parquetOf(t, lakes[1]), parquetOf(t, lakes[0]))
	}
	both("1")
	files["a.csv"] = log(900)
	both("2")
	want := parquetOf(t, lakes[0])
	for _, source := range []string{"s3://logs/in", "s3://logs/in/*", "s3://logs/in/[a]*"} {
		j := job(filepath.Join(t.TempDir(), "lake"))
		_, err := j.Ingest(context.Background(), []string{source}, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := parquetOf(t, j.Lake)
		if n := map[string]int{"s3://logs/in": len(want)}[source]; len(got) != max(n, 1) { // a * does not go into folders
			t.Errorf("%s: %d Parquet files", source, len(got))
		}
	}
	for _, source := range []string{"s3://logs/nothing", "s3://logs/in/*.none", "s3://logs?x=y", "gs://logs/in/"} {
		if _, err := job(filepath.Join(t.TempDir(), "lake")).Ingest(context.Background(), []string{source}, nil); err == nil || !IsSourceError(err) {
			t.Errorf("%s: error %v", source, err)
		}
	}
}
