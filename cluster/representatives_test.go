package cluster

import (
	"math"
	"math/rand/v2"
	"testing"
)

// planted are unit vectors of d coordinates around the first 8 axes, with
// normal noise of this length in the mean; the truth of row i is i modulo 8.
func planted(n, d int, noise float64, seed uint64) []float64 {
	rng := rand.New(rand.NewPCG(seed, 1))
	rows := make([]float64, n*d)
	for i := range n {
		for k := range d {
			rows[i*d+k] = noise / math.Sqrt(float64(d)) * rng.NormFloat64()
		}
		rows[i*d+i%8]++
		normalise(rows[i*d : i*d+d])
	}
	return rows
}

// By hand: of the 15 pairs of 6 points 2 are together in both, 3 and 6 in each;
// by chance 3 x 6 / 15 = 1.2, so (2 - 1.2) / (4.5 - 1.2).
func TestAdjustedRand(t *testing.T) {
	a, b := []int{0, 0, 1, 1, 2, 2}, []int{0, 0, 0, 1, 1, 1}
	if got, want := adjustedRand(a, b), 0.8/3.3; got < want-1e-12 || got > want+1e-12 {
		t.Errorf("index %v, want %v", got, want)
	}
	if got := adjustedRand(a, a); got != 1 {
		t.Errorf("of itself %v, want 1", got)
	}
}

// Many points by representatives, a quarter of them exactly: the classes are the
// same where they can be told apart, and no farther from what was planted
// where they overlap.
func TestRepresentativesAgainstExact(t *testing.T) {
	if testing.Short() {
		t.Skip("40,000 points by representatives")
	}
	const n, part, d = 40000, 10000, 12
	o := DefaultOptions()
	truth := make([]int, part)
	for i := range truth {
		truth[i] = i % 8
	}
	for _, c := range []struct {
		noise     float64
		separable bool
	}{{0.4, true}, {0.8, false}, {1.2, false}} {
		rows := planted(n, d, c.noise, 11)
		all := &gathering{d: d, n: n, rows: rows}
		few := &gathering{d: d, n: part, rows: rows[:part*d]}
		o.Exact = part // few are linked exactly, all by representatives
		all.link(o)
		few.link(o)
		got, exact := all.cut(8, o)[:part], few.cut(8, o)
		same, near, exactly := adjustedRand(got, exact), adjustedRand(got, truth), adjustedRand(exact, truth)
		t.Logf("noise %v: index %.4f against the exact linkage; against the truth %.4f, the exact linkage %.4f", c.noise, same, near, exactly)
		if c.separable && same < 0.99 {
			t.Errorf("noise %v: index %v against the exact linkage, want 0.99", c.noise, same)
		}
		if !c.separable && near < exactly {
			t.Errorf("noise %v: index %v against the truth, the exact linkage has %v", c.noise, near, exactly)
		}
	}
}

// A million points to classes: representatives, linkage, cut.
func BenchmarkRepresentatives(b *testing.B) {
	const n, d = 1000000, 12
	o := DefaultOptions()
	rows := planted(n, d, 0.8, 11)
	b.ReportAllocs()
	for b.Loop() {
		g := &gathering{d: d, n: n, rows: rows}
		g.link(o)
		g.cut(8, o)
	}
}
