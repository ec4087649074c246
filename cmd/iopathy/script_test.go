package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
)

// asMain makes the test binary the program itself: the tests start it as a
// process of its own where they look at exit codes or at peak memory.
const asMain = "IOPATHY_TEST_AS_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asMain) == "1" {
		main()
		return
	}
	testscript.Main(m, map[string]func(){"iopathy": main})
}

// iopathy is the program as a process of its own.
func iopathy(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), asMain+"=1")
	return cmd
}

// commands are what the stories say beside testscript's own words: exit CODE
// PROGRAM..., a file of zeros of some size, and a file of lines.
func commands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		"exit": func(ts *testscript.TestScript, neg bool, args []string) {
			if neg || len(args) < 2 {
				ts.Fatalf("usage: exit CODE iopathy ARG...")
			}
			want, err := strconv.Atoi(args[0])
			ts.Check(err)
			self, err := os.Executable()
			ts.Check(err)
			cmd := exec.Command(self, args[2:]...)
			cmd.Dir = ts.MkAbs(".")
			cmd.Env = append(os.Environ(), asMain+"=1")
			var out, words bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &words
			err = cmd.Run()
			got := 0
			if exit, ok := err.(*exec.ExitError); ok {
				got = exit.ExitCode()
			} else if err != nil {
				ts.Fatalf("%v", err)
			}
			ts.Check(os.WriteFile(ts.MkAbs("stdout.txt"), out.Bytes(), 0o644))
			ts.Check(os.WriteFile(ts.MkAbs("stderr.txt"), words.Bytes(), 0o644))
			if got != want {
				ts.Fatalf("exit code %d, want %d\nstdout: %s\nstderr: %s", got, want, out.String(), words.String())
			}
		},
		"longline": func(ts *testscript.TestScript, neg bool, args []string) {
			// a CSV of events with a NUL in one line and one line of N bytes
			n, err := strconv.Atoi(args[1])
			ts.Check(err)
			var b bytes.Buffer
			b.WriteString("time_ns,host,device,pid,comm,op,flags,offset_bytes,size_bytes,queue_ns,latency_ns,error\n")
			for i := range 2000 {
				fmt.Fprintf(&b, "%d,h1,sda,1,app,R,,%d,4096,1000,200000,0\n", int64(1700000000000000000)+int64(i)*5e6, i*4096)
			}
			b.WriteString("17000\x0000,h1,sda,1,app,R,,0,4096,1000,200000,0\n")
			b.Write(bytes.Repeat([]byte{'7'}, n))
			b.WriteByte('\n')
			ts.Check(os.WriteFile(ts.MkAbs(args[0]), b.Bytes(), 0o644))
		},
		"reads": func(ts *testscript.TestScript, neg bool, args []string) {
			// reads FILE MICROSECONDS: 300 s of reads of one disk with about this latency
			us, err := strconv.Atoi(args[1])
			ts.Check(err)
			var b bytes.Buffer
			b.WriteString("time_ns,host,device,pid,comm,op,flags,offset_bytes,size_bytes,queue_ns,latency_ns,error\n")
			for i := range 6000 {
				latency := us * (800 + i*7919%400) // in ns, within a fifth
				fmt.Fprintf(&b, "%d,h1,sda,1,app,R,,%d,4096,1000,%d,0\n", int64(1700000000000000000)+int64(i)*50e6, i*7919%100000*4096, latency)
			}
			ts.Check(os.WriteFile(ts.MkAbs(args[0]), b.Bytes(), 0o644))
		},
		"fioresult": func(ts *testscript.TestScript, neg bool, args []string) {
			// fioresult FILE MICROSECONDS: fio's JSON of one job of random reads
			us, err := strconv.ParseFloat(args[1], 64)
			ts.Check(err)
			text := fmt.Sprintf(`{"fio version":"fio-3.33","timestamp_ms":1700000000000,"jobs":[{"jobname":"rr","error":0,"usr_cpu":12.5,"sys_cpu":7.5,"job_runtime":10000,
"read":{"io_bytes":%d,"bw_bytes":%d,"iops":%f,"runtime":10000,"total_ios":%d,"clat_ns":{"min":1000,"max":%d,"mean":%f,"stddev":10.0,"N":%d,"percentile":{"50.000000":%d,"99.000000":%d}}}}]}
`, int64(1e10/us)*4096, int64(1e9/us)*4096, 1e6/us, int64(1e7/us), int64(us*9000), us*1000, int64(1e7/us), int64(us*900), int64(us*4000))
			ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o644))
		},
		"pack": func(ts *testscript.TestScript, neg bool, args []string) {
			// pack FROM TO: gzip
			data, err := os.ReadFile(ts.MkAbs(args[0]))
			ts.Check(err)
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			_, err = z.Write(data)
			ts.Check(err)
			ts.Check(z.Close())
			ts.Check(os.WriteFile(ts.MkAbs(args[1]), b.Bytes(), 0o644))
		},
		"cut": func(ts *testscript.TestScript, neg bool, args []string) {
			// cut FROM TO SHARE: the first part of a file
			data, err := os.ReadFile(ts.MkAbs(args[0]))
			ts.Check(err)
			share, err := strconv.ParseFloat(args[2], 64)
			ts.Check(err)
			ts.Check(os.WriteFile(ts.MkAbs(args[1]), data[:int(share*float64(len(data)))], 0o644))
		},
		"flip": func(ts *testscript.TestScript, neg bool, args []string) {
			// flip GLOB SHARE: changes one bit of the byte at this share of a file
			path := only(ts, args[0])
			data, err := os.ReadFile(path)
			ts.Check(err)
			share, err := strconv.ParseFloat(args[1], 64)
			ts.Check(err)
			data[int(share*float64(len(data)))] ^= 16
			ts.Check(os.WriteFile(path, data, 0o644))
		},
		"drop": func(ts *testscript.TestScript, neg bool, args []string) {
			ts.Check(os.Remove(only(ts, args[0])))
		},
		"tree": func(ts *testscript.TestScript, neg bool, args []string) {
			// tree FROM TO: a copy of a directory
			ts.Check(os.CopyFS(ts.MkAbs(args[1]), os.DirFS(ts.MkAbs(args[0]))))
		},
		"sameparts": func(ts *testscript.TestScript, neg bool, args []string) {
			// sameparts A B: the Parquet files of two lakes are equal
			a, b := partsOf(ts, ts.MkAbs(args[0])), partsOf(ts, ts.MkAbs(args[1]))
			if d := cmp.Diff(a, b); d != "" || len(a) == 0 {
				ts.Fatalf("%d parts: %s", len(a), d)
			}
		},
		"bytes": func(ts *testscript.TestScript, neg bool, args []string) {
			// bytes FILE QUOTED: a file of exactly these bytes
			text, err := strconv.Unquote(`"` + strings.Join(args[1:], " ") + `"`)
			ts.Check(err)
			ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o644))
		},
	}
}

// only is the one file that a glob matches.
func only(ts *testscript.TestScript, glob string) string {
	found, err := filepath.Glob(ts.MkAbs(glob))
	ts.Check(err)
	if len(found) != 1 {
		ts.Fatalf("%s matches %d files", glob, len(found))
	}
	return found[0]
}

// partsOf gives the hashes of a lake's Parquet files by path.
func partsOf(ts *testscript.TestScript, dir string) map[string]string {
	s, err := readState(dir)
	ts.Check(err)
	return s.Parts
}

func TestStories(t *testing.T) {
	demo, err := filepath.Abs("demo")
	if err != nil {
		t.Fatal(err)
	}
	p := testscript.Params{Dir: "testdata"}
	if testing.Short() { // the verbs that work side by side, for the race detector
		p = testscript.Params{Files: []string{"testdata/hostile.txt", "testdata/postmortem.txt", "testdata/verify.txt"}}
	}
	p.Cmds = commands()
	p.ContinueOnError = true
	p.Setup = func(env *testscript.Env) error {
		env.Setenv("DEMO", demo)
		return nil
	}
	testscript.Run(t, p)
}
