package reports

// lowerMedian is the value in the middle of v, of an even number the lower of
// the two; it puts v into another order. 0 of none. It is Hoare's selection
// (1961) with the middle of three for a pivot: in time proportional to len(v),
// where sorting all of a fleet's windows would take most of a report's time.
// No value may be NaN.
func lowerMedian(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	k, from, to := (len(v)-1)/2, 0, len(v)-1
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
