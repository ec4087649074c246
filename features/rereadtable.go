package features

import (
	"math"
	"math/bits"
	"slices"
)

// Blocks that lie side by side are mostly read together. An octet is some of
// eight, the first of which is a multiple of eight: above, its number; in the
// lowest eight bits, one for each block.
type octet uint64

const octetBlocks = 8

func octetOf(number uint64, mask uint8) octet { return octet(number<<octetBlocks | uint64(mask)) }

func (o octet) number() uint64        { return uint64(o >> octetBlocks) }
func (o octet) first() uint64         { return o.number() * octetBlocks }
func (o octet) mask() uint8           { return uint8(o) }
func (o octet) blocks() int           { return bits.OnesCount8(uint8(o)) }
func (o octet) only(mask uint8) octet { return o&^math.MaxUint8 | octet(mask) }

// blockRun is blocks of one octet that have been read alike.
type blockRun struct {
	octet
	at     int64  // last read, completion
	window uint32 // low bits of the window's number that x and y belong to
	x, y   uint16 // reads of each block in that window, and those that were re-reads; saturating
}

// blockTable finds the runs of an octet. No block stands in two of them.
type blockTable struct {
	runs    []blockRun
	places  []uint32 // by hash of the octet's number, with open addressing: 1 + the run's number, 0 is free
	shift64 int      // of a hash, for a place
	fetched uint64   // of no meaning: it keeps the fetch from being left out
}

// firstPlaces is the least length of places; at most a half of them are taken.
const firstPlaces = 1 << 9

func (t *blockTable) take(old *blockTable) {
	t.runs = old.runs[:0]
	if len(old.places) > 0 {
		t.use(old.places[:firstPlaces])
		clear(t.places)
	}
	old.runs, old.places = nil, nil
}

func (t *blockTable) use(places []uint32) {
	t.places, t.shift64 = places, 64-bits.TrailingZeros(uint(len(places)))
}

// home is the place from which on the runs of an octet are found (Fibonacci
// hashing: Knuth, The Art of Computer Programming 3, section 6.4).
func (t *blockTable) home(x octet) int {
	return int(x.number() * 0x9e3779b97f4a7c15 >> (t.shift64 & 63))
}

func (t *blockTable) after(i int) int { return (i + 1) & (len(t.places) - 1) }

// holds reports whether a block stands in the table.
func (t *blockTable) holds(one octet) bool {
	if len(t.places) == 0 {
		return false
	}
	for i := t.home(one); t.places[i] != 0; i = t.after(i) {
		if run := &t.runs[t.places[i]-1]; run.number() == one.number() && run.mask()&one.mask() != 0 {
			return true
		}
	}
	return false
}

// add makes a run of blocks that stand in no other, and puts it into the free
// place for it. Its fields come one by one: a struct that is written in pieces and
// copied whole waits for its own stores.
func (t *blockTable) add(x octet, at int64, window uint32, reads, again uint16, place int) {
	n := len(t.runs)
	if n == cap(t.runs) {
		t.runs = slices.Grow(t.runs, max(n, firstPlaces/2))
	}
	t.runs = t.runs[:n+1]
	run := &t.runs[n]
	run.octet, run.at, run.window, run.x, run.y = x, at, window, reads, again
	t.places[place] = uint32(n + 1)
	if 2*len(t.runs) > len(t.places) {
		t.arrange()
	}
}

// free is the place for another run of an octet.
func (t *blockTable) free(x octet) int {
	i := t.home(x)
	for t.places[i] != 0 {
		i = t.after(i)
	}
	return i
}

// arrange finds the places of all runs anew.
func (t *blockTable) arrange() {
	size := max(len(t.places), firstPlaces)
	for size < 2*len(t.runs) {
		size *= 2
	}
	if size > cap(t.places) {
		t.use(make([]uint32, size))
	} else {
		t.use(t.places[:size])
		clear(t.places)
	}
	for i := range t.runs {
		t.places[t.free(t.runs[i].octet)] = uint32(i) + 1
	}
}

// eldest is the earliest last read.
func (t *blockTable) eldest() int64 {
	oldest := int64(math.MaxInt64)
	for i := range t.runs {
		oldest = min(oldest, t.runs[i].at)
	}
	return oldest
}

// nearPlaces is how many places, with their runs, the nearer caches hold.
const nearPlaces = 16 << 10

// fetch looks at the places of blocks that wait, and makes the table if
// there is none. No look depends on another, so the memory serves many at a time.
func (t *blockTable) fetch(waiting []waitingBlocks) {
	if len(t.places) == 0 {
		t.arrange()
	}
	if len(t.places) <= nearPlaces {
		return
	}
	sum := uint64(0)
	for i := range waiting {
		sum += uint64(t.places[t.home(waiting[i].octet)])
	}
	t.fetched = sum
}
