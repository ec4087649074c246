package formats

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

// TestBlktraceLost: a buffer that was lost leaves a gap in the numbers of a
// CPU's records; a record or two that are missing are none.
func TestBlktraceLost(t *testing.T) {
	check := func(what string, numbers []uint32, want ...string) {
		t.Helper()
		for _, l := range []blkLayout{{7, false}, {7, true}, {8, false}, {8, true}} {
			var data []byte
			var o binary.ByteOrder = binary.LittleEndian
			if l.big {
				o = binary.BigEndian
			}
			for i, n := range numbers {
				one := blkBytes(l, blkRaw{time: uint64(i) * 1e6, sector: 8 * uint64(i), bytes: 4096, action: rawD ^ rawRead, dev: blkSDB})
				o.PutUint32(one[4:], n)
				data = append(data, one...)
			}
			got := read(t, sample{path: "x", data: data, o: ingest.Options{Host: "h"}}, 1, nil)
			var lost []string
			for line := range strings.Lines(got.rows) {
				if at := strings.Index(line, "lost_records"); at > 0 {
					lost = append(lost, strings.Fields(line)[1]+" "+strings.Fields(line[at:])[1])
				}
			}
			if strings.Join(lost, ", ") != strings.Join(want, ", ") {
				t.Errorf("%s, %+v: lost %q, want %q", what, l, lost, want)
			}
		}
	}
	check("all", []uint32{1, 2, 3, 4})
	check("not counted", []uint32{0, 0, 0, 0})
	check("one missing", []uint32{7, 8, 10, 11})
	check("a buffer", []uint32{7, 8, 508, 509}, "1000000 499") // told at the time of the last record before it
	check("another order", []uint32{7, 5, 8, 6})
	check("two", []uint32{7, 107, 108, 1108}, "0 99", "2000000 999")
}

// TestBlkparseDropped: blktrace says how many events it dropped; on a terminal
// that stands among blkparse's lines.
func TestBlkparseDropped(t *testing.T) {
	text := "  8,16 0 1 0.000000000 77 Q R 8 + 8 [a]\n  8,16 0 2 0.000100000 77 D R 8 + 8 [a]\n  8,16 0 3 0.000200000 0 C R 8 + 8 [0]\n" +
		"=== sdb ===\n  CPU  0:                   12 events,        1 KiB data\n  Total:                    12 events (dropped 345),        1 KiB data\n" +
		"You have 345 dropped events\nConsider using a larger buffer size (-b) and/or more buffers (-n)\n"
	got := read(t, sample{path: "x", data: []byte(text), o: ingest.Options{Host: "h"}}, 1, nil)
	if n := got.rep.Tally.Rejected(); n != 0 || !strings.Contains(got.rows, `lost_records 345 "of the whole recording"`) {
		t.Errorf("%d rejects, rows\n%s", n, got.rows)
	}
}
