package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// in runs the program in this process and gives what it printed.
func in(t testing.TB, want int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, words bytes.Buffer
	if got := run(context.Background(), args, strings.NewReader(""), &out, &words); got != want {
		t.Fatalf("iopathy %v: exit code %d, want %d\n%s", args, got, want, words.String())
	}
	return out.String(), words.String()
}

// tree gives the content of the files below dir by path, less those that tell
// of one execution.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if strings.HasPrefix(filepath.ToSlash(rel), "lake/runs/") {
			return nil
		}
		data, err := os.ReadFile(path)
		files[rel] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func same(t *testing.T, what string, a, b map[string]string) {
	t.Helper()
	for path, data := range a {
		if other, ok := b[path]; !ok {
			t.Errorf("%s: %s is missing", what, path)
		} else if other != data {
			t.Errorf("%s: %s differs", what, path)
		}
	}
	for path := range b {
		if _, ok := a[path]; !ok {
			t.Errorf("%s: %s is new", what, path)
		}
	}
}

// The same inputs give the same labels, lake and report, byte for byte, with
// any number of workers, in any order of the files, with any size of read,
// and wherever the output lies.
func TestSameBytes(t *testing.T) {
	needCorpus(t)
	runs, err := filepath.Glob(corpusDir + "/runs/*.csv.gz")
	if err != nil {
		t.Fatal(err)
	}
	if testing.Short() {
		runs = runs[:12]
	}
	base := t.TempDir()
	do := func(name string, sources []string, flags ...string) map[string]string {
		out := filepath.Join(base, name)
		args := append([]string{"run", "--inventory", corpusDir + "/inventory.csv", "--out", out, "--quiet"}, flags...)
		in(t, exitFine, append(args, sources...)...)
		return tree(t, out)
	}
	first := do("one", runs, "--workers", "1")
	if len(first) < 10 || len(first["labels.csv"]) < 1000 {
		t.Fatalf("only %d files", len(first))
	}
	backwards := make([]string, len(runs))
	for i, r := range runs {
		backwards[len(runs)-1-i] = r
	}
	same(t, "8 workers, files backwards, reads of 7919 bytes", first, do("two", backwards, "--workers", "8", "--ingest-read-bytes", "7919"))
}

// The stages one by one give what the main job gives.
func TestStagesAreTheMainJob(t *testing.T) {
	logs, inventory := unpackDemo(t)
	dir := t.TempDir()
	lake := filepath.Join(dir, "stages", "lake")
	at := []string{"--lake", lake, "--inventory", inventory, "--quiet"}
	with := func(args ...string) []string { return append(args, at...) }
	in(t, exitFine, with("ingest", logs, "--host", "demo", "--ingest-start-ns", "1700000000000000000")...)
	in(t, exitFine, with("features")...)
	in(t, exitFine, with("fit")...)
	in(t, exitFine, with("label")...)
	in(t, exitFine, with("report", "--out", filepath.Join(dir, "stages"), "--force")...)
	in(t, exitFine, "run", logs, "--host", "demo", "--ingest-start-ns", "1700000000000000000", "--inventory", inventory, "--out", filepath.Join(dir, "run"), "--quiet")
	stages, whole := tree(t, filepath.Join(dir, "stages")), tree(t, filepath.Join(dir, "run"))
	for _, name := range []string{"labels.csv", "labels.parquet", "lake/models/model.json"} {
		if stages[name] == "" || stages[name] != whole[name] {
			t.Errorf("%s of the stages differs from that of the main job", name)
		}
	}
}

// unpackDemo gives the embedded recording as a user has it on disk.
func unpackDemo(t testing.TB) (logs, inventory string) {
	t.Helper()
	dir := t.TempDir()
	logs = filepath.Join(dir, "logs")
	if err := unpack(logs); err != nil {
		t.Fatal(err)
	}
	return logs, filepath.Join(dir, "inventory.csv")
}

// truthOf reads the label of each device and its fault's span.
func corpusTruth(t *testing.T) map[string][3]string {
	t.Helper()
	f, err := os.Open(corpusDir + "/labels.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	truth := map[string][3]string{}
	for _, r := range rows[1:] {
		truth[r[0]] = [3]string{r[2], r[5], r[6]}
	}
	return truth
}

// The labelled corpus: every grid window with at least 8 requests has a row,
// every device is seen, and few windows are called wrong. The floors are those
// that a release must hold; the scorer beside the corpus gives the figures.
func TestCorpus(t *testing.T) {
	needCorpus(t)
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	out := filepath.Join(t.TempDir(), "out")
	in(t, exitFine, "run", corpusDir+"/runs", "--inventory", corpusDir+"/inventory.csv", "--window", "10s", "--tick", "100ms", "--out", out, "--quiet")
	labels := readLabels(t, filepath.Join(out, "labels.csv"))
	truth := corpusTruth(t)
	right, all, falseAlarms, healthy := 0, 0, 0, 0
	for run, want := range truth {
		needed, host, device := gridWindows(t, run)
		for start, n := range needed {
			row, ok := labels[fmt.Sprintf("%s/%s/%d", host, device, start)]
			if n >= 8 && !ok {
				t.Errorf("%s: window %d with %d requests has no row", run, start, n)
				continue
			}
			label := want[0]
			if want[1] != "" {
				from, to := number(t, want[1]), number(t, want[2])
				overlap := min(start+10e9, to) - max(start, from)
				if overlap <= 0 {
					label = "healthy"
				} else if overlap < 5e9 || want[0] == "sudden-stall" {
					continue
				}
			}
			got := row[1]
			if row[0] != "sick" {
				got = "healthy"
			}
			all++
			if got == label {
				right++
			}
			if label == "healthy" {
				healthy++
				if got != "healthy" {
					falseAlarms++
				}
			}
		}
	}
	t.Logf("%d of %d windows right, %d of %d healthy ones called sick", right, all, falseAlarms, healthy)
	if right*100 < all*85 {
		t.Errorf("only %d of %d windows are labelled right", right, all)
	}
	if falseAlarms*100 > healthy*5 {
		t.Errorf("%d of %d healthy windows are called sick", falseAlarms, healthy)
	}
	said, _ := in(t, exitFine, "evaluate", filepath.Join(out, "labels.csv"), corpusDir, "--min-f1", "0.93")
	t.Log(said[strings.LastIndex(strings.TrimSpace(said), "\n")+1:])
}

func number(t *testing.T, s string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// readLabels gives verdict and pathology by host/device/start.
func readLabels(t *testing.T, path string) map[string][2]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	head, err := r.Read()
	if err != nil {
		t.Fatal(err)
	}
	want := "host,device,window_start_ns,window_end_ns,verdict,pathology,class_id,severity,confidence,root_cause,root_cause_share,coverage,latency_load_residual"
	if got := strings.Join(head, ","); !strings.HasPrefix(got, want) || len(head) != 24 {
		t.Fatalf("header is %s", got)
	}
	rows := map[string][2]string{}
	for {
		row, err := r.Read()
		if err == io.EOF {
			return rows
		}
		if err != nil {
			t.Fatal(err)
		}
		rows[row[0]+"/"+row[1]+"/"+row[2]] = [2]string{row[4], row[5]}
	}
}
