package cluster

import (
	"math/bits"
	"math/rand/v2"

	"github.com/muesli/clusters"
)

// representatives reduces n unit vectors to at most k weighted ones: spherical
// k-means with a k-means++ start from a seed, on a bounded sample, then one
// assignment of all. It gives the unit centres, their weights and each row's
// centre; centres without members are left out. The result depends on the
// rows and the seed alone.
func representatives(rows []float64, d, k int, seed uint64) (centre, weight []float64, of []int) {
	n := len(rows) / d
	rng := rand.New(rand.NewPCG(seed, 0x10Da7417))
	sample := rows
	if most := samplePerCentre * k; n > most {
		sample = make([]float64, 0, most*d)
		for i := range most { // one row of each of most equal spans
			from, to := i*n/most, (i+1)*n/most
			at := from + rng.IntN(to-from)
			sample = append(sample, rows[at*d:at*d+d]...)
		}
	}
	centre = plusPlus(sample, d, k, rng)
	s := make([]int, len(sample)/d)
	for range roundsOfMeans {
		if assignAll(sample, d, centre, s) == 0 {
			break
		}
		recentre(sample, d, centre, s)
	}
	of = make([]int, n)
	assignAll(rows, d, centre, of)
	// Number the centres that have members by their first row.
	number := make([]int, len(centre)/d)
	var kept []float64
	for i := range of {
		c := of[i]
		if number[c] == 0 {
			kept = append(kept, make([]float64, d)...)
			weight = append(weight, 0)
			number[c] = len(weight)
		}
		at := number[c] - 1
		of[i] = at
		weight[at]++
		for x := range d {
			kept[at*d+x] += rows[i*d+x]
		}
	}
	// A representative stands for the mean of its members, not for a point on
	// the sphere: with it the weighted linkage is that of the members.
	for at, w := range weight {
		for x := range d {
			kept[at*d+x] /= w
		}
	}
	return kept, weight, of
}

const (
	samplePerCentre = 20
	roundsOfMeans   = 6
)

// plusPlus picks k start rows: each next one with probability by its distance
// to the nearest one so far (Arthur and Vassilvitskii, 2007).
func plusPlus(rows []float64, d, k int, rng *rand.Rand) []float64 {
	n := len(rows) / d
	k = min(k, n)
	centre := make([]float64, 0, k*d)
	far, along := make([]float64, n), make([]float64, n)
	for i := range far {
		far[i] = 2
	}
	at := rng.IntN(n)
	for {
		c := rows[at*d : at*d+d]
		centre = append(centre, c...)
		if len(centre) == k*d {
			return centre
		}
		dots(c, rows, along)
		total := 0.0
		for i, x := range along {
			far[i] = min(far[i], max(1-x, 0))
			total += far[i]
		}
		if total == 0 {
			return centre // no more distinct rows
		}
		pick := rng.Float64() * total
		at = n - 1
		for i, x := range far {
			if pick -= x; pick < 0 {
				at = i
				break
			}
		}
	}
}

// assignAll gives each row its nearest centre and counts the changes.
func assignAll(rows []float64, d int, centre []float64, of []int) int {
	near := newNearby(centre, d)
	changed := 0
	for i := range of {
		to := near.nearest(rows[i*d:i*d+d], of[i])
		if to != of[i] {
			changed++
		}
		of[i] = to
	}
	return changed
}

// nearby finds the nearest of many centres as muesli/clusters' Nearest does
// with our observation, of equal ones the first, but passes by those that
// can't be it.
type nearby struct {
	clusters clusters.Clusters
	lanes    lanes
	query    []float32
}

func newNearby(centre []float64, d int) *nearby {
	n := &nearby{lanes: lanes{d: d}, query: make([]float32, d)}
	directions := make([][]float64, len(centre)/d)
	for i := range directions {
		directions[i] = centre[i*d : i*d+d]
		n.lanes.push(directions[i])
	}
	n.clusters = centres(directions)
	return n
}

// nearest takes a guess to begin with; the outcome doesn't depend on it.
func (n *nearby) nearest(row []float64, guess int) int {
	point := observation(row)
	at, far := guess, point.Distance(n.clusters[guess].Center)
	single(row, n.query)
	block, mask := n.lanes.next(n.query, 0, 1-far)
	for mask != 0 {
		for ; mask != 0; mask &= mask - 1 {
			i := block*laneCount + bits.TrailingZeros32(mask)
			if d := point.Distance(n.clusters[i].Center); d < far || d == far && i < at {
				at, far = i, d
			}
		}
		block, mask = n.lanes.next(n.query, block+1, 1-far)
	}
	return at
}

// recentre moves each centre to the direction of its members' sum; one that
// lost all members stays.
func recentre(rows []float64, d int, centre []float64, of []int) {
	sum := make([]float64, len(centre))
	for i, c := range of {
		for x := range d {
			sum[c*d+x] += rows[i*d+x]
		}
	}
	for c := range len(centre) / d {
		s := sum[c*d : c*d+d]
		if dotAll(s, s) == 0 {
			continue
		}
		normalise(s)
		copy(centre[c*d:c*d+d], s)
	}
}
