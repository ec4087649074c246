package cluster

import (
	"math"
	"math/bits"
	"slices"
)

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
// O(n^2 d) time at worst. Heights are sorted and numbered as SciPy's linkage does.
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
// means lie in buckets around directions, so that a search passes by whatever
// can't be near: with u the direction of a bucket, a.b is at most
// (a.u)(b.u) + |a less its part along u| |b less its part along u|. What is
// left is sieved in single precision, many means at a time.
type forest struct {
	d, live int
	weight  []float64 // by row
	at      []place   // by row
	buckets []bucket
	axes    []float64 // unit vectors u of the buckets, densely; 0 where a bucket has none
	sortedN int       // live clusters when the buckets were made
	next    int       // rows before it are merged away
	query   []float64
	single  []float32 // scratch: the query in single precision
	along   []float64 // scratch: product of a query with each axis
	bound   []float64 // scratch: what a bucket can give at most
}

// place is where a cluster's mean lies; bucket -1: merged away.
type place struct{ bucket, slot int32 }

// bucket holds means densely. low and high bound their parts along the
// bucket's axis, far the length of the rest.
type bucket struct {
	mean           []float64
	lanes          lanes
	first          []int32 // rows of the means
	low, high, far float64
}

func newForest(rows []float64, d, n int, weights []float64) *forest {
	c := &forest{d: d, live: n, weight: make([]float64, n), at: make([]place, n), query: make([]float64, d), single: make([]float32, d)}
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

// spread makes the buckets anew: a multiple of the square root of the live
// clusters, around means of samples of them.
func (c *forest) spread() {
	d := c.d
	mean, first := make([]float64, 0, c.live*d), make([]int32, 0, c.live)
	for i := range c.buckets {
		mean, first = append(mean, c.buckets[i].mean...), append(first, c.buckets[i].first...)
	}
	k := max(int(bucketShare*math.Sqrt(float64(c.live))), 1)
	c.axes, c.along, c.bound = make([]float64, k*d), make([]float64, k), make([]float64, k)
	for i := range k {
		j := i * c.live / k
		copy(c.axes[i*d:i*d+d], mean[j*d:j*d+d])
		normalise(c.axes[i*d : i*d+d])
	}
	for range axisRounds {
		sum := make([]float64, k*d)
		for j := 0; j < c.live; j += max(c.live/(samplePerAxis*k), 1) {
			m := mean[j*d : j*d+d]
			s := sum[c.nearestAxis(m)*d:]
			for x := range m {
				s[x] += m[x]
			}
		}
		for i := range k {
			if s := sum[i*d : i*d+d]; dotAll(s, s) > 0 {
				copy(c.axes[i*d:i*d+d], s)
				normalise(c.axes[i*d : i*d+d])
			}
		}
	}
	c.buckets = make([]bucket, k)
	for i := range c.buckets {
		c.buckets[i] = bucket{low: math.Inf(1), high: math.Inf(-1), lanes: lanes{d: d}}
	}
	for j, row := range first {
		c.put(int(row), mean[j*d:j*d+d])
	}
	c.sortedN = c.live
}

const (
	bucketShare   = 0.3
	axisRounds    = 3
	samplePerAxis = 10
)

// nearestAxis is the bucket whose direction is nearest; along holds the
// products with all of them.
func (c *forest) nearestAxis(m []float64) int {
	dots(m, c.axes, c.along)
	at := 0
	for i, x := range c.along {
		if x > c.along[at] {
			at = i
		}
	}
	return at
}

// put lays a mean into the bucket of the nearest direction.
func (c *forest) put(row int, mean []float64) {
	at := c.nearestAxis(mean)
	b, part, rest := &c.buckets[at], c.along[at], 0.0
	for k, u := range c.axes[at*c.d : at*c.d+c.d] {
		x := mean[k] - part*u
		rest += x * x
	}
	rest = math.Sqrt(rest)
	c.at[row] = place{int32(at), int32(len(b.first))}
	b.mean, b.first = append(b.mean, mean...), append(b.first, int32(row))
	b.lanes.push(mean)
	b.low, b.high, b.far = min(b.low, part), max(b.high, part), max(b.far, rest)
}

// take removes a cluster; the last of its bucket fills the gap.
func (c *forest) take(row int) {
	p := c.at[row]
	b, d := &c.buckets[p.bucket], c.d
	last := len(b.first) - 1
	if i := int(p.slot); i != last {
		copy(b.mean[i*d:i*d+d], b.mean[last*d:])
		b.lanes.set(i, b.mean[i*d:i*d+d])
		b.first[i] = b.first[last]
		c.at[b.first[i]].slot = p.slot
	}
	b.lanes.pop()
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

// slack widens bounds by more than the sums can round; tiny does so for a
// square, before its root is taken.
const (
	slack = 1e-12
	tiny  = 1e-14
)

// search is one query for the cluster with the largest product of means.
type search struct {
	a    []float64
	q    []float32
	row  int32 // of the query: not its own neighbour
	best float64
	near int32
	held bool // near is the chain's previous: it wins ties
}

// nearest finds the cluster with the largest product of means; of equal ones
// the previous of the chain, else the one whose first member comes first.
func (c *forest) nearest(row, previous int) (near int, dot float64) {
	copy(c.query, c.mean(row))
	single(c.query, c.single)
	s := search{a: c.query, q: c.single, row: int32(row), best: math.Inf(-1), near: -1}
	if previous >= 0 {
		s.best, s.near, s.held = dotAll(s.a, c.mean(previous)), int32(previous), true
	}
	dots(s.a, c.axes, c.along)
	square := dotAll(s.a, s.a)
	top := 0
	for i, along := range c.along {
		b := &c.buckets[i]
		if len(b.first) == 0 {
			c.bound[i] = math.Inf(-1)
			continue
		}
		c.bound[i] = max(along*b.low, along*b.high) + beside(square, along)*b.far
		if c.bound[i] > c.bound[top] {
			top = i
		}
	}
	// The likeliest first, so that the others fall short of it.
	s.scan(&c.buckets[top])
	for i := range c.buckets {
		if i != top && c.bound[i] >= s.best-slack {
			s.scan(&c.buckets[i])
		}
	}
	return int(s.near), s.best
}

// beside is the length of what a vector of this square has beside its part
// along a unit vector, rounded up.
func beside(square, along float64) float64 { return math.Sqrt(max(square-along*along, 0) + tiny) }

// scan tries the means of a bucket that aren't out of reach.
func (s *search) scan(b *bucket) {
	d := len(s.a)
	block, mask := b.lanes.next(s.q, 0, s.best)
	for mask != 0 {
		for ; mask != 0; mask &= mask - 1 {
			j := block*laneCount + bits.TrailingZeros32(mask)
			s.try(dotAll(s.a, b.mean[j*d:j*d+d]), b.first[j])
		}
		block, mask = b.lanes.next(s.q, block+1, s.best)
	}
}

// try holds a cluster against the best so far.
func (s *search) try(x float64, row int32) {
	if x < s.best || row == s.row {
		return
	}
	if x > s.best || !s.held && row < s.near {
		s.held = x == s.best && s.held
		s.best, s.near = x, row
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

// dotFour is dotAll of four vectors at once: one sum alone waits for itself.
func dotFour(a, b0, b1, b2, b3 []float64) (s0, s1, s2, s3 float64) {
	b0, b1, b2, b3 = b0[:len(a)], b1[:len(a)], b2[:len(a)], b3[:len(a)]
	for k, v := range a {
		s0 += v * b0[k]
		s1 += v * b1[k]
		s2 += v * b2[k]
		s3 += v * b3[k]
	}
	return s0, s1, s2, s3
}

// dots writes the products of a with the rows of b.
func dots(a, b, out []float64) {
	d, i := len(a), 0
	for ; i+4 <= len(out); i += 4 {
		r := b[i*d : (i+4)*d]
		out[i], out[i+1], out[i+2], out[i+3] = dotFour(a, r[:d], r[d:2*d], r[2*d:3*d], r[3*d:])
	}
	for ; i < len(out); i++ {
		out[i] = dotAll(a, b[i*d:i*d+d])
	}
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
