package local

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/configs"
	_ "github.com/iopathy/iopathy/ingest/formats" // puts the formats on the shelf
	"github.com/iopathy/iopathy/ingest/lake"
)

const csvHeader = "time_ns,host,device,pid,comm,op,flags,offset_bytes,size_bytes,queue_ns,latency_ns,error\n"

// csvRows is rows from to to of an event log; logs of different names differ
// in each row.
func csvRows(name string, from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, "%d,h1,%s,1,app,R,,%d,4096,1000,200000,0\n", 1700000000000000000+int64(i)*1e6, name, i*4096)
	}
	return b.String()
}

// shelf is a directory of logs and the lake that they are read into.
type shelf struct {
	t     *testing.T
	logs  string
	lake  string
	runs  int
	chunk int64
}

func newShelf(t *testing.T) *shelf {
	dir := t.TempDir()
	s := &shelf{t: t, logs: filepath.Join(dir, "logs"), lake: filepath.Join(dir, "lake"), chunk: 64 << 20}
	if err := os.Mkdir(s.logs, 0o777); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *shelf) put(name, content string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.logs, name), []byte(content), 0o666); err != nil {
		s.t.Fatal(err)
	}
}

func (s *shelf) pack(name, content string) {
	s.t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, content); err != nil {
		s.t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		s.t.Fatal(err)
	}
	s.put(name, b.String())
}

func (s *shelf) drop(name string) {
	s.t.Helper()
	if err := os.Remove(filepath.Join(s.logs, name)); err != nil {
		s.t.Fatal(err)
	}
}

// job is a job of its own run.
func (s *shelf) job() *Job {
	s.runs++
	c := configs.Default()
	c.Ingest.ChunkBytes = s.chunk
	return &Job{Config: c, Lake: s.lake, RunID: fmt.Sprintf("run-%02d", s.runs), Version: "test"}
}

// read ingests all logs (or what stdin gives) and wants so many rows of each
// device in the lake, and so many lines that were read before.
func (s *shelf) read(what string, stdin string, duplicates int64, want map[string]int) *Ingested {
	s.t.Helper()
	sources, in := []string{s.logs}, io.Reader(nil)
	if stdin != "" {
		sources, in = []string{"-"}, strings.NewReader(stdin)
	}
	j := s.job()
	out, err := j.Ingest(context.Background(), sources, in)
	if err != nil {
		s.t.Fatalf("%s: %v", what, err)
	}
	if out.Duplicates != duplicates {
		s.t.Errorf("%s: %d lines of copies, want %d", what, out.Duplicates, duplicates)
	}
	s.holds(what, want)
	all, err := j.IngestedBefore()
	if err != nil {
		s.t.Fatal(err)
	}
	total := 0
	for _, n := range want {
		total += n
	}
	if all.Events != int64(total) {
		s.t.Errorf("%s: the account tells of %d events, want %d", what, all.Events, total)
	}
	return out
}

// holds counts the rows of the parts that the manifests name, and wants no
// other part to lie there.
func (s *shelf) holds(what string, want map[string]int) {
	s.t.Helper()
	ms, err := lake.Manifests(s.lake)
	if err != nil {
		s.t.Fatal(err)
	}
	got := map[string]int{}
	named := map[string]bool{}
	for _, p := range lake.Parts(ms, lake.Events) {
		path := filepath.Join(s.lake, filepath.FromSlash(p.Path))
		named[path] = true
		if faults, err := lake.VerifyPart(s.lake, p); len(faults) > 0 || err != nil {
			s.t.Errorf("%s: %v, %v", what, faults, err)
		}
		r, err := lake.Open(path, []string{"device"})
		if err != nil {
			s.t.Fatal(err)
		}
		for {
			cols, _, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				s.t.Fatal(err)
			}
			for _, d := range cols[0].Data.([]string) {
				got[d]++
			}
		}
		r.Close()
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		s.t.Errorf("%s: the lake holds %v, want %v", what, got, want)
	}
	err = filepath.WalkDir(s.lake, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !named[path] && !strings.HasPrefix(path, filepath.Join(s.lake, "runs")) && !strings.HasPrefix(path, filepath.Join(s.lake, "checkpoints")) && d.Name() != ".lock" {
			s.t.Errorf("%s: %s lies there", what, path)
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

func TestGrownSmall(t *testing.T) {
	s := newShelf(t)
	log := func(n int) string { return csvHeader + csvRows("a", 0, n) }
	s.put("a.csv", log(3))
	s.read("first", "", 0, map[string]int{"a": 3})
	s.read("again", "", 4, map[string]int{"a": 3})
	s.put("a.csv", log(50))
	s.read("grown", "", 0, map[string]int{"a": 50})
	s.put("a.csv", log(3000)) // beyond a head of 64 KiB
	s.read("grown beyond the head", "", 0, map[string]int{"a": 3000})
	s.put("a.csv", log(4000))
	s.read("grown behind the head", "", 0, map[string]int{"a": 4000})
	s.drop("a.csv")
	s.put("renamed.log", log(4000))
	s.read("renamed", "", 4001, map[string]int{"a": 4000})
	s.drop("renamed.log")
	s.pack("a.gz", log(4000))
	s.read("recompressed", "", 4001, map[string]int{"a": 4000})
	s.drop("a.gz")
	s.pack("a.gz", log(5000))
	s.read("grown and recompressed", "", 0, map[string]int{"a": 5000})
	s.drop("a.gz")
	s.put("old.csv", log(3))
	s.put("older.csv", log(50))
	s.put("oldest.csv", log(4000))
	s.read("older copies", "", 4+51+4001, map[string]int{"a": 5000})
	s.put("b.csv", csvHeader+csvRows("a", 0, 3)+csvRows("b", 0, 3))
	s.read("another that begins like the first copy", "", 4+51+4001, map[string]int{"a": 5003, "b": 3})
}

func TestGrownBig(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector")
	}
	s := newShelf(t)
	s.chunk = 100_000
	log := func(n int) string { return csvHeader + csvRows("a", 0, n) }
	s.put("a.csv", log(20_000))
	s.read("first", "", 0, map[string]int{"a": 20_000})
	s.put("a.csv", log(30_000))
	out := s.read("grown", "", 0, map[string]int{"a": 30_000})
	if len(out.IDs) != 1 || out.Parts < 10 {
		t.Errorf("%d inputs, %d parts", len(out.IDs), out.Parts)
	}
	s.put("a.csv", log(25_000))
	s.read("an older copy", "", 25_001, map[string]int{"a": 30_000})
	s.read("from a pipe", log(30_000), 30_001, map[string]int{"a": 30_000})
	s.read("grown, from a pipe", log(31_000), 0, map[string]int{"a": 31_000})
	s.read("an older copy from a pipe", log(30_000), 30_001, map[string]int{"a": 31_000})
}

func TestHeaderOnly(t *testing.T) {
	s := newShelf(t)
	s.put("a.csv", csvHeader)
	s.put("b.csv", csvHeader)
	s.read("headers", "", 1, map[string]int{})
	s.put("a.csv", csvHeader+csvRows("a", 0, 5))
	s.read("one has rows", "", 1, map[string]int{"a": 5})
	s.put("b.csv", csvHeader+csvRows("b", 0, 7))
	s.read("both have rows", "", 6, map[string]int{"a": 5, "b": 7})
	s.put("a.csv", csvHeader+csvRows("a", 0, 9))
	s.put("b.csv", csvHeader+csvRows("b", 0, 8))
	s.read("both have grown", "", 0, map[string]int{"a": 9, "b": 8})
}

func TestCopiesInOneRun(t *testing.T) {
	s := newShelf(t)
	long := csvHeader + csvRows("a", 0, 3000)
	s.put("1-old.csv", csvHeader+csvRows("a", 0, 5))
	s.put("2-older.csv", csvHeader+csvRows("a", 0, 2000))
	s.put("3-now.csv", long)
	s.pack("4-now.gz", long)
	s.put("5-header.csv", csvHeader)
	s.put("6-other.csv", csvHeader+csvRows("b", 0, 5))
	s.put("7-begins-like-1.csv", csvHeader+csvRows("a", 0, 5)+csvRows("c", 0, 5))
	want := map[string]int{"a": 3005, "b": 5, "c": 5}
	s.read("all at once", "", 6+2001+3001+1, want)
	s.read("all again", "", 6+2001+3001+1+3001+6+11, want)
	s.put("6-other.csv", csvHeader+csvRows("b", 0, 6))
	s.read("one has grown", "", 6+2001+3001+1+3001+11, map[string]int{"a": 3005, "b": 6, "c": 5})
}

// TestNamedPipe reads a pipe that stands among the sources: it can be opened
// but once.
func TestNamedPipe(t *testing.T) {
	s := newShelf(t)
	path := filepath.Join(s.logs, "pipe")
	if err := makePipe(path); err != nil {
		t.Skipf("no named pipe can be made: %v", err)
	}
	for _, n := range []int{5, 40_000} { // less, and more, than is kept of it
		text := csvHeader + csvRows("a", 0, n)
		go func() {
			if f, err := os.OpenFile(path, os.O_WRONLY, 0); err == nil {
				io.WriteString(f, text)
				f.Close()
			}
		}()
		if _, err := s.job().Ingest(context.Background(), []string{path}, nil); err != nil {
			t.Fatal(err)
		}
		s.holds(fmt.Sprint(n, " rows"), map[string]int{"a": n})
	}
}
