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
	Formula string // over the covered ticks of a window
	Neutral float64
}

// Features is the table: index = column = Parquet name = axis label.
var Features = [N]Feature{
	{Name: "latency_load_residual", Unit: "log10", Doc: "latency above what this device group shows at this load",
		Formula: "log10 mean latency in us - log10 mean in flight while busy (at least 1), minus the group's normal"},
	{Name: "latency_kurtosis", Unit: "asinh", Doc: "latency spikes against an even shift",
		Formula: "asinh of the excess kurtosis of latency"},
	{Name: "throughput_entropy", Unit: "0..1", Doc: "bytes concentrated in few ticks (1) or even (0)",
		Formula: "sqrt(1 - Shannon entropy of bytes over ticks / log ticks)"},
	{Name: "throughput_plateau", Unit: "0..1", Doc: "large I/O against a flat ceiling of bytes",
		Formula: "busy fraction x exp(-CV of bytes of ticks busy more than half / 0.15) x (log10(mean request bytes + 512) - 4.4, clipped to 0..1)"},
	{Name: "queue_depth_level", Unit: "log10", Doc: "mean number in flight while busy",
		Formula: "log10 of the integral of depth over the busy time, at least 0"},
	{Name: "queue_depth_jump_rate", Unit: "0..1", Doc: "ticks in which the queue depth jumps",
		Formula: "sqrt of the share of tick steps whose mean depths differ by more than max(1, half the mean depth)"},
	{Name: "busy_fraction", Unit: "0..1", Doc: "share of time with an I/O in flight",
		Formula: "time with at least one I/O in flight over covered time"},
	{Name: "burst_queueing", Unit: "0..1", Doc: "periodic bursts that queue, then idle",
		Formula: "sqrt(highest autocorrelation of tick arrivals from lag 3 to half the ticks x min(log10(peak depth + 1) / 2, 1) x (1 - busy fraction))"},
	{Name: "write_flood", Unit: "0..1", Doc: "written bytes that come in floods",
		Formula: "sqrt(share of bytes written x (1 - entropy of written bytes over ticks / log ticks))"},
	{Name: "sync_metadata_share", Unit: "0..1", Doc: "flush, FUA and metadata I/O",
		Formula: "sqrt of the share of requests that flush or carry metadata, FUA or preflush"},
	{Name: "reread_share", Unit: "0..1", Doc: "reads of blocks read less than 30 s ago",
		Formula: "sqrt(share of reads that fetch a block read less than 30 s ago x sqrt(share of reads))"},
	{Name: "stall_gap", Unit: "log10", Doc: "I/O waiting and nothing completing",
		Formula: "log10 of the longest gap with I/O waiting over max(0.1 s, 8 x median latency, 30 x median gap), at least 0"},
}

// Vector is the 12 features of a window. Component LatencyLoadResidual holds
// the raw latency at load (log10 of the mean latency in microseconds over the
// mean in flight) until reduce subtracts the group's normal.
type Vector [N]float64

// Mask has bit i set where feature i is missing; the vector then holds the
// neutral value.
type Mask uint16

// Has reports whether feature i is known.
func (m Mask) Has(i int) bool { return m&(1<<i) == 0 }
