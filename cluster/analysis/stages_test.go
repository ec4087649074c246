package analysis

import (
	"math"
	"testing"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
)

func TestStages(t *testing.T) {
	var s Stages
	if mean, sd := s.Queue(); mean == mean || sd == sd {
		t.Errorf("nothing: %g, %g", mean, sd)
	}
	add := func(kind ingest.LatencyKind, requests int64, share, latencyMS float64) {
		w := features.Window{Kind: kind, Requests: requests}
		w.Context[features.CtxQueueShare], w.Context[features.CtxLatencyMean] = share, latencyMS
		s.Add(&w)
	}
	add(ingest.KindQ2C, 100, 0.5, 4)           // 2 ms and 2 ms
	add(ingest.KindQ2C, 300, 0.75, 8)          // 6 ms and 2 ms
	add(ingest.KindD2C, 100, 0.5, 100)         // of the device alone
	add(ingest.KindQ2C, 100, math.NaN(), 1000) // not told
	check := func(name string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-12 {
			t.Errorf("%s is %g, want %g", name, got, want)
		}
	}
	mean, sd := s.Queue()
	check("queue", mean, 5e-3)
	check("sd of the queue", sd, math.Sqrt(8)*1e-3)
	mean, sd = s.Device()
	check("device", mean, 2e-3)
	check("sd of the device", sd, 0)
	if s.Windows != 2 || s.Requests != 400 {
		t.Errorf("%d windows, %d requests", s.Windows, s.Requests)
	}
}
