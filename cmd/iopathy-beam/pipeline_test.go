package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	"github.com/google/go-cmp/cmp"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cmd/internal/local"
	"github.com/iopathy/iopathy/configs"
	"github.com/iopathy/iopathy/reduce"
)

// asServer lets the test binary be a Prism server on the port that it holds.
const asServer = "IOPATHY_PRISM_PORT"

func TestMain(m *testing.M) {
	if port := os.Getenv(asServer); port != "" {
		n, err := strconv.Atoi(port)
		if err == nil {
			_, err = prism.CreateJobServer(context.Background(), prism.Options{Port: n})
		}
		fmt.Println("serving", err)
		_, _ = bufio.NewReader(os.Stdin).ReadByte() // until who started it ends
		os.Exit(0)
	}
	flag.Parse()
	beam.Init()
	os.Exit(m.Run())
}

// fixture is logs of several kinds: one device with most of the events, bad lines, a
// format with memory, a copy.
func fixture(t *testing.T) string {
	t.Helper()
	return fixtureOf(t, 20_000)
}

func fixtureOf(t *testing.T, events int) string {
	t.Helper()
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(31, 7))
	var hot, blk strings.Builder
	hot.WriteString("time_ns,host,device,pid,comm,op,flags,offset_bytes,size_bytes,queue_ns,latency_ns,error\n")
	for i := range events {
		device := "hot"
		if i%50 == 3 {
			device = "cold"
		}
		fmt.Fprintf(&hot, "%d,h1,%s,7,app%d,%c,,%d,%d,1000,%d,0\n", 1_795_996_800_000_000_000+int64(i)*15_000_000, device, i%3, "RRW"[i%3], r.Int64N(1<<16)*4096, 4096<<r.IntN(5), 200_000+r.Int64N(20_000_000))
		if i%1500 == 7 {
			hot.WriteString("no line of ours\n")
		}
	}
	for i := range 3000 {
		at := i / 2
		fmt.Fprintf(&blk, "  8,0    1 %8d %5d.%09d %5d  %c   R %d + 8 [%s]\n", i+1, at/100, at%100*10_000_000+i%2*900_000, 100, "DC"[i%2], at*8, []string{"app", "0"}[i%2])
	}
	for name, text := range map[string]string{"host=h1/hot.csv": hot.String(), "host=h1/copy.csv": hot.String(), "host=h2/blk.txt": blk.String(), "host=h3/empty": ""} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// specOf is a job on sources.
func specOf(out string, shards int, inventory string, chunk int64, sources ...string) Spec {
	c := configs.Default()
	c.Out, c.Inventory = out, inventory
	c.Ingest.ChunkBytes = chunk
	return Spec{Config: c, Sources: sources, RunID: "run", Version: "test", Shards: shards}
}

// alone does the job of a spec as `iopathy run` does.
func alone(t *testing.T, s Spec) {
	t.Helper()
	ctx := context.Background()
	job := s.job()
	in, err := job.Ingest(ctx, s.Sources, nil)
	if err != nil {
		t.Fatal(err)
	}
	windows, ticks, err := job.Features(ctx, in.IDs)
	if err != nil {
		t.Fatal(err)
	}
	in.Ticks = ticks
	if _, err := report(ctx, s, job, in, func(inv reduce.Inventory, rules *cluster.Rules) (*local.Diagnosed, error) {
		return job.Diagnose(windows, inv, rules, s.Refit)
	}); err != nil {
		t.Fatal(err)
	}
}

// sums are those of all files below a directory but locks.
func sums(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == ".lock" {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		all[rel] = fmt.Sprintf("%x", sha256.Sum256(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// same wants that an engine makes to the byte what one process makes.
func same(t *testing.T, runner string, want map[string]string, s Spec) []counter {
	t.Helper()
	counters, err := submit(context.Background(), runner, s, time.Hour) // of an engine on a busy machine, too
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, sums(t, s.Config.Out)); diff != "" {
		t.Errorf("%s, %d shards: files differ (-iopathy +engine):\n%s", runner, s.Shards, diff)
	}
	return counters
}

func TestPrism(t *testing.T) {
	logs := fixture(t)
	one := specOf(t.TempDir(), 1, "", 100_000, logs)
	alone(t, one)
	want := sums(t, one.Config.Out)
	if want["report.json"] == "" || want["lake/runs/run.json"] == "" || want["lake/models/model.json"] == "" {
		t.Fatalf("one process leaves %v", want)
	}
	for _, shards := range []int{1, 8} {
		s := specOf(t.TempDir(), shards, "", 100_000, logs)
		got := map[string]int64{}
		for _, c := range same(t, "prism", want, s) {
			got[c.Name] = c.Value
		}
		// 20,000 events and their header, 14 bad lines, the same of the copy; 1,500 I/Os of two lines.
		if got["events"] != 21_500 || got["lines"] != 2*20_015+3000 || shards == 8 && got["pieces"] < 6 || got["windows"] == 0 {
			t.Errorf("%d shards: the counters are %v", shards, got)
		}
		if shards == 8 { // a second try takes the place of the first, and of what a worker that died was writing
			if err := os.WriteFile(filepath.Join(s.Config.Out, "lake", "events", ".part-0.parquet.1.tmp"), nil, 0o666); err != nil {
				t.Fatal(err)
			}
			same(t, "prism", want, s)
		}
	}
}

// served starts a Prism server of its own and gives its endpoint to Beam.
func served(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", asServer, port))
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		_ = cmd.Wait() // it was told to end
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil || line != "serving <nil>\n" {
		t.Fatalf("server: %q, %v", line, err)
	}
	endpoint, environment := *jobopts.Endpoint, *jobopts.EnvironmentType
	*jobopts.Endpoint, *jobopts.EnvironmentType = fmt.Sprintf("localhost:%d", port), "loopback"
	t.Cleanup(func() { *jobopts.Endpoint, *jobopts.EnvironmentType = endpoint, environment })
}

func TestPrismServer(t *testing.T) {
	if testing.Short() {
		t.Skip("short: a server of its own")
	}
	logs := fixture(t)
	one := specOf(t.TempDir(), 1, "", 100_000, logs)
	alone(t, one)
	served(t)
	same(t, "universal", sums(t, one.Config.Out), specOf(t.TempDir(), 3, "", 100_000, logs))
}

// corpus gives the job, by shards, over the labelled recordings where IOPATHY_BEAM_CORPUS
// is 1 and they are there, else over what is in the folder that it names.
func corpus(t *testing.T) func(shards int) Spec {
	t.Helper()
	dir := os.Getenv("IOPATHY_BEAM_CORPUS")
	switch dir {
	case "":
		t.Skip("IOPATHY_BEAM_CORPUS is not set")
	case "1":
		dir = "../../../shared/corpus"
	}
	dir, err := filepath.Abs(dir) // workers may be elsewhere
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "runs")); err != nil {
		t.Skipf("no labelled recordings: %v", err)
	}
	return func(shards int) Spec {
		t.Helper()
		return specOf(t.TempDir(), shards, filepath.Join(dir, "inventory.csv"), 64<<20, filepath.Join(dir, "runs"))
	}
}

// The labelled recordings in Prism, which takes minutes.
func TestCorpus(t *testing.T) {
	spec := corpus(t)
	one := spec(1)
	alone(t, one)
	want := sums(t, one.Config.Out)
	for _, shards := range []int{1, 2, 8} {
		same(t, "prism", want, spec(shards))
	}
	served(t)
	for _, shards := range []int{1, 2, 8} {
		same(t, "universal", want, spec(shards))
	}
}

// An engine that doesn't answer is left at the deadline, and what can't be done is said.
func TestSubmit(t *testing.T) {
	beam.RegisterRunner("silent", func(ctx context.Context, _ *beam.Pipeline) (beam.PipelineResult, error) {
		select {} // nor does it heed the context
	})
	out := filepath.Join(t.TempDir(), "out")
	s := specOf(out, 2, "", 0, fixture(t))
	if _, err := submit(context.Background(), "silent", s, 50*time.Millisecond); err == nil || !strings.Contains(err.Error(), "has not finished") {
		t.Errorf("an engine that is silent: %v", err)
	}
	if _, err := submit(context.Background(), "prism", specOf(out, 2, "", 0, filepath.Join(out, "nothing")), time.Minute); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("sources that don't exist: %v", err)
	}
	check := func(want string, args ...string) {
		t.Helper()
		var words bytes.Buffer
		if code := run(context.Background(), "", args, &words, &words); code != 2 || !strings.Contains(words.String(), want) {
			t.Errorf("%v: exit code %d, %q, want %q", args, code, words.String(), want)
		}
	}
	check("the verb is run")
	check("say what to read", "run", "--out", out)
	check("say where the report goes", "run", "logs")
	check("want 1 or more", "run", "logs", "--out", out, "--shards", "0")
	check("unknown flag", "run", "logs", "--out", out, "--no-such")
	held := specOf(t.TempDir(), 1, "", 0, fixture(t))
	if _, err := held.job().Ingest(context.Background(), held.Sources, nil); err != nil {
		t.Fatal(err)
	}
	check("holds runs already", "run", held.Sources[0], "--out", held.Config.Out)
}

// A spec comes back as it was, whatever its settings.
func TestSpec(t *testing.T) {
	s := specOf("out", 3, "inv.csv", 5, "a", "b")
	s.Config.Ingest.ClockOffset = []string{"x=1s"}
	text, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := decodeSpec(text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s, back); diff != "" {
		t.Error(diff)
	}
}

// iopathy itself is built without Beam.
func TestNobodyElsePays(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", "./cmd/iopathy")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(out, []byte("github.com/iopathy/iopathy/cmd/internal/local\n")) {
		t.Errorf("go list says %.200s", out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "apache/beam") {
			t.Errorf("iopathy is built with %s", line)
		}
	}
}
