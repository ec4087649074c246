package features

// The facts of the Context by index; see ContextTable.
const (
	CtxIOPS = iota
	CtxBytesPerS
	CtxReadShare
	CtxWriteShare
	CtxFlushShare
	CtxDiscardShare
	CtxSyncShare
	CtxMetaShare
	CtxFUAShare
	CtxLatencyMean
	CtxLatencyP50
	CtxLatencyP95
	CtxLatencyP99
	CtxLatencyMax
	CtxTailRatio
	CtxReadLatencyMean
	CtxWriteLatencyMean
	CtxReadLatencyP50
	CtxWriteLatencyP50
	CtxQueueShare
	CtxMeanDepth
	CtxPeakDepth
	CtxPeakOverMean
	CtxIdleFraction
	CtxSequentialShare
	CtxMisalignedShare
	CtxSizeMean
	CtxSizeP50
	CtxSizeP95
	CtxErrors
	CtxSlowRegion
	CtxReadLatencyOnWrites
	CtxPeriod
	CtxReread
	CtxRereadError
	CtxMergeShare
	CtxStallSeconds
	CtxCount // number of facts
)

// ContextFact names one fact of the Context.
type ContextFact struct {
	Name, Unit, Doc string
}

// ContextTable is the table of the facts: index = Parquet column = variable
// of the catalogue's expressions.
var ContextTable = [CtxCount]ContextFact{
	CtxIOPS:                {"iops", "1/s", "completed per second of covered time"},
	CtxBytesPerS:           {"bytes_per_s", "B/s", "bytes completed per second"},
	CtxReadShare:           {"read_share", "0..1", "reads over requests"},
	CtxWriteShare:          {"write_share", "0..1", "writes over requests"},
	CtxFlushShare:          {"flush_share", "0..1", "flushes over requests"},
	CtxDiscardShare:        {"discard_share", "0..1", "discards over requests"},
	CtxSyncShare:           {"sync_share", "0..1", "requests with the sync flag"},
	CtxMetaShare:           {"meta_share", "0..1", "requests with the metadata flag"},
	CtxFUAShare:            {"fua_share", "0..1", "requests with FUA or preflush"},
	CtxLatencyMean:         {"latency_mean_ms", "ms", "mean latency"},
	CtxLatencyP50:          {"latency_p50_ms", "ms", "median latency"},
	CtxLatencyP95:          {"latency_p95_ms", "ms", "95th percentile of latency"},
	CtxLatencyP99:          {"latency_p99_ms", "ms", "99th percentile of latency"},
	CtxLatencyMax:          {"latency_max_ms", "ms", "largest latency"},
	CtxTailRatio:           {"tail_ratio", "1", "p99 over p50 of latency"},
	CtxReadLatencyMean:     {"read_latency_mean_ms", "ms", "mean latency of reads"},
	CtxWriteLatencyMean:    {"write_latency_mean_ms", "ms", "mean latency of writes"},
	CtxReadLatencyP50:      {"read_latency_p50_ms", "ms", "median latency of reads"},
	CtxWriteLatencyP50:     {"write_latency_p50_ms", "ms", "median latency of writes"},
	CtxQueueShare:          {"queue_share", "0..1", "queue time over latency"},
	CtxMeanDepth:           {"mean_depth", "1", "mean in flight while busy"},
	CtxPeakDepth:           {"peak_depth", "1", "most in flight at once"},
	CtxPeakOverMean:        {"peak_over_mean_depth", "1", "peak depth over mean depth while busy"},
	CtxIdleFraction:        {"idle_fraction", "0..1", "share of time with nothing in flight"},
	CtxSequentialShare:     {"sequential_share", "0..1", "requests that start where the last of their kind ended"},
	CtxMisalignedShare:     {"misaligned_share", "0..1", "requests not aligned to 4 KiB"},
	CtxSizeMean:            {"size_mean_bytes", "B", "mean size of data requests"},
	CtxSizeP50:             {"size_p50_bytes", "B", "median size of data requests"},
	CtxSizeP95:             {"size_p95_bytes", "B", "95th percentile of size"},
	CtxErrors:              {"errors", "1", "requests that failed"},
	CtxSlowRegion:          {"slow_region", "0..1", "concentration of slow reads in few regions beyond that of all reads"},
	CtxReadLatencyOnWrites: {"read_latency_on_writes", "-1..1", "correlation of read latency with written bytes over ticks"},
	CtxPeriod:              {"period_s", "s", "period of arrivals; missing if not periodic"},
	CtxReread:              {"reread", "0..1", "reads of blocks read less than 30 s ago, over reads"},
	CtxRereadError:         {"reread_error", "0..1", "standard error of reread"},
	CtxMergeShare:          {"merge_share", "0..1", "merged over all, where the source tells"},
	CtxStallSeconds:        {"stall_s", "s", "longest time with I/O waiting and nothing completing"},
}

// Context is the facts of a window by index; NaN is missing.
type Context [CtxCount]float64
