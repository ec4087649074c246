package knee

import (
	"math"
	"math/rand/v2"
	"testing"
)

// station is the throughput of N customers in a closed system of c equal
// servers of mean service s and no think time: exact mean value analysis
// (Reiser and Lavenberg 1980) of an M/M/c station with a delay of z.
func station(n, c int, s, z float64) float64 {
	// load-dependent MVA: p[j] is the chance of j customers at the station
	p := make([]float64, n+1)
	p[0] = 1
	x := 0.0
	for k := 1; k <= n; k++ {
		r := 0.0
		for j := 1; j <= k; j++ {
			r += float64(j) * s / float64(min(j, c)) * p[j-1]
		}
		x = float64(k) / (r + z)
		next := make([]float64, n+1)
		rest := 1.0
		for j := 1; j <= k; j++ {
			next[j] = x * s / float64(min(j, c)) * p[j-1]
			rest -= next[j]
		}
		next[0] = math.Max(rest, 0)
		p = next
	}
	return x
}

func sample(r *rand.Rand, noise float64, depths []int, rate func(n int) float64) []Point {
	var ps []Point
	for range 6 {
		for _, n := range depths {
			ps = append(ps, Point{float64(n), rate(n) * math.Exp(noise*r.NormFloat64()), 10})
		}
	}
	return ps
}

var depths = []int{1, 2, 4, 8, 16, 32, 64, 128}

// A device of c channels has its knee at c, whatever its service time.
func TestKneeOfChannels(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []int{4, 8, 16, 32} {
		for _, s := range []float64{0.0001, 0.008} {
			k := Fit(sample(r, 0.05, depths, func(n int) float64 { return float64(min(n, c)) / s }))
			if k.State != Found || k.Low > 1.05*float64(c) || k.High < 0.95*float64(c) || k.High/k.Low > 1.6 {
				t.Errorf("%d channels of %g s: %+v", c, s, k)
			}
			if math.Abs(k.Rate*s/float64(c)-1) > 0.1 || math.Abs(k.Latency/s-1) > 0.15 {
				t.Errorf("%d channels of %g s: rate %g, latency %g", c, s, k.Rate, k.Latency)
			}
			if got := k.ServiceInterval(); math.Abs(got*float64(c)/s-1) > 0.1 {
				t.Errorf("%d channels of %g s: an interval of %g s", c, s, got)
			}
		}
	}
}

// A station with a delay in front (exact MVA) has soft knees: at the crossing
// of the asymptotes, N* = c (s + z) / s.
func TestKneeOfAStation(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct {
		servers int
		s, z    float64
	}{{1, 0.001, 0.007}, {8, 0.001, 0.001}, {2, 0.005, 0.02}} {
		want := float64(c.servers) * (c.s + c.z) / c.s
		k := Fit(sample(r, 0.03, depths, func(n int) float64 { return station(n, c.servers, c.s, c.z) }))
		if k.State != Found || math.Abs(math.Log(k.Depth/want)) > math.Log(1.35) {
			t.Errorf("%+v: knee %.2f [%.2f, %.2f], want about %.2f", c, k.Depth, k.Low, k.High, want)
		}
		if k.Cliff > 0.1 {
			t.Errorf("%+v: a cliff of %g", c, k.Cliff)
		}
	}
}

func TestCliff(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	k := Fit(sample(r, 0.05, depths, func(n int) float64 {
		if n <= 16 {
			return float64(n) / 0.002
		}
		return 8000 * math.Sqrt(16/float64(n))
	}))
	if k.State != Found || k.Low > 16 || k.High < 14 || math.Abs(k.Cliff-0.5) > 0.26 {
		t.Errorf("%+v", k)
	}
}

func TestNoKnee(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	check := func(name string, want State, ps []Point) {
		t.Helper()
		if k := Fit(ps); k.State != want {
			t.Errorf("%s: %+v, want %s", name, k, want)
		}
	}
	for range 20 {
		check("grows", Beyond, sample(r, 0.1, depths, func(n int) float64 { return float64(n) / 0.001 }))
		check("saturated", Below, sample(r, 0.1, depths, func(int) float64 { return 200 }))
	}
	check("few", Unknown, sample(r, 0.1, []int{4}, func(int) float64 { return 1 }))
	check("no span", Unknown, sample(r, 0.1, []int{8, 9, 10}, func(n int) float64 { return float64(n) }))
	check("nothing", Unknown, nil)
	check("nonsense", Unknown, []Point{{math.NaN(), 1, 1}, {1, math.Inf(1), 1}, {0, 0, 0}})
	if v := Fit(nil).ServiceInterval(); !math.IsNaN(v) {
		t.Errorf("an interval of %g without a knee", v)
	}
}

func TestOrderHasNoSay(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	ps := sample(r, 0.1, depths, func(n int) float64 { return float64(min(n, 8)) })
	want := Fit(ps)
	for range 5 {
		r.Shuffle(len(ps), func(i, j int) { ps[i], ps[j] = ps[j], ps[i] })
		if got := Fit(ps); got != want {
			t.Errorf("%+v, in another order %+v", want, got)
		}
	}
}
