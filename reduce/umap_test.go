package reduce

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/iopathy/iopathy/features"
)

// mapBlobs are rows around 8 axes of 12 coordinates, by the generator x =
// (1103515245 x + 12345) mod 2^31 from 12345; testdata/map_peer.py makes the same.
func mapBlobs(n int) []float64 {
	const d = 12
	rows := make([]float64, n*d)
	x := uint64(12345)
	for i := range n {
		for k := range d {
			x = (1103515245*x + 12345) % (1 << 31)
			rows[i*d+k] = (float64(x)/(1<<31) - 0.5) / 2
		}
		rows[i*d+i%8] += 2
	}
	return rows
}

// trustworthiness is that of Venna and Kaski (2001) as scikit-learn defines
// it: 1 less the penalty for neighbours in the picture that are far in truth.
func trustworthiness(rows []float64, d int, at [][2]float64, k int) float64 {
	n := len(at)
	flat := make([]float64, 0, 2*n)
	for _, p := range at {
		flat = append(flat, p[0], p[1])
	}
	seen := nearestRows(flat, 2, n, k)
	penalty := 0.0
	for i := range n {
		order := make([]int, 0, n-1)
		far := make([]float64, n)
		for j := range n {
			for c := range d {
				far[j] += math.Pow(rows[i*d+c]-rows[j*d+c], 2)
			}
			if j != i {
				order = append(order, j)
			}
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(far[a], far[b]) })
		rank := make([]int, n)
		for r, j := range order {
			rank[j] = r + 1
		}
		for _, x := range seen[i*k : i*k+k] {
			penalty += float64(max(rank[x.row]-k, 0))
		}
	}
	return 1 - penalty*2/(float64(n*k)*float64(2*n-3*k-1))
}

// The oracles are scikit-learn 1.9.1 (trustworthiness, 15 neighbours, of the
// first two coordinates) and umap-learn 0.5.12 (of its map of the same rows, 200
// epochs, the best of three seeds): testdata/map_peer.py. Blobs stay apart, and
// our map keeps neighbours about as well.
func TestMapKeepsNeighbours(t *testing.T) {
	const n, d, k = 400, 12, 15
	rows := mapBlobs(n)
	first := make([][2]float64, n)
	for i := range first {
		first[i] = [2]float64{rows[i*d], rows[i*d+1]}
	}
	if got, want := trustworthiness(rows, d, first, k), 0.6511547303271441; math.Abs(got-want) > 1e-9 {
		t.Errorf("trustworthiness of the first two coordinates %v, scikit-learn has %v", got, want)
	}
	o := DefaultMapOptions()
	at := Map(rows, d, o)
	if got, peer := trustworthiness(rows, d, at, k), 0.9815106100795756; got < peer-0.005 {
		t.Errorf("trustworthiness of the map %v, umap-learn's is %v", got, peer)
	} else {
		t.Logf("trustworthiness of the map %.4f, umap-learn's %.4f", got, peer)
	}
	for i, near := range Nearest(at) { // the nearest on the map is of the same blob
		if near%8 != i%8 {
			t.Fatalf("row %d of blob %d is beside row %d of blob %d", i, i%8, near, near%8)
		}
	}
	if again := Map(rows, d, o); !slices.Equal(again, at) {
		t.Error("the same rows and seed give another map")
	}
	o.Seed++
	if other := Map(rows, d, o); slices.Equal(other, at) {
		t.Error("another seed gives the same map")
	}
}

func TestMapOfFew(t *testing.T) {
	finite := func(at [][2]float64) bool {
		for _, p := range at {
			if s := p[0] + p[1]; math.IsNaN(s) || math.IsInf(s, 0) {
				return false
			}
		}
		return true
	}
	for _, n := range []int{0, 1, 2, 3, 20} {
		equal, apart := make([]float64, n*3), make([]float64, n*3)
		for i := range apart {
			equal[i], apart[i] = 1, float64(i*i)
		}
		for _, rows := range [][]float64{equal, apart} {
			if at := Map(rows, 3, DefaultMapOptions()); len(at) != n || !finite(at) {
				t.Errorf("map of %d rows: %v", n, at)
			}
		}
	}
	if got := Nearest([][2]float64{{0, 0}, {5, 0}, {6, 0}}); !slices.Equal(got, []int{1, 2, 1}) || !slices.Equal(Nearest(make([][2]float64, 1)), []int{-1}) {
		t.Errorf("nearest: %v", got)
	}
	if at := Map([]float64{1, 2, 3}, 1, DefaultMapOptions()); len(at) != 3 || !finite(at) {
		t.Errorf("of one coordinate: %v", at)
	}
}

// The choice depends on neither order nor number of the others, is bounded,
// and comes in the order of the keys.
func placed(points []Point) func(i int) (features.Key, int64) {
	return func(i int) (features.Key, int64) { return points[i].Window.Key, points[i].Window.StartNS }
}

func TestMapPoints(t *testing.T) {
	o := DefaultMapOptions()
	o.Most = 50
	var points []Point
	for i := range 300 {
		points = append(points, Point{Window: &features.Window{Key: features.Key{Host: "h", Device: string(rune('a' + i%7))}, StartNS: int64(i)}})
	}
	name := func(points []Point, at []int) (s []int64) {
		for _, i := range at {
			s = append(s, points[i].Window.StartNS)
		}
		return s
	}
	all := func(int) bool { return true }
	want := name(points, MapPoints(len(points), placed(points), all, o))
	rng := rand.New(rand.NewPCG(1, 1))
	rng.Shuffle(len(points), func(i, j int) { points[i], points[j] = points[j], points[i] })
	if got := name(points, MapPoints(len(points), placed(points), all, o)); !slices.Equal(got, want) || len(got) != 50 {
		t.Errorf("in another order %v, want %v", got, want)
	}
	odd := func(i int) bool { return points[i].Window.StartNS%2 == 1 }
	for _, at := range name(points, MapPoints(len(points), placed(points), odd, o)) {
		if at%2 == 0 {
			t.Errorf("point %d isn't usable", at)
		}
	}
	if got := MapPoints(len(points[:3]), placed(points[:3]), all, o); len(got) != 3 {
		t.Errorf("of three points %v", got)
	}
	seen := map[uint64]bool{}
	for i := range points {
		seen[hashOf(points[i].Window.Key, points[i].Window.StartNS, 1)] = true
	}
	if len(seen) != len(points) {
		t.Errorf("%d hashes of %d windows", len(seen), len(points))
	}
}

func BenchmarkMap(b *testing.B) {
	rows := mapBlobs(2000)
	b.ReportAllocs()
	for b.Loop() {
		Map(rows, 12, DefaultMapOptions())
	}
}

// Memory of the moment is that of the devices: windows add nothing.
func TestMomentMemory(t *testing.T) {
	one := func(n int) float64 {
		points := randomPoints(n, 9) // all of one device
		return testing.AllocsPerRun(1, func() { momentOf(points) })
	}
	if few, many := one(100), one(20000); few != many {
		t.Errorf("%v allocations for 100 windows, %v for 20000", few, many)
	}
}

// Of many points those with the smallest hashes are picked, as if all had been
// sorted: the pick of a part of the points is what remains of the pick of all.
func TestMapPointsOfMany(t *testing.T) {
	const n = 4000
	windows := make([]features.Window, n)
	points := make([]Point, n)
	for i := range points {
		windows[i] = features.Window{Key: features.Key{Host: "h", Device: string(rune('a' + i%7))}, StartNS: int64(i)}
		points[i].Window = &windows[i]
	}
	o := MapOptions{Most: 50, Seed: 3}
	got := MapPoints(len(points), placed(points), func(int) bool { return true }, o)
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	slices.SortFunc(all, func(a, b int) int {
		return cmp.Compare(hashOf(windows[a].Key, windows[a].StartNS, 3), hashOf(windows[b].Key, windows[b].StartNS, 3))
	})
	want := all[:50]
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("picked %v, want %v", got, want)
	}
}
