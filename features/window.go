package features

import "github.com/iopathy/iopathy/ingest"

// Key names a device: everything is keyed by it.
type Key struct{ Host, Device string }

// Window is the unit that is classified: one device over [StartNS, EndNS) on
// the epoch grid.
type Window struct {
	Key
	StartNS, EndNS int64
	Kind           ingest.LatencyKind // what its latencies span
	TickNS         int64
	Requests       int64   // completed
	Coverage       float64 // covered share of the window's ticks, times the known share of I/O
	CoveredTicks   int
	Idle           bool // nothing happened, or too little to judge
	Vector         Vector
	Missing        Mask
	Context        Context
}

// Tick is the smallest time bin of a device, closed and exact.
type Tick struct {
	StartNS       int64
	Reads, Writes int64 // completed
	Others        int64 // flushes, discards, other
	ReadBytes     int64
	WriteBytes    int64
	LatencyNS     int64 // sum over the completed
	MaxLatencyNS  int64
	Arrivals      int64
	InFlightNS    int64 // integral of queue depth
	BusyNS        int64
	PeakDepth     int32
}
