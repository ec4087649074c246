package reduce

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/iopathy/iopathy/features"
)

func TestWideIsExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var s wide
	want := new(big.Int)
	for range 10000 {
		a, b := rng.Int64N(1<<45)-1<<44, rng.Int64N(1<<45)-1<<44
		s.addProduct(a, b)
		want.Add(want, new(big.Int).Mul(big.NewInt(a), big.NewInt(b)))
	}
	got := new(big.Int).Lsh(big.NewInt(s.hi), 64)
	got.Add(got, new(big.Int).SetUint64(s.lo))
	if got.Cmp(want) != 0 {
		t.Errorf("sum is %v, want %v", got, want)
	}
}

func randomPoints(n int, seed uint64) []Point {
	rng := rand.New(rand.NewPCG(seed, 0))
	points := make([]Point, n)
	for i := range points {
		points[i].Window = &features.Window{Key: features.Key{Host: "h", Device: "d"}, StartNS: int64(i)}
		for f := range features.N {
			z := rng.NormFloat64()*float64(f+1)/4 + rng.NormFloat64()/8
			if f > 0 {
				z += points[i].Z[f-1] / 2
			}
			points[i].Z[f] = math.Round(z*unit) / unit
		}
	}
	return points
}

// On [Z; -Z] the mean is 0, so that the second moment about the origin is the
// covariance: gonum's principal components are the oracle.
func TestPrincipalAgreesWithGonum(t *testing.T) {
	points := randomPoints(500, 3)
	n := len(points)
	both := mat.NewDense(2*n, features.N, nil)
	for i := range points {
		for f, z := range points[i].Z {
			both.Set(i, f, z)
			both.Set(n+i, f, -z)
		}
	}
	var pc stat.PC
	if !pc.PrincipalComponents(both, nil) {
		t.Fatal("gonum gives no components")
	}
	want := pc.VarsTo(nil)
	var vectors mat.Dense
	pc.VectorsTo(&vectors)
	values, rows := principal(momentOf(points))
	for i := range values {
		// stat.PC divides by 2n - 1.
		if w := want[i] * float64(2*n-1) / float64(2*n); math.Abs(values[i]-w) > 1e-9*want[0] {
			t.Errorf("variance %d is %v, want %v", i, values[i], w)
		}
		along := 0.0
		for f, x := range rows[i] {
			along += x * vectors.At(f, i)
		}
		if math.Abs(math.Abs(along)-1) > 1e-9 {
			t.Errorf("component %d has a product of %v with gonum's", i, along)
		}
		if top := rows[i][slices.IndexFunc(rows[i], func(x float64) bool {
			return math.Abs(x) >= math.Abs(slices.MaxFunc(rows[i], func(a, b float64) int {
				if math.Abs(a) < math.Abs(b) {
					return -1
				}
				return 1
			}))
		})]; top < 0 {
			t.Errorf("component %d: largest loading %v is negative", i, top)
		}
	}
}

func TestMomentIsIndependentOfOrder(t *testing.T) {
	points := randomPoints(300, 5)
	for i := range points {
		points[i].Window.Device = string(rune('a' + i%7))
		points[i].Normal.Group = string(rune('A' + i%7%2))
	}
	want := momentOf(points)
	rng := rand.New(rand.NewPCG(9, 9))
	for range 5 {
		rng.Shuffle(len(points), func(i, j int) { points[i], points[j] = points[j], points[i] })
		if !mat.Equal(momentOf(points), want) {
			t.Fatal("another order gives another moment")
		}
	}
}

// A device with a thousand windows weighs as one with ten.
func TestMomentWeighsDevicesAlike(t *testing.T) {
	point := func(device string, f int) Point {
		p := Point{Window: &features.Window{Key: features.Key{Device: device}}}
		p.Z[f] = 1
		return p
	}
	var points []Point
	for range 1000 {
		points = append(points, point("loud", 0))
	}
	for range 10 {
		points = append(points, point("quiet", 1))
	}
	m := momentOf(points)
	if m.At(0, 0) != 0.5 || m.At(1, 1) != 0.5 || m.At(0, 1) != 0 {
		t.Errorf("moment is %v", mat.Formatted(m))
	}
}

func BenchmarkMoment(b *testing.B) {
	points := randomPoints(10000, 1)
	b.ReportAllocs()
	for b.Loop() {
		momentOf(points)
	}
}

// momentOf is the moment of the points that aren't idle.
func momentOf(points []Point) *mat.SymDense {
	var m moment
	for i := range points {
		if !points[i].Window.Idle {
			m.add(&points[i])
		}
	}
	return m.matrix()
}
