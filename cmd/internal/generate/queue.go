package generate

import (
	"math"

	"github.com/iopathy/iopathy/ingest"
)

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
	draw     *draws
	loads    []Load
	agenda   agenda
	slab     []Request
	free     []int32
	untagged line
	waiting  line // for a channel
	tagged   int
	serving  int
	depth    int32
	flushing bool
	flushes  int32
	behind   []int64 // who waits for the next flush: codes of the agenda
	served   []int64 // who waits for the one in flight

	sink   Sink
	staged bool  // the sink wants each stage in the order of time,
	at     Stage // else only this, Queued or Completed
	soon   []stamp
	fault  [2]int64
	held   int64 // when the last request was done that came during the fault
	count  int64
}

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
	q := &queue{dev: dev, draw: d, loads: loads, sink: sink, staged: staged, at: at}
	for i := range loads {
		l := &loads[i]
		l.begin(d)
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
			q.wake(l.FromNS+int64(d.wait(1e9/l.Rate)), i, 0, 0)
		}
	}
	return q
}

func task(load, step, slot int) int64 { return int64(load)<<40 | int64(step)<<32 | int64(slot) }

func (q *queue) wake(at int64, load, step, slot int) {
	q.agenda.push(due{at, ^task(load, step, slot)})
}

// run lets everything happen until the last request is done.
func (q *queue) run() {
	for !q.agenda.empty() {
		next := q.agenda.pop()
		if next.code >= 0 {
			q.done(next.at, int32(next.code))
			continue
		}
		code := ^next.code
		q.woke(next.at, int(code>>40), int(code>>32&255), int(int32(code)))
	}
	q.show(math.MaxInt64)
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
		each, late := max(l.Depth/l.Procs, 1), int64(0)
		for s := range l.Depth {
			if l.Jitter > 0 && s%each == 0 { // each process has a timer of its own
				late = int64(q.draw.unit() * l.Jitter * float64(l.PeriodNS))
			}
			q.wake(now+late+int64(s%each)*1500+int64(s/each)*200, load, 0, 1+s)
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
	default:
		q.wake(l.nextOpen(q.draw, now), load, 0, 0)
		if l.Limit > 0 && l.flying >= l.Limit {
			l.owed++
			return
		}
		l.flying++
		l.slot = l.slot%1024 + 1
		q.ask(now, load, 0, l.slot)
	}
}

// ask queues the request of a step.
func (q *queue) ask(now int64, load, step, slot int) {
	l := &q.loads[load]
	if step == flushStep || len(l.Steps) > 0 && l.Steps[step].op == ingest.OpFlush {
		if q.behind = append(q.behind, task(load, step, slot)); !q.flushing {
			q.flush(now)
		}
		return
	}
	i := q.room()
	r := &q.slab[i]
	r.load, r.slot, r.step = int32(load), int32(slot), uint8(step)
	l.fill(q.draw, r, step)
	u := q.draw.pcg.Uint64()
	r.Scheduled = q.dev.Scheduler
	r.CPU = uint8(r.PID) & 3
	r.depth = q.depth
	r.At[Queued] = now
	r.At[Got] = now + stageNS + int64(u&1023)
	r.At[Inserted] = r.At[Got]
	if r.Scheduled {
		r.At[Inserted] += stageNS + int64(u>>10&1023)
	}
	r.At[Issued] = r.At[Inserted] + stageNS + int64(u>>20&1023)
	q.depth++
	if q.staged {
		q.later(now, i, Queued)
		q.later(r.At[Got], i, Got)
		if r.Scheduled {
			q.later(r.At[Inserted], i, Inserted)
		}
		q.show(now)
	} else if q.at == Queued {
		q.sink.Stage(Queued, r)
	}
	if q.tagged >= q.dev.Tags {
		q.untagged.push(i)
		return
	}
	q.issue(r.At[Issued], i)
}

// flush begins one for all who wait for it.
func (q *queue) flush(now int64) {
	q.flushing = true
	q.behind, q.served = q.served[:0], q.behind
	i := q.room()
	r := &q.slab[i]
	*r = Request{Op: ingest.OpFlush, Flags: ingest.FlagPreflush, load: -1, depth: q.depth, CPU: uint8(q.flushes & 3)}
	r.Comm, r.PID = kworkers[r.CPU], 40+7*int32(r.CPU)
	q.flushes++
	for s := range r.At {
		r.At[s] = now
	}
	q.depth++
	if !q.staged && q.at == Queued {
		q.sink.Stage(Queued, r)
	}
	q.tagged++
	if q.staged {
		q.later(now, i, Issued)
		q.show(now)
	}
	q.channel(i)
}

var kworkers = [4]string{"kworker/0:1H", "kworker/1:1H", "kworker/2:1H", "kworker/3:1H"}

// issue hands a request to the driver.
func (q *queue) issue(now int64, i int32) {
	q.tagged++
	if q.dev.locked {
		now = q.dev.awake(now)
	}
	q.slab[i].At[Issued] = now
	if q.staged {
		q.later(now, i, Issued)
	}
	q.channel(i)
}

// channel begins to serve a request, or lets it wait for that.
func (q *queue) channel(i int32) {
	if q.serving >= q.dev.Channels {
		q.waiting.push(i)
		return
	}
	q.start(q.slab[i].At[Issued], i)
}

func (q *queue) start(now int64, i int32) {
	q.serving++
	q.agenda.push(due{q.dev.serve(&q.slab[i], now), int64(i)})
}

// nearest is which of those in line a head serves next: that with the shortest
// way, but none is left for more than half a second.
func (q *queue) nearest(now int64) int {
	if !q.dev.Rotates || now-q.slab[q.waiting.at(0)].At[Issued] > 5e8 {
		return 0
	}
	best, way := 0, int64(math.MaxInt64)
	for k := range min(q.waiting.n, 32) {
		r := &q.slab[q.waiting.at(k)]
		far := r.Offset - q.dev.head
		if far < 0 {
			far = -far
		}
		if far < way {
			best, way = k, far
		}
	}
	return best
}

// done ends a request and lets on who waited for it.
func (q *queue) done(now int64, i int32) {
	r := &q.slab[i]
	r.At[Completed] = now
	q.depth--
	q.tagged--
	q.serving--
	q.count++
	if r.At[Queued] >= q.fault[0] && r.At[Queued] < q.fault[1] {
		q.held = now
	}
	if q.staged {
		q.later(now, i, Completed)
		q.show(now)
	} else if q.at == Completed {
		q.sink.Stage(Completed, r)
	}
	load, step, slot, flush := int(r.load), int(r.step), int(r.slot), r.Op == ingest.OpFlush
	q.free = append(q.free, i)
	if q.waiting.n > 0 {
		n := q.waiting.take(q.nearest(now))
		q.start(max(now, q.slab[n].At[Issued]), n)
	}
	if q.untagged.n > 0 && q.tagged < q.dev.Tags {
		n := q.untagged.take(0)
		q.issue(max(now+releaseNS, q.slab[n].At[Issued]), n)
	}
	if !flush {
		q.after(now, load, step, slot)
		return
	}
	served := q.served
	q.served, q.flushing = nil, false
	for _, t := range served {
		q.after(now, int(t>>40), int(t>>32&255), int(int32(t)))
	}
	if len(q.behind) > 0 && !q.flushing {
		q.flush(now)
	}
}

// after is what a task does when a step is done.
func (q *queue) after(now int64, load, step, slot int) {
	l := &q.loads[load]
	if step+1 < len(l.Steps) {
		q.wake(now+againNS, load, step+1, slot)
		return
	}
	switch l.Arrival {
	case Poisson:
		if l.flying--; l.owed > 0 {
			l.owed--
			l.flying++
			q.wake(now+againNS, load, 0, slot)
		}
	case Closed:
		at := now + againNS
		if l.ThinkNS > 0 {
			at += int64(q.draw.wait(float64(l.ThinkNS)))
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
			q.wake(now+againNS, load, 0, slot)
		case l.flying == 0 && l.Flush:
			l.flying++
			q.wake(now+againNS, load, flushStep, slot)
		}
	}
}

// room is the number of a request that is not in use.
func (q *queue) room() int32 {
	if n := len(q.free); n > 0 {
		i := q.free[n-1]
		q.free = q.free[:n-1]
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
