package ingest

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func TestLines(t *testing.T) {
	var text bytes.Buffer
	var starts []int64
	for i := range 40_000 { // 680 kB: past the head
		starts = append(starts, int64(text.Len()))
		fmt.Fprintf(&text, "line %06d;%4d\n", i, i%7)
	}
	starts = append(starts, int64(text.Len()))
	text.WriteString("torn")
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(text.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	id := Identity(text.Bytes()[:IdentityBytes])
	for name, data := range map[string][]byte{"plain": text.Bytes(), "gzip": packed.Bytes()} {
		file := filepath.Join(t.TempDir(), "a.log")
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		in := Input{Path: file, Open: func() (io.ReadCloser, error) { return os.Open(file) }}
		check := func(most int64, ask []int64, want map[int64]string) {
			t.Helper()
			got, err := Lines(in, Options{}, id, IdentityBytes, ask, 12, most)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if len(got) != len(want) {
				t.Errorf("%s: %d lines, want %d", name, len(got), len(want))
			}
			for at, line := range want {
				if string(got[at]) != line {
					t.Errorf("%s: at %d %q, want %q", name, at, got[at], line)
				}
			}
		}
		last := starts[len(starts)-1]
		check(1<<20, []int64{starts[39_000], starts[3], starts[4], starts[3], 0, starts[5_000] + 5, last, last + 4, 1 << 40, -1}, map[int64]string{
			0: "line 000000;", starts[3]: "line 000003;", starts[4]: "line 000004;", starts[39_000]: "line 039000;", starts[5_000] + 5: "005000;   2", last: "torn"})
		if name == "gzip" { // what lies behind the bound is left out
			check(100_000, []int64{starts[2], starts[39_000]}, map[int64]string{starts[2]: "line 000002;"})
		}
		if _, err := Lines(in, Options{}, "0123", 64, []int64{0}, 12, 1<<20); !errors.Is(err, ErrOtherInput) {
			t.Errorf("%s: %v, want that another input lies there", name, err)
		}
	}
}
