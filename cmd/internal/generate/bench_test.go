package generate

import (
	"io"
	"testing"
)

// BenchmarkWrite is queues and text together, by format: MB/s of log, of one
// device after another.
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
			for i := range b.N {
				v := fleet.Disk(i % o.Devices)
				out := make([]*Output, max(f.Parts, 1))
				for p := range out {
					out[p] = newOutput(io.Discard)
				}
				log := f.Open(v, out)
				requests += v.play(log, f.Staged)
				log.End()
				for _, p := range out {
					p.flush()
					bytes += p.bytes
				}
			}
			b.SetBytes(bytes / int64(b.N))
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(requests), "ns/request")
		})
	}
}
