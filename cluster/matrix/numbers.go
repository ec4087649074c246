package matrix

import (
	"cmp"
	"math"
	"slices"
)

// polish takes medians of rows and columns out of a table until little is left
// of them; NaN is an empty cell.
func polish(table [][]float64) {
	for range 20 {
		for _, row := range table {
			shift(row, median(row))
		}
		for k := range table[0] {
			col := make([]float64, len(table))
			for i := range table {
				col[i] = table[i][k]
			}
			mid := median(col)
			for i := range table {
				table[i][k] -= mid
			}
		}
	}
}

func shift(x []float64, by float64) {
	for i := range x {
		x[i] -= by
	}
}

func median(x []float64) float64 {
	s := slices.DeleteFunc(slices.Clone(x), math.IsNaN)
	if len(s) == 0 {
		return 0
	}
	slices.Sort(s)
	return quantile(s, 0.5)
}

func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 == len(sorted) {
		return sorted[i]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

func mean(y []float64, of func(int) bool) float64 {
	var s, n float64
	for i, v := range y {
		if of(i) {
			s += v
			n++
		}
	}
	return s / n
}

func centred(y []float64) []float64 {
	m := mean(y, func(int) bool { return true })
	out := slices.Clone(y)
	shift(out, m)
	return out
}

func sub(a, b []float64) []float64 {
	out := slices.Clone(a)
	for i := range out {
		out[i] -= b[i]
	}
	return out
}

func squares(x []float64) float64 {
	var s float64
	for _, v := range x {
		s += v * v
	}
	return s
}

// holm marks the effects beyond chance: Holm, 1979.
func holm(effects []Effect, alpha float64) {
	order := make([]int, len(effects))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, k int) int { return cmp.Compare(effects[i].P, effects[k].P) })
	for n, i := range order {
		if effects[i].P > alpha/float64(len(order)-n) {
			return
		}
		effects[i].Found = true
	}
}
