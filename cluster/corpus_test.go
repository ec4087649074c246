package cluster_test

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/reduce"
)

var update = flag.Bool("update", false, "write configs/model.json from the labelled recordings")

const corpusDir = "../../shared/corpus"

// provenance stands in the shipped model.
const provenance = "calibrated on recordings of 82 block devices of five kinds, one fault or none each (block layer, 10 s windows, 0.1 s ticks)"

// recording is the windows of the labelled recordings, and what is true.
type recording struct {
	windows []features.Window
	truth   []string
	inv     reduce.Inventory
}

// recorded is what readRecording gives: the recordings are folded once.
var recorded struct {
	sync.Once
	recording
}

func readRecording(t *testing.T) recording {
	t.Helper()
	if testing.Short() {
		t.Skip("folding the labelled recordings takes some seconds")
	}
	if _, err := os.Stat(corpusDir); err != nil {
		t.Skip("the labelled recordings are not here")
	}
	recorded.Do(func() { recorded.recording = foldRecording(t, corpusDir) })
	if len(recorded.windows) == 0 {
		t.Fatal("the labelled recordings could not be read")
	}
	return recorded.recording
}

func foldRecording(t *testing.T, dir string) recording {
	t.Helper()
	labels, err := os.Open(filepath.Join(dir, "labels.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer labels.Close()
	r := recording{inv: reduce.Inventory{}}
	for _, row := range rowsOf(t, labels) {
		ws := foldRun(t, filepath.Join(dir, "runs", row["run"]+".csv.gz"), nil)
		for i := range ws {
			r.truth = append(r.truth, truthOf(t, row, &ws[i]))
		}
		r.windows = append(r.windows, ws...)
	}
	inventory, err := os.Open(filepath.Join(dir, "inventory.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer inventory.Close()
	for _, row := range rowsOf(t, inventory) {
		r.inv[features.Key{Host: row["host"], Device: row["device"]}] = reduce.Device{Model: row["model"], Rotational: row["rotational"]}
	}
	return r
}

func rowsOf(t *testing.T, f *os.File) []map[string]string {
	t.Helper()
	all, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var rows []map[string]string
	for _, fields := range all[1:] {
		row := map[string]string{}
		for i, name := range all[0] {
			row[name] = fields[i]
		}
		rows = append(rows, row)
	}
	return rows
}

// foldRun folds a recording; less, if it is not nil, takes from each event what
// its source is not to tell.
func foldRun(t *testing.T, path string, less func(*ingest.Event)) []features.Window {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	ops := map[string]ingest.Op{"R": ingest.OpRead, "W": ingest.OpWrite, "F": ingest.OpFlush, "D": ingest.OpDiscard}
	var events []ingest.Event
	var names ingest.Names
	var key features.Key
	longest := int64(0)
	s := bufio.NewScanner(z)
	s.Scan() // header
	for s.Scan() {
		c := strings.Split(s.Text(), ",")
		e := ingest.NewEvent()
		for i, to := range map[int]*int64{0: &e.TimeNS, 7: &e.OffsetBytes, 8: &e.SizeBytes, 9: &e.QueueNS, 10: &e.LatencyNS} {
			if *to, err = strconv.ParseInt(c[i], 10, 64); err != nil {
				t.Fatal(err)
			}
		}
		key = features.Key{Host: c[1], Device: c[2]}
		e.Comm, e.Op, e.Flags, e.Kind = names.InternString(c[4]), ops[c[5]], ingest.ParseFlags(c[6]), ingest.KindQ2C
		e.Position = int64(len(events))
		if less != nil {
			less(&e)
		}
		longest = max(longest, e.LatencyNS)
		events = append(events, e)
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	slices.SortStableFunc(events, func(a, b ingest.Event) int {
		return cmp.Or(cmp.Compare(a.TimeNS, b.TimeNS), cmp.Compare(a.StartNS(), b.StartNS()), cmp.Compare(a.OffsetBytes, b.OffsetBytes),
			cmp.Compare(a.SizeBytes, b.SizeBytes), cmp.Compare(a.Op, b.Op))
	})
	var ws []features.Window
	fold := features.NewFold(key, features.DefaultOptions(), longest, nil, func(w *features.Window) { ws = append(ws, *w) })
	for i := range events {
		fold.Add(&events[i])
	}
	fold.Close(0)
	return ws
}

// truthOf is a slug, "healthy", or "" where a window holds both: half of the
// window must lie in the fault, for a stall 0.2 s of it.
func truthOf(t *testing.T, row map[string]string, w *features.Window) string {
	t.Helper()
	label := row["label"]
	if label == "healthy" || row["fault_start_ns"] == "" {
		return "healthy"
	}
	number := func(s string) int64 {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	overlap := func(from, to int64) int64 { return max(min(w.EndNS, to)-max(w.StartNS, from), 0) }
	in := overlap(number(row["fault_start_ns"]), number(row["fault_end_ns"]))
	switch {
	case in == 0:
		return "healthy"
	case label == "sudden-stall":
		var p struct {
			Stalls [][2]int64 `json:"stalls_ns"`
		}
		if err := json.Unmarshal([]byte(row["parameters"]), &p); err != nil {
			t.Fatal(err)
		}
		in = 0
		for _, s := range p.Stalls {
			in += overlap(s[0], s[1])
		}
		if in >= 2e8 {
			return label
		}
		return ""
	case in*2 >= w.EndNS-w.StartNS:
		return label
	}
	return ""
}

func shippedRules(t *testing.T) *cluster.Rules {
	t.Helper()
	data, err := os.ReadFile("../configs/catalogue.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var c cluster.Catalogue
	if err := yaml.Unmarshal(data, &c); err != nil {
		t.Fatal(err)
	}
	r, err := cluster.Compile(c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The shipped model is what calibration makes of the labelled recordings.
func TestShippedModel(t *testing.T) {
	const path = "../configs/model.json"
	rec, r, o := readRecording(t), shippedRules(t), cluster.DefaultOptions()
	points, _, err := cluster.Place(rec.windows, rec.inv, r, nil, reduce.DefaultOptions(), o)
	if err != nil {
		t.Fatal(err)
	}
	m, err := cluster.Calibrate(points, rec.truth, r, nil, provenance, o)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	data = append(data, '\n')
	if *update {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(data, want) {
		t.Errorf("the recordings give another model than %s; -update writes it", path)
	}
}

// Accuracy on the labelled recordings: by the fleet whole, by the shipped
// classes, without each device model in turn, of each alone, without an
// inventory. Signatures and rules were made with these recordings in view; the
// figures are a floor that no change may fall through, not a forecast.
func TestAccuracy(t *testing.T) {
	rec, r, shipped := readRecording(t), shippedRules(t), shippedModel(t)
	check := func(what string, keep func(model string) bool, inv reduce.Inventory, force string, o cluster.Options, f1, alarm float64) {
		t.Helper()
		var ws []features.Window
		var truth []string
		for i := range rec.windows {
			if keep(rec.inv[rec.windows[i].Key].Model) {
				ws, truth = append(ws, rec.windows[i]), append(truth, rec.truth[i])
			}
		}
		points, _, err := cluster.Place(ws, inv, r, shipped, reduce.DefaultOptions(), o)
		if err != nil {
			t.Fatal(err)
		}
		res, _, err := cluster.Diagnose(points, r, shipped, force, o)
		if err != nil {
			t.Fatal(err)
		}
		macro, alarms := score(res.Diagnoses.Slice(), truth)
		t.Logf("%-28s %-7s windows %d macroF1 %.3f falseAlarm %.3f", what, res.Model, len(ws), macro, alarms)
		if macro < f1 || alarms > alarm {
			t.Errorf("%s: macroF1 %.3f below %.2f or falseAlarm %.3f above %.2f", what, macro, f1, alarms, alarm)
		}
	}
	all := func(string) bool { return true }
	o := cluster.DefaultOptions()
	alone := o
	alone.Alone = true
	check("all", all, rec.inv, "", o, 0.95, 0.03)
	check("all, windows by themselves", all, rec.inv, "", alone, 0.92, 0.05)
	check("all, shipped classes", all, rec.inv, cluster.Shipped, o, 0.95, 0.03)
	check("all, no inventory", all, nil, "", o, 0.85, 0.08)
	models := map[string]bool{}
	for _, d := range rec.inv {
		models[d.Model] = true
	}
	for m := range models {
		check("without "+m, func(x string) bool { return x != m }, rec.inv, "", o, 0.93, 0.05)
		check("alone "+m, func(x string) bool { return x == m }, rec.inv, "", o, 0.90, 0.05)
	}
}

// score is the mean F1 over healthy and the pathologies that occur, and the
// share of healthy windows that are called sick.
func score(d []cluster.Diagnosis, truth []string) (macro, alarm float64) {
	hit, said, is := map[string]float64{}, map[string]float64{}, map[string]float64{}
	for i := range d {
		if truth[i] == "" {
			continue
		}
		p := d[i].Pathology
		if d[i].Verdict == cluster.Healthy || d[i].Verdict == cluster.Idle {
			p = "healthy"
		}
		said[p]++
		is[truth[i]]++
		if p == truth[i] {
			hit[p]++
		} else if truth[i] == "healthy" {
			alarm++
		}
	}
	for c, n := range is {
		macro += 2 * hit[c] / (n + said[c]) / float64(len(is))
	}
	return macro, alarm / max(is["healthy"], 1)
}
