package cluster

import (
	"math"
	"strings"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/reduce"
)

// Fact is a variable of the catalogue's expressions.
type Fact struct {
	Name, Unit, Doc string
	of              func(*reduce.Point) float64 // NaN: missing
	query           int                         // 1 + place in Rules.Asked of what it asks the evidence; 0: nothing
}

// Facts lists the variables: the 12 features as deviations, the context, and
// what a window looks like against its normal.
func Facts() []Fact {
	all := make([]Fact, 0, features.N+features.CtxCount+len(relative))
	for i, f := range features.Features {
		all = append(all, Fact{Name: f.Name, Unit: f.Unit, Doc: f.Doc, of: func(p *reduce.Point) float64 {
			if !p.Window.Missing.Has(i) {
				return math.NaN()
			}
			return p.Vector[i]
		}})
	}
	for i, c := range features.ContextTable {
		all = append(all, Fact{Name: c.Name, Unit: c.Unit, Doc: c.Doc, of: func(p *reduce.Point) float64 { return p.Window.Context[i] }})
	}
	return append(all, relative...)
}

// standing are the questions to the evidence that facts ask: what the inventory
// may tell, too. They stand first in Rules.Asked.
var standing = [...]features.Query{
	askLink:     {Kind: features.EvidenceLatest, Name: "link_bytes_per_s"},
	askCapable:  {Kind: features.EvidenceLatest, Name: "link_capable_bytes_per_s"},
	askBytesMax: {Kind: features.EvidenceLatest, Name: "bytes_per_s_limit"},
	askIOPSMax:  {Kind: features.EvidenceLatest, Name: "iops_limit"},
	askQueueMax: {Kind: features.EvidenceLatest, Name: "queue_limit"},
	askReadMax:  {Kind: features.EvidenceLatest, Name: "read_bytes_per_s_limit"},
	askWriteMax: {Kind: features.EvidenceLatest, Name: "write_bytes_per_s_limit"},
	FaultQuery:  {Kind: features.EvidenceRate, Name: "pgmajfault"},
}

const (
	askLink = iota
	askCapable
	askBytesMax
	askIOPSMax
	askQueueMax
	askReadMax
	askWriteMax
	FaultQuery // major page faults a second: its place in Rules.Asked of every catalogue
)

// MajorFaults is how many major page faults a second the host of a window has,
// where a source tells.
func MajorFaults(w *features.Window) (perS float64, ok bool) {
	if r, ok := w.Reading(FaultQuery); ok {
		return r.Value, true
	}
	return 0, false
}

// limitOf is what the inventory tells, or else the evidence.
func limitOf(p *reduce.Point, known float64, query int) float64 {
	if known > 0 {
		return known
	}
	if r, ok := p.Window.Reading(query); ok && r.Value > 0 {
		return r.Value
	}
	return math.NaN()
}

// bytesLimitShare is how much of the limit of bytes is used: of the one of both
// directions, else of the fuller one of reads and writes.
func bytesLimitShare(p *reduce.Point) float64 {
	c := &p.Window.Context
	if share := c[features.CtxBytesPerS] / limitOf(p, p.Device.BytesPerSLimit, askBytesMax); !math.IsNaN(share) {
		return share
	}
	written := c[features.CtxBytesPerS] * c[features.CtxWriteBytesShare]
	reads := (c[features.CtxBytesPerS] - written) / limitOf(p, 0, askReadMax)
	writes := written / limitOf(p, 0, askWriteMax)
	switch {
	case math.IsNaN(reads):
		return writes
	case math.IsNaN(writes):
		return reads
	}
	return max(reads, writes)
}

// callerSide tells who took the latencies of a window.
func callerSide(p *reduce.Point) float64 {
	if p.Window.Kind == ingest.KindSyscall || p.Window.Kind == ingest.KindApp {
		return 1
	}
	return 0
}

// remote tells mounts and targets of network file systems by their names, as
// the formats of NFS and Lustre give them.
func remote(p *reduce.Point) float64 {
	d := p.Window.Device
	if strings.HasPrefix(d, "nfs:") || strings.Contains(d, "-OST") || strings.Contains(d, "-MDT") {
		return 1
	}
	return 0
}

// log10 of a latency in ms over the expected one.
func overNormal(p *reduce.Point, ms float64) float64 {
	return math.Log10(ms*1e6) - p.Normal.Expected
}

// overOwn is the same of requests of a size: what is larger than the window's mean
// request takes the longer to transfer. An unknown size is that of the mean request.
func overOwn(p *reduce.Point, ms, size float64) float64 {
	ns := math.Pow(10, p.Normal.Expected)
	if more := (size - p.Window.Context[features.CtxSizeMean]) / p.Normal.Rate * 1e9; !math.IsNaN(more) {
		ns = max(ns+more, leastOwn*ns)
	}
	return math.Log10(ms * 1e6 / ns)
}

// leastOwn bounds what a request that is smaller than the mean one is expected to
// take, as a share of what that is.
const leastOwn = 0.25

var relative = []Fact{
	{Name: "requests", Unit: "1", Doc: "requests completed in the window", of: func(p *reduce.Point) float64 { return float64(p.Window.Requests) }},
	{Name: "expected_ms", Unit: "ms", Doc: "normal latency at one in flight for requests of this size", of: func(p *reduce.Point) float64 {
		return math.Pow(10, p.Normal.Expected) / 1e6
	}},
	{Name: "caller_side", Unit: "0 or 1", Doc: "1 where a caller's clock took the latencies (system call, application), which hold its wait for a CPU and for memory; 0 where the kernel's block layer did", of: callerSide},
	{Name: "remote", Unit: "0 or 1", Doc: "1 for a mount or target of a network file system (NFS, Lustre), 0 for a device of the host", of: remote},
	{Name: "median_over_normal", Unit: "log10", Doc: "median latency over the normal one", of: func(p *reduce.Point) float64 {
		return overNormal(p, p.Window.Context[features.CtxLatencyP50])
	}},
	{Name: "p95_over_normal", Unit: "log10", Doc: "95th percentile of latency over what is normal for the 95th percentile of sizes", of: func(p *reduce.Point) float64 {
		c := &p.Window.Context
		return overOwn(p, c[features.CtxLatencyP95], max(c[features.CtxSizeP95], c[features.CtxSizeMean]))
	}},
	{Name: "write_over_normal", Unit: "log10", Doc: "mean latency of writes over what is normal for their mean size", of: func(p *reduce.Point) float64 {
		c := &p.Window.Context
		return overOwn(p, c[features.CtxWriteLatencyMean], c[features.CtxWriteSizeMean])
	}},
	{Name: "flood_share", Unit: "0..1", Doc: "share of the time that the written bytes take at the group's best rate", of: reduce.FloodShare},
	{Name: "rate_share", Unit: "0..1", Doc: "bytes per busy second over the group's best", of: func(p *reduce.Point) float64 {
		return p.Window.Context[features.CtxBytesPerS] / max(p.Window.Vector[features.BusyFraction], 0.001) / p.Normal.Rate
	}},
	{Name: "link_share", Unit: "1", Doc: "bytes_per_s over what the link carries each way: inventory's link_bytes_per_s, else lspci", query: askLink + 1, of: func(p *reduce.Point) float64 {
		return p.Window.Context[features.CtxBytesPerS] / limitOf(p, p.Device.LinkBytesPerS, askLink)
	}},
	{Name: "link_downgrade", Unit: "0..1", Doc: "what the link carries over what the device's own port could (lspci)", query: askCapable + 1, of: func(p *reduce.Point) float64 {
		return limitOf(p, p.Device.LinkBytesPerS, askLink) / limitOf(p, 0, askCapable)
	}},
	{Name: "bytes_limit_share", Unit: "1", Doc: "bytes_per_s over the limit of bytes: inventory's bytes_per_s_limit, else a cgroup's io.max", query: askBytesMax + 1, of: func(p *reduce.Point) float64 {
		return bytesLimitShare(p)
	}},
	{Name: "iops_limit_share", Unit: "1", Doc: "iops over the limit of requests: inventory's iops_limit, else a cgroup's io.max", query: askIOPSMax + 1, of: func(p *reduce.Point) float64 {
		return p.Window.Context[features.CtxIOPS] / limitOf(p, p.Device.IOPSLimit, askIOPSMax)
	}},
	{Name: "queue_limit_share", Unit: "1", Doc: "mean_depth over the requests that the device takes at once: inventory's queue_limit", query: askQueueMax + 1, of: func(p *reduce.Point) float64 {
		return p.Window.Context[features.CtxMeanDepth] / limitOf(p, p.Device.QueueLimit, askQueueMax)
	}},
}
