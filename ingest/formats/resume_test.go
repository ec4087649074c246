package formats

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

// night reads an input that may go on from a checkpoint: its chunks as text, by
// number, and the report.
func night(t testing.TB, s sample, in ingest.Input) (map[int64]string, ingest.Report) {
	t.Helper()
	chunks := map[int64]string{}
	in.Checkpoints = true
	rep, err := ingest.Read(context.Background(), in, s.o, 1, func(c *ingest.Chunk) error {
		var b strings.Builder
		fmt.Fprintf(&b, "final %v %s\n", c.Final, fates(c.Tally))
		dump(&b, c.Batch)
		chunks[c.Number] = b.String()
		return nil
	})
	if err != nil {
		t.Fatalf("%s: %v", s.path, err)
	}
	return chunks, rep
}

func inputOf(s sample, data []byte) ingest.Input {
	return ingest.Input{Path: s.path, Open: func() (io.ReadCloser, error) {
		return struct {
			io.ReadSeeker
			io.Closer
		}{bytes.NewReader(data), io.NopCloser(nil)}, nil
	}}
}

// account is what a report tells of an input, but for what was read now.
func account(r ingest.Report) string {
	r.NewBytes, r.Kept, r.Checkpoint = 0, 0, nil
	return fmt.Sprintf("%+v", r)
}

// TestResume reads each log of the shelf as far as some place, as a first night
// would find it, and then all of it from the checkpoint of that: the chunks are
// those of one undisturbed reading.
func TestResume(t *testing.T) {
	if testing.Short() {
		t.Skip("a decoder starts no goroutine: nothing for the race detector")
	}
	const cuts = 5
	resumed := map[string]int{}
	for _, s := range shelf(t) {
		s.o.Format = s.format.Name
		for _, span := range []int{len(s.data)/3 + 1, len(s.data)/9 + 1} {
			s.o.ChunkBytes = int64(span)
			for i := 1; i <= cuts; i++ {
				cut := len(s.data) * i / cuts
				if i%2 == 0 { // a line's end; else amid it
					cut = bytes.LastIndexByte(s.data[:cut], '\n') + 1
				}
				old, first := night(t, s, inputOf(s, s.data[:cut]))
				if first.Checkpoint == nil {
					continue
				}
				code, err := first.Checkpoint.Encode()
				if err != nil {
					t.Fatalf("%s: %v", s.path, err)
				}
				at, err := ingest.DecodeCheckpoint(code)
				if err != nil {
					t.Fatalf("%s: %v", s.path, err)
				}
				in := inputOf(s, s.data)
				in.ID = first.ID
				want, whole := night(t, s, in)
				in.Resume = at
				got, rep := night(t, s, in)
				if rep.Note != "" { // what the head tells is more now
					continue
				}
				resumed[s.format.Name]++
				if rep.NewBytes != int64(len(s.data))-at.Pos || at.Pos < 1 {
					t.Errorf("%s: cut at %d: %d bytes of %d are new, from %d on", s.path, cut, rep.NewBytes, len(s.data), at.Pos)
				}
				for n, text := range old {
					if n < at.Chunk {
						if got[n] != "" {
							t.Errorf("%s: cut at %d: chunk %d was read again", s.path, cut, n)
						}
						got[n] = text
					}
				}
				for n := range max(len(want), len(got)) {
					if got, want := got[int64(n)], want[int64(n)]; got != want {
						t.Fatalf("%s: cut at %d, chunks of %d: chunk %d of %d is\n%.2000s\nwant\n%.2000s", s.path, cut, span, n, at.Chunk, got, want)
					}
				}
				if account(rep) != account(whole) {
					t.Errorf("%s: cut at %d: the report is\n%s\nwant\n%s", s.path, cut, account(rep), account(whole))
				}
			}
		}
	}
	for _, f := range ingest.Formats() {
		if resumed[f.Name] == 0 {
			t.Errorf("format %s: no log went on from a checkpoint", f.Name)
		}
	}
}

// checkpoints gives a checkpoint of each log that gives one.
func checkpoints(t testing.TB) (logs []sample, all []*ingest.Checkpoint) {
	for _, s := range shelf(t) {
		s.o.Format = s.format.Name
		s.o.ChunkBytes = int64(len(s.data)/3 + 1)
		if _, rep := night(t, s, inputOf(s, s.data)); rep.Checkpoint != nil {
			logs, all = append(logs, s), append(all, rep.Checkpoint)
		}
	}
	return logs, all
}

// goOn reads a log from a checkpoint of any content: whatever is done, it ends.
func goOn(t testing.TB, s sample, c ingest.Checkpoint, state []byte) ingest.Report {
	c.State = state
	in := inputOf(s, s.data)
	in.ID, in.Checkpoints, in.Resume = c.ID, true, &c
	rep, err := ingest.Read(context.Background(), in, s.o, 1, func(*ingest.Chunk) error { return nil })
	if err != nil && !strings.Contains(err.Error(), "fates do not sum") {
		t.Fatalf("%s: %v", s.path, err)
	}
	return rep
}

// TestHostileState goes on from states that were tampered with.
func TestHostileState(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	logs, all := checkpoints(t)
	refused, n := 0, 0
	for i, s := range logs {
		for range 2 {
			state := slices.Clone(all[i].State)
			for range 1 + rng.IntN(3) {
				if len(state) == 0 {
					break
				}
				switch at := rng.IntN(len(state)); rng.IntN(4) {
				case 0:
					state[at] = byte(rng.Uint32())
				case 1:
					state[at] += 2
				case 2:
					state = state[:at]
				default:
					state = slices.Insert(state, at, byte(rng.Uint32()), byte(rng.Uint32()))
				}
			}
			if rep := goOn(t, s, *all[i], state); rep.Note != "" {
				refused++
			}
			n++
		}
	}
	if refused < n/4 || refused == n {
		t.Errorf("%d of %d states were refused", refused, n)
	}
}

// FuzzState goes on from states of any bytes: nothing panics, and all comes to an end.
func FuzzState(f *testing.F) {
	logs, all := checkpoints(f)
	for i := range logs {
		if i == 0 || logs[i].format.Name != logs[i-1].format.Name {
			f.Add(uint16(i), all[i].State)
		}
	}
	f.Fuzz(func(t *testing.T, which uint16, state []byte) {
		i := int(which) % len(logs)
		goOn(t, logs[i], *all[i], state)
	})
}
