package generate

import (
	"io"
	"testing"
)

// BenchmarkWrite is queues and text of a fleet together, by format, one device after
// another: MB of log in a second, and in a second of processor time, which others
// on the machine change less.
func BenchmarkWrite(b *testing.B) {
	for _, f := range Formats() {
		b.Run("format="+f.Name, func(b *testing.B) {
			o := DefaultOptions()
			o.Devices, o.Hours, o.Format = 24, 0.1, f.Name
			fleet, err := NewFleet(o)
			if err != nil {
				b.Fatal(err)
			}
			var bytes, requests int64
			began := processorTime()
			b.ResetTimer()
			for range b.N {
				for i := range o.Devices {
					v := fleet.Disk(i)
					out := make([]*Output, max(f.Parts, 1))
					for p := range out {
						out[p] = newOutput(io.Discard)
					}
					log := f.Open(v, out)
					requests += v.play(log, f.Staged, f.At)
					log.End()
					for _, p := range out {
						p.flush()
						bytes += p.bytes
					}
				}
			}
			b.SetBytes(bytes / int64(b.N))
			if used := processorTime() - began; used > 0 {
				b.ReportMetric(float64(bytes)/1e6/used.Seconds(), "MB/cpu-s")
				b.ReportMetric(float64(used.Nanoseconds())/float64(requests), "cpu-ns/request")
			}
		})
	}
}
