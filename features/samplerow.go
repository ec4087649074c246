package features

import (
	"math"

	"github.com/iopathy/iopathy/ingest"
)

// sampleRow is one interval; sums are 0 where knows says that they are unknown.
type sampleRow struct {
	tick     Tick
	interval int64
	knows    knows
	flushes  int64
	discards int64
	merged   int64
}

// knows says which counters of an interval are known.
type knows uint16

const (
	knowsCounts knows = 1 << iota
	knowsBytes
	knowsSplit // reads and writes apart
	knowsTimes
	knowsDepth
	knowsBusy
	knowsFlushes
	knowsDiscards
	knowsMerges
	knowsOwnDepth       // the depth is stated, not by Little's law
	knowsAll      knows = 1<<iota - 1
)

// rowOf turns the counters of a sample into sums.
func rowOf(s *ingest.Sample) sampleRow {
	r := sampleRow{interval: s.IntervalNS}
	t := &r.tick
	t.StartNS = s.TimeNS - s.IntervalNS
	know := func(bit knows, values ...int64) bool {
		for _, v := range values {
			if v < 0 {
				return false
			}
		}
		r.knows |= bit
		return true
	}
	if know(knowsCounts|knowsSplit, s.Reads, s.Writes) {
		t.Reads, t.Writes = s.Reads, s.Writes
		t.Others = max(s.Discards, 0) + max(s.Flushes, 0)
	} else if know(knowsCounts, s.TotalIOs) {
		t.Others = s.TotalIOs
	}
	if know(knowsBytes, s.ReadBytes, s.WriteBytes) {
		t.ReadBytes, t.WriteBytes = s.ReadBytes, s.WriteBytes
	} else if know(knowsBytes, s.TotalBytes) {
		t.OtherBytes = s.TotalBytes
		r.knows &^= knowsSplit
	}
	if r.knows&knowsSplit != 0 && know(knowsTimes, s.ReadNS, s.WriteNS) {
		t.TimedReads, t.ReadLatencyNS = s.Reads, s.ReadNS
		t.Timed, t.LatencyNS = s.Reads+s.Writes, s.ReadNS+s.WriteNS
	} else if r.knows&knowsCounts != 0 && know(knowsTimes, s.TotalNS) {
		t.Timed, t.LatencyNS = t.Requests(), s.TotalNS
	}
	if know(knowsDepth|knowsOwnDepth, s.InFlightNS) {
		t.InFlightNS = s.InFlightNS
	} else if r.knows&knowsTimes != 0 {
		// Little's law: the time that the completed spent in the device.
		r.knows |= knowsDepth
		t.InFlightNS = t.LatencyNS
	}
	if know(knowsBusy, s.BusyNS) {
		t.BusyNS = min(s.BusyNS, s.IntervalNS)
	}
	if know(knowsFlushes, s.Flushes) {
		r.flushes = s.Flushes
	}
	if know(knowsDiscards, s.Discards) {
		r.discards = s.Discards
	}
	if know(knowsMerges, s.ReadMerges, s.WriteMerges) {
		r.merged = s.ReadMerges + s.WriteMerges
	}
	t.Arrivals = t.Requests()
	if t.BusyNS > 0 {
		t.PeakDepth = int32(min(math.Ceil(float64(t.InFlightNS)/float64(t.BusyNS)), math.MaxInt32))
	}
	return r
}
