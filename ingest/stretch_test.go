package ingest

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// seekable is an input as a file is one: it can be read from anywhere on.
func seekable(data []byte) Input {
	return Input{Path: "in", Size: int64(len(data)), Open: func() (io.ReadCloser, error) {
		return struct {
			io.ReadSeeker
			io.Closer
		}{bytes.NewReader(data), io.NopCloser(nil)}, nil
	}}
}

// The chunks, the report and the checkpoint of stretches are those of one
// reading, wherever they are cut.
func TestStretches(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 1))
	check := func(what string, data []byte, o Options) {
		t.Helper()
		in := seekable(data)
		want, whole := pages(t, in, o)
		n, ok := CanStretch(in, o)
		if !ok || n < 3 {
			t.Fatalf("%s: %d chunks, %v", what, n, ok)
		}
		for range 6 {
			cuts := map[int64]bool{}
			for range 1 + r.IntN(5) {
				cuts[1+r.Int64N(n-1)] = true
			}
			at := slices.Sorted(maps.Keys(cuts))
			got := map[int64]string{}
			var all []Report
			line, from := int64(0), int64(0)
			for _, to := range append(at, 0) {
				in.Stretch = Stretch{from, to}
				some, rep := pages(t, in, o)
				for k, text := range some {
					if got[k] != "" {
						t.Errorf("%s, cut at %v: chunk %d twice", what, at, k)
					}
					got[k] = renumbered(text, line)
				}
				line += rep.Tally.Lines
				all = append(all, rep)
				from = to
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s, cut at %v: got\n%.2000v\nwant\n%.2000v", what, at, got, want)
			}
			joined := JoinStretches(all)
			if a, b := fmt.Sprintf("%+v", joined.Checkpoint), fmt.Sprintf("%+v", whole.Checkpoint); a != b {
				t.Errorf("%s, cut at %v: the checkpoint is\n%s, want\n%s", what, at, a, b)
			}
			cp := whole.Checkpoint
			joined.Checkpoint, whole.Checkpoint = nil, nil
			if a, b := fmt.Sprintf("%+v", joined), fmt.Sprintf("%+v", whole); a != b {
				t.Errorf("%s, cut at %v: the report is\n%s, want\n%s", what, at, a, b)
			}
			whole.Checkpoint = cp
		}
	}
	check("lines", lines(5000, 5), Options{ChunkBytes: 9000})
	check("chunks shorter than lines", lines(600, 6), Options{ChunkBytes: 700})
	check("lines of many chunks", append(lines(500, 7), "t "+strings.Repeat("y", 90_000)+" 3\nt z 4\n"...), Options{ChunkBytes: 5000})
	check("no newline at the end", append(lines(2000, 8), "t z 4"...), Options{ChunkBytes: 3000, ReadBytes: 100})
	check("a byte order mark", append([]byte(bom), lines(2000, 9)...), Options{ChunkBytes: 3000})
	check("a line beyond the bound", append(append(lines(500, 8), "t "+strings.Repeat("y", MaxLine+70_000)+" 3\n"...), lines(4000, 10)...), Options{ChunkBytes: 30_000})
}

// renumbered adds to the numbers of lines of rejects.
func renumbered(text string, by int64) string {
	var b strings.Builder
	for l := range strings.Lines(text) {
		var n int64
		if k, _ := fmt.Sscanf(l, "line %d", &n); k == 1 {
			_, rest, _ := strings.Cut(l[len("line "):], " ")
			l = fmt.Sprintf("line %d %s", n+by, rest)
		}
		b.WriteString(l)
	}
	return b.String()
}

func TestCanStretch(t *testing.T) {
	check := func(what string, in Input, o Options, want int64) {
		t.Helper()
		if n, ok := CanStretch(in, o); n != want || ok != (want > 0) {
			t.Errorf("%s: %d chunks, %v, want %d", what, n, ok, want)
		}
	}
	data := lines(1000, 3)
	o := Options{ChunkBytes: 4096}
	check("lines", seekable(data), o, int64(len(data)+4095)/4096)
	check("of one chunk", seekable(data), Options{}, 0)
	packed := seekable(gzipped(data))
	packed.Size = int64(len(data))
	check("packed", packed, o, 0)
	check("with memory", seekable([]byte(strings.Repeat("+a 1\n-a 1\n", 900))), o, 0)
	check("of no format", seekable([]byte(strings.Repeat("?\n", 9000))), o, 0)
	pipe := seekable(data)
	pipe.Open = func() (io.ReadCloser, error) { return io.NopCloser(io.MultiReader(bytes.NewReader(data))), nil }
	check("of a pipe", pipe, o, 0)
}
