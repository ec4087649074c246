package cluster

import "sort"

// Tree is an agglomeration: N leaves and N-1 merges by ascending height.
type Tree struct {
	N      int
	Merges []Merge
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
