package local

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/ingest/lake"
)

// blkparseText is n records of I/Os that overlap: what a chunk holds depends on
// those before it.
func blkparseText(n int) string {
	rng := rand.New(rand.NewPCG(8, 9))
	var b strings.Builder
	var open []int
	for i := range n {
		action := "Q"
		io := i
		if len(open) > 0 && (len(open) > 60 || rng.IntN(2) == 0) {
			at := rng.IntN(len(open))
			io, action = open[at], "C"
			open = slices.Delete(open, at, at+1)
		} else {
			open = append(open, io)
		}
		fmt.Fprintf(&b, "  8,0    1 %8d %5d.%09d %5d  %s   R %d + 8 [", i+1, i/1000, i%1000*1_000_000, 100+io%7, action, io*8)
		if action == "C" {
			b.WriteString("0]\n")
		} else {
			fmt.Fprintf(&b, "task%d]\n", io%7)
		}
	}
	return b.String()
}

// tree gives the sums of the files of a lake by path, those that end so.
func tree(t *testing.T, dir, suffix string) map[string]string {
	t.Helper()
	sums := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, suffix) {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		sums[rel] = fmt.Sprintf("%x", sha256.Sum256(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sums
}

// TestGrownGoesOn lets logs grow over some nights, and holds the lake against
// that of one reading.
func TestGrownGoesOn(t *testing.T) {
	csv := csvHeader + csvRows("a", 0, 9000)
	blk := blkparseText(9000)
	const span = 100_000
	to := func(text string, n int) string { return text[:min(n, len(text))] }
	s := newShelf(t)
	s.chunk = span
	night := func(what string, n int, packed bool, newBytes int64) *Ingested {
		t.Helper()
		for name, text := range map[string]string{"a.csv": csv, "b.txt": blk} {
			if packed {
				s.pack(name, to(text, n))
			} else {
				s.put(name, to(text, n))
			}
		}
		out, err := s.job().Ingest(context.Background(), []string{s.logs}, nil)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		once := newShelf(t)
		once.chunk, once.logs = span, s.logs
		if _, err := once.job().Ingest(context.Background(), []string{s.logs}, nil); err != nil {
			t.Fatal(err)
		}
		if got, want := tree(t, s.lake, ".parquet"), tree(t, once.lake, ".parquet"); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: the lake holds\n%v\nwant\n%v", what, got, want)
		}
		if got, want := tree(t, s.lake, ".state"), tree(t, once.lake, ".state"); fmt.Sprint(got) != fmt.Sprint(want) || len(got) != 2 {
			t.Errorf("%s: the checkpoints are\n%v\nwant\n%v", what, got, want)
		}
		if out.NewBytes < newBytes-2*200 || out.NewBytes > newBytes {
			t.Errorf("%s: %d bytes were decoded, want about %d", what, out.NewBytes, newBytes)
		}
		all, err := s.job().IngestedBefore()
		if err != nil {
			t.Fatal(err)
		}
		all1, err := once.job().IngestedBefore()
		if err != nil {
			t.Fatal(err)
		}
		all.NewBytes, all1.NewBytes = 0, 0
		if a, b := fmt.Sprintf("%+v", all.Account), fmt.Sprintf("%+v", all1.Account); a != b {
			t.Errorf("%s: the account is\n%s\nwant\n%s", what, a, b)
		}
		return out
	}
	note := func(what string, out *Ingested, want string) {
		t.Helper()
		for _, r := range out.Reports {
			if (r.Note == "") != (want == "") || !strings.Contains(r.Note, want) {
				t.Errorf("%s: %s: %q, want %q", what, r.Path, r.Note, want)
			}
		}
	}
	night("first", 250_000, false, 500_000)
	note("grown", night("grown", 370_000, false, 2*170_000), "")
	note("grown within its last chunk", night("grown within its last chunk", 380_000, false, 2*80_000), "")
	note("compressed", night("grown and compressed", 450_000, true, 2*150_000), "")
	if out := night("as it was", 450_000, true, 0); out.Duplicates == 0 || out.Duplicates != out.Lines {
		t.Errorf("as it was: %+v", out.Account)
	}
	night("renamed", 450_000, false, 0)

	damage := func(change func(path string) error) {
		t.Helper()
		for path := range tree(t, s.lake, ".state") {
			if err := change(filepath.Join(s.lake, path)); err != nil {
				t.Fatal(err)
			}
		}
	}
	damage(func(path string) error {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = f.WriteAt([]byte{0xff}, 40)
		return errors.Join(err, f.Close())
	})
	note("damaged", night("with damaged checkpoints", 500_000, false, 2*500_000), "others than were written")
	damage(os.Remove)
	note("gone", night("without checkpoints", 520_000, false, 2*520_000), "no such file")
	for path := range tree(t, s.lake, "-00001.parquet") {
		if err := os.Remove(filepath.Join(s.lake, path)); err != nil {
			t.Fatal(err)
		}
	}
	note("a part is gone", night("without a part", 530_000, false, 2*530_000), "is not whole")
	s.chunk = span
	j := s.job()
	j.Version = "other"
	s.put("a.csv", to(csv, 540_000))
	s.put("b.txt", to(blk, 540_000))
	out, err := j.Ingest(context.Background(), []string{s.logs}, nil)
	if err != nil {
		t.Fatal(err)
	}
	note("another version", out, "by another version")
}

// TestRotated holds that what is no continuation is not taken for one.
func TestRotated(t *testing.T) {
	s := newShelf(t)
	s.chunk = 100_000
	log := func(name string, n int) string { return csvHeader + csvRows(name, 0, n) }
	s.put("a.csv", log("a", 5000))
	s.read("first", "", 0, map[string]int{"a": 5000})
	s.put("a.csv", log("b", 6000))
	s.read("rotated", "", 0, map[string]int{"a": 5000, "b": 6000})
	s.put("a.csv", log("b", 5000))
	s.read("an older copy", "", 5001, map[string]int{"a": 5000, "b": 6000})
	s.put("a.csv", log("b", 2000)+csvRows("c", 2000, 9000))
	out := s.read("written anew behind its head", "", 0, map[string]int{"a": 5000, "b": 2000, "c": 7000})
	if len(out.Reports) != 1 || !strings.Contains(out.Reports[0].Note, "has changed") {
		t.Errorf("%+v", out.Reports)
	}
	ms, err := lake.Manifests(s.lake)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(tree(t, s.lake, ".state")); got != 2 {
		t.Errorf("%d checkpoints of 2 inputs, %d manifests", got, len(ms))
	}
}
