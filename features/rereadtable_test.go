package features

import (
	"math"
	"math/rand/v2"
	"testing"
)

// plainSample is the sample of re-reads a block at a time, in a map: what the
// table of octets must give to the last bit.
type plainSample struct {
	o      Options
	seed   uint64
	shift  int
	step   int
	oldest int64
	blocks map[uint64]*plainBlock
}

type plainBlock struct {
	at     int64
	window uint32
	x, y   uint64
}

func (p *plainSample) sampled(b uint64) bool { return mix(b+p.seed)>>(64-p.shift) == 0 }

func (p *plainSample) purge(keep func(uint64, *plainBlock) bool) {
	p.oldest = math.MaxInt64
	for b, k := range p.blocks {
		if !keep(b, k) {
			delete(p.blocks, b)
			continue
		}
		p.oldest = min(p.oldest, k.at)
	}
}

func (p *plainSample) makeRoom(now int64) {
	limit := p.o.RereadBlocks
	if now-p.oldest >= p.o.RereadNS {
		p.purge(func(_ uint64, k *plainBlock) bool { return now-k.at < p.o.RereadNS })
	}
	if len(p.blocks) <= min(p.step/2, limit*3/4) {
		return
	}
	if p.step < limit {
		p.step *= 2
		p.purge(func(uint64, *plainBlock) bool { return true })
		return
	}
	for len(p.blocks) > limit*3/4 {
		p.shift++
		p.purge(func(b uint64, _ *plainBlock) bool { return p.sampled(b) })
	}
}

func (p *plainSample) read(at, offset, size int64, window uint32, meta bool, s *rereadSums) {
	s.reads++
	first, last := uint64(offset)/blockBytes, uint64(offset+size-1)/blockBytes
	unit := uint64(weightUnit) / (last - first + 1)
	for b := first; b <= last; b++ {
		if !p.sampled(b) {
			continue
		}
		weight := unit << p.shift
		k := p.blocks[b]
		if k == nil {
			if len(p.blocks) >= min(p.step, p.o.RereadBlocks) {
				if p.makeRoom(at); !p.sampled(b) {
					continue
				}
			}
			if len(p.blocks) == 0 {
				p.oldest = at
			}
			k = &plainBlock{at: at - p.o.RereadNS}
			p.blocks[b] = k
		}
		if k.window != window {
			k.window, k.x, k.y = window, 0, 0
		}
		if k.x == 0 {
			s.blocks++
			s.footprint += 1 << p.shift
		}
		s.all += weight
		x, y := k.x, k.y
		k.x++
		if at-k.at < p.o.RereadNS {
			s.again += weight
			if !meta {
				s.data += weight
			}
			k.y++
		}
		k.at = at
		s.x, s.y = s.x+k.x-x, s.y+k.y-y
		s.xx, s.xy, s.yy = s.xx+k.x*k.x-x*x, s.xy+k.x*k.y-x*y, s.yy+k.y*k.y-y*y
	}
	s.shift, s.shiftedOnce = p.shift, s.shiftedOnce || p.shift > 0
}

// The table gives what blocks one at a time give, while it grows, is purged and
// lowers its threshold, whatever parts of an octet are read.
func TestRereadTable(t *testing.T) {
	for trial := range uint64(40) {
		r := rand.New(rand.NewPCG(trial, 4))
		o := DefaultOptions()
		o.Seed = trial
		o.RereadBlocks = []int{64, 100, 300, 5000}[trial%4]
		o.RereadNS = 2000
		span := []int64{200, 4000, 100_000}[trial%3]
		table := newRereads(&o)
		plain := plainSample{o: o, seed: table.seed, step: firstStep, blocks: map[uint64]*plainBlock{}}
		now, next := int64(0), int64(0)
		for window := uint32(1); window <= 6; window++ {
			var got, want rereadSums
			for range 1500 {
				now += r.Int64N(4)
				offset, size := r.Int64N(span*blockBytes), 1+r.Int64N(1<<r.IntN(18))
				if r.IntN(3) == 0 {
					offset = next
				}
				next = (offset + size) % (span * blockBytes)
				meta := r.IntN(4) == 0
				table.read(now, offset, size, window, meta, &got)
				plain.read(now, offset, size, window, meta, &want)
				if r.IntN(100) == 0 {
					table.settle(window, &got)
				}
			}
			if table.settle(window, &got); got != want {
				t.Fatalf("trial %d, window %d: %+v, want %+v", trial, window, got, want)
			}
			if table.n != len(plain.blocks) || table.n > o.RereadBlocks {
				t.Fatalf("trial %d: %d blocks, want %d of at most %d", trial, table.n, len(plain.blocks), o.RereadBlocks)
			}
		}
		if trial%3 == 2 && trial%4 < 3 && table.shift == 0 {
			t.Errorf("trial %d: the threshold never fell", trial)
		}
		heir := newRereads(&o)
		if heir.take(&table); len(heir.runs) != 0 || table.runs != nil {
			t.Errorf("trial %d: a table that was taken over holds %d runs", trial, len(heir.runs))
		}
	}
}
