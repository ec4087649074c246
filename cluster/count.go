package cluster

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
)

// Count is a number of classes asked for; Auto leaves it to the data.
type Count int

// Auto is written "auto".
const Auto Count = -1

// Numbers of classes that are tried: for the report when one was asked for,
// and to choose among when none was.
const (
	shownLeast, shownMost = 6, 10
	autoLeast, autoMost   = 4, 12
)

// String is the count as users write it.
func (c Count) String() string {
	if c == Auto {
		return "auto"
	}
	return strconv.Itoa(int(c))
}

// MarshalText writes what UnmarshalText reads.
func (c Count) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads a positive number or "auto".
func (c *Count) UnmarshalText(text []byte) error {
	if string(text) == "auto" {
		*c = Auto
		return nil
	}
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 1 {
		return fmt.Errorf("%q is neither a positive number nor auto", text)
	}
	*c = Count(n)
	return nil
}

// count settles the number of classes: what was asked for, or the one whose
// classes are steadiest and best apart, by the product of stability and
// silhouette; of equal ones the smaller. Numbers that the data can't fill
// aren't chosen.
func (g *gathering) count(o Options) (k int, cuts []Cut) {
	if o.K != Auto {
		return int(o.K), g.describe(shownLeast, shownMost, o)
	}
	cuts = g.describe(autoLeast, autoMost, o)
	best := math.Inf(-1)
	for _, c := range cuts {
		if c.Classes != c.K {
			continue
		}
		if s := c.Stability * c.Silhouette; s > best {
			k, best = c.K, s
		}
	}
	if k == 0 { // fewer distinct directions than the least that is tried
		k = autoLeast
	}
	return k, cuts
}

// describe says what numbers of classes from least to most would give.
func (g *gathering) describe(least, most int, o Options) []Cut {
	parts := g.resample(o)
	var cuts []Cut
	for k := least; k <= min(most, g.tree.N); k++ {
		part := g.cut(k, o)
		c := Cut{K: k, Silhouette: g.silhouette(part), Stability: parts.stability(part, k, o)}
		for _, of := range part {
			c.Classes = max(c.Classes, of+1)
		}
		if i := g.tree.N - k; i >= 0 && i < len(g.tree.Merges) {
			c.Height = g.tree.Merges[i].Height
		}
		cuts = append(cuts, c)
	}
	return cuts
}

// Stability is judged on so many random parts of so large a share of the
// points, each of at most so many.
const (
	parts     = 10
	partShare = 0.8
	partMost  = 4000
)

// resampled is the linkage of random parts of the points.
type resampled []struct {
	*gathering
	rows []int // of the whole
}

// resample links random parts anew. They depend on the points' order by key
// and the seed alone.
func (g *gathering) resample(o Options) resampled {
	size := min(int(partShare*float64(g.n)), partMost)
	if size < 2 {
		return nil
	}
	rng := rand.New(rand.NewPCG(o.Seed, 0x57ab1e))
	out := make(resampled, parts)
	for p := range out {
		part := &gathering{d: g.d, n: size, rows: make([]float64, 0, size*g.d)}
		for i, left := 0, size; left > 0; i++ { // each row with the chance that keeps the size (Knuth's algorithm S)
			if rng.IntN(g.n-i) < left {
				out[p].rows = append(out[p].rows, i)
				part.rows = append(part.rows, g.rows[i*g.d:i*g.d+g.d]...)
				left--
			}
		}
		part.tree = Linkage(part.rows, g.d, nil)
		out[p].gathering = part
	}
	return out
}

// stability is the mean adjusted Rand index between the classes of the parts
// and those of the whole (after Ben-Hur, Elisseeff and Guyon, 2002): 1 when
// leaving out windows changes nothing.
func (r resampled) stability(whole []int, k int, o Options) float64 {
	if len(r) == 0 {
		return 0
	}
	sum := 0.0
	for i := range r {
		of := make([]int, len(r[i].rows))
		for at, row := range r[i].rows {
			of[at] = whole[row]
		}
		sum += adjustedRand(r[i].cut(k, o), of)
	}
	return sum / float64(len(r))
}

// adjustedRand is the index of Hubert and Arabie (1985): agreement of two
// partitions over what chance gives, 1 when they are equal. Points of no class
// (-1) count as one.
func adjustedRand(a, b []int) float64 {
	pairs := func(n int) float64 { return float64(n) * float64(n-1) / 2 }
	width := 1
	for _, c := range b {
		width = max(width, c+2)
	}
	height := 1
	for _, c := range a {
		height = max(height, c+2)
	}
	both, left, right := make([]int, height*width), make([]int, height), make([]int, width)
	for i := range a {
		both[(a[i]+1)*width+b[i]+1]++
		left[a[i]+1]++
		right[b[i]+1]++
	}
	sum := func(counts []int) (s float64) {
		for _, n := range counts {
			s += pairs(n)
		}
		return s
	}
	l, r := sum(left), sum(right)
	by := 0.0
	if all := pairs(len(a)); all > 0 {
		by = l * r / all
	}
	if most := (l + r) / 2; most != by {
		return (sum(both) - by) / (most - by)
	}
	return 1
}
