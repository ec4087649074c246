package formats

import (
	"math"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

// fioFacts reads a report and gives its evidence by name and text.
func fioFacts(t *testing.T, data []byte) (map[string]float64, *ingest.Out) {
	t.Helper()
	if FioJSON.Sniff(data[:min(len(data), ingest.SniffBytes)], "x") != 2 {
		t.Error("not known as fio-json")
	}
	out := decodeAll(t, FioJSON, "x", data, ingest.DefaultOptions(), 0)
	facts := make(map[string]float64)
	for _, e := range out.Evidence {
		facts[out.Names.String(e.Name)+" "+out.Names.String(e.Text)] = e.Value
	}
	if out.Tally.Rejected() != 0 || out.Tally.Accounted() != out.Tally.Lines {
		t.Errorf("fates %s", fates(out.Tally))
	}
	return facts, out
}

func checkFact(t *testing.T, facts map[string]float64, key string, want float64) {
	t.Helper()
	if v, ok := facts[key]; !ok || math.Abs(v-want) > 1e-9*math.Abs(want) {
		t.Errorf("%s: %v (told: %v), want %v", key, v, ok, want)
	}
}

// TestFioJSONRecording: run A's report, alone and amid fio's normal output, which
// holds the same. Oracle: the normal output's own figures.
func TestFioJSONRecording(t *testing.T) {
	alone, _ := fioFacts(t, sharedFile(t, "samples", "fio-json", "runA-fio.jsonplus.json"))
	mixed, _ := fioFacts(t, sharedFile(t, "samples", "fio-json", "runA-fio-normal+jsonplus.mixed.txt"))
	for _, facts := range []map[string]float64{alone, mixed} {
		checkFact(t, facts, "fio_read_ios randread", 1500)
		checkFact(t, facts, "fio_read_bytes randread", 1500*4096)
		checkFact(t, facts, "fio_read_clat_mean_ns randread", 208662.296667)
		checkFact(t, facts, "fio_read_clat_max_ns randread", 16177002)
		checkFact(t, facts, "fio_read_clat_p99_ns randread", 3457024)
		checkFact(t, facts, "fio_read_clat_p99.9_ns randread", 4227072)
		checkFact(t, facts, "fio_read_runtime_ns randread", 6001e6)
		checkFact(t, facts, "fio_write_ios seqwrite", 360)
		checkFact(t, facts, "fio_write_bytes seqwrite", 360*65536)
		checkFact(t, facts, "fio_write_ios randwrite-fsync", 721)
		checkFact(t, facts, "fio_write_bytes randwrite-fsync", 721*4096)
		checkFact(t, facts, "fio_sync_ios randwrite-fsync", 45)
		checkFact(t, facts, "fio_read_ios bufread", 401)
		checkFact(t, facts, "fio_read_bytes bufread", 401*16384)
		checkFact(t, facts, "fio_job_error bufread", 0)
		checkFact(t, facts, "fio_disk_read_ios ", 1513)
		checkFact(t, facts, "fio_disk_write_ios ", 1173)
		checkFact(t, facts, "fio_disk_read_ns ", 352e6)
		checkFact(t, facts, "fio_disk_write_ns ", 1475e6)
		checkFact(t, facts, "fio_disk_util ", 0.19720408)
		if _, told := facts["fio_trim_ios randread"]; told {
			t.Error("a job that trims nothing tells of trims")
		}
	}
	if len(mixed) != len(alone)+1 || mixed["fio_text_lines "] == 0 { // the text is counted, no more
		t.Errorf("%d facts alone, %d amid text", len(alone), len(mixed))
	}
}

// TestFioJSONAmidErrors: errors around a report. Oracle: the case's own figures.
func TestFioJSONAmidErrors(t *testing.T) {
	facts, out := fioFacts(t, sharedFile(t, "cases", "A-11-fio-json-with-error-lines", "input.fio.json"))
	for key, want := range map[string]float64{
		"fio_read_ios test": 10240, "fio_read_bytes test": 41943040, "fio_read_clat_mean_ns test": 780000.5, "fio_read_clat_max_ns test": 2100e6,
		"fio_write_ios test": 10112, "fio_write_bytes test": 41418752, "fio_write_clat_mean_ns test": 310000,
		"fio_job_error test": 5, "fio_read_runtime_ns test": 12e9, "fio_option_runtime_ns global": 30e9,
		"fio_text_lines ": 5, "fio_disk_read_ios ": 10243,
		"fio_error fio: pid=5509, err=5/file:io_u.c:1896, func=io_u error, error=Input/output error": 5,
	} {
		checkFact(t, facts, key, want)
	}
	const line = " fio: io_u error on file /dev/sdX: Input/output error: read offset=184912257024, buflen=4096"
	checkFact(t, facts, "fio_io_error"+line, 5)
	checkFact(t, facts, "fio_io_error_offset_bytes"+line, 184912257024)
	checkFact(t, facts, "fio_io_error_bytes"+line, 4096)
	if _, told := facts["fio_trim_ios test"]; told {
		t.Error("trims are told of")
	}
	for _, e := range out.Evidence {
		if e.TimeNS != 1702479026165e6 {
			t.Errorf("%s at %d, want the end of the run", out.Names.String(e.Name), e.TimeNS)
		}
	}
}

// TestFioJSONSniff: fio's other files are not reports.
func TestFioJSONSniff(t *testing.T) {
	for _, head := range []string{"fio version 3 iolog\n30 /dev/null add\n", "1, 2, 0, 4096, 0, 0\n", "{\"sysstat\": {}}\n"} {
		if FioJSON.Sniff([]byte(head), "x") != 0 {
			t.Errorf("%q is claimed", head)
		}
	}
}
