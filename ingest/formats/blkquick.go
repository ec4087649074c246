package formats

import (
	"encoding/binary"
	"math/bits"

	"github.com/iopathy/iopathy/ingest"
)

// blkLetters are the actions by their letter of which the usual line has a sector,
// a length and a task or an error.
var blkLetters = [128]blkAction{
	'Q': blkQueue, 'G': blkGet, 'I': blkInsert, 'D': blkIssue, 'C': blkComplete, 'M': blkBackMerge, 'F': blkFrontMerge, 'S': blkSleep, 'B': blkBounce,
}

// blkNear are the texts at a line's start and of rwbs that were read last.
type blkNear struct {
	head    uint64 // the line's first eight bytes, with a blank behind the device
	headEnd int
	dev     uint32
	rwbs    [16]struct {
		text  uint64
		op    ingest.Op
		flags ingest.Flags
	}
}

// quick reads a line as nearly all are into d.rec:
//
//	maj,min cpu seq sec.nsec pid action rwbs sector + n [comm or 0]
//
// with eight bytes of it at a time. false says that parse must read it, and
// nothing else: quick takes no line that parse does not read in the same way.
func (d *blkparse) quick(line []byte) bool {
	n := len(line)
	if n < 40 || n+24 > cap(line) || line[n-1] != ']' {
		return false
	}
	b := line[:n+24] // what stands behind ] is loaded, but no number or blank goes beyond it
	i := 0
	if x := binary.LittleEndian.Uint64(b); x == d.near.head {
		i = d.near.headEnd
	} else if i = d.device(b, x); i == 0 {
		return false
	}
	for range 2 { // cpu, seq
		from := skipBlanks(b, i)
		k := leading(binary.LittleEndian.Uint64(b[from:]) ^ bytes8x30)
		if k == 8 {
			k += leading(binary.LittleEndian.Uint64(b[from+8:]) ^ bytes8x30)
		}
		if from == i || k == 0 || k >= 16 {
			return false
		}
		i = from + k
	}
	from := skipBlanks(b, i)
	y := binary.LittleEndian.Uint64(b[from:]) ^ bytes8x30
	k := leading(y)
	if from == i || k == 0 || k == 8 || b[from+k] != '.' {
		return false
	}
	sec := int64(joined(y, k))
	i = from + k + 1
	y = binary.LittleEndian.Uint64(b[i:]) ^ bytes8x30
	if leading(y) != 8 || b[i+8]-'0' > 9 || b[i+9] != ' ' {
		return false
	}
	nsec := int64(joined(y, 8))*10 + int64(b[i+8]-'0')
	i = skipBlanks(b, i+9)
	y = binary.LittleEndian.Uint64(b[i:]) ^ bytes8x30
	k = leading(y)
	if k == 0 || k == 8 || b[i+k] != ' ' {
		return false
	}
	pid := int32(joined(y, k))
	i = skipBlanks(b, i+k)
	if b[i] >= 128 || blkLetters[b[i]] == blkNone || b[i+1] != ' ' {
		return false
	}
	action := blkLetters[b[i]]
	i = skipBlanks(b, i+1)
	x := binary.LittleEndian.Uint64(b[i:])
	k = bits.TrailingZeros64(uint64(eights(x, bytes8x20)) | 1<<8)
	if k == 0 || k == 8 {
		return false
	}
	x &= 1<<(8*uint(k)) - 1
	near := &d.near.rwbs[(x*0x9e3779b97f4a7c15)>>60]
	if near.text != x {
		op, flags, ok := blkRWBS(b[i:i+k], false)
		if !ok {
			return false
		}
		near.text, near.op, near.flags = x, op, flags
	}
	i = skipBlanks(b, i+k)
	sector, end := scanDigits(b, i)
	if end == i || sector < 0 || sector > blkMaxSector/2 || b[end] != ' ' || b[end+1] != '+' || b[end+2] != ' ' {
		return false
	}
	i = end + 3
	y = binary.LittleEndian.Uint64(b[i:]) ^ bytes8x30
	k = leading(y)
	if k == 0 || k == 8 || b[i+k] != ' ' || b[i+k+1] != '[' {
		return false
	}
	sectors := joined(y, k)
	i += k + 2
	text := line[i : n-1]
	if sectors == 0 {
		return false
	}
	if action == blkComplete {
		if string(text) != "0" {
			return false
		}
		text = nil
	} else if len(text) == 0 || text[0] == '(' {
		return false
	}
	// Field by field: a literal would be made elsewhere and copied.
	r := &d.rec
	r.TimeNS, r.Sector, r.Sectors, r.Dev, r.PID = d.base+sec*1e9+nsec, uint64(sector), sectors, d.near.dev, pid
	r.Action, r.Op, r.Flags, r.Comm, r.Text = action, near.op, near.flags, text, line
	r.Other, r.Cgroup, r.From, r.Error, r.Pass = 0, 0, 0, 0, false
	return true
}

// device reads "maj,min " at the start of a line whose first eight bytes are x,
// and keeps what they mean. It gives the index behind, 0 if it does not stand there.
func (d *blkparse) device(b []byte, x uint64) int {
	i := skipBlanks(b, 0)
	major, at := scanDigits(b, i)
	if at == i || b[at] != ',' || major < 0 || major >= 1<<12 {
		return 0
	}
	minor, end := scanDigits(b, at+1)
	if end == at+1 || b[end] != ' ' || minor < 0 || minor >= 1<<20 {
		return 0
	}
	d.near.head, d.near.headEnd, d.near.dev = 0, end, uint32(major<<20|minor)
	if end < 8 {
		d.near.head = x
	}
	return end
}

// skipBlanks gives the index of the next byte that is no blank, of runs of up to
// eight; eight bytes stand behind i.
func skipBlanks(b []byte, i int) int {
	x := binary.LittleEndian.Uint64(b[i:]) ^ bytes8x20
	n := bits.TrailingZeros64(x) / 8
	if n < 8 {
		return i + n
	}
	for i += 8; i < len(b) && b[i] == ' '; i++ {
	}
	return i
}
