package formats

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/iopathy/iopathy/ingest"
)

// VSCSI reads the binary traces that VMware's vscsiStats and the CloudPhysics
// set hold. All records of a file are of one version, little-endian:
//
//	v1, 32 bytes: u32 serial, bytes, segments; u16 command, version; u64 lbn, time
//	v2, 40 bytes: u16 command, version; u32 serial, bytes, segments; u64 lbn, time, response
//
// version is 0x0100 or 0x0200, command the SCSI operation code, lbn sectors of
// 512 bytes, times are microseconds since a start that is not told; the time is
// that of the request. With a response (v2) time_ns is request + response and the
// kind q2c: the virtual adapter sees an I/O before the hypervisor queues it. A
// file is one volume: the device is its name up to the first point.
//
// A record of another version is damage: what stands up to the next two records
// that are in order is one reject.
var VSCSI = ingest.Register(ingest.Format{
	Name:   "vscsi",
	Doc:    "vscsiStats and CloudPhysics binary block traces, versions 1 and 2",
	Kind:   ingest.KindQ2C,
	Needs:  "a start (start_ns): times are microseconds since a start that is not told",
	Clock:  ingest.BaseRelative,
	Lacks:  "host, device (the file's name is taken), process, flags, error; latency in version 1 (times are arrivals, kind none)",
	Sniff:  sniffVSCSI,
	Stream: func(src *ingest.Source) (ingest.StreamDecoder, error) { return newVSCSI(src), nil },
})

// vscsiMaxBytes bounds the size of one I/O: no SCSI command moves more than
// 2^32 bytes.
const vscsiMaxBytes = 1 << 32

// scsiOp says what a SCSI command does.
func scsiOp(command uint16) ingest.Op {
	switch command {
	case 0x08, 0x28, 0xa8, 0x88: // READ of 6, 10, 12, 16 bytes
		return ingest.OpRead
	case 0x0a, 0x2a, 0xaa, 0x8a, // WRITE
		0x2e, 0xae, 0x8e, // WRITE AND VERIFY
		0x41, 0x93: // WRITE SAME
		return ingest.OpWrite
	case 0x35, 0x91: // SYNCHRONIZE CACHE
		return ingest.OpFlush
	case 0x42: // UNMAP
		return ingest.OpDiscard
	}
	return ingest.OpOther
}

// vscsiBytes is the size of a record by its version.
func vscsiBytes(version int) int {
	if version == 2 {
		return 40
	}
	return 32
}

// vscsiIs says that a record of a version can stand at b, which holds one.
func vscsiIs(b []byte, version int) bool {
	at := 14
	if version == 2 {
		at = 2
	}
	return b[at] == 0 && int(b[at+1]) == version && (b[at-1] == 0)
}

// vscsiVersion finds the version that nearly all of the head's records have: two
// at least, unless the input is but one record. 0 is none.
func vscsiVersion(head []byte) int {
	for version := 1; version <= 2; version++ {
		d := vscsi{version: version}
		out := ingest.Out{Limit: math.MaxInt64}
		d.Decode(head, false, &out)
		good, bad := out.Tally.Event, out.Tally.Rejected()
		if good >= 2 && 4*bad <= good || good == 1 && len(head) == vscsiBytes(version) {
			return version
		}
	}
	return 0
}

func sniffVSCSI(head []byte, _ string) int {
	if vscsiVersion(head) == 0 {
		return 0
	}
	return 2
}

type vscsi struct {
	traceSource
	device  []byte
	version int
}

func newVSCSI(src *ingest.Source) *vscsi {
	d := &vscsi{newTraceSource(src), volumeOf(src.Path), vscsiVersion(src.Head)}
	if d.version == 0 { // forced: the first record decides
		d.version = 1
		if len(src.Head) >= 40 && vscsiIs(src.Head, 2) {
			d.version = 2
		}
	}
	return d
}

// Decode decodes records.
func (d *vscsi) Decode(block []byte, final bool, out *ingest.Out) int {
	size := vscsiBytes(d.version)
	took := 0
	for len(block)-took >= size && out.Position < out.Limit {
		b := block[took:]
		n := size
		if vscsiIs(b, d.version) {
			d.record(b[:size], out)
		} else {
			var found bool
			n, found = d.resync(b)
			if final {
				n = min(n, len(b))
			} else if !found && len(b) < vscsiDamage+2*size {
				return took // the end of the damage may be yet to come
			}
			out.Reject(b[:min(n, size)], "bad-record")
		}
		out.Tally.Lines++
		out.Position += int64(n)
		out.Lineno += int64(bytes.Count(b[:n], []byte{'\n'})) // as the loop counts
		took += n
	}
	return took
}

// vscsiDamage is how much damage is passed over as one reject.
const vscsiDamage = 1 << 16

// resync finds the next place where two records in order stand; without one it
// gives vscsiDamage, the most to pass over at once.
func (d *vscsi) resync(b []byte) (n int, found bool) {
	size := vscsiBytes(d.version)
	in := func(b []byte) bool {
		if !vscsiIs(b, d.version) {
			return false
		}
		r := d.fields(b)
		return r.segments < 1<<16 && r.impossible() == ""
	}
	for n = 1; n+2*size <= len(b) && n < vscsiDamage; n++ {
		if in(b[n:]) && in(b[n+size:]) {
			return n, true
		}
	}
	return vscsiDamage, false
}

// vscsiRecord is the fields of a record.
type vscsiRecord struct {
	command           uint16
	size, segments    uint32
	lbn, us, response uint64
}

func (d *vscsi) fields(b []byte) (r vscsiRecord) {
	le := binary.LittleEndian
	if d.version == 2 {
		return vscsiRecord{
			command: le.Uint16(b), size: le.Uint32(b[8:]), segments: le.Uint32(b[12:]),
			lbn: le.Uint64(b[16:]), us: le.Uint64(b[24:]), response: le.Uint64(b[32:]),
		}
	}
	return vscsiRecord{
		command: le.Uint16(b[12:]), size: le.Uint32(b[4:]), segments: le.Uint32(b[8:]),
		lbn: le.Uint64(b[16:]), us: le.Uint64(b[24:]),
	}
}

// impossible says what can't be in a record.
func (r *vscsiRecord) impossible() string {
	switch {
	case r.us > csvLastNS/1000:
		return "bad-time"
	case r.lbn > blkMaxSector:
		return "bad-offset"
	case r.response > maxLatencyNS/1000:
		return "bad-latency"
	}
	return ""
}

// record decodes one record.
func (d *vscsi) record(b []byte, out *ingest.Out) {
	r := d.fields(b)
	if why := r.impossible(); why != "" {
		out.Reject(b, why)
		return
	}
	ns, ok := int64(r.us)*1000, true
	if ns < traceFirstS*1e9 { // else the stamps are of the epoch already
		ns, ok = d.at(ns)
	}
	if !ok {
		out.Reject(b, "bad-time")
		return
	}
	latency := int64(r.response) * 1000
	e := d.arrival(out, ns+latency, scsiOp(r.command), int64(r.lbn)*512, int64(r.size), d.device)
	if d.version == 2 {
		e.LatencyNS, e.Kind = latency, ingest.KindQ2C
	}
}

// End has nothing to settle.
func (d *vscsi) End(*ingest.Out) {}
