package generate

import (
	"math"
	"math/bits"

	"github.com/iopathy/iopathy/ingest"
)

// Arrival is when a workload asks for something.
type Arrival uint8

// The arrivals. Open ones come whatever becomes of them, closed ones wait for
// their last request.
const (
	Poisson Arrival = iota // open, Rate a second; OnNS and OffNS make it come and go
	Burst                  // open, Depth at once every PeriodNS
	Closed                 // Depth at a time, ThinkNS between; JoinNS: one joins after the other
	Flood                  // every PeriodNS, Bytes with Depth at a time, a flush behind them if it ends with one
)

// Pattern is where a workload goes.
type Pattern uint8

// The patterns, within [Lo,Hi) of the device.
const (
	Random  Pattern = iota
	Skewed          // few blocks often: the rank of a block is even to the power of Skew
	Stream          // one after the other, in Streams places
	Cycle           // one after the other, from the start again at the end
	Strided         // one after the other in small hops, as a file's next extents
)

// step is one request of a task: what it asks for once the one before is done.
type step struct {
	op    ingest.Op
	flags ingest.Flags
	sizes []int64 // one of them is drawn; twice in it is twice as often
	where Pattern
	log   bool // it goes to the load's log, one after the other
}

// Load is a workload. Its task is Steps, one after the other; an empty list is
// a read or write of one of Sizes.
type Load struct {
	Comm    Program
	PID     int32
	Arrival Arrival
	Rate    float64 // tasks a second
	OnNS    int64
	OffNS   int64
	Sway    float64 // how far the rate goes up and down
	SwayNS  int64

	PeriodNS int64
	Jitter   float64 // of the period
	Procs    int     // processes that share Depth; 0: one

	Depth   int
	Limit   int // open: no more than this many are in flight, the rest waits outside; 0: none
	ThinkNS int64
	JoinNS  int64
	Bytes   int64
	Flush   bool

	Read    float64 // share of reads
	Sizes   []int64
	Pattern Pattern
	Skew    float64
	Streams int
	Lo, Hi  int64
	LogLo   int64 // where the log of Steps is
	LogHi   int64
	Flags   ingest.Flags
	Steps   []step

	PaceNSB float64 // requests are held to this many ns a byte before they are queued
	FromNS  int64
	ToNS    int64

	random mix
	waits  *waits
	wants  *wants
	gaps   []float64 // of one that sways, over a turn
	share  uint64    // of 2^64 that a process has
	gap    float64   // between tasks of an open load
	places []int64   // of streams
	part   int64     // of the device that a stream has
	blocks uint64    // over which ranks are scattered
	log    int64
	turn   int
	paced  float64
	left   int64 // bytes of a flood that were not asked for yet
	flying int
	owed   int   // tasks that wait outside
	slot   int   // of the last open task
	on     int64 // until when it is on
}

// swaySteps are those of a rate that goes up and down.
const swaySteps = 256

// nextOpen is when the next task of an open load comes.
func (l *Load) nextOpen(now int64) int64 {
	if l.Sway > 0 || l.OnNS > 0 {
		return l.nextUneven(now)
	}
	return now + int64(l.gap*l.waits.take())
}

// nextUneven is nextOpen of a load that comes and goes.
func (l *Load) nextUneven(now int64) int64 {
	gap := l.gap
	if l.Sway > 0 {
		gap = l.gaps[int(float64(now%l.SwayNS)/float64(l.SwayNS)*swaySteps)%swaySteps]
	}
	next := now + int64(gap*l.waits.take())
	if l.OnNS == 0 {
		return next
	}
	if l.on == 0 {
		l.on = now + int64(float64(l.OnNS)*l.waits.take())
	}
	if next > l.on {
		next = l.on + int64(float64(l.OffNS)*l.waits.take())
		l.on = next + int64(float64(l.OnNS)*l.waits.take())
	}
	return next
}

// begin sets what a load starts from. Its numbers come from sources of its own, so that
// what it asks for does not hang on what others do meanwhile.
func (l *Load) begin(d *draws) {
	l.random, l.waits, l.wants = d.split(), newWaits(d.split()), &wants{random: d.split(), at: ahead / 2}
	l.gap = 1e9 / l.Rate
	if l.Sway > 0 {
		l.gaps = make([]float64, swaySteps)
		for i := range l.gaps {
			l.gaps[i] = l.gap / (1 + l.Sway*math.Sin(2*math.Pi*(float64(i)+0.5)/swaySteps))
		}
	}
	l.Procs = max(l.Procs, 1)
	l.share = math.MaxUint64/uint64(l.Procs) + 1
	l.Streams = max(l.Streams, 1)
	l.places = make([]int64, l.Streams)
	l.part = (l.Hi - l.Lo) / int64(l.Streams) &^ 4095
	for i := range l.places {
		l.places[i] = l.Lo + int64(i)*l.part
		if l.Pattern == Strided {
			l.places[i] += int64(float64(l.part)*l.random.unit()) &^ 4095
		}
	}
	for l.blocks = 1; l.blocks<<13 <= uint64(l.Hi-l.Lo); {
		l.blocks <<= 1
	}
	l.log = l.LogLo
}

// place is where the next request of a size goes, where bits are random.
func (l *Load) place(u uint64, p Pattern, size int64) int64 {
	switch p {
	case Random:
		blocks, _ := bits.Mul64(u, uint64(l.Hi-l.Lo-size)>>12)
		return l.Lo + int64(blocks<<12)
	case Skewed:
		u, v := unit(u), 1.0
		for k := l.Skew; k >= 1; k-- {
			v *= u
		}
		// Neighbours in rank are no neighbours on the device: an odd factor scatters
		// them over the largest power of two of blocks that fits.
		at := uint64(v*float64(l.blocks)) * 0x9e3779b97f4a7c15 & (l.blocks - 1)
		return min(l.Lo+int64(at<<12), l.Hi-size)
	}
	i, part := l.turn, l.part
	if l.turn++; l.turn == l.Streams {
		l.turn = 0
	}
	lo := l.Lo + int64(i)*part
	at := l.places[i]
	if at+size > lo+part {
		at = lo
	}
	l.places[i] = at + size
	if p == Strided {
		if unit(u) < 0.02 {
			l.places[i] = lo + int64(l.random.unit()*float64(part))&^4095
		} else if l.random.unit() < 0.3 {
			l.places[i] += int64(below(l.random.bits(), 64)) << 12
		}
	}
	return at
}

// want is what a load asks for next, and the random bits that say how long the kernel
// takes over it.
type want struct {
	offset, size int64
	op           ingest.Op
	stages       uint32
}

// wants are those of a load without steps.
type wants struct {
	random mix
	at     int // how many of next were asked for
	next   [ahead / 2]want
}

//go:noinline
func (l *Load) plan() {
	random, stages := l.wants.random, uint64(0)
	reads := uint64(math.Round(l.Read * (1 << 15)))
	size, sizes := l.Sizes[0], uint64(len(l.Sizes))
	for i := range l.wants.next {
		// A place needs the upper 34 bits, which are 64 TB of blocks; of the others half are
		// for the size and half for the direction.
		u := random.bits()
		if stages >>= 32; i&1 == 0 {
			stages = random.bits()
		}
		if sizes > 1 {
			size = l.Sizes[u&(1<<15-1)*sizes>>15]
		}
		var read ingest.Op // or not, without a branch
		if u>>15&(1<<15-1) < reads {
			read = 1
		}
		w := &l.wants.next[i]
		w.op, w.size, w.stages = ingest.OpWrite^(ingest.OpRead^ingest.OpWrite)&-read, size, uint32(stages)
		w.offset = l.place(u, l.Pattern, size)
	}
	l.wants.random, l.wants.at = random, 0
}

// fill makes r the request of step n of a task, and gives the random bits of its stages.
func (l *Load) fill(r *Request, n int) uint32 {
	r.Comm, r.PID = l.Comm, l.PID
	if l.Procs > 1 {
		r.PID += l.proc(r.slot)
	}
	if len(l.Steps) == 0 {
		if l.wants.at == len(l.wants.next) {
			l.plan()
		}
		w := &l.wants.next[l.wants.at%len(l.wants.next)]
		l.wants.at++
		r.Op, r.Flags, r.Size, r.Offset = w.op, l.Flags, w.size, w.offset
		return w.stages
	}
	return l.fillStep(r, &l.Steps[n])
}

// proc is which of its processes a task is of: the remainder of a division, without one.
func (l *Load) proc(slot int32) int32 {
	p, _ := bits.Mul64(l.share*uint64(slot), uint64(l.Procs))
	return int32(p)
}

func (l *Load) fillStep(r *Request, s *step) uint32 {
	u := l.random.bits()
	r.Op, r.Flags, r.Offset, r.Size = s.op, s.flags, 0, 0
	if s.op == ingest.OpFlush {
		return uint32(u)
	}
	r.Size = s.sizes[below(u, len(s.sizes))]
	if s.log {
		if l.log+r.Size > l.LogHi {
			l.log = l.LogLo
		}
		r.Offset = l.log
		l.log += r.Size
	} else {
		r.Offset = l.place(l.random.bits(), s.where, r.Size)
	}
	return uint32(u)
}

// meanSize is the mean of Sizes in bytes.
func (l *Load) meanSize() int64 {
	var sum int64
	for _, s := range l.Sizes {
		sum += s
	}
	return sum / int64(max(len(l.Sizes), 1))
}
