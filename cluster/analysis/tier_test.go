package analysis

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/features"
)

// A loop over 64 MiB is served by a tier that holds it, and by none that is
// smaller; what is read once by no tier; without offsets nothing can be told.
func TestTier(t *testing.T) {
	value := func(f *Finding, name string) float64 {
		i := slices.IndexFunc(f.Figures, func(g Figure) bool { return g.Name == name })
		if i < 0 {
			return math.NaN()
		}
		return f.Figures[i].Value
	}
	check := func(name string, told, holds bool, p *features.Profile, says string) Finding {
		t.Helper()
		f := Tier(features.Key{Host: "h", Device: "d"}, p)
		if f.Told != told || f.Holds != holds || !strings.Contains(f.Says, says) {
			t.Errorf("%s: told %v, holds %v: %s", name, f.Told, f.Holds, f.Says)
		}
		return f
	}
	const turns, size = 10, 16384
	loop := func(i int) (int64, int64, int64) { return int64(i) * size % (64 << 20), size, 1e5 }
	f := check("loop", true, true, reads(turns*(64<<20)/size, loop), "an LRU tier of 64 MiB would have served 9")
	if v := value(&f, "bytes read"); v != turns*(64<<20) {
		t.Errorf("%g bytes", v)
	}
	if v := value(&f, "hit share of it"); math.Abs(v-0.9) > 0.01 {
		t.Errorf("a tier that holds the loop serves %.3f", v)
	}
	if v := value(&f, "hit share of a tier of 32 MiB"); v == v {
		t.Errorf("a tier of half the loop serves %.3f", v)
	}
	check("once", true, false, reads(5000, func(i int) (int64, int64, int64) { return int64(i) * size, size, 1e5 }), "no tier")
	check("hot", true, true, reads(20_000, func(i int) (int64, int64, int64) {
		if i%4 == 0 {
			return int64(i) * size, size, 1e5
		}
		return int64(i%64) * size, size, 1e5
	}), "served 7")
	check("few", false, false, reads(50, loop), "can't be told")
	check("no places", false, false, served(1, 1e6, []int64{0, 1, 2}), "can't be told")
}
