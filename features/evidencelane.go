package features

import (
	"cmp"
	"slices"
	"sort"
)

// lanesOf sorts spans into lanes: by length, in the order of time. Spans that
// are equal or overlap another of their length (windows are on a grid, so only
// equal ones do) get lanes of their own.
func lanesOf(spans []Span) []lane {
	order := make([]int, len(spans))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		x, y := spans[a], spans[b]
		return cmp.Or(cmp.Compare(x.EndNS-x.StartNS, y.EndNS-y.StartNS), cmp.Compare(x.StartNS, y.StartNS), cmp.Compare(a, b))
	})
	var lanes []lane
	first := 0 // lane of the length in hand
	for n, i := range order {
		s := spans[i]
		if n > 0 {
			if p := spans[order[n-1]]; p.EndNS-p.StartNS != s.EndNS-s.StartNS {
				first = len(lanes)
			}
		}
		at := first
		for at < len(lanes) && lanes[at].spans[len(lanes[at].spans)-1].EndNS > s.StartNS {
			at++
		}
		if at == len(lanes) {
			lanes = append(lanes, lane{})
		}
		lanes[at].spans = append(lanes[at].spans, s)
		lanes[at].number = append(lanes[at].number, i)
	}
	return lanes
}

func (l *lane) length() int64 { return l.spans[0].EndNS - l.spans[0].StartNS }

// after is the first span that ends after a time.
func (l *lane) after(timeNS int64) int {
	return sort.Search(len(l.spans), func(i int) bool { return l.spans[i].EndNS > timeNS })
}
