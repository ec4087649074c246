package formats

import (
	"bytes"

	"github.com/iopathy/iopathy/ingest"
)

// blkAction is what a block layer trace record tells of an I/O.
type blkAction uint8

// The actions, with blkparse's letters and the tracepoints of ftrace.
const (
	blkNone       blkAction = iota
	blkQueue                // Q block_bio_queue
	blkGet                  // G block_getrq
	blkSleep                // S block_sleeprq
	blkBounce               // B block_bio_bounce
	blkInsert               // I block_rq_insert
	blkIssue                // D block_rq_issue
	blkRequeue              // R block_rq_requeue
	blkComplete             // C block_rq_complete, block_bio_complete
	blkBackMerge            // M block_bio_backmerge, block_rq_merge
	blkFrontMerge           // F block_bio_frontmerge
	blkSplit                // X block_split
	blkRemap                // A block_bio_remap
	blkStart                // block_io_start: a bio has its request
	blkFinish               // block_io_done: a request has ended, without its size
)

// blkAppend in Other of a record tells that it is of a zone append: issued at the
// start of its zone, completed where it was written.
const blkAppend = 1

// isAppend says whether the letters of an operation are those of a zone append.
func isAppend(rwbs []byte) bool {
	i := bytes.Index(rwbs, []byte("ZA"))
	return i == 0 || i == 1 && rwbs[0] == 'F'
}

// blkRecord is one block layer trace record in any of its spellings: blkparse
// text, blktrace binary, ftrace, perf. Sectors are 512 bytes.
type blkRecord struct {
	TimeNS  int64        // nanoseconds, one base for the whole input
	Sector  uint64       // first sector, below blkMaxSector; any where Sectors is 0
	Sectors uint64       // 0: no data (a flush, the end of a flush sequence)
	Other   uint64       // X: first sector of the second part; A: sector before the remap; else 0 or blkAppend
	Cgroup  uint64       // id of the control group; 0 if unknown
	Dev     uint32       // major<<20 | minor
	From    uint32       // A: device before the remap
	PID     int32        // ingest.Missing if unknown
	Error   int32        // C, R: 0 or a positive errno
	Action  blkAction    //
	Op      ingest.Op    // OpFlush for a flush request or an empty preflush
	Flags   ingest.Flags //
	Pass    bool         // a pass-through command: it has no sector, Other is its bytes
	Comm    []byte       `state:"-"` // empty if unknown; not kept
	Text    []byte       `state:"-"` // the line, for a reject; not kept
}

// blkMaxSector bounds a sector and a length: below it an offset in bytes fits
// an int64, and the numbers above it are free to name lists that have no
// sector.
const blkMaxSector = 1<<53 - 1

// blkRWBS reads the letters of blk_fill_rwbs: an F for a preflush where the
// operation follows, the operation (W, D, DE, F, R, N), then F for FUA, A, S,
// M. B is the barrier of kernels before 2.6.37, a preflush today. An empty
// I/O with a preflush is a flush. ok is false for what is no letter.
func blkRWBS(b []byte, empty bool) (op ingest.Op, flags ingest.Flags, ok bool) {
	if len(b) == 0 || len(b) > 8 {
		return 0, 0, false
	}
	flags = ingest.FlagsTold
	i := 0
	if b[0] == 'F' && len(b) > 1 {
		switch b[1] {
		case 'W', 'N', 'R', 'F', 'D', 'Z':
			flags |= ingest.FlagPreflush
			i = 1
		}
	}
	switch b[i] {
	case 'R':
		op = ingest.OpRead
	case 'W':
		op = ingest.OpWrite
	case 'F':
		op = ingest.OpFlush
		flags |= ingest.FlagPreflush
	case 'D':
		op = ingest.OpDiscard
		if i+1 < len(b) && b[i+1] == 'E' { // secure erase
			op = ingest.OpOther
			i++
		}
	case 'Z': // of zones: append, reset (RA: of all), finish, open, close
		op = ingest.OpOther
		for _, z := range blkZoneOps {
			if bytes.HasPrefix(b[i+1:], z) {
				if z[0] == 'A' {
					op = ingest.OpWrite
				}
				i += len(z)
				break
			}
		}
	default:
		if b[i] < 'A' || b[i] > 'Z' {
			return 0, 0, false
		}
		op = ingest.OpOther
	}
	for _, c := range b[i+1:] {
		switch c {
		case 'F':
			flags |= ingest.FlagFUA
		case 'A':
			flags |= ingest.FlagReadahead
		case 'S':
			flags |= ingest.FlagSync
		case 'M':
			flags |= ingest.FlagMeta
		case 'B':
			flags |= ingest.FlagPreflush
		default:
			if c < 'A' || c > 'Z' {
				return 0, 0, false
			}
		}
	}
	if empty && flags&ingest.FlagPreflush != 0 {
		op = ingest.OpFlush
	}
	return op, flags, true
}

// blkZoneOps are the letters behind the Z of what is done to a zone; the longer first.
var blkZoneOps = [][]byte{[]byte("RA"), []byte("A"), []byte("R"), []byte("F"), []byte("O"), []byte("C")}

// blkErrno turns an error as block traces print it, the low 16 bits of a
// negative errno or the number itself, into a positive errno.
func blkErrno(v int64) int32 {
	switch {
	case v < 0:
		return int32(-v)
	case v > 1<<15:
		return int32(1<<16 - v)
	}
	return int32(v)
}
