package formats

import (
	"strconv"

	"github.com/iopathy/iopathy/ingest"
)

// open puts a new I/O into the table, which gives up its oldest when full.
func (p *blkPairs) open(io *blkIO, out *ingest.Out) {
	p.room(0, out)
	io.position = out.Position
	p.table.add(io)
}

// room makes place for one I/O; keep is one that must not be given up.
func (p *blkPairs) room(keep int32, out *ingest.Out) {
	t := &p.table
	for t.open >= p.limit {
		old := t.oldest
		if old == keep {
			old = t.ios[old].ageNext
		}
		if old == 0 {
			return
		}
		if io := &t.ios[old]; p.arrives(io) {
			p.arrival(io, out)
		} else {
			out.Count(ingest.FateUnpaired, blkTooMany, int64(io.lines))
		}
		t.remove(old)
	}
}

// fresh is an I/O that the record in hand opens.
func (p *blkPairs) fresh(d int32, r *blkRecord, state blkState) blkIO {
	return blkIO{
		sector: r.Sector, sectors: r.Sectors, queued: blkUnknown, got: blkUnknown, inserted: blkUnknown,
		issued: blkUnknown, reissued: blkUnknown,
		cgroup: r.Cgroup, comm: p.comm(r.Comm), dev: d, pid: r.PID, lines: 1, op: r.Op, flags: r.Flags, state: state,
		append: r.Other == blkAppend,
	}
}

// comm gives the text of a task's name, kept once.
func (p *blkPairs) comm(b []byte) string {
	if string(b) == p.lastComm {
		return p.lastComm
	}
	if s, ok := p.comms[string(b)]; ok {
		p.lastComm = s
		return s
	}
	if len(p.comms) >= blkComms {
		clear(p.comms)
	}
	s := string(b)
	p.comms[s] = s
	p.lastComm = s
	return s
}

// cgroupName is the name of a control group of which only the id is known.
func (p *blkPairs) cgroupName(id uint64) string {
	if id == 0 {
		return ""
	}
	if s, ok := p.cgroups[id]; ok {
		return s
	}
	if len(p.cgroups) >= blkComms {
		clear(p.cgroups)
	}
	s := "cgroup:" + strconv.FormatUint(id, 10)
	p.cgroups[id] = s
	return s
}

func (p *blkPairs) queue(d int32, r *blkRecord, out *ingest.Out) {
	if i := p.table.bio(d, r); i != 0 && p.table.ios[i].rest {
		p.table.ios[i].rest = false
		p.table.ios[i].lines++
		return
	}
	io := p.fresh(d, r, blkWaiting)
	io.queued = r.TimeNS
	p.open(&io, out)
}

func (p *blkPairs) get(d int32, r *blkRecord, out *ingest.Out) {
	i := p.table.bio(d, r)
	if i == 0 {
		io := p.fresh(d, r, blkRequest)
		io.got = r.TimeNS
		p.open(&io, out)
		return
	}
	io := &p.table.ios[i]
	io.state, io.got = blkRequest, r.TimeNS
	io.lines++
}

func (p *blkPairs) insert(d int32, r *blkRecord, out *ingest.Out) {
	i := p.table.request(d, r.Sector, r.Sectors, r.Op, false)
	if i == 0 {
		io := p.fresh(d, r, blkRequest)
		io.inserted = r.TimeNS
		p.open(&io, out)
		return
	}
	io := &p.table.ios[i]
	io.state = blkRequest
	io.lines++
	if io.inserted == blkUnknown && io.issued == blkUnknown { // what is taken back is inserted anew
		io.inserted = r.TimeNS
	}
}

func (p *blkPairs) issue(d int32, r *blkRecord, out *ingest.Out) {
	t := &p.table
	i := t.request(d, r.Sector, r.Sectors, r.Op, false)
	if i == 0 || t.ios[i].startPrev != 0 || t.ios[i].startNext != 0 { // else it is alone at its place
		if old := t.request(d, r.Sector, r.Sectors, r.Op, true); old != 0 && t.ios[old].sectors == r.Sectors && p.ended(&t.ios[old]) {
			out.Count(ingest.FateUnpaired, blkNeverCompleted, int64(t.ios[old].lines))
			t.remove(old)
		}
	}
	if i == 0 {
		switch f := p.completedUnseen(d, r); {
		case f == nil:
		case f.alone:
			p.unmeasured(d, r, f, out)
			return
		default:
			out.Count(ingest.FateEvent, "", 1)
			return
		}
		io := p.fresh(d, r, blkInDriver)
		io.issued, io.reissued = r.TimeNS, r.TimeNS
		p.open(&io, out)
		return
	}
	if t.ios[i].sectors < r.Sectors {
		p.absorb(i, r.Sector+r.Sectors, out)
	}
	if n := t.ios[i].sectors; n > r.Sectors {
		p.cut(i, r.Sector+r.Sectors, out)
	}
	io := &t.ios[i]
	io.lines++
	if io.issued == blkUnknown {
		io.issued = r.TimeNS
	}
	io.reissued = r.TimeNS
	t.move(i, r.Sector, r.Sectors, blkInDriver)
}

// ended says whether an I/O in the driver, whose place another takes, has ended without
// a record of it: records were lost since, or the end of another was seen in its stead.
// Else all that come to this place would be taken for one another.
func (p *blkPairs) ended(io *blkIO) bool { return io.passed || io.reissued <= p.lostNS }

// absorb adds to an I/O those that follow it without a gap up to end:
// requests that were merged without a record of it.
func (p *blkPairs) absorb(i int32, end uint64, out *ingest.Out) {
	t := &p.table
	for {
		io := &t.ios[i]
		at := io.sector + io.sectors
		if at >= end {
			return
		}
		j := t.request(io.dev, at, end-at, io.op, io.state == blkInDriver)
		if j == 0 || t.ios[j].sectors > end-at {
			return
		}
		p.join(i, j, out)
	}
}

// join makes one I/O of two that touch: j becomes a part of i.
func (p *blkPairs) join(i, j int32, out *ingest.Out) {
	t := &p.table
	a, b := &t.ios[i], &t.ios[j]
	if a.queued != blkUnknown && b.queued != blkUnknown && b.queued < a.queued {
		a.queued, a.pid, a.comm, a.cgroup, a.flags = b.queued, b.pid, b.comm, b.cgroup, b.flags
	}
	if a.got == blkUnknown {
		a.got = b.got
	}
	if a.inserted == blkUnknown {
		a.inserted = b.inserted
	}
	if a.err == 0 {
		a.err = b.err
	}
	out.Count(ingest.FateMerged, "", int64(b.lines))
	sector, sectors := min(a.sector, b.sector), a.sectors+b.sectors
	t.remove(j)
	t.move(i, sector, sectors, a.state)
}

// cut makes two I/Os of one; the second begins at the sector at.
func (p *blkPairs) cut(i int32, at uint64, out *ingest.Out) {
	p.room(i, out)
	t := &p.table
	second := t.ios[i]
	second.sectors -= at - second.sector
	second.sector = at
	second.lines, second.done = 0, 0
	second.rest = second.state == blkWaiting
	t.move(i, t.ios[i].sector, at-t.ios[i].sector, t.ios[i].state)
	t.add(&second)
}

func (p *blkPairs) merge(d int32, r *blkRecord, out *ingest.Out) {
	t := &p.table
	j := t.bio(d, r)
	if j == 0 {
		if j = t.request(d, r.Sector, r.Sectors, r.Op, false); j != 0 && t.ios[j].sectors != r.Sectors {
			j = 0
		}
	}
	var i int32
	if r.Action == blkBackMerge {
		i = t.endingAt(d, r.Sector, r.Op, j)
	} else {
		i = t.request(d, r.Sector+r.Sectors, 0, r.Op, false)
	}
	switch {
	case i != 0 && j != 0:
		t.ios[j].lines++
		p.join(i, j, out)
	case i != 0: // its Q is lost: the request grows all the same
		out.Count(ingest.FateMerged, "", 1)
		io := &t.ios[i]
		t.move(i, min(io.sector, r.Sector), io.sectors+r.Sectors, io.state)
	case j != 0 && r.Op == ingest.OpDiscard: // discards merge without touching
		out.Count(ingest.FateMerged, "", int64(t.ios[j].lines)+1)
		t.remove(j)
	case j != 0:
		out.Count(ingest.FateUnpaired, blkNoMerge, int64(t.ios[j].lines)+1)
		t.remove(j)
	default:
		out.Count(ingest.FateUnpaired, blkNoMerge, 1)
	}
}

func (p *blkPairs) split(d int32, r *blkRecord, out *ingest.Out) {
	t := &p.table
	l := t.starts.get(blkKey(d, r.Sector))
	var found int32
	for i, n := l.head, 0; i != 0 && n < blkWalk; i, n = t.ios[i].startNext, n+1 {
		io := &t.ios[i]
		if io.state == blkWaiting && io.op == r.Op && r.Other > io.sector && r.Other < io.sector+io.sectors {
			found = i
			if io.pid == r.PID {
				break
			}
		}
	}
	if found == 0 {
		out.Count(ingest.FateUnpaired, blkNoSplit, 1)
		return
	}
	t.ios[found].lines++
	p.cut(found, r.Other, out)
	t.ios[found].rest = false
}

// remap keeps which device stands on which; the I/O of each is its own.
func (p *blkPairs) remap(d int32, r *blkRecord, out *ingest.Out) {
	out.Note()
	pair := uint64(r.Dev)<<32 | uint64(r.From)
	if p.remaps[pair] || len(p.remaps) >= blkRemapFacts {
		return
	}
	p.remaps[pair] = true
	out.Fact(ingest.Evidence{
		TimeNS: r.TimeNS,
		Host:   out.Names.InternString(p.host),
		Device: out.Names.InternString(p.devs[d].name),
		Name:   out.Names.InternString(blkRemapFact),
		Text:   out.Names.InternString(blkDevice(r.From)),
	})
}
