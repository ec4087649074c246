package formats

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

// TestBlktraceReadAhead: records that are read ahead of their turn, in blocks whose borders
// fall anywhere, give what decoding them one after the other does, damage behind
// them and amid them included.
func TestBlktraceReadAhead(t *testing.T) {
	file := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join("testdata", "blktrace", name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	little, big, dirt := file("tour-7-little.log"), file("tour-8-big.log"), file("dirt.log")
	long := func(b []byte) []byte { return bytes.Repeat(b, 400_000/len(b)) }
	garbage := bytes.Repeat([]byte("no record "), 30_000)
	for name, data := range map[string][]byte{
		"version 7":      long(little),
		"version 8, big": long(big),
		"damage amid":    append(append(long(little), garbage...), long(little)...),
		"damage within":  append(append(append(long(little)[:200_000:200_000], bytes.Repeat([]byte{0xff}, 37)...), long(little)[200_000:]...), long(little)...),
		"damage behind":  append(long(little), dirt...),
		"torn":           long(little)[:399_000],
	} {
		t.Run(name, func(t *testing.T) {
			o := ingest.DefaultOptions()
			o.Format, o.Host = "blktrace", "h"
			dec, err := newBlktrace(&ingest.Source{Host: "h", Heads: [][]byte{data[:min(len(data), ingest.IdentityBytes)]}, Options: o})
			if err != nil {
				t.Fatal(err)
			}
			out := &ingest.Out{Lineno: 1}
			pos := 0
			for pos < len(data) {
				out.Position = int64(pos)
				took := dec.Decode(ingest.Run{Data: data[pos:], Room: math.MaxInt32, Until: math.MaxInt64, Final: true}, out)
				if took == 0 {
					out.Tally.Lines++
					out.Position = int64(pos)
					out.Reject(data[pos:], "torn-record")
					break
				}
				pos += took
			}
			out.Position = int64(len(data))
			dec.End(out)
			var want strings.Builder
			dump(&want, &out.Batch)
			fmt.Fprintf(&want, "%+v", out.Tally)
			if n := len(out.Events); n < 1000 {
				t.Fatalf("%d events", n)
			}
			for _, chunk := range []int64{64 << 20, 100_003} {
				o.ChunkBytes = chunk
				var got strings.Builder
				var sum ingest.Tally
				in := ingest.Input{Path: "x.blktrace.0", Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }}
				if _, err := ingest.Read(context.Background(), in, o, 2, func(c *ingest.Chunk) error {
					dump(&got, c.Batch)
					sum.Merge(c.Tally)
					return nil
				}); err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&got, "%+v", sum)
				is, should := got.String(), want.String()
				if chunk < 64<<20 { // facts and rejects stand behind the events of each chunk
					is, should = eventsOf(is), eventsOf(should)
				}
				if is != should {
					t.Errorf("chunks of %d bytes: %s", chunk, firstDifference(should, is))
				}
			}
		})
	}
}

// eventsOf is the lines of events, and the last, of rows as text.
func eventsOf(rows string) string {
	var b strings.Builder
	for line := range strings.Lines(rows) {
		if strings.HasPrefix(line, "event ") || !strings.HasSuffix(line, "\n") {
			b.WriteString(line)
		}
	}
	return b.String()
}
