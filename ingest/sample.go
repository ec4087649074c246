package ingest

// Sample is one interval of counters of a device. TimeNS is the end of the
// interval. Rates are turned into counts and sums at the door; what a source
// can't tell is Missing. Where a source tells only reads and writes together,
// the sums stand in the Total fields and the others are Missing.
type Sample struct {
	TimeNS     int64
	IntervalNS int64
	Host       Name
	Device     Name

	Reads, Writes, Discards, Flushes       int64 // completed
	ReadBytes, WriteBytes, DiscardBytes    int64
	ReadNS, WriteNS, DiscardNS, FlushNS    int64 // sum of the times of the completed
	ReadMerges, WriteMerges, DiscardMerges int64
	TotalIOs, TotalBytes, TotalNS          int64 // when the source doesn't split them
	InFlightNS                             int64 // integral of queue depth over the interval: depth x ns
	BusyNS                                 int64 // time with at least one in flight
	Position                               int64
}

// NewSample is a Sample whose counters are all unknown.
func NewSample() Sample {
	return Sample{
		Reads: Missing, Writes: Missing, Discards: Missing, Flushes: Missing,
		ReadBytes: Missing, WriteBytes: Missing, DiscardBytes: Missing,
		ReadNS: Missing, WriteNS: Missing, DiscardNS: Missing, FlushNS: Missing,
		ReadMerges: Missing, WriteMerges: Missing, DiscardMerges: Missing,
		TotalIOs: Missing, TotalBytes: Missing, TotalNS: Missing,
		InFlightNS: Missing, BusyNS: Missing,
	}
}

// Evidence is a fact that is no I/O: a SMART attribute, a kernel message, a
// counter, or an issue that never completed (Name "open_io", Value its size
// in bytes, TimeNS its start: it keeps the device busy to the end of the
// input). Device may be empty.
type Evidence struct {
	TimeNS   int64
	Host     Name
	Device   Name
	Name     Name
	Text     Name
	Value    float64
	Position int64
}
