package formats

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

// TestAhead: lines that several workers read ahead of their turn give the rows, the
// account and the checkpoints of one that reads them in order.
func TestAhead(t *testing.T) {
	found := map[string]bool{}
	for _, s := range shelf(t) {
		if s.format.Lines == nil || len(s.data) < 1000 {
			continue
		}
		dec, err := s.format.Lines(&ingest.Source{Host: "h", Head: s.data[:min(len(s.data), ingest.SniffBytes)], Options: s.o})
		if _, ok := dec.(ingest.AheadDecoder); err != nil || !ok {
			continue
		}
		first := !found[s.format.Name]
		found[s.format.Name] = true
		if testing.Short() && !(first && s.format.Name == "blkparse") { // one, for the race detector
			continue
		}
		t.Run(strings.TrimPrefix(s.path, "testdata/"), func(t *testing.T) {
			s.o.Format, s.o.Host = s.format.Name, "h"
			data := s.data
			if data[len(data)-1] != '\n' {
				data = append(bytes.Clone(data), '\n')
			}
			data = bytes.Repeat(data, 700_000/len(data))
			// Lines that are to be seen to one by one stand in some of the blocks.
			data = append(data[:300_000:300_000], append([]byte("\x1b[1m\n\x00\n"+strings.Repeat("x", 2<<20)+"\n"), data[300_000:]...)...)
			whole := func(workers int) (string, string) {
				var rows strings.Builder
				in := ingest.Input{Path: s.path, Checkpoints: true, Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }}
				rep, err := ingest.Read(context.Background(), in, s.o, workers, func(c *ingest.Chunk) error {
					fmt.Fprintf(&rows, "chunk %d\n", c.Number)
					dump(&rows, c.Batch)
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				last := fmt.Sprintf("%+v", rep.Checkpoint)
				rep.Checkpoint = nil
				return rows.String(), fmt.Sprintf("%+v\n%s", rep, last)
			}
			for _, s.o.ChunkBytes = range []int64{64 << 20, 200_000} {
				rows, rep := whole(1)
				some, other := whole(3)
				if rows != some {
					t.Errorf("chunks of %d bytes: %s", s.o.ChunkBytes, firstDifference(rows, some))
				}
				if rep != other {
					t.Errorf("chunks of %d bytes: %s", s.o.ChunkBytes, firstDifference(rep, other))
				}
			}
		})
	}
	for _, name := range []string{"blkparse", "ftrace", "trace-cmd", "perf-script", "strace", "dftracer"} {
		if !found[name] {
			t.Errorf("format %s reads nothing ahead", name)
		}
	}
}
