package features

import (
	"math/bits"

	"github.com/iopathy/iopathy/ingest"
)

const (
	profileRegions = 128
	logUnit        = 16         // parts of an octave, of a logarithm in fixed point
	pairNS         = int64(1e9) // two reads farther apart are no pair
	pauseNS        = int64(1e8) // a shorter time without a completion is no pause
	pausesKept     = 64         // of a device
)

// regions compares reads of one part of a device's addresses with those of
// other parts at the same time: each read is held against the last one of
// another part, if that is less than a second old and neither goes on where
// the read before it ended. So neither a bad hour nor
// load makes a region look slow. There are 128 regions of equal length, a power
// of two of at least 64 MiB, that reach from 0 to the farthest read.
type regions struct {
	shift       int // less 26: so much longer than 64 MiB
	sums        [profileRegions]RegionSums
	last, other pairedRead
	end         int64 // of the last read, in bytes
}

// RegionSums is the reads of one region. Excess is the sum of log2 of their
// latency less that of the read that each was held against, in sixteenths of
// an octave; Squares is the sum of its squares. Neighbouring 64 MiB are not
// held against each other: in a scan, place and time can't be told apart.
type RegionSums struct {
	FromBytes, ToBytes int64
	Reads, Bytes       int64
	LatencyNS          int64
	Pairs              int64
	Excess, Squares    int64
}

type pairedRead struct {
	region int64 // of 64 MiB
	at     int64
	log    int64
	known  bool
}

// logOf is 16 x log2 of a latency, linear within an octave.
func logOf(v int64) int64 {
	u := uint64(max(v, 1)) << 4
	e := bits.Len64(u) - 1
	return int64(e*logUnit) + int64(u>>(e-4)&15)
}

// AddEvent takes the next event of the device, in the order of the fold.
func (p *Profile) AddEvent(e *ingest.Event) {
	p.rhythm.add(e)
	if e.Op != ingest.OpRead || e.OffsetBytes < 0 {
		return
	}
	if e.SizeBytes > 0 {
		p.reuse.read(e)
	}
	if e.LatencyNS < 0 {
		return
	}
	r := &p.regions
	at := e.OffsetBytes >> regionBits
	s := r.at(at)
	s.Reads++
	s.Bytes += max(e.SizeBytes, 0)
	s.LatencyNS += e.LatencyNS
	follows := e.OffsetBytes == r.end
	r.end = e.OffsetBytes + max(e.SizeBytes, 0)
	if follows {
		return // a disk has no seek to do for it: it is no partner of one that has
	}
	now := pairedRead{at, e.TimeNS, logOf(e.LatencyNS), true}
	with := &r.last
	if with.near(at) {
		with = &r.other
	} else {
		r.other = r.last
	}
	if !with.near(at) && e.TimeNS-with.at < pairNS {
		d := now.log - with.log
		s.Pairs++
		s.Excess += d
		s.Squares += d * d
	}
	r.last = now
}

// near says that a read is no partner: it lies in the same 64 MiB, or beside
// them, as in a scan.
func (r *pairedRead) near(at int64) bool {
	return !r.known || at-r.region <= 1 && r.region-at <= 1
}

// at gives the region that holds one of 64 MiB.
func (r *regions) at(small int64) *RegionSums {
	for small>>r.shift >= profileRegions {
		r.widen()
	}
	return &r.sums[small>>r.shift]
}

// widen makes the regions twice as long.
func (r *regions) widen() {
	for i := range profileRegions / 2 {
		s := r.sums[2*i]
		s.add(&r.sums[2*i+1])
		r.sums[i] = s
	}
	clear(r.sums[profileRegions/2:])
	r.shift++
}

func (s *RegionSums) add(o *RegionSums) {
	s.Reads, s.Bytes, s.LatencyNS = s.Reads+o.Reads, s.Bytes+o.Bytes, s.LatencyNS+o.LatencyNS
	s.Pairs, s.Excess, s.Squares = s.Pairs+o.Pairs, s.Excess+o.Excess, s.Squares+o.Squares
}

func (r *regions) merge(o *regions) {
	for r.shift < o.shift {
		r.widen()
	}
	for i := range o.sums {
		if o.sums[i].Reads > 0 {
			r.at(int64(i) << o.shift).add(&o.sums[i])
		}
	}
}

// Regions gives the regions that were read, by address.
func (p *Profile) Regions() (all []RegionSums) {
	long := int64(1) << (regionBits + p.regions.shift)
	for i, s := range p.regions.sums {
		if s.Reads > 0 {
			s.FromBytes, s.ToBytes = int64(i)*long, int64(i+1)*long
			all = append(all, s)
		}
	}
	return all
}

// Pause is a time in which requests waited and none completed: from the later
// of the last completion and the next arrival to the completion that ended it.
type Pause struct {
	FromNS, ToNS int64
	Waiting      int64 // in flight at its end
}

// pause keeps the longest pauses, of equals the earliest.
func (p *Profile) pause(x Pause) {
	i := len(p.pauses)
	for i > 0 && longer(x, p.pauses[i-1]) {
		i--
	}
	if i >= pausesKept {
		return
	}
	if len(p.pauses) < pausesKept {
		p.pauses = append(p.pauses, Pause{})
	}
	copy(p.pauses[i+1:], p.pauses[i:])
	p.pauses[i] = x
}

func longer(a, b Pause) bool {
	if x, y := a.ToNS-a.FromNS, b.ToNS-b.FromNS; x != y {
		return x > y
	}
	return a.FromNS < b.FromNS
}

// Pauses gives the longest pauses of 100 ms and more, the longest first.
func (p *Profile) Pauses() []Pause { return p.pauses }
