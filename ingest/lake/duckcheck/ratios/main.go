// Command ratios compares iopathy with DuckDB on one machine, in one run, on
// the same file, in turn, and prints medians. From the root of the repository:
//
//	go build -o /tmp/iopathy ./cmd/iopathy
//	cd ingest/lake/duckcheck && go run ./ratios -iopathy /tmp/iopathy
//
// The verb features also writes ticks and profiles and keeps some 80 facts of
// each window; with --vectors it makes the 12 features alone, as the SQL does.
//
// It makes a trace (trace.go) of -bytes in -dir, which should lie in memory
// (tmpfs), and measures each program as a process of its own: CPU seconds
// (user and system), wall seconds and peak memory, as the kernel tells them.
package main

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// use is what a process took.
type use struct{ cpu, wall, mib float64 }

// contest is two programs that do the same work.
type contest struct {
	name       string
	ours, peer func(out string) *exec.Cmd
	clean      bool   // out is new for each
	fresh      string // a lake that ours changes: a copy of it is made in out, for each
}

func main() {
	if len(os.Args) > 1 && tasks[os.Args[1]] != nil {
		if err := tasks[os.Args[1]](os.Args[2:]); err != nil {
			fail(err)
		}
		return
	}
	program := flag.String("iopathy", "iopathy", "the program")
	dir := flag.String("dir", "/dev/shm/ratios", "directory of the trace and of what is made of it; removed at the end")
	size := flag.Int64("bytes", traceBytes, "size of the trace")
	runs := flag.Int("runs", 5, "runs of each")
	only := flag.String("only", "", "the works whose name holds this; empty: all")
	flag.Parse()
	if err := compare(*program, *dir, *size, *runs, *only); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "ratios:", err)
	os.Exit(1)
}

func compare(program, dir string, size int64, runs int, only string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	trace, lake := filepath.Join(dir, "trace.csv"), filepath.Join(dir, "lake")
	if _, err := run(exec.Command(self, "trace", trace, strconv.FormatInt(size, 10))); err != nil {
		return err
	}
	if _, err := run(exec.Command(program, "ingest", trace, "--lake", lake, "--quiet")); err != nil {
		return err
	}
	events := filepath.Join(lake, "events", "*", "*", "*.parquet")
	same := filepath.Join(dir, "same")
	if err := os.MkdirAll(same, 0o777); err != nil {
		return err
	}
	if _, err := run(exec.Command(self, "rewrite", events, filepath.Join(same, "duck.parquet"))); err != nil {
		return err
	}
	var rows [2]int64
	for i, d := range []string{filepath.Join(lake, "events"), same} {
		if rows[i], err = parquetBytes(d); err != nil {
			return err
		}
	}
	ingest := func(workers string) func(string) *exec.Cmd {
		return func(out string) *exec.Cmd {
			return exec.Command(program, "ingest", trace, "--lake", out, "--quiet", "--workers", workers)
		}
	}
	feature := func(window, tick string) func(string) *exec.Cmd {
		return func(out string) *exec.Cmd {
			return exec.Command(program, "features", "--lake", out, "--quiet", "--workers", "1", "--window", window, "--tick", tick)
		}
	}
	alone := func(window, tick string) func(string) *exec.Cmd {
		return func(out string) *exec.Cmd {
			return exec.Command(program, "features", "--lake", lake, "--vectors", filepath.Join(out, "vectors.csv"), "--quiet", "--workers", "1", "--window", window, "--tick", tick)
		}
	}
	duck := func(args ...string) func(string) *exec.Cmd {
		return func(out string) *exec.Cmd {
			return exec.Command(self, append(slices.Clone(args), filepath.Join(out, "duck.parquet"))...)
		}
	}
	fmt.Printf("%s, %d cores, %s; load %s; trace of %d bytes, %d runs of each in turn, medians\n\n",
		runtime.GOOS+"/"+runtime.GOARCH, runtime.NumCPU(), duckVersion(), load(), size, runs)
	fmt.Printf("The lake's events take %d bytes; the same rows as DuckDB writes them, in one file, zstd: %d\n\n", rows[0], rows[1])
	fmt.Println("| work | program | CPU s | wall s | peak MiB | bytes out | CPU of the peer over ours |")
	fmt.Println("|---|---|---|---|---|---|---|")
	minute, seconds := duck("features", events, "60", "1"), duck("features", events, "10", "0.1")
	all := []contest{
		{"MSR CSV to ordered Parquet, 1 thread", ingest("1"), duck("copy", trace, "1"), true, ""},
		{"the same, 2 threads", ingest("2"), duck("copy", trace, "2"), true, ""},
		{"Parquet to windows of 60 s, ticks of 1 s", feature("60s", "1s"), minute, false, lake},
		{"Parquet to windows of 10 s, ticks of 0.1 s", feature("10s", "100ms"), seconds, false, lake},
		{"Parquet to the 12 features alone, 60 s, 1 s", alone("60s", "1s"), minute, false, ""},
		{"Parquet to the 12 features alone, 10 s, 0.1 s", alone("10s", "100ms"), seconds, false, ""},
	}
	for _, c := range all {
		if !strings.Contains(c.name, only) {
			continue
		}
		if err := c.hold(filepath.Join(dir, "out"), runs); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	fmt.Printf("\nload at the end %s\n", load())
	return nil
}

// hold runs both programs in turn and prints the medians.
func (c contest) hold(out string, runs int) error {
	var uses [2][]use
	var bytes [2]int64
	for range runs {
		for i, command := range []func(string) *exec.Cmd{c.ours, c.peer} {
			if err := os.RemoveAll(out); err != nil {
				return err
			}
			if err := os.MkdirAll(out, 0o777); err != nil {
				return err
			}
			if c.fresh != "" && i == 0 {
				if err := os.CopyFS(out, os.DirFS(c.fresh)); err != nil {
					return err
				}
			}
			u, err := run(command(out))
			if err != nil {
				return err
			}
			uses[i] = append(uses[i], u)
			if c.clean {
				if bytes[i], err = parquetBytes(out); err != nil {
					return err
				}
			}
		}
	}
	ours, peer := median(uses[0]), median(uses[1])
	fmt.Printf("| %s | iopathy | %.2f | %.2f | %.0f | %d | %.2f |\n", c.name, ours.cpu, ours.wall, ours.mib, bytes[0], peer.cpu/ours.cpu)
	fmt.Printf("| | DuckDB | %.2f | %.2f | %.0f | %d | |\n", peer.cpu, peer.wall, peer.mib, bytes[1])
	return nil
}

// run runs a process to its end. Its peak memory is at least that of this
// one, which is small.
func run(cmd *exec.Cmd) (use, error) {
	cmd.Stderr = os.Stderr
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return use{}, fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
	}
	r := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	cpu := float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9
	return use{cpu, time.Since(start).Seconds(), float64(r.Maxrss) / 1024}, nil
}

// median takes that of each figure.
func median(uses []use) use {
	of := func(get func(use) float64) float64 {
		var v []float64
		for _, u := range uses {
			v = append(v, get(u))
		}
		slices.Sort(v)
		return v[len(v)/2]
	}
	return use{of(func(u use) float64 { return u.cpu }), of(func(u use) float64 { return u.wall }), of(func(u use) float64 { return u.mib })}
}

func parquetBytes(dir string) (n int64, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".parquet") {
			info, err := d.Info()
			if err != nil {
				return err
			}
			n += info.Size()
		}
		return err
	})
	return n, err
}

// load is the load average of the last minute, five and fifteen.
func load() string {
	b, err := os.ReadFile("/proc/loadavg")
	if f := strings.Fields(string(b)); err == nil && len(f) >= 3 {
		return strings.Join(f[:3], " ")
	}
	return "unknown"
}
