package cluster

import "golang.org/x/sys/cpu"

var hasAVX2 = cpu.X86.HasAVX2 && cpu.X86.HasFMA

// above gives the first of n blocks with a product of at least least, and the
// lanes in which it stands; n and 0 when there is none.
func above(q, blocks []float32, n int, least float32) (at int, mask uint32) {
	if !hasAVX2 || n == 0 || len(q) == 0 {
		return aboveGo(q, blocks, n, least)
	}
	_ = blocks[n*len(q)*laneCount-1]
	return aboveAVX2(&q[0], len(q), &blocks[0], n, least)
}

// aboveAVX2 needs AVX2 and FMA, d and n above 0.
//
//go:noescape
func aboveAVX2(q *float32, d int, blocks *float32, n int, least float32) (at int, mask uint32)
