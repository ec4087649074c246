package lake

import (
	"errors"
	"io"
	"path/filepath"
	"slices"
	"testing"
)

// An Index keeps footers; one that is no longer that of the file is read anew.
func TestStreamOfReplacedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "part.parquet")
	write := func(times ...int64) {
		t.Helper()
		cols := []Column{{Name: "device", Data: slices.Repeat([]string{"sda"}, len(times))}, {Name: "time_ns", Data: times}}
		w, err := Create(path, Fields(cols), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(cols); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	read := func(x *Index) (times []int64) {
		t.Helper()
		s := x.Streams("sda", []string{"time_ns"})[0]
		for {
			cols, _, err := s.Next()
			if errors.Is(err, io.EOF) {
				return times
			}
			if err != nil {
				t.Fatal(err)
			}
			times = append(times, cols[0].Data.([]int64)...)
		}
	}
	write(1, 2, 3)
	x, err := NewIndex([]string{path})
	if err != nil {
		t.Fatal(err)
	}
	if x.parts[0].footer == nil {
		t.Fatal("no footer is kept")
	}
	for range 2 {
		if got := read(x); !slices.Equal(got, []int64{1, 2, 3}) {
			t.Errorf("read %d", got)
		}
	}
	want := []int64{1, 20, 300, 4000, 50_000, 600_000}
	write(want...)
	if got := read(x); !slices.Equal(got, want) {
		t.Errorf("of the file in its place: %d", got)
	}
}
