package formats

import (
	"bytes"
	"math"
	"slices"

	"github.com/iopathy/iopathy/ingest"
)

// blkBrief is a usual record of a line that was read ahead of its turn: a third of a
// blkRecord, and without pointers, which the collector of memory would follow. With it
// nothing of the line is looked at again: who takes it may be another core.
type blkBrief struct {
	timeNS  int64
	sector  uint64
	sectors uint32
	dev     uint32
	pid     int32
	comm    uint16 // in blkBriefs.comms
	action  blkAction
	op      ingest.Op
	flags   ingest.Flags
}

const (
	blkBriefComm  = 64      // bytes of a task's name that is usual
	blkBriefComms = 1 << 12 // names kept from block to block
)

// blkBriefs are the records of lines that were read ahead of their turn. Of one that
// is more than usual the brief record has no action and tells which of all it is.
type blkBriefs struct {
	brief []blkBrief
	all   []blkRecord
	comms [][]byte // names of tasks, none first
	known map[string]uint16
	last  uint16 // the name of the last record
}

func (a *blkBriefs) Reset() {
	clear(a.all) // the lines' memory is another's soon
	a.brief, a.all = a.brief[:0], a.all[:0]
	if a.known == nil || len(a.comms) > blkBriefComms {
		a.known, a.comms, a.last = map[string]uint16{"": 0}, [][]byte{nil}, 0
	}
}

// comm gives the number of a task's name.
func (a *blkBriefs) comm(b []byte) uint16 {
	if string(b) == string(a.comms[a.last]) {
		return a.last
	}
	i, ok := a.known[string(b)]
	if !ok {
		i = uint16(len(a.comms))
		a.known[string(b)] = i
		a.comms = append(a.comms, bytes.Clone(b))
	}
	a.last = i
	return i
}

// add keeps a record of a line.
func (a *blkBriefs) add(r *blkRecord) {
	if r.Sectors > math.MaxUint32 || r.Other|r.Cgroup != 0 || r.From != 0 || r.Error != 0 || r.Pass || len(r.Comm) > blkBriefComm || len(a.comms) > math.MaxUint16 {
		a.brief = append(a.brief, blkBrief{sector: uint64(len(a.all))})
		a.all = append(a.all, *r)
		return
	}
	n := len(a.brief)
	a.brief = slices.Grow(a.brief, 1)[:n+1]
	// Field by field: a literal would be made elsewhere and copied.
	b := &a.brief[n]
	b.timeNS, b.sector, b.sectors, b.dev, b.pid = r.TimeNS, r.Sector, uint32(r.Sectors), r.Dev, r.PID
	b.comm, b.action, b.op, b.flags = 0, r.Action, r.Op, r.Flags
	if r.Action != blkComplete { // its task is any that was interrupted, and asked for by nobody
		b.comm = a.comm(r.Comm)
	}
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
	r.TimeNS, r.Sector, r.Sectors, r.Dev, r.PID = b.timeNS, b.sector, uint64(b.sectors), b.dev, b.pid
	r.Action, r.Op, r.Flags, r.Comm, r.Text = b.action, b.op, b.flags, a.comms[b.comm], line
	r.Other, r.Cgroup, r.From, r.Error, r.Pass = 0, 0, 0, 0, false
}
