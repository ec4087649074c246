package cluster

import (
	"math"
	"sort"
)

// Reliability is how often labels of a margin were right: steps by ascending
// margin, shares that never fall. It comes from labelled recordings that the
// rules were held against.
type Reliability []Step

// Step is the share of right labels from a margin on.
type Step struct {
	Margin float64 `json:"margin"`
	Right  float64 `json:"right"`
	Of     int     `json:"of"`
}

// At is the share at a margin. Without any step nothing is known: one half.
func (r Reliability) At(margin float64) float64 {
	if len(r) == 0 {
		return 0.5
	}
	i := sort.Search(len(r), func(i int) bool { return r[i].Margin > margin })
	return r[max(i-1, 0)].Right
}

// outcome is one labelled window: its margin and whether the label was right.
type outcome struct {
	margin float64
	right  bool
}

// reliability bins outcomes by margin into steps of equal count and makes the
// shares monotone by pooling neighbours that fall (Ayer et al., 1955). Each
// share is (right + 1) / (n + 2), so that none is ever 0 or 1.
func reliability(all []outcome, steps int) Reliability {
	if len(all) == 0 {
		return nil
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].margin < all[j].margin })
	type pool struct {
		margin    float64
		right, of int
	}
	var pools []pool
	share := func(p pool) float64 { return float64(p.right+1) / float64(p.of+2) }
	size := max(len(all)/steps, 1)
	for from := 0; from < len(all); {
		to := min(from+size, len(all))
		for to < len(all) && all[to].margin == all[to-1].margin {
			to++
		}
		p := pool{margin: all[from].margin}
		for _, o := range all[from:to] {
			p.of++
			if o.right {
				p.right++
			}
		}
		pools = append(pools, p)
		for len(pools) > 1 && share(pools[len(pools)-2]) >= share(pools[len(pools)-1]) {
			last := pools[len(pools)-1]
			pools = pools[:len(pools)-1]
			pools[len(pools)-1].right += last.right
			pools[len(pools)-1].of += last.of
		}
		from = to
	}
	r := make(Reliability, len(pools))
	for i, p := range pools {
		r[i] = Step{Margin: round(p.margin, 4), Right: round(share(p), 4), Of: p.of}
	}
	return r
}

func round(x float64, digits int) float64 {
	s := math.Pow(10, float64(digits))
	return math.Round(x*s) / s
}

// wilson is the 95 % score interval of a share (Wilson, 1927).
func wilson(votes, of int) (low, high float64) {
	if of == 0 {
		return 0, 1
	}
	const z = 1.959963984540054
	n, p := float64(of), float64(votes)/float64(of)
	centre := p + z*z/(2*n)
	half := z * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return max((centre-half)/(1+z*z/n), 0), min((centre+half)/(1+z*z/n), 1)
}
