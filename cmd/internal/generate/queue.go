package generate

import "math"

// Sink takes requests as they go through their stages. It must not keep them.
type Sink interface {
	Stage(at Stage, r *Request)
}

// queue is the way of requests through one device: a line for tags, which are
// the driver's, and one for channels, which are the device's own. A device with
// a head serves of those in line the nearest, others the first.
//
// Flushes are as the kernel has them: one at a time, by a kernel thread, past
// the scheduler; who asks meanwhile shares the next.
type queue struct {
	dev      device
	loads    []Load
	agenda   agenda
	slab     []Request
	spare    []int32
	untagged line
	waiting  line // for a channel
	tagged   int
	serving  int
	depth    int32
	flushing bool
	flushes  int32
	behind   []int64 // who waits for the next flush: codes of the agenda
	served   []int64 // who waits for the one in flight
	idle     []int64 // the room of one or the other

	sink   Sink
	staged bool  // the sink wants each stage in the order of time,
	at     Stage // else only this, Queued or Completed
	soon   []stamp
	// Where nothing follows from an end and nobody is shown it, ends are not looked at
	// before a channel or a tag is wanted, and a request has its place among the others
	// only if it waits.
	unseen bool
	open   bool // nor is there a fault whose end they would tell
	brief  Request
	ends   []unseen

	fault [2]int64
	held  int64 // when the last request was done that came during the fault
	count int64
}

// unseen is an end that was not looked at, and when its request came.
type unseen struct{ at, came int64 }

// stamp is a stage of a request that the sink has not seen yet.
type stamp struct {
	at    int64
	req   int32
	stage Stage
}

// Times of the kernel's own work, in ns.
const (
	stageNS   = 500  // a stage takes this to three times as much
	releaseNS = 700  // from a tag that comes free to the issue of who waits for it
	againNS   = 3000 // from the end of a request to the next one of a program
	jiffyNS   = 4e6  // a cgroup's limit lets requests that wait through at jiffies,
	sliceNS   = 1e8  // and counts by slices
)

// flushStep is the step of a flood's flush.
const flushStep = 200

func newQueue(dev device, d *draws, loads []Load, fromNS, toNS int64, sink Sink, staged bool, at Stage) *queue {
	q := &queue{dev: dev, loads: loads, agenda: newAgenda(len(loads)), sink: sink, staged: staged, at: at}
	q.unseen = !staged && at == Queued
	for i := range loads {
		l := &loads[i]
		l.begin(d)
		q.unseen = q.unseen && (l.Arrival == Poisson && l.Limit == 0 || l.Arrival == Burst) && len(l.Steps) == 0
		l.FromNS = max(l.FromNS, fromNS)
		if l.ToNS == 0 || l.ToNS > toNS {
			l.ToNS = toNS
		}
		switch l.Arrival {
		case Closed:
			for s := range l.Depth {
				q.wake(l.FromNS+int64(s)*l.JoinNS+int64(d.between(0, float64(min(l.ThinkNS, 1e9)+20000))), i, 0, s)
			}
		case Burst, Flood:
			q.wake(l.FromNS+int64(d.between(0.02, 0.6)*float64(l.PeriodNS)), i, 0, 0)
		default:
			q.agenda.arrive(i, due{l.FromNS + int64(l.gap*l.waits.take()), wakeCode(task(i, 0, 0))})
		}
	}
	return q
}

func task(load, step, slot int) int64 { return int64(load)<<40 | int64(step)<<32 | int64(slot) }

func (q *queue) wake(at int64, load, step, slot int) {
	q.agenda.push(due{at, wakeCode(task(load, step, slot))})
}

// again lets a task go on when the program has looked at what it got.
func (q *queue) again(now int64, load, step, slot int) {
	q.agenda.again.put(due{now + againNS, wakeCode(task(load, step, slot))}, math.MaxInt)
}

// run lets everything happen until the last request is done.
func (q *queue) run() {
	for {
		next, load := q.agenda.next()
		for load >= 0 {
			q.arrive(next.at, load)
			next, load = q.agenda.next()
		}
		switch {
		case next.code < doneCode:
			code := ^next.code &^ doneCode
			q.woke(next.at, int(code>>40), int(code>>32&255), int(int32(code)))
		case next == never:
			q.show(math.MaxInt64)
			q.forget(math.MaxInt64)
			return
		default:
			q.done(next.at, int32(next.code&^doneCode))
		}
	}
}

// arrive lets the next task of an open load come.
func (q *queue) arrive(now int64, load int) {
	l := &q.loads[load]
	if now >= l.ToNS {
		q.agenda.arrive(load, never)
		return
	}
	q.agenda.arrive(load, due{l.nextOpen(now), wakeCode(task(load, 0, 0))})
	if l.Limit > 0 && l.flying >= l.Limit {
		l.owed++
		return
	}
	l.flying++
	l.slot = l.slot&1023 + 1
	q.ask(now, load, 0, l.slot)
}

// woke lets a load do what it waited for. Slot 0 of one that is not closed is
// the load itself, the others are its tasks.
func (q *queue) woke(now int64, load, step, slot int) {
	l := &q.loads[load]
	if step > 0 || slot > 0 || l.Arrival == Closed {
		if step > 0 || now < l.ToNS {
			q.ask(now, load, step, slot)
		}
		return
	}
	if now >= l.ToNS {
		return
	}
	switch l.Arrival {
	case Burst:
		each := max(l.Depth/l.Procs, 1)
		late := make([]int64, (l.Depth+each-1)/each)
		if l.Jitter > 0 { // each process has a timer of its own
			for p := range late {
				late[p] = int64(l.random.unit() * l.Jitter * float64(l.PeriodNS))
			}
		}
		for k := range each { // about as they come
			for p := range late {
				if s := p*each + k; s < l.Depth {
					q.agenda.end(due{now + late[p] + int64(k)*1500 + int64(p)*200, wakeCode(task(load, 0, 1+s))})
				}
			}
		}
		q.wake(now+l.PeriodNS, load, 0, 0)
	case Flood:
		if l.flying == 0 {
			l.left = l.Bytes
			for s := 0; s < l.Depth && l.left > 0; s++ {
				l.left -= l.Sizes[0]
				l.flying++
				q.wake(now+int64(s)*2000, load, 0, 1+s)
			}
		}
		q.wake(now+l.PeriodNS, load, 0, 0)
	}
}

// after is what a task does when a step is done.
func (q *queue) after(now int64, load, step, slot int) {
	l := &q.loads[load]
	if step+1 < len(l.Steps) {
		q.again(now, load, step+1, slot)
		return
	}
	switch l.Arrival {
	case Poisson:
		if l.flying--; l.owed > 0 {
			l.owed--
			l.flying++
			q.again(now, load, 0, slot)
		}
	case Closed:
		if l.ThinkNS == 0 && l.PaceNSB == 0 {
			q.again(now, load, 0, slot)
			return
		}
		at := now + againNS
		if l.ThinkNS > 0 {
			at += int64(float64(l.ThinkNS) * l.waits.take())
		}
		if l.PaceNSB > 0 {
			// What a slice leaves of the limit may be used within it.
			if l.paced = max(l.paced, float64(at-sliceNS)); l.paced > float64(at) {
				at = int64(math.Ceil(l.paced/jiffyNS) * jiffyNS)
			}
			l.paced += float64(l.Sizes[0]) * l.PaceNSB
		}
		q.wake(at, load, 0, slot)
	case Flood:
		switch l.flying--; {
		case step == flushStep:
		case l.left > 0 && now < l.ToNS:
			l.left -= l.Sizes[0]
			l.flying++
			q.again(now, load, 0, slot)
		case l.flying == 0 && l.Flush:
			l.flying++
			q.again(now, load, flushStep, slot)
		}
	}
}

// room is the number of a request that is not in use.
func (q *queue) room() int32 {
	if n := len(q.spare); n > 0 {
		i := q.spare[n-1]
		q.spare = q.spare[:n-1]
		return i
	}
	q.slab = append(q.slab, Request{})
	return int32(len(q.slab) - 1)
}

// later puts a stage in its place among those that are to be shown.
func (q *queue) later(at int64, req int32, stage Stage) {
	q.soon = append(q.soon, stamp{})
	i := len(q.soon) - 1
	for ; i > 0 && q.soon[i-1].at > at; i-- {
		q.soon[i] = q.soon[i-1]
	}
	q.soon[i] = stamp{at, req, stage}
}

// show hands on the stages up to now; none of an earlier time will come.
func (q *queue) show(now int64) {
	n := 0
	for ; n < len(q.soon) && q.soon[n].at <= now; n++ {
		q.sink.Stage(q.soon[n].stage, &q.slab[q.soon[n].req])
	}
	q.soon = q.soon[:copy(q.soon, q.soon[n:])]
}
