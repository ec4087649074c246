package features

import (
	"math/bits"

	"github.com/iopathy/iopathy/ingest"
)

const (
	tierBlocks  = 8 << 10        // most blocks of a device's sample
	tierSlots   = 2 * tierBlocks // places in the order of their last reads
	reuseBins   = 52             // powers of two of blocks
	requestUnit = 1 << 20        // of a request in fixed point; a share of a read of maxReadBlocks is not 0
	soonNS      = int64(30e9)    // re-reads are told apart by their age: within 30 s,
	hoursNS     = int64(7200e9)  // within 2 h, later

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
	shift  int // the sampling rate is 2^-shift
	at     map[uint64]int32
	blocks []reuseBlock
	next   int32   // the next free place in the order of last reads
	tree   []int32 // how many blocks stand at places, as Fenwick keeps them (1994); from 1 on
}

type reuseBlock struct {
	key  uint64
	at   int64
	slot int32
}

// reset empties it and keeps its memory.
func (r *reuse) reset() {
	clear(r.at)
	clear(r.tree)
	*r = reuse{seed: r.seed, at: r.at, blocks: r.blocks[:0], tree: r.tree}
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
	if r.at == nil {
		r.at, r.tree = map[uint64]int32{}, make([]int32, tierSlots+1)
	}
	if r.next == tierSlots {
		r.renumber()
	}
	one := ReuseSums{1, share << r.shift, blockBytes << r.shift}
	i, known := r.at[key]
	if !known {
		r.ages[FirstRead].add(&one)
		r.at[key] = int32(len(r.blocks))
		r.blocks = append(r.blocks, reuseBlock{key, now, r.next})
		r.stand(r.next, 1)
		r.next++
		for len(r.blocks) >= tierBlocks {
			r.lower()
		}
		return
	}
	b := &r.blocks[i]
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

// stand adds to the number of blocks at a place.
func (r *reuse) stand(slot, n int32) {
	for i := slot + 1; i <= tierSlots; i += i & -i {
		r.tree[i] += n
	}
}

// rank is how many blocks stand at a place and before it.
func (r *reuse) rank(slot int32) (n int32) {
	for i := slot + 1; i > 0; i -= i & -i {
		n += r.tree[i]
	}
	return n
}

// renumber gives the blocks the first places, in their order.
func (r *reuse) renumber() {
	for i := range r.blocks {
		r.blocks[i].slot = r.rank(r.blocks[i].slot) - 1
	}
	r.next = int32(len(r.blocks))
	clear(r.tree)
	for i := int32(1); i <= tierSlots; i++ {
		if i <= r.next {
			r.tree[i]++
		}
		if up := i + i&-i; up <= tierSlots {
			r.tree[up] += r.tree[i]
		}
	}
}

// lower halves the threshold and drops the blocks above it.
func (r *reuse) lower() {
	r.shift++
	kept := r.blocks[:0]
	for _, b := range r.blocks {
		if b.key>>(64-r.shift) != 0 {
			delete(r.at, b.key)
			r.stand(b.slot, -1)
			continue
		}
		r.at[b.key] = int32(len(kept))
		kept = append(kept, b)
	}
	r.blocks = kept
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
