package formats

import (
	"compress/gzip"
	"encoding/csv"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

// TestEventCSVAgreesWithEncodingCSV compares every field of a recording with
// what the standard library reads. It needs the labelled recordings beside
// the repository.
func TestEventCSVAgreesWithEncodingCSV(t *testing.T) {
	path := filepath.Join("..", "..", "..", "shared", "corpus", "runs", "run-0002.csv.gz")
	file, err := os.Open(path)
	if err != nil {
		t.Skipf("the recordings are not here: %v", err)
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(z).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	rows = rows[1:]
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := sample{path: path, data: data, o: ingest.Options{ChunkBytes: 1 << 18}}
	n, wrong := 0, 0
	number := func(text string) int64 {
		v, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	got := read(t, s, 2, func(c *ingest.Chunk) {
		for _, e := range c.Events {
			if n >= len(rows) {
				n++
				continue
			}
			r := rows[n]
			n++
			op := map[string]ingest.Op{"R": ingest.OpRead, "W": ingest.OpWrite, "F": ingest.OpFlush, "D": ingest.OpDiscard}[r[5]]
			if e.TimeNS != number(r[0]) || c.Names.String(e.Host) != r[1] || c.Names.String(e.Device) != r[2] ||
				int64(e.PID) != number(r[3]) || c.Names.String(e.Comm) != r[4] || e.Op != op || e.Flags != ingest.ParseFlags(r[6]) ||
				e.OffsetBytes != number(r[7]) || e.SizeBytes != number(r[8]) || e.QueueNS != number(r[9]) ||
				e.LatencyNS != number(r[10]) || int64(e.Error) != -number(r[11]) || e.Kind != ingest.KindQ2C {
				if wrong++; wrong <= 3 {
					t.Errorf("row %d: %+v, want %v", n, e, r)
				}
			}
		}
	})
	if n != len(rows) || got.rep.Events != int64(len(rows)) || got.rep.Tally.Rejected() != 0 || got.rep.Chunks < 2 {
		t.Errorf("%d events of %d rows in %d chunks, %s", n, len(rows), got.rep.Chunks, fates(got.rep.Tally))
	}
}
