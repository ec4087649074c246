package mirror

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/blob/memblob"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cmd/internal/local"
	"github.com/iopathy/iopathy/cmd/internal/nights"
	"github.com/iopathy/iopathy/configs"
	"github.com/iopathy/iopathy/ingest/bucket"
	_ "github.com/iopathy/iopathy/ingest/formats" // so that logs are known
)

// quick are options whose pauses a test can wait for.
var quick = bucket.Options{BlockBytes: 4096, Tries: 3, Pause: time.Microsecond, Deadline: 5 * time.Second}

// inFiles is a bucket that is a directory.
func inFiles(t testing.TB, dir string) *bucket.Bucket {
	t.Helper()
	b, err := fileblob.OpenBucket(dir, &fileblob.Options{Metadata: fileblob.MetadataDontWrite})
	if err != nil {
		t.Fatal(err)
	}
	return over(t, b)
}

func over(t testing.TB, b *blob.Bucket) *bucket.Bucket {
	t.Helper()
	all := bucket.Over(b, "s3://lakes", quick)
	t.Cleanup(func() {
		if err := all.Close(); err != nil {
			t.Error(err)
		}
	})
	return all
}

const day0 = int64(1_700_006_400_000_000_000) // 2023-11-15, midnight UTC

// log is events of two devices of a host, a minute of each day: the second one's
// are slow in its second half.
func log(host string, days ...int64) string {
	var s strings.Builder
	s.WriteString("time_ns,host,device,pid,comm,op,flags,offset_bytes,size_bytes,queue_ns,latency_ns,error\n")
	for _, day := range days {
		for i := int64(0); i < 3000; i++ {
			latency := 200_000 + i%7*1000
			if i > 1500 {
				latency *= 60
			}
			at := day0 + day*86400e9 + 3600e9 + i*20e6
			fmt.Fprintf(&s, "%d,%s,sda,1,app,R,,%d,4096,1000,%d,0\n", at, host, i*4096%1e9, 200_000+i%5*1000)
			fmt.Fprintf(&s, "%d,%s,sdb,1,app,W,,%d,16384,1000,%d,0\n", at+5000, host, i*16384%1e9, latency)
		}
	}
	return s.String()
}

// night does what a night does, on any lake.
func night(t testing.TB, j *local.Job, logs, out string, n int64) {
	t.Helper()
	j.Config.Retention.Events, j.Config.Retention.Runs, j.Config.Retention.Models = 48*time.Hour, 4, 1
	j.RunID, j.SkipEmpty = fmt.Sprintf("night-%d", n), true
	in, err := j.Ingest(context.Background(), []string{logs}, nil)
	if err != nil {
		t.Fatal(err)
	}
	catalogue, err := configs.LoadCatalogue("")
	if err != nil {
		t.Fatal(err)
	}
	rules, err := cluster.Compile(catalogue)
	if err != nil {
		t.Fatal(err)
	}
	say := func(format string, args ...any) {
		if s := fmt.Sprintf(format, args...); strings.Contains(s, "left") {
			t.Error(s)
		}
	}
	if _, err := nights.Run(context.Background(), &nights.Job{Local: j, Out: out, Ingested: in, Catalogue: catalogue, Rules: rules, NowNS: day0 + 40*86400e9, Say: say}); err != nil {
		t.Fatal(err)
	}
}

// tree gives the files below a directory, and what is in them.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		all[filepath.ToSlash(rel)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// objects gives the objects of a bucket below a prefix, and what is in them.
func objects(t testing.TB, b *bucket.Bucket, prefix string) map[string]string {
	t.Helper()
	all := map[string]string{}
	list, err := b.List(context.Background(), prefix)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range list {
		data, err := b.Get(context.Background(), o.Key, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimPrefix(o.Key, prefix)] = string(data)
	}
	return all
}

func sameTrees(t testing.TB, what string, got, want map[string]string) {
	t.Helper()
	for _, path := range sorted(want) {
		if data, ok := got[path]; !ok {
			t.Errorf("%s: %s is missing", what, path)
		} else if data != want[path] {
			t.Errorf("%s: %s is another: %d bytes, want %d", what, path, len(data), len(want[path]))
		}
	}
	for _, path := range sorted(got) {
		if _, ok := want[path]; !ok {
			t.Errorf("%s: %s is too much", what, path)
		}
	}
}

// write opens a lake for writing, works on it and publishes.
func write(t testing.TB, b *bucket.Bucket, work func(j *local.Job)) {
	t.Helper()
	c, err := Open(context.Background(), b, "it", Options{Write: true, Dir: t.TempDir(), KeepBytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	work(jobOn(c))
	if err := c.Publish(context.Background()); err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func jobOn(c *Copy) *local.Job {
	return &local.Job{Config: configs.Default(), Lake: c.Dir(), Away: c}
}

// grow makes the logs of a night: new ones, grown ones, late ones.
func grow(t testing.TB, dir string, n int64) {
	t.Helper()
	files := map[int64]map[string]string{
		1: {"a.csv": log("h1", 0), "b.csv": log("h2", 0)},
		2: {"a.csv": log("h1", 0, 1), "late.csv": strings.ReplaceAll(log("h1", 0), ",1,app", ",2,late")},
		3: {"c.csv": log("h2", 3), "d.csv": strings.ReplaceAll(log("h2", 2), ",1,app", ",3,other")},
	}[n]
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSameLake works through nights on a lake in a directory and on one in a
// bucket: with grown and late logs, merged, removed and folded files. After each
// night the bucket holds what the directory does, byte for byte.
func TestSameLake(t *testing.T) {
	stores := map[string]*bucket.Bucket{"file": inFiles(t, t.TempDir()), "mem": over(t, memblob.OpenBucket(nil))}
	if testing.Short() {
		delete(stores, "mem")
	}
	sameLake(t, stores)
}

func sameLake(t *testing.T, stores map[string]*bucket.Bucket) {
	logs, dir, out := t.TempDir(), filepath.Join(t.TempDir(), "lake"), t.TempDir()
	outs := map[string]string{}
	for name := range stores {
		outs[name] = t.TempDir()
	}
	bundles := 0
	for n := int64(1); n <= 4; n++ {
		grow(t, logs, n)
		night(t, &local.Job{Config: configs.Default(), Lake: dir}, logs, out, n)
		want := tree(t, dir)
		for path := range want {
			if strings.Contains(path, "/bundle-") {
				bundles++
			}
		}
		for name, b := range stores {
			what := fmt.Sprintf("%s, night %d", name, n)
			write(t, b, func(j *local.Job) { night(t, j, logs, outs[name], n) })
			sameTrees(t, what, objects(t, b, "it/"), want)
			for path, page := range tree(t, out) {
				if got, err := os.ReadFile(filepath.Join(outs[name], path)); err != nil || string(got) != page {
					t.Errorf("%s: %s is another than that of a directory", what, path)
				}
			}
		}
	}
	if bundles == 0 {
		t.Error("no files were merged: the nights are to try that, too")
	}
	for name, b := range stores {
		verified(t, name, b, 0)
	}
}

// verified verifies a lake in a bucket, and wants so many faults.
func verified(t testing.TB, what string, b *bucket.Bucket, want int) []local.Wrong {
	t.Helper()
	c, err := Open(context.Background(), b, "it", Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	v, err := jobOn(c).Verify(context.Background())
	if err != nil || v.Parts == 0 || len(v.Wrong) != want {
		t.Errorf("%s: verify: %+v, %v", what, v, err)
	}
	if want == 0 && slices.ContainsFunc(sorted(c.files), func(rel string) bool { return c.files[rel].here && !isState(rel) }) {
		t.Errorf("%s: verify leaves files in the working copy", what)
	}
	return v.Wrong
}
