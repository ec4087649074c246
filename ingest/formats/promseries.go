package formats

import (
	"math"
	"strconv"
)

// parseFloat reads a number as Prometheus and Go print it; what is not finite
// is none.
func parseFloat(b []byte) (float64, bool) {
	if len(b) == 0 || len(b) > 64 {
		return 0, false
	}
	if v, end := scanDigits(b, 0); end == len(b) && v >= 0 && v < 1<<53 {
		return float64(v), true
	}
	v, err := strconv.ParseFloat(string(b), 64)
	return v, err == nil && !math.IsNaN(v) && !math.IsInf(v, 0)
}
