package formats

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

// TestNoAllocationPerLine reads each log of the benchmarks that is read by lines once
// and twice as long: what is allocated more is no more than the growth of what is kept
// (devices, names, tables), far below one allocation in ten lines.
func TestNoAllocationPerLine(t *testing.T) {
	if testing.Short() {
		t.Skip("megabytes of logs")
	}
	for _, l := range speedLogs() {
		if l.format.Line == nil && l.format.Lines == nil {
			continue
		}
		one, two := l.sample(150_000), l.sample(300_000)
		cost := func(s sample) (allocs, lines int64) {
			least := int64(1 << 62) // others allocate too
			for range 3 {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				lines = read(t, s, 1, func(*ingest.Chunk) {}).rep.Tally.Lines
				runtime.ReadMemStats(&after)
				least = min(least, int64(after.Mallocs-before.Mallocs))
			}
			return least, lines
		}
		a, n := cost(one)
		b, m := cost(two)
		if m < n*3/2 {
			t.Fatalf("%s: %d and %d lines of %d", l.name(), n, m, bytes.Count(two.data, []byte{'\n'}))
		}
		most := 0.05
		switch l.format.Name {
		case "darshan", "dmesg", "smartctl", "lspci", "biolatency", "dftracer":
			most = 0.5
		}
		if per := float64(b-a) / float64(m-n); per > most {
			t.Errorf("%s: %.3f allocations per line", l.name(), per)
		}
	}
}
