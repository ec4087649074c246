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
	blockBytes    = 4096
	maxReadBlocks = 1 << 18 // a read of 1 GiB; what lies beyond is not looked at
	weightUnit    = 1 << 30 // weight of a whole read, fixed point
)

// rereads is the sample of one device. Reads wait until a batch has come or the
// window ends: then the places of all in the table are fetched at once, and the
// reads are taken one by one, in their order.
type rereads struct {
	horizon int64 // ns
	limit   int   // blocks
	seed    uint64
	shift   int   // k: the sampling rate is 2^-k
	n       int   // blocks in the table
	step    int   // how many it may hold, limit at most, before those too old are dropped; a power of two
	oldest  int64 // no block was last read before it
	blockTable

	waiting [waitingReads]waitingBlocks
	wait    int
}

const firstStep = 1 << 8

const waitingReads = 128

// waitingBlocks is what a read reads of an octet. The weight is that of each
// block, in 30 bits.
type waitingBlocks struct {
	octet
	at     int64
	weight uint32
	meta   bool
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
	return rereads{horizon: o.RereadNS, limit: o.RereadBlocks, seed: o.Seed * 0x9e3779b97f4a7c15, step: firstStep}
}

// mix is the finaliser of splitmix64 (Steele, Lea, Flood, OOPSLA 2014), a bijection.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// take takes over the memory of a sample that is no longer used.
func (t *rereads) take(old *rereads) {
	t.blockTable.take(&old.blockTable)
}

// sampled is those of some blocks that are below the threshold.
func (t *rereads) sampled(x octet) octet {
	if t.shift == 0 {
		return x
	}
	kept := uint8(0)
	for m := x.mask(); m != 0; m &= m - 1 {
		if mix(x.first()+uint64(bits.TrailingZeros8(m))+t.seed)>>(64-t.shift) == 0 {
			kept |= m & -m
		}
	}
	return x.only(kept)
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
	weight := uint32(weightUnit / count)
	begin, end := first/octetBlocks, last/octetBlocks
	from := uint8(math.MaxUint8) << (first % octetBlocks)
	for o := begin; o < end; o++ {
		t.await(octetOf(o, from), at, weight, meta, window, s)
		from = math.MaxUint8
	}
	t.await(octetOf(end, from&(math.MaxUint8>>(octetBlocks-1-last%octetBlocks))), at, weight, meta, window, s)
}

func (t *rereads) await(x octet, at int64, weight uint32, meta bool, window uint32, s *rereadSums) {
	if t.shift > 0 {
		if x = t.sampled(x); x.mask() == 0 {
			return
		}
	}
	w := &t.waiting[t.wait&(waitingReads-1)]
	w.octet, w.at, w.weight, w.meta = x, at, weight, meta
	if t.wait++; t.wait == waitingReads {
		t.settle(window, s)
	}
}

// settle takes the blocks that wait into the table and the sums of the window.
func (t *rereads) settle(window uint32, s *rereadSums) {
	if t.wait > 0 {
		t.fetch(t.waiting[:t.wait])
		for i := range t.waiting[:t.wait] {
			t.enter(&t.waiting[i], window, s)
		}
		t.wait = 0
	}
	if s.reads > 0 {
		s.shift = t.shift
		s.shiftedOnce = s.shiftedOnce || t.shift > 0
	}
}

// room is how many blocks may stand in the table.
func (t *rereads) room() int { return min(t.step, t.limit) }

// enter takes blocks of a read: all at once if there is room for all of them,
// else one at a time, since making room may drop those behind it.
func (t *rereads) enter(r *waitingBlocks, window uint32, s *rereadSums) {
	x := r.octet
	if t.shift > 0 {
		x = t.sampled(x) // the threshold may have fallen since
	}
	if t.n+x.blocks() <= t.room() {
		t.look(x, r, window, s)
		return
	}
	for m := x.mask(); m != 0; m &= m - 1 {
		one := t.sampled(x.only(m & -m))
		switch {
		case one.mask() == 0: // the threshold has fallen below it
		case t.n < t.room() || t.holds(one):
			t.look(one, r, window, s)
		default:
			weight := uint64(r.weight) << t.shift // of the threshold before
			t.makeRoom(r.at)
			if one = t.sampled(one); one.mask() != 0 {
				t.fresh(one, t.free(one), r, window)
				s.count(1, weight, t.shift)
			}
		}
	}
}

// look takes blocks for which there is room.
func (t *rereads) look(x octet, r *waitingBlocks, window uint32, s *rereadSums) {
	for i := t.home(x); x.mask() != 0; i = t.after(i) {
		number := t.places[i]
		if number == 0 {
			t.fresh(x, i, r, window)
			s.count(uint64(x.blocks()), uint64(r.weight)<<t.shift, t.shift)
			return
		}
		run := &t.runs[number-1]
		common := run.mask() & x.mask()
		if run.number() != x.number() || common == 0 {
			continue
		}
		x = x.only(x.mask() &^ common)
		if common == run.mask() {
			t.again(run, r, window, s)
			continue
		}
		// Read in part, they leave their run for one of their own.
		part := *run
		run.octet, part.octet = run.only(run.mask()&^common), run.only(common)
		t.again(&part, r, window, s)
		t.add(part.octet, part.at, part.window, part.x, part.y, t.free(part.octet))
		i = t.home(x) - 1 // the places may be others now
	}
}

// fresh takes blocks that are not in the table, and the free place for them.
func (t *rereads) fresh(x octet, place int, r *waitingBlocks, window uint32) {
	if t.n == 0 {
		t.oldest = r.at
	}
	t.n += x.blocks()
	t.add(x, r.at, window, 1, 0, place)
}

// count adds blocks that the window reads for the first time, none of them again.
func (s *rereadSums) count(fresh, weight uint64, shift int) {
	s.blocks += fresh
	s.footprint += fresh << shift
	s.all += fresh * weight
	s.x += fresh
	s.xx += fresh
}

// again takes a read of all blocks of a run.
func (t *rereads) again(b *blockRun, r *waitingBlocks, window uint32, s *rereadSums) {
	weight, n := uint64(r.weight)<<t.shift, uint64(b.blocks())
	if b.window != window {
		b.window, b.x, b.y = window, 0, 0
	}
	if b.x == 0 {
		s.blocks += n
		s.footprint += n << t.shift
	}
	s.all += n * weight
	s.x += n
	x, y := uint64(b.x), uint64(b.y)
	dx, dy := uint64(0), uint64(0)
	if b.x < math.MaxUint16 {
		b.x++
		dx = 1
	}
	if r.at-b.at < t.horizon {
		s.again += n * weight
		if !r.meta {
			s.data += n * weight
		}
		s.y += n
		if b.y < math.MaxUint16 {
			b.y++
			dy = 1
		}
	}
	s.xx += n * (2*x + 1) * dx
	s.xy += n * (x*dy + y*dx + dx*dy)
	s.yy += n * (2*y + 1) * dy
	b.at = r.at
}

// makeRoom drops the blocks that are too old to be re-read, then doubles
// the step, or halves the threshold when the limit is reached.
func (t *rereads) makeRoom(now int64) {
	if now-t.oldest >= t.horizon {
		t.purge(now - t.horizon)
	}
	switch {
	case t.n <= min(t.step/2, t.limit*3/4):
	case t.step < t.limit:
		t.step *= 2
		t.oldest = t.eldest()
	default:
		for t.n > t.limit*3/4 {
			t.shift++
			t.purge(math.MinInt64)
		}
	}
}

// purge drops the blocks that are not below the threshold, or were not read
// after a time.
func (t *rereads) purge(after int64) {
	kept, n := t.runs[:0], 0
	for i := range t.runs {
		run := t.runs[i]
		if run.at <= after {
			continue
		}
		if run.octet = t.sampled(run.octet); run.mask() != 0 {
			kept = append(kept, run)
			n += run.blocks()
		}
	}
	t.runs, t.n = kept, n
	t.oldest = t.eldest()
	t.arrange()
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
