package cluster

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// lcgPoints are unit vectors of 8 coordinates around the axes, by the
// generator x = (1103515245 x + 12345) mod 2^31 from 12345; testdata/linkage
// was made from the same ones.
func lcgPoints(n int) []float64 { return lcgOverlapping(n, 8) }

// lcgOverlapping are such vectors of d coordinates around the first 8 axes.
func lcgOverlapping(n, d int) []float64 {
	rows := make([]float64, n*d)
	x := uint64(12345)
	for i := range n {
		for k := range d {
			x = (1103515245*x + 12345) % (1 << 31)
			rows[i*d+k] = float64(x)/(1<<31) - 0.5
			if k == i%8 {
				rows[i*d+k]++
			}
		}
		normalise(rows[i*d : i*d+d])
	}
	return rows
}

func letters(part []int) string {
	h := fnv.New64a()
	for _, c := range part {
		h.Write([]byte{byte('a' + c)})
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

// The oracle is SciPy's linkage over the full matrix; its version stands in
// the file. Heights agree to 1e-9, partitions of 2 to 12 clusters are equal.
func TestLinkageAgreesWithSciPy(t *testing.T) {
	data, err := os.ReadFile("testdata/linkage/scipy.json")
	if err != nil {
		t.Fatal(err)
	}
	var want struct {
		Sets []struct {
			N          int               `json:"n"`
			Largest    []float64         `json:"largest"`
			Sum        float64           `json:"sum"`
			Partitions map[string]string `json:"partitions"`
		} `json:"sets"`
	}
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	for _, w := range want.Sets {
		if w.N > 5000 && testing.Short() {
			continue
		}
		tree := Linkage(lcgPoints(w.N), 8, nil)
		sum := 0.0
		for _, m := range tree.Merges {
			sum += m.Height
		}
		if math.Abs(sum-w.Sum) > 1e-9*w.Sum {
			t.Errorf("n=%d: heights sum to %.12f, want %.12f", w.N, sum, w.Sum)
		}
		for i, h := range w.Largest {
			if got := tree.Merges[len(tree.Merges)-1-i].Height; math.Abs(got-h) > 1e-9 {
				t.Fatalf("n=%d: height %d from the top is %.12f, want %.12f", w.N, i, got, h)
			}
		}
		for k := 2; k <= 12; k++ {
			if got := letters(tree.Cut(k)); got != w.Partitions[fmt.Sprint(k)] {
				t.Errorf("n=%d: the cut into %d differs", w.N, k)
			}
		}
	}
}

// naive is average linkage by its definition: the mean distance of all pairs.
func naive(rows []float64, d int, weights []float64) []float64 {
	type set struct {
		members []int
	}
	n := len(rows) / d
	w := func(i int) float64 {
		if weights == nil {
			return 1
		}
		return weights[i]
	}
	var live []set
	for i := range n {
		live = append(live, set{[]int{i}})
	}
	var heights []float64
	for len(live) > 1 {
		best, a, b := math.Inf(1), 0, 0
		for i := range live {
			for j := i + 1; j < len(live); j++ {
				s, of := 0.0, 0.0
				for _, x := range live[i].members {
					for _, y := range live[j].members {
						s += w(x) * w(y) * (1 - dotAll(rows[x*d:x*d+d], rows[y*d:y*d+d]))
						of += w(x) * w(y)
					}
				}
				if s/of < best {
					best, a, b = s/of, i, j
				}
			}
		}
		heights = append(heights, best)
		live[a].members = append(live[a].members, live[b].members...)
		live = slices.Delete(live, b, b+1)
	}
	return heights
}

func TestLinkageAgreesWithItsDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, d := range []int{2, 3, 5, 12} {
		rows, weights := make([]float64, 40*d), make([]float64, 40)
		for i := range 40 {
			for k := range d {
				rows[i*d+k] = rng.NormFloat64()
			}
			normalise(rows[i*d : i*d+d])
			weights[i] = float64(1 + rng.IntN(5))
		}
		for _, w := range [][]float64{nil, weights} {
			want := naive(rows, d, w)
			for i, m := range Linkage(rows, d, w).Merges {
				if math.Abs(m.Height-want[i]) > 1e-12 {
					t.Fatalf("d=%d weighted=%v: height %d is %v, want %v", d, w != nil, i, m.Height, want[i])
				}
			}
		}
	}
}

func TestLinkageOfFew(t *testing.T) {
	if tree := Linkage(nil, 0, nil); tree.N != 0 || len(tree.Merges) != 0 {
		t.Errorf("of nothing: %+v", tree)
	}
	if tree := Linkage([]float64{1, 0}, 2, nil); tree.N != 1 || len(tree.Merges) != 0 || tree.Cut(1)[0] != 0 {
		t.Errorf("of one: %+v", tree)
	}
	tree := Linkage([]float64{1, 0, 0, 1}, 2, nil)
	if len(tree.Merges) != 1 || tree.Merges[0] != (Merge{A: 0, B: 1, Height: 1, Size: 2}) {
		t.Errorf("of two at right angles: %+v", tree)
	}
}

// Equal points everywhere: all heights tie, and the tree is still the same.
func TestLinkageOfTies(t *testing.T) {
	var rows []float64
	for i := range 60 {
		v := []float64{0, 0, 0, 0, 0, 0}
		v[i%6] = 1
		rows = append(rows, v...)
	}
	tree := Linkage(rows, 6, nil)
	if len(tree.Merges) != 59 {
		t.Fatalf("%d merges of 60 points", len(tree.Merges))
	}
	for i, m := range tree.Merges {
		want := 0.0
		if i >= 54 {
			want = 1
		}
		if math.Abs(m.Height-want) > 1e-12 {
			t.Errorf("merge %d at %v, want %v", i, m.Height, want)
		}
	}
	for i, c := range tree.Cut(6) {
		if c != i%6 {
			t.Fatalf("point %d is in cluster %d, want %d", i, c, i%6)
		}
	}
}

// Representatives find what the exact tree finds where it can be found, in
// any case with the same answer for the same seed.
func TestRepresentativesOfSeparable(t *testing.T) {
	rows := lcgSeparable(6000)
	centre, weight, of := representatives(rows, 8, 60, 7)
	again, _, _ := representatives(rows, 8, 60, 7)
	if !slices.Equal(centre, again) {
		t.Error("the same seed gives other representatives")
	}
	total := 0.0
	for _, w := range weight {
		total += w
	}
	if total != 6000 {
		t.Errorf("weights sum to %v, want 6000", total)
	}
	part := Linkage(centre, 8, weight).Cut(8)
	for i, r := range of {
		if part[r] != part[of[i%8]] {
			t.Fatalf("point %d is apart from point %d of the same direction", i, i%8)
		}
	}
}

func lcgSeparable(n int) []float64 {
	rows := lcgPoints(n)
	for i := range n {
		v := rows[i*8 : i*8+8]
		v[i%8] += 2
		normalise(v)
	}
	return rows
}

// The speed of scikit-learn on the same points: testdata/linkage/peer.py.
func BenchmarkLinkage(b *testing.B) {
	for _, d := range []int{8, 12} {
		for _, n := range []int{1000, 5000, 20000, 100000} {
			rows := lcgOverlapping(n, d)
			b.Run(fmt.Sprintf("points=%d/dims=%d", n, d), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					Linkage(rows, d, nil)
				}
			})
		}
	}
}
