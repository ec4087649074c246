package align

import (
	"cmp"
	"math"
	"slices"

	"github.com/iopathy/iopathy/ingest"
)

// None is a stamp, an offset or a size that a source does not tell.
const None = math.MinInt64

// IO is one I/O of a source. Arrive is when it was queued, or when the program
// called; Issue when it was given to the driver; Done when it was completed.
type IO struct {
	Arrive, Issue, Done int64
	Offset, Size        int64
	Device              uint32 // number of its name in the source
	PID                 int32
	Op                  ingest.Op
}

// stamp is the one that sources of all kinds tell best: the completion, else the
// arrival.
func (o *IO) stamp() int64 {
	if o.Done != None {
		return o.Done
	}
	return o.Arrive
}

// first is the earliest stamp.
func (o *IO) first() int64 {
	if o.Arrive != None {
		return o.Arrive
	}
	if o.Issue != None {
		return o.Issue
	}
	return o.Done
}

// MaxIOs bounds what is kept of a source. Of a longer one those I/Os are kept
// whose hash is small, so that the same ones stay of both (as SHARDS samples
// blocks: Waldspurger et al., FAST 2015).
const MaxIOs = 1 << 18

// Source is what is kept of one source.
type Source struct {
	Name    string
	Kind    ingest.LatencyKind
	IOs     []IO
	Devices []string
	Seen    int64 // I/Os, kept or not

	most   int
	number map[string]uint32
	limit  uint64 // hashes from it on are dropped
	head   []IO   // the first, none left out
}

// NewSource is an empty source.
func NewSource(name string) *Source {
	return &Source{Name: name, number: map[string]uint32{}, limit: math.MaxUint64, most: MaxIOs}
}

// Keep bounds what is kept of a source to n I/Os, in place of MaxIOs; before the first Add.
func (s *Source) Keep(n int) { s.most = n }

// Add takes the events of a batch.
func (s *Source) Add(b *ingest.Batch) {
	for i := range b.Events {
		e := &b.Events[i]
		if e.TimeNS > math.MaxInt64/4 || e.TimeNS < -math.MaxInt64/4 {
			continue // a broken stamp
		}
		s.Seen++
		o := IO{Arrive: None, Issue: None, Done: None, Offset: None, Size: None, PID: e.PID, Op: e.Op}
		if e.OffsetBytes >= 0 {
			o.Offset = e.OffsetBytes
		}
		if e.SizeBytes >= 0 {
			o.Size = e.SizeBytes
		}
		switch {
		case e.LatencyNS < 0:
			o.Arrive = e.TimeNS
		case e.Kind == ingest.KindD2C:
			o.Issue, o.Done = e.TimeNS-e.LatencyNS, e.TimeNS
		default:
			o.Arrive, o.Done = e.TimeNS-e.LatencyNS, e.TimeNS
			if e.QueueNS >= 0 {
				o.Issue = o.Arrive + e.QueueNS
			}
		}
		if len(s.IOs) == 0 || s.Kind == ingest.KindNone {
			s.Kind = e.Kind
		}
		o.Device = s.device(b.Names.String(e.Device))
		if len(s.head) < s.most/4 {
			s.head = append(s.head, o)
		}
		if s.sampled() && o.hash() >= s.limit {
			continue
		}
		s.IOs = append(s.IOs, o)
		for len(s.IOs) > s.most {
			s.halve()
		}
	}
}

func (s *Source) sampled() bool { return s.limit != math.MaxUint64 }

// maxDevices bounds the names that are kept: the others share one.
const maxDevices = 1 << 14

func (s *Source) device(name string) uint32 {
	n, ok := s.number[name]
	if !ok {
		if len(s.Devices) == maxDevices {
			return maxDevices - 1
		}
		n = uint32(len(s.Devices))
		s.number[name] = n
		s.Devices = append(s.Devices, name)
	}
	return n
}

// halve keeps those of the I/Os whose hash is in the lower half.
func (s *Source) halve() {
	s.limit /= 2
	s.IOs = slices.DeleteFunc(s.IOs, func(o IO) bool { return o.hash() >= s.limit })
}

// hash is of what both sources tell alike; it must not differ between runs.
func (o *IO) hash() uint64 {
	x := uint64(o.Offset)*0x9e3779b97f4a7c15 ^ uint64(o.Size)*0xc2b2ae3d27d4eb4f ^ uint64(o.Op)<<56
	x ^= x >> 29 // the finaliser of splitmix64
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 32
	x *= 0x94d049bb133111eb
	return x ^ x>>29
}

// settle sorts a source by time, and leaves it as sparse as the other.
func (s *Source) settle(limit uint64) []IO {
	ios := slices.Clone(s.IOs)
	if limit < s.limit {
		ios = slices.DeleteFunc(ios, func(o IO) bool { return o.hash() >= limit })
	}
	return sorted(ios)
}

func sorted(ios []IO) []IO {
	slices.SortFunc(ios, func(a, b IO) int {
		return cmp.Or(cmp.Compare(a.stamp(), b.stamp()), cmp.Compare(a.first(), b.first()), cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Size, b.Size), cmp.Compare(a.Op, b.Op), cmp.Compare(a.Device, b.Device))
	})
	return ios
}

// resolution is the largest power of ten that all stamps of a source are
// multiples of, apart from what the first one has: 1 for ns, 1000 for us.
func resolution(ios []IO) int64 {
	g := int64(0)
	for i := range ios {
		d := ios[i].stamp() - ios[0].stamp()
		for d != 0 {
			g, d = d, g%d
		}
	}
	r := int64(1)
	for g > 0 && g%(r*10) == 0 && r < 1e9 {
		r *= 10
	}
	return r
}

// Correct moves the stamps of a source to the clock that c makes of its own.
func (s *Source) Correct(c *ingest.Clock) {
	for _, ios := range [][]IO{s.IOs, s.head} {
		for i := range ios {
			for _, stamp := range []*int64{&ios[i].Arrive, &ios[i].Issue, &ios[i].Done} {
				if *stamp != None {
					*stamp = c.Time(*stamp)
				}
			}
		}
	}
}
