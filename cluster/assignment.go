package cluster

import "math"

// assignment pairs rows with columns so that the sum of the gains is largest;
// pairs that gain nothing are not made. It gives the column of each row, -1 for
// none. The method is the Hungarian one with potentials and shortest augmenting
// paths (Kuhn, 1955; Jonker and Volgenant, 1987), exact in O(rows² (rows +
// columns)); among equal sums the lower columns win.
func assignment(gain [][]float64) []int {
	n := len(gain)
	if n == 0 {
		return nil
	}
	cols := len(gain[0])
	m := cols + n // one column for each row that stays alone
	cost := func(r, c int) float64 {
		if c < cols && gain[r][c] > 0 {
			return -gain[r][c]
		}
		return 0
	}
	u, v := make([]float64, n+1), make([]float64, m+1)
	row := make([]int, m+1) // row + 1 of each column, 0 free; column 0 is where a path begins
	way := make([]int, m+1)
	for r := 1; r <= n; r++ {
		row[0] = r
		least := make([]float64, m+1)
		for c := range least {
			least[c] = math.Inf(1)
		}
		used := make([]bool, m+1)
		at := 0
		for row[at] != 0 {
			used[at] = true
			from, next, delta := row[at], 0, math.Inf(1)
			for c := 1; c <= m; c++ {
				if used[c] {
					continue
				}
				if d := cost(from-1, c-1) - u[from] - v[c]; d < least[c] {
					least[c], way[c] = d, at
				}
				if least[c] < delta {
					delta, next = least[c], c
				}
			}
			for c := 0; c <= m; c++ {
				if used[c] {
					u[row[c]] += delta
					v[c] -= delta
				} else {
					least[c] -= delta
				}
			}
			at = next
		}
		for at != 0 {
			row[at] = row[way[at]]
			at = way[at]
		}
	}
	out := make([]int, n)
	for r := range out {
		out[r] = -1
	}
	for c := 1; c <= cols; c++ {
		if r := row[c]; r > 0 && gain[r-1][c-1] > 0 {
			out[r-1] = c - 1
		}
	}
	return out
}
