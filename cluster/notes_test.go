package cluster

import (
	"slices"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/reduce"
)

// query finds a question of the shipped catalogue.
func query(t *testing.T, r *Rules, text string) int {
	t.Helper()
	for i, q := range r.Asked() {
		if q.String() == text {
			return i
		}
	}
	t.Fatalf("the catalogue doesn't ask %s", text)
	return 0
}

// iowait that no device backs is said to be none of I/O; one busy device of the
// host, a sick one, or the absence of the source, and nothing is said.
func TestNotes(t *testing.T) {
	r := shippedRules(t)
	iowait := query(t, r, `level("cpu_iowait_share")`)
	check := func(what string, busy [2]float64, verdict Verdict, evidence []features.Reading, want bool) {
		t.Helper()
		var points []reduce.Point
		var d []Diagnosis
		for at := range 4 {
			for k, device := range []string{"sda", "sdb"} {
				w := healthyWindow(device, at)
				w.Evidence = evidence
				p := reduce.Point{Window: &w}
				p.Vector[features.BusyFraction] = busy[k]
				points, d = append(points, p), append(d, Diagnosis{Key: w.Key, Verdict: verdict})
			}
		}
		n := newNoted(r.Witness())
		for i := range points {
			n.add(&points[i], d[i].Verdict)
		}
		n.end()
		got := slices.Concat(n.lines...)
		if want != (len(got) == 1 && strings.Contains(got[0], "host h: iowait without device activity")) || !want && len(got) > 0 {
			t.Errorf("%s: got %q", what, got)
		}
	}
	waits := []features.Reading{{Query: iowait, Value: 0.2485}}
	check("idle devices", [2]float64{0.0005, 0.001}, Healthy, waits, true)
	check("idle verdicts", [2]float64{0.0005, 0.001}, Idle, waits, true)
	check("one is busy", [2]float64{0.0005, 0.9}, Healthy, waits, false)
	check("sick ones", [2]float64{0.0005, 0.001}, Sick, waits, false)
	check("no iowait", [2]float64{0.0005, 0.001}, Healthy, []features.Reading{{Query: iowait, Value: 0.01}}, false)
	check("no source", [2]float64{0.0005, 0.001}, Healthy, nil, false)
}

// Aborted commands alone tell of a stall, though nobody saw the I/O; a level
// or a limit is no ground.
func TestFindings(t *testing.T) {
	r := shippedRules(t)
	aborts := query(t, r, `seen("kernel_scsi_abort|kernel_nvme_timeout|kernel_scsi_timeout|kernel_ata_timeout|kernel_timeout_error|kernel_mmc_timeout", 60)`)
	backlog := query(t, r, `peak("nr_writeback")`)
	window := func(q int, v float64) features.Window {
		w := healthyWindow("sda", 0)
		w.Evidence = []features.Reading{{Query: q, Value: v, Text: "abort"}}
		return w
	}
	got := r.Findings([]features.Window{window(aborts, 7), window(aborts, 0), window(backlog, 1e9)})
	if len(got) != 1 || got[0].Pathology != "sudden-stall" || got[0].Cause != "aborted-commands" || len(got[0].Readings) != 1 || got[0].Readings[0].Value != 7 {
		t.Errorf("got %+v", got)
	}
}
