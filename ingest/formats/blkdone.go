package formats

import (
	"github.com/iopathy/iopathy/ingest"
)

func (p *blkPairs) complete(d int32, r *blkRecord, out *ingest.Out) {
	t := &p.table
	i := t.request(d, r.Sector, r.Sectors, r.Op, true)
	if i == 0 {
		i = t.request(d, r.Sector, r.Sectors, r.Op, false)
	} else if next := t.ios[i].startNext; next != 0 {
		i = t.younger(i, next)
	}
	if i == 0 && (r.Other == blkAppend || r.Op == ingest.OpOther) {
		if i = t.appended(d, r); i != 0 {
			t.move(i, r.Sector, r.Sectors, blkInDriver)
		}
	}
	if i == 0 && !p.beginSeen {
		p.hold(r, out)
		return
	}
	if i == 0 {
		out.Count(ingest.FateUnpaired, blkNoIssue, 1)
		p.lastUnseen = (p.lastUnseen + 1) % blkUnseen
		p.unseen[p.lastUnseen] = blkDone{
			key: blkKey(d, r.Sector), sectors: r.Sectors, time: r.TimeNS, op: r.Op, err: r.Error, open: true, alone: true,
		}
		return
	}
	if t.ios[i].sectors < r.Sectors {
		p.absorb(i, r.Sector+r.Sectors, out)
	}
	io := &t.ios[i]
	if io.err == 0 {
		io.err = r.Error
	}
	if io.sectors > r.Sectors {
		io.lines++
		io.done += r.Sectors
		t.move(i, io.sector+r.Sectors, io.sectors-r.Sectors, io.state)
		return
	}
	p.remember(io, r)
	offset := (io.sector - io.done) * 512
	p.event(i, int64(offset), int64((io.done+max(io.sectors, r.Sectors))*512), r, out)
}

// event ends an I/O with the record in hand.
func (p *blkPairs) event(i int32, offset, size int64, r *blkRecord, out *ingest.Out) {
	io := &p.table.ios[i]
	e := ingest.NewEvent()
	e.TimeNS = r.TimeNS
	switch {
	case io.queued != blkUnknown:
		e.Kind = ingest.KindQ2C
		e.LatencyNS = r.TimeNS - io.queued
		if io.issued != blkUnknown && io.issued >= io.queued && io.issued <= r.TimeNS {
			e.QueueNS = io.issued - io.queued
		}
	case io.issued != blkUnknown:
		e.Kind = ingest.KindD2C
		e.LatencyNS = r.TimeNS - io.reissued
	}
	if io.issued != blkUnknown && io.issued <= r.TimeNS {
		e.GetNS, e.InsertNS = io.before()
	}
	if e.Kind != ingest.KindNone && e.LatencyNS < 0 && e.LatencyNS >= -int64(blkEarly) {
		e.Kind, e.LatencyNS, e.QueueNS, e.GetNS, e.InsertNS = ingest.KindNone, ingest.Missing, ingest.Missing, ingest.Missing, ingest.Missing
	}
	if e.Kind != ingest.KindNone && e.LatencyNS < 0 {
		out.Count(ingest.FateRejected, blkBackwards, int64(io.lines))
		out.Reject(r.Text, blkBackwards)
		p.table.remove(i)
		return
	}
	e.OffsetBytes, e.SizeBytes = offset, size
	e.PID, e.Error, e.Op, e.Flags = io.pid, io.err, io.op, io.flags
	e.Host = out.Names.InternString(p.host)
	e.Device = out.Names.InternString(p.devs[io.dev].name)
	e.Comm = out.Names.InternString(io.comm)
	e.Cgroup = out.Names.InternString(p.cgroupName(io.cgroup))
	out.Count(ingest.FateEvent, "", int64(io.lines))
	out.Event(e)
	p.table.remove(i)
}

// before is how long before its first D an I/O got its request and was inserted.
// Stamps that contradict the order Q, G, I, D, as those of two CPUs may, are
// not told.
func (io *blkIO) before() (get, insert int64) {
	get, insert = ingest.Missing, ingest.Missing
	least := io.queued // blkUnknown is below all stamps
	if io.got >= least && io.got != blkUnknown && io.got <= io.issued {
		get, least = io.issued-io.got, io.got
	}
	if io.inserted >= least && io.inserted != blkUnknown && io.inserted <= io.issued {
		insert = io.issued - io.inserted
	}
	return get, insert
}

// remember keeps a completed I/O of which more records may come.
func (p *blkPairs) remember(io *blkIO, r *blkRecord) {
	done := blkDone{key: blkKey(io.dev, io.sector-io.done), sectors: r.Sectors, time: r.TimeNS, op: io.op, open: true}
	if io.state != blkInDriver {
		p.lastUnseen = (p.lastUnseen + 1) % blkUnseen
		p.unseen[p.lastUnseen] = done
	}
	if io.flags&(ingest.FlagPreflush|ingest.FlagFUA) != 0 {
		p.lastEnding = (p.lastEnding + 1) % blkSequences
		p.ending[p.lastEnding] = done
	}
}

// unmeasured adds the event of a request whose C, f, came before its D, r, and of
// which nothing else was seen. How long it took is not known if the clocks say so, too.
func (p *blkPairs) unmeasured(d int32, r *blkRecord, f *blkDone, out *ingest.Out) {
	io := p.fresh(d, r, blkInDriver)
	io.err, io.lines = f.err, 0 // C has had its fate, D has it by its event
	if r.TimeNS <= f.time {
		io.issued, io.reissued = r.TimeNS, r.TimeNS
	}
	p.open(&io, out)
	i := p.table.newest
	done := *r
	done.TimeNS = f.time
	p.event(i, int64(r.Sector*512), int64(r.Sectors*512), &done, out)
}

// completedUnseen gives the C of an I/O whose D comes just after it.
func (p *blkPairs) completedUnseen(d int32, r *blkRecord) *blkDone {
	key := blkKey(d, r.Sector)
	for i := range p.unseen {
		f := &p.unseen[i]
		late := int64(blkSkew)
		if f.alone { // this D may as well be the next one at its place
			late = int64(blkLate)
		}
		if f.open && f.key == key && f.sectors == r.Sectors && f.op == r.Op &&
			r.TimeNS >= f.time-int64(blkSkew) && r.TimeNS <= f.time+late {
			f.open = false
			return f
		}
	}
	return nil
}

// sequenceEnds says whether an empty C at this sector ends the flush sequence
// of a write that has completed.
func (p *blkPairs) sequenceEnds(d int32, sector uint64) bool {
	if sector > blkMaxSector {
		return false
	}
	key := blkKey(d, sector)
	for i := range p.ending {
		if f := &p.ending[i]; f.open && f.key == key {
			f.open = false
			return true
		}
	}
	return false
}

// empty takes a record without data: flush bios, flush requests and the
// ends of flush sequences.
func (p *blkPairs) empty(d int32, r *blkRecord, out *ingest.Out) {
	t := &p.table
	switch r.Action {
	case blkQueue, blkGet, blkSleep, blkBounce, blkInsert:
		if r.Op != ingest.OpFlush {
			out.Note()
			return
		}
		r.Sector = blkFlushWaiting
		i := t.bio(d, r)
		if i != 0 && r.Action != blkQueue {
			t.ios[i].lines++
			switch r.Action {
			case blkGet:
				t.ios[i].got = r.TimeNS
			case blkInsert:
				t.ios[i].inserted = r.TimeNS
			}
			return
		}
		if r.Action == blkGet && p.devs[d].owed > 0 { // a flush was quicker than its own G
			out.Count(ingest.FateMerged, "", 1)
			return
		}
		io := p.fresh(d, r, blkWaiting)
		if r.Action == blkQueue || r.Action == blkInsert {
			io.queued = r.TimeNS
		}
		switch r.Action {
		case blkGet:
			io.got = r.TimeNS
		case blkInsert:
			io.inserted = r.TimeNS
		}
		p.open(&io, out)
	case blkIssue:
		p.issueFlush(d, r, out)
	case blkRequeue:
		if i := t.starts.get(blkKey(d, blkFlushIssued)).head; i != 0 && r.Op == ingest.OpFlush {
			t.ios[i].lines++
			t.move(i, blkFlushWaiting, 0, blkRequest)
			return
		}
		out.Count(ingest.FateUnpaired, blkNoRequeue, 1)
	case blkComplete:
		p.completeFlush(d, r, out)
	default:
		out.Note()
	}
}

// issueFlush opens a flush request. A flush that was taken back goes on; else
// it serves all flush bios that wait.
func (p *blkPairs) issueFlush(d int32, r *blkRecord, out *ingest.Out) {
	if r.Op != ingest.OpFlush {
		out.Note()
		return
	}
	t := &p.table
	p.devs[d].flushes = true
	r.Sector = blkFlushIssued
	if old := t.starts.get(blkKey(d, blkFlushIssued)).head; old != 0 && p.ended(&t.ios[old]) {
		out.Count(ingest.FateUnpaired, blkNeverCompleted, int64(t.ios[old].lines))
		t.remove(old)
	}
	first := t.starts.get(blkKey(d, blkFlushWaiting)).head
	for i, n := first, 0; i != 0 && n < blkWalk; i, n = t.ios[i].startNext, n+1 {
		if t.ios[i].state == blkRequest { // requeued
			t.ios[i].lines++
			t.ios[i].reissued = r.TimeNS
			t.move(i, blkFlushIssued, 0, blkInDriver)
			return
		}
	}
	if first == 0 {
		io := p.fresh(d, r, blkInDriver)
		io.queued, io.issued, io.reissued = r.TimeNS, r.TimeNS, r.TimeNS
		p.open(&io, out)
		return
	}
	p.devs[d].owed++
	for {
		i := t.ios[first].startNext
		if i == 0 {
			break
		}
		p.devs[d].owed++
		out.Count(ingest.FateMerged, "", int64(t.ios[i].lines))
		t.remove(i)
	}
	io := &t.ios[first]
	io.lines++
	io.issued, io.reissued = r.TimeNS, r.TimeNS
	t.move(first, blkFlushIssued, 0, blkInDriver)
}

func (p *blkPairs) completeFlush(d int32, r *blkRecord, out *ingest.Out) {
	t := &p.table
	dev := &p.devs[d]
	if r.Op == ingest.OpFlush {
		if i := t.starts.get(blkKey(d, blkFlushIssued)).head; i != 0 {
			i = t.younger(i, t.ios[i].startNext)
			t.ios[i].err = r.Error
			p.event(i, 0, 0, r, out)
			return
		}
	} else if p.sequenceEnds(d, r.Sector) {
		out.Count(ingest.FateMerged, "", 1)
		return
	}
	if dev.owed > 0 && r.Op != ingest.OpRead {
		dev.owed--
		out.Count(ingest.FateMerged, "", 1)
		return
	}
	i := t.starts.get(blkKey(d, blkFlushWaiting)).head
	switch {
	case i == 0 || r.Op == ingest.OpRead:
		out.Count(ingest.FateUnpaired, blkNoIssue, 1)
	case dev.flushes: // served by a flush that was issued before it was queued
		out.Count(ingest.FateMerged, "", int64(t.ios[i].lines)+1)
		t.remove(i)
	default: // a stacked device completes the bio itself
		t.ios[i].err = r.Error
		p.event(i, 0, 0, r, out)
	}
}

// pass takes a pass-through command, which has no sector: first in, first out.
func (p *blkPairs) pass(d int32, r *blkRecord, out *ingest.Out) {
	t := &p.table
	size := r.Other
	r.Sector, r.Sectors, r.Op = blkPassIssued, 0, ingest.OpOther
	switch r.Action {
	case blkIssue:
		io := p.fresh(d, r, blkInDriver)
		io.issued, io.reissued, io.done = r.TimeNS, r.TimeNS, size
		p.open(&io, out)
	case blkComplete:
		i := t.starts.get(blkKey(d, blkPassIssued)).head
		if i == 0 {
			out.Count(ingest.FateUnpaired, blkNoIssue, 1)
			return
		}
		i = t.younger(i, t.ios[i].startNext)
		t.ios[i].err = r.Error
		p.event(i, ingest.Missing, int64(t.ios[i].done), r, out)
	default:
		out.Note()
	}
}

// End settles what is open: I/Os in the driver are told as facts, since they
// keep the device busy to the end of the input.
func (p *blkPairs) End(out *ingest.Out) {
	t := &p.table
	if !p.beginSeen {
		p.release(out)
	}
	facts, more := 0, 0
	for i := t.oldest; i != 0; i = t.ios[i].ageNext {
		io := &t.ios[i]
		if p.arrives(io) {
			p.arrival(io, out)
			continue
		}
		if io.passed {
			out.Count(ingest.FateUnpaired, blkNeverCompleted, int64(io.lines))
			continue
		}
		if io.state != blkInDriver {
			out.Count(ingest.FateUnpaired, blkNeverIssued, int64(io.lines))
			continue
		}
		out.Count(ingest.FateUnpaired, blkNeverCompleted, int64(io.lines))
		if facts == blkOpenFacts {
			more++
			continue
		}
		facts++
		size := io.sectors * 512
		if io.sector == blkPassIssued {
			size = io.done
		}
		start := io.queued
		if start == blkUnknown {
			start = io.issued
		}
		out.Fact(ingest.Evidence{
			TimeNS: start,
			Host:   out.Names.InternString(p.host),
			Device: out.Names.InternString(p.devs[io.dev].name),
			Name:   out.Names.InternString(blkOpenFact),
			Value:  float64(size),
		})
	}
	if more > 0 {
		out.Fact(ingest.Evidence{
			Host: out.Names.InternString(p.host), Name: out.Names.InternString(blkMoreFact), Value: float64(more),
		})
	}
	*p = *newBlkPairs(p.host)
}
