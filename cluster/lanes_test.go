package cluster

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

func randomUnits(n, d int, seed uint64) []float64 {
	rng := rand.New(rand.NewPCG(seed, 0))
	rows := make([]float64, n*d)
	for i := range n {
		for k := range d {
			rows[i*d+k] = rng.NormFloat64()
		}
		normalise(rows[i*d : i*d+d])
	}
	return rows
}

// The sieve lets pass whatever reaches the limit, and little that doesn't; both
// ways of computing it, with and without the processor's wide instructions.
func TestLanesLetPassWhatReaches(t *testing.T) {
	for _, d := range []int{1, 2, 7, 12} {
		for _, n := range []int{1, 31, 32, 33, 200} {
			rows := randomUnits(n, d, uint64(d*1000+n))
			l := lanes{d: d}
			for i := range n {
				l.push(rows[i*d : i*d+d])
			}
			q, q32 := rows[:d], make([]float32, d)
			single(q, q32)
			for _, least := range []float64{-1, 0, 0.3, 0.9, 1, dotAll(q, rows[(n-1)*d:])} {
				passed := map[int]bool{}
				for block, mask := l.next(q32, 0, least); mask != 0; block, mask = l.next(q32, block+1, least) {
					for ; mask != 0; mask &= mask - 1 {
						passed[block*laneCount+bits.TrailingZeros32(mask)] = true
					}
				}
				for i := range n {
					x := dotAll(q, rows[i*d:i*d+d])
					if x >= least && !passed[i] {
						t.Fatalf("d=%d n=%d: row %d reaches %v of %v and doesn't pass", d, n, i, x, least)
					}
					if x < least-3*laneSlack(d) && passed[i] {
						t.Fatalf("d=%d n=%d: row %d passes %v with %v", d, n, i, least, x)
					}
				}
				for i := range passed {
					if i >= n {
						t.Fatalf("d=%d n=%d: row %d passes, which isn't there", d, n, i)
					}
				}
			}
		}
	}
}

// On whole numbers both ways are exact, hence equal.
func TestLanesAgreeInAnyProcessor(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for _, d := range []int{1, 3, 12} {
		const n = 5
		blocks, q := make([]float32, n*d*laneCount), make([]float32, d)
		for range 200 {
			for i := range blocks {
				blocks[i] = float32(rng.IntN(7) - 3)
			}
			for i := range q {
				q[i] = float32(rng.IntN(7) - 3)
			}
			least := float32(rng.IntN(9 * d))
			at, mask := above(q, blocks, n, least)
			if wantAt, wantMask := aboveGo(q, blocks, n, least); at != wantAt || mask != wantMask {
				t.Fatalf("d=%d: block %d, lanes %x; want %d, %x", d, at, mask, wantAt, wantMask)
			}
		}
	}
	if at, mask := above(make([]float32, 3), nil, 0, -1); at != 0 || mask != 0 {
		t.Errorf("of no block: %d, %x", at, mask)
	}
}

func TestLanesForget(t *testing.T) {
	l := lanes{d: 2}
	for i := range 65 {
		l.push([]float64{float64(i), 1})
	}
	for range 33 {
		l.pop()
	}
	l.set(3, []float64{-1, 1})
	if len(l.blocks) != laneCount*2 || l.n != 32 {
		t.Fatalf("%d rows in %d numbers", l.n, len(l.blocks))
	}
	if _, mask := l.next([]float32{1, 0}, 0, 31); mask != 1<<31 {
		t.Errorf("lanes %x reach 31, want the last", mask)
	}
	if _, mask := l.next([]float32{-1, 0}, 0, 0.5); mask != 1<<3 {
		t.Errorf("lanes %x reach 0.5, want the fourth", mask)
	}
}

// The nearest representative is that of muesli/clusters' Nearest, ties included.
func TestNearbyIsNearest(t *testing.T) {
	const d = 3
	centre := randomUnits(150, d, 9)
	copy(centre[100*d:101*d], centre[20*d:21*d]) // one stands twice
	n := newNearby(centre, d)
	for i, rows := 0, append(randomUnits(500, d, 10), centre...); i < len(rows)/d; i++ {
		row := rows[i*d : i*d+d]
		want := n.clusters.Nearest(observation(row))
		for _, guess := range []int{0, 20, 100, 149} {
			if got := n.nearest(row, guess); got != want {
				t.Fatalf("row %d from guess %d: centre %d, want %d", i, guess, got, want)
			}
		}
	}
}

// Another order of the rows gives the same heights and the same partitions.
func TestLinkageIsIndependentOfOrder(t *testing.T) {
	const n, d = 2000, 12
	rows := lcgOverlapping(n, d)
	order := rand.New(rand.NewPCG(5, 5)).Perm(n)
	mixed := make([]float64, 0, n*d)
	for _, i := range order {
		mixed = append(mixed, rows[i*d:i*d+d]...)
	}
	a, b := Linkage(rows, d, nil), Linkage(mixed, d, nil)
	for i := range a.Merges {
		if math.Abs(a.Merges[i].Height-b.Merges[i].Height) > 1e-12 {
			t.Fatalf("height %d is %v, in another order %v", i, a.Merges[i].Height, b.Merges[i].Height)
		}
	}
	for k := 2; k <= 12; k++ {
		want, cut := a.Cut(k), b.Cut(k)
		got := make([]int, n)
		for at, i := range order {
			got[i] = cut[at]
		}
		if !slices.Equal(renumber(got), want) {
			t.Errorf("the cut into %d differs in another order", k)
		}
	}
}

// renumber numbers clusters by their first member.
func renumber(part []int) []int {
	to, out := map[int]int{}, make([]int, len(part))
	for i, c := range part {
		if _, ok := to[c]; !ok {
			to[c] = len(to)
		}
		out[i] = to[c]
	}
	return out
}

// 20,000 points take less than 64 MiB, all that is ever allocated counted:
// memory grows with the points, not with their pairs.
func TestLinkageMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("20,000 points")
	}
	rows := lcgOverlapping(20000, 12)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	tree := Linkage(rows, 12, nil)
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; len(tree.Merges) != 19999 || got > 64<<20 {
		t.Errorf("%d merges took %d bytes, want 19999 and at most 64 MiB", len(tree.Merges), got)
	}
}
