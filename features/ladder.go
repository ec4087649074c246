package features

import (
	"math"
	"math/bits"

	"github.com/iopathy/iopathy/ingest"
)

// Stage is a part of a request's way, from the program down to the device.
type Stage int

// The stages. blkparse's letters name their ends: Q queued, G a request was
// made of it, I it was inserted into the scheduler's queue, D sent to the driver, C
// completed. StageDirect is that of requests that are never inserted.
const (
	StageApp       Stage = iota // measured by a program
	StageCall                   // a system call
	StageBlock                  // Q2C: all of the block layer
	StageQueue                  // Q2D: all before the driver
	StageGet                    // Q2G: waits for a request (tags; limits that throttle)
	StagePlug                   // G2I: plugged, or behind a flush that must come first
	StageScheduler              // I2D: in the scheduler
	StageDirect                 // G2D: past the scheduler
	StageDevice                 // D2C: in the driver and the device
	Stages                      // their number
)

var stageNames = [Stages]string{
	"application", "system call", "block layer (Q2C)", "queue (Q2D)",
	"request (Q2G)", "plug or flush (G2I)", "scheduler (I2D)", "past the scheduler (G2D)", "device (D2C)",
}

func (s Stage) String() string { return stageNames[s] }

// Step is the times that requests spent in one stage.
type Step struct {
	Name                        string
	N                           int64
	MeanNS, DevNS, P50NS, P99NS float64
	ClockNS                     float64 // error of its ends' stamps against each other; 0 of one clock
}

// The buckets of a ladder: eight an octave from 2^ladderLow ns up; what is
// beyond an end counts in the last bucket there. A quantile is off by 12 % at most,
// where values fill a bucket evenly by far less.
const (
	ladderLow     = 7  // 128 ns
	ladderTop     = 39 // 9 minutes
	ladderBits    = 3
	ladderBuckets = (ladderTop - ladderLow) << ladderBits
)

// Ladder counts what requests spent in each stage: integers, in bounded memory
// (18 KiB), that add up the same in any order. The zero value is empty.
type Ladder struct{ stages [Stages]ladderStage }

type ladderStage struct {
	n       int64
	sum     wide
	squares wide
	buckets [ladderBuckets]int64
}

// wide is an integer of 128 bits.
type wide struct{ hi, lo uint64 }

func (w *wide) add(o wide) {
	var carry uint64
	w.lo, carry = bits.Add64(w.lo, o.lo, 0)
	w.hi, _ = bits.Add64(w.hi, o.hi, carry)
}

func (w wide) float() float64 { return float64(w.hi)*0x1p64 + float64(w.lo) }

// tellsStages says whether an event tells a part of its way.
func tellsStages(e *ingest.Event) bool { return max(e.QueueNS, e.GetNS, e.InsertNS) >= 0 }

// AddEvent counts the stages of an event, as far as its source tells them.
func (l *Ladder) AddEvent(e *ingest.Event) {
	switch {
	case e.LatencyNS < 0:
		return
	case e.Kind == ingest.KindApp:
		l.add(StageApp, e.LatencyNS)
		return
	case e.Kind == ingest.KindSyscall:
		l.add(StageCall, e.LatencyNS)
		return
	case e.Kind == ingest.KindD2C:
		l.add(StageDevice, e.LatencyNS)
	case e.Kind == ingest.KindQ2C:
		l.add(StageBlock, e.LatencyNS)
		if e.QueueNS >= 0 {
			l.add(StageDevice, max(e.LatencyNS-e.QueueNS, 0))
		}
	default:
		return
	}
	if e.QueueNS >= 0 {
		l.add(StageQueue, e.QueueNS)
	}
	if e.QueueNS >= 0 && e.GetNS >= 0 {
		l.add(StageGet, max(e.QueueNS-e.GetNS, 0))
	}
	switch {
	case e.InsertNS >= 0:
		if e.GetNS >= 0 {
			l.add(StagePlug, max(e.GetNS-e.InsertNS, 0))
		}
		l.add(StageScheduler, e.InsertNS)
	case e.GetNS >= 0:
		l.add(StageDirect, e.GetNS)
	}
}

func (l *Ladder) add(s Stage, ns int64) {
	x := &l.stages[s]
	x.n++
	x.sum.add(wide{0, uint64(ns)})
	hi, lo := bits.Mul64(uint64(ns), uint64(ns))
	x.squares.add(wide{hi, lo})
	x.buckets[ladderBucket(ns)]++
}

// ladderBucket is the bucket of a time: its power of two, and the bits below.
func ladderBucket(ns int64) int {
	if ns < 1<<ladderLow {
		return 0
	}
	e := bits.Len64(uint64(ns)) - 1
	return min((e-ladderLow)<<ladderBits+int(ns>>(e-ladderBits))&(1<<ladderBits-1), ladderBuckets-1)
}

// ladderFrom is the least time of a bucket; that of the first is 0.
func ladderFrom(b int) float64 {
	if b == 0 {
		return 0
	}
	return float64(int64(1<<ladderBits+b&(1<<ladderBits-1)) << (ladderLow + b>>ladderBits - ladderBits))
}

// Merge adds the counts of o.
func (l *Ladder) Merge(o *Ladder) {
	for s := range l.stages {
		x, y := &l.stages[s], &o.stages[s]
		if y.n == 0 {
			continue
		}
		x.n += y.n
		x.sum.add(y.sum)
		x.squares.add(y.squares)
		for b, n := range y.buckets {
			x.buckets[b] += n
		}
	}
}

// N is how many requests tell their time in a stage.
func (l *Ladder) N(s Stage) int64 { return l.stages[s].n }

// SumNS is the time that the requests spent in a stage.
func (l *Ladder) SumNS(s Stage) float64 { return l.stages[s].sum.float() }

// Empty says whether no stage is told.
func (l *Ladder) Empty() bool {
	for s := range l.stages {
		if l.stages[s].n > 0 {
			return false
		}
	}
	return true
}

// Steps gives the stages that are told, in their order. Deviations are those
// of the requests (population). One source stamps both ends of a stage, so that the
// error of clocks is 0.
func (l *Ladder) Steps() (all []Step) {
	for s := range l.stages {
		x := &l.stages[s]
		if x.n == 0 {
			continue
		}
		mean := x.sum.float() / float64(x.n)
		all = append(all, Step{
			Name: stageNames[s], N: x.n, MeanNS: mean,
			DevNS: math.Sqrt(max(x.squares.float()/float64(x.n)-mean*mean, 0)),
			P50NS: x.quantile(0.5), P99NS: x.quantile(0.99),
		})
	}
	return all
}

// quantile is the value at rank q x (n-1), the values of a bucket taken as
// evenly spread over it.
func (x *ladderStage) quantile(q float64) float64 {
	rank, before := q*float64(x.n-1), int64(0)
	for b, n := range x.buckets {
		if rank < float64(before+n) {
			from, to := ladderFrom(b), ladderFrom(b+1)
			return from + (to-from)*min((rank-float64(before)+0.5)/float64(n), 1)
		}
		before += n
	}
	return ladderFrom(ladderBuckets)
}
