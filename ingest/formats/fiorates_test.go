package formats

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

// readFolder reads all inputs of a folder, as text.
func readFolder(t *testing.T, dir string) string {
	t.Helper()
	o := ingest.DefaultOptions()
	o.Host = "h"
	inputs, skips, err := ingest.Resolve([]string{dir}, nil, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(skips) > 0 {
		t.Errorf("skipped %v", skips)
	}
	var all strings.Builder
	for _, in := range inputs {
		rep, err := ingest.Read(t.Context(), in, o, 1, func(c *ingest.Chunk) error {
			dump(&all, c.Batch)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&all, "%s %s %s\n", filepath.Base(in.Path), rep.Format, fates(rep.Tally))
	}
	return all.String()
}

// TestFioRatesTogether holds that the bw and the iops log of a job are one
// device's samples. The logs are of fio 3.33, the sums by hand.
func TestFioRatesTogether(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"x_bw.1.log":   "250, 1616, 0, 0, 0\n250, 816, 1, 0, 0\n500, 1584, 0, 0, 0\n1000, 1600, 0, 0, 0\n1250, 1600, 0, 0, 0\n",
		"x_iops.1.log": "250, 404, 0, 0, 0\n251, 204, 1, 0, 0\n500, 396, 0, 0, 0\n1000, 400, 0, 0, 0\n1250, 400, 0, 0, 0\n1500, 4, 1, 0, 0\n",
		"x_iops.2.log": "250, 8, 0, 0, 0\n500, 4, 0, 0, 0\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want := `sample 250000000 interval 250000000 h fio:x.2 reads 2 writes 0 discards 0 @0
sample 500000000 interval 250000000 h fio:x.2 reads 1 writes 0 discards 0 @16
x_iops.2.log fio-rates lines 2 event 2 merged 0 notes 0 rejects map[] unpaired map[]
sample 250000000 interval 250000000 h fio:x.1 reads 101 writes 51 discards 0 read_bytes 413696 write_bytes 208896 discard_bytes 0 @0
sample 500000000 interval 250000000 h fio:x.1 reads 99 writes 0 discards 0 read_bytes 405504 write_bytes 0 discard_bytes 0 @36
sample 750000000 interval 250000000 h fio:x.1 reads 0 writes 0 discards 0 read_bytes 0 write_bytes 0 discard_bytes 0 @54
sample 1000000000 interval 250000000 h fio:x.1 reads 100 writes 0 discards 0 read_bytes 409600 write_bytes 0 discard_bytes 0 @54
sample 1250000000 interval 250000000 h fio:x.1 reads 100 writes 0 discards 0 read_bytes 409600 write_bytes 0 discard_bytes 0 @73
sample 1500000000 interval 250000000 h fio:x.1 reads 0 writes 1 discards 0 @92
x_{bw,iops}.1.log fio-rates lines 11 event 11 merged 0 notes 0 rejects map[] unpaired map[]
`
	if got := readFolder(t, dir); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestFioRatesMembers holds that reads and chunks change nothing for two logs
// read together, nor do damaged lines and jobs that begin anew.
func TestFioRatesMembers(t *testing.T) {
	var bw, iops bytes.Buffer
	for job := range 3 {
		for i := range 40 {
			at := 500 * (i + 1)
			if i%7 != 3 || job == 1 {
				fmt.Fprintf(&bw, "%d, %d, 0, 0\n%d, %d, 1, 0\n", at, 1000+i+job, at, 10*i)
			}
			if i%11 == 5 {
				fmt.Fprintf(&iops, "what\n%d, 5\n", at)
			}
			fmt.Fprintf(&iops, "%d, %d, 0, 0\n", at+i%2, 100+i)
		}
	}
	member := func(name string, data []byte) ingest.Input {
		return ingest.Input{Path: name, Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }}
	}
	in := ingest.Input{Path: "x_{bw,iops}.log", Members: []ingest.Input{member("x_bw.log", bw.Bytes()), member("x_iops.log", iops.Bytes())}}
	rows := func(chunk int64, size int) string {
		o := ingest.DefaultOptions()
		o.Host, o.ChunkBytes, o.ReadBytes = "h", chunk, size
		var all strings.Builder
		rep, err := ingest.Read(t.Context(), in, o, 1, func(c *ingest.Chunk) error {
			check(t, c)
			dump(&all, c.Batch)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return byKind(all.String()) + fates(rep.Tally)
	}
	want := rows(64<<20, 1<<20)
	if n := strings.Count(want, "read_bytes"); n != 108 || strings.Count(want, " reads ") != 120 || !strings.Contains(want, "fio:x#3") {
		t.Errorf("%d samples with bytes, %d with I/Os, want 108 and 120, of three jobs:\n%s", n, strings.Count(want, " reads "), want)
	}
	for _, chunk := range []int64{1, 100, 3000} {
		for _, size := range []int{1, 7, 4096} {
			if got := rows(chunk, size); got != want {
				t.Errorf("chunks of %d, reads of %d: %s", chunk, size, firstDifference(want, got))
			}
		}
	}
}
