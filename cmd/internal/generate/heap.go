package generate

import (
	"math"
	"math/bits"
)

// due is something that happens at a time: a request that is done (code is doneCode
// and its number), or a load that wakes (code is wakeCode of its task).
type due struct {
	at   int64
	code uint64
}

// doneCode is above the codes of all that wakes: of what is due at one time, loads wake
// first.
const doneCode = 1 << 63

// wakeCode orders tasks, the last first.
func wakeCode(task int64) uint64 { return ^uint64(task) &^ doneCode }

// never is after all that happens.
var never = due{math.MaxInt64, math.MaxUint64}

// earlier is 1 if a is before b, else 0: a comparison of 128 bits without a branch,
// since nobody could foretell it.
func earlier(a, b due) uint64 {
	_, less := bits.Sub64(a.code, b.code, 0)
	_, less = bits.Sub64(uint64(a.at), uint64(b.at), less)
	return less
}

// agenda is what is due. What comes in about the order in which it is known has lanes of
// its own, the next arrival of each open load is one, and all else is a heap of four
// branches, with never behind its end so that four are always there. What was taken from
// the heap leaves its place at the root until something else is pushed, which mostly is
// what follows from it.
type agenda struct {
	ends  lane // of requests
	again lane // a fixed time after the last end

	arrivals []due // by load
	soonest  int   // of arrivals

	heap []due
	n    int
	open bool // the root's place is free
}

func newAgenda(loads int) agenda {
	return agenda{ends: newLane(), again: newLane(), arrivals: nevers(max(loads, 1)), heap: nevers(64)}
}

func nevers(n int) []due {
	d := make([]due, n)
	for i := range d {
		d[i] = never
	}
	return d
}

// next is what is due next, until something is pushed: never if nothing is. Load is
// whose arrival it is; -1: of nobody.
func (a *agenda) next() (d due, load int) {
	arrival := a.arrivals[a.soonest]
	if a.n+a.ends.n+a.again.n == 0 && arrival != never {
		return arrival, a.soonest
	}
	if a.open {
		a.close()
	}
	d = a.heap[0]
	first, lane := a.ends.first(), &a.ends
	if soon := a.again.first(); earlier(soon, first) != 0 {
		first, lane = soon, &a.again
	}
	if earlier(first, arrival) == 0 {
		if earlier(arrival, d) != 0 {
			return arrival, a.soonest
		}
	} else if earlier(first, d) != 0 {
		lane.take()
		return first, -1
	}
	a.open = a.n > 0
	return d, -1
}

func (a *agenda) close() {
	a.n--
	a.open = false
	last := a.heap[a.n]
	if a.heap[a.n] = never; a.n > 0 {
		a.sink(last)
	}
}

// arrive sets the next arrival of a load.
func (a *agenda) arrive(load int, d due) {
	a.arrivals[load] = d
	soonest := 0
	for i := 1; i < len(a.arrivals); i++ {
		if earlier(a.arrivals[i], a.arrivals[soonest]) != 0 {
			soonest = i
		}
	}
	a.soonest = soonest
}

// end pushes the end of a request.
func (a *agenda) end(d due) {
	if !a.ends.put(d, 8) {
		a.push(d)
	}
}

func (a *agenda) push(d due) {
	if a.open {
		a.open = false
		a.sink(d)
		return
	}
	if a.n+4 >= len(a.heap) {
		a.grow()
	}
	s := a.heap
	i := a.n
	a.n++
	for i > 0 {
		up := (i - 1) / 4
		if earlier(d, s[up]) == 0 {
			break
		}
		s[i] = s[up]
		i = up
	}
	s[i] = d
}

func (a *agenda) grow() {
	heap := make([]due, 2*len(a.heap))
	for i := copy(heap, a.heap); i < len(heap); i++ {
		heap[i] = never
	}
	a.heap = heap
}

// sink puts d where it belongs, from the root on.
func (a *agenda) sink(d due) {
	s := a.heap
	i := 0
	for {
		first := 4*i + 1
		if first >= a.n {
			break
		}
		c := s[first : first+4 : first+4]
		left, right := earlier(c[1], c[0]), 2+earlier(c[3], c[2])
		least := left + (right-left)*earlier(c[right&3], c[left&3])
		if earlier(c[least&3], d) == 0 {
			break
		}
		s[i] = c[least&3]
		i = first + int(least)
	}
	s[i] = d
}

// lane is what is due in about the order in which it is put there: a ring that grows,
// never where it is free.
type lane struct {
	ring []due
	from int
	n    int
}

func newLane() lane { return lane{ring: nevers(64)} }

// first is the next, or never.
func (l *lane) first() due { return l.ring[l.from&(len(l.ring)-1)] }

// take removes the first.
func (l *lane) take() {
	l.ring[l.from&(len(l.ring)-1)] = never
	l.from++
	l.n--
}

// put gives d its place if no more than most are after it.
func (l *lane) put(d due, most int) bool {
	if l.n+1 == len(l.ring) {
		l.grow()
	}
	ring, mask := l.ring, len(l.ring)-1
	end := l.from + l.n
	at := end
	for at > l.from && earlier(d, ring[(at-1)&mask]) != 0 {
		if at--; end-at > most {
			return false
		}
	}
	for i := end; i > at; i-- {
		ring[i&mask] = ring[(i-1)&mask]
	}
	ring[at&mask] = d
	l.n++
	return true
}

func (l *lane) grow() {
	ring := nevers(2 * len(l.ring))
	for i := range l.n {
		ring[i] = l.ring[(l.from+i)&(len(l.ring)-1)]
	}
	l.ring, l.from = ring, 0
}

// line is a queue in the order of arrival, a ring that grows.
type line struct {
	ring []int32
	from int
	n    int
}

func (q *line) push(v int32) {
	if q.n == len(q.ring) {
		ring := make([]int32, max(64, 2*q.n))
		for i := range q.n {
			ring[i] = q.at(i)
		}
		q.ring, q.from = ring, 0
	}
	q.ring[(q.from+q.n)&(len(q.ring)-1)] = v
	q.n++
}

func (q *line) at(i int) int32 { return q.ring[(q.from+i)&(len(q.ring)-1)] }

// take removes the i-th.
func (q *line) take(i int) int32 {
	v := q.at(i)
	for ; i > 0; i-- {
		q.ring[(q.from+i)&(len(q.ring)-1)] = q.at(i - 1)
	}
	q.from = (q.from + 1) & (len(q.ring) - 1)
	q.n--
	return v
}
