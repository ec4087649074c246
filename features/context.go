package features

import "math"

// The facts of the Context by index; see ContextTable.
const (
	CtxIOPS = iota
	CtxBytesPerS
	CtxReadShare
	CtxWriteShare
	CtxFlushShare
	CtxDiscardShare
	CtxSyncShare
	CtxWriteSyncShare
	CtxMetaShare
	CtxMetaReadShare
	CtxFUAShare
	CtxReadaheadShare
	CtxWriteBytesShare
	CtxSmallWriteShare
	CtxLatencyMean
	CtxLatencyP05
	CtxLatencyP25
	CtxLatencyP50
	CtxLatencyP95
	CtxLatencyP99
	CtxLatencyMax
	CtxTailRatio
	CtxLatencyCV
	CtxReadLatencyMean
	CtxWriteLatencyMean
	CtxFlushLatencyMean
	CtxReadLatencyP50
	CtxWriteLatencyP50
	CtxReadLatencyP99
	CtxWriteLatencyP99
	CtxSlowShare
	CtxOutlierShare
	CtxReadOutlierShare
	CtxWriteOutlierShare
	CtxLatencyTrend
	CtxLatencyAutocorrelation
	CtxLatencyOnDepth
	CtxReadLatencyOnWrites
	CtxServiceTime
	CtxQueueShare
	CtxMeanDepth
	CtxPeakDepth
	CtxPeakOverMean
	CtxDepthCV
	CtxDepthTrend
	CtxIdleFraction
	CtxThroughputCV
	CtxFullSeconds
	CtxCeilingSpread
	CtxCeiling
	CtxThroughputTrend
	CtxThroughputOnDepth
	CtxArrivalCV
	CtxActiveShare
	CtxArrivalPeakOverMean
	CtxCompletionPeakOverMean
	CtxBurstRequests
	CtxBurstSize
	CtxBurstShare
	CtxQueueExcess
	CtxWritePeakShare
	CtxWritePeakBytes
	CtxPeriod
	CtxStallSeconds
	CtxStallShare
	CtxStallCount
	CtxStallWaiting
	CtxStallExcess
	CtxSequentialShare
	CtxMovedShare
	CtxMisalignedShare
	CtxSizeMean
	CtxSizeP50
	CtxSizeP95
	CtxReadSizeMean
	CtxWriteSizeMean
	CtxSlowRegion
	CtxReread
	CtxRereadError
	CtxRereadThrash
	CtxReadFootprint
	CtxComms
	CtxTopCommShare
	CtxTopCgroupShare
	CtxErrors
	CtxMergeShare
	CtxDepthOverLittle
	CtxCount // number of facts
)

// ContextFact names one fact of the Context.
type ContextFact struct {
	Name, Unit, Doc string
}

// ContextTable is the table of the facts: index = Parquet column = variable
// of the catalogue's expressions. A fact is added by a constant, a row here,
// and the line in facts.go that fills it; what isn't filled is missing.
var ContextTable = [CtxCount]ContextFact{
	CtxIOPS:                   {"iops", "1/s", "requests completed per second of covered time"},
	CtxBytesPerS:              {"bytes_per_s", "B/s", "bytes read and written per second of covered time"},
	CtxReadShare:              {"read_share", "0..1", "reads over requests"},
	CtxWriteShare:             {"write_share", "0..1", "writes over requests"},
	CtxFlushShare:             {"flush_share", "0..1", "flushes over requests"},
	CtxDiscardShare:           {"discard_share", "0..1", "discards over requests"},
	CtxSyncShare:              {"sync_share", "0..1", "requests with the sync flag"},
	CtxWriteSyncShare:         {"write_sync_share", "0..1", "writes with the sync flag over writes: a caller waits for them"},
	CtxMetaShare:              {"meta_share", "0..1", "requests with the metadata flag"},
	CtxMetaReadShare:          {"meta_read_share", "0..1", "reads with the metadata flag over reads"},
	CtxFUAShare:               {"fua_share", "0..1", "requests with FUA or preflush"},
	CtxReadaheadShare:         {"readahead_share", "0..1", "requests with the readahead flag"},
	CtxWriteBytesShare:        {"write_bytes_share", "0..1", "bytes written over bytes read and written"},
	CtxSmallWriteShare:        {"small_write_share", "0..1", "writes of at most 16 KiB over requests"},
	CtxLatencyMean:            {"latency_mean_ms", "ms", "mean latency"},
	CtxLatencyP05:             {"latency_p05_ms", "ms", "5th percentile of latency: what the device does at its best"},
	CtxLatencyP25:             {"latency_p25_ms", "ms", "25th percentile of latency"},
	CtxLatencyP50:             {"latency_p50_ms", "ms", "median latency"},
	CtxLatencyP95:             {"latency_p95_ms", "ms", "95th percentile of latency"},
	CtxLatencyP99:             {"latency_p99_ms", "ms", "99th percentile of latency"},
	CtxLatencyMax:             {"latency_max_ms", "ms", "largest latency"},
	CtxTailRatio:              {"tail_ratio", "1", "p99 over p50 of latency"},
	CtxLatencyCV:              {"latency_cv", "1", "standard deviation over mean of latency"},
	CtxReadLatencyMean:        {"read_latency_mean_ms", "ms", "mean latency of reads"},
	CtxWriteLatencyMean:       {"write_latency_mean_ms", "ms", "mean latency of writes"},
	CtxFlushLatencyMean:       {"flush_latency_mean_ms", "ms", "mean latency of flushes"},
	CtxReadLatencyP50:         {"read_latency_p50_ms", "ms", "median latency of reads"},
	CtxWriteLatencyP50:        {"write_latency_p50_ms", "ms", "median latency of writes"},
	CtxReadLatencyP99:         {"read_latency_p99_ms", "ms", "99th percentile of latency of reads"},
	CtxWriteLatencyP99:        {"write_latency_p99_ms", "ms", "99th percentile of latency of writes"},
	CtxSlowShare:              {"slow_share", "0..1", "requests slower than 50 ms"},
	CtxOutlierShare:           {"outlier_share", "0..1", "requests slower than 10 medians"},
	CtxReadOutlierShare:       {"read_outlier_share", "0..1", "reads slower than 10 medians of reads, over reads"},
	CtxWriteOutlierShare:      {"write_outlier_share", "0..1", "writes slower than 10 medians of writes, over writes"},
	CtxLatencyTrend:           {"latency_trend", "log10", "mean latency of the second half of the window over that of the first"},
	CtxLatencyAutocorrelation: {"latency_autocorrelation", "-1..1", "correlation of the mean latency of a tick with that of the next"},
	CtxLatencyOnDepth:         {"latency_on_depth", "-1..1", "correlation of mean latency with mean depth over ticks"},
	CtxReadLatencyOnWrites:    {"read_latency_on_writes", "-1..1", "correlation of mean read latency with bytes written over ticks"},
	CtxServiceTime:            {"service_ms", "ms", "busy time over completed requests"},
	CtxQueueShare:             {"queue_share", "0..1", "queue time over latency, where the source tells"},
	CtxMeanDepth:              {"mean_depth", "1", "mean in flight while busy"},
	CtxPeakDepth:              {"peak_depth", "1", "most in flight at once"},
	CtxPeakOverMean:           {"peak_over_mean_depth", "1", "peak depth over mean depth while busy"},
	CtxDepthCV:                {"depth_cv", "1", "coefficient of variation of mean depth over ticks"},
	CtxDepthTrend:             {"depth_trend", "log10", "mean depth of the second half of the window over that of the first"},
	CtxIdleFraction:           {"idle_fraction", "0..1", "share of time with nothing in flight"},
	CtxThroughputCV:           {"throughput_cv", "1", "coefficient of variation of bytes over ticks that are busy more than half"},
	CtxFullSeconds:            {"full_seconds", "0..1", "seconds that are busy for 95 % or more, over covered seconds"},
	CtxCeilingSpread:          {"ceiling_spread", "1", "1.4826 x MAD over median of the bytes of the full seconds; missing with fewer than 3"},
	CtxCeiling:                {"ceiling", "0..1", "sqrt(full_seconds x exp(-ceiling_spread / 0.1)) x (log10 mean size - 4.4, clipped to 0..1)"},
	CtxThroughputTrend:        {"throughput_trend", "log10", "bytes of the second half of the window over those of the first"},
	CtxThroughputOnDepth:      {"throughput_on_depth", "-1..1", "correlation of bytes with mean depth over busy ticks"},
	CtxArrivalCV:              {"arrival_cv", "1", "coefficient of variation of arrivals over ticks"},
	CtxActiveShare:            {"active_share", "0..1", "ticks with an arrival"},
	CtxArrivalPeakOverMean:    {"arrival_peak_over_mean", "1", "most arrivals of a tick over the mean"},
	CtxCompletionPeakOverMean: {"completion_peak_over_mean", "1", "most completions of a tick over the mean"},
	CtxBurstRequests:          {"burst_requests", "1", "mean arrivals of a run of ticks with arrivals"},
	CtxBurstSize:              {"burst_size", "1", "median size of the groups of at least 8 arrivals no more than 5 ms apart; 0 if none"},
	CtxBurstShare:             {"burst_share", "0..1", "arrivals in such groups over arrivals"},
	CtxQueueExcess:            {"queue_excess", "0..1", "queue while busy beyond what the utilisation explains: sqrt(clip((log10 mean depth + log10(1 - busy) - 0.5) / 1.5, 0, 1)) x (1 - busy)"},
	CtxWritePeakShare:         {"write_peak_share", "0..1", "share of written bytes in the tenth of the ticks that has most"},
	CtxWritePeakBytes:         {"write_peak_bytes", "B", "most bytes written in a second of the window"},
	CtxPeriod:                 {"period_s", "s", "period of arrivals; missing if not periodic"},
	CtxStallSeconds:           {"stall_s", "s", "longest time with I/O waiting and nothing completing"},
	CtxStallShare:             {"stall_share", "0..1", "share of time in gaps that are long for the window (feature stall_gap)"},
	CtxStallCount:             {"stall_count", "1", "gaps with I/O waiting and nothing completing above max(0.1 s, 8 x median latency)"},
	CtxStallWaiting:           {"stall_waiting", "1", "in flight when the longest such gap ended"},
	CtxStallExcess:            {"stall_excess", "log10", "stall_s over max(0.25 s, 8 x median latency), at least 0"},
	CtxSequentialShare:        {"sequential_share", "0..1", "reads and writes that start where one of the last 8 of their kind ended"},
	CtxMovedShare:             {"moved_share", "0..1", "reads and writes that lie more than 1 MiB from where the one before them ended, so that a disk's head moves"},
	CtxMisalignedShare:        {"misaligned_share", "0..1", "reads and writes whose offset or size is no multiple of 4 KiB"},
	CtxSizeMean:               {"size_mean_bytes", "B", "mean size of reads and writes"},
	CtxSizeP50:                {"size_p50_bytes", "B", "median size of reads and writes"},
	CtxSizeP95:                {"size_p95_bytes", "B", "95th percentile of size of reads and writes"},
	CtxReadSizeMean:           {"read_size_mean_bytes", "B", "mean size of reads"},
	CtxWriteSizeMean:          {"write_size_mean_bytes", "B", "mean size of writes"},
	CtxSlowRegion:             {"slow_region", "0..1", "how much likelier two slow reads lie in one region of 64 MiB than two reads do"},
	CtxReread:                 {"reread", "0..1", "reads of blocks read less than 30 s ago, over reads"},
	CtxRereadError:            {"reread_error", "0..1", "standard error of reread"},
	CtxRereadThrash:           {"reread_thrash", "0..1", "reread of reads without the metadata flag x clip((5.3 - log10 mean read size) / 0.8, 0.25, 1) x sqrt(read_share)"},
	CtxReadFootprint:          {"read_footprint_bytes", "B", "different blocks read, estimated"},
	CtxComms:                  {"comms", "1", "different commands, at most 16"},
	CtxTopCommShare:           {"top_comm_share", "0..1", "requests of the command with most, over those whose command is known"},
	CtxTopCgroupShare:         {"top_cgroup_share", "0..1", "requests of the cgroup with most, over those whose cgroup is known"},
	CtxErrors:                 {"errors", "1", "requests that failed"},
	CtxMergeShare:             {"merge_share", "0..1", "merged over merged and completed, where the source tells"},
	CtxDepthOverLittle:        {"depth_over_little", "1", "depth that a source of counters states over the one by its own rates and latencies (Little's law); missing unless it states both"},
}

// Context is the facts of a window by index; NaN is missing.
type Context [CtxCount]float64

func missingContext() (c Context) {
	for i := range c {
		c[i] = math.NaN()
	}
	return c
}
