package local

import (
	"archive/tar"
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

// TestObjectsCut has two shards read one large object: each fetches its own half, and the
// lake is that of one reading. A tar in the bucket is read where it lies.
func TestObjectsCut(t *testing.T) {
	buckets, b := inMemory(t)
	log := csvHeader + csvRows("sda", 0, 40_000)
	upload(t, b, "in/a.csv", []byte(log))
	ctx := context.Background()
	job := func(dir string) *Job {
		c := configs.Default()
		c.Ingest.ChunkBytes = 100_000
		return &Job{Config: c, Lake: filepath.Join(dir, "lake"), RunID: "one", Version: "test", Buckets: buckets}
	}
	one := job(t.TempDir())
	if _, err := one.Ingest(ctx, []string{"s3://logs/in/"}, nil); err != nil {
		t.Fatal(err)
	}
	want := parquetOf(t, one.Lake)
	got := map[string]string{}
	for i := range 2 {
		b.Forget()
		before := b.Received()
		j := job(t.TempDir())
		sources, err := j.Sources(ctx, []string{"s3://logs/in/"})
		if err != nil {
			t.Fatal(err)
		}
		pieces, err := sources.Pieces(Shard{i, 2})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range pieces {
			if _, err := sources.Read(ctx, p, j.Lake); err != nil {
				t.Fatal(err)
			}
		}
		for path, data := range parquetOf(t, j.Lake) {
			got[path] = data
		}
		// Half of it to a whole chunk, looks at its head, and what was read ahead.
		if n := b.Received() - before; n > int64(len(log))*2/3 {
			t.Errorf("shard %d fetched %d of %d bytes", i, n, len(log))
		}
	}
	sameParquet(t, "two shards", got, want)

	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	for _, name := range []string{"x/1.csv", "x/2.csv"} {
		data := csvHeader + csvRows(name[2:3], 0, 3000)
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(data))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	upload(t, b, "tar/both.tar", packed.Bytes())
	path := filepath.Join(t.TempDir(), "both.tar")
	if err := os.WriteFile(path, packed.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	var lakes []map[string]string
	for _, source := range []string{path, "s3://logs/tar/"} {
		j := job(t.TempDir())
		in, err := j.Ingest(ctx, []string{source}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if in.Account.Inputs != 2 || in.Account.Events != 6000 {
			t.Errorf("%s: %+v", source, in.Account)
		}
		lakes = append(lakes, parquetOf(t, j.Lake))
	}
	sameParquet(t, "a tar in a bucket", lakes[1], lakes[0])
}
