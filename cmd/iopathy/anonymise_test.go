package main

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/iopathy/iopathy/ingest/lake"
)

// privateLogs writes logs in which every name has the word "secret".
func privateLogs(t *testing.T, dir string) {
	t.Helper()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	b.WriteString("time_ns,host,device,pid,comm,op,flags,offset_bytes,size_bytes,queue_ns,latency_ns,error,file,cgroup\n")
	at := int64(1_700_000_000_000_000_000)
	for i := range 12_000 {
		at += 3_000_000 + rng.Int64N(4_000_000)
		latency := 200_000 + rng.Int64N(300_000)
		if i/2000%3 == 2 && i%3 == 0 {
			latency *= 100 // something to be sick of
		}
		fmt.Fprintf(&b, "%d,secret-db1,%s,7,%s,%c,,%d,4096,1000,%d,0,/home/secret-user/%d.ibd,/secret.slice\n", at,
			[]string{"sda", "secret-volume"}[i%2], []string{"kworker/0:1", "secret-billing"}[i/2%2], "RW"[rng.IntN(2)], rng.Int64N(1<<20)*4096, latency, i%5)
		if i%3000 == 17 {
			b.WriteString("secret-garbage from secret-db1,x\n")
		}
	}
	write("secret-dir/secret-trace.csv", b.String())
	write("secret-dir/secret-kernel.log", `Nov 14 22:13:21 secret-db1 kernel: [    5.0] Buffer I/O error on dev sda, logical block 4711, async page read
Nov 14 22:13:22 secret-db1 kernel: [    6.0] blk_update_request: I/O error, dev secret-volume, sector 1234 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 0
Nov 14 22:13:23 secret-db1 kernel: [    7.0] INFO: task secret-billing:4242 blocked for more than 120 seconds.
Nov 14 22:13:24 secret-db1 kernel: [    8.0] secret words that are no fact
`)
	write("secret-dir/secret-counters.csv", "time,host,device,name,value\n1700000001,secret-db1,secret-volume,secret-figure,1\n1700000011,secret-db1,secret-volume,secret-figure,5\n")
	write("secret-dir/secret-metrics.prom", "node_disk_io_time_seconds_total{device=\"sda\",instance=\"secret-db1:9100\"} 12 1700000001000\nnode_pressure_io_waiting_seconds_total{instance=\"secret-db1:9100\"} 3 1700000001000\nnode_pressure_io_waiting_seconds_total{instance=\"secret-db1:9100\"} 9 1700000011000\n")
	write("secret-dir/secret-empty.csv", "secret nothing\n")
}

var packedBlock = regexp.MustCompile(`[A-Za-z0-9+/]{40,}={0,2}`)

// reading gives the bytes of a file and all that is packed in it.
func reading(t *testing.T, path string) [][]byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all := [][]byte{raw, []byte(path)}
	if strings.HasSuffix(path, ".parquet") {
		r, err := lake.Open(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for {
			cols, _, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range cols {
				if texts, ok := c.Data.([]string); ok {
					all = append(all, []byte(c.Name+": "+strings.Join(texts, "\n")))
				}
			}
		}
	}
	unpack := func(b []byte) {
		if z, err := zlib.NewReader(bytes.NewReader(b)); err == nil {
			if text, err := io.ReadAll(z); err == nil {
				all = append(all, text)
			}
		}
		if z, err := gzip.NewReader(bytes.NewReader(b)); err == nil {
			if text, err := io.ReadAll(z); err == nil {
				all = append(all, text)
			}
		}
		if z, err := zstd.NewReader(bytes.NewReader(b)); err == nil {
			if text, err := io.ReadAll(z); err == nil {
				all = append(all, text)
			}
			z.Close()
		}
	}
	unpack(raw)
	for _, m := range packedBlock.FindAll(raw, -1) {
		if b, err := base64.StdEncoding.DecodeString(string(m)); err == nil {
			all = append(all, b)
			unpack(b)
		}
	}
	return all
}

// secrets lists the files below dir in which the word stands.
func secrets(t *testing.T, dir string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		for _, b := range reading(t, path) {
			low := bytes.ToLower(b)
			if at := bytes.Index(low, []byte("secret")); at >= 0 {
				found = append(found, fmt.Sprintf("%s: %q", path, low[max(0, at-60):min(len(low), at+60)]))
				break
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// With a key nothing of the names in the logs, of their files and folders, or of
// lines that could not be read is in anything that is written or said.
func TestAnonymise(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector, which has others of its kind")
	}
	dir := t.TempDir()
	logs, out, key := filepath.Join(dir, "logs"), filepath.Join(dir, "out"), filepath.Join(dir, "key")
	privateLogs(t, logs)
	inventory := filepath.Join(dir, "inventory.csv")
	for path, text := range map[string]string{key: "0123456789abcdef-of-the-test\n", inventory: "host,device,model,rotational\nsecret-db1,secret-volume,MODEL-X,1\nsecret-db1,sda,MODEL-X,1\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	verb := func(args ...string) {
		t.Helper()
		args = append(args, "--anonymise", key, "--inventory", inventory, "--max-rejects", "0.5")
		if args[0] == "run" || args[0] == "nightly" {
			args = append(args, "--host", "secret-cli")
		}
		said, words := in(t, exitFine, args...)
		if s := strings.ToLower(said + words); strings.Contains(s, "secret") {
			t.Errorf("%s says:\n%s", args[0], s)
		}
	}
	verb("run", logs, "--out", out, "--figures", filepath.Join(out, "figures"))
	verb("run", logs, "--out", out) // again
	bare := filepath.Join(dir, "bare")
	in(t, exitFine, "run", logs, "--out", bare, "--inventory", inventory, "--host", "secret-cli", "--max-rejects", "0.5", "--quiet")
	verb("report", "--lake", filepath.Join(out, "lake"), "--out", filepath.Join(dir, "report"))
	verb("nightly", logs, "--out", filepath.Join(dir, "nightly"))
	trace := filepath.Join(logs, "secret-dir/secret-trace.csv")
	text, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	if err := os.WriteFile(trace, append(text, bytes.Join(lines[len(lines)-200:], nil)...), 0o666); err != nil {
		t.Fatal(err)
	}
	verb("nightly", logs, "--out", filepath.Join(dir, "nightly")) // a log has grown
	verb("verify", "--lake", filepath.Join(out, "lake"))

	named, _ := in(t, exitFine, "pseudonym", "host", "secret-db1", "--anonymise", key)
	_, host, _ := strings.Cut(strings.TrimSpace(named), "\t")
	named, _ = in(t, exitFine, "pseudonym", "device", "secret-volume", "--anonymise", key)
	_, device, _ := strings.Cut(strings.TrimSpace(named), "\t")
	verb("postmortem", "--lake", filepath.Join(out, "lake"), "--from", "2023-11-14T22:13:20Z", "--to", "2023-11-14T22:14:20Z", "--out", filepath.Join(dir, "incident"))
	verb("explain", host+"/"+device, "2023-11-14T22:13:45Z", "--lake", filepath.Join(out, "lake"))

	for _, d := range []string{out, filepath.Join(dir, "report"), filepath.Join(dir, "nightly"), filepath.Join(dir, "incident")} {
		for _, f := range secrets(t, d) {
			t.Error(f)
		}
	}
	labels, err := os.ReadFile(filepath.Join(out, "labels.csv"))
	if err != nil || !strings.Contains(string(labels), host+","+device+",") || !strings.Contains(string(labels), host+",sda,") {
		t.Errorf("labels.csv names neither %s/%s nor sda: %v", host, device, err)
	}

	// The search finds what a run without a key writes: it can fail.
	found := strings.Join(secrets(t, bare), "\n")
	for _, name := range []string{"report.html", "report.json", "labels.csv", "labels.parquet", "rejects.jsonl", "table=events", "table=evidence", "runs/"} {
		if !strings.Contains(found, name) && !strings.Contains(found, strings.TrimPrefix(name, "table=")) {
			t.Errorf("nothing is found in %s of a run without a key:\n%s", name, found)
		}
	}

	// What is said of the windows is what a run without a key says: names have no say.
	verdicts := func(path string) []string {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var rows []string
		for line := range strings.Lines(string(b)) {
			cells := strings.Split(line, ",")
			rows = append(rows, strings.Join(append(cells[2:6:6], cells[7:]...), ",")) // less host, device, number of the class
		}
		slices.Sort(rows)
		return rows
	}
	if d := cmp.Diff(verdicts(filepath.Join(bare, "labels.csv")), verdicts(filepath.Join(out, "labels.csv"))); d != "" {
		t.Errorf("other labels under pseudonyms:\n%s", d)
	}

	// Names and pseudonyms, or those of two keys, are never mixed.
	other := filepath.Join(dir, "other")
	if err := os.WriteFile(other, []byte("another key of the test"), 0o600); err != nil {
		t.Fatal(err)
	}
	in(t, exitUsage, "ingest", logs, "--lake", filepath.Join(out, "lake"))
	in(t, exitUsage, "ingest", logs, "--lake", filepath.Join(out, "lake"), "--anonymise", other)
	in(t, exitUsage, "ingest", logs, "--lake", filepath.Join(bare, "lake"), "--anonymise", key)
	in(t, exitUsage, "anonymise", filepath.Join(out, "lake"), "--lake", filepath.Join(dir, "twice"), "--anonymise", other)
	in(t, exitUsage, "anonymise", filepath.Join(bare, "lake"), "--lake", filepath.Join(dir, "no"))
	in(t, exitFailed, "anonymise", filepath.Join(bare, "lake"), "--lake", filepath.Join(out, "lake"), "--anonymise", key)
	if err := os.WriteFile(other, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	in(t, exitUsage, "ingest", logs, "--lake", filepath.Join(dir, "new"), "--anonymise", other)
	in(t, exitUsage, "ingest", logs, "--lake", filepath.Join(dir, "new"), "--anonymise", filepath.Join(dir, "absent"))
}

// A lake that holds names is copied under pseudonyms, and shards read under pseudonyms: what they leave
// has none of the names, and is what one reading with the key leaves.
func TestAnonymisedLater(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector, which has others of its kind")
	}
	dir := t.TempDir()
	logs, key := filepath.Join(dir, "logs"), filepath.Join(dir, "key")
	privateLogs(t, logs)
	if err := os.WriteFile(key, []byte("0123456789abcdef-of-the-test\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("IOPATHY_INGEST_CHUNK_BYTES", "300000")
	lakeOf := func(name string) string { return filepath.Join(dir, name, "lake") }
	quiet := func(args ...string) {
		t.Helper()
		said, words := in(t, exitFine, append(args, "--max-rejects", "0.5", "--host", "secret-cli")...)
		if s := strings.ToLower(said + words); strings.Contains(s, "secret") {
			t.Errorf("%s says:\n%s", args[0], s)
		}
	}
	rest := func(name string) {
		t.Helper()
		quiet("features", "--lake", lakeOf(name), "--anonymise", key)
		quiet("fit", "--lake", lakeOf(name), "--anonymise", key)
		quiet("label", "--lake", lakeOf(name), "--anonymise", key)
		quiet("report", "--lake", lakeOf(name), "--anonymise", key, "--out", filepath.Join(dir, name))
	}
	clean := func(name string) {
		t.Helper()
		for _, f := range secrets(t, filepath.Join(dir, name)) {
			t.Errorf("%s: %s", name, f)
		}
	}
	parts := []string{lake.Events, lake.Evidence}
	quiet("ingest", logs, "--lake", lakeOf("one"), "--anonymise", key)
	want := tables(t, filepath.Join(dir, "one"), parts...)
	rest("one")
	labels := tree(t, filepath.Join(dir, "one"))["labels.csv"]

	in(t, exitFine, "ingest", logs, "--lake", lakeOf("bare"), "--max-rejects", "0.5", "--host", "secret-cli")
	quiet("anonymise", lakeOf("bare"), "--lake", lakeOf("copy"), "--anonymise", key)
	if d := cmp.Diff(want, tables(t, filepath.Join(dir, "copy"), parts...)); d != "" {
		t.Errorf("a copy under pseudonyms is not what an ingest with the key makes:\n%.2000s", d)
	}
	in(t, exitFine, "verify", lakeOf("copy"))
	rest("copy")
	clean("copy")
	if got := tree(t, filepath.Join(dir, "copy"))["labels.csv"]; got != labels || labels == "" {
		t.Error("the labels of a copy under pseudonyms are others")
	}

	for _, i := range []string{"0", "1"} {
		quiet("run", logs, "--shard", i+"/2", "--out", filepath.Join(dir, "share"+i), "--anonymise", key)
		clean("share" + i)
	}
	in(t, exitUsage, "merge", filepath.Join(dir, "share0"), filepath.Join(dir, "share1"), "--out", filepath.Join(dir, "no"))
	quiet("merge", filepath.Join(dir, "share0"), filepath.Join(dir, "share1"), "--out", filepath.Join(dir, "merged"), "--anonymise", key)
	clean("merged")
	if d := cmp.Diff(want, tables(t, filepath.Join(dir, "merged"), parts...)); d != "" {
		t.Errorf("shards under pseudonyms are not what an ingest with the key makes:\n%.2000s", d)
	}
}
