package formats

import (
	"math/bits"

	"github.com/iopathy/iopathy/ingest"
)

// ctrField is a cumulative counter of a device, in base units: what diskstats,
// node_exporter and cgroups count since boot.
type ctrField uint8

const (
	ctrReads ctrField = iota // completed
	ctrWrites
	ctrDiscards
	ctrFlushes
	ctrReadMerges
	ctrWriteMerges
	ctrDiscardMerges
	ctrReadBytes
	ctrWriteBytes
	ctrDiscardBytes
	ctrReadNS // sums of the times of the completed
	ctrWriteNS
	ctrDiscardNS
	ctrFlushNS
	ctrInFlightNS // queue depth x ns
	ctrBusyNS
	ctrFields
)

// ctrNames name the counters where they stand as evidence: counters of which no
// second reading makes an interval.
var ctrNames = [ctrFields]string{
	"counter.reads", "counter.writes", "counter.discards", "counter.flushes",
	"counter.read_merges", "counter.write_merges", "counter.discard_merges",
	"counter.read_bytes", "counter.write_bytes", "counter.discard_bytes",
	"counter.read_ns", "counter.write_ns", "counter.discard_ns", "counter.flush_ns",
	"counter.in_flight_ns", "counter.busy_ns",
}

// unit is what the kernel counts by: one, a sector, a millisecond.
func (f ctrField) unit() int64 {
	switch {
	case f <= ctrDiscardMerges:
		return 1
	case f <= ctrDiscardBytes:
		return 512
	}
	return 1e6
}

// ctrSnapshot is one reading of a device's counters.
type ctrSnapshot struct {
	v     [ctrFields]int64
	known uint32 // a bit for each field
}

func (s *ctrSnapshot) has(f ctrField) bool { return s.known>>f&1 != 0 }

func (s *ctrSnapshot) set(f ctrField, v int64) {
	s.v[f] = v
	s.known |= 1 << f
}

// scaled sets a field that is counted in whole units; false says that no device
// can have counted so far.
func (s *ctrSnapshot) scaled(f ctrField, n int64) bool {
	u := f.unit()
	if n < 0 || n > (1<<63-1)/u {
		return false
	}
	s.set(f, n*u)
	return true
}

// ctrMost is what no device exceeds in dt nanoseconds, by far: 100 million
// requests and 1 TB a second, 100,000 in flight, with some slack for stamps that
// are a little off. Sums of times may exceed it where I/Os that hung for long
// complete.
func ctrMost(f ctrField, dt int64) float64 {
	t := float64(dt)
	switch {
	case f <= ctrDiscardMerges:
		return 1e6 + 0.1*t
	case f <= ctrDiscardBytes:
		return 1e10 + 1000*t
	case f == ctrBusyNS:
		return 1e9 + 1.1*t
	}
	return 1e5 * t
}

// ctrWrap is the growth of a counter of 32 bits that fell from a to b within dt
// nanoseconds because it wrapped; false says that it can't have done so: the
// counter is wider, or no device is as fast.
func ctrWrap(f ctrField, a, b, dt int64) (int64, bool) {
	span := f.unit() << 32
	if a >= span {
		return 0, false
	}
	x := b - a + span
	return x, x <= span/2 && float64(x) <= ctrMost(f, dt)
}

// ctrDelta is what a device did between two readings dt nanoseconds apart; the
// reason is "" unless its counters began anew, or grew as none can. What is not
// known of both is Missing in d. Each counter wraps on its own, while
// a reset takes all: so one that fell is a wrap if it can be one and not all
// fell with it. A sum of times that fell alone is a torn reading of that sum,
// which then is unknown; anything else that fell is a reset.
func ctrDelta(prev, cur *ctrSnapshot, dt int64, wraps bool, d *ctrSnapshot) (reason string) {
	*d = ctrUnknown
	fell, could, dipped, times := 0, 0, 0, 0
	for both := prev.known & cur.known; both != 0; both &= both - 1 {
		f := ctrField(bits.TrailingZeros32(both))
		a, x := prev.v[f], cur.v[f]-prev.v[f]
		if a > 0 {
			could++
			if f >= ctrReadNS {
				times++
			}
		}
		if x < 0 {
			fell++
			w, may := ctrWrap(f, a, cur.v[f], dt)
			switch {
			case wraps && may:
				x = w
			case f >= ctrReadNS:
				dipped++
				continue
			default:
				return "counter-reset"
			}
		} else if f <= ctrDiscardBytes && float64(x) > ctrMost(f, dt) {
			reason = "impossible"
		}
		d.set(f, x)
	}
	if fell >= 3 && fell == could || 2*dipped > times {
		return "counter-reset"
	}
	return reason
}

// ctrUnknown is a reading of nothing.
var ctrUnknown = func() (s ctrSnapshot) {
	for f := range s.v {
		s.v[f] = ingest.Missing
	}
	return s
}()

// sample turns differences, of which those that are not known are Missing, over dt
// nanoseconds into a sample.
func (s *ctrSnapshot) sample(r *ingest.Sample, timeNS, dt int64) {
	r.TimeNS, r.IntervalNS = timeNS, dt
	r.Reads, r.Writes, r.Discards, r.Flushes = s.v[ctrReads], s.v[ctrWrites], s.v[ctrDiscards], s.v[ctrFlushes]
	r.ReadMerges, r.WriteMerges, r.DiscardMerges = s.v[ctrReadMerges], s.v[ctrWriteMerges], s.v[ctrDiscardMerges]
	r.ReadBytes, r.WriteBytes, r.DiscardBytes = s.v[ctrReadBytes], s.v[ctrWriteBytes], s.v[ctrDiscardBytes]
	r.ReadNS, r.WriteNS, r.DiscardNS, r.FlushNS = s.v[ctrReadNS], s.v[ctrWriteNS], s.v[ctrDiscardNS], s.v[ctrFlushNS]
	r.TotalIOs, r.TotalBytes, r.TotalNS = ingest.Missing, ingest.Missing, ingest.Missing
	r.InFlightNS, r.BusyNS = s.v[ctrInFlightNS], min(s.v[ctrBusyNS], dt)
}

// facts puts a reading that no interval uses among the evidence.
func (s *ctrSnapshot) facts(out *ingest.Out, host, device ingest.Name, timeNS, position int64) {
	e := ingest.Evidence{TimeNS: timeNS, Position: position, Host: host, Device: device}
	for f := range ctrFields {
		if s.has(f) {
			e.Name, e.Value = out.Names.InternString(ctrNames[f]), float64(s.v[f])
			out.Evidence = append(out.Evidence, e)
		}
	}
}

// ctrRow is a reading in the place where it stands.
type ctrRow struct {
	host, device []byte
	number       int64 // of the device; one of another number is another device
	timeNS       int64
	snap         ctrSnapshot
	lines        int64 // that it was read from
	position     int64 // of the first
	lineno       int64
	text         []byte
}

// ctrBase is what the next reading of a device is compared with.
type ctrBase struct {
	host, device   string
	number, timeNS int64
	snap           ctrSnapshot
	fresh          bool // no interval has used it
	gaps           ctrGaps
	lines          int64 // that wait for a fate while it is fresh
	position       int64
	before         ctrSnapshot // what a fall, or a leap, left behind
	beforeNS       int64
	hasBefore      bool
}

// ctrGaps are the readings since that lacked a counter; the last of them counts if no
// whole one follows.
type ctrGaps struct {
	n                int
	last             ctrSnapshot
	timeNS, position int64
	lines, before    int64 // of the last, and of those before it
}

// ctrSeries makes samples of readings: the differences of each device's
// counters. Its memory is that of devicesBound devices.
type ctrSeries struct {
	wraps bool // counters may be of 32 bits
	apart bool // each counter has a line of its own: a reading that lacks one is a torn one
	bases map[string]*ctrBase
	order []*ctrBase
	last  *ctrBase // that was asked for
	key   []byte
	diff  ctrSnapshot
}

const devicesBound = 1 << 16

// ctrMostGaps is how many readings in a row may lack a counter before it is gone for good.
const ctrMostGaps = 3

// base gives the last reading of a device, nil if there is none.
func (c *ctrSeries) base(host, device []byte) *ctrBase {
	if b := c.last; b != nil && b.host == string(host) && b.device == string(device) {
		return b
	}
	c.key = append(append(append(c.key[:0], host...), 0), device...)
	b := c.bases[string(c.key)]
	c.last = b
	return b
}

// add takes a device's next reading and gives its lines a fate: those of a first
// one wait for it until the second.
func (c *ctrSeries) add(r *ctrRow, out *ingest.Out) {
	b := c.base(r.host, r.device)
	if b == nil {
		if len(c.order) >= devicesBound {
			ctrReject(out, r, "too-many-devices")
			return
		}
		b = &ctrBase{host: string(r.host), device: string(r.device), fresh: true, lines: r.lines, position: r.position}
		b.number, b.timeNS, b.snap = r.number, r.timeNS, r.snap
		if c.bases == nil {
			c.bases = make(map[string]*ctrBase)
		}
		c.bases[string(c.key)] = b
		c.order = append(c.order, b)
		return
	}
	dt := r.timeNS - b.timeNS
	switch {
	case dt == 0: // two readings within the resolution of the stamps
		out.Count(ingest.FateMerged, "", r.lines)
		return
	case dt < 0:
		c.rebase(b, r, out)
		ctrReject(out, r, "clock-back")
		return
	case b.number != r.number:
		c.rebase(b, r, out)
		ctrReject(out, r, "counter-reset")
		return
	case b.snap.known&r.snap.known == 0, dt > ingest.MaxIntervalNS: // other counters, or another time: a first reading again
		c.rebase(b, r, out)
		b.fresh, b.lines = true, r.lines
		return
	}
	if c.apart && b.snap.known&^r.snap.known != 0 && b.gaps.n < ctrMostGaps { // the next interval spans it
		g := &b.gaps
		*g = ctrGaps{g.n + 1, r.snap, r.timeNS, r.position, r.lines, g.before + g.lines}
		return
	}
	b.passGaps(out)
	prev := &b.snap
	if b.hasBefore && b.torn(&r.snap) {
		prev, dt = &b.before, r.timeNS-b.beforeNS
	}
	reason := ctrDelta(prev, &r.snap, dt, c.wraps, &c.diff)
	if reason != "" {
		before, beforeNS := *prev, r.timeNS-dt
		c.rebase(b, r, out)
		b.before, b.beforeNS, b.hasBefore = before, beforeNS, true
		ctrReject(out, r, reason)
		return
	}
	out.Samples = append(out.Samples, ingest.Sample{})
	s := &out.Samples[len(out.Samples)-1]
	c.diff.sample(s, r.timeNS, dt)
	s.Host, s.Device, s.Position = out.Names.Intern(r.host), out.Names.Intern(r.device), r.position
	out.Count(ingest.FateEvent, "", b.lines+r.lines)
	b.fresh, b.lines, b.hasBefore = false, 0, false
	b.timeNS, b.snap = r.timeNS, r.snap
}

// rebase makes r what the next reading is compared with. A first reading that no
// interval used is evidence.
func (c *ctrSeries) rebase(b *ctrBase, r *ctrRow, out *ingest.Out) {
	b.passGaps(out)
	b.settle(out)
	b.number, b.timeNS, b.snap = r.number, r.timeNS, r.snap
	b.position, b.hasBefore = r.position, false
}

// passGaps leaves the readings that lacked a counter to the interval that spans them.
func (b *ctrBase) passGaps(out *ingest.Out) {
	out.Count(ingest.FateUnpaired, "torn-snapshot", b.gaps.before+b.gaps.lines)
	b.gaps = ctrGaps{}
}

// endGaps takes the last reading that lacked a counter for what it tells.
func (c *ctrSeries) endGaps(b *ctrBase, out *ingest.Out) {
	g := b.gaps
	if g.n == 0 {
		return
	}
	if ctrDelta(&b.snap, &g.last, g.timeNS-b.timeNS, c.wraps, &c.diff) != "" {
		b.passGaps(out)
		return
	}
	b.gaps.lines = 0
	b.passGaps(out)
	out.Samples = append(out.Samples, ingest.Sample{})
	s := &out.Samples[len(out.Samples)-1]
	c.diff.sample(s, g.timeNS, g.timeNS-b.timeNS)
	s.Host, s.Device, s.Position = out.Names.InternString(b.host), out.Names.InternString(b.device), g.position
	out.Count(ingest.FateEvent, "", b.lines+g.lines)
	b.fresh, b.lines = false, 0
}

func (b *ctrBase) settle(out *ingest.Out) {
	if b.fresh {
		b.snap.facts(out, out.Names.InternString(b.host), out.Names.InternString(b.device), b.timeNS, b.position)
		out.Count(ingest.FateEvent, "", b.lines)
		b.fresh, b.lines = false, 0
	}
}

// torn says that the last reading, where counters fell or leapt, was a torn one
// rather than a new beginning: all have come back to where they were before. One
// or two that fell may do so by chance, unless they fell far.
func (b *ctrBase) torn(cur *ctrSnapshot) bool {
	far, fell := false, 0
	for f := range ctrFields {
		if !cur.has(f) || !b.before.has(f) || !b.snap.has(f) {
			continue
		}
		was, is, now := b.before.v[f], b.snap.v[f], cur.v[f]
		switch {
		case now < was:
			return false
		case is < was:
			fell++
			far = far || (now-is)/16 > now-was
		case now < is: // it had leapt
			far = true
		}
	}
	return far || fell >= 4
}

// end settles what waited for a second reading that did not come.
func (c *ctrSeries) end(out *ingest.Out) {
	for _, b := range c.order {
		c.endGaps(b, out)
		b.settle(out)
	}
}

// ctrReject rejects the lines of a reading.
func ctrReject(out *ingest.Out, r *ctrRow, reason string) {
	position, lineno := out.Position, out.Lineno
	out.Position, out.Lineno = r.position, r.lineno
	out.Reject(r.text, reason)
	out.Position, out.Lineno = position, lineno
	out.Count(ingest.FateRejected, reason, r.lines-1)
}
