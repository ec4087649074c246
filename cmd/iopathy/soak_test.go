package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// corpusDir is the labelled corpus beside the project, where there is one.
const corpusDir = "../../../shared/corpus"

func needCorpus(t testing.TB) {
	t.Helper()
	if _, err := os.Stat(corpusDir + "/runs"); err != nil {
		t.Skip("the labelled corpus is not beside the project")
	}
}

// repeatCorpus writes the recordings of the corpus again and again, each copy
// an hour later and on devices of its own, until size bytes are out.
func repeatCorpus(w io.Writer, size int64) error {
	paths, err := filepath.Glob(corpusDir + "/runs/*.csv.gz")
	if err != nil {
		return err
	}
	var runs [][]byte
	for _, p := range paths {
		f, err := os.Open(p)
		if err != nil {
			return err
		}
		z, err := gzip.NewReader(f)
		if err != nil {
			return err
		}
		data, err := io.ReadAll(z)
		f.Close()
		if err != nil {
			return err
		}
		runs = append(runs, data)
	}
	out := bufio.NewWriterSize(w, 1<<20)
	written, header := int64(0), false
	var line []byte
	for n := int64(0); written < size; n++ {
		for _, data := range runs {
			head, rows, _ := bytes.Cut(data, []byte("\n"))
			if !header {
				fmt.Fprintf(out, "%s\n", head)
				header = true
			}
			for len(rows) > 0 && written < size {
				var row []byte
				row, rows, _ = bytes.Cut(rows, []byte("\n"))
				stamp, rest, _ := bytes.Cut(row, []byte(","))
				host, rest, _ := bytes.Cut(rest, []byte(","))
				device, rest, ok := bytes.Cut(rest, []byte(","))
				if !ok {
					continue
				}
				t, err := strconv.ParseInt(string(stamp), 10, 64)
				if err != nil {
					return err
				}
				line = strconv.AppendInt(line[:0], t+n*int64(time.Hour), 10)
				line = append(append(append(line, ','), host...), ',')
				line = append(append(line, device...), 'x')
				line = strconv.AppendInt(line, n, 10)
				line = append(append(append(line, ','), rest...), '\n')
				out.Write(line)
				written += int64(len(line))
			}
		}
	}
	return out.Flush()
}

// peak runs iopathy as a process and gives its peak memory and its time.
func peak(t *testing.T, args ...string) (rss int64, took time.Duration) {
	t.Helper()
	cmd := iopathy(t, args...)
	var words bytes.Buffer
	cmd.Stderr = &words
	start := time.Now()
	if err := cmd.Run(); err != nil {
		t.Fatalf("iopathy %v: %v\n%s", args, err, words.String())
	}
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return usage.Maxrss * 1024, time.Since(start)
}

// memoryBound is the most that a run may hold, whatever its input's size.
const memoryBound = 512 << 20

// TestMemory is the small twin of the soak's 5 GB run: peak memory stays under
// the bound on an input many times the size of a chunk.
func TestMemory(t *testing.T) {
	needCorpus(t)
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	size := int64(300 << 20)
	if s := os.Getenv("IOPATHY_SOAK_BYTES"); s != "" {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		size = n
	}
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "events.csv"))
	if err != nil {
		t.Fatal(err)
	}
	if err := repeatCorpus(f, size); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	got, took := peak(t, "run", f.Name(), "--out", filepath.Join(dir, "out"), "--workers", "2", "--quiet")
	t.Logf("%d MB of text in %.1f s, peak memory %d MiB", size/1e6, took.Seconds(), got>>20)
	if got > memoryBound {
		t.Errorf("peak memory %d MiB is over %d MiB", got>>20, memoryBound>>20)
	}
}

// gridWindows counts the requests of a run by grid window of 10 s.
func gridWindows(t *testing.T, run string) (windows map[int64]int, host, device string) {
	t.Helper()
	f, err := os.Open(filepath.Join(corpusDir, "runs", run+".csv.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	windows = map[int64]int{}
	lines := bufio.NewScanner(z)
	for n := 0; lines.Scan(); n++ {
		if n == 0 {
			continue
		}
		f := bytes.SplitN(lines.Bytes(), []byte(","), 4)
		host, device = string(f[1]), string(f[2])
		windows[number(t, string(f[0]))/1e10*1e10]++
	}
	return windows, host, device
}
