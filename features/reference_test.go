package features

import (
	"bufio"
	"compress/gzip"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

// tolerances are how far a window may lie from the reference, which sorts all
// latencies and gaps where the fold has histograms: its kurtosis is that of
// the values, its medians (in the limit of stall_gap) are exact. Its gaps lie
// between two completions of the window; on the chosen windows that is no
// difference.
var tolerances = Vector{LatencyKurtosis: 0.1, StallGap: 0.01}

// TestReference holds the features against those of an implementation of the
// same formulas by other means: testdata/reference.csv says which.
func TestReference(t *testing.T) {
	corpus := filepath.Join("..", "..", "shared", "corpus", "runs")
	if _, err := os.Stat(corpus); err != nil {
		t.Skip("the labelled corpus is not beside the repository")
	}
	want, err := readReference("testdata/reference.csv")
	if err != nil {
		t.Fatal(err)
	}
	for run, rows := range want {
		events, err := readRun(filepath.Join(corpus, run+".csv.gz"))
		if err != nil {
			t.Fatal(err)
		}
		_, windows := fold(DefaultOptions(), events, lookAheadOf(events), nil, 0)
		byStart := map[int64]Window{}
		for _, w := range windows {
			byStart[w.StartNS] = w
		}
		for _, row := range rows {
			w, ok := byStart[row.start]
			if !ok || w.Requests != row.requests || w.CoveredTicks != 100 || w.Missing != 0 {
				t.Errorf("%s, window %d: %+v", run, row.start, w)
				continue
			}
			for i, v := range w.Vector {
				if tol := math.Max(tolerances[i], 1e-6); math.Abs(v-row.vector[i]) > tol {
					t.Errorf("%s, window %d: %s is %.9g, want %.9g within %g", run, row.start, Features[i].Name, v, row.vector[i], tol)
				}
			}
		}
	}
}

type referenceRow struct {
	start, requests int64
	vector          Vector
}

func readReference(path string) (map[string][]referenceRow, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.Comment = '#'
	lines, err := r.ReadAll()
	if err != nil {
		return nil, err
	}
	rows := map[string][]referenceRow{}
	for _, line := range lines[1:] {
		var row referenceRow
		if _, err := fmt.Sscan(line[1]+" "+line[2], &row.start, &row.requests); err != nil {
			return nil, err
		}
		for i := range row.vector {
			if row.vector[i], err = strconv.ParseFloat(line[3+i], 64); err != nil {
				return nil, err
			}
		}
		rows[line[0]] = append(rows[line[0]], row)
	}
	return rows, nil
}

// readRun reads a run of the corpus: an event CSV with one-letter ops.
func readRun(path string) ([]ingest.Event, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	gz, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	ops := map[string]ingest.Op{"R": ingest.OpRead, "W": ingest.OpWrite, "F": ingest.OpFlush, "D": ingest.OpDiscard}
	var events []ingest.Event
	lines := bufio.NewScanner(gz)
	lines.Scan()
	for lines.Scan() {
		field := strings.Split(lines.Text(), ",")
		e := ingest.NewEvent()
		for _, to := range []struct {
			column int
			value  *int64
		}{{0, &e.TimeNS}, {7, &e.OffsetBytes}, {8, &e.SizeBytes}, {9, &e.QueueNS}, {10, &e.LatencyNS}} {
			if *to.value, err = strconv.ParseInt(field[to.column], 10, 64); err != nil {
				return nil, err
			}
		}
		e.Op, e.Flags, e.Kind = ops[field[5]], ingest.ParseFlags(field[6]), ingest.KindQ2C
		e.Position = int64(len(events))
		events = append(events, e)
	}
	inOrder(events)
	return events, lines.Err()
}
