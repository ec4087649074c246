package generate

import (
	"math/rand/v2"
	"testing"
)

// TestDraws holds the source to math/rand/v2, number by number: its PCG, and the
// exponential law over it, in the tail of which one of 2,600 lies.
func TestDraws(t *testing.T) {
	for seed := range uint64(3) {
		d := newDraws(seed, 5)
		stream := uint64(5) // the product is above 64 bits
		r := rand.New(rand.NewPCG(seed, stream*0x9e3779b97f4a7c15+1))
		for i := range 1_000_000 {
			if i%3 == 0 {
				if got, want := d.bits(), r.Uint64(); got != want {
					t.Fatalf("seed %d, number %d: %x, want %x", seed, i, got, want)
				}
				continue
			}
			if got, want := d.wait(1), r.ExpFloat64(); got != want {
				t.Fatalf("seed %d, wait %d: %v, want %v", seed, i, got, want)
			}
		}
	}
}
