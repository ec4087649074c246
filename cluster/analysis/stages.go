package analysis

import (
	"math"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
)

// Stages is how long requests spend before their device (queue, Q2D) and in it
// (D2C), over windows whose source tells both. Windows hold the means of their
// requests alone, so there are no quantiles.
type Stages struct {
	Windows, Requests int64
	queue, device     moments
}

// moments are of the means of windows; all weighs them by requests.
type moments struct{ sum, squares, all float64 }

// Add takes a window. One without queue times, or whose latencies do not span
// queue and device, counts for nothing.
func (s *Stages) Add(w *features.Window) {
	share, latency := w.Context[features.CtxQueueShare], w.Context[features.CtxLatencyMean]/1e3
	if w.Kind != ingest.KindQ2C || math.IsNaN(share) || math.IsNaN(latency) || w.Requests <= 0 {
		return
	}
	s.Windows++
	s.Requests += w.Requests
	s.queue.add(share*latency, w.Requests)
	s.device.add((1-share)*latency, w.Requests)
}

func (m *moments) add(v float64, n int64) {
	m.sum += v
	m.squares += v * v
	m.all += v * float64(n)
}

// Queue gives the mean time of a request before its device, and the standard
// deviation of the windows' means, in seconds; NaN where it isn't known.
func (s *Stages) Queue() (mean, sd float64) { return s.of(&s.queue) }

// Device gives the same of the time in the device.
func (s *Stages) Device() (mean, sd float64) { return s.of(&s.device) }

func (s *Stages) of(m *moments) (mean, sd float64) {
	if s.Windows == 0 {
		return math.NaN(), math.NaN()
	}
	mean, sd = m.all/float64(s.Requests), math.NaN()
	if n := float64(s.Windows); n > 1 {
		sd = math.Sqrt(math.Max(m.squares-m.sum*m.sum/n, 0) / (n - 1))
	}
	return mean, sd
}
