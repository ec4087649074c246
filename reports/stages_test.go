package reports

import (
	"math"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cluster/analysis"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
)

func TestStagesOfAClass(t *testing.T) {
	if stagesOf(nil, "", "") != nil || len(jsonStages(nil)) != 0 || stagesOf(&analysis.Ladder{}, "", "") != nil {
		t.Error("stages of a class that has none")
	}
	var l analysis.Ladder
	for _, queue := range []int64{4e6, 6e6} {
		var one features.Ladder
		e := ingest.NewEvent()
		e.Kind, e.LatencyNS, e.QueueNS, e.GetNS, e.InsertNS = ingest.KindQ2C, 8e6, queue, 3e6, 2e6
		one.AddEvent(&e)
		l.Add(&features.Window{Ladder: one.Pack()})
	}
	v := stagesOf(&l, "sick ", "")
	if v.Of != "2 sick windows" || len(v.Rows) != 6 || !strings.Contains(v.Says, "Most of it: kernel") {
		t.Fatalf("page: %+v", v)
	}
	check := func(at int, want stageRow) {
		t.Helper()
		got := v.Rows[at]
		got.P50, got.P99 = "", "" // of buckets
		if got != want {
			t.Errorf("row %d: %+v, want %+v", at, got, want)
		}
	}
	check(0, stageRow{"block layer (Q2C)", "2", "8", "0", "", "", "0"})
	check(1, stageRow{"queue (Q2D)", "2", "5", "1", "", "", "0"})
	check(2, stageRow{"request (Q2G)", "2", "2", "1", "", "", "0"})
	check(3, stageRow{"plug or flush (G2I)", "2", "1", "0", "", "", "0"})
	check(4, stageRow{"scheduler (I2D)", "2", "2", "0", "", "", "0"})
	check(5, stageRow{"device (D2C)", "2", "3", "1", "", "", "0"})
	j := jsonStages(&l)
	// Of two, the value at rank 0.99 x (n-1) is still the lower one.
	if len(j) != 6 || j[1].Windows != 2 || j[1].Requests != 2 || j[1].MeanS != 0.005 || j[1].SD != 0.001 || math.Abs(float64(j[1].P99)/0.004-1) > 0.06 || j[1].Clock != 0 {
		t.Errorf("json: %+v", j)
	}
}

func TestPressure(t *testing.T) {
	check := func(want, pathology string, causes ...cluster.Cause) {
		t.Helper()
		if got := analysis.PressureOf(pathology, causes); got != want {
			t.Errorf("%s: %q, want %q", pathology, got, want)
		}
	}
	check("write-back", "writeback-stall")
	check("write-back", "writeback-stall", cluster.Cause{ID: "dirty-limit"})
	check("a limit that throttles", "bandwidth-saturation", cluster.Cause{ID: "cgroup-throttle"}, cluster.Cause{ID: "link-full"})
	check("", "bandwidth-saturation", cluster.Cause{ID: "link-full"}, cluster.Cause{ID: "cgroup-throttle"})
	check("", "media-degradation")
}
