package reduce

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/iopathy/iopathy/features"
)

// MapOptions say how a map is drawn.
type MapOptions struct {
	Most       int // points on it
	Neighbours int // that a point is drawn to
	Epochs     int // rounds over all neighbours
	Seed       uint64
}

// DefaultMapOptions are those of the report's map.
func DefaultMapOptions() MapOptions {
	return MapOptions{Most: 2000, Neighbours: 15, Epochs: 200, Seed: 1}
}

// MapPoints picks the points of a map, of n: of the usable ones those with the
// smallest hash of host, device and start, at most o.Most of them, so that
// the choice depends on neither order nor arrival. It gives their indices in
// the order of their keys; at tells device and start of a point's window.
func MapPoints(n int, at func(i int) (features.Key, int64), usable func(i int) bool, o MapOptions) []int {
	type entry struct {
		hash uint64
		i    int
	}
	many := 0
	for i := range n {
		if usable(i) {
			many++
		}
	}
	// Hashes are even: of many, those below four times the share that is
	// wanted hold the smallest ones, and no more need be kept.
	limit := uint64(math.MaxUint64)
	if o.Most > 0 && many > 16*o.Most {
		limit = math.MaxUint64 / uint64(many) * uint64(4*o.Most)
	}
	var all []entry
	pick := func() {
		all = all[:0]
		for i := range n {
			if !usable(i) {
				continue
			}
			k, start := at(i)
			if h := hashOf(k, start, o.Seed); h <= limit {
				all = append(all, entry{h, i})
			}
		}
	}
	if pick(); len(all) < min(many, o.Most) {
		limit = math.MaxUint64
		pick()
	}
	byKey := func(a, b int) int {
		x, from := at(a)
		y, to := at(b)
		return cmp.Or(cmp.Compare(x.Host, y.Host), cmp.Compare(x.Device, y.Device), cmp.Compare(from, to))
	}
	slices.SortFunc(all, func(a, b entry) int { return cmp.Or(cmp.Compare(a.hash, b.hash), byKey(a.i, b.i)) })
	all = all[:min(len(all), o.Most)]
	picked := make([]int, len(all))
	for i := range all {
		picked[i] = all[i].i
	}
	slices.SortFunc(picked, byKey)
	return picked
}

func hashOf(k features.Key, startNS int64, seed uint64) uint64 {
	h := uint64(14695981039346656037) // FNV-1a
	add := func(b byte) { h = (h ^ uint64(b)) * 1099511628211 }
	for _, s := range [2]string{k.Host, k.Device} {
		for i := range len(s) {
			add(s[i])
		}
		add(0)
	}
	for _, v := range [2]uint64{uint64(startNS), seed} {
		for i := range 8 {
			add(byte(v >> (8 * i)))
		}
	}
	x := h // FNV's high bits are poor on short keys: mixed as SplitMix64 does
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Map lays rows (n of d coordinates, Euclidean) out in the plane so that
// neighbours stay neighbours: UMAP (McInnes, Healy and Melville, 2018) with the
// curve 1/(1+x²), exact neighbours and the first two coordinates for a start.
// It is for the eye alone: distances between groups on it mean nothing, and
// another seed gives another map. The same rows, options and seed give the
// same map bit for bit. Memory is in proportion to n x Neighbours, time to n²
// d + Epochs x n x Neighbours.
func Map(rows []float64, d int, o MapOptions) [][2]float64 {
	n := 0
	if d > 0 {
		n = len(rows) / d
	}
	rng := rand.New(rand.NewPCG(o.Seed, 0x0ca2709a))
	at := start(rows, d, n, rng)
	k := min(o.Neighbours, n-1)
	if k < 1 {
		return at
	}
	edges := fuzzy(nearestRows(rows, d, n, k), k)
	most := 0.0
	for _, e := range edges {
		most = max(most, e.weight)
	}
	// An edge is pulled every most/weight epochs, and pushed from so many others.
	const pushes = 5
	due := make([]float64, len(edges))
	for i, e := range edges {
		due[i] = most / e.weight
	}
	for epoch := 1; epoch <= o.Epochs; epoch++ {
		rate := 1 - float64(epoch-1)/float64(o.Epochs)
		for i := range edges {
			e := &edges[i]
			if due[i] > float64(epoch) {
				continue
			}
			due[i] += most / e.weight
			a, b := &at[e.a], &at[e.b]
			x, y := a[0]-b[0], a[1]-b[1]
			pull := -2 / (1 + x*x + y*y)
			move(a, rate, pull*x, pull*y)
			move(b, rate, -pull*x, -pull*y)
			for range pushes {
				other := rng.IntN(n)
				if other == int(e.a) {
					continue
				}
				b := &at[other]
				x, y := a[0]-b[0], a[1]-b[1]
				far := x*x + y*y
				push := 2 / ((0.001 + far) * (1 + far))
				move(a, rate, push*x, push*y)
			}
		}
	}
	return at
}

// move takes a step, each coordinate of which is bounded.
func move(a *[2]float64, rate, x, y float64) {
	const most = 4
	a[0] += rate * min(max(x, -most), most)
	a[1] += rate * min(max(y, -most), most)
}

// start is the first two coordinates, scaled to 20 across, with a little noise
// so that equal rows part.
func start(rows []float64, d, n int, rng *rand.Rand) [][2]float64 {
	at := make([][2]float64, n)
	widest := 0.0
	for i := range at {
		for k := range min(d, 2) {
			widest = max(widest, math.Abs(rows[i*d+k]))
		}
	}
	for i := range at {
		for k := range min(d, 2) {
			if widest > 0 {
				at[i][k] = 10 * rows[i*d+k] / widest
			}
		}
		for k := range 2 {
			at[i][k] += 1e-3 * rng.NormFloat64()
		}
	}
	return at
}

type neighbour struct {
	row int32
	far float64
}

// nearestRows lists the k nearest others of each row, nearest first, of equal
// ones the lower row.
func nearestRows(rows []float64, d, n, k int) []neighbour {
	out := make([]neighbour, n*k)
	for i := range n {
		a, held := rows[i*d:i*d+d], out[i*k:i*k:i*k+k]
		for j := range n {
			if j == i {
				continue
			}
			far := 0.0
			for x, v := range rows[j*d : j*d+d] {
				far += (a[x] - v) * (a[x] - v)
			}
			if len(held) == k && far >= held[k-1].far {
				continue
			}
			to := len(held)
			for to > 0 && held[to-1].far > far {
				to--
			}
			if len(held) < k {
				held = append(held, neighbour{})
			}
			copy(held[to+1:], held[to:])
			held[to] = neighbour{int32(j), far}
		}
		for x := range held {
			held[x].far = math.Sqrt(held[x].far)
		}
	}
	return out
}

// Nearest gives the nearest other of each place on a map, -1 where it is alone.
func Nearest(at [][2]float64) []int {
	out := make([]int, len(at))
	flat := make([]float64, 0, 2*len(at))
	for _, p := range at {
		flat = append(flat, p[0], p[1])
	}
	if len(at) < 2 {
		for i := range out {
			out[i] = -1
		}
		return out
	}
	for i, x := range nearestRows(flat, 2, len(at), 1) {
		out[i] = int(x.row)
	}
	return out
}

type edge struct {
	a, b   int32
	weight float64
}

// fuzzy joins the neighbourhoods, each scaled so that its weights sum to log2 k
// and the nearest one has weight 1: a + b - ab where two rows see one another.
func fuzzy(near []neighbour, k int) []edge {
	type pair struct{ a, b int32 }
	weights := map[pair]float64{}
	var order []pair
	for i := range len(near) / k {
		list := near[i*k : i*k+k]
		nearest, width := scaleOf(list)
		for _, x := range list {
			w := 1.0
			if x.far > nearest && width > 0 {
				w = math.Exp(-(x.far - nearest) / width)
			}
			p := pair{min(int32(i), x.row), max(int32(i), x.row)}
			before, seen := weights[p]
			if !seen {
				order = append(order, p)
			}
			weights[p] = before + w - before*w
		}
	}
	edges := make([]edge, 0, 2*len(order))
	for _, p := range order {
		if w := weights[p]; w > 1e-3 { // a weaker one would be pulled less than once in most maps
			edges = append(edges, edge{p.a, p.b, w}, edge{p.b, p.a, w})
		}
	}
	slices.SortStableFunc(edges, func(x, y edge) int { return cmp.Or(cmp.Compare(x.a, y.a), cmp.Compare(x.b, y.b)) })
	return edges
}

// scaleOf gives the distance of the nearest row that is apart, and the width at
// which the weights sum to log2 of their number.
func scaleOf(list []neighbour) (nearest, width float64) {
	for _, x := range list {
		if x.far > 0 {
			nearest = x.far
			break
		}
	}
	want := math.Log2(float64(len(list)))
	low, high := 0.0, math.Inf(1)
	width = 1
	for range 64 {
		sum := 0.0
		for _, x := range list {
			sum += math.Exp(-max(x.far-nearest, 0) / width)
		}
		if math.Abs(sum-want) < 1e-5 {
			break
		}
		if sum > want {
			high = width
			width = (low + high) / 2
		} else {
			low = width
			if width *= 2; !math.IsInf(high, 1) {
				width = (low + high) / 2
			}
		}
	}
	// Rows of which most are equal have no width of their own.
	mean := 0.0
	for _, x := range list {
		mean += x.far / float64(len(list))
	}
	return nearest, max(width, 1e-3*mean)
}
