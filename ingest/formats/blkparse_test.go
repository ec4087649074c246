package formats

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

// decodeBlkparse decodes a whole text by the decoder alone.
func decodeBlkparse(t testing.TB, text []byte, opt ingest.Options) *ingest.Out {
	t.Helper()
	dec, err := Blkparse.Lines(&ingest.Source{Path: "x.blkparse", Host: "h", Head: text[:min(len(text), ingest.SniffBytes)], Options: opt})
	if err != nil {
		t.Fatal(err)
	}
	out := &ingest.Out{}
	feedBlkparse(dec, text, out)
	return out
}

func feedBlkparse(dec ingest.LinesDecoder, text []byte, out *ingest.Out) {
	for len(text) > 0 {
		line, rest, found := bytes.Cut(text, []byte{'\n'})
		out.Lineno++
		out.Tally.Lines++
		dec.Line(line, out)
		out.Position += int64(len(line))
		if found {
			out.Position++
		}
		text = rest
	}
	dec.End(out)
}

// sharedFile reads a file of the shared recordings, which stand beside the
// repository, and skips the test where they are absent.
func sharedFile(t testing.TB, path ...string) []byte {
	t.Helper()
	name := filepath.Join(append([]string{"..", "..", "..", "shared"}, path...)...)
	f, err := os.Open(name)
	if os.IsNotExist(err) {
		t.Skipf("recording absent: %s", name)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var r io.Reader = bufio.NewReader(f)
	if strings.HasSuffix(name, ".gz") {
		if r, err = gzip.NewReader(r); err != nil {
			t.Fatal(err)
		}
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// corpusRow is what a recording's row and the event made of its blkparse text must
// agree on. Times are relative to the first completion.
type corpusRow struct {
	time                           int64
	op, flags, comm                string
	pid, offset, size, queue, late int64
}

func (r corpusRow) compare(o corpusRow) int {
	return cmp.Or(cmp.Compare(r.time, o.time), cmp.Compare(r.offset, o.offset), cmp.Compare(r.size, o.size), cmp.Compare(r.late, o.late))
}

func corpusRows(t *testing.T, text []byte) []corpusRow {
	t.Helper()
	recs, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var rows []corpusRow
	for _, f := range recs[1:] {
		n := func(i int) int64 {
			v, err := strconv.ParseInt(f[i], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		op := map[string]string{"R": "read", "W": "write", "D": "discard", "F": "flush"}[f[5]]
		rows = append(rows, corpusRow{n(0), op, ingest.ParseFlags(f[6]).String(), f[4], n(3), n(7), n(8), n(9), n(10)})
	}
	return rows
}

// The recordings exist as rows and, for some, as the blkparse text of the same
// tracepoint records: the rows are the oracle for the pairing.
func TestBlkparseCorpus(t *testing.T) {
	if testing.Short() {
		t.Skip("a decoder starts no goroutine: nothing for the race detector")
	}
	runs, _ := filepath.Glob(filepath.Join("..", "..", "..", "shared", "corpus", "raw", "*.blkparse.txt.gz"))
	if len(runs) == 0 {
		t.Skip("recordings absent")
	}
	for _, path := range runs {
		run := strings.TrimSuffix(filepath.Base(path), ".blkparse.txt.gz")
		t.Run(run, func(t *testing.T) {
			want := corpusRows(t, sharedFile(t, "corpus", "runs", run+".csv.gz"))
			out := decodeBlkparse(t, sharedFile(t, "corpus", "raw", run+".blkparse.txt.gz"), ingest.Options{})
			checkSums(t, out)
			var got []corpusRow
			headless := 0
			for _, e := range out.Events {
				r := corpusRow{
					e.TimeNS, e.Op.String(), e.Flags.String(), out.Names.String(e.Comm),
					int64(e.PID), e.OffsetBytes, e.SizeBytes, e.QueueNS, e.LatencyNS,
				}
				if e.Kind == ingest.KindD2C {
					headless++
				}
				got = append(got, r)
			}
			if len(got) != len(want) {
				t.Errorf("%d events, want %d", len(got), len(want))
			}
			slices.SortFunc(got, corpusRow.compare)
			slices.SortFunc(want, corpusRow.compare)
			g0, w0 := got[0].time, want[0].time
			bad := 0
			for i := range min(len(got), len(want)) {
				g, w := got[i], want[i]
				g.time, w.time = g.time-g0, w.time-w0
				if base := w0 - g0; g.queue == ingest.Missing && w.time+w0-w.late < base { // queued before the text begins
					w.late, w.queue = w.late-w.queue, ingest.Missing
				}
				if g != w {
					if bad++; bad <= 5 {
						t.Errorf("event %d:\n got %+v\nwant %+v", i, g, w)
					}
				}
			}
			t.Logf("%d events, %d differ, %d queued before the text begins; %s", len(got), bad, headless, tallyText(out))
		})
	}
}

func checkSums(t testing.TB, out *ingest.Out) {
	t.Helper()
	if got := out.Tally.Accounted(); got != out.Tally.Lines {
		t.Errorf("fates sum to %d, lines are %d: %s", got, out.Tally.Lines, tallyText(out))
	}
}

func tallyText(out *ingest.Out) string {
	t := &out.Tally
	return fmt.Sprintf("lines %d: event %d merged %d notes %d rejects %v unpaired %v", t.Lines, t.Event, t.Merged, t.Notes, t.Rejects, t.Unpaired)
}
