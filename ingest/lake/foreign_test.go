package lake

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

func textOf(b []byte, want []string) (string, error) {
	t, err := newText("memory", inMemory{Reader: bytes.NewReader(b)}, int64(len(b)), want)
	if err != nil {
		return "", err
	}
	out, err := io.ReadAll(t)
	return string(out), err
}

// Files of other writers give their rows as text: pyarrow 24 wrote them, with
// each codec, both kinds of pages and the encodings there are. The goldens were held
// against what pyarrow and DuckDB read.
func TestText(t *testing.T) {
	paths, err := filepath.Glob("testdata/foreign/*.parquet")
	if err != nil || len(paths) < 5 {
		t.Fatal("no files", err)
	}
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		got, err := textOf(b, nil)
		if err != nil {
			t.Errorf("%s: %v", p, err)
			continue
		}
		golden := strings.TrimSuffix(p, "parquet") + "csv"
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s differs from its golden", p)
		}
		some, err := textOf(b, []string{"op", "i64", "absent"})
		if head, _, _ := strings.Cut(some, "\n"); err != nil || head != "i64,op" {
			t.Errorf("%s: columns %q, %v", p, head, err)
		}
		if _, err := textOf(b, []string{"absent"}); err == nil {
			t.Errorf("%s: want an error for columns that it lacks", p)
		}
	}
}

// A lake's own file is read as well.
func TestTextOfOurs(t *testing.T) {
	got, err := textOf(sample(t, 500, 20), nil)
	if n := strings.Count(got, "\n"); err != nil || n != 521 {
		t.Errorf("%d lines, %v", n, err)
	}
}

// Damage gives errors: no panic, no hang, and memory within the bounds.
func TestTextDamaged(t *testing.T) {
	tries := 1500
	if testing.Short() {
		tries = 200
	}
	var files [][]byte
	paths, _ := filepath.Glob("testdata/foreign/*.parquet")
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, b)
	}
	rng := rand.New(rand.NewPCG(31, 32))
	failed := 0
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range tries {
		b := bytes.Clone(files[rng.IntN(len(files))])
		for range 1 + rng.IntN(3) {
			b[rng.IntN(len(b))] = byte(rng.Uint32())
		}
		if rng.IntN(10) == 0 {
			b = b[:rng.IntN(len(b))]
		}
		if _, err := textOf(b, nil); err != nil {
			failed++
		}
	}
	runtime.ReadMemStats(&after)
	if failed < tries/4 {
		t.Errorf("only %d of %d damaged files were noticed", failed, tries)
	}
	if grown := (after.TotalAlloc - before.TotalAlloc) / uint64(tries); grown > 16<<20 {
		t.Errorf("%d bytes for each damaged file", grown)
	}
}

func FuzzText(f *testing.F) {
	paths, _ := filepath.Glob("testdata/foreign/*.parquet")
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		one, err := textOf(b, nil)
		two, err2 := textOf(b, nil)
		if one != two || fmt.Sprint(err) != fmt.Sprint(err2) {
			t.Errorf("the second read differs: %v, %v", err, err2)
		}
	})
}
