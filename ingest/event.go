package ingest

// Missing marks an int64 or int32 field that the source can't tell. It is
// written to the lake as null. It is never 0: an unknown latency is not a
// latency of zero.
const Missing = -1

// Op is what an I/O does.
type Op uint8

// The operations. OpOther is zone management, secure erase, pass-through.
const (
	OpOther Op = iota
	OpRead
	OpWrite
	OpFlush
	OpDiscard
)

var opNames = [...]string{"other", "read", "write", "flush", "discard"}

func (o Op) String() string {
	if int(o) < len(opNames) {
		return opNames[o]
	}
	return "other"
}

// Flags are the properties of an I/O that the block layer tells.
type Flags uint8

// The flags; their letters are those of the event CSV, in this order.
const (
	FlagSync      Flags = 1 << iota // S
	FlagMeta                        // M
	FlagReadahead                   // A
	FlagFUA                         // U
	FlagPreflush                    // F
)

// FlagsTold is set where the source tells the flags, so that one that is not set is
// known not to be; without it nothing is known of them. It has no letter.
const FlagsTold Flags = 1 << 7

// String gives the letters of the flags in the order S M A U F.
func (f Flags) String() string {
	var b [5]byte
	n := 0
	for i, c := range [5]byte{'S', 'M', 'A', 'U', 'F'} {
		if f&(1<<i) != 0 {
			b[n] = c
			n++
		}
	}
	return string(b[:n])
}

// LatencyKind says what a latency spans. Kinds are never mixed in one
// percentile, baseline or model.
type LatencyKind uint8

// The kinds: KindQ2C is queued to completed (block layer, queue included),
// KindD2C dispatched to completed (device), KindSyscall and KindApp are
// measured by the caller, KindSample is a mean of interval counters.
const (
	KindNone LatencyKind = iota
	KindQ2C
	KindD2C
	KindSyscall
	KindApp
	KindSample
)

var kindNames = [...]string{"none", "q2c", "d2c", "syscall", "app", "sample"}

func (k LatencyKind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "none"
}

// ParseKind is the inverse of LatencyKind.String; an unknown word is KindNone.
func ParseKind(s string) LatencyKind {
	for i, n := range kindNames {
		if n == s {
			return LatencyKind(i)
		}
	}
	return KindNone
}

// ParseOp is the inverse of Op.String; an unknown word is OpOther.
func ParseOp(s string) Op {
	for i, n := range opNames {
		if n == s {
			return Op(i)
		}
	}
	return OpOther
}

// ParseFlags is the inverse of Flags.String, of flags that are told; other
// letters are ignored.
func ParseFlags(s string) Flags {
	f := FlagsTold
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case 'S':
			f |= FlagSync
		case 'M':
			f |= FlagMeta
		case 'A':
			f |= FlagReadahead
		case 'U':
			f |= FlagFUA
		case 'F':
			f |= FlagPreflush
		}
	}
	return f
}

// Name is the number of a string in the Names table of the Batch that the row
// stands in. The zero Name is the empty string: not known.
type Name uint32

// Event is one completed I/O. TimeNS is its completion in nanoseconds since
// the Unix epoch; its start is TimeNS - LatencyNS. Where a source has no
// latency, LatencyNS is Missing and TimeNS the arrival. QueueNS is the time
// before dispatch, a part of LatencyNS when the kind is KindQ2C. GetNS and
// InsertNS end at that dispatch, too: they are the time since the block layer
// had a request for the I/O (blkparse's G) and since it put that into the
// scheduler's queue (I). Depth is the number in flight on arrival, if the source
// tells. Error is 0 or a positive errno. Position is the byte offset, in the decompressed input, of the line
// or record that completed the event.
type Event struct {
	TimeNS      int64
	LatencyNS   int64
	QueueNS     int64
	GetNS       int64
	InsertNS    int64
	OffsetBytes int64
	SizeBytes   int64
	Position    int64
	PID         int32
	Depth       int32
	Error       int32
	Host        Name
	Device      Name
	Comm        Name
	File        Name
	Cgroup      Name
	Op          Op
	Flags       Flags
	Kind        LatencyKind
}

// StartNS is the arrival of the I/O; without a latency it is TimeNS.
func (e *Event) StartNS() int64 {
	if e.LatencyNS < 0 {
		return e.TimeNS
	}
	return e.TimeNS - e.LatencyNS
}

// NewEvent is an Event whose optional fields are all unknown.
func NewEvent() Event {
	return Event{LatencyNS: Missing, QueueNS: Missing, GetNS: Missing, InsertNS: Missing, OffsetBytes: Missing, SizeBytes: Missing, PID: Missing, Depth: Missing}
}
