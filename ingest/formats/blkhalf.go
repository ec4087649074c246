package formats

import "github.com/iopathy/iopathy/ingest"

// A trace may hold one end of each I/O alone: blktrace -a issue, perf record -e
// block:block_rq_complete. Then each record is an I/O whose latency is not known, and
// no half of one. Which it is shows at the first record of the other end, or at the end
// of the input: until then completions are held, and what is open stays open.

// blkHeldEnds bounds the completions that are held; a trace that begins with more has
// no beginnings.
const blkHeldEnds = 1 << 14

// blkHalf is a completion before which no beginning of any I/O was seen.
type blkHalf struct {
	position, timeNS int64
	sector, sectors  uint64
	dev              uint32
	err              int32
	op               ingest.Op
	flags            ingest.Flags
}

// begin notes that an I/O begins: the completions before are halves of I/Os that were in
// flight when the trace began.
func (p *blkPairs) begin(out *ingest.Out) {
	if p.beginSeen {
		return
	}
	p.beginSeen = true
	if n := len(p.held); n > 0 {
		out.Count(ingest.FateUnpaired, blkNoIssue, int64(n))
	}
	p.held = nil
}

// hold keeps a completion while it is not known what the trace holds.
func (p *blkPairs) hold(r *blkRecord, out *ingest.Out) {
	h := blkHalf{out.Position, r.TimeNS, r.Sector, r.Sectors, r.Dev, r.Error, r.Op, r.Flags}
	if len(p.held) == blkHeldEnds {
		p.release(out)
	}
	if p.endsAlone {
		p.alone(&h, out)
		return
	}
	p.held = append(p.held, h)
}

// release tells the completions held, since they are all that the trace has.
func (p *blkPairs) release(out *ingest.Out) {
	for i := range p.held {
		p.alone(&p.held[i], out)
	}
	p.held, p.endsAlone = nil, true
}

func (p *blkPairs) alone(h *blkHalf, out *ingest.Out) {
	e := ingest.NewEvent()
	e.TimeNS, e.OffsetBytes, e.SizeBytes = h.timeNS, int64(h.sector*512), int64(h.sectors*512)
	e.Error, e.Op, e.Flags = h.err, h.op, h.flags
	e.Device = out.Names.InternString(blkDevice(h.dev))
	p.tell(e, h.position, 1, out)
}

// arrives says whether an open I/O is all that will be told of it: the trace has no
// completions, and this is of the latest stage that it has, issues or else bios (of
// which a request may be a part).
func (p *blkPairs) arrives(io *blkIO) bool {
	return !p.endSeen && (io.state == blkInDriver || !p.issueSeen && (io.queued != blkUnknown || !p.queueSeen))
}

// arrival tells an I/O of which nothing but its beginning is known.
func (p *blkPairs) arrival(io *blkIO, out *ingest.Out) {
	e := ingest.NewEvent()
	for _, ns := range [...]int64{io.issued, io.queued, io.got, io.inserted} {
		if ns != blkUnknown {
			e.TimeNS = ns
			break
		}
	}
	switch {
	case io.sector == blkPassIssued:
		e.OffsetBytes, e.SizeBytes = ingest.Missing, int64(io.done)
	case io.sector > blkMaxSector: // a flush
		e.OffsetBytes, e.SizeBytes = 0, 0
	default:
		e.OffsetBytes, e.SizeBytes = int64(io.sector*512), int64(io.sectors*512)
	}
	e.PID, e.Op, e.Flags = io.pid, io.op, io.flags
	e.Device = out.Names.InternString(p.devs[io.dev].name)
	e.Comm = out.Names.InternString(io.comm)
	e.Cgroup = out.Names.InternString(p.cgroupName(io.cgroup))
	p.tell(e, io.position, int64(io.lines), out)
}

// tell adds an event of one end, of lines that were counted before.
func (p *blkPairs) tell(e ingest.Event, position, lines int64, out *ingest.Out) {
	if e.SizeBytes > ingest.MaxSizeBytes {
		out.Count(ingest.FateRejected, "size-over-a-tebibyte", lines)
		return
	}
	e.Kind, e.Host, e.Position = ingest.KindNone, out.Names.InternString(p.host), position
	out.Events = append(out.Events, e)
	out.Count(ingest.FateEvent, "", lines)
}
