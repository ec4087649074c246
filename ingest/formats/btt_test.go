package formats

import (
	"math"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

// TestBttRunA holds the times of run A's I/Os against those that btt (of
// the blktrace package) gave for the same binary trace, in its table "All
// Devices". btt weighs by bio and iopathy by request: 47 bios were merged into
// another's request, and of the split ones btt counts each Q once. So the means
// may stand apart by as much as those few weigh; least and most are single
// I/Os, whose stamps are the same to the ns.
func TestBttRunA(t *testing.T) {
	out := decodeBlkparse(t, sharedFile(t, "samples", "blkparse", "runA-loop0.blkparse.txt.gz"), ingest.Options{})
	type span struct{ least, most, sum, n int64 }
	d2c, q2c, q2d := span{least: math.MaxInt64}, span{least: math.MaxInt64}, span{least: math.MaxInt64}
	add := func(s *span, ns int64) {
		s.least, s.most, s.sum, s.n = min(s.least, ns), max(s.most, ns), s.sum+ns, s.n+1
	}
	for _, e := range out.Events {
		if e.Op != ingest.OpRead && e.Op != ingest.OpWrite {
			continue
		}
		add(&q2c, e.LatencyNS)
		add(&q2d, e.QueueNS)
		add(&d2c, e.LatencyNS-e.QueueNS)
	}
	check := func(what string, s span, least, most int64, mean float64) {
		t.Helper()
		t.Logf("%s: %d to %d ns, mean %.3f us of %d", what, s.least, s.most, float64(s.sum)/float64(s.n)/1e3, s.n)
		if s.least != least || s.most != most {
			t.Errorf("%s: %d to %d ns, btt has %d to %d", what, s.least, s.most, least, most)
		}
		if got := float64(s.sum) / float64(s.n) / 1e3; math.Abs(got/mean-1) > 0.01 {
			t.Errorf("%s: mean %.3f us, btt has %.3f", what, got, mean)
		}
	}
	check("D2C", d2c, 48513, 95675173, 642.185)
	check("Q2C", q2c, 59539, 95714031, 680.356)
	// btt has no Q2D; its parts are Q2G (Q2M for merged bios), G2I and I2D:
	// what its Q2C has beyond its D2C.
	if mean := float64(q2d.sum) / float64(q2d.n) / 1e3; math.Abs(mean-(680.356-642.185)) > 2 {
		t.Errorf("Q2D: mean %.3f us, btt's Q2C without D2C is %.3f", mean, 680.356-642.185)
	}
}
