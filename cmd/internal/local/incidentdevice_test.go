package local

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/ingest/lake"
)

// How well callers' clocks agree with the device's is known where one log holds
// both, or one side was aligned: then by the sum of the errors.
func TestClockBetween(t *testing.T) {
	sources := map[string]lake.Input{}
	for id, errorNS := range map[string]int64{"blk": 0, "bio": 40_000, "strace": 250_000, "app": 0} {
		text, err := json.Marshal(ingest.ClockReport{Base: "epoch", ErrorNS: errorNS})
		if err != nil {
			t.Fatal(err)
		}
		sources[id] = lake.Input{ID: id, Clock: text}
	}
	set := func(ids []string) map[string]bool {
		m := map[string]bool{}
		for _, id := range ids {
			m[id] = true
		}
		return m
	}
	check := func(own, callers []string, want float64) {
		t.Helper()
		var names ingest.Names
		fold := features.NewIncident(0, 10e9, 0, ingest.KindQ2C, &names)
		call := ingest.Event{TimeNS: 1e9, LatencyNS: 1e6, Kind: ingest.KindSyscall, QueueNS: ingest.Missing}
		fold.AddCall(&call)
		if err := clockBetween(sources, set(own), set(callers), fold); err != nil {
			t.Fatal(err)
		}
		steps := fold.Phases()[features.During].Ladder
		if len(steps) != 1 {
			t.Fatalf("%d stages of one call", len(steps))
		}
		if got := steps[0].ClockNS; got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("%v against %v: error %g ns, want %g", callers, own, got, want)
		}
	}
	check([]string{"blk"}, []string{"strace"}, 250_000)
	check([]string{"bio"}, []string{"strace"}, 290_000)
	check([]string{"bio"}, []string{"app"}, 40_000)
	check([]string{"blk"}, []string{"app"}, math.NaN())
	check([]string{"blk"}, []string{"app", "strace"}, math.NaN())
	check([]string{"blk"}, []string{"blk"}, 0)
	sources["strace"] = lake.Input{ID: "strace", Clock: []byte("{")}
	var names ingest.Names
	if err := clockBetween(sources, set([]string{"blk"}), set([]string{"strace"}), features.NewIncident(0, 1, 0, ingest.KindQ2C, &names)); err == nil {
		t.Error("a damaged clock is taken")
	}
}
