package reports

import (
	"math"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
)

func TestTellsNameTheDecidingNumber(t *testing.T) {
	in := made(12, 20, 3, 5)
	e := in.Result.Episodes[0]
	p := in.pathology(e.Pathology)
	if p == nil {
		t.Fatalf("the worst episode is %s", e.Pathology)
	}
	for i := range in.Windows.Len() { // all of one depth, but for the worst window of the episode
		in.Windows.At(i).Context[features.CtxMeanDepth] = 2
	}
	worst := -1
	for i := range in.Windows.Len() {
		r := in.Result.Diagnoses.At(i)
		if r.Key == e.Key && r.Verdict == cluster.Sick && (worst < 0 || r.Severity > in.Result.Diagnoses.At(worst).Severity) {
			worst = i
		}
	}
	in.Windows.At(worst).Context[features.CtxMeanDepth] = 96
	in.Windows.At(worst).Context[features.CtxStallSeconds] = 0.25
	in.Points.At(worst).Vector[features.LatencyLoadResidual] = math.Log10(3)
	check := func(want string, tells ...cluster.Tell) {
		t.Helper()
		p.Tells = tells
		f := gathered(t, in)
		if got := strings.Join(f.tells(f.index[e.Key], &e), "; "); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	check("96 in flight (when healthy 2)", cluster.Tell{Fact: "mean_depth", From: 4, Says: "{} in flight"})
	check("", cluster.Tell{Fact: "mean_depth", From: 97, Says: "{} in flight"})    // too little to tell
	check("stood for 0.25 s", cluster.Tell{Fact: "stall_s", Says: "stood for {}"}) // no healthy window knows it
	check("3 times slower", cluster.Tell{Fact: cluster.LatencyOverNormal, From: 1.2, Says: "{} times slower"})
	check("", cluster.Tell{Fact: "period_s", Says: "every {}"}) // unknown
	in.Windows.At(worst).Missing |= 1 << features.LatencyLoadResidual
	check("", cluster.Tell{Fact: cluster.LatencyOverNormal, Says: "{} times slower"})
}
