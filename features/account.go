package features

import (
	"math/bits"

	"github.com/iopathy/iopathy/ingest"
)

const (
	opCount  = int(ingest.OpDiscard) + 1
	flagSets = int(ingest.FlagPreflush) << 1

	smallWriteBytes = 16 << 10

	regionBits    = 26 // a region is 64 MiB
	regionCount   = 64 // regions are hashed to this many
	regionOctaves = 24 // latency classes: below 2^13 ns, then one per doubling
	octaveBase    = 13
)

// The latency histograms of an account.
const (
	latencyReads = iota
	latencyWrites
	latencyOthers
	latencyGroups
)

var latencyGroup = [opCount]uint8{
	ingest.OpRead: latencyReads, ingest.OpWrite: latencyWrites,
	ingest.OpOther: latencyOthers, ingest.OpFlush: latencyOthers, ingest.OpDiscard: latencyOthers,
}

// one is 1 if it is so, else 0.
func one(so bool) int64 {
	if so {
		return 1
	}
	return 0
}

// account is the integer sums of the events that complete in one window.
// Nothing in it depends on their order, save the sums of re-reads and the
// count of sequential ones, which are settled as each event comes.
type account struct {
	window int64

	requests, timed                int64
	ops                            [opCount]int64
	timedBy, latencyBy             [opCount]int64
	maxLatency                     int64
	byFlags                        [opCount][flagSets]int64
	errors                         int64
	told                           int64 // requests whose flags are told
	queued, queueNS, queuedLatency int64
	staged                         int64 // requests in the ladder
	sized, sizedBytes              int64 // reads and writes whose size is known and above 0
	sizedReads, readBytes          int64
	smallWrites                    int64
	unsized                        int64 // reads and writes of unknown size
	placed, sequential, misaligned int64
	moved                          int64
	latency                        [latencyGroups]histogram
	squares                        squares // of latencies
	sizes                          histogram
	regions                        [regionCount][regionOctaves]uint32
	comms, cgroups                 tops
	ladder                         *Ladder // nil until an event tells stages
	reread                         rereadSums
}

// reset empties the account for another window.
func (a *account) reset() {
	latency, sizes := &a.latency, &a.sizes
	for i := range latency {
		latency[i].reset()
	}
	sizes.reset()
	if a.sizedReads > 0 {
		clear(a.regions[:])
	}
	a.window = 0
	a.requests, a.timed, a.maxLatency = 0, 0, 0
	a.ops, a.timedBy, a.latencyBy = [opCount]int64{}, [opCount]int64{}, [opCount]int64{}
	a.byFlags, a.errors, a.told = [opCount][flagSets]int64{}, 0, 0
	a.queued, a.queueNS, a.queuedLatency = 0, 0, 0
	a.sized, a.sizedBytes, a.sizedReads, a.readBytes, a.smallWrites, a.unsized = 0, 0, 0, 0, 0, 0
	a.placed, a.sequential, a.misaligned, a.moved = 0, 0, 0, 0
	a.squares = squares{}
	if a.staged > 0 {
		*a.ladder, a.staged = Ladder{}, 0
	}
	a.comms, a.cgroups, a.reread = tops{}, tops{}, rereadSums{}
}

// add counts a completed event of the fold.
func (a *account) add(e *ingest.Event, f *Fold) {
	op := e.Op
	if int(op) >= opCount {
		op = ingest.OpOther
	}
	a.requests++
	a.ops[op]++
	a.byFlags[op][int(e.Flags)%flagSets]++
	if e.Flags >= ingest.FlagsTold {
		a.told++
	}
	if e.Error != 0 {
		a.errors++
	}
	if e.LatencyNS >= 0 {
		a.timing(op, e)
	}
	a.comms.add(uint32(e.Comm))
	a.cgroups.add(uint32(e.Cgroup))
	if op != ingest.OpRead && op != ingest.OpWrite {
		return
	}
	if e.SizeBytes < 0 {
		a.unsized++
		return
	}
	// What is a coin's toss from one event to the next is a number: no branch on it.
	read := one(op == ingest.OpRead)
	if e.SizeBytes > 0 {
		a.sized++
		a.sizedBytes += e.SizeBytes
		a.sizes.add(e.SizeBytes)
		a.sizedReads += read
		a.readBytes += e.SizeBytes & -read
		a.smallWrites += one(e.SizeBytes <= smallWriteBytes) &^ read
	}
	if e.OffsetBytes < 0 {
		return
	}
	a.placed++
	a.misaligned += one((e.OffsetBytes|e.SizeBytes)%blockBytes != 0)
	a.moved += f.recent.moves(e.TimeNS, e.OffsetBytes, e.SizeBytes, f.o.RereadNS)
	a.sequential += f.recent.streams[1-read].follows(e.TimeNS, e.OffsetBytes, e.SizeBytes, f.o.RereadNS)
	if op == ingest.OpRead && e.SizeBytes > 0 {
		if e.LatencyNS >= 0 {
			a.regions[regionOf(e.OffsetBytes)][octaveOf(e.LatencyNS)]++
		}
		f.table.read(e.TimeNS, e.OffsetBytes, e.SizeBytes, uint32(a.window), e.Flags&ingest.FlagMeta != 0, &a.reread)
	}
}

// flagged counts the requests that have one of some flags, of one op or, with
// opCount, of all.
func (a *account) flagged(op int, some ingest.Flags) (n int64) {
	for o := range a.byFlags {
		if op != o && op != opCount {
			continue
		}
		for fl, count := range a.byFlags[o] {
			if ingest.Flags(fl)&some != 0 {
				n += count
			}
		}
	}
	return n
}

// journal counts the requests that flush or carry metadata, FUA or preflush.
func (a *account) journal() int64 {
	const some = ingest.FlagMeta | ingest.FlagFUA | ingest.FlagPreflush
	flush := int(ingest.OpFlush)
	return a.flagged(opCount, some) - a.flagged(flush, some) + a.ops[flush]
}

func (a *account) timing(op ingest.Op, e *ingest.Event) {
	a.timed++
	a.timedBy[op]++
	a.latencyBy[op] += e.LatencyNS
	a.squares.add(e.LatencyNS)
	a.maxLatency = max(a.maxLatency, e.LatencyNS)
	a.latency[latencyGroup[op]].add(e.LatencyNS)
	if e.QueueNS >= 0 {
		a.queued++
		a.queueNS += e.QueueNS
		a.queuedLatency += e.LatencyNS
	}
	if tellsStages(e) {
		if a.ladder == nil {
			a.ladder = new(Ladder)
		}
		a.staged++
		a.ladder.AddEvent(e)
	}
}

func (a *account) latencyNS() int64 {
	s := int64(0)
	for _, v := range a.latencyBy {
		s += v
	}
	return s
}

func regionOf(offset int64) int { return int(mix(uint64(offset)>>regionBits) % regionCount) }

func octaveOf(latency int64) int {
	return min(bits.Len64(uint64(latency)>>octaveBase), regionOctaves-1)
}

// recent remembers where the last reads and writes ended, a few of each, so
// that interleaved streams and completions out of order are still seen as
// sequential, and where the last of all ended.
type recent struct {
	streams [2]ends
	end     int64
	time    int64
}

// headReach is how far a disk's head gets without a move to speak of: a track
// or two.
const headReach = 1 << 20

// moves is 1 if a request lies elsewhere than where the one before it ended,
// else 0: between the requests of two streams a head moves, though each of them
// is sequential.
func (r *recent) moves(now, offset, size, horizon int64) int64 {
	far := now-r.time >= horizon || offset-r.end > headReach || r.end-offset > headReach
	r.end, r.time = offset+size, now
	return one(far)
}

type ends struct {
	at   [8]int64 // end offsets
	used uint
	next uint
	time int64 // of the last
}

// follows is 1 if a request starts where one of the last ended, else 0, and
// remembers its own end. What is older than the horizon is forgotten.
func (s *ends) follows(now, offset, size, horizon int64) int64 {
	if now-s.time >= horizon {
		s.used, s.next = 0, 0
	}
	s.time = now
	match := one(s.at[0] == offset) | one(s.at[1] == offset)<<1 | one(s.at[2] == offset)<<2 | one(s.at[3] == offset)<<3 |
		one(s.at[4] == offset)<<4 | one(s.at[5] == offset)<<5 | one(s.at[6] == offset)<<6 | one(s.at[7] == offset)<<7
	match &= 1<<(s.used&15) - 1
	seen := one(match != 0)
	// Its place is the first of the ends that match, else the next one's.
	at := bits.TrailingZeros64(uint64(match | (1-seen)<<(s.next&7)))
	s.at[at%len(s.at)] = offset + size
	s.next = (s.next + 1 - uint(seen)) % uint(len(s.at))
	s.used = min(s.used+1-uint(seen), uint(len(s.at)))
	return seen
}

// tops counts by name, the first names exactly and the rest together.
type tops struct {
	ids   [16]uint32
	n     [16]int64
	used  int
	last  int // the one found last
	known int64
}

func (t *tops) add(id uint32) {
	if id == 0 {
		return
	}
	t.known++
	if t.ids[t.last] == id {
		t.n[t.last]++
		return
	}
	for i := 0; i < t.used; i++ {
		if t.ids[i] == id {
			t.n[i]++
			t.last = i
			return
		}
	}
	if t.used < len(t.ids) {
		t.ids[t.used], t.n[t.used] = id, 1
		t.last = t.used
		t.used++
	}
}

// share is the share of the name with most among the known ones.
func (t *tops) share() (float64, bool) {
	if t.known == 0 {
		return 0, false
	}
	most := int64(0)
	for _, n := range t.n[:t.used] {
		most = max(most, n)
	}
	return float64(most) / float64(t.known), true
}
