package formats

import (
	"bytes"

	"github.com/iopathy/iopathy/ingest"
)

// kind reads operation and flags as blkparse does: a discard first, else a
// write, else a read if there is data.
func (h *blkHeader) kind(r *blkRecord) {
	switch {
	case h.tc&blkTCDiscard != 0:
		r.Op = ingest.OpDiscard
	case h.tc&blkTCZones != 0:
		r.Op = ingest.OpOther
	case h.tc&(blkTCWrite|blkTCZoneAppend) != 0:
		r.Op = ingest.OpWrite
		if h.tc&blkTCZoneAppend != 0 && r.Other == 0 {
			r.Other = blkAppend
		}
	case h.bytes != 0:
		r.Op = ingest.OpRead
	default:
		r.Op = ingest.OpOther
	}
	r.Flags |= ingest.FlagsTold
	if h.tc&blkTCFlush != 0 {
		r.Flags |= ingest.FlagPreflush
		if r.Sectors == 0 && r.Action != blkSplit {
			r.Op = ingest.OpFlush
		}
	}
	if h.tc&blkTCFUA != 0 {
		r.Flags |= ingest.FlagFUA
	}
	if h.tc&blkTCAhead != 0 {
		r.Flags |= ingest.FlagReadahead
	}
	if h.tc&blkTCSync != 0 {
		r.Flags |= ingest.FlagSync
	}
	if h.tc&blkTCMeta != 0 {
		r.Flags |= ingest.FlagMeta
	}
}

// foresee reads what a usual record is: of an I/O with data, without a cgroup, an error
// or a payload that tells more. Nothing of it hangs on the records before.
func (h *blkHeader) foresee() {
	sectors := uint64(h.bytes >> 9)
	if h.tc&(blkTCNotify|blkTCPC|blkTCZoneAppend) != 0 || h.cgroup || h.errno != 0 || h.time < 0 || h.pid < 0 ||
		sectors == 0 || h.sector > blkMaxSector-sectors {
		return
	}
	switch action := blkActions[min(h.action, blkLastAction)]; action {
	case blkQueue, blkGet, blkInsert, blkIssue, blkComplete:
		r := blkRecord{Action: action, Sectors: sectors}
		h.kind(&r)
		h.foreseen, h.op, h.flags = action, r.Op, r.Flags
	}
}

// task keeps the name of a task.
func (d *blktrace) task(pid int32, payload []byte) {
	name, _, _ := bytes.Cut(payload[:min(16, len(payload))], []byte{0})
	if pid < 0 || len(name) == 0 {
		return
	}
	if _, ok := d.tasks[pid]; !ok && len(d.tasks) >= blkTasks {
		clear(d.tasks)
	}
	d.tasks[pid] = bytes.Clone(name)
	d.lastPID = -1
}

func (d *blktrace) name(pid int32) []byte {
	if pid != d.lastPID {
		d.lastPID, d.last = pid, d.tasks[pid]
	}
	return d.last
}
