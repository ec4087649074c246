package features

import (
	"math/bits"

	"github.com/iopathy/iopathy/ingest"
)

const (
	tierBlocks  = 8 << 10        // most blocks of a device's sample
	tierSlots   = 2 * tierBlocks // places in the order of their last reads
	tierWords   = tierSlots / 64
	tierGroups  = tierWords / 16
	tierTable   = 4 * tierBlocks
	reuseBins   = 52            // powers of two of blocks
	requestUnit = 1 << 20       // of a request in fixed point; a share of a read of maxReadBlocks is not 0
	soonNS      = int64(30e9)   // re-reads are told apart by their age: within 30 s,
	hoursNS     = int64(7200e9) // within 2 h, later

)

// ReadAge says how long ago a block was read before.
type ReadAge int

// The ages of reads.
const (
	FirstRead   ReadAge = iota // not before, as far as the profile reaches
	WithinSoon                 // less than 30 s ago
	WithinHours                // less than 2 h ago
	Later
	agesOfReads
)

// ReuseSums is sampled reads of 4 KiB blocks, scaled to all: bytes, and
// requests in 2^-20, a read of B blocks counting 1/B for each. Sampled is how
// many reads of sampled blocks they rest on.
type ReuseSums struct {
	Sampled, Requests, Bytes int64
}

// reuse measures, on a spatial sample of 4 KiB blocks, how long ago the blocks
// that are read were read before, and how many other bytes were read since:
// the LRU stack distance (Mattson, Gecsei, Slutz, Traiger, 1970) by SHARDS with
// a bounded sample (Waldspurger et al., FAST 2015, sections 3.1 to 3.3), the
// threshold halving when the sample is full. A block is a hit of an LRU tier of
// S bytes that all reads go through if its distance, itself included, is at most S.
type reuse struct {
	ages  [agesOfReads]ReuseSums
	bins  [reuseBins]ReuseSums // by distance: bin b has those of at most 2^b blocks, and more than 2^(b-1)
	reads int64                // all with a known place
	total int64                // their bytes, in whole blocks

	seed   uint64
	shift  int     // the sampling rate is 2^-shift
	table  []int32 // of the sample by key, with open addressing: 1 + the block's number, 0 is free
	blocks []reuseBlock
	next   int32             // the next free place in the order of last reads
	taken  [tierWords]uint64 // a bit for each place at which a block stands
	groups [tierGroups]int32 // how many stand in each 16 of these words
}

type reuseBlock struct {
	key  uint64
	at   int64
	slot int32
}

// reset empties it and keeps its memory.
func (r *reuse) reset() {
	clear(r.table)
	*r = reuse{seed: r.seed, table: r.table, blocks: r.blocks[:0]}
}

// read takes a read with a known place.
func (r *reuse) read(e *ingest.Event) {
	first := uint64(e.OffsetBytes) / blockBytes
	count := (uint64(e.OffsetBytes)+uint64(e.SizeBytes)-1)/blockBytes - first + 1
	r.reads++
	r.total += int64(count) * blockBytes
	count = min(count, maxReadBlocks)
	share := int64(requestUnit / count)
	for b := first; b < first+count; b++ {
		if key := mix(b + r.seed); key>>(64-r.shift) == 0 {
			r.enter(key, e.TimeNS, share)
		}
	}
}

// enter takes a read of a sampled block.
func (r *reuse) enter(key uint64, now, share int64) {
	if r.table == nil {
		r.table = make([]int32, tierTable)
	}
	if r.next == tierSlots {
		r.renumber()
	}
	one := ReuseSums{1, share << r.shift, blockBytes << r.shift}
	place := r.find(key)
	if *place == 0 {
		r.ages[FirstRead].add(&one)
		r.blocks = append(r.blocks, reuseBlock{key, now, r.next})
		*place = int32(len(r.blocks))
		r.stand(r.next, 1)
		r.next++
		for len(r.blocks) >= tierBlocks {
			r.lower()
		}
		return
	}
	b := &r.blocks[*place-1]
	age := Later
	switch d := now - b.at; {
	case d < soonNS:
		age = WithinSoon
	case d < hoursNS:
		age = WithinHours
	}
	r.ages[age].add(&one)
	distance := uint64(len(r.blocks)-int(r.rank(b.slot))+1) << r.shift
	r.bins[min(bits.Len64(distance-1), reuseBins-1)].add(&one)
	r.stand(b.slot, -1)
	b.at, b.slot = now, r.next
	r.stand(r.next, 1)
	r.next++
}

// find gives the place of a key in the table; it is 0 if the key is not there.
func (r *reuse) find(key uint64) *int32 {
	for i := key % tierTable; ; i = (i + 1) % tierTable {
		if at := r.table[i]; at == 0 || r.blocks[at-1].key == key {
			return &r.table[i]
		}
	}
}

// stand says that a block stands at a place from now on, or that none does:
// n is 1 or -1.
func (r *reuse) stand(slot, n int32) {
	r.taken[slot/64] ^= 1 << (slot % 64)
	r.groups[slot/64/16] += n
}

// rank is how many blocks stand at a place and before it.
func (r *reuse) rank(slot int32) int32 {
	word := slot / 64
	n := bits.OnesCount64(r.taken[word] << (63 - slot%64))
	for _, w := range r.taken[word/16*16 : word] {
		n += bits.OnesCount64(w)
	}
	for _, g := range r.groups[:word/16] {
		n += int(g)
	}
	return int32(n)
}

// renumber gives the blocks the first places, in their order.
func (r *reuse) renumber() {
	var before [tierWords]int32
	n := int32(0)
	for i, w := range r.taken {
		before[i] = n
		n += int32(bits.OnesCount64(w))
	}
	for i := range r.blocks {
		slot := &r.blocks[i].slot
		word := *slot / 64
		*slot = before[word] + int32(bits.OnesCount64(r.taken[word]<<(63-*slot%64))) - 1
	}
	r.taken, r.groups = [tierWords]uint64{}, [tierGroups]int32{}
	for r.next = 0; r.next < n; r.next++ {
		r.stand(r.next, 1)
	}
}

// lower halves the threshold and drops the blocks above it.
func (r *reuse) lower() {
	r.shift++
	kept := r.blocks[:0]
	for _, b := range r.blocks {
		if b.key>>(64-r.shift) != 0 {
			r.stand(b.slot, -1)
			continue
		}
		kept = append(kept, b)
	}
	r.blocks = kept
	clear(r.table)
	for i, b := range kept {
		*r.find(b.key) = int32(i) + 1
	}
	r.renumber()
}

func (s *ReuseSums) add(o *ReuseSums) {
	s.Sampled, s.Requests, s.Bytes = s.Sampled+o.Sampled, s.Requests+o.Requests, s.Bytes+o.Bytes
}

func (r *reuse) merge(o *reuse) {
	for i := range r.ages {
		r.ages[i].add(&o.ages[i])
	}
	for i := range r.bins {
		r.bins[i].add(&o.bins[i])
	}
	r.reads, r.total = r.reads+o.reads, r.total+o.total
}

// Reads is how many reads with a known place there were, and their bytes in
// whole blocks of 4 KiB.
func (p *Profile) Reads() (requests, bytes int64) { return p.reuse.reads, p.reuse.total }

// Reused gives the sampled reads of an age.
func (p *Profile) Reused(age ReadAge) ReuseSums { return p.reuse.ages[age] }

// TierHits gives the sampled reads that an LRU tier of 4 KiB x 2^power would
// have served, if it had been empty at the beginning of each profile and all
// reads had gone through it.
func (p *Profile) TierHits(power int) (hits ReuseSums) {
	for i := range min(power+1, reuseBins) {
		hits.add(&p.reuse.bins[i])
	}
	return hits
}
