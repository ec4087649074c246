package features

import (
	"math"
	"math/bits"
)

// Re-access is measured on a spatial sample, as SHARDS does it (Waldspurger,
// Park, Garthwaite, Ahmad: Efficient MRC construction with SHARDS, FAST 2015,
// sections 3 and 4.1): a 4 KiB block is in the sample when its hash is below
// a threshold, so each access to it is seen or none is. The hash is fixed by
// block and seed: every shard of a device samples the same blocks. The table
// holds a bounded number of blocks; when it is full of live ones, the
// threshold halves and the blocks above it are dropped. What was sampled at
// the lower threshold was sampled at the higher one too, so no history is lost.
//
// The estimate: a read of B blocks of which r were read less than 30 s ago
// counts r/B, so that the share over N reads is S = sum(r_i/B_i) / N. Each
// sampled block of read i carries the weight 2^k/B_i at a sampling rate of
// 2^-k: the expectation of the summed weights of all sampled blocks is N,
// that of the re-read ones N x S. The ratio of the two sums is returned: it is
// within 0..1, consistent, and at rate 1 exactly S. For reads of one block,
// and for reads that are repeated whole, S is the share of reads that fetch
// a block read less than 30 s ago.
const (
	blockBytes     = 4096
	maxReadBlocks  = 1 << 18 // a read of 1 GiB; what lies beyond is not looked at
	weightUnit     = 1 << 30 // weight of a whole read, fixed point
	firstTableSize = 1 << 9
)

// rereads is the table of the sampled blocks of one device. Keys and blocks
// stand in slices of their own, of a length that is a power of two, with open
// addressing; key 0 is free.
//
// The table outgrows the nearer caches, so reads wait until a batch of blocks
// has come or the tick ends: then the places of all are fetched at once, and
// the blocks are taken one by one, in their order.
type rereads struct {
	horizon int64 // ns
	limit   int   // blocks
	seed    uint64
	shift   int // k: the sampling rate is 2^-k
	n       int
	keys    []uint64 // the hash, a bijection of the block
	blocks  []sampledBlock
	oldest  int64 // no block was last read before it

	waiting [waitingBlocks]uint64 // their keys
	wait    int
	reads   []waitingRead
	fetched uint64 // of no meaning: it keeps the fetch from being left out

	spareKeys   []uint64 // the memory of the table before it was last rebuilt
	spareBlocks []sampledBlock
	keptKeys    []uint64 // what a purge leaves
	keptBlocks  []sampledBlock
}

const waitingBlocks = 256

// waitingRead is a read, or a piece of one, whose blocks wait.
type waitingRead struct {
	at     int64
	weight uint64
	end    int // of its keys in waiting
	meta   bool
}

type sampledBlock struct {
	at     int64  // last read, completion
	window uint32 // low bits of the window's number that x and y belong to
	x, y   uint16 // reads of the block in that window, and those that were re-reads; saturating
}

// rereadSums is what a window keeps of the sample.
type rereadSums struct {
	reads       int64  // with a known place
	all, again  uint64 // weights of the sampled blocks, of the re-read ones
	data        uint64 // of the re-read ones without the metadata flag
	x, y        uint64 // sampled block reads, re-reads among them
	xx, xy, yy  uint64 // sums over blocks of x^2, x*y, y^2 within the window
	blocks      uint64 // different sampled blocks
	footprint   uint64 // estimated different blocks
	shift       int    // as it stood last
	shiftedOnce bool   // some block was left out
}

func newRereads(o *Options) rereads {
	return rereads{horizon: o.RereadNS, limit: o.RereadBlocks, seed: o.Seed * 0x9e3779b97f4a7c15}
}

// mix is the finaliser of splitmix64 (Steele, Lea, Flood, OOPSLA 2014), a bijection.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// take takes over the memory of a table that is no longer used.
func (t *rereads) take(old *rereads) {
	if len(old.keys) > 0 {
		t.keys, t.blocks = old.keys[:firstTableSize], old.blocks[:firstTableSize]
		clear(t.keys)
		t.spareKeys, t.spareBlocks = old.spareKeys, old.spareBlocks
	}
	t.reads = old.reads[:0]
	t.keptKeys, t.keptBlocks = old.keptKeys, old.keptBlocks
	old.keys, old.blocks, old.spareKeys, old.spareBlocks, old.reads, old.keptKeys, old.keptBlocks = nil, nil, nil, nil, nil, nil, nil
}

// read takes a read into the table and into the sums of its window, at the
// latest when settle is called. Between two calls of settle all reads are of
// one window.
func (t *rereads) read(at, offset, size int64, window uint32, meta bool, s *rereadSums) {
	first := uint64(offset) / blockBytes
	last := uint64(offset+size-1) / blockBytes
	count := last - first + 1
	s.reads++
	last = min(last, first+maxReadBlocks-1)
	weight := uint64(weightUnit) / count
	for b := first; b <= last; {
		n, before := t.wait, t.wait
		to := min(last, b+uint64(waitingBlocks-n)-1)
		for above := 64 - t.shift; b <= to; b++ {
			key := mix(b + t.seed)
			t.waiting[n&(waitingBlocks-1)] = max(key, 1)
			if key>>above == 0 {
				n++
			}
		}
		if n > before {
			t.wait = n
			t.reads = append(t.reads, waitingRead{at: at, weight: weight, end: n, meta: meta})
		}
		if n == waitingBlocks {
			t.settle(window, s)
		}
	}
}

// settle takes the blocks that wait into the table and the sums of the window.
func (t *rereads) settle(window uint32, s *rereadSums) {
	if t.wait > 0 {
		t.fetch()
		from := 0
		for i := range t.reads {
			r := &t.reads[i]
			t.enter(t.waiting[from:r.end], r, window, s)
			from = r.end
		}
		t.wait, t.reads = 0, t.reads[:0]
	}
	if s.reads > 0 {
		s.shift = t.shift
		s.shiftedOnce = s.shiftedOnce || t.shift > 0
	}
}

// enter takes the blocks of a read. Most of them are new: those that find
// room are counted together.
func (t *rereads) enter(waiting []uint64, r *waitingRead, window uint32, s *rereadSums) {
	for len(waiting) > 0 {
		keys := t.keys
		blocks := t.blocks[:len(keys)]
		mask := uint64(len(keys) - 1)
		room := min(len(keys)/2, t.limit)
		n, left := t.n, []uint64(nil)
		for at, key := range waiting {
			if key>>(64-t.shift) != 0 { // the threshold may have fallen since
				continue
			}
			i := key & mask
			for keys[i] != key && keys[i] != 0 {
				i = (i + 1) & mask
			}
			if keys[i] == 0 && n < room {
				keys[i] = key
				blocks[i] = sampledBlock{at: r.at, window: window, x: 1}
				n++
				continue
			}
			if keys[i] == 0 {
				left = waiting[at:]
				break
			}
			t.again(&blocks[i], r, window, s)
		}
		if fresh := uint64(n - t.n); fresh > 0 {
			if t.n == 0 {
				t.oldest = r.at
			}
			t.n = n
			s.count(fresh, r.weight<<t.shift, t.shift)
		}
		if len(left) == 0 {
			return
		}
		// The weight is that of the threshold before.
		weight := r.weight << t.shift
		t.make(r.at)
		if key := left[0]; key>>(64-t.shift) == 0 { // else the threshold fell below this block
			if t.n == 0 {
				t.oldest = r.at
			}
			i := t.free(key)
			t.keys[i], t.blocks[i] = key, sampledBlock{at: r.at, window: window, x: 1}
			t.n++
			s.count(1, weight, t.shift)
		}
		waiting = left[1:]
	}
}

// count adds blocks that the window reads for the first time, none of them again.
func (s *rereadSums) count(fresh, weight uint64, shift int) {
	s.blocks += fresh
	s.footprint += fresh << shift
	s.all += fresh * weight
	s.x += fresh
	s.xx += fresh
}

// nearTable is how many places the nearer caches hold.
const nearTable = 16 << 10

// fetch looks at the places of the blocks that wait. No look depends on
// another, so the memory serves many at a time.
func (t *rereads) fetch() {
	if len(t.keys) == 0 {
		t.keys, t.blocks = make([]uint64, firstTableSize), make([]sampledBlock, firstTableSize)
	}
	if len(t.keys) <= nearTable {
		return
	}
	keys, blocks := t.keys, t.blocks[:len(t.keys)]
	mask, sum := uint64(len(keys)-1), uint64(0)
	for _, key := range t.waiting[:t.wait] {
		i := key & mask
		sum += keys[i] + uint64(blocks[i].at)
	}
	t.fetched = sum
}

// again takes a read of a block that is in the table.
func (t *rereads) again(b *sampledBlock, r *waitingRead, window uint32, s *rereadSums) {
	weight := r.weight << t.shift
	if b.window != window {
		b.window, b.x, b.y = window, 0, 0
	}
	if b.x == 0 {
		s.blocks++
		s.footprint += 1 << t.shift
	}
	s.all += weight
	s.x++
	x, y := uint64(b.x), uint64(b.y)
	dx, dy := uint64(0), uint64(0)
	if b.x < math.MaxUint16 {
		b.x++
		dx = 1
	}
	if r.at-b.at < t.horizon {
		s.again += weight
		if !r.meta {
			s.data += weight
		}
		s.y++
		if b.y < math.MaxUint16 {
			b.y++
			dy = 1
		}
	}
	s.xx += (2*x + 1) * dx
	s.xy += x*dy + y*dx + dx*dy
	s.yy += (2*y + 1) * dy
	b.at = r.at
}

// make makes room: it drops the blocks that are too old to be re-read, then
// grows the table, or halves the threshold when the limit is reached.
func (t *rereads) make(now int64) {
	size := len(t.keys)
	if now-t.oldest >= t.horizon {
		t.purge(now - t.horizon)
	}
	if t.n <= min(size/4, t.limit*3/4) {
		return
	}
	if size/2 < t.limit {
		t.grow()
		return
	}
	for t.n > t.limit*3/4 {
		t.shift++
		t.purge(math.MinInt64)
	}
}

// purge drops the blocks that are not below the threshold, or were not read
// after a time.
func (t *rereads) purge(after int64) {
	const sign = 1 << 63 // flipped, times compare as numbers without one
	keys := t.keys
	blocks := t.blocks[:len(keys)]
	least, since := uint64(1)<<(64-t.shift)-1, uint64(after)^sign
	oldest, n := uint64(math.MaxInt64)^sign, uint64(0)
	if need := len(keys)/2 + 1; cap(t.keptKeys) < need {
		t.keptKeys, t.keptBlocks = make([]uint64, need), make([]sampledBlock, need)
	}
	keptKeys := t.keptKeys[:len(keys)/2+1]
	keptBlocks := t.keptBlocks[:len(keptKeys)]
	for i, key := range keys {
		// Whether a place is taken, and by what is old, is a coin's toss: no branch on it.
		b := &blocks[i]
		at := uint64(b.at) ^ sign
		_, below := bits.Sub64(key-1, least, 0)
		_, young := bits.Sub64(since, at, 0)
		keptKeys[n], keptBlocks[n] = key, *b
		stays := below & young
		n += stays
		oldest = min(oldest, at|(stays-1))
	}
	t.n, t.oldest = int(n), int64(oldest^sign)
	clear(keys)
	for i, key := range keptKeys[:n] {
		to := t.free(key)
		keys[to], blocks[to] = key, keptBlocks[i]
	}
}

// grow moves the blocks to a table of twice the size.
func (t *rereads) grow() {
	keys, blocks := t.keys, t.blocks
	size := 2 * len(keys)
	if cap(t.spareKeys) < size {
		t.spareKeys, t.spareBlocks = make([]uint64, size), make([]sampledBlock, size)
	}
	t.keys, t.blocks = t.spareKeys[:size], t.spareBlocks[:size]
	clear(t.keys)
	t.spareKeys, t.spareBlocks = keys, blocks
	t.oldest = math.MaxInt64
	for i, key := range keys {
		if key != 0 {
			to := t.free(key)
			t.keys[to], t.blocks[to] = key, blocks[i]
			t.oldest = min(t.oldest, blocks[i].at)
		}
	}
}

// free finds a free place for a key that is not in the table.
func (t *rereads) free(key uint64) uint64 {
	mask := uint64(len(t.keys) - 1)
	i := key & mask
	for t.keys[i] != 0 {
		i = (i + 1) & mask
	}
	return i
}

// dataShare is share with reads that carry the metadata flag never counting
// as re-reads; NaN when no sampled block was read.
func (s *rereadSums) dataShare() float64 {
	if s.all == 0 {
		return math.NaN()
	}
	return float64(s.data) / float64(s.all)
}

// share estimates the share of reads that were re-reads and its standard
// error; both NaN when no sampled block was read.
//
// The blocks are the sampling units, so the error is that of a ratio of two
// sums over them (Cochran, Sampling Techniques, section 6.4), with the share
// drawn a little towards a half so that a few equal blocks don't look certain.
// It is 0 when nothing was left out.
func (s *rereadSums) share() (share, standardError float64) {
	if s.all == 0 {
		return math.NaN(), math.NaN()
	}
	share = float64(s.again) / float64(s.all)
	if !s.shiftedOnce {
		return share, 0
	}
	x, y, n := float64(s.x), float64(s.y), float64(s.blocks)
	p := (y + 1) / (x + 2)
	residual := float64(s.yy) - 2*p*float64(s.xy) + p*p*float64(s.xx)
	left := 1 - 1/math.Exp2(float64(s.shift))
	variance := left * max(residual, 0) / (x * x)
	if n > 1 {
		variance *= n / (n - 1)
	}
	return share, min(math.Sqrt(variance), 1)
}
