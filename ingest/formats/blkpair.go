package formats

import (
	"strconv"
	"time"

	"github.com/iopathy/iopathy/ingest"
)

// What is left over of half I/Os, by reason.
const (
	blkNeverIssued    = "queued-never-issued"
	blkNeverCompleted = "issued-never-completed"
	blkNoIssue        = "complete-without-issue"
	blkNoRequeue      = "requeue-without-issue"
	blkNoMerge        = "merge-without-request"
	blkNoSplit        = "split-without-queue"
	blkTooMany        = "too-many-open"
)

const (
	blkOpenFacts   = 10000                  // open_io facts of one input
	blkRemapFacts  = 1024                   // remap facts of one input
	blkComms       = 1 << 16                // names of tasks kept for reuse
	blkUnseen      = 64                     // completions remembered that came before their D
	blkSequences   = 256                    // flush sequences remembered until they end
	blkSkew        = time.Millisecond       // how far clocks of CPUs may disagree
	blkEarly       = 100 * time.Microsecond // an end that is before its beginning by no more is the clocks', and no fault
	blkLate        = 10 * time.Microsecond  // the same of a D whose C alone was seen before
	blkStale       = time.Second            // between two of one place and kind in the driver: the end of the older one may be lost
	blkOpenFact    = "open_io"              // an I/O in the driver at the end: its bytes
	blkMoreFact    = "open_io_more"         // how many more than blkOpenFacts there are
	blkRemapFact   = "remap"                // the device's I/O came from the device in Text
	blkLostFact    = "lost_records"         // records that the tracer dropped, before this time or as Text says
	blkLostWhole   = "of the whole recording"
	blkDevOverflow = "too-many-devices"   // reject
	blkBackwards   = "completed-too-soon" // reject: completed before it was queued
)

// blkPairs turns the records of a block layer trace, in the order of the
// trace, into events: one per request that completes, as the block layer
// counts them.
//
//   - Q opens a bio, G and I make a request of it, D sends it to the driver,
//     C ends it. Time and task are those of the request's earliest bio.
//   - M and F put a bio (or a whole request) into another request.
//   - X cuts a bio in two; both parts keep time and task of the whole.
//   - R takes a request back; queue_ns, get_ns and insert_ns end at the first D.
//   - C of a part shortens the request; the event comes with the last part.
//   - Two I/Os in flight at the same place are told apart first in, first out.
//   - A request with no Q in the trace has KindD2C and no queue time. A bio
//     that completes with no D (device mapper) has KindQ2C and no queue time.
//   - A flush (no data) takes the oldest empty preflush bio that waits, if any:
//     the others that wait are served by it, too, and are merged. One that the
//     block layer made for a write is queued when it is issued. The write
//     itself is queued at its Q and completes with its data; the record that ends
//     the flush sequence holds no data and is merged.
//
// It remembers at most blkOpenLimit I/Os and blkDevices devices.
type blkPairs struct {
	host                   string
	limit                  int // of I/Os in flight
	table                  blkTable
	devs                   []blkDev
	index                  map[uint32]int32
	dev                    int32 // device of the last record
	comms                  map[string]string
	lastComm               string
	cgroups                map[uint64]string
	remaps                 map[uint64]bool
	unseen                 [blkUnseen]blkDone
	ending                 [blkSequences]blkDone
	lastUnseen, lastEnding int
	lostNS                 int64 // records were lost at this time, or blkUnknown
	beginSeen              bool  // of any I/O
	queueSeen, issueSeen   bool
	endSeen, endsAlone     bool
	held                   []blkHalf
}

// lose takes a notice that records were lost up to now: what is in the driver may have
// ended unseen. It stays there until its end comes, or another takes its place.
func (p *blkPairs) lose(now int64) { p.lostNS = max(p.lostNS, now) }

// blkDev is what is known of one device.
type blkDev struct {
	id      uint32
	name    string
	flushes bool // it issues flush requests: it is not a stacked device
	owed    int  // flush bios that a flush has served and whose own end is to come
}

// blkDone is a completed I/O of which a record may still come: its D, where
// the clocks of two CPUs disagree, or the end of its flush sequence.
type blkDone struct {
	key     uint64
	sectors uint64
	time    int64
	op      ingest.Op
	err     int32
	open    bool
	alone   bool // nothing of its I/O was seen before
}

func newBlkPairs(host string) *blkPairs {
	return &blkPairs{
		host: host, table: newBlkTable(), index: make(map[uint32]int32),
		comms: make(map[string]string), remaps: make(map[uint64]bool), cgroups: make(map[uint64]string), limit: blkOpenLimit,
		lostNS: blkUnknown,
	}
}

// Add takes the next record and settles its fate, now or later.
func (p *blkPairs) Add(r *blkRecord, out *ingest.Out) {
	d, ok := p.device(r.Dev)
	if !ok {
		out.Reject(r.Text, blkDevOverflow)
		return
	}
	if !p.beginSeen || !p.endSeen || !p.issueSeen || !p.queueSeen {
		p.see(r.Action, out)
	}
	if r.Pass {
		p.pass(d, r, out)
		return
	}
	switch r.Action {
	case blkRemap:
		p.remap(d, r, out)
		return
	case blkSplit:
		p.split(d, r, out)
		return
	case blkFinish:
		r.Action = blkComplete
		if r.Sectors == 0 && r.Op != ingest.OpFlush {
			if i := p.table.ofOp(d, r.Sector, r.Op); i != 0 {
				r.Sectors = p.table.ios[i].sectors
			}
		}
	}
	if r.Sectors == 0 {
		p.empty(d, r, out)
		return
	}
	switch r.Action {
	case blkQueue:
		p.queue(d, r, out)
	case blkGet:
		p.get(d, r, out)
	case blkInsert:
		p.insert(d, r, out)
	case blkIssue:
		p.issue(d, r, out)
	case blkComplete:
		p.complete(d, r, out)
	case blkRequeue:
		if i := p.table.request(d, r.Sector, r.Sectors, r.Op, true); i != 0 {
			p.table.ios[i].lines++
			p.table.move(i, r.Sector, p.table.ios[i].sectors, blkRequest)
		} else {
			out.Count(ingest.FateUnpaired, blkNoRequeue, 1)
		}
	case blkBackMerge, blkFrontMerge:
		p.merge(d, r, out)
	case blkSleep, blkBounce:
		if i := p.table.bio(d, r); i != 0 {
			p.table.ios[i].lines++
		} else {
			out.Note()
		}
	default:
		out.Note()
	}
}

// see notes what the trace holds.
func (p *blkPairs) see(action blkAction, out *ingest.Out) {
	switch action {
	case blkComplete, blkFinish:
		p.endSeen = true
	case blkIssue:
		p.issueSeen = true
		p.begin(out)
	case blkQueue:
		p.queueSeen = true
		p.begin(out)
	case blkGet, blkInsert:
		p.begin(out)
	}
}

// device gives the index of a device.
func (p *blkPairs) device(id uint32) (int32, bool) {
	if int(p.dev) < len(p.devs) && p.devs[p.dev].id == id {
		return p.dev, true
	}
	if i, ok := p.index[id]; ok {
		p.dev = i
		return i, true
	}
	if len(p.devs) == blkDevices {
		return 0, false
	}
	i := int32(len(p.devs))
	p.devs = append(p.devs, blkDev{id: id, name: blkDevice(id)})
	p.index[id] = i
	return i, true
}

// blkDevice is the name of a device of which only the numbers are known.
func blkDevice(id uint32) string {
	return "dev:" + strconv.Itoa(int(id>>20)) + ":" + strconv.Itoa(int(id&(1<<20-1)))
}
