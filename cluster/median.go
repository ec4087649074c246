package cluster

import "slices"

// Select gives the element of v that would stand at place k if v were sorted, and puts
// v into another order: what comes behind place k is not smaller. It is Hoare's
// selection (1961) with the middle of three for a pivot: in time proportional to
// len(v), where sorting all of a fleet's windows would take most of a report's time.
// No value may be NaN.
func Select(v []float64, k int) float64 {
	from, to := 0, len(v)-1
	for from < to {
		a, b, c := v[from], v[(from+to)/2], v[to]
		pivot := max(min(a, b), min(max(a, b), c))
		i, j := from, to
		for i <= j {
			for v[i] < pivot {
				i++
			}
			for v[j] > pivot {
				j--
			}
			if i <= j {
				v[i], v[j] = v[j], v[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			to = j
		case k >= i:
			from = i
		default:
			return v[k]
		}
	}
	return v[k]
}

// MedianOf is the median of values, which it puts into another order: of an even
// number the mean of the two in the middle. No value may be NaN.
func MedianOf(v []float64) Median {
	n := len(v)
	if n == 0 {
		return Median{}
	}
	low := Select(v, (n-1)/2)
	high := low
	if n%2 == 0 {
		high = slices.Min(v[n/2:])
	}
	return Median{Value: (low + high) / 2, Windows: n}
}
