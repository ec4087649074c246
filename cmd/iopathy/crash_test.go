package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// eventFile writes a CSV of events of some devices, about size bytes long. The
// same seed gives the same rows: a longer file begins with a shorter one.
func eventFile(t testing.TB, path string, seed uint64, devices int, size int64) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	b := []byte("time_ns,host,device,pid,comm,op,flags,offset_bytes,size_bytes,queue_ns,latency_ns,error\n")
	now := int64(1_700_000_000_000_000_000) + int64(seed)*int64(time.Hour)
	for written := int64(0); written+int64(len(b)) < size; {
		now += 20_000 + rng.Int64N(60_000)
		b = fmt.Appendf(b, "%d,h%d,sd%05d,1,app,%c,,%d,%d,1000,%d,0\n", now, seed, rng.IntN(devices), "RW"[rng.IntN(2)],
			rng.Int64N(1<<28)*4096, 4096<<rng.IntN(4), 100_000+rng.Int64N(3_000_000))
		if len(b) > 1<<20 {
			n, err := f.Write(b)
			if err != nil {
				t.Fatal(err)
			}
			written += int64(n)
			b = b[:0]
		}
	}
	if _, err := f.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// lakeState is what a lake holds: the hash of each Parquet file by its path,
// and the manifests in their sequence, less the run ids.
type lakeState struct {
	Parts     map[string]string
	Manifests []map[string]any
	Others    []string
}

func stateOf(t testing.TB, dir string) lakeState {
	t.Helper()
	s, err := readState(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func readState(dir string) (lakeState, error) {
	s := lakeState{Parts: map[string]string{}}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		switch {
		case strings.HasSuffix(rel, ".parquet"), strings.HasPrefix(rel, "checkpoints"+string(filepath.Separator)) && strings.HasSuffix(rel, ".state"):
			s.Parts[rel] = fmt.Sprintf("%x", sha256.Sum256(data))
		case filepath.Ext(rel) == ".json":
			var m map[string]any
			if err := json.Unmarshal(data, &m); err != nil {
				return err
			}
			delete(m, "run")
			s.Manifests = append(s.Manifests, m)
		default:
			s.Others = append(s.Others, rel)
		}
		return nil
	})
	return s, err
}

func copyTree(t testing.TB, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// must runs iopathy to its end and wants it fine.
func must(t *testing.T, args ...string) {
	t.Helper()
	cmd := iopathy(t, args...)
	var words bytes.Buffer
	cmd.Stderr = &words
	if err := cmd.Run(); err != nil {
		t.Fatalf("iopathy %v: %v\n%s", args, err, words.String())
	}
}

// TestKill ends an ingest by SIGKILL at random moments and runs it again: the
// lake is that of a run that nobody disturbed. One of the inputs has grown
// since an earlier run, so that parts are replaced, too.
func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	kills := 3
	if s := os.Getenv("IOPATHY_SOAK_KILLS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		kills = n
	}
	t.Setenv("IOPATHY_INGEST_CHUNK_BYTES", strconv.Itoa(2<<20)) // many parts
	dir := t.TempDir()
	logs, base, want := filepath.Join(dir, "logs"), filepath.Join(dir, "base"), filepath.Join(dir, "want")
	if err := os.Mkdir(logs, 0o777); err != nil {
		t.Fatal(err)
	}
	grown := filepath.Join(logs, "grown.csv")
	eventFile(t, grown, 0, 5, 7_000_000)
	must(t, "ingest", logs, "--lake", base, "--quiet")
	eventFile(t, grown, 0, 5, 15_000_000)
	for i, size := range []int64{1000, 5_000_000, 20_000_000, 20_000_000} {
		eventFile(t, filepath.Join(logs, fmt.Sprintf("%d.csv", i)), uint64(i)+1, 5, size)
	}
	args := func(lake string) []string {
		return []string{"ingest", logs, "--lake", lake, "--quiet", "--workers", "2"}
	}
	copyTree(t, base, want)
	start := time.Now()
	must(t, args(want)...)
	took := time.Since(start)
	undisturbed := stateOf(t, want)
	if len(undisturbed.Parts) < 20 || len(undisturbed.Manifests) != 2 || len(undisturbed.Others) != 1 {
		t.Fatalf("the undisturbed lake has %d parts, %d manifests and %v", len(undisturbed.Parts), len(undisturbed.Manifests), undisturbed.Others)
	}

	rng := rand.New(rand.NewPCG(41, 42))
	amid := 0
	for i := range kills {
		lake := filepath.Join(dir, "lake")
		copyTree(t, base, lake)
		cmd := iopathy(t, args(lake)...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		after := time.Duration((float64(i) + rng.Float64()) / float64(kills) * float64(took)) // spread over the run
		time.Sleep(after)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		cmd.Wait()
		left := stateOf(t, lake)
		if len(left.Manifests) == 1 && len(left.Parts) > 0 {
			amid++
		}
		must(t, args(lake)...)
		got := stateOf(t, lake)
		if len(left.Manifests) == 2 { // it had finished: the second run found copies only
			got.Manifests = got.Manifests[:2]
		}
		if d := cmp.Diff(undisturbed, got); d != "" {
			t.Errorf("kill %d after %v of %v: the lake differs (-undisturbed +killed):\n%.3000s", i, after, took, d)
		}
		t.Logf("killed after %4d of %d ms: %d parts, %d manifests, others %v", after.Milliseconds(), took.Milliseconds(), len(left.Parts), len(left.Manifests), left.Others)
		if err := os.RemoveAll(lake); err != nil {
			t.Fatal(err)
		}
	}
	if amid == 0 {
		t.Error("no kill came amid the work")
	}
}

// TestManyDevices holds peak memory under the bound where the rows of 10,000
// devices stand between one another.
func TestManyDevices(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	size := int64(22_000_000)
	if s := os.Getenv("IOPATHY_SOAK_DEVICE_BYTES"); s != "" {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		size = n
	}
	dir := t.TempDir()
	path, lake := filepath.Join(dir, "events.csv"), filepath.Join(dir, "lake")
	eventFile(t, path, 1, 10_000, size)
	for _, args := range [][]string{{"ingest", path}, {"features"}} {
		got, took := peak(t, append(args, "--lake", lake, "--workers", "2", "--quiet")...)
		t.Logf("%s of %d MB of text, 10,000 devices: %.1f s, peak memory %d MiB", args[0], size/1e6, took.Seconds(), got>>20)
		if got > memoryBound {
			t.Errorf("%s: peak memory %d MiB is over %d MiB", args[0], got>>20, memoryBound>>20)
		}
	}
}
