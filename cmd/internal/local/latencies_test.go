package local

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/features"
)

// TestHistograms: biolatency's histograms are ticks, and the windows of a disk of
// which there is nothing better.
func TestHistograms(t *testing.T) {
	var b strings.Builder
	b.WriteString("Tracing block device I/O... Hit Ctrl-C to end.\n")
	for s := range 48 {
		fmt.Fprintf(&b, "\n22:13:%02d\n", s)
		for _, disk := range []string{"sda", "sdb"} {
			fmt.Fprintf(&b, "\ndisk = '%s'\n     usecs               : count     distribution\n       128 -> 255        : 100      |****************|\n       256 -> 511        : 25       |****            |\n", disk)
		}
	}
	s := newShelf(t)
	s.put("a.txt", b.String())
	s.put("b.csv", asEvents("sdb", work()))
	j := s.job()
	j.Config.Ingest.Host, j.Config.Ingest.StartNS = "h1", workStart // 22:13:20
	in, err := j.Ingest(context.Background(), []string{s.logs}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if in.Ticks != 96 || in.Events != workIOs {
		t.Errorf("%d ticks, %d events", in.Ticks, in.Events)
	}
	windows, _, err := j.Features(context.Background(), in.IDs)
	if err != nil {
		t.Fatal(err)
	}
	requests := map[string]int64{}
	for i := range windows.Len() {
		w := windows.At(i)
		requests[w.Device] += w.Requests
		if p95 := w.Context[features.CtxLatencyP95]; w.Device == "sda" && (p95 < 0.4 || p95 > 0.5) {
			t.Errorf("95 %% of latencies below %v ms", p95) // three quarters of 256 to 512 us
		}
	}
	if requests["sda"] != 48*125 || requests["sdb"] != workIOs || len(requests) != 2 {
		t.Errorf("requests %v", requests)
	}
}
