package generate

import (
	"slices"

	"github.com/iopathy/iopathy/ingest"
)

// Pathologies are the labels of faults; the place of one, from 1, is its number
// in the catalogue.
var Pathologies = []string{
	"queue-saturation", "burst-congestion", "media-degradation", "bandwidth-saturation",
	"metadata-storm", "cache-thrash", "sudden-stall", "writeback-stall",
}

// Fault is what befalls a device: what it is called, how it was done, and when.
type Fault struct {
	Label        string
	FromNS, ToNS int64 // ToNS: when the last request was done that it held up, once the logs are written
	Stalls       [][2]int64
	Notes        map[string]any // how, by the names of the corpus that evaluate knows
}

// plan is a fault on its way: what it changes of the device and of its loads.
type plan struct {
	*site
	ill
	base  []Load // the device's work, fault or not
	extra []Load // what works only during the fault
	notes map[string]any
}

// plant draws one of the ways in which a fault of this label comes about, for
// the span of time; what comes back works on the device from then on.
func (s *site) plant(label string, fromNS, toNS int64) *plan {
	p := &plan{site: s, notes: map[string]any{}}
	p.fromNS, p.toNS = fromNS, toNS
	p.base = []Load{s.random(0.2)}
	way := map[string]func(*plan){
		"queue-saturation": (*plan).saturate, "burst-congestion": (*plan).burst, "media-degradation": (*plan).media,
		"bandwidth-saturation": (*plan).ceiling, "metadata-storm": (*plan).storm, "cache-thrash": (*plan).thrash,
		"sudden-stall": (*plan).stall, "writeback-stall": (*plan).writeback,
	}[label]
	way(p)
	for i := range p.extra {
		l := &p.extra[i]
		l.FromNS, l.ToNS = max(l.FromNS, fromNS), toNS
	}
	return p
}

// shorten ends the fault earlier where the device would do too many requests
// for the log's size: no more than a multiple of the span's healthy ones, and
// half a minute in any case.
func (p *plan) shorten(perSecond float64) {
	most := int64(max(30, (200*p.rate*float64(p.toNS-p.fromNS)/1e9/20+2e5)/perSecond) * 1e9)
	p.toNS = min(p.toNS, p.fromNS+most)
}

// saturate asks for more than the device can do: with many at once, at a rate
// above its capacity, or with one program after the other.
func (p *plan) saturate() {
	sizes := []int64{4 * kib, 16 * kib, 64 * kib}
	switch p.law.Profile {
	case "nvme":
		sizes = []int64{128 * kib, 256 * kib, 512 * kib}
	case "network":
		sizes = []int64{4 * kib, 16 * kib}
	}
	mode := pick(p.draws, "closed", "open", "step")
	depth := int(p.logBetween(64, 513))
	if p.law.Profile == "nvme" || p.law.Profile == "network" {
		depth = int(p.logBetween(160, 700))
	}
	l := p.load(Closed)
	l.Read, l.Sizes, l.Depth, l.Procs = pick(p.draws, 1, 0.7, 0.5), []int64{pick(p.draws, sizes...)}, depth, 1+p.below(8)
	capacity := 1e9 / p.law.costNS(l.Read, l.Sizes[0])
	p.shorten(capacity)
	switch mode {
	case "open":
		l.Arrival, l.Rate, l.Limit, l.Depth = Poisson, capacity*p.between(1.2, 1.8), depth, 0
	case "step":
		l.JoinNS = (p.toNS - p.fromNS) / int64(2*depth)
	}
	p.notes["mode"], p.notes["total_qd"], p.notes["procs"] = mode, depth, l.Procs
	p.extra = []Load{l}
}

// burst lets programs ask for much at once, again and again: one, or several by
// the same clock, that read ahead or write out.
func (p *plan) burst() {
	l := p.load(Burst)
	l.Depth = int(p.logBetween(24, 257))
	l.Sizes = []int64{int64(pick(p.draws, 8, 16, 32, 64)) * kib}
	if p.law.Profile == "nvme" {
		l.Depth, l.Sizes = l.Depth+64, []int64{int64(pick(p.draws, 128, 256, 512)) * kib}
	}
	l.Procs, l.Read = pick(p.draws, 1, 1, 4, 8), pick(p.draws, 1.0, 1, 0.5, 0)
	if p.chance(0.3) {
		l.Jitter = 0.02
	}
	work := float64(l.Depth) * p.law.costNS(l.Read, l.Sizes[0])
	l.PeriodNS = int64(max(p.logBetween(0.1e9, 1.5e9), work/p.between(0.15, 0.45)))
	p.notes["burst"], p.notes["period_ms"], p.notes["procs"] = l.Depth, float64(l.PeriodNS)/1e6, l.Procs
	p.base[0].Rate *= 0.3
	p.extra = []Load{l}
}

// media makes the device itself slow: all of it from one moment on or more and
// more, one region, or some requests that it has to try again.
func (p *plan) media() {
	p.base = []Load{p.light()}
	variant := pick(p.draws, "const", "grow", "region", "retry")
	p.notes["variant"] = variant
	switch variant {
	case "const":
		p.slow = p.logBetween(2, 14)
		p.slower = p.slow
	case "grow":
		// From what is the mildest of the others on: devices of one model differ by a
		// quarter each way, and a tenth more is nobody's incident.
		p.slow, p.slower = p.between(2, 2.5), p.logBetween(6, 30)
	case "region":
		p.slow = p.logBetween(4, 18)
		p.slower = p.slow
		lo := p.between(0.05, 0.6)
		hi := lo + p.between(0.15, 0.35)
		p.lo, p.hi = int64(lo*float64(p.law.Bytes)), int64(hi*float64(p.law.Bytes))
		p.notes["region_lo"], p.notes["region_hi"] = lo, hi
	case "retry":
		p.retryShare, p.retryNS = p.logBetween(0.02, 0.2), [2]float64{40e6, p.between(150e6, 500e6)}
		p.notes["retry_prob"] = p.retryShare
	}
	if l := &p.base[0]; l.Arrival == Poisson {
		p.atMost(l, 0.4/max(p.slow, p.slower, 1)) // slow, not overloaded: that would be another pathology
	}
	if p.slow > 0 {
		p.notes["slow_mult"], p.notes["slow_mult_end"] = p.slow, p.slower
	}
}

// ceiling presses streams against a limit of bytes: the device's, or a cgroup's.
// In some the stream is there before, and the limit comes down under it.
func (p *plan) ceiling() {
	share := p.logBetween(0.12, 0.6)
	if p.law.Profile == "nvme" {
		share = p.logBetween(0.04, 0.3)
	}
	nsb := p.ceilingNSB() / share
	l := p.load(Closed)
	l.Pattern, l.Streams, l.Sizes = Stream, pick(p.draws, 1, 1, 2, 3), []int64{int64(pick(p.draws, 128, 256, 512, 1024)) * kib}
	l.Depth, l.Read = pick(p.draws, 4, 8, 16, 32), pick(p.draws, 1.0, 0)
	p.shorten(1e9 / (nsb * float64(l.Sizes[0])))
	mbs := 1e3 / nsb
	p.base[0].Rate *= 0.3
	if p.chance(0.4) {
		before := l
		before.Comm, before.PID = l.Comm, l.PID
		before.Arrival, before.Depth, before.ToNS = Poisson, 0, p.fromNS
		before.Rate = min(p.between(1.1, 1.6)*1e9/(nsb*float64(l.Sizes[0])), 0.7*1e9/(p.ceilingNSB()*float64(l.Sizes[0])))
		p.base = append(p.base, before)
		p.notes["paced"] = true
	}
	if p.chance(0.5) {
		l.PaceNSB = nsb
		p.notes["throttle_mbs"], p.notes["variant"] = mbs, "block-cgroup-throttle"
	} else {
		p.capNSB = nsb
		p.notes["cap_mbs"], p.notes["variant"] = mbs, "press"
	}
	p.extra = []Load{l}
}

// storm makes, syncs, renames or looks up many small files.
func (p *plan) storm() {
	variant := pick(p.draws, "create-fsync", "rename-dirsync", "cold-stat")
	p.notes["variant"] = variant
	l := p.load(Closed)
	l.Depth = 2 << p.below(4)
	each := 2*p.law.FlushNS + 3*p.law.WriteNS
	ops := p.logBetween(100, 1000)
	switch variant {
	case "create-fsync":
		l.Steps = append([]step{{op: ingest.OpWrite, flags: ingest.FlagSync, sizes: []int64{4 * kib, 4 * kib, 8 * kib}, where: Strided}}, journal(4*kib, 8*kib, 16*kib)...)
	case "rename-dirsync":
		l.Steps = journal(4*kib, 8*kib)
	case "cold-stat":
		l.Steps = []step{{op: ingest.OpRead, flags: ingest.FlagMeta, sizes: []int64{4 * kib}, where: Strided}}
		each = p.law.aloneNS(4 * kib)
		changes := p.load(Poisson)
		changes.Rate, changes.Limit, changes.Steps = p.between(1, 8), 2, journal(8*kib)
		p.extra = append(p.extra, changes)
	}
	l.ThinkNS = int64(max(1e3, float64(l.Depth)*1e9/ops-each))
	l.Lo, l.Hi = p.law.Bytes/10&^4095, p.law.Bytes/10&^4095+int64(p.logBetween(0.5, 8)*1024)*mib
	p.notes["threads"], p.notes["ops"] = l.Depth, ops
	p.base[0].Rate *= 0.5
	p.extra = append(p.extra, l)
}

// thrash reads a set of blocks again and again that memory should hold: at
// random, from one end to the other, or by faults of pages.
func (p *plan) thrash() {
	how := pick(p.draws, "pread", "pread", "mmap")
	l := p.load(Closed)
	l.Read, l.Depth, l.Sizes = 1, 1+p.below(6), []int64{int64(pick(p.draws, 4, 8, 16)) * kib}
	wanted := p.logBetween(150, 1500)
	switch {
	case how == "mmap":
		l.Depth, l.Sizes = 1+p.below(2), []int64{4 * kib, 4 * kib, 16 * kib}
	case p.chance(0.4):
		l.Pattern, l.Sizes = Cycle, []int64{int64(pick(p.draws, 16, 32, 64)) * kib}
		p.notes["scan"] = 1
	case p.chance(0.3):
		l.Pattern, l.Skew = Skewed, 2
	}
	one := p.law.aloneNS(l.meanSize())
	rate := min(wanted, 0.7*1e9/p.law.costNS(1, l.meanSize()), 0.8*float64(l.Depth)*1e9/one)
	l.ThinkNS = int64(float64(l.Depth)*1e9/rate - one)
	set := max(int64(rate*float64(l.meanSize())*p.between(3, 12)), mib) &^ (64*kib - 1)
	l.Lo = int64(p.between(0.1, 0.8)*float64(p.law.Bytes)) &^ 4095
	l.Hi = l.Lo + set
	if p.chance(0.4) {
		l.Read = 0.95
	}
	p.notes["how"], p.notes["ws_mb"] = how, float64(set)/mib
	p.base[0].Rate *= 0.3
	p.extra = []Load{l}
}

// stall stops the device, or what hands requests to it, at irregular moments.
func (p *plan) stall() {
	if p.base[0].Rate < 20 {
		p.base[0] = p.light()
	}
	gap, long := p.logBetween(2, 15), p.logBetween(0.3, 2)
	for t := p.fromNS + int64(p.between(0.2, 1)*gap*1e9); t < p.toNS; {
		end := t + int64(p.between(0.6, 2)*long*1e9)
		p.stalls = append(p.stalls, [2]int64{t, end})
		t = end + int64(p.between(0.6, 1.8)*gap*1e9)
	}
	p.locked = p.chance(0.4)
	p.notes["how"] = "device"
	if p.locked {
		p.notes["how"] = "dispatch"
	}
	p.notes["stall_gap_s"], p.notes["stall_len_s"] = gap, long
}

// writeback floods a steady application with writes that were put off: by a
// sync at the end of each flood, or in slices without one.
func (p *plan) writeback() {
	r := p.random(0.25)
	r.Read = 1
	p.base = []Load{r}
	if p.chance(0.6) {
		p.base = append(p.base, p.log(p.between(3, 15)))
	}
	how := pick(p.draws, "fsync", "fdatasync", "syncfs", "sync_file_range")
	l := p.checkpoint(p.between(0.12, 0.4), int(p.logBetween(32, 257)))
	switch how {
	case "sync_file_range":
		l.Flush = false
	case "syncfs":
		meta := p.load(Poisson)
		meta.Rate, meta.Limit, meta.Steps = 1e9/float64(l.PeriodNS), 1, journal(32*kib)
		p.extra = append(p.extra, meta)
	}
	if p.chance(0.3) && !p.law.Rotates {
		l.Pattern = Random
	}
	p.notes["how"], p.notes["period_s"], p.notes["ckpt_mb"] = how, float64(l.PeriodNS)/1e9, float64(l.Bytes)/mib
	p.extra = append(p.extra, l)
}

// labelOf is the number of a pathology in the catalogue; 0 is healthy.
func labelOf(label string) int { return slices.Index(Pathologies, label) + 1 }
