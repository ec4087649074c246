package generate

import (
	"encoding/binary"

	"github.com/iopathy/iopathy/ingest"
)

// vscsiFormat is the binary of vscsiStats, version 2: 40 bytes a request, when it
// is done, with the time of its arrival and its response in microseconds. The file
// is the device.
var vscsiFormat = Format{
	Name: "vscsi", Ext: ".vscsi", At: Completed, Clock: true, Device: theName,
	Open: func(_ *Disk, out []*Output) Log { return &vscsiLog{out: out[0]} },
}

type vscsiLog struct {
	out    *Output
	serial uint32
}

func (l *vscsiLog) Stage(_ Stage, r *Request) {
	command, segments := uint16(0x28), uint32(r.Size>>12)
	switch r.Op {
	case ingest.OpWrite:
		command = 0x2a
	case ingest.OpFlush:
		command = 0x35
	}
	b := l.out.Text
	b = binary.LittleEndian.AppendUint16(b, command)
	b = binary.LittleEndian.AppendUint16(b, 0x0200)
	b = binary.LittleEndian.AppendUint32(b, l.serial)
	b = binary.LittleEndian.AppendUint32(b, uint32(r.Size))
	b = binary.LittleEndian.AppendUint32(b, segments)
	b = binary.LittleEndian.AppendUint64(b, uint64(r.Offset/sector))
	b = binary.LittleEndian.AppendUint64(b, uint64(r.At[Queued]-startNS)/1e3)
	b = binary.LittleEndian.AppendUint64(b, uint64(r.LatencyNS())/1e3)
	l.serial++
	l.out.Written(b)
}

func (l *vscsiLog) End() {}

// blktraceFormat is the binary of blktrace(8), a file for each processor
// (linux/include/uapi/linux/blktrace_api.h): records of 48 bytes, little-endian,
// with what is told behind some of them.
var blktraceFormat = Format{
	Name: "blktrace", Ext: ".blktrace", Parts: 4, Staged: true, Device: theName,
	Open: func(v *Disk, out []*Output) Log {
		l := &blktraceLog{out: out, device: uint32(v.Major<<20 | v.Minor), known: map[int32]bool{}}
		for cpu := range out {
			l.record(uint8(cpu), 0, 0, 0, blkNotify|1, 0, 8) // the wall clock at stamp 0
			b := binary.LittleEndian.AppendUint32(l.out[cpu].Text, uint32(startNS/1e9))
			l.out[cpu].Written(binary.LittleEndian.AppendUint32(b, uint32(startNS%1e9)))
		}
		return l
	},
}

type blktraceLog struct {
	out    []*Output
	device uint32
	number [4]uint32
	known  map[int32]bool // tasks whose names were told
}

// The upper half of an action: what kind it is, and of what.
const (
	blkNotify   = 1 << (10 + 16)
	blkFS       = 1 << (8 + 16)
	blkComplete = 1 << (7 + 16)
	blkIssue    = 1 << (6 + 16)
	blkQueue    = 1 << (4 + 16)
)

// blkStages are the actions of the stages.
var blkStages = [stages]uint32{Queued: blkQueue | 1, Got: blkQueue | 4, Inserted: blkQueue | 12, Issued: blkIssue | 7, Completed: blkComplete | 8}

// blkKinds are the bits of an operation and its flags.
func blkKinds(r *Request) uint32 {
	k := uint32(blkFS)
	switch r.Op {
	case ingest.OpRead:
		k |= 1 << 16
	case ingest.OpWrite:
		k |= 1 << 17
	case ingest.OpDiscard:
		k |= 1 << 29
	}
	for _, f := range []struct {
		flag ingest.Flags
		bit  uint32
	}{{ingest.FlagPreflush, 2}, {ingest.FlagSync, 3}, {ingest.FlagReadahead, 11}, {ingest.FlagMeta, 12}, {ingest.FlagFUA, 15}} {
		if r.Flags&f.flag != 0 {
			k |= 1 << (f.bit + 16)
		}
	}
	return k
}

func (l *blktraceLog) Stage(at Stage, r *Request) {
	cpu, pid := r.CPU, r.PID
	t := r.At[at] - startNS
	place, size := uint64(r.Offset/sector), uint32(r.Size)
	if at == Completed {
		cpu, pid = r.doneCPU(), 0
		if r.Op == ingest.OpFlush {
			place = 1<<64 - 1
		}
	} else if !l.known[pid] {
		l.known[pid] = true
		l.record(cpu, t, 0, 0, blkNotify, pid, 16)
		var name [16]byte
		copy(name[:15], r.Comm.String())
		l.out[cpu].Written(append(l.out[cpu].Text, name[:]...))
	}
	l.record(cpu, t, place, size, blkStages[at]|blkKinds(r), pid, 0)
}

func (l *blktraceLog) record(cpu uint8, t int64, place uint64, size, action uint32, pid int32, more uint16) {
	l.number[cpu]++
	b := l.out[cpu].Text
	b = binary.LittleEndian.AppendUint32(b, 0x65617407)
	b = binary.LittleEndian.AppendUint32(b, l.number[cpu])
	b = binary.LittleEndian.AppendUint64(b, uint64(t))
	b = binary.LittleEndian.AppendUint64(b, place)
	b = binary.LittleEndian.AppendUint32(b, size)
	b = binary.LittleEndian.AppendUint32(b, action)
	b = binary.LittleEndian.AppendUint32(b, uint32(pid))
	b = binary.LittleEndian.AppendUint32(b, l.device)
	b = binary.LittleEndian.AppendUint32(b, uint32(cpu))
	b = binary.LittleEndian.AppendUint16(b, 0) // no error
	b = binary.LittleEndian.AppendUint16(b, more)
	if l.out[cpu].Text = b; more == 0 {
		l.out[cpu].Written(b)
	}
}

func (l *blktraceLog) End() {}
