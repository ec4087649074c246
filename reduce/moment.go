package reduce

import (
	"math"
	"math/bits"
	"sort"

	"gonum.org/v1/gonum/mat"

	"github.com/iopathy/iopathy/features"
)

// unit is the grid of z: 2^20 steps a unit. |z| below 2^11 makes products
// below 2^62; 2^64 of them fit into 128 bits.
const unit = 1 << 20

// wide is a 128-bit two's complement sum.
type wide struct {
	hi int64
	lo uint64
}

// addProduct adds a*b exactly.
func (s *wide) addProduct(a, b int64) {
	hi, lo := bits.Mul64(uint64(abs(a)), uint64(abs(b)))
	if (a < 0) != (b < 0) { // negate
		var borrow uint64
		lo, borrow = bits.Sub64(0, lo, 0)
		hi, _ = bits.Sub64(0, hi, borrow)
	}
	var carry uint64
	s.lo, carry = bits.Add64(s.lo, lo, 0)
	h, _ := bits.Add64(uint64(s.hi), hi, carry)
	s.hi = int64(h)
}

func abs(a int64) int64 {
	if a < 0 {
		return -a
	}
	return a
}

// float is the sum, in units of 1/unit^2.
func (s wide) float() float64 {
	neg := s.hi < 0
	hi, lo := uint64(s.hi), s.lo
	if neg {
		var borrow uint64
		lo, borrow = bits.Sub64(0, lo, 0)
		hi, _ = bits.Sub64(0, hi, borrow)
	}
	f := math.Ldexp(float64(hi), 64) + float64(lo)
	if neg {
		f = -f
	}
	return f / (unit * unit)
}

// products is the exact second moment of the windows of one device.
type products struct {
	host, device, group string
	n                   int64
	sum                 [features.N * (features.N + 1) / 2]wide
}

func (p *products) add(z *features.Vector) {
	var q [features.N]int64
	for i, v := range z {
		q[i] = int64(v * unit)
	}
	k := 0
	for i := range features.N {
		for j := 0; j <= i; j++ {
			p.sum[k].addProduct(q[i], q[j])
			k++
		}
	}
	p.n++
}

// moment is the second moment of z about the healthy origin: the mean over
// groups of the mean over devices of the mean over windows. The sums within a
// device are exact under any order, devices and groups are added by name. The zero
// value is ready.
type moment struct {
	at   map[features.Key]*products
	all  []*products
	last *products // of the device before
}

// add takes a window that isn't idle.
func (s *moment) add(point *Point) {
	k := point.Window.Key
	p := s.last
	if p == nil || p.host != k.Host || p.device != k.Device {
		if p = s.at[k]; p == nil {
			if s.at == nil {
				s.at = map[features.Key]*products{}
			}
			p = &products{host: k.Host, device: k.Device, group: point.Normal.Group}
			s.at[k] = p
			s.all = append(s.all, p)
		}
		s.last = p
	}
	p.add(&point.Z)
}

// matrix is the moment of what was added.
func (s *moment) matrix() *mat.SymDense {
	all := s.all
	sort.Slice(all, func(i, j int) bool {
		a, b := all[i], all[j]
		if a.group != b.group {
			return a.group < b.group
		}
		if a.host != b.host {
			return a.host < b.host
		}
		return a.device < b.device
	})
	var total [features.N * (features.N + 1) / 2]float64
	groups := 0
	for from := 0; from < len(all); {
		to := from
		for to < len(all) && all[to].group == all[from].group {
			to++
		}
		for k := range total {
			s := 0.0
			for _, p := range all[from:to] {
				s += p.sum[k].float() / float64(p.n)
			}
			total[k] += s / float64(to-from)
		}
		groups++
		from = to
	}
	m := mat.NewSymDense(features.N, nil)
	k := 0
	for i := range features.N {
		for j := 0; j <= i; j++ {
			if groups > 0 {
				m.SetSym(i, j, total[k]/float64(groups))
			}
			k++
		}
	}
	return m
}

// principal gives eigenvalues, largest first, and their vectors as rows. The
// largest loading of a vector is positive, the first one of equal ones.
func principal(m *mat.SymDense) ([]float64, [][]float64) {
	n := m.SymmetricDim()
	var e mat.EigenSym
	if !e.Factorize(m, true) {
		// A symmetric matrix of finite numbers has eigenvectors; the axes
		// themselves are the fallback for one that LAPACK gives up on.
		values, vectors := make([]float64, n), make([][]float64, n)
		for i := range n {
			values[i], vectors[i] = m.At(i, i), make([]float64, n)
			vectors[i][i] = 1
		}
		return values, vectors
	}
	ascending := e.Values(nil)
	var v mat.Dense
	e.VectorsTo(&v)
	values, vectors := make([]float64, n), make([][]float64, n)
	for i := range n {
		from := n - 1 - i
		values[i] = max(ascending[from], 0)
		row := make([]float64, n)
		mat.Col(row, from, &v)
		top := 0
		for j := range row {
			if math.Abs(row[j]) > math.Abs(row[top])*(1+1e-9) {
				top = j
			}
		}
		if row[top] < 0 {
			for j := range row {
				row[j] = -row[j]
			}
		}
		vectors[i] = row
	}
	return values, vectors
}
