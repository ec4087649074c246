package formats

import (
	"slices"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

// FuzzInterval decodes anything by the decoders of fio logs and iostat without
// the reading loop, which is what makes it fast: the fates sum (decodeAll checks
// it), no value is impossible, and the steps in which a stream comes change nothing.
func FuzzInterval(f *testing.F) {
	for _, s := range shelf(f) {
		switch s.format.Name {
		case FioLog.Name, Iostat.Name, IostatJSON.Name:
			f.Add(s.data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		o := ingest.Options{Format: FioLog.Name, StartNS: 1_700_000_000e9}
		for _, e := range decodeAll(t, FioLog, "x_lat.1.log", data, o, 0).Events {
			if min(e.LatencyNS, e.OffsetBytes, e.SizeBytes) < ingest.Missing || e.TimeNS < 0 {
				t.Errorf("impossible event %+v", e)
			}
		}
		check := func(out *ingest.Out) {
			for i := range out.Samples {
				s := &out.Samples[i]
				values := counters(s)
				if slices.Min(values[:]) < ingest.Missing || s.IntervalNS <= 0 || s.Device == 0 {
					t.Errorf("impossible sample %+v", *s)
				}
			}
		}
		check(decodeAll(t, Iostat, "x", data, o, 0))
		whole := decodeAll(t, IostatJSON, "x", data, o, len(data))
		check(whole)
		steps := decodeAll(t, IostatJSON, "x", data, o, 1+len(data)/7)
		if !slices.Equal(whole.Samples, steps.Samples) || whole.Tally.Lines != steps.Tally.Lines || !slices.EqualFunc(whole.Rejected, steps.Rejected, func(a, b ingest.Reject) bool { return a == b }) {
			t.Errorf("steps of a stream change what is read: %d and %d samples", len(whole.Samples), len(steps.Samples))
		}
	})
}
