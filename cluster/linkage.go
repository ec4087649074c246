package cluster

import (
	"math"
	"slices"
	"sort"
)

// Tree is an agglomeration: N leaves and N-1 merges by ascending height.
type Tree struct {
	N      int
	Merges []Merge
}

// Linkage agglomerates unit vectors by average linkage of cosine distance,
// exactly, without a distance matrix. rows holds n vectors of d coordinates;
// weights may be nil (all 1). A leaf's number is its row; rows come in the
// order of their keys, which decides between equal heights, so that the tree
// doesn't depend on the order of the input.
//
// For unit vectors the mean pairwise cosine distance of two clusters is
// 1 - mean(A).mean(B), so that one mean and one weight a cluster are enough.
// Average linkage is reducible: merging reciprocal nearest neighbours along a
// chain (Benzécri, 1982; Murtagh, 1983) gives the tree in O(n) memory and
// O(n^2 d) time. Heights are sorted and numbered as SciPy's linkage does.
func Linkage(rows []float64, d int, weights []float64) Tree {
	n := 0
	if d > 0 {
		n = len(rows) / d
	}
	t := Tree{N: n}
	if n < 2 {
		return t
	}
	c := newForest(rows, d, n, weights)
	raw := make([]rawMerge, 0, n-1)
	chain := make([]int, 0, 64)
	for c.live > 1 {
		if len(chain) == 0 {
			chain = append(chain, c.firstLive())
		}
		for {
			top := chain[len(chain)-1]
			previous := -1
			if len(chain) > 1 {
				previous = chain[len(chain)-2]
			}
			near, dot := c.nearest(top, previous)
			if near == previous {
				chain = chain[:len(chain)-2]
				raw = append(raw, c.merge(top, near, dot))
				break
			}
			chain = append(chain, near)
		}
	}
	return label(n, raw)
}

// forest is the live clusters, each known by its first member's row. Their
// means lie in buckets around pivots, so that a search passes by whatever
// can't be near: a.b = a.p + a.(b-p) is at most a.p + |a| r for every b within
// r of the pivot p.
type forest struct {
	d, live int
	weight  []float64 // by row
	at      []place   // by row
	buckets []bucket
	sortedN int // live clusters when the buckets were made
	next    int // rows before it are merged away
	query   []float64
}

// place is where a cluster's mean lies; bucket -1: merged away.
type place struct{ bucket, slot int32 }

type bucket struct {
	pivot  []float64
	radius float64   // of the ball around the pivot that holds all means
	mean   []float64 // densely
	first  []int32   // rows of the means
}

func newForest(rows []float64, d, n int, weights []float64) *forest {
	c := &forest{d: d, live: n, weight: make([]float64, n), at: make([]place, n), query: make([]float64, d)}
	all := bucket{mean: slices.Clone(rows[:n*d]), first: make([]int32, n)}
	for i := range n {
		c.weight[i], all.first[i] = 1, int32(i)
		if weights != nil {
			c.weight[i] = weights[i]
		}
	}
	c.buckets = []bucket{all}
	c.spread()
	return c
}

// spread makes the buckets anew: about the square root of the live clusters,
// around means of samples of them.
func (c *forest) spread() {
	d := c.d
	mean, first := make([]float64, 0, c.live*d), make([]int32, 0, c.live)
	for i := range c.buckets {
		mean, first = append(mean, c.buckets[i].mean...), append(first, c.buckets[i].first...)
	}
	k := max(int(math.Sqrt(float64(c.live))), 1)
	pivots := make([]float64, k*d)
	for i := range k {
		j := i * c.live / k
		copy(pivots[i*d:i*d+d], mean[j*d:j*d+d])
	}
	for range pivotRounds {
		sum, n := make([]float64, k*d), make([]float64, k)
		for j := 0; j < c.live; j += max(c.live/(samplePerPivot*k), 1) {
			m := mean[j*d : j*d+d]
			i := nearestPivot(pivots, d, m)
			n[i]++
			for x := range m {
				sum[i*d+x] += m[x]
			}
		}
		for i := range k {
			if n[i] > 0 {
				for x := range d {
					pivots[i*d+x] = sum[i*d+x] / n[i]
				}
			}
		}
	}
	c.buckets = make([]bucket, k)
	for i := range k {
		c.buckets[i].pivot = pivots[i*d : i*d+d]
	}
	for j, row := range first {
		c.put(int(row), mean[j*d:j*d+d])
	}
	c.sortedN = c.live
}

const (
	pivotRounds    = 3
	samplePerPivot = 10
)

func nearestPivot(pivots []float64, d int, m []float64) int {
	best, at := math.Inf(1), 0
	for i := 0; i*d < len(pivots); i++ {
		if x := apart(pivots[i*d:i*d+d], m); x < best {
			best, at = x, i
		}
	}
	return at
}

// apart is the squared distance of two vectors.
func apart(a, b []float64) float64 {
	s := 0.0
	for k, v := range b {
		x := a[k] - v
		s += x * x
	}
	return s
}

// put lays a mean into the bucket of the nearest pivot.
func (c *forest) put(row int, mean []float64) {
	best, at := math.Inf(1), 0
	for i := range c.buckets {
		if x := apart(c.buckets[i].pivot, mean); x < best {
			best, at = x, i
		}
	}
	b := &c.buckets[at]
	c.at[row] = place{int32(at), int32(len(b.first))}
	b.mean, b.first = append(b.mean, mean...), append(b.first, int32(row))
	// Rounded up, so that the bound holds whatever the rounding of the sums.
	b.radius = max(b.radius, math.Sqrt(best)*(1+slack))
}

// take removes a cluster; the last of its bucket fills the gap.
func (c *forest) take(row int) {
	p := c.at[row]
	b, d := &c.buckets[p.bucket], c.d
	last := len(b.first) - 1
	if i := int(p.slot); i != last {
		copy(b.mean[i*d:i*d+d], b.mean[last*d:])
		b.first[i] = b.first[last]
		c.at[b.first[i]].slot = p.slot
	}
	b.mean, b.first = b.mean[:last*d], b.first[:last]
	c.at[row].bucket = -1
}

func (c *forest) mean(row int) []float64 {
	p := c.at[row]
	return c.buckets[p.bucket].mean[int(p.slot)*c.d : (int(p.slot)+1)*c.d]
}

func (c *forest) firstLive() int {
	for c.at[c.next].bucket < 0 {
		c.next++
	}
	return c.next
}

// slack widens bounds by more than the sums can round.
const slack = 1e-12

// search is one query for the cluster with the largest product of means.
type search struct {
	a    []float64
	row  int32 // of the query: not its own neighbour
	best float64
	near int32
	held bool // near is the chain's previous: it wins ties
}

// nearest finds the cluster with the largest product of means; of equal ones
// the previous of the chain, else the one whose first member comes first.
func (c *forest) nearest(row, previous int) (near int, dot float64) {
	copy(c.query, c.mean(row))
	s := search{a: c.query, row: int32(row), best: math.Inf(-1), near: -1}
	if previous >= 0 {
		s.best, s.near, s.held = dotAll(s.a, c.mean(previous)), int32(previous), true
	}
	own := int(c.at[row].bucket)
	s.scan(&c.buckets[own])
	length := math.Sqrt(dotAll(s.a, s.a)) * (1 + slack)
	for i := range c.buckets {
		b := &c.buckets[i]
		if i == own || len(b.first) == 0 || dotAll(s.a, b.pivot)+length*b.radius < s.best-slack {
			continue
		}
		s.scan(b)
	}
	return int(s.near), s.best
}

func (s *search) scan(b *bucket) {
	d := len(s.a)
	for j, row := range b.first {
		x := dotAll(s.a, b.mean[j*d:j*d+d])
		if x < s.best || row == s.row {
			continue
		}
		if x > s.best || !s.held && row < s.near {
			s.held = x == s.best && s.held
			s.best, s.near = x, row
		}
	}
}

// dotAll is the product of two vectors of one length, always summed in the
// same order, so that a.b and b.a are equal.
func dotAll(a, b []float64) float64 {
	s := 0.0
	a = a[:len(b)]
	for k, v := range b {
		s += a[k] * v
	}
	return s
}

type rawMerge struct {
	a, b   int // first members, a < b
	height float64
	size   float64
}

// merge joins two clusters under the smaller first member.
func (c *forest) merge(x, y int, dot float64) rawMerge {
	a, b := min(x, y), max(x, y)
	wa, wb := c.weight[a], c.weight[b]
	w := wa + wb
	m := c.query // the search is over
	for k, v := range c.mean(a) {
		m[k] = (wa*v + wb*c.mean(b)[k]) / w
	}
	c.take(a)
	c.take(b)
	c.weight[a] = w
	c.put(a, m)
	c.live--
	if c.live >= 64 && c.live < c.sortedN/2 {
		c.spread()
	}
	return rawMerge{a: a, b: b, height: max(1-dot, 0), size: w}
}

// label sorts the merges and numbers the clusters: below n a leaf, n+i what
// step i made; the smaller number comes first.
func label(n int, raw []rawMerge) Tree {
	sort.SliceStable(raw, func(i, j int) bool {
		x, y := &raw[i], &raw[j]
		switch {
		case x.height != y.height:
			return x.height < y.height
		case x.a != y.a:
			return x.a < y.a
		}
		return x.b < y.b
	})
	t := Tree{N: n, Merges: make([]Merge, len(raw))}
	parent := make([]int, 2*n-1)
	for i := range parent {
		parent[i] = i
	}
	for i, r := range raw {
		a, b := root(parent, r.a), root(parent, r.b)
		t.Merges[i] = Merge{A: min(a, b), B: max(a, b), Height: r.height, Size: r.size}
		parent[a], parent[b] = n+i, n+i
	}
	return t
}

func root(parent []int, x int) int {
	for parent[x] != x {
		parent[x] = parent[parent[x]]
		x = parent[x]
	}
	return x
}

// Cut gives each leaf the number of its cluster when the tree is cut into k:
// 0 to k-1, by the first leaf of each.
func (t Tree) Cut(k int) []int {
	parent := make([]int, 2*t.N)
	for i := range parent {
		parent[i] = i
	}
	for i := 0; i < len(t.Merges) && i < t.N-k; i++ {
		parent[root(parent, t.Merges[i].A)] = t.N + i
		parent[root(parent, t.Merges[i].B)] = t.N + i
	}
	out := make([]int, t.N)
	number := make([]int, 2*t.N)
	next := 1
	for i := range out {
		r := root(parent, i)
		if number[r] == 0 {
			number[r] = next
			next++
		}
		out[i] = number[r] - 1
	}
	return out
}
