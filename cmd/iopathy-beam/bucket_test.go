package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/iopathy/iopathy/cmd/internal/gateway"
)

// A job whose lake and output lie in a bucket, on a server of S3: the objects are the
// files that one process leaves in a directory. Steps share nothing but the bucket.
func TestPrismS3(t *testing.T) {
	addr, objects := gateway.Start(t)
	at := func(key string) string { return "s3://" + gateway.Bucket + "/" + key + gateway.Query(addr) }
	logs := fixture(t)
	one := specOf(t.TempDir(), 1, "", 100_000, logs)
	alone(t, one)
	want := sums(t, one.Config.Out)
	spec := func(out string, sources ...string) Spec {
		s := specOf(at(out), 3, "", 100_000, sources...)
		s.Config.Bucket.Dir = t.TempDir()
		return s
	}
	s := spec("out", logs)
	if _, err := submit(context.Background(), "prism", s, 10*time.Minute); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, sums(t, filepath.Join(objects, "out"))); diff != "" {
		t.Errorf("objects differ from files (-iopathy +engine):\n%s", diff)
	}
	if left, err := os.ReadDir(s.Config.Bucket.Dir); err != nil || len(left) > 0 {
		t.Errorf("left beside the bucket: %v, %v", left, err)
	}
	if err := s.check(); err == nil || !strings.Contains(err.Error(), "holds runs already") {
		t.Errorf("a lake that holds runs: %v", err)
	}
	// Logs of a bucket: where they lie stands in manifests and reports alone.
	if err := os.CopyFS(filepath.Join(objects, "logs"), os.DirFS(logs)); err != nil {
		t.Fatal(err)
	}
	if _, err := submit(context.Background(), "prism", spec("out2", at("logs/")), 10*time.Minute); err != nil {
		t.Fatal(err)
	}
	got := sums(t, filepath.Join(objects, "out2"))
	for name, sum := range want {
		if (strings.HasSuffix(name, ".parquet") || strings.HasSuffix(name, ".csv") || name == "lake/models/model.json") && got[name] != sum {
			t.Errorf("%s is another of logs in a bucket", name)
		}
	}
}
