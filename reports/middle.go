package reports

import "github.com/iopathy/iopathy/cluster"

// lowerMedian is the value in the middle of v, of an even number the lower of
// the two; it puts v into another order. 0 of none. No value may be NaN.
func lowerMedian(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	return cluster.Select(v, (len(v)-1)/2)
}
