package cluster_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/reduce"
)

// Recordings whose source tells no offsets, no flags, or neither commands nor
// stages: no window gets a pathology that it hasn't, but for those that all
// sources together get wrong, too, and for the look-alikes named here; no cause that
// leans on what is not told is named.
func TestRecordingsOfPoorerSources(t *testing.T) {
	if testing.Short() {
		t.Skip("folding the labelled recordings takes some seconds")
	}
	labels, err := os.Open(filepath.Join(corpusDir, "labels.csv"))
	if err != nil {
		t.Skip("the labelled recordings are not here")
	}
	defer labels.Close()
	rows := rowsOf(t, labels)
	inv := readRecording(t).inv
	r, shipped, o := shippedRules(t), shippedModel(t), cluster.DefaultOptions()
	check := func(what string, less func(*ingest.Event), unnamed string, lookAlike string) {
		t.Helper()
		rec := recording{inv: inv}
		for i, row := range rows {
			if i%3 != 0 { // a third of them, to save time
				continue
			}
			ws := foldRun(t, filepath.Join(corpusDir, "runs", row["run"]+".csv.gz"), less)
			for k := range ws {
				rec.truth = append(rec.truth, truthOf(t, row, &ws[k]))
			}
			rec.windows = append(rec.windows, ws...)
		}
		points, _, err := cluster.Place(rec.windows, inv, r, shipped, reduce.DefaultOptions(), o)
		if err != nil {
			t.Fatal(err)
		}
		res, _, err := cluster.Diagnose(points, r, shipped, "", o)
		if err != nil {
			t.Fatal(err)
		}
		judged, wrong := 0, map[string]int{}
		for i := range res.Diagnoses.Slice() {
			d := res.Diagnoses.At(i)
			if d.RootCause != "" && strings.Contains(" "+unnamed+" ", " "+d.RootCause+" ") {
				t.Errorf("%s: %s/%s is said to have %s", what, d.Host, d.Device, d.RootCause)
			}
			if rec.truth[i] == "" {
				continue
			}
			judged++
			if p := d.Pathology; p != "" && p != cluster.Unrecognised && p != rec.truth[i] && rec.truth[i]+">"+p != lookAlike {
				wrong[rec.truth[i]+" is said to be "+p]++
			}
		}
		n := 0
		for _, k := range wrong {
			n += k
		}
		if judged < 150 || n > judged/100 {
			t.Errorf("%s: of %d windows %v, want one in a hundred at most", what, judged, wrong)
		}
	}
	check("no offsets", func(e *ingest.Event) { e.OffsetBytes = ingest.Missing }, "cyclic-scan random-over-cache", "")
	// Re-reads of metadata that nobody calls so are re-reads.
	check("no flags", func(e *ingest.Event) { e.Flags = 0 }, "mmap-faults cyclic-scan random-over-cache cold-lookups journal-commits checkpoint-fsync dirty-limit bulk-sync", "metadata-storm>cache-thrash")
	check("no commands, no stages", func(e *ingest.Event) { e.Comm, e.QueueNS = 0, ingest.Missing }, "synchronised-ranks cgroup-throttle", "")
}
