package lake

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPartition(t *testing.T) {
	check := func(want string, kv ...string) {
		t.Helper()
		got := Partition(kv...)
		if got != want {
			t.Errorf("Partition(%q) = %q, want %q", kv, got, want)
		}
		back, err := Unpartition("events/" + got + "/part-a-00000.parquet")
		if err != nil || !slices.Equal(back, kv) {
			t.Errorf("Unpartition(%q) = %q, %v, want %q", got, back, err, kv)
		}
	}
	check("date=2026-11-29/host=db07.example_1-a", "date", "2026-11-29", "host", "db07.example_1-a")
	check("host=%2E", "host", ".")
	check("host=%2E%2E", "host", "..")
	check("host=...", "host", "...")
	check("host=", "host", "")
	check("host=a%2Fb%5Cc", "host", "a/b\\c")
	check("host=%25%3D%20%0A%00", "host", "%= \n\x00")
	check("host=gr%C3%B6%C3%9Fe", "host", "größe")
	check("host=%FF", "host", "\xff")
	check("host=%5F_HIVE_DEFAULT_PARTITION__", "host", hiveNull)

	rng := rand.New(rand.NewPCG(31, 32))
	for range 2000 { // any bytes come back, and never leave their folder
		b := make([]byte, rng.IntN(12))
		for i := range b {
			b[i] = byte(rng.Uint32())
			if rng.IntN(3) == 0 {
				b[i] = "./%=_-\\:"[rng.IntN(8)]
			}
		}
		p := Partition("host", string(b))
		if strings.Count(p, "=") != 1 || strings.ContainsAny(p, "/\\: \x00") || !filepath.IsLocal(p) {
			t.Fatalf("%q gave the folder %q", b, p)
		}
		if back, err := Unpartition(p); err != nil || back[1] != string(b) {
			t.Fatalf("%q came back as %q, %v", b, back, err)
		}
	}
	for _, bad := range []string{"host=%", "host=%4", "host=%zz", "ho%st=a"} {
		if kv, err := Unpartition(bad); err == nil {
			t.Errorf("%q gave %q", bad, kv)
		}
	}
}

func TestPartName(t *testing.T) {
	check := func(n PartName, want string) {
		t.Helper()
		if got := n.Path(); got != want {
			t.Errorf("path %q, want %q", got, want)
		}
		if back, err := ParsePart(want); err != nil || back != n {
			t.Errorf("ParsePart(%q) = %+v, %v", want, back, err)
		}
	}
	check(PartName{Events, "2026-11-29", "db07", "00ff", 3}, "events/date=2026-11-29/host=db07/part-00ff-00003.parquet")
	check(PartName{Events, "2026-11-29", "../x", "a-b", 123456}, "events/date=2026-11-29/host=..%2Fx/part-a-b-123456.parquet")
	check(PartName{Labels, Date(1_700_000_000_000_000_000), "", "run", 0}, "labels/date=2023-11-14/part-run-00000.parquet")
	for _, bad := range []string{"", "events/part-a-00000.parquet", "events/date=x/host=y/z/part-a-00000.parquet", "events/date=x/part-a-0.parquet"} {
		if n, err := ParsePart(bad); err == nil {
			t.Errorf("%q gave %+v", bad, n)
		}
	}
	if got := Date(-1); got != "1969-12-31" {
		t.Errorf("the day of -1 ns is %s", got)
	}
}

func files(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all = append(all, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestAtomic(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "events", "part.parquet")
	cols := []Column{{Name: "x", Data: []int64{1, 2, 3}}}
	w, err := Create(path, Fields(cols), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(cols); err != nil {
		t.Fatal(err)
	}
	for _, f := range files(t, dir) {
		if base := filepath.Base(f); base[0] != '.' || filepath.Ext(base) == ".parquet" {
			t.Errorf("before Close %s can be seen", f)
		}
	}
	w.Abort()
	w.Abort()
	if left := files(t, dir); len(left) != 0 {
		t.Errorf("Abort left %v", left)
	}
	if err := w.Write(cols); err == nil {
		t.Error("written after Abort")
	}
	if _, err := w.Close(); err == nil {
		t.Error("closed after Abort")
	}

	for i := range 2 { // the second replaces the first
		cols[0].Data = []int64{int64(i)}
		write(t, path, cols)
	}
	r, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got, err := readAll(r)
	if err != nil || got[0].Data.([]int64)[0] != 1 || len(files(t, dir)) != 1 {
		t.Errorf("replaced: %v, %v, %v", got, err, files(t, dir))
	}

	if err := WriteFileAtomic(filepath.Join(dir, "new", "a.json"), []byte("1")); err != nil {
		t.Error(err)
	}
	if err := WriteFileAtomic(filepath.Join(path, "a.json"), nil); err == nil {
		t.Error("a file below a file was written")
	}
	// The name is taken by a directory: the rename fails and leaves nothing.
	if err := WriteFileAtomic(filepath.Join(dir, "new"), nil); err == nil || len(files(t, dir)) != 2 {
		t.Errorf("error %v, files %v", err, files(t, dir))
	}
}

// full is a file system that is full after so many bytes.
type full struct{ left int }

func (f *full) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errors.New("no space left on device")
	}
	return len(p), nil
}

// TestFullDisk shows that arrow's panic on a failed write is an error, at
// every place where the disk may be full.
func TestFullDisk(t *testing.T) {
	cols := mixed(rand.New(rand.NewPCG(41, 42)), 60_000, 10)
	done := false
	for left := 0; !done; left += 600_000 {
		path := filepath.Join(t.TempDir(), "a.parquet")
		w, err := Create(path, Fields(cols), nil)
		if err != nil {
			t.Fatal(err)
		}
		w.sink.to = &full{left}
		err = w.Write(cols)
		if err == nil {
			_, err = w.Close()
		}
		if done = err == nil; !done && !strings.Contains(err.Error(), "no space left") {
			t.Errorf("full after %d bytes: %v", left, err)
		}
		w.Abort()
		if got := files(t, filepath.Dir(path)); !done && len(got) != 0 {
			t.Errorf("full after %d bytes: left %v", left, got)
		}
	}
}

func TestVerifyPart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.parquet")
	p := write(t, path, mixed(rand.New(rand.NewPCG(51, 52)), 60_000, 0))
	if p.Bytes < 3*BlockBytes || len(p.Blocks) != int((p.Bytes+BlockBytes-1)/BlockBytes) {
		t.Fatalf("%d blocks of %d bytes", len(p.Blocks), p.Bytes)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(b[BlockBytes : 2*BlockBytes])
	if p.Blocks[1] != hex.EncodeToString(sum[:]) {
		t.Error("block 1 has another SHA-256")
	}
	check := func(what string, content []byte, want string) {
		t.Helper()
		if err := os.WriteFile(path, content, 0o666); err != nil {
			t.Fatal(err)
		}
		faults, err := VerifyPart("", p)
		if err != nil || (len(faults) == 0) != (want == "") || want != "" && !strings.Contains(faults[0].String(), want) {
			t.Errorf("%s: %v, %v, want %q", what, faults, err, want)
		}
	}
	flip := func(at int) []byte {
		c := slices.Clone(b)
		c[at] ^= 1
		return c
	}
	check("whole", b, "")
	check("first byte", flip(0), "block 0 (bytes 0 to 1048576)")
	check("block 2", flip(2*BlockBytes+5), "block 2 (bytes 2097152 to 3145728)")
	check("last byte", flip(len(b)-1), fmt.Sprintf("to %d) is damaged", p.Bytes))
	check("cut", b[:BlockBytes+1], "block 1 ")
	check("longer", append(slices.Clone(b), 0), "goes on behind its end")
	check("empty", nil, "block 0")
}

func TestLock(t *testing.T) {
	if dir := os.Getenv("LAKE_TEST_LOCK"); dir != "" { // the other process
		_, err := NewLock(dir)
		fmt.Printf("got %v\n", err)
		return
	}
	dir := filepath.Join(t.TempDir(), "lake")
	l, err := NewLock(dir)
	if err != nil {
		t.Fatal(err)
	}
	const taken = "another iopathy writes in"
	if _, err := NewLock(dir); err == nil || !strings.Contains(err.Error(), taken) {
		t.Errorf("a second lock: %v", err)
	}
	other := func() string {
		cmd := exec.Command(os.Args[0], "-test.run=^TestLock$")
		cmd.Env = append(os.Environ(), "LAKE_TEST_LOCK="+dir)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	if got := other(); !strings.Contains(got, taken) {
		t.Errorf("another process %s", got)
	}
	if err := errors.Join(l.Close(), l.Close()); err != nil {
		t.Error(err)
	}
	if got := other(); !strings.Contains(got, "got <nil>") {
		t.Errorf("after Close another process %s", got)
	}
	if err := l.WriteManifest(Manifest{Run: "r"}); err == nil {
		t.Error("a manifest was written without the lock")
	}
}

func TestManifests(t *testing.T) {
	dir := t.TempDir()
	if all, err := Manifests(dir); err != nil || len(all) != 0 {
		t.Errorf("no manifests: %v, %v", all, err)
	}
	l, err := NewLock(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	part := func(path string, rows int64) Part {
		return Part{Path: path, Rows: rows, Bytes: 10, Blocks: []string{"00"}}
	}
	put := func(m Manifest) {
		t.Helper()
		if err := l.WriteManifest(m); err != nil {
			t.Fatal(err)
		}
	}
	put(Manifest{Run: "z", Version: "0.1", Options: []byte(`{"a":1}`), Inputs: []Input{{
		ID: "1", HeadBytes: 5, Path: "a.log", Format: "msr-csv", Bytes: 100, CompressedBytes: 50, Chunks: 2, Tally: []byte(`{"lines":3}`),
		Parts: []Part{part("events/date=d/part-1-00001.parquet", 1), part("events/date=d/part-1-00000.parquet", 1)},
	}}})
	put(Manifest{Run: "../a", Parts: []Part{part("windows/date=d/part-w-00000.parquet", 7)}})
	put(Manifest{Run: "m", Removed: []string{"events/date=d/part-1-00000.parquet"},
		Inputs: []Input{{ID: "1", Torn: true, Problem: "torn", Parts: []Part{part("events/date=d/part-1-00001.parquet", 9)}}}})
	put(Manifest{Run: "z", Version: "0.2", Inputs: []Input{{ID: "1", HeadBytes: 5,
		Parts: []Part{part("events/date=d/part-1-00001.parquet", 2), part("events/date=d/part-1-00000.parquet", 2)}}}})

	all, err := Manifests(dir)
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, m := range all {
		order = append(order, fmt.Sprint(m.Sequence, m.Run, m.Version))
	}
	if want := []string{"1z0.2", "2../a", "3m"}; !slices.Equal(order, want) {
		t.Errorf("order %q, want %q", order, want)
	}
	if want, got := []Part{part("events/date=d/part-1-00001.parquet", 9)}, Parts(all, Events); !cmp.Equal(want, got) {
		t.Errorf("events %v, want %v", got, want)
	}
	if got := Parts(all, Windows); len(got) != 1 || got[0].Rows != 7 {
		t.Errorf("windows %v", got)
	}
	if got := Parts(all, "event"); len(got) != 0 {
		t.Errorf("parts of no table: %v", got)
	}

	bad := filepath.Join(dir, "runs", "bad.json")
	for content, want := range map[string]string{"{": "bad.json", `{"schema":"9"}`: "schema"} {
		if err := os.WriteFile(bad, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := Manifests(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", content, err)
		}
	}
}

func TestByHost(t *testing.T) {
	var parts []Part
	for i, host := range []string{"b", "a/x", "b", ""} {
		parts = append(parts, Part{Path: PartName{Events, "2026-11-29", host, "id", i}.Path()})
	}
	got, err := ByHost("lake", parts)
	want := []HostParts{
		{"", []string{filepath.FromSlash("lake/events/date=2026-11-29/part-id-00003.parquet")}},
		{"a/x", []string{filepath.FromSlash("lake/events/date=2026-11-29/host=a%2Fx/part-id-00001.parquet")}},
		{"b", []string{filepath.FromSlash("lake/events/date=2026-11-29/host=b/part-id-00000.parquet"),
			filepath.FromSlash("lake/events/date=2026-11-29/host=b/part-id-00002.parquet")}},
	}
	if err != nil || !cmp.Equal(want, got) {
		t.Errorf("%v, %v", cmp.Diff(want, got), err)
	}
	if _, err := ByHost("lake", []Part{{Path: "events/x"}}); err == nil {
		t.Error("a path that is no part's was taken")
	}
}

func TestSweep(t *testing.T) {
	dir := t.TempDir()
	l, err := NewLock(dir)
	if err != nil {
		t.Fatal(err)
	}
	cols := []Column{{Name: "x", Data: []int64{1}}}
	write(t, filepath.Join(dir, "events", "a.parquet"), cols)
	if _, err := Create(filepath.Join(dir, "events", "b.parquet"), Fields(cols), nil); err != nil { // and crash
		t.Fatal(err)
	}
	n, err := l.Sweep()
	if got := files(t, dir); n != 1 || err != nil || len(got) != 2 {
		t.Errorf("swept %d, %v; left %v", n, err, got)
	}
	l.Close()
	if _, err := l.Sweep(); err == nil {
		t.Error("swept without the lock")
	}
}
