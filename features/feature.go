package features

// N is the number of temporal features.
const N = 12

// The index of each feature: index = column = Parquet name = axis label.
const (
	LatencyLoadResidual = iota
	LatencyKurtosis
	ThroughputEntropy
	ThroughputPlateau
	QueueDepthLevel
	QueueDepthJumpRate
	BusyFraction
	BurstQueueing
	WriteFlood
	SyncMetadataShare
	RereadShare
	StallGap
)

// Feature is one row of the table of features.
type Feature struct {
	Name    string
	Unit    string
	Doc     string // what a reader should understand by a high value
	Neutral float64
}

// Features is the table: index = column = Parquet name = axis label.
var Features = [N]Feature{
	{Name: "latency_load_residual", Unit: "log10", Doc: "latency above what this device group shows at this load"},
	{Name: "latency_kurtosis", Unit: "asinh", Doc: "latency spikes against an even shift"},
	{Name: "throughput_entropy", Unit: "0..1", Doc: "bytes concentrated in few ticks (1) or even (0)"},
	{Name: "throughput_plateau", Unit: "0..1", Doc: "large I/O against a flat ceiling of bytes"},
	{Name: "queue_depth_level", Unit: "log10", Doc: "mean number in flight while busy"},
	{Name: "queue_depth_jump_rate", Unit: "0..1", Doc: "share of ticks in which the queue depth jumps"},
	{Name: "busy_fraction", Unit: "0..1", Doc: "share of time with an I/O in flight"},
	{Name: "burst_queueing", Unit: "0..1", Doc: "periodic bursts that queue, then idle"},
	{Name: "write_flood", Unit: "0..1", Doc: "written bytes that come in floods"},
	{Name: "sync_metadata_share", Unit: "0..1", Doc: "flush, FUA and metadata I/O"},
	{Name: "reread_share", Unit: "0..1", Doc: "reads of blocks read less than 30 s ago"},
	{Name: "stall_gap", Unit: "log10", Doc: "I/O waiting and nothing completing"},
}

// Vector is the 12 features of a window. Component LatencyLoadResidual holds
// the raw latency at load (log10 ns over log10 mean in-flight) until reduce
// subtracts the group's normal.
type Vector [N]float64

// Mask has bit i set where feature i is missing.
type Mask uint16

// Has reports whether feature i is known.
func (m Mask) Has(i int) bool { return m&(1<<i) == 0 }
