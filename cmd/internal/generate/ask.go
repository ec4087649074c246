package generate

import (
	"math"

	"github.com/iopathy/iopathy/ingest"
)

// The way of one request through the queue: asked for, issued, served, done.

// ask queues the request of a step.
func (q *queue) ask(now int64, load, step, slot int) {
	l := &q.loads[load]
	if step == flushStep || len(l.Steps) > 0 && l.Steps[step].op == ingest.OpFlush {
		if q.behind = append(q.behind, task(load, step, slot)); !q.flushing {
			q.flush(now)
		}
		return
	}
	if q.unseen {
		q.pass(now, load, slot)
		return
	}
	i := q.room()
	r := &q.slab[i]
	r.load, r.slot, r.step = int32(load), int32(slot), uint8(step)
	u := l.fill(r, step)
	r.Scheduled = q.dev.Scheduler
	r.CPU = uint8(r.PID) & 3
	r.depth = q.depth
	q.depth++
	got := now + stageNS + int64(u&1023)
	in := got
	if r.Scheduled {
		in += stageNS + int64(u>>10&1023)
	}
	at := in + stageNS + int64(u>>20&1023)
	r.At = [stages]int64{Queued: now, Got: got, Inserted: in, Issued: at}
	if q.staged {
		q.later(now, i, Queued)
		q.later(got, i, Got)
		if r.Scheduled {
			q.later(in, i, Inserted)
		}
		q.show(now)
	} else if q.at == Queued {
		q.sink.Stage(Queued, r)
	}
	if q.tagged >= q.dev.Tags {
		q.untagged.push(i)
		return
	}
	if q.staged || q.dev.locked {
		q.issue(at, i)
		return
	}
	q.tagged++
	if q.serving >= q.dev.Channels {
		q.waiting.push(i)
		return
	}
	q.serving++
	q.agenda.end(due{q.dev.serve(r, at), doneCode | uint64(i)})
}

// pass is ask where ends are not seen.
func (q *queue) pass(now int64, load, slot int) {
	r := &q.brief
	r.load, r.slot = int32(load), int32(slot)
	u := q.loads[load].fill(r, 0)
	if r.At[Queued] = now; q.open {
		q.count++
		q.sink.Stage(Queued, r)
		return
	}
	at := now + 2*stageNS + int64(u&1023) + int64(u>>20&1023)
	if q.dev.Scheduler {
		at += stageNS + int64(u>>10&1023)
	}
	r.At[Issued] = at
	q.sink.Stage(Queued, r)
	if q.free() || q.forget(now) {
		q.tagged++
		q.serving++
		q.ends = append(q.ends, unseen{q.dev.serve(r, at), now})
		return
	}
	for _, e := range q.ends { // somebody waits for them
		i := q.room()
		q.slab[i] = Request{At: [stages]int64{Queued: e.came}}
		q.agenda.end(due{e.at, doneCode | uint64(i)})
	}
	q.ends = q.ends[:0]
	i := q.room()
	q.slab[i] = *r
	if q.tagged >= q.dev.Tags {
		q.untagged.push(i)
		return
	}
	q.issue(at, i)
}

// free says whether a request may be served at once.
func (q *queue) free() bool {
	return q.serving < q.dev.Channels && q.tagged < q.dev.Tags && !q.dev.locked
}

// forget ends the requests before now that nobody saw end, and says whether another may
// be served then.
func (q *queue) forget(now int64) bool {
	n := 0
	for _, e := range q.ends {
		q.ends[n] = e
		if e.at >= now {
			n++
		} else if e.came >= q.fault[0] && e.came < q.fault[1] {
			q.held = max(q.held, e.at)
		}
	}
	gone := len(q.ends) - n
	q.ends = q.ends[:n]
	q.tagged -= gone
	q.serving -= gone
	q.count += int64(gone)
	return q.free()
}

// flush begins one for all who wait for it.
func (q *queue) flush(now int64) {
	q.flushing = true
	q.behind, q.served, q.idle = q.idle, q.behind, nil
	i := q.room()
	r := &q.slab[i]
	*r = Request{} // field by field, since a literal would be made elsewhere and copied
	r.Op, r.Flags, r.load, r.depth, r.CPU = ingest.OpFlush, ingest.FlagPreflush, -1, q.depth, uint8(q.flushes&3)
	r.Comm, r.PID = kworker+Program(r.CPU), 40+7*int32(r.CPU)
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
	q.agenda.end(due{q.dev.serve(&q.slab[i], now), doneCode | uint64(i)})
}

// nearest is which of those in line a head serves next: that with the shortest
// way, but none is left for more than half a second.
func (q *queue) nearest(now int64) int {
	if now-q.slab[q.waiting.at(0)].At[Issued] > 5e8 {
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
	q.spare = append(q.spare, i)
	if q.waiting.n > 0 {
		which := 0
		if q.dev.Rotates {
			which = q.nearest(now)
		}
		n := q.waiting.take(which)
		q.start(max(now, q.slab[n].At[Issued]), n)
	}
	if q.untagged.n > 0 && q.tagged < q.dev.Tags {
		n := q.untagged.take(0)
		q.issue(max(now+releaseNS, q.slab[n].At[Issued]), n)
	}
	switch {
	case q.unseen:
		return
	case !flush:
		q.after(now, load, step, slot)
		return
	}
	served := q.served
	q.served, q.flushing = nil, false
	for _, t := range served {
		q.after(now, int(t>>40), int(t>>32&255), int(int32(t)))
	}
	q.idle = served[:0]
	if len(q.behind) > 0 && !q.flushing {
		q.flush(now)
	}
}
