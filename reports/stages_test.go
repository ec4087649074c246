package reports

import (
	"testing"

	"github.com/iopathy/iopathy/cluster/analysis"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
)

func TestStagesOfAClass(t *testing.T) {
	if stagesOf(nil) != nil || len(jsonStages(nil)) != 0 || stagesOf(&analysis.Stages{}) != nil {
		t.Error("stages of a class that has none")
	}
	var s analysis.Stages
	for _, share := range []float64{0.5, 0.75} {
		w := features.Window{Kind: ingest.KindQ2C, Requests: 10}
		w.Context[features.CtxQueueShare], w.Context[features.CtxLatencyMean] = share, 8
		s.Add(&w)
	}
	v := stagesOf(&s)
	if v.Windows != "2 windows" || v.Rows[0] != (stageRow{"queue (Q2D)", "5", "1.41"}) || v.Rows[1] != (stageRow{"device (D2C)", "3", "1.41"}) {
		t.Errorf("page: %+v", v)
	}
	if j := jsonStages(&s); len(j) != 2 || j[0].Windows != 2 || j[0].Requests != 20 || j[0].MeanS != 0.005 || j[1].MeanS != 0.003 {
		t.Errorf("json: %+v", j)
	}
}
