package generate

import (
	"strconv"

	"github.com/iopathy/iopathy/ingest"
)

// The public sets of block traces. All but SYSTOR's tell arrivals only, and
// none has flushes.

// rowLog is a log of a line for each read and write.
type rowLog struct {
	out  *Output
	each func(b []byte, r *Request) []byte
}

func (l *rowLog) Stage(_ Stage, r *Request) {
	if r.Op != ingest.OpFlush {
		l.out.Written(l.each(l.out.Text, r))
	}
}

func (l *rowLog) End() {}

// rowsOf opens a log of rows, behind a head.
func rowsOf(head string, each func(v *Disk) func(b []byte, r *Request) []byte) func(v *Disk, out []*Output) Log {
	return func(v *Disk, out []*Output) Log {
		out[0].Written(append(out[0].Text, head...))
		return &rowLog{out[0], each(v)}
	}
}

// numbered is what formats that know devices by number make of it.
func numbered(prefix string) func(v *Disk) string {
	return func(v *Disk) string { return prefix + strconv.Itoa(v.Number) }
}

// letter is one of two, for a read or what is none.
func (r *Request) letter(read, other byte) byte {
	if r.Op == ingest.OpRead {
		return read
	}
	return other
}

// alibabaFormat: device, opcode, offset, length, microseconds.
var alibabaFormat = Format{
	Name: "alibaba", Ext: ".csv", At: Queued, Device: numbered("disk"),
	Open: rowsOf("", func(v *Disk) func(b []byte, r *Request) []byte {
		id := numbered("")(v)
		return func(b []byte, r *Request) []byte {
			b = append(b, id...)
			b = append(b, ',', r.letter('R', 'W'), ',')
			b = append(decimal(b, r.Offset), ',')
			b = append(decimal(b, r.Size), ',')
			return append(decimal(b, r.At[Queued]/1e3), '\n')
		}
	}),
}

// tencentFormat: seconds, sector, sectors, 0 for a read, volume.
var tencentFormat = Format{
	Name: "tencent", Ext: ".csv", At: Queued, Device: func(v *Disk) string { return "vol" + strconv.Itoa(1000+v.Number) },
	Open: rowsOf("", func(v *Disk) func(b []byte, r *Request) []byte {
		id := strconv.Itoa(1000 + v.Number)
		return func(b []byte, r *Request) []byte {
			b = append(decimal(b, r.At[Queued]/1e9), ',')
			b = append(decimal(b, r.Offset/sector), ',')
			b = append(decimal(b, r.Size/sector), ',', r.letter('0', '1'), ',')
			b = append(b, id...)
			return append(b, '\n')
		}
	}),
}

// systorFormat: issue and response in seconds, type, LUN, offset, size.
var systorFormat = Format{
	Name: "systor", Ext: ".csv", At: Completed, Device: numbered("lun"),
	Open: rowsOf("Timestamp,Response,IOType,LUN,Offset,Size\n", func(v *Disk) func(b []byte, r *Request) []byte {
		id := numbered("")(v)
		return func(b []byte, r *Request) []byte {
			b = append(seconds(b, r.At[Issued], 9), ',')
			b = append(seconds(b, r.ServedNS(), 9), ',', r.letter('R', 'W'), ',')
			b = append(b, id...)
			b = append(decimal(append(b, ','), r.Offset), ',')
			return append(decimal(b, r.Size), '\n')
		}
	}),
}

// fiuFormat: nanoseconds since the start, pid, process, sector, sectors, W or R,
// numbers of the device, a hash of the content (here: of the place).
var fiuFormat = Format{
	Name: "fiu", Ext: ".blkparse", At: Queued, Clock: true, Device: theName,
	Open: rowsOf("", func(v *Disk) func(b []byte, r *Request) []byte {
		device := " " + strconv.Itoa(v.Major) + " " + strconv.Itoa(v.Minor) + " "
		return func(b []byte, r *Request) []byte {
			b = append(decimal(b, r.At[Queued]-startNS), ' ')
			b = append(decimal(b, int64(r.PID)), ' ')
			b = append(append(b, r.Comm...), ' ')
			b = append(decimal(b, r.Offset/sector), ' ')
			b = append(decimal(b, r.Size/sector), ' ', r.letter('R', 'W'))
			b = append(b, device...)
			h := uint64(r.Offset)
			for range 2 {
				h = (h ^ h>>29) * 0xbf58476d1ce4e5b9
				b = hexadecimal(b, h)
			}
			return append(b, '\n')
		}
	}),
}

// cloudPhysicsFormat: version, seconds, SCSI operation in hex, bytes, sector; the
// file is the device.
var cloudPhysicsFormat = Format{
	Name: "cloudphysics-csv", Ext: ".csv", At: Queued, Clock: true, Device: theName,
	Open: rowsOf("version,time,op,size,lbn\n", func(*Disk) func(b []byte, r *Request) []byte {
		return func(b []byte, r *Request) []byte {
			b = append(decimal(append(b, "1,"...), (r.At[Queued]-startNS)/1e9), ',', '2', r.letter('8', 'a'), ',')
			b = append(decimal(b, r.Size), ',')
			return append(decimal(b, r.Offset/sector), '\n')
		}
	}),
}

// cydoniaFormat: microseconds, sector, r or w, bytes; the file is the device.
var cydoniaFormat = Format{
	Name: "cloudphysics-cydonia", Ext: ".csv", At: Queued, Clock: true, Device: theName,
	Open: rowsOf("", func(*Disk) func(b []byte, r *Request) []byte {
		return func(b []byte, r *Request) []byte {
			b = append(decimal(b, (r.At[Queued]-startNS)/1e3), ',')
			b = append(decimal(b, r.Offset/sector), ',', r.letter('r', 'w'), ',')
			return append(decimal(b, r.Size), '\n')
		}
	}),
}

// mqsimFormat: nanoseconds, device, sector, sectors, 1 for a read.
var mqsimFormat = Format{
	Name: "mqsim", Ext: ".trace", At: Queued, Clock: true, Device: numbered("disk"),
	Open: rowsOf("", func(v *Disk) func(b []byte, r *Request) []byte {
		id := " " + strconv.Itoa(v.Number) + " "
		return func(b []byte, r *Request) []byte {
			b = append(decimal(b, r.At[Queued]-startNS), id...)
			b = append(decimal(b, r.Offset/sector), ' ')
			return append(decimal(b, r.Size/sector), ' ', r.letter('1', '0'), '\n')
		}
	}),
}

// spcFormat: storage unit, sector, bytes, r or w, seconds.
var spcFormat = Format{
	Name: "spc", Ext: ".spc", At: Queued, Clock: true, Device: numbered("asu"),
	Open: rowsOf("", func(v *Disk) func(b []byte, r *Request) []byte {
		id := strconv.Itoa(v.Number) + ","
		return func(b []byte, r *Request) []byte {
			b = append(decimal(append(b, id...), r.Offset/sector), ',')
			b = append(decimal(b, r.Size), ',', r.letter('R', 'W'), ',')
			return append(seconds(b, r.At[Queued]-startNS, 6), '\n')
		}
	}),
}
