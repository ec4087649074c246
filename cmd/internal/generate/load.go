package generate

import (
	"math"

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

	gap    float64 // between tasks of an open load
	places []int64 // of streams
	part   int64   // of the device that a stream has
	blocks uint64  // over which ranks are scattered
	log    int64
	turn   int
	paced  float64
	left   int64 // bytes of a flood that were not asked for yet
	flying int
	owed   int   // tasks that wait outside
	slot   int   // of the last open task
	on     int64 // until when it is on
}

// nextOpen is when the next task of an open load comes.
func (l *Load) nextOpen(d *draws, now int64) int64 {
	gap := l.gap
	if l.Sway > 0 {
		gap /= 1 + l.Sway*math.Sin(2*math.Pi*float64(now%l.SwayNS)/float64(l.SwayNS))
	}
	next := now + int64(d.wait(gap))
	if l.OnNS == 0 {
		return next
	}
	if l.on == 0 {
		l.on = now + int64(d.wait(float64(l.OnNS)))
	}
	if next > l.on {
		next = l.on + int64(d.wait(float64(l.OffNS)))
		l.on = next + int64(d.wait(float64(l.OnNS)))
	}
	return next
}

// begin sets what a load starts from.
func (l *Load) begin(d *draws) {
	l.gap = 1e9 / l.Rate
	l.Procs = max(l.Procs, 1)
	l.Streams = max(l.Streams, 1)
	l.places = make([]int64, l.Streams)
	l.part = (l.Hi - l.Lo) / int64(l.Streams) &^ 4095
	for i := range l.places {
		l.places[i] = l.Lo + int64(i)*l.part
		if l.Pattern == Strided {
			l.places[i] += int64(float64(l.part)*d.unit()) &^ 4095
		}
	}
	for l.blocks = 1; l.blocks<<13 <= uint64(l.Hi-l.Lo); {
		l.blocks <<= 1
	}
	l.log = l.LogLo
}

// place is where the next request of a size goes.
func (l *Load) place(d *draws, p Pattern, size int64) int64 {
	switch p {
	case Random:
		return l.Lo + int64(unit(d.bits())*float64((l.Hi-l.Lo-size)>>12))<<12
	case Skewed:
		u, v := unit(d.bits()), 1.0
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
		if d.chance(0.02) {
			l.places[i] = lo + int64(d.unit()*float64(part))&^4095
		} else if d.chance(0.3) {
			l.places[i] += int64(d.below(64)) << 12
		}
	}
	return at
}

// fill makes r the request of step n of a task, and says whether it is the last.
func (l *Load) fill(d *draws, r *Request, n int) (last bool) {
	r.Comm, r.PID = l.Comm, l.PID
	if l.Procs > 1 {
		r.PID += int32(uint32(r.slot) % uint32(l.Procs))
	}
	if len(l.Steps) == 0 {
		size := l.Sizes[0]
		if len(l.Sizes) > 1 {
			size = l.Sizes[below(d.bits(), len(l.Sizes))]
		}
		r.Op, r.Flags, r.Size = ingest.OpRead, l.Flags, size
		if l.Read < 1 && unit(d.bits()) >= l.Read {
			r.Op = ingest.OpWrite
		}
		r.Offset = l.place(d, l.Pattern, size)
		return true
	}
	s := &l.Steps[n]
	r.Op, r.Flags, r.Offset, r.Size = s.op, s.flags, 0, 0
	if s.op == ingest.OpFlush {
		return n == len(l.Steps)-1
	}
	r.Size = s.sizes[d.below(len(s.sizes))]
	if s.log {
		if l.log+r.Size > l.LogHi {
			l.log = l.LogLo
		}
		r.Offset = l.log
		l.log += r.Size
	} else {
		r.Offset = l.place(d, s.where, r.Size)
	}
	return n == len(l.Steps)-1
}

// meanSize is the mean of Sizes in bytes.
func (l *Load) meanSize() int64 {
	var sum int64
	for _, s := range l.Sizes {
		sum += s
	}
	return sum / int64(max(len(l.Sizes), 1))
}
