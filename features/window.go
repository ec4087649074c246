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
	Coverage       float64 // covered share of the window's ticks, times Known
	Known          float64 // share of the requests whose latency is known, where any is; else 1
	CoveredTicks   int     // ticks inside the device's span
	Idle           bool    // nothing happened, or too little to judge
	Vector         Vector
	Missing        Mask
	Context        Context
	Ladder         Packed    // of the requests whose source tells stages
	Evidence       []Reading // what was asked of the evidence and is known, by query; it stands in no table
}

// Tick is the smallest time bin of a device, closed and exact. Completed I/O
// counts where it completes, arrivals where they start, the integrals where
// they lie.
type Tick struct {
	StartNS       int64
	Reads, Writes int64 // completed
	Others        int64 // flushes, discards, other
	ReadBytes     int64
	WriteBytes    int64
	OtherBytes    int64 // of samples that don't tell reads from writes
	Timed         int64 // completed with a known latency
	LatencyNS     int64 // sum over the timed
	MaxLatencyNS  int64
	TimedReads    int64
	ReadLatencyNS int64 // sum over the timed reads
	Arrivals      int64
	InFlightNS    int64 // integral of queue depth
	BusyNS        int64
	PeakDepth     int32
}

// Requests is the number of completed requests of the tick.
func (t *Tick) Requests() int64 { return t.Reads + t.Writes + t.Others }

// Bytes is the number of bytes read and written.
func (t *Tick) Bytes() int64 { return t.ReadBytes + t.WriteBytes + t.OtherBytes }

// Quiet reports whether nothing arrived, completed or was in flight.
func (t *Tick) Quiet() bool {
	return t.Arrivals == 0 && t.InFlightNS == 0 && t.PeakDepth == 0 && t.Requests() == 0
}
