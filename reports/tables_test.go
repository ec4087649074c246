package reports

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; got\n%s", path, got)
	}
}

// small is an Input for goldens: 7 devices, 5 windows, one class of each kind.
func small() *Input {
	in := made(7, 5, 3, 11)
	in.Ingest.Sources = in.Ingest.Sources[:2]
	return in
}

func TestLabelsCSV(t *testing.T) {
	var b bytes.Buffer
	if err := LabelsCSV(&b, small()); err != nil {
		t.Fatal(err)
	}
	golden(t, "labels.csv", b.Bytes())
	const header = "host,device,window_start_ns,window_end_ns,verdict,pathology,class_id,severity,confidence,root_cause,root_cause_share,coverage," +
		"latency_load_residual,latency_kurtosis,throughput_entropy,throughput_plateau,queue_depth_level,queue_depth_jump_rate," +
		"busy_fraction,burst_queueing,write_flood,sync_metadata_share,reread_share,stall_gap\n"
	if !strings.HasPrefix(b.String(), header) {
		t.Errorf("header is %q", b.String()[:strings.Index(b.String(), "\n")])
	}
}

func TestLabelsCSVKeepsHostileNamesWhole(t *testing.T) {
	in := made(12, 30, 5, 9)
	hostile(in)
	var b bytes.Buffer
	if err := LabelsCSV(&b, in); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != in.Windows.Len()+1 {
		t.Fatalf("%d rows for %d windows", len(rows)-1, in.Windows.Len())
	}
	for i, r := range rows[1:] {
		// The reader of CSV takes \r\n for \n; nothing else may change.
		if want := strings.ReplaceAll(in.Windows.At(i).Device, "\r\n", "\n"); r[0] != in.Windows.At(i).Host || r[1] != want {
			t.Errorf("row %d is of %q/%q, want %q/%q", i, r[0], r[1], in.Windows.At(i).Host, want)
		}
	}
}

func TestLabelColumnsSayWhatTheCSVSays(t *testing.T) {
	in := small()
	var b bytes.Buffer
	if err := LabelsCSV(&b, in); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	columns, err := LabelColumns(in)
	if err != nil {
		t.Fatal(err)
	}
	for k, c := range columns {
		if rows[0][k] != c.Name {
			t.Errorf("column %d is %q, in the CSV %q", k, c.Name, rows[0][k])
		}
		data := reflect.ValueOf(c.Data)
		for i, r := range rows[1:] {
			text := ""
			if c.Valid == nil || c.Valid[i] {
				switch v := data.Index(i).Interface().(type) {
				case string:
					text = v
				case int64:
					text = strconv.FormatInt(v, 10)
				case float64:
					text = digits(v)
				}
			}
			if text != r[k] {
				t.Errorf("%s of row %d: %q, in the CSV %q", c.Name, i, text, r[k])
			}
		}
	}
}

func TestJSON(t *testing.T) {
	var b bytes.Buffer
	if err := JSON(&b, small()); err != nil {
		t.Fatal(err)
	}
	golden(t, "report.json", b.Bytes())
	var doc struct {
		Schema int
		Model  string
		Totals struct{ Windows, Healthy, Idle, Artefact, Sick int }
	}
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if s := doc.Totals; doc.Schema != SchemaVersion || doc.Model != "fitted" || s.Healthy+s.Idle+s.Artefact+s.Sick != s.Windows {
		t.Errorf("the document says %+v", doc)
	}
}

func TestJSONOfNothing(t *testing.T) {
	var b bytes.Buffer
	if err := JSON(&b, &Input{}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "null") {
		t.Errorf("an empty report holds nulls: %s", b.String())
	}
}
