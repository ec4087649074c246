package reports

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// The oracle is the sorted list.
func TestLowerMedian(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	check := func(v []float64) {
		t.Helper()
		want := slices.Sorted(slices.Values(v))[(len(v)-1)/2]
		if got := lowerMedian(slices.Clone(v)); got != want {
			t.Fatalf("median %g of %v, sorted it is %g", got, v, want)
		}
	}
	for n := 1; n < 200; n++ {
		v, few, rising, falling := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range n {
			v[i], few[i], rising[i], falling[i] = rng.NormFloat64(), float64(rng.IntN(3)), float64(i), float64(-i)
		}
		for _, list := range [][]float64{v, few, rising, falling} {
			check(list)
		}
	}
	if lowerMedian(nil) != 0 {
		t.Error("a median of nothing")
	}
}
