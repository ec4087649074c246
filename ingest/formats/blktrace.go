package formats

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/iopathy/iopathy/ingest"
)

// Blktrace is the binary records of the kernel's block layer tracer, as
// blktrace(8) and the ftrace tracer blk write them, a file for each CPU, and as
// blkparse -d merges them.
var Blktrace = ingest.Register(ingest.Format{
	Name:  "blktrace",
	Doc:   "binary of blktrace(8), DEVICE.blktrace.CPU read together, and of blkparse -d",
	Kind:  ingest.KindQ2C,
	Needs: "the epoch of the first record where the trace holds no TIMESTAMP (start_ns; without it times stay relative, from 1970); the host",
	Clock: ingest.BaseRelative,
	Lacks: "host, device name (numbers only), queue depth, file; secure erase and zone operations in version 7; " +
		"what the tracer dropped leaves no mark but halves of I/Os (buffers that were lost leave gaps in the numbers of records: lost_records); after blkparse -d the time from the start to the first I/O",
	Sniff:   sniffBlktrace,
	Group:   blktraceGroup,
	Records: func(src *ingest.Source) (ingest.RecordsDecoder, error) { return newBlktrace(src) },
})

// sniffBlktrace goes by the first record's magic. Of versions that are not
// known it is as sure, so that they are refused by name; those could be text
// (version 9 is a tab), but a record has zeros in it.
func sniffBlktrace(head []byte, _ string) int {
	l, ok := blkLayoutOf(head)
	if ok && (l.version == 7 || l.version == 8 || bytes.IndexByte(head[:min(len(head), 48)], 0) >= 0) {
		return 2
	}
	return 0
}

// blktraceGroup joins DEVICE.blktrace.0, DEVICE.blktrace.1, ... of a directory.
func blktraceGroup(path string) string {
	packed := ""
	switch ext := filepath.Ext(path); ext {
	case ".gz", ".zst", ".xz", ".bz2", ".lz4":
		packed = ext
	}
	plain := strings.TrimSuffix(path, packed)
	cpu := filepath.Ext(plain)
	base := strings.TrimSuffix(plain, cpu)
	if len(cpu) < 2 || strings.Trim(cpu[1:], "0123456789") != "" || filepath.Ext(base) != ".blktrace" {
		return ""
	}
	return base + ".*" + packed
}

// Records of a trace: the low half of the action, and bits of the high half.
const (
	blkActionCgroup = 1 << 8
	blkLastAction   = 19 // zone unplug

	blkTCWrite   = 1 << 1
	blkTCFlush   = 1 << 2
	blkTCSync    = 1 << 3
	blkTCPC      = 1 << 9
	blkTCNotify  = 1 << 10
	blkTCAhead   = 1 << 11
	blkTCMeta    = 1 << 12
	blkTCDiscard = 1 << 13
	blkTCFUA     = 1 << 15

	blkTCZoneAppend = 1 << 16        // from version 8 on
	blkTCZones      = 0x1f << 17     // reset, reset all, finish, open, close
	blkNotifyTask   = 0              // payload: the name of the task pid
	blkNotifyTime   = 1              // payload: seconds and nanoseconds of the epoch
	blkTasks        = 1 << 17        // names kept of one input
	blkLatest       = int64(1) << 62 // bound of a stamp, a century and a half
)

// blkActions are the block layer's actions by their numbers; the others (plug,
// unplug, abort, driver data, zone plug) tell nothing of one I/O.
var blkActions = [blkLastAction + 1]blkAction{
	1: blkQueue, 2: blkBackMerge, 3: blkFrontMerge, 4: blkGet, 5: blkSleep, 6: blkRequeue, 7: blkIssue, 8: blkComplete,
	12: blkInsert, 13: blkSplit, 14: blkBounce, 15: blkRemap,
}

// blktrace decodes the members of one trace.
type blktrace struct {
	pairs   *blkPairs
	members []blkMember
	stamp   int64 // a stamp of the trace and its epoch
	epoch   int64
	told    bool // the epoch is that of a TIMESTAMP
	tasks   map[int32][]byte
	lastPID int32
	last    []byte    // the name of lastPID
	head    blkHeader // of the record in hand
	rec     blkRecord
	numbers map[uint64]uint32 // of the last record of a device and CPU that is not its member's last
	gaps    int               // that were told
	count   int               `state:"-"` // of the members
}

// blkMember is one file of a trace.
type blkMember struct {
	blkLayout
	magic [4]byte
	time  int64 // stamp of the last record
	lost  bool  // what follows it is no record

	source uint64 // device and CPU of the last record
	number uint32 // of that record
}

// newBlktrace looks through the heads of all members for what may stand in any:
// the epoch, the first stamp, the names of tasks that queued before they were
// told of.
func newBlktrace(src *ingest.Source) (*blktrace, error) {
	d := &blktrace{
		pairs: newBlkPairs(src.Host), members: make([]blkMember, len(src.Heads)), tasks: make(map[int32][]byte),
		numbers: make(map[uint64]uint32), epoch: src.Options.StartNS, lastPID: -1, count: len(src.Heads),
	}
	first, known := int64(math.MaxInt64), int64(math.MaxInt64)
	var epoch int64
	for i, head := range src.Heads {
		m := &d.members[i]
		m.blkLayout = blkLayout{version: 7}
		if l, ok := blkLayoutOf(head); ok {
			if l.version != 7 && l.version != 8 {
				return nil, ingest.Refusal(fmt.Sprintf("blktrace: records of version %d; 7 and 8 are known", l.version))
			}
			m.blkLayout = l
		}
		binary.LittleEndian.PutUint32(m.magic[:], blkMagic|uint32(m.version))
		if m.big {
			slices.Reverse(m.magic[:])
		}
		for n := m.header(); len(head) >= n && [4]byte(head) == m.magic; {
			h := &d.head
			m.fields(head, h)
			size := n + int(h.payload)
			if len(head) < size {
				break
			}
			switch payload := h.body(head[n:size]); {
			case h.time < 0:
			case h.tc&blkTCNotify == 0:
				first = min(first, h.time)
			case h.action == blkNotifyTask:
				if _, ok := d.tasks[h.pid]; !ok {
					d.task(h.pid, payload)
				}
			case h.action == blkNotifyTime && len(payload) >= 8 && h.time < known:
				known = h.time
				epoch = int64(m.uint32(payload))*1e9 + int64(m.uint32(payload[4:]))
			}
			head = head[size:]
		}
	}
	switch {
	case known != math.MaxInt64 && first < known-int64(time.Second):
		// blkparse -d makes stamps count from the first record, but for that of
		// the TIMESTAMP: when the trace began is all that it still tells.
		d.stamp, d.epoch, d.told = first, epoch, true
	case known != math.MaxInt64:
		d.stamp, d.epoch, d.told = known, epoch, true
	case first != math.MaxInt64:
		d.stamp = first
	}
	return d, nil
}

// OwnClock says whether the trace told when it began.
func (d *blktrace) OwnClock() (ingest.TimeBase, string) {
	if d.told {
		return ingest.BaseRelative, "its TIMESTAMP message"
	}
	return ingest.BaseRelative, ""
}

// Time gives the stamp of a member's next record.
func (d *blktrace) Time(member int, data []byte) (int64, bool) {
	m := &d.members[member]
	if m.lost {
		return m.time, len(data) > 0
	}
	if len(data) < m.header() {
		return 0, false
	}
	if t := int64(m.uint64(data[8:])); [4]byte(data) == m.magic && t >= 0 && t < blkLatest {
		return t, true
	}
	return m.time, true
}

func (d *blktrace) Decode(run ingest.Run, out *ingest.Out) (took int) {
	m := &d.members[run.Member]
	size, start, h := m.header(), out.Position, &d.head
	for took < run.Room {
		data := run.Data[took:]
		out.Position = start + int64(took)
		if m.lost || len(data) >= size && [4]byte(data) != m.magic {
			n := d.skip(m, data, run.Room-took, run.Final, out)
			if n == 0 && m.lost {
				break
			}
			took += n
			continue
		}
		if len(data) < size {
			break
		}
		m.fields(data, h)
		if h.time > run.Until {
			break
		}
		if h.payload > blkMaxPayload { // the next magic may stand within what it would swallow
			out.Tally.Lines++
			out.Reject(data[:size], blkBadPayload)
			out.Lineno++
			m.lost = true
			took++
			continue
		}
		n := size + int(h.payload)
		if len(data) < n {
			break
		}
		out.Tally.Lines++
		d.record(m, h, data[:size], data[size:n], out)
		m.time = max(h.time, m.time)
		out.Lineno++
		took += n
	}
	return took
}

// Reader opens a reader of a member, unless what follows is no record.
func (d *blktrace) Reader(member int) ingest.RecordsReader {
	m := &d.members[member]
	if m.lost {
		return nil
	}
	return &blkReader{blkLayout: m.blkLayout, magic: m.magic}
}

// Take is Decode for records that were read.
func (d *blktrace) Take(run ingest.Run, read ingest.RecordsReader, i int, out *ingest.Out) (took int) {
	m := &d.members[run.Member]
	size, start, heads := m.header(), out.Position, read.(*blkReader).heads
	for ; i < len(heads) && took < run.Room; i++ {
		h := &heads[i]
		if h.time > run.Until {
			break
		}
		data := run.Data[took : took+size+int(h.payload)]
		out.Position = start + int64(took)
		out.Tally.Lines++
		if !d.usual(m, h, data[:size], out) {
			d.record(m, h, data[:size], data[size:], out)
		}
		m.time = max(h.time, m.time)
		out.Lineno++
		took += len(data)
	}
	return took
}

// usual is record for what foresee has read; false: it has not.
func (d *blktrace) usual(m *blkMember, h *blkHeader, text []byte, out *ingest.Out) bool {
	ns := d.epoch + (h.time - d.stamp)
	if h.foreseen == blkNone || ns < 0 {
		return false
	}
	if h.number != 0 {
		d.follow(m, h, out)
	}
	r := &d.rec
	r.TimeNS, r.Sector, r.Sectors, r.Dev, r.PID = ns, h.sector, uint64(h.bytes>>9), h.device, h.pid
	r.Action, r.Op, r.Flags, r.Text = h.foreseen, h.op, h.flags, text
	r.Other, r.Cgroup, r.From, r.Error, r.Pass, r.Comm = 0, 0, 0, 0, false, nil
	if h.foreseen != blkComplete {
		r.Comm = d.name(h.pid)
	}
	d.pairs.Add(r, out)
	return true
}

// skip passes over what is no record, up to the end of the chunk. It has one
// fate, in however many parts it comes.
func (d *blktrace) skip(m *blkMember, data []byte, room int, final bool, out *ingest.Out) int {
	if !m.lost {
		m.lost = true
		out.Tally.Lines++
		out.Reject(data[:m.header()], "bad-magic")
		out.Lineno++
	}
	n := len(data)
	if i := bytes.Index(data, m.magic[:]); i >= 0 && i <= room {
		m.lost = false
		return i
	} else if i < 0 && !final {
		n = max(n-len(m.magic)+1, 0)
	}
	return min(n, room)
}

// blkBadPayload is a reject, beside those of the text.
const blkBadPayload = "bad-payload"

// blkMaxPayload bounds the payload of a record: the kernel writes messages of 128 bytes
// and SCSI commands of 260.
const blkMaxPayload = 4096

// record takes one record.
func (d *blktrace) record(m *blkMember, h *blkHeader, text, payload []byte, out *ingest.Out) {
	var cgroup uint64
	if h.cgroup && len(payload) >= 8 {
		cgroup = m.uint64(payload)
	}
	payload = h.body(payload)
	if h.tc&blkTCNotify != 0 {
		if h.action == blkNotifyTask {
			d.task(h.pid, payload)
		}
		out.Note()
		return
	}
	if h.number != 0 {
		d.follow(m, h, out)
	}
	if h.action > blkLastAction {
		out.Reject(text, blkBadAction)
		return
	}
	action := blkActions[h.action]
	if action == blkNone {
		out.Note()
		return
	}
	ns := d.epoch + (h.time - d.stamp)
	if h.time < 0 || ns < 0 {
		out.Reject(text, blkBadTime)
		return
	}
	if h.pid < 0 {
		out.Reject(text, blkBadPID)
		return
	}
	// Field by field: a literal would be made elsewhere and copied.
	r := &d.rec
	r.TimeNS, r.Sector, r.Sectors, r.Dev, r.PID = ns, h.sector, uint64(h.bytes>>9), h.device, h.pid
	r.Action, r.Cgroup, r.Text = action, cgroup, text
	r.Other, r.From, r.Error, r.Flags, r.Pass, r.Comm = 0, 0, 0, 0, false, nil
	h.kind(r)
	switch action {
	case blkQueue, blkGet, blkInsert, blkIssue:
		r.Comm = d.name(h.pid)
	case blkComplete, blkRequeue:
		r.Error = blkErrno(int64(h.errno))
	case blkSplit:
		if len(payload) < 8 {
			out.Reject(text, blkBadPayload)
			return
		}
		r.Other = binary.BigEndian.Uint64(payload)
	case blkRemap: // big endian on every host
		if len(payload) < 16 {
			out.Reject(text, blkBadPayload)
			return
		}
		r.From, r.Other = binary.BigEndian.Uint32(payload), binary.BigEndian.Uint64(payload[8:])
	}
	if h.tc&blkTCPC != 0 {
		r.Pass, r.Other, r.Sector, r.Sectors = true, uint64(h.bytes), 0, 0
	} else if r.Sectors > 0 && (r.Sector > blkMaxSector || r.Sectors > blkMaxSector-r.Sector) || action == blkSplit && r.Other > blkMaxSector {
		out.Reject(text, blkBadSector)
		return
	}
	d.pairs.Add(r, out)
}

// What is missing of the numbers of a CPU's records was lost: with a buffer, of
// hundreds at least. Smaller gaps are those of blkparse -d, which was told to
// leave records out.
const (
	blkGap      = 32
	blkGaps     = 10000 // told of one input
	blkCounters = 1 << 16
)

// follow looks whether records are missing before the one in hand.
func (d *blktrace) follow(m *blkMember, h *blkHeader, out *ingest.Out) {
	source := uint64(h.device)<<32 | uint64(h.cpu)
	if m.source != source {
		if m.number != 0 && len(d.numbers) < blkCounters {
			d.numbers[m.source] = m.number
		}
		m.source, m.number = source, d.numbers[source]
	}
	last := m.number
	m.number = max(h.number, last)
	ns := d.epoch + (h.time - d.stamp)
	if last == 0 || h.number < last+blkGap || h.number-last >= 1<<31 || d.gaps == blkGaps || h.time < 0 || ns < 0 {
		return
	}
	d.gaps++
	d.pairs.lose(max(d.epoch+(m.time-d.stamp), 0))
	out.Fact(ingest.Evidence{
		TimeNS: max(d.epoch+(m.time-d.stamp), 0), Host: out.Names.InternString(d.pairs.host), Device: out.Names.InternString(blkDevice(h.device)),
		Name: out.Names.InternString(blkLostFact), Value: float64(h.number - last - 1),
	})
}

func (d *blktrace) End(out *ingest.Out) { d.pairs.End(out) }
