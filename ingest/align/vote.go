package align

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// key is what makes two I/Os one and the same, as far as sources tell.
type key struct {
	offset, size int64
	device       uint32 // of names that both have; 0 for others
	pid          int32
	op           uint8
}

// vote is a pair of equal I/Os: their places in a and b.
type vote struct {
	delta int64 // stamp in a - stamp in b
	a, b  int32
}

// maxVotes bounds the pairs that vote.
const maxVotes = 1 << 22

// pairs is a key's I/Os, in the order of time.
type pairs struct{ a, b []int32 }

// groups puts the I/Os of both sources together by their keys, in an order that
// depends on the I/Os alone.
func groups(a, b []IO, ka, kb func(*IO) key) []pairs {
	index := make(map[key]int32)
	var all []pairs
	for i := range a {
		k := ka(&a[i])
		g, ok := index[k]
		if !ok {
			g = int32(len(all))
			index[k] = g
			all = append(all, pairs{})
		}
		all[g].a = append(all[g].a, int32(i))
	}
	for i := range b {
		if g, ok := index[kb(&b[i])]; ok {
			all[g].b = append(all[g].b, int32(i))
		}
	}
	return slices.DeleteFunc(all, func(p pairs) bool { return len(p.b) == 0 })
}

// votes lists the pairs of equal I/Os. Keys that have more pairs than their share
// vote by some of the middle of a, against all that b has up to a bound.
func votes(a, b []IO, all []pairs, alike func(a, b *IO) bool) []vote {
	total := 0
	for _, p := range all {
		total = min(total+len(p.a)*len(p.b), 1<<50)
	}
	var list []vote
	for _, p := range all {
		as, bs := p.a, p.b
		if total > maxVotes {
			most := max(maxVotes*(len(as)+len(bs))/(len(a)+len(b)), 64)
			if len(as)*len(bs) > most {
				bs = bs[:min(len(bs), max(most/8, 8))]
				n := min(len(as), max(most/len(bs), 8))
				from := (len(as) - n) / 2
				as = as[from : from+n]
			}
		}
		for _, i := range as {
			for _, j := range bs {
				if alike != nil && !alike(&a[i], &b[j]) {
					continue
				}
				list = append(list, vote{a[i].stamp() - b[j].stamp(), i, j})
			}
		}
	}
	slices.SortFunc(list, func(x, y vote) int {
		switch {
		case x.delta != y.delta:
			if x.delta < y.delta {
				return -1
			}
			return 1
		case x.a != y.a:
			return int(x.a) - int(y.a)
		}
		return int(x.b) - int(y.b)
	})
	return list
}

// peak is the densest span of width w of the votes, and how dense the densest
// beyond it is. Each I/O of a counts once in a span.
func peak(list []vote, w int64, n int) (from, to, count, second int) {
	seen := make([]int32, n) // votes of each I/O in the span
	scan := func(low, high int64) (from, to, best int) {
		clear(seen)
		distinct, l := 0, 0
		for r := range list {
			d := list[r].delta
			if d >= low && d <= high {
				// The span may not reach into what is left out.
				for ; l < r; l++ {
					if drop(seen, list[l].a) {
						distinct--
					}
				}
				l = r + 1
				continue
			}
			if seen[list[r].a]++; seen[list[r].a] == 1 {
				distinct++
			}
			for ; l < r && d-list[l].delta > w; l++ {
				if drop(seen, list[l].a) {
					distinct--
				}
			}
			if distinct > best {
				from, to, best = l, r+1, distinct
			}
		}
		return from, to, best
	}
	from, to, count = scan(1, 0)
	if count > 0 {
		_, _, second = scan(list[from].delta-w, list[to-1].delta+w)
	}
	return from, to, count, second
}

func drop(seen []int32, i int32) bool {
	if seen[i] == 0 {
		return false
	}
	seen[i]--
	return seen[i] == 0
}

// ErrFew and ErrAmbiguous are why two sources can't be aligned.
var (
	ErrFew       = errors.New("too few I/Os that both have seen")
	ErrAmbiguous = errors.New("the match is ambiguous")
)

// MinMatches is the least number of I/Os that must match.
const MinMatches = 12

// clearly says whether the peak is denser than the next best place by more than
// chance gives: by 1.4, and by 3 standard deviations of a count.
func clearly(count, second int) bool {
	return float64(count) >= 1.4*float64(second)+3*math.Sqrt(float64(second))
}

// coarse finds the difference of the clocks to within w.
func coarse(a, b []IO, all []pairs, w int64, alike func(a, b *IO) bool) (int64, error) {
	list := votes(a, b, all, alike)
	from, to, count, second := peak(list, w, len(a))
	switch {
	case count < MinMatches:
		return 0, fmt.Errorf("%w: %d agree on a difference of the clocks, %d are needed", ErrFew, count, MinMatches)
	case !clearly(count, second):
		return 0, fmt.Errorf("%w: %d I/Os agree on one difference of the clocks, and %d on another", ErrAmbiguous, count, second)
	}
	return list[(from+to)/2].delta, nil
}
