//go:build !amd64

package cluster

// above gives the first of n blocks with a product of at least least, and the
// lanes in which it stands; n and 0 when there is none.
func above(q, blocks []float32, n int, least float32) (at int, mask uint32) {
	return aboveGo(q, blocks, n, least)
}
