package features

import (
	"math"
	"math/bits"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

// exactLRU is Mattson's stack, block by block: hits by power of two of blocks.
type exactLRU struct {
	place map[int64]int
	hits  [reuseBins]int64
	all   int64
	tree  []int32
}

func (x *exactLRU) read(b int64) {
	x.all++
	add := func(at int, n int32) {
		for i := at + 1; i < len(x.tree); i += i & -i {
			x.tree[i] += n
		}
	}
	if at, ok := x.place[b]; ok {
		d := len(x.place) + 1
		for i := at + 1; i > 0; i -= i & -i {
			d -= int(x.tree[i])
		}
		x.hits[bits.Len64(uint64(d-1))]++
		add(at, -1)
	}
	x.place[b] = int(x.all)
	add(int(x.all), 1)
}

func (x *exactLRU) share(power int) (s float64) {
	for i := range power + 1 {
		s += float64(x.hits[i])
	}
	return s / float64(x.all)
}

func readOf(at, block, blocks int64) *ingest.Event {
	return &ingest.Event{TimeNS: at, LatencyNS: 1000, Op: ingest.OpRead, OffsetBytes: block * blockBytes, SizeBytes: blocks * blockBytes}
}

// What a tier would serve of reads whose answer is known: none of a cyclic
// scan when it is smaller than the scan and all but the first turn when it
// holds it; of skewed reads what Mattson's exact stack says.
func TestProfileTiers(t *testing.T) {
	const n = 400_000
	x := uint64(7)
	random := func() float64 {
		x += 0x9e3779b97f4a7c15
		return float64(mix(x)>>11) / (1 << 53)
	}
	check := func(name string, within float64, block func(i int64) int64) *Profile {
		t.Helper()
		p := NewProfile(DefaultOptions())
		exact := exactLRU{place: map[int64]int{}, tree: make([]int32, n+2)}
		for i := range int64(n) {
			b := block(i)
			p.AddEvent(readOf(i*1e6, b, 1))
			exact.read(b)
		}
		if reads, bytes := p.Reads(); reads != n || bytes != n*blockBytes {
			t.Errorf("%s: %d reads of %d bytes", name, reads, bytes)
		}
		if len(p.reuse.blocks) > tierBlocks {
			t.Errorf("%s: %d blocks in the sample", name, len(p.reuse.blocks))
		}
		var all int64
		for a := range agesOfReads {
			all += p.Reused(a).Bytes
		}
		worst := 0.0
		for power := range 24 {
			got, want := float64(p.TierHits(power).Bytes)/float64(all), exact.share(power)
			worst = max(worst, math.Abs(got-want))
			if math.Abs(got-want) > within {
				t.Errorf("%s: a tier of 2^%d blocks serves %.3f, exactly %.3f", name, power, got, want)
			}
		}
		t.Logf("%s: rate 2^-%d, largest error %.4f, bytes %.3f of all", name, p.reuse.shift, worst, float64(all)/(n*blockBytes))
		return p
	}
	check("small scan", 0, func(i int64) int64 { return i % 4096 })
	check("scan", 0.02, func(i int64) int64 { return i % 50_000 })
	check("once", 0, func(i int64) int64 { return i })
	check("even", 0.03, func(int64) int64 { return int64(random() * 100_000) })
	// Log-uniform over ranks is Zipf's law with exponent 1.
	check("skewed, small", 0, func(int64) int64 { return int64(math.Exp(random() * math.Log(6000))) })
	check("skewed", 0.1, func(int64) int64 { return int64(math.Exp(random() * math.Log(1e6))) })
}

// Ages by the clock, requests by the share of their blocks, and a profile
// that was used before forgets all.
func TestProfileReadAges(t *testing.T) {
	p := NewProfile(DefaultOptions())
	for range 2 {
		p.Reset()
		p.AddEvent(readOf(0, 0, 4))              // 4 blocks for the first time
		p.AddEvent(readOf(soonNS-1, 0, 2))       // 2 soon
		p.AddEvent(readOf(soonNS, 2, 4))         // 2 within hours, 2 first
		p.AddEvent(readOf(hoursNS+soonNS, 4, 1)) // later
		p.AddEvent(&ingest.Event{Op: ingest.OpWrite, SizeBytes: 4096})
		p.AddEvent(&ingest.Event{Op: ingest.OpRead, OffsetBytes: -1, SizeBytes: 4096})
		want := [agesOfReads]ReuseSums{{6, requestUnit * 3 / 2, 6 * blockBytes}, {2, requestUnit, 2 * blockBytes}, {2, requestUnit / 2, 2 * blockBytes}, {1, requestUnit, blockBytes}}
		if p.reuse.ages != want {
			t.Errorf("ages %v, want %v", p.reuse.ages, want)
		}
		// Distances: of block 0, and 1 with 3 others since: 4; of block 2 with 3, 0, 1: 4; of block 3 too; of block 4 with 5: 2.
		if two, four, eight := p.TierHits(1).Sampled, p.TierHits(2).Sampled, p.TierHits(3).Sampled; two != 1 || four != 5 || eight != 5 {
			t.Errorf("tiers of 2, 4, 8 blocks serve %d, %d, %d", two, four, eight)
		}
		if back := (&DeviceProfile{Rows: p.Rows()}).Profile(); back.reuse.ages != p.reuse.ages || back.reuse.bins != p.reuse.bins || back.reuse.total != p.reuse.total || back.reuse.reads != 4 {
			t.Error("its rows give another profile")
		}
	}
}
