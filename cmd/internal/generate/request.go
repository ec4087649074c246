package generate

import "github.com/iopathy/iopathy/ingest"

// Stage is where a request is.
type Stage uint8

// The stages that the block layer's tracepoints tell of.
const (
	Queued    Stage = iota // Q: it has come
	Got                    // G: it has a request
	Inserted               // I: it is in the scheduler's queue
	Issued                 // D: the driver has it
	Completed              // C: it is done
	stages
)

// Request is one I/O. At are the times of its stages in ns since 1970, never
// falling; without a scheduler there is no Inserted, which then is Got.
type Request struct {
	At        [stages]int64
	Offset    int64 // bytes; 0 for a flush
	Size      int64
	Comm      Program
	PID       int32
	Op        ingest.Op
	Flags     ingest.Flags
	CPU       uint8 // where it was asked for; it completes on the other one of a pair
	Scheduled bool  // it went through the scheduler

	step  uint8
	load  int32
	slot  int32
	depth int32 // in flight when it came; not told where ends are unseen
}

// LatencyNS is from Queued to Completed.
func (r *Request) LatencyNS() int64 { return r.At[Completed] - r.At[Queued] }

// QueueNS is from Queued to Issued.
func (r *Request) QueueNS() int64 { return r.At[Issued] - r.At[Queued] }

// ServedNS is from Issued to Completed.
func (r *Request) ServedNS() int64 { return r.At[Completed] - r.At[Issued] }
