package formats

import (
	"math"

	"github.com/iopathy/iopathy/ingest"
)

// blkBrief is a usual record of a line that was read ahead of its turn: a third of a
// blkRecord, and without pointers, which the collector of memory would follow.
type blkBrief struct {
	timeNS  int64
	sector  uint64
	sectors uint32
	dev     uint32
	pid     int32
	comm    uint16 // where in the line
	size    uint16 // of it
	action  blkAction
	op      ingest.Op
	flags   ingest.Flags
}

// blkBriefs are the records of lines that were read ahead of their turn. Of one that
// is more than usual the brief record has no action and tells which of all it is.
type blkBriefs struct {
	brief []blkBrief
	all   []blkRecord
}

func (a *blkBriefs) Reset() {
	clear(a.all) // the lines' memory is another's soon
	a.brief, a.all = a.brief[:0], a.all[:0]
}

// add keeps a record of a line.
func (a *blkBriefs) add(r *blkRecord, line []byte) {
	if r.Sectors > math.MaxUint32 || r.Other|r.Cgroup != 0 || r.From != 0 || r.Error != 0 || r.Pass || len(line) > math.MaxUint16 {
		a.brief = append(a.brief, blkBrief{sector: uint64(len(a.all))})
		a.all = append(a.all, *r)
		return
	}
	b := blkBrief{
		timeNS: r.TimeNS, sector: r.Sector, sectors: uint32(r.Sectors), dev: r.Dev, pid: r.PID,
		action: r.Action, op: r.Op, flags: r.Flags,
	}
	if len(r.Comm) > 0 { // a part of the line
		b.comm, b.size = uint16(cap(line)-cap(r.Comm)), uint16(len(r.Comm))
	}
	a.brief = append(a.brief, b)
}

// time is the stamp of the i-th record.
func (a *blkBriefs) time(i int) int64 {
	if b := &a.brief[i]; b.action != blkNone {
		return b.timeNS
	}
	return a.all[a.brief[i].sector].TimeNS
}

// record gives the i-th record, that of a line.
func (a *blkBriefs) record(i int, line []byte, r *blkRecord) {
	b := &a.brief[i]
	if b.action == blkNone {
		*r = a.all[b.sector]
		return
	}
	// Field by field: a literal would be made elsewhere and copied.
	r.TimeNS, r.Sector, r.Sectors, r.Dev, r.PID = b.timeNS, b.sector, uint64(b.sectors), b.dev, b.pid
	r.Action, r.Op, r.Flags, r.Comm, r.Text = b.action, b.op, b.flags, line[b.comm:][:b.size], line
	r.Other, r.Cgroup, r.From, r.Error, r.Pass = 0, 0, 0, 0, false
}
