package generate

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

// published is SplitMix64 of seed 1234567, as Vigna's splitmix64.c prints it.
var published = []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821}

// TestMix holds the source to its authors' numbers, and the exponential law over it to
// math/rand/v2's over the same source, wait by wait: one of 2,600 lies in the tail.
func TestMix(t *testing.T) {
	m := mix(1234567)
	for i, want := range published {
		if got := m.bits(); got != want {
			t.Errorf("number %d: %d, want %d", i, got, want)
		}
	}
	for seed := range mix(3) {
		w, r := newWaits(seed), rand.New(&source{seed})
		for i := range 1_000_000 {
			if got, want := w.take(), r.ExpFloat64(); got != want {
				t.Fatalf("seed %d, wait %d: %v, want %v", seed, i, got, want)
			}
		}
	}
}

// source is a mix for math/rand/v2.
type source struct{ mix }

func (s *source) Uint64() uint64 { return s.bits() }

// TestFactors holds factors to the log-normal law: its quantiles at one and two standard
// deviations are exp(sigma) and exp(2 sigma), and one does not tell of the next.
// The table of the law ends at a 514th, which the outer ones feel by a hundredth.
func TestFactors(t *testing.T) {
	const sigma, n = 0.3, 200_000
	f := newFactors(sigma, 1)
	all := make([]float64, n)
	var product float64
	for i := range all {
		all[i] = f.take()
		if i > 0 {
			product += math.Log(all[i]) * math.Log(all[i-1]) / (sigma * sigma * n)
		}
	}
	if math.Abs(product) > 0.01 { // its deviation is 1/sqrt(n)
		t.Errorf("neighbours correlate by %g", product)
	}
	slices.Sort(all)
	for z, share := range map[float64]float64{-2: 0.02275, -1: 0.15866, 0: 0.5, 1: 0.84134, 2: 0.97725} { // the normal law's
		near(t, "quantile", all[int(share*n)], math.Exp(sigma*z), 0.015)
	}
}

// TestWants holds what loads ask for to what they are told to: the share of reads, sizes by
// their number in the list, blocks all over their part of the device, and none of it
// telling of the other.
func TestWants(t *testing.T) {
	const n = 100_000
	for _, pattern := range []Pattern{Random, Skewed} {
		l := Load{Rate: 1, Read: 0.7, Sizes: []int64{4 * kib, 4 * kib, 4 * kib, 16 * kib, 64 * kib}, Lo: 1 << 30, Hi: 1<<30 + 1<<40, Pattern: pattern, Skew: 2}
		l.begin(newDraws(1, 2))
		sizes, reads, low, lowReads, stages := map[int64]float64{}, 0.0, 0.0, 0.0, 0.0
		for range n {
			var r Request
			stages += float64(l.fill(&r, 0) & 1023)
			sizes[r.Size]++
			if r.Offset < l.Lo || r.Offset+r.Size > l.Hi || r.Offset&4095 != 0 {
				t.Fatalf("%d bytes at %d, not in [%d,%d)", r.Size, r.Offset, l.Lo, l.Hi)
			}
			is := r.Offset < l.Lo+(l.Hi-l.Lo)/2
			if is {
				low++
			}
			if r.Op == ingest.OpRead {
				reads++
				if is {
					lowReads++
				}
			} else if r.Op != ingest.OpWrite {
				t.Fatalf("operation %v", r.Op)
			}
		}
		near(t, "reads", reads/n, 0.7, 0.01)
		near(t, "reads of the lower half", lowReads/low, 0.7, 0.01)
		near(t, "small ones", sizes[4*kib]/n, 0.6, 0.01)
		near(t, "large ones", sizes[64*kib]/n, 0.2, 0.02)
		near(t, "the lower half", low/n, 0.5, 0.01)
		near(t, "stages", stages/n, 511.5, 0.01)
	}
	p := Load{Rate: 1, Sizes: []int64{kib}, Procs: 7}
	p.begin(newDraws(1, 2))
	for slot := range int32(1 << 12) {
		if got := p.proc(slot); got != slot%7 {
			t.Fatalf("task %d is of process %d, want %d", slot, got, slot%7)
		}
	}
}

// TestHiccups holds the share of requests that upkeep delays, and what it adds to them: half
// of the factor in the mean.
func TestHiccups(t *testing.T) {
	const n = 200_000
	v := newDevice(Law{Channels: 1, Bytes: 1 << 40, ReadNS: 1e5, HiccupShare: 0.01, HiccupFactor: 10}, ill{}, newDraws(1, 2))
	var late, more float64
	for i := range int64(n) {
		at := i * 1e9
		if took := v.serve(&Request{Op: ingest.OpRead, Size: 4 * kib}, at) - at; took > 1e5 {
			late++
			more += float64(took) - 1e5
		}
	}
	near(t, "share", late/n, 0.01, 0.05)
	near(t, "what it adds", more/late, 5e5, 0.03)
}
