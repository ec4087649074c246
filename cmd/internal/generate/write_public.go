package generate

import (
	"strconv"

	"github.com/iopathy/iopathy/ingest"
)

// The public sets of block traces. All but SYSTOR's tell arrivals only, and
// none has flushes.

// rowBytes are enough for a row.
const rowBytes = 256

// rowLog is a log of a line for each read and write: each writes it to c, which has
// rowBytes, and gives its length.
type rowLog struct {
	out  *Output
	each func(c []byte, r *Request) int
}

func (l *rowLog) Stage(_ Stage, r *Request) {
	if r.Op != ingest.OpFlush {
		b := l.out.Text
		at := len(b)
		l.out.Written(b[:at+l.each(b[at:at+rowBytes], r)])
	}
}

func (l *rowLog) End() {}

// rowsOf opens a log of rows, behind a head.
func rowsOf(head string, each func(v *Disk) func(c []byte, r *Request) int) func(v *Disk, out []*Output) Log {
	return func(v *Disk, out []*Output) Log {
		out[0].Written(append(out[0].Text, head...))
		return &rowLog{out[0], each(v)}
	}
}

// numbered is what formats that know devices by number make of it.
func numbered(prefix string) func(v *Disk) string {
	return func(v *Disk) string { return prefix + strconv.Itoa(v.Number) }
}

// letter is one of two, for a read or what is none, without a branch: nobody could
// foretell it.
func (r *Request) letter(read, other byte) byte { return other ^ (read^other)&-r.reads() }

// reads is 1 for a read, else 0.
func (r *Request) reads() (is byte) {
	if r.Op == ingest.OpRead {
		is = 1
	}
	return is
}

// alibabaFormat: device, opcode, offset, length, microseconds.
var alibabaFormat = Format{
	Name: "alibaba", Ext: ".csv", At: Queued, Device: numbered("disk"),
	Open: rowsOf("", func(v *Disk) func(c []byte, r *Request) int {
		fronts := [2]word{newWord(strconv.Itoa(v.Number) + ",W,"), newWord(strconv.Itoa(v.Number) + ",R,")}
		var sizes memo
		var times lead
		return func(c []byte, r *Request) int {
			n := fronts[r.reads()&1].put(c)
			n += digits(c[n:], r.Offset)
			c[n] = ','
			n++
			n += sizes.put(c[n:], r.Size)
			c[n] = ','
			n++
			n += times.put(c[n:], r.At[Queued]/1e3)
			c[n] = '\n'
			return n + 1
		}
	}),
}

// tencentFormat: seconds, sector, sectors, 0 for a read, volume.
var tencentFormat = Format{
	Name: "tencent", Ext: ".csv", At: Queued, Device: func(v *Disk) string { return "vol" + strconv.Itoa(1000+v.Number) },
	Open: rowsOf("", func(v *Disk) func(c []byte, r *Request) int {
		end := newWord("," + strconv.Itoa(1000+v.Number) + "\n")
		var sizes, times memo
		return func(c []byte, r *Request) int {
			n := times.put(c, r.At[Queued]/1e9)
			c[n] = ','
			n++
			n += digits(c[n:], r.Offset/sector)
			c[n] = ','
			n++
			n += sizes.put(c[n:], r.Size/sector)
			c[n], c[n+1] = ',', r.letter('0', '1')
			n += 2
			return n + end.put(c[n:])
		}
	}),
}

// systorFormat: issue and response in seconds, type, LUN, offset, size.
var systorFormat = Format{
	Name: "systor", Ext: ".csv", At: Completed, Device: numbered("lun"),
	Open: rowsOf("Timestamp,Response,IOType,LUN,Offset,Size\n", func(v *Disk) func(c []byte, r *Request) int {
		id := newWord("," + strconv.Itoa(v.Number) + ",")
		var issued, served clock
		var sizes memo
		return func(c []byte, r *Request) int {
			n := issued.put(c, r.At[Issued], 9)
			c[n] = ','
			n++
			n += served.put(c[n:], r.ServedNS(), 9)
			c[n], c[n+1] = ',', r.letter('R', 'W')
			n += 2
			n += id.put(c[n:])
			n += digits(c[n:], r.Offset)
			c[n] = ','
			n++
			n += sizes.put(c[n:], r.Size)
			c[n] = '\n'
			return n + 1
		}
	}),
}

// fiuFormat: nanoseconds since the start, pid, process, sector, sectors, W or R,
// numbers of the device, a hash of the content (here: of the place).
var fiuFormat = Format{
	Name: "fiu", Ext: ".blkparse", At: Queued, Clock: true, Device: theName,
	Open: rowsOf("", func(v *Disk) func(c []byte, r *Request) int {
		device := newWord(" " + strconv.Itoa(v.Major) + " " + strconv.Itoa(v.Minor) + " ")
		var times lead
		var sizes, pids memo
		return func(c []byte, r *Request) int {
			n := times.put(c, r.At[Queued]-startNS)
			c[n] = ' '
			n++
			n += pids.put(c[n:], int64(r.PID))
			c[n] = ' '
			n++
			n += copy(c[n:], r.Comm.String())
			c[n] = ' '
			n++
			n += digits(c[n:], r.Offset/sector)
			c[n] = ' '
			n++
			n += sizes.put(c[n:], r.Size/sector)
			c[n], c[n+1] = ' ', r.letter('R', 'W')
			n += 2
			n += device.put(c[n:])
			h := uint64(r.Offset)
			for range 2 {
				h = (h ^ h>>29) * 0xbf58476d1ce4e5b9
				n = len(hexadecimal(c[:n], h))
			}
			c[n] = '\n'
			return n + 1
		}
	}),
}

// cloudPhysicsFormat: version, seconds, SCSI operation in hex, bytes, sector; the
// file is the device.
var cloudPhysicsFormat = Format{
	Name: "cloudphysics-csv", Ext: ".csv", At: Queued, Clock: true, Device: theName,
	Open: rowsOf("version,time,op,size,lbn\n", func(*Disk) func(c []byte, r *Request) int {
		now := int64(-1)
		var front word
		var sizes memo
		return func(c []byte, r *Request) int {
			if t := (r.At[Queued] - startNS) / 1e9; t != now {
				now, front = t, newWord("1,"+strconv.FormatInt(t, 10)+",2")
			}
			n := front.put(c)
			c[n], c[n+1] = r.letter('8', 'a'), ','
			n += 2
			n += sizes.put(c[n:], r.Size)
			c[n] = ','
			n++
			n += digits(c[n:], r.Offset/sector)
			c[n] = '\n'
			return n + 1
		}
	}),
}

// cydoniaFormat: microseconds, sector, r or w, bytes; the file is the device.
var cydoniaFormat = Format{
	Name: "cloudphysics-cydonia", Ext: ".csv", At: Queued, Clock: true, Device: theName,
	Open: rowsOf("", func(*Disk) func(c []byte, r *Request) int {
		var times lead
		var sizes memo
		return func(c []byte, r *Request) int {
			n := times.put(c, (r.At[Queued]-startNS)/1e3)
			c[n] = ','
			n++
			n += digits(c[n:], r.Offset/sector)
			c[n], c[n+1], c[n+2] = ',', r.letter('r', 'w'), ','
			n += 3
			n += sizes.put(c[n:], r.Size)
			c[n] = '\n'
			return n + 1
		}
	}),
}

// mqsimFormat: nanoseconds, device, sector, sectors, 1 for a read.
var mqsimFormat = Format{
	Name: "mqsim", Ext: ".trace", At: Queued, Clock: true, Device: numbered("disk"),
	Open: rowsOf("", func(v *Disk) func(c []byte, r *Request) int {
		id := newWord(" " + strconv.Itoa(v.Number) + " ")
		var times lead
		var sizes memo
		return func(c []byte, r *Request) int {
			n := times.put(c, r.At[Queued]-startNS)
			n += id.put(c[n:])
			n += digits(c[n:], r.Offset/sector)
			c[n] = ' '
			n++
			n += sizes.put(c[n:], r.Size/sector)
			c[n], c[n+1], c[n+2] = ' ', r.letter('1', '0'), '\n'
			return n + 3
		}
	}),
}

// spcFormat: storage unit, sector, bytes, r or w, seconds.
var spcFormat = Format{
	Name: "spc", Ext: ".spc", At: Queued, Clock: true, Device: numbered("asu"),
	Open: rowsOf("", func(v *Disk) func(c []byte, r *Request) int {
		id := newWord(strconv.Itoa(v.Number) + ",")
		var times clock
		var sizes memo
		return func(c []byte, r *Request) int {
			n := id.put(c)
			n += digits(c[n:], r.Offset/sector)
			c[n] = ','
			n++
			n += sizes.put(c[n:], r.Size)
			c[n], c[n+1], c[n+2] = ',', r.letter('R', 'W'), ','
			n += 3
			n += times.put(c[n:], r.At[Queued]-startNS, 6)
			c[n] = '\n'
			return n + 1
		}
	}),
}
