package matrix

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/cluster/knee"
)

// cube makes a 3 x 3 x 3 matrix of scale, pattern and topology with so many
// runs a cell; effect gives what is added to log latency.
func cube(r *rand.Rand, repeats int, noise float64, effect func(a, b, c int) float64) []Run {
	var runs []Run
	for a := range 3 {
		for b := range 3 {
			for c := range 3 {
				for k := range repeats {
					ms := 2 * math.Exp(effect(a, b, c)+noise*r.NormFloat64())
					runs = append(runs, Run{
						Name:    fmt.Sprint(a, b, c, k),
						Levels:  map[string]string{"scale": []string{"1GB", "10GB", "100GB"}[a], "pattern": []string{"sequential", "random", "mixed"}[b], "topology": []string{"local", "rack", "remote"}[c]},
						Figures: Figures{BytesPerS: 1e8 / ms, IOPS: 1e4 / ms, P50MS: ms, P99MS: ms * 3 * math.Exp(noise*r.NormFloat64()), CPUShare: 0.2, IOWait: math.NaN()},
					})
				}
			}
		}
	}
	return runs
}

func nothing(int, int, int) float64 { return 0 }

func made(t *testing.T, runs []Run) *Matrix {
	t.Helper()
	m, err := New(runs, []string{"scale", "pattern", "topology"})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// A planted interaction of 3.8 is found as what it is: the pair, the cell of
// its levels, and its size.
func TestPlantedInteractionIsFound(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it works side by side: not for the race detector")
	}
	for _, repeats := range []int{1, 3} {
		found, inside, all := 0, 0, 0
		for trial := range uint64(20) {
			r := rand.New(rand.NewPCG(1, trial))
			m := made(t, cube(r, repeats, 0.1, func(_, b, c int) float64 {
				if b == 1 && c == 2 {
					return math.Log(3.8)
				}
				return 0
			}))
			for _, of := range Measures {
				effects, ok := m.Effects(of, DefaultOptions())
				if !ok {
					t.Fatal("no effects")
				}
				all++
				e := effects[0]
				if !slices.Equal(e.Factors, []string{"pattern", "topology"}) || !slices.Equal(e.At, []string{"random", "remote"}) || e.Ratio < 2.5 || e.Ratio > 5.5 {
					t.Errorf("%d repeats, trial %d, %s: first is %+v", repeats, trial, of.Name, e)
					continue
				}
				if e.Found {
					found++
				}
				// One odd cell of nine is half pair, a quarter each factor.
				if e.Low <= 0.5 && 0.5 <= e.High {
					inside++
				}
				for _, o := range effects[1:] {
					if o.Found && slices.Contains(o.Factors, "scale") {
						t.Errorf("trial %d: %v is found as well", trial, o.Factors)
					}
				}
			}
		}
		if found < all*9/10 || repeats > 1 && found < all || inside < all*8/10 {
			t.Errorf("%d repeats: found %d of %d, the truth is in %d intervals", repeats, found, all, inside)
		}
	}
}

// A factor alone, and two factors that add up, make no pair.
func TestFactorsThatAddUp(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	m := made(t, cube(r, 2, 0.05, func(a, _, c int) float64 { return float64(a)*math.Log(2) + float64(c)*0.3 }))
	effects, _ := m.Effects(Measures[0], DefaultOptions())
	if !slices.Equal(effects[0].Factors, []string{"scale"}) || math.Abs(effects[0].Ratio-4) > 0.4 || !slices.Equal(effects[0].At, []string{"100GB", "1GB"}) {
		t.Errorf("first is %+v", effects[0])
	}
	total := 0.0
	for _, e := range effects {
		total += e.Share
		if e.Found != (len(e.Factors) == 1 && e.Factors[0] != "pattern") {
			t.Errorf("%v: found %v", e.Factors, e.Found)
		}
	}
	if total > 1.0001 || total < 0.98 {
		t.Errorf("the shares of a full matrix add up to %g", total)
	}
}

// Of 100 matrices in which nothing has an effect, at most 5 raise an alarm.
func TestNullMatrices(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it works side by side: not for the race detector")
	}
	for _, repeats := range []int{1, 3} {
		alarms := 0
		for trial := range uint64(100) {
			r := rand.New(rand.NewPCG(3, trial))
			m := made(t, cube(r, repeats, 0.3, nothing))
			o := DefaultOptions()
			o.Resamples = 5
			found := false
			for _, of := range Measures {
				effects, _ := m.Effects(of, o)
				for _, e := range effects {
					found = found || e.Found
				}
			}
			if found {
				alarms++
			}
		}
		if alarms > 5 {
			t.Errorf("%d repeats: %d alarms of 100", repeats, alarms)
		}
	}
}

func TestEmptyCells(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	runs := slices.DeleteFunc(cube(r, 2, 0.05, func(_, b, _ int) float64 { return float64(b) }), func(r Run) bool {
		return r.Levels["scale"] == "100GB" && r.Levels["topology"] == "remote"
	})
	m := made(t, runs)
	if len(m.Cells) != 24 || len(m.Empty) != 3 || strings.Join(m.Empty[0], " ") != "100GB sequential remote" {
		t.Errorf("%d cells, empty: %v", len(m.Cells), m.Empty)
	}
	effects, ok := m.Effects(Measures[0], DefaultOptions())
	if !ok || effects[0].Factors[0] != "pattern" || !effects[0].Found || math.Abs(math.Log(effects[0].Ratio)-2) > 0.2 {
		t.Errorf("first is %+v", effects)
	}
	if _, ok := made(t, runs[:2]).Effects(Measures[0], DefaultOptions()); ok {
		t.Error("two runs tell something")
	}
}

func TestLevels(t *testing.T) {
	check := func(s string, want float64) {
		t.Helper()
		if got, ok := Number(s); !ok || math.Abs(got-want) > 1e-9*want {
			t.Errorf("%q is %g %v, want %g", s, got, ok, want)
		}
	}
	check("4KiB", 4096)
	check("4k", 4096)
	check("10 GB", 1e10)
	check("1.5e3", 1500)
	check("2ms", 0.002)
	check("16", 16)
	for _, bad := range []string{"", "random", "k", "4 apples", "NaN", "1.2.3"} {
		if v, ok := Number(bad); ok {
			t.Errorf("%q is the number %g", bad, v)
		}
	}
	m, err := New([]Run{{Name: "a", Levels: map[string]string{"qd": "128"}}, {Name: "b", Levels: map[string]string{"qd": "2"}}, {Name: "c", Levels: map[string]string{"qd": "16"}}}, nil)
	if err != nil || strings.Join(m.Factors[0].Levels, " ") != "2 16 128" || !m.Factors[0].Numeric {
		t.Errorf("%+v %v", m, err)
	}
	for _, bad := range [][]Run{nil, {{Name: "a"}}, {{Name: "a", Levels: map[string]string{"x": "1"}}, {Name: "b", Levels: map[string]string{"y": "1"}}}, {{Name: "a", Levels: map[string]string{"x": "1"}}, {Name: "b", Levels: map[string]string{"x": "1", "y": "1"}}}} {
		if _, err := New(bad, nil); err == nil {
			t.Errorf("%v makes a matrix", bad)
		}
	}
}

func TestBends(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	var runs []Run
	for _, pattern := range []string{"random", "sequential"} {
		for _, qd := range []int{1, 2, 4, 8, 16, 32, 64, 128} {
			for range 3 {
				rate := 1000 * float64(min(qd, 16)) * math.Exp(0.03*r.NormFloat64())
				if pattern == "sequential" {
					rate = 1000 * float64(qd) * math.Exp(0.03*r.NormFloat64())
				}
				ms := float64(qd) / rate * 1e3
				runs = append(runs, Run{Name: "r", Levels: map[string]string{"iodepth": fmt.Sprint(qd), "pattern": pattern}, Figures: Figures{IOPS: rate, P50MS: ms, P99MS: ms}})
			}
		}
	}
	m, err := New(runs, nil)
	if err != nil {
		t.Fatal(err)
	}
	bends := m.Bends(Measures[0])
	if len(bends) != 2 {
		t.Fatalf("%d bends", len(bends))
	}
	for _, b := range bends {
		if b.Where["pattern"] == "random" && (b.State != knee.Found || math.Abs(b.At-16) > 2) || b.Where["pattern"] == "sequential" && b.State != knee.Beyond {
			t.Errorf("%+v", b)
		}
	}

	// Latency that grows with the data once it is larger than a cache of 8 GB.
	runs = nil
	for _, gb := range []float64{1, 2, 4, 8, 16, 32, 64} {
		for range 2 {
			ms := 0.5 * math.Pow(math.Max(1, gb/8), 0.9) * math.Exp(0.03*r.NormFloat64())
			runs = append(runs, Run{Name: "r", Levels: map[string]string{"scale": fmt.Sprintf("%gGB", gb)}, Figures: Figures{IOPS: 1, P50MS: ms, P99MS: ms}})
		}
	}
	if m, err = New(runs, nil); err != nil {
		t.Fatal(err)
	}
	b := m.Bends(Measures[0])[0]
	if b.Law != "bend" || b.State != knee.Found || b.Low > 8e9 || b.High < 8e9 || b.At < 6e9 || b.At > 1.1e10 || math.Abs(b.After-0.9) > 0.15 || math.Abs(b.Before) > 0.1 {
		t.Errorf("%+v", b)
	}
}
