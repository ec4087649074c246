package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/iopathy/iopathy/ingest/lake"
)

// The drills are what years of nights meet: each is done to a night, and what it
// and the next night leave is held against nights that nobody disturbed. Sizes are
// small here; .ci/soak gives the large ones.

// soak is a size that .ci/soak may raise.
func soak(t testing.TB, variable string, small int64) int64 {
	t.Helper()
	s := os.Getenv(variable)
	if s == "" {
		return small
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// headed is eventFile with a first line of its own: logs that begin alike are one.
func headed(t testing.TB, path, first string, seed uint64, devices int, size int64) {
	t.Helper()
	eventFile(t, path, seed, devices, size)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, fmt.Appendf(nil, "# %s\n%s", first, b), 0o666); err != nil {
		t.Fatal(err)
	}
}

// says runs iopathy to its end, wants an exit code, and gives what it said.
func says(t *testing.T, want int, args ...string) string {
	t.Helper()
	said, err := iopathy(t, args...).CombinedOutput()
	code := 0
	if exit, ok := err.(*exec.ExitError); ok {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	if code != want {
		t.Fatalf("iopathy %v: exit code %d, want %d\n%s", args, code, want, said)
	}
	return string(said)
}

// holdings is what nights leave that must not depend on how they went: the
// hashes of the tables' files, of models, registry and labels. The tables' files
// are those that count: what else lies there verify tells. Pages say also what
// their own night read.
func holdings(t testing.TB, out string) map[string]string {
	t.Helper()
	held := map[string]string{}
	err := filepath.WalkDir(out, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(out, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		of := strings.HasSuffix(rel, ".parquet") || strings.HasPrefix(rel, "lake/models/") || rel == "lake/registry.json" || strings.HasSuffix(rel, "/labels.csv") || strings.HasSuffix(rel, "/night.json")
		switch {
		case of:
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			held[rel] = fmt.Sprintf("%x", sha256.Sum256(b))
		case strings.HasSuffix(rel, ".tmp"):
			held[rel] = "left by a crash"
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return held
}

// stage sets a lake of an old and a finished day, and the logs of a night that
// has all to do: a new day, a late log and a grown one of the day before, a model
// to fit anew, events past their time, parts to merge.
func stage(t *testing.T, size int64) (logs, base string) {
	t.Helper()
	dir := t.TempDir()
	logs, base = filepath.Join(dir, "logs"), filepath.Join(dir, "base")
	if err := os.Mkdir(logs, 0o777); err != nil {
		t.Fatal(err)
	}
	const before = 1 + 24*19
	log := func(name string, seed uint64, size int64) {
		headed(t, filepath.Join(logs, name), name, seed, 3, size)
	}
	log("old.csv", 1, size)
	log("a.csv", before, size)
	log("b.csv", before, size/2)
	must(t, "nightly", logs, "--out", base, "--quiet")
	log("a.csv", before, size*3/2)
	log("late.csv", before, size/3)
	log("new.csv", before+24, size)
	return logs, base
}

// TestDrillKill ends a night by SIGKILL at random moments: the next night
// completes it, and leaves what an undisturbed one does.
func TestDrillKill(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	kills := int(soak(t, "IOPATHY_SOAK_KILLS", 3))
	size := int64(150_000)
	if kills > 3 {
		size = 2_000_000
	}
	t.Setenv("IOPATHY_INGEST_CHUNK_BYTES", strconv.FormatInt(size/4, 10))
	logs, base := stage(t, size)
	dir := t.TempDir()
	night := func(out string) []string { return []string{"nightly", logs, "--out", out, "--quiet"} }
	want := filepath.Join(dir, "want")
	copyTree(t, base, want)
	start := time.Now()
	must(t, night(want)...)
	took := time.Since(start)
	undisturbed := holdings(t, want)
	must(t, "verify", filepath.Join(want, "lake"), "--quiet")
	rng := rand.New(rand.NewPCG(51, 52))
	amid := 0
	for i := range kills {
		out := filepath.Join(dir, "out")
		copyTree(t, base, out)
		cmd := iopathy(t, night(out)...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		after := time.Duration((float64(i) + rng.Float64()) / float64(kills) * float64(took))
		time.Sleep(after)
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()         // it was killed
		left := cmp.Diff(undisturbed, holdings(t, out)) != ""
		if left {
			amid++
		}
		must(t, night(out)...)
		if said, err := iopathy(t, "verify", filepath.Join(out, "lake")).CombinedOutput(); err != nil {
			t.Errorf("kill %d after %v of %v: %s", i, after, took, said)
		}
		if d := cmp.Diff(undisturbed, holdings(t, out)); d != "" {
			t.Errorf("kill %d after %v of %v: the next night leaves something else (-undisturbed +killed):\n%.3000s", i, after, took, d)
		}
		idle := stamps(t, out)
		must(t, night(out)...)
		if d := cmp.Diff(idle, stamps(t, out)); d != "" {
			t.Errorf("kill %d after %v: a night with nothing new changed files:\n%.2000s", i, after, d)
		}
		t.Logf("killed after %4d of %d ms: amid the work: %t", after.Milliseconds(), took.Milliseconds(), left)
		if err := os.RemoveAll(out); err != nil {
			t.Fatal(err)
		}
	}
	if amid == 0 {
		t.Error("no kill came amid the work")
	}
}

// TestDrillDevices is a night of one host with 500 devices, within the bound of
// memory.
func TestDrillDevices(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	size := soak(t, "IOPATHY_SOAK_HOST_BYTES", 4_000_000)
	dir := t.TempDir()
	path, out := filepath.Join(dir, "events.csv"), filepath.Join(dir, "out")
	eventFile(t, path, 1, 500, size)
	got, took := peak(t, "nightly", path, "--out", out, "--quiet")
	t.Logf("a night of %d MB of text of one host with 500 devices: %.1f s, peak memory %d MiB", size/1e6, took.Seconds(), got>>20)
	if got > memoryBound {
		t.Errorf("peak memory %d MiB is over %d MiB", got>>20, memoryBound>>20)
	}
	names := map[string]bool{}
	b, err := os.ReadFile(filepath.Join(out, "nights", "2023-11-14", "labels.csv"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if cells := strings.Split(line, ","); len(cells) > 2 && strings.HasPrefix(cells[1], "sd") {
			names[cells[1]] = true
		}
	}
	if len(names) != 500 {
		t.Errorf("labels of %d devices, want 500", len(names))
	}
}

// madeUp is a log that is never stored: so many bytes of events of 40 devices,
// 4,000 a second.
type madeUp struct {
	left int64
	now  int64
	rng  *rand.Rand
	rest []byte
	rows int64
}

func (m *madeUp) Read(p []byte) (int, error) {
	for len(m.rest) < 1<<20 && m.left > 0 {
		was := len(m.rest)
		if m.now == 0 {
			m.now = 1_700_000_000_000_000_000
			m.rest = append(m.rest, "time_ns,host,device,op,offset_bytes,size_bytes,latency_ns\n"...)
		}
		for range 1000 {
			r := m.rng.Uint64()
			m.now += 100_000 + int64(r&0xffff)*4
			m.rest = strconv.AppendInt(m.rest, m.now, 10)
			m.rest = append(m.rest, ",h,sd"...)
			m.rest = strconv.AppendUint(m.rest, r>>16%40, 10)
			m.rest = append(m.rest, ',', "RW"[r>>24&1], ',')
			m.rest = strconv.AppendUint(m.rest, r>>25&0xffff*4096, 10)
			m.rest = append(m.rest, ",4096,"...)
			m.rest = strconv.AppendUint(m.rest, 100_000+r>>44, 10)
			m.rest = append(m.rest, '\n')
			m.rows++
		}
		m.left -= int64(len(m.rest) - was)
	}
	if len(m.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, m.rest)
	m.rest = append(m.rest[:0], m.rest[n:]...)
	return n, nil
}

// TestDrillStream is a night of an input that is larger than its disk may be,
// from a pipe: every row of it, within the bound of memory.
func TestDrillStream(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	size := soak(t, "IOPATHY_SOAK_STREAM_BYTES", 10_000_000)
	dir := t.TempDir()
	log := &madeUp{left: size, rng: rand.New(rand.NewPCG(61, 62))}
	out := filepath.Join(dir, "out")
	cmd := iopathy(t, "nightly", "-", "--out", out, "--window", "60s", "--tick", "500ms", "--quiet")
	var words bytes.Buffer
	cmd.Stdin, cmd.Stderr = log, &words
	start := time.Now()
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, words.String())
	}
	rss := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss * 1024
	used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	manifests, err := lake.Manifests(filepath.Join(out, "lake"))
	if err != nil {
		t.Fatal(err)
	}
	rows, bytes := int64(0), int64(0)
	for _, p := range lake.Parts(manifests, lake.Events) {
		rows, bytes = rows+p.Rows, bytes+p.Bytes
	}
	t.Logf("%d MB of text on the fly, %d rows: %.0f s, %.0f CPU seconds, peak memory %d MiB, events of %d MB in the lake", size/1e6, log.rows, time.Since(start).Seconds(), used.Seconds(), rss>>20, bytes/1e6)
	if rows != log.rows {
		t.Errorf("the lake has %d rows, of %d", rows, log.rows)
	}
	if rss > memoryBound {
		t.Errorf("peak memory %d MiB is over %d MiB", rss>>20, memoryBound>>20)
	}
}

// TestDrillFold folds the manifests every few runs: what nights leave, and what they
// read, is that of nights that fold nothing.
func TestDrillFold(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector, which has others of its kind")
	}
	dir := t.TempDir()
	logs, folds, plain := filepath.Join(dir, "logs"), filepath.Join(dir, "folds"), filepath.Join(dir, "plain")
	if err := os.Mkdir(logs, 0o777); err != nil {
		t.Fatal(err)
	}
	for day, grown := range []string{"", "1.csv", "", "2.csv", ""} {
		name := fmt.Sprintf("%d.csv", day)
		headed(t, filepath.Join(logs, name), name, 1+24*uint64(day)*5, 2, 100_000)
		if grown != "" {
			n := uint64(grown[0] - '0')
			headed(t, filepath.Join(logs, grown), grown, 1+24*n*5, 2, 200_000)
		}
		t.Setenv("IOPATHY_RETENTION_RUNS", "4")
		in(t, exitFine, "nightly", logs, "--out", folds, "--quiet")
		t.Setenv("IOPATHY_RETENTION_RUNS", "0")
		in(t, exitFine, "nightly", logs, "--out", plain, "--quiet")
	}
	count := func(out string) int {
		t.Helper()
		all, err := filepath.Glob(filepath.Join(out, "lake", "runs", "*.json"))
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	if few, many := count(folds), count(plain); few > 5 || many < 12 {
		t.Errorf("%d manifests where they are folded, %d where not", few, many)
	}
	if d := cmp.Diff(holdings(t, plain), holdings(t, folds)); d != "" {
		t.Errorf("where manifests are folded nights leave something else:\n%.2000s", d)
	}
	in(t, exitFine, "verify", filepath.Join(folds, "lake"), "--quiet")
	t.Setenv("IOPATHY_RETENTION_RUNS", "4")
	idle := stamps(t, folds)
	in(t, exitFine, "nightly", logs, "--out", folds, "--quiet")
	if d := cmp.Diff(idle, stamps(t, folds)); d != "" {
		t.Errorf("nothing new after a fold, and files changed:\n%s", d)
	}
}
