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

// forest is the live clusters. A cluster is known by its first member's row;
// the means lie densely by slot, and the last slot fills the place of one
// that is merged away.
type forest struct {
	d, live int
	mean    []float64 // by slot
	rest    []float64 // norm of the coordinates from headDims on, by slot
	weight  []float64 // by slot
	first   []int     // by slot: the first member's row
	slot    []int     // by row; -1 when merged away
	next    int       // rows before it are merged away
}

// headDims is the number of leading coordinates whose product is taken first:
// with coordinates by falling variance the Cauchy-Schwarz bound of the rest
// rules most clusters out.
const headDims = 4

func newForest(rows []float64, d, n int, weights []float64) *forest {
	c := &forest{d: d, live: n, mean: slices.Clone(rows[:n*d]), rest: make([]float64, n), weight: make([]float64, n), first: make([]int, n), slot: make([]int, n)}
	for i := range n {
		c.weight[i], c.first[i], c.slot[i] = 1, i, i
		if weights != nil {
			c.weight[i] = weights[i]
		}
		c.rest[i] = c.restOf(i)
	}
	return c
}

func (c *forest) restOf(slot int) float64 {
	s := 0.0
	for _, x := range c.mean[slot*c.d+min(headDims, c.d) : (slot+1)*c.d] {
		s += x * x
	}
	// Rounded up, so that the bound holds whatever the rounding of the sums.
	return math.Sqrt(s) * (1 + 1e-12)
}

func (c *forest) firstLive() int {
	for c.slot[c.next] < 0 {
		c.next++
	}
	return c.next
}

// nearest finds the cluster with the largest product of means; of equal ones
// the previous of the chain, else the one whose first member comes first.
func (c *forest) nearest(row, previous int) (near int, dot float64) {
	s, d := c.slot[row], c.d
	a := c.mean[s*d : s*d+d]
	rest := c.rest[s]
	best, bestRow := math.Inf(-1), -1
	if previous >= 0 {
		p := c.slot[previous]
		best, bestRow = dotAll(a, c.mean[p*d:p*d+d]), previous
	}
	if d <= headDims {
		for j := 0; j < c.live; j++ {
			if j == s {
				continue
			}
			if x := dotAll(a, c.mean[j*d:j*d+d]); x > best || x == best && bestRow != previous && c.first[j] < bestRow {
				best, bestRow = x, c.first[j]
			}
		}
		return bestRow, best
	}
	a0, a1, a2, a3 := a[0], a[1], a[2], a[3]
	tail := a[headDims:]
	bound := best - 1e-12
	for j := 0; j < c.live; j++ {
		b := c.mean[j*d : j*d+d : j*d+d]
		head := a0*b[0] + a1*b[1] + a2*b[2] + a3*b[3]
		if head+rest*c.rest[j] < bound || j == s {
			continue
		}
		x := head
		for k, v := range b[headDims:] {
			x += tail[k] * v
		}
		if x > best || x == best && bestRow != previous && c.first[j] < bestRow {
			best, bestRow = x, c.first[j]
			bound = best - 1e-12
		}
	}
	return bestRow, best
}

// dotAll sums in the order of nearest's loop, so that equal pairs give equal
// products.
func dotAll(a, b []float64) float64 {
	s := 0.0
	if len(a) > headDims {
		s = a[0]*b[0] + a[1]*b[1] + a[2]*b[2] + a[3]*b[3]
		a, b = a[headDims:], b[headDims:]
	}
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
	sa, sb, d := c.slot[a], c.slot[b], c.d
	wa, wb := c.weight[sa], c.weight[sb]
	w := wa + wb
	ma, mb := c.mean[sa*d:sa*d+d], c.mean[sb*d:sb*d+d]
	for k := range ma {
		ma[k] = (wa*ma[k] + wb*mb[k]) / w
	}
	c.weight[sa] = w
	c.rest[sa] = c.restOf(sa)
	last := c.live - 1
	if sb != last {
		copy(c.mean[sb*d:sb*d+d], c.mean[last*d:last*d+d])
		c.rest[sb], c.weight[sb], c.first[sb] = c.rest[last], c.weight[last], c.first[last]
		c.slot[c.first[sb]] = sb
	}
	c.slot[b] = -1
	c.live = last
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
