package formats

import (
	"encoding/binary"
	"slices"
)

// blkRaw is one record to write; payload comes behind the cgroup's id, if there
// is one.
type blkRaw struct {
	time, sector uint64
	bytes        uint32
	action       uint64
	pid, dev     uint32
	errno        uint16
	cgroup       uint64
	payload      []byte
}

// blkBytes writes records in a layout.
func blkBytes(l blkLayout, records ...blkRaw) []byte {
	var out []byte
	var o binary.AppendByteOrder = binary.LittleEndian
	if l.big {
		o = binary.BigEndian
	}
	for i, r := range records {
		payload := r.payload
		if r.cgroup != 0 {
			payload = append(o.AppendUint64(nil, r.cgroup), payload...)
			r.action |= blkActionCgroup
		}
		out = o.AppendUint32(out, blkMagic|uint32(l.version))
		out = o.AppendUint32(out, uint32(i))
		out = o.AppendUint64(out, r.time)
		out = o.AppendUint64(out, r.sector)
		out = o.AppendUint32(out, r.bytes)
		if l.version == 8 {
			out = o.AppendUint32(out, r.pid)
			out = o.AppendUint64(out, r.action)
		} else {
			out = o.AppendUint32(out, uint32(r.action))
			out = o.AppendUint32(out, r.pid)
		}
		out = o.AppendUint32(out, r.dev)
		out = o.AppendUint32(out, 0)
		out = o.AppendUint16(out, r.errno)
		out = o.AppendUint16(out, uint16(len(payload)))
		if l.version == 8 {
			out = append(out, make([]byte, 12)...)
		}
		out = append(out, payload...)
	}
	return out
}

// The actions of records, by blkparse's letters, for a write with data; what
// else they are is added.
const (
	rawQ = 1 | (blkTCWrite|1<<4|1<<8)<<16
	rawM = 2 | (blkTCWrite|1<<4|1<<8)<<16
	rawG = 4 | (blkTCWrite|1<<4|1<<8)<<16
	rawD = 7 | (blkTCWrite|1<<6|1<<8)<<16
	rawC = 8 | (blkTCWrite|1<<7|1<<8)<<16
	rawP = 9 | (1<<4|1<<8)<<16
	rawX = 13 | (blkTCWrite|1<<4|1<<8)<<16
	rawA = 15 | (blkTCWrite|1<<4|1<<8)<<16

	rawRead   = (blkTCWrite ^ 1) << 16 // by exclusive or: a read, not a write
	rawFlush  = blkTCFlush << 16
	rawSync   = blkTCSync << 16
	rawNotify = blkTCNotify << 16
)

const blkSDB = 8<<20 | 16

func rawName(pid uint32, name string) blkRaw {
	return blkRaw{pid: pid, action: rawNotify | blkNotifyTask, payload: append([]byte(name), make([]byte, 16-len(name))...)}
}

func rawTime(l blkLayout, time uint64, sec, nsec uint32) blkRaw {
	var o binary.AppendByteOrder = binary.LittleEndian
	if l.big {
		o = binary.BigEndian
	}
	return blkRaw{time: time, action: rawNotify | blkNotifyTime, payload: o.AppendUint32(o.AppendUint32(nil, sec), nsec)}
}

func be64(v ...uint64) (b []byte) {
	for _, x := range v {
		b = binary.BigEndian.AppendUint64(b, x)
	}
	return b
}

// rawTour is one of each thing that a trace may hold.
func rawTour(l blkLayout) []blkRaw {
	const dm = 253 << 20
	at := func(ms uint64) uint64 { return 5_000_000_000 + ms*1_000_000 }
	return []blkRaw{
		rawTime(l, at(0), 1_700_000_000, 250_000_000),
		rawName(77, "postgres"),
		{time: at(1), sector: 800, bytes: 4096, action: rawQ ^ rawRead | rawSync, pid: 77, dev: blkSDB, cgroup: 4242},
		{time: at(1), sector: 800, bytes: 4096, action: rawG ^ rawRead | rawSync, pid: 77, dev: blkSDB, cgroup: 4242},
		{time: at(1), action: rawP, pid: 77, dev: blkSDB},
		{time: at(1), action: rawNotify | 2, cgroup: 1, payload: []byte("cfq message")},
		{time: at(3), sector: 800, bytes: 4096, action: rawD ^ rawRead | rawSync, pid: 12, dev: blkSDB},
		{time: at(9), sector: 800, bytes: 4096, action: rawC ^ rawRead | rawSync, dev: blkSDB, errno: 1<<16 - 61},
		// A bio of the stacked device, mapped, merged with its neighbour, written.
		{time: at(10), sector: 100, bytes: 8192, action: rawQ, pid: 78, dev: dm},
		{time: at(10), sector: 1100, bytes: 8192, action: rawA, pid: 78, dev: blkSDB, payload: append(be64(dm<<32|blkSDB), be64(100)...)},
		{time: at(10), sector: 1100, bytes: 8192, action: rawQ, pid: 78, dev: blkSDB},
		{time: at(10), sector: 1100, bytes: 8192, action: rawG, pid: 78, dev: blkSDB},
		{time: at(11), sector: 1116, bytes: 4096, action: rawQ, pid: 78, dev: blkSDB},
		{time: at(11), sector: 1116, bytes: 4096, action: rawM, pid: 78, dev: blkSDB},
		{time: at(12), sector: 1100, bytes: 12288, action: rawD, pid: 78, dev: blkSDB},
		{time: at(14), sector: 1100, bytes: 12288, action: rawC, dev: blkSDB},
		{time: at(14), sector: 100, bytes: 8192, action: rawC, dev: dm},
		// A bio that is cut in two.
		{time: at(20), sector: 2000, bytes: 8192, action: rawQ, pid: 77, dev: blkSDB},
		{time: at(20), sector: 2000, bytes: 8192, action: rawX, pid: 77, dev: blkSDB, payload: be64(2008)},
		{time: at(20), sector: 2000, bytes: 4096, action: rawD, pid: 77, dev: blkSDB},
		{time: at(20), sector: 2008, bytes: 4096, action: rawD, pid: 77, dev: blkSDB},
		{time: at(21), sector: 2008, bytes: 4096, action: rawC, dev: blkSDB},
		{time: at(22), sector: 2000, bytes: 4096, action: rawC, dev: blkSDB},
		// A flush without data.
		{time: at(30), action: rawQ&^(blkTCWrite<<16) | rawFlush | rawSync, pid: 77, dev: blkSDB},
		{time: at(30), action: rawD&^(blkTCWrite<<16) | rawFlush, pid: 12, dev: blkSDB},
		{time: at(35), action: rawC&^(blkTCWrite<<16) | rawFlush, dev: blkSDB},
		// A pass-through command, and a discard that never ends.
		{time: at(40), bytes: 36, action: rawD&^(1<<8<<16) ^ rawRead | blkTCPC<<16, pid: 5, dev: blkSDB, payload: []byte{0x12, 0, 0, 0, 36, 0}},
		{time: at(41), bytes: 36, action: rawC&^(1<<8<<16) ^ rawRead | blkTCPC<<16, dev: blkSDB},
		{time: at(50), sector: 4096, bytes: 1 << 20, action: rawQ | blkTCDiscard<<16, pid: 77, dev: blkSDB},
		{time: at(51), sector: 4096, bytes: 1 << 20, action: rawD | blkTCDiscard<<16, pid: 77, dev: blkSDB},
	}
}

// blkFixtures are the logs of testdata/blktrace, which hold bytes that nobody
// can read.
func blkFixtures() map[string][]byte {
	le7, be8 := blkLayout{version: 7}, blkLayout{version: 8, big: true}
	whole := blkBytes(le7, rawTour(le7)...)
	pair := func(t, sector uint64) []blkRaw {
		return []blkRaw{
			{time: t, sector: sector, bytes: 512, action: rawD, pid: 9, dev: blkSDB},
			{time: t + 1000, sector: sector, bytes: 512, action: rawC, dev: blkSDB},
		}
	}
	dirt := slices.Concat(
		blkBytes(le7, pair(1000, 8)...),
		[]byte("this is no record, however long it may go on before the next one comes at last"),
		blkBytes(le7, slices.Concat(pair(5000, 16), []blkRaw{
			{time: 6000, action: 20 | 1<<24, dev: blkSDB},                                                   // no such action
			{time: 1 << 63, sector: 1, bytes: 512, action: rawQ, dev: blkSDB},                               // no such time
			{time: 7000, sector: 1, bytes: 512, action: rawQ, pid: 1 << 31, dev: blkSDB},                    // no such task
			{time: 7000, sector: 1 << 60, bytes: 512, action: rawQ, dev: blkSDB},                            // no such place
			{time: 7000, sector: 1, bytes: 512, action: rawX, dev: blkSDB, payload: []byte{1, 2}},           // too short
			{time: 7000, sector: 1, bytes: 512, action: rawA, dev: blkSDB, payload: make([]byte, 15)},       // too short
			{time: 7000, sector: 1, bytes: 512, action: rawX, dev: blkSDB, payload: be64(1 << 60)},          // no such place
			{time: 7000, action: rawNotify | blkNotifyTask, pid: 9},                                         // no name
			{time: 7000, action: rawNotify | blkNotifyTime, payload: []byte{1}},                             // no time
			{time: 7000, sector: 24, bytes: 4096, action: rawQ, dev: blkSDB, cgroup: 1, payload: []byte{3}}, // too much
		})...),
		blkBytes(blkLayout{version: 8}, pair(8000, 32)...), // another version
		blkBytes(le7, pair(9000, 40)...),
		blkBytes(le7, pair(10000, 48)...)[:60], // torn
	)
	return map[string][]byte{
		"tour-7-little": whole,
		"tour-8-big":    blkBytes(be8, rawTour(be8)...),
		"dirt":          dirt,
	}
}
