package formats

import (
	"math"

	"github.com/iopathy/iopathy/ingest"
)

// blkOpenLimit bounds the I/Os in flight that are remembered of one input
// (about 50 MB); beyond it the oldest are given up as "too-many-open".
const blkOpenLimit = 1 << 18

// blkWalk bounds how many I/Os of one first sector are looked at for a match.
const blkWalk = 64

const blkUnknown = math.MinInt64

type blkState uint8

const (
	blkWaiting   blkState = iota // a bio: Q seen
	blkRequest                   // a request: G or I seen, or requeued
	blkInDriver                  // D seen
	blkFreeState                 // on the free list
)

// blkIO is one I/O in flight: a bio that waits, or a request.
type blkIO struct {
	sector   uint64 // first sector that is not completed yet
	sectors  uint64 // sectors that are not completed yet
	done     uint64 // sectors completed by earlier C records of this request
	position int64  // of its first record
	queued   int64  // Q of the earliest bio, or blkUnknown
	got      int64  // G, or blkUnknown
	inserted int64  // first I, or blkUnknown
	issued   int64  // first D, or blkUnknown
	reissued int64  // last D
	cgroup   uint64
	comm     string
	dev      int32 // index in blkPairs.devs
	pid      int32
	lines    int32 // records whose fate is still open
	err      int32
	op       ingest.Op
	flags    ingest.Flags
	state    blkState
	rest     bool // second part of a split; old kernels queue it once more
	append   bool // of a zone
	passed   bool // a younger one at its place has completed, long after this was issued

	startPrev, startNext int32 // I/Os of the same first sector, oldest first
	endPrev, endNext     int32 // not issued I/Os of the same end, newest first
	agePrev, ageNext     int32 // all, oldest first
}

// blkList is the I/Os that start at one sector.
type blkList struct{ head, tail int32 }

// blkTable holds the I/Os in flight of all devices of one input, by first
// sector, by end (until they are issued) and by age.
type blkTable struct {
	ios            []blkIO // 0 is no I/O
	free           int32
	open           int
	starts         blkIndex `state:"-"` // CheckState makes it anew
	ends           blkIndex `state:"-"` // heads only
	oldest, newest int32
}

// Lists without a sector: flush bios that wait, flushes in the driver,
// pass-through commands.
const (
	blkFlushWaiting = blkMaxSector + 1 + iota
	blkFlushIssued
	blkPassIssued
)

// blkDevices bounds the devices of one input: the index of a device and a
// sector share one 64-bit key.
const blkDevices = 1 << 10

func blkKey(dev int32, sector uint64) uint64 { return uint64(dev)<<54 | sector }

func newBlkTable() blkTable {
	return blkTable{ios: make([]blkIO, 1, 256), starts: newBlkIndex(), ends: newBlkIndex()}
}

// add puts a new I/O into the table and returns its index.
func (t *blkTable) add(io *blkIO) int32 {
	i := t.free
	if i != 0 {
		t.free = t.ios[i].ageNext
	} else {
		t.ios = append(t.ios, blkIO{})
		i = int32(len(t.ios) - 1)
	}
	io.agePrev, io.ageNext = t.newest, 0
	t.ios[i] = *io
	if t.newest != 0 {
		t.ios[t.newest].ageNext = i
	} else {
		t.oldest = i
	}
	t.newest = i
	t.open++
	t.linkStart(i)
	t.linkEnd(i)
	return i
}

// remove takes an I/O out of the table.
func (t *blkTable) remove(i int32) {
	t.unlinkEnd(i)
	t.unlinkStart(i)
	io := &t.ios[i]
	if io.agePrev != 0 {
		t.ios[io.agePrev].ageNext = io.ageNext
	} else {
		t.oldest = io.ageNext
	}
	if io.ageNext != 0 {
		t.ios[io.ageNext].agePrev = io.agePrev
	} else {
		t.newest = io.agePrev
	}
	*io = blkIO{state: blkFreeState, ageNext: t.free}
	t.free = i
	t.open--
}

func (t *blkTable) linkStart(i int32) {
	io := &t.ios[i]
	key := blkKey(io.dev, io.sector)
	l := t.starts.get(key)
	io.startPrev, io.startNext = 0, 0
	if l.head != 0 {
		io.startPrev = l.tail
		t.ios[l.tail].startNext = i
		l.tail = i
	} else {
		l = blkList{i, i}
	}
	t.starts.set(key, l)
}

func (t *blkTable) unlinkStart(i int32) {
	io := &t.ios[i]
	key := blkKey(io.dev, io.sector)
	if io.startPrev == 0 && io.startNext == 0 {
		t.starts.delete(key)
		return
	}
	l := t.starts.get(key)
	if io.startPrev != 0 {
		t.ios[io.startPrev].startNext = io.startNext
	} else {
		l.head = io.startNext
	}
	if io.startNext != 0 {
		t.ios[io.startNext].startPrev = io.startPrev
	} else {
		l.tail = io.startPrev
	}
	t.starts.set(key, l)
}

// hasEnd says whether the I/O stands in the index of ends: it has data and
// may still take merges.
func (io *blkIO) hasEnd() bool { return io.state < blkInDriver && io.sectors > 0 }

func (t *blkTable) linkEnd(i int32) {
	io := &t.ios[i]
	if !io.hasEnd() {
		return
	}
	key := blkKey(io.dev, io.sector+io.sectors)
	io.endPrev, io.endNext = 0, t.ends.get(key).head
	if io.endNext != 0 {
		t.ios[io.endNext].endPrev = i
	}
	t.ends.set(key, blkList{head: i})
}

func (t *blkTable) unlinkEnd(i int32) {
	io := &t.ios[i]
	if !io.hasEnd() {
		return
	}
	if io.endNext != 0 {
		t.ios[io.endNext].endPrev = io.endPrev
	}
	switch key := blkKey(io.dev, io.sector+io.sectors); {
	case io.endPrev != 0:
		t.ios[io.endPrev].endNext = io.endNext
	case io.endNext != 0:
		t.ends.set(key, blkList{head: io.endNext})
	default:
		t.ends.delete(key)
	}
}

// move gives an I/O another range and state.
func (t *blkTable) move(i int32, sector, sectors uint64, state blkState) {
	io := &t.ios[i]
	t.unlinkEnd(i)
	if sector != io.sector {
		t.unlinkStart(i)
		io.sector = sector
		t.linkStart(i)
	}
	io.sectors, io.state = sectors, state
	t.linkEnd(i)
}

// bio finds the bio that a G, M or F record of this task speaks of: the
// task's newest, since a task that waits for a request queues nothing else;
// of another task's, the oldest.
func (t *blkTable) bio(dev int32, r *blkRecord) int32 {
	var own, other int32
	l := t.starts.get(blkKey(dev, r.Sector))
	for i, n := l.head, 0; i != 0 && n < blkWalk; i, n = t.ios[i].startNext, n+1 {
		io := &t.ios[i]
		if io.state != blkWaiting || io.sectors != r.Sectors || io.op != r.Op {
			continue
		}
		if io.pid == r.PID {
			own = i
		} else if other == 0 {
			other = i
		}
	}
	if own != 0 {
		return own
	}
	return other
}

// request finds the oldest I/O at a sector with the operation, in the driver
// or before it: one of the same length first, then a request before a bio.
func (t *blkTable) request(dev int32, sector, sectors uint64, op ingest.Op, inDriver bool) int32 {
	var best int32
	rank := 0
	l := t.starts.get(blkKey(dev, sector))
	for i, n := l.head, 0; i != 0 && n < blkWalk; i, n = t.ios[i].startNext, n+1 {
		io := &t.ios[i]
		if io.op != op || (io.state == blkInDriver) != inDriver {
			continue
		}
		k := 1
		if io.sectors == sectors {
			k += 2
		}
		if io.state != blkWaiting {
			k++
		}
		if k > rank {
			best, rank = i, k
			if k == 4 {
				break
			}
		}
	}
	return best
}

// younger gives the I/O that a completion is of, where the oldest at its place is i and
// others follow from next on: a like one that was issued long after it, else i. The
// end of the older one may have been lost.
func (t *blkTable) younger(i, next int32) int32 {
	old := &t.ios[i]
	for n := 0; next != 0 && n < blkWalk; next, n = t.ios[next].startNext, n+1 {
		io := &t.ios[next]
		if io.state == blkInDriver && io.op == old.op && io.sectors == old.sectors && io.reissued-old.reissued > int64(blkStale) {
			old.passed = true
			return next
		}
	}
	return i
}

// ofOp finds the oldest I/O with data at a sector, with the operation; one in the
// driver first.
func (t *blkTable) ofOp(dev int32, sector uint64, op ingest.Op) int32 {
	if i := t.request(dev, sector, 0, op, true); i != 0 {
		return i
	}
	return t.request(dev, sector, 0, op, false)
}

// appended finds the request whose completion tells a sector that none was issued at:
// a zone append, of this size, in the zone whose start is nearest before, or the
// command that kernels without a name for it call N. The oldest of equal ones.
func (t *blkTable) appended(dev int32, r *blkRecord) int32 {
	var best int32
	for i, n := t.oldest, 0; i != 0 && n < blkAppends; i, n = t.ios[i].ageNext, n+1 {
		io := &t.ios[i]
		if io.dev != dev || io.state != blkInDriver || io.op != r.Op || io.sectors != r.Sectors || io.done != 0 || io.sector > r.Sector {
			continue
		}
		if (io.append || io.op == ingest.OpOther) && (best == 0 || io.sector > t.ios[best].sector) {
			best = i
		}
	}
	return best
}

// blkAppends bounds how many I/Os in flight are looked at for a zone append.
const blkAppends = 4096

// endingAt finds the newest I/O before the driver that ends at a sector and has the
// operation, other than not.
func (t *blkTable) endingAt(dev int32, sector uint64, op ingest.Op, not int32) int32 {
	var waiting int32
	n := 0
	for i := t.ends.get(blkKey(dev, sector)).head; i != 0 && n < blkWalk; i, n = t.ios[i].endNext, n+1 {
		if io := &t.ios[i]; io.op == op && i != not {
			if io.state == blkRequest {
				return i
			}
			if waiting == 0 {
				waiting = i
			}
		}
	}
	return waiting
}
