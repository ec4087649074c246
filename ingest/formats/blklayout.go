package formats

import (
	"encoding/binary"

	"github.com/iopathy/iopathy/ingest"
)

// blkMagic is the upper three bytes of a record's first word; the lowest is the
// version of the layout.
const blkMagic = 0x65617400

// blkLayout is how the records of one file are written: version 7 is struct
// blk_io_trace of 48 bytes, version 8 blk_io_trace2 of 64, both in the byte
// order of the host (linux/include/uapi/linux/blktrace_api.h). Payload follows.
type blkLayout struct {
	version int
	big     bool
}

func (l blkLayout) header() int {
	if l.version == 8 {
		return 64
	}
	return 48
}

// blkLayoutOf reads the layout off a record's first bytes.
func blkLayoutOf(b []byte) (l blkLayout, ok bool) {
	if len(b) < 4 {
		return l, false
	}
	switch {
	case binary.LittleEndian.Uint32(b)&^0xff == blkMagic:
		return blkLayout{version: int(b[0])}, true
	case binary.BigEndian.Uint32(b)&^0xff == blkMagic:
		return blkLayout{version: int(b[3]), big: true}, true
	}
	return l, false
}

func (l blkLayout) uint32(b []byte) uint32 {
	if l.big {
		return binary.BigEndian.Uint32(b)
	}
	return binary.LittleEndian.Uint32(b)
}

func (l blkLayout) uint64(b []byte) uint64 {
	if l.big {
		return binary.BigEndian.Uint64(b)
	}
	return binary.LittleEndian.Uint64(b)
}

// blkHeader is the fields of one record, whatever its layout.
type blkHeader struct {
	time    int64 // -1: beyond all sense
	sector  uint64
	bytes   uint32
	tc      uint32 // the high half of the action
	pid     int32  // -1: beyond all sense
	device  uint32
	number  uint32 // of the record, of its device and CPU, from 1; 0: not counted
	cpu     uint32
	action  uint16 // the low half, without the bit for a cgroup
	errno   uint16
	payload uint16 // bytes
	cgroup  bool   // the payload begins with the id of a cgroup

	foreseen blkAction // of a usual record; else blkNone, and record sees to it
	op       ingest.Op
	flags    ingest.Flags
}

// body is the payload without the id of the cgroup.
func (h *blkHeader) body(payload []byte) []byte {
	if h.cgroup {
		return payload[min(8, len(payload)):]
	}
	return payload
}

// fields reads the record that data begins with.
func (m blkLayout) fields(data []byte, h *blkHeader) {
	b := data[:m.header()]
	if m.big {
		var swapped [64]byte
		b = m.swap(b, swapped[:])
	}
	le := binary.LittleEndian
	var action uint64
	h.time, h.sector, h.bytes = int64(le.Uint64(b[8:])), le.Uint64(b[16:]), le.Uint32(b[24:])
	h.number = le.Uint32(b[4:])
	if m.version == 8 {
		h.cpu = le.Uint32(b[44:])
		h.pid, action, h.device = int32(le.Uint32(b[28:])), le.Uint64(b[32:]), le.Uint32(b[40:])
		h.errno, h.payload = le.Uint16(b[48:]), le.Uint16(b[50:])
	} else {
		h.cpu = le.Uint32(b[40:])
		action, h.pid, h.device = uint64(le.Uint32(b[28:])), int32(le.Uint32(b[32:])), le.Uint32(b[36:])
		h.errno, h.payload = le.Uint16(b[44:]), le.Uint16(b[46:])
	}
	h.tc, h.action, h.cgroup = uint32(action>>16), uint16(action)&^blkActionCgroup, action&blkActionCgroup != 0
	if h.time < 0 || h.time >= blkLatest {
		h.time = -1
	}
	h.pid = max(h.pid, -1)
}

// swap gives a big endian header in little endian, in the memory to.
func (m blkLayout) swap(b, to []byte) []byte {
	be, le := binary.BigEndian, binary.LittleEndian
	word := func(at int) { le.PutUint32(to[at:], be.Uint32(b[at:])) }
	long := func(at int) { le.PutUint64(to[at:], be.Uint64(b[at:])) }
	half := func(at int) { le.PutUint16(to[at:], be.Uint16(b[at:])) }
	word(4)
	long(8)
	long(16)
	word(24)
	word(28)
	if m.version == 8 {
		long(32)
		word(40)
		word(44)
		half(48)
		half(50)
		return to
	}
	word(32)
	word(36)
	word(40)
	half(44)
	half(46)
	return to
}

// blkReader reads the records of a member ahead of their turn.
type blkReader struct {
	blkLayout
	magic [4]byte
	heads []blkHeader
}

func (a *blkReader) Read(data []byte) (took int, ok bool) {
	a.heads = a.heads[:0]
	size := a.header()
	for len(data)-took >= size {
		b := data[took:]
		if [4]byte(b) != a.magic {
			return took, false
		}
		a.heads = append(a.heads, blkHeader{})
		h := &a.heads[len(a.heads)-1]
		a.fields(b, h)
		n := size + int(h.payload)
		if h.payload > blkMaxPayload {
			a.heads = a.heads[:len(a.heads)-1]
			return took, false
		}
		if len(b) < n {
			a.heads = a.heads[:len(a.heads)-1]
			break
		}
		h.foresee()
		took += n
	}
	return took, true
}

func (a *blkReader) Len() int { return len(a.heads) }

func (a *blkReader) Time(i int) int64 { return a.heads[i].time }
