package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/google/go-cmp/cmp"
)

// engine hands Beam the job server that .ci/engines has started. With a boot program
// the workers are processes that the engine starts, of this test's own binary; else
// they are in this one.
func engine(t *testing.T) {
	t.Helper()
	endpoint := os.Getenv("IOPATHY_BEAM_ENDPOINT")
	if endpoint == "" {
		t.Skip("IOPATHY_BEAM_ENDPOINT is not set: no job server")
	}
	set := func(option *string, value string) {
		before := *option
		*option = value
		t.Cleanup(func() { *option = before })
	}
	set(jobopts.Endpoint, endpoint)
	set(jobopts.EnvironmentType, "loopback")
	if boot := os.Getenv("IOPATHY_BEAM_BOOT"); boot != "" {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		set(jobopts.EnvironmentType, "process")
		set(jobopts.EnvironmentConfig, fmt.Sprintf(`{"command":%q}`, boot))
		set(jobopts.WorkerBinary, self)
	}
	before := *jobopts.Parallelism
	*jobopts.Parallelism = 2
	t.Cleanup(func() { *jobopts.Parallelism = before })
}

// Another engine makes to the byte what one process makes.
func TestEngine(t *testing.T) {
	engine(t)
	logs := fixture(t)
	one := specOf(t.TempDir(), 1, "", 100_000, logs)
	alone(t, one)
	want := sums(t, one.Config.Out)
	for _, shards := range []int{1, 8} {
		counters := same(t, "universal", want, specOf(t.TempDir(), shards, "", 100_000, logs))
		if t.Failed() {
			return
		}
		t.Logf("%s, %d shards: all %d files are the same; %v", *jobopts.EnvironmentType, shards, len(want), counters)
	}
}

// The labelled recordings, or what IOPATHY_BEAM_CORPUS names; with IOPATHY_BEAM_KILL
// that process dies while they are read.
func TestEngineCorpus(t *testing.T) {
	engine(t)
	spec := corpus(t)
	one := spec(1)
	alone(t, one)
	want := sums(t, one.Config.Out)
	if os.Getenv("IOPATHY_BEAM_KILL") != "" {
		survived(t, want, spec(4), steps[0])
		return
	}
	counters := same(t, "universal", want, spec(4))
	if !t.Failed() {
		t.Logf("%s, 4 shards: all %d files are the same; %v", *jobopts.EnvironmentType, len(want), counters)
	}
}

// hotLog is an event CSV of 45 minutes: one device with so many events that its time is
// cut by the settings that everybody has, and four with the rest.
func hotLog(t *testing.T) string {
	t.Helper()
	const events, span = 9_000_000, 45 * time.Minute // one of 32 is of another device: 8.7 million are left
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "hot.csv"))
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	fmt.Fprintln(w, "time_ns,host,device,pid,comm,op,flags,offset_bytes,size_bytes,queue_ns,latency_ns,error")
	r := rand.New(rand.NewPCG(5, 11))
	line := make([]byte, 0, 128)
	for i := range int64(events) {
		line = strconv.AppendInt(line[:0], 1_795_996_800_000_000_000+i*int64(span)/events, 10)
		line = append(line, ",h1,"...)
		if i%32 == 31 {
			line = append(line, "cold"...)
			line = strconv.AppendInt(line, i/32%4, 10)
		} else {
			line = append(line, "hot"...)
		}
		line = append(line, ",7,app,"...)
		line = append(line, "RRW"[i%3])
		line = append(line, ",,"...)
		line = strconv.AppendInt(line, r.Int64N(1<<24)*4096, 10)
		line = append(line, ",4096,1000,"...)
		line = strconv.AppendInt(line, 80_000+r.Int64N(400_000), 10)
		line = append(line, ",0\n"...)
		if _, err := w.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Flush(), f.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A device with nearly all of the events is folded by several, and what comes of it is
// what one process makes.
func TestEngineHot(t *testing.T) {
	engine(t)
	logs := hotLog(t)
	one := specOf(t.TempDir(), 1, "", 64<<20, logs)
	alone(t, one)
	want := sums(t, one.Config.Out)
	counters := same(t, "universal", want, specOf(t.TempDir(), 4, "", 64<<20, logs))
	count := map[string]int64{}
	for _, c := range counters {
		count[c.Name] = c.Value
	}
	if count["slices"] < 2 || count["slices_shares"] < 2 {
		t.Errorf("%d slices of the hot device in %d shares: want two or more", count["slices"], count["slices_shares"])
	}
	if !t.Failed() {
		t.Logf("%s, 4 shards, %d slices of one device in %d of them: all %d files are the same; %v", *jobopts.EnvironmentType, count["slices"], count["slices_shares"], len(want), counters)
	}
}

// step is where a worker dies: when so many of the files that the step leaves are there.
type step struct {
	name, left string
	after      int
}

var steps = []step{
	{"read", "lake/events/*/*/*.parquet", 8},
	{"fold", ".folds/fold-*", 1},
	{"label", ".folds/label-*", 1},
}

// And so it does where a worker of it dies in mid-run.
func TestEngineKilled(t *testing.T) {
	engine(t)
	logs := fixtureOf(t, 2_000_000)
	one := specOf(t.TempDir(), 1, "", 2_000_000, logs)
	alone(t, one)
	want := sums(t, one.Config.Out)
	for _, at := range steps {
		t.Run(at.name, func(t *testing.T) {
			survived(t, want, specOf(t.TempDir(), 8, "", 2_000_000, logs), at)
		})
	}
}

// survived wants the same of an engine whose process IOPATHY_BEAM_KILL is killed.
func survived(t *testing.T, want map[string]string, s Spec, at step) {
	t.Helper()
	pid, err := strconv.Atoi(os.Getenv("IOPATHY_BEAM_KILL"))
	if err != nil || pid <= 1 {
		t.Skip("IOPATHY_BEAM_KILL is no process")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	killed := make(chan error, 1)
	go func() { killed <- killAfter(ctx, pid, filepath.Join(s.Config.Out, at.left), at.after) }()
	counters, err := submit(ctx, "universal", s, time.Hour)
	cancel()
	if err != nil {
		t.Fatal(err)
	}
	if err := <-killed; err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, sums(t, s.Config.Out)); diff != "" {
		t.Fatalf("files differ (-iopathy +engine):\n%s", diff)
	}
	t.Logf("process %d died in %s: all %d files are the same; %v", pid, at.name, len(want), counters)
}

// killAfter kills a process when n files of a pattern are there.
func killAfter(ctx context.Context, pid int, pattern string, n int) error {
	for ctx.Err() == nil {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return err
		}
		if len(found) >= n {
			return syscall.Kill(pid, syscall.SIGKILL)
		}
		time.Sleep(5 * time.Millisecond)
	}
	return fmt.Errorf("the job ended before %d of %s were there", n, pattern)
}
