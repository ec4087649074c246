package matrix

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Effect is what a factor, or a pair of factors beyond what each does, has to
// do with the latency.
type Effect struct {
	Factors []string `json:"factors"` // one or two
	Share   float64  `json:"share"`   // of the variation of log latency over the runs
	Low     float64  `json:"low"`     // 95 % interval of the share, by bootstrap
	High    float64  `json:"high"`
	Ratio   float64  `json:"ratio"` // the largest: slowest over fastest level; of a pair, the cell over what its levels predict
	At      []string `json:"at"`    // slowest and fastest level; of a pair, the two levels of the cell
	P       float64  `json:"p"`     // of no effect (F), before correction
	Found   bool     `json:"found"` // beyond chance, after Holm's correction
}

// Options of the effects.
type Options struct {
	Seed      uint64
	Resamples int
	Alpha     float64 // share of matrices without any effect in which one may be found
}

// DefaultOptions are those of iopathy matrix.
func DefaultOptions() Options { return Options{Seed: 1, Resamples: 500, Alpha: 0.02} }

// Measure is a latency that the effects are of.
type Measure struct {
	Name string
	of   func(*Figures) float64
}

// Measures are the latencies that a matrix is asked about.
var Measures = []Measure{
	{"latency_p50", func(f *Figures) float64 { return f.P50MS }},
	{"latency_p99", func(f *Figures) float64 { return f.P99MS }},
}

// term is a block of columns of the linear model in effect coding.
type term struct {
	factors []int
	columns [][]float64
}

// Effects gives the factors and pairs by share, the largest first. The sums of
// squares are of type II (each beyond all others but those that hold it), so
// cells may be empty and have several runs. ok is false where the runs are too
// few to tell anything.
func (m *Matrix) Effects(of Measure, o Options) (effects []Effect, ok bool) {
	var rows []placed
	var y []float64
	for _, r := range m.runs {
		if v := of.of(&r.Figures); v > 0 && !math.IsInf(v, 0) {
			rows, y = append(rows, r), append(y, math.Log(v))
		}
	}
	terms := m.terms(rows)
	full, rank := fit(y, terms)
	if len(y)-rank < 2 { // pairs leave nothing to tell chance by
		terms = slices.DeleteFunc(terms, func(t term) bool { return len(t.factors) > 1 })
		if full, rank = fit(y, terms); len(y)-rank < 2 {
			return nil, false
		}
	}
	free := len(y) - rank
	rss := squares(sub(y, full))
	steps := newLadder(len(y), terms)
	shares, drops := steps.decompose(y)
	lows, highs := bootstrap(y, full, steps, rank, o)
	for i, t := range terms {
		e := Effect{Share: shares[i], Low: lows[i], High: highs[i], P: 1}
		for _, f := range t.factors {
			e.Factors = append(e.Factors, m.Factors[f].Name)
		}
		e.Ratio, e.At = m.largest(rows, y, t.factors)
		switch {
		case drops[i].rank == 0:
		case rss <= 1e-12*squares(centred(y)):
			if drops[i].squares > 1e-9*squares(centred(y)) {
				e.P = 0
			}
		default:
			f := drops[i].squares / float64(drops[i].rank) / (rss / float64(free))
			e.P = 1 - distuv.F{D1: float64(drops[i].rank), D2: float64(free)}.CDF(f)
		}
		effects = append(effects, e)
	}
	holm(effects, o.Alpha/float64(len(Measures)))
	slices.SortStableFunc(effects, func(a, b Effect) int { return cmp.Compare(b.Share, a.Share) })
	return effects, true
}

// terms are the factors and then their pairs.
func (m *Matrix) terms(rows []placed) []term {
	var terms []term
	coded := make([][][]float64, len(m.Factors))
	for f := range m.Factors {
		n := len(m.Factors[f].Levels)
		for level := range n - 1 {
			col := make([]float64, len(rows))
			for i := range rows {
				switch rows[i].levels[f] {
				case level:
					col[i] = 1
				case n - 1:
					col[i] = -1
				}
			}
			coded[f] = append(coded[f], col)
		}
		if len(coded[f]) > 0 {
			terms = append(terms, term{[]int{f}, coded[f]})
		}
	}
	for a := range m.Factors {
		for b := a + 1; b < len(m.Factors); b++ {
			t := term{factors: []int{a, b}}
			for _, x := range coded[a] {
				for _, z := range coded[b] {
					col := make([]float64, len(rows))
					for i := range col {
						col[i] = x[i] * z[i]
					}
					t.columns = append(t.columns, col)
				}
			}
			if len(t.columns) > 0 {
				terms = append(terms, t)
			}
		}
	}
	return terms
}

// basis is orthonormal columns that span a constant and the columns of the
// terms that keep keeps (nil: all).
func basis(rows int, terms []term, keep func(term) bool) [][]float64 {
	one := make([]float64, rows)
	for i := range one {
		one[i] = 1
	}
	cols := [][]float64{one}
	for _, t := range terms {
		if keep == nil || keep(t) {
			cols = append(cols, t.columns...)
		}
	}
	x := mat.NewDense(rows, len(cols), nil)
	for j, c := range cols {
		x.SetCol(j, c)
	}
	var svd mat.SVD
	if !svd.Factorize(x, mat.SVDThin) {
		return nil
	}
	var u mat.Dense
	svd.UTo(&u)
	values := svd.Values(nil)
	var out [][]float64
	for j, v := range values {
		if v > 1e-9*values[0] {
			out = append(out, mat.Col(nil, j, &u))
		}
	}
	return out
}

// project is what a basis explains of y.
func project(y []float64, basis [][]float64) []float64 {
	fitted := make([]float64, len(y))
	for _, b := range basis {
		var dot float64
		for i, v := range b {
			dot += v * y[i]
		}
		for i, v := range b {
			fitted[i] += dot * v
		}
	}
	return fitted
}

// fit projects y on the columns of all terms, and gives the rank of these.
func fit(y []float64, terms []term) (fitted []float64, rank int) {
	b := basis(len(y), terms, nil)
	return project(y, b), len(b)
}

// drop is what a term explains beyond the others, and its degrees of freedom.
type drop struct {
	squares float64
	rank    int
}

// ladder is for each term the basis of the others but those that hold it, and
// the basis of these and the term.
type ladder [][2][][]float64

func newLadder(rows int, terms []term) ladder {
	var l ladder
	for _, t := range terms {
		without := func(o term) bool { return !holds(o.factors, t.factors) }
		with := func(o term) bool { return slices.Equal(o.factors, t.factors) || without(o) }
		l = append(l, [2][][]float64{basis(rows, terms, without), basis(rows, terms, with)})
	}
	return l
}

func (l ladder) decompose(y []float64) (shares []float64, drops []drop) {
	total := squares(centred(y))
	for _, b := range l {
		d := drop{math.Max(0, squares(sub(y, project(y, b[0])))-squares(sub(y, project(y, b[1])))), len(b[1]) - len(b[0])}
		drops = append(drops, d)
		share := 0.0
		if total > 0 {
			share = d.squares / total
		}
		shares = append(shares, share)
	}
	return shares, drops
}

// holds says whether a term contains all factors of another.
func holds(o, t []int) bool {
	for _, f := range t {
		if !slices.Contains(o, f) {
			return false
		}
	}
	return true
}

// bootstrap gives the interval of each term's share: residuals of the whole
// model, scaled to its degrees of freedom, are dealt anew.
func bootstrap(y, full []float64, steps ladder, rank int, o Options) (lows, highs []float64) {
	residuals := sub(y, full)
	scale := math.Sqrt(float64(len(y)) / float64(len(y)-rank))
	r := rand.New(rand.NewPCG(o.Seed, uint64(len(y))))
	all := make([][]float64, len(steps))
	sample := make([]float64, len(y))
	for range o.Resamples {
		for i := range y {
			sample[i] = full[i] + scale*residuals[r.IntN(len(y))]
		}
		shares, _ := steps.decompose(sample)
		for i, s := range shares {
			all[i] = append(all[i], s)
		}
	}
	for _, s := range all {
		slices.Sort(s)
		lows, highs = append(lows, quantile(s, 0.025)), append(highs, quantile(s, 0.975))
	}
	return lows, highs
}

// largest is the largest ratio that a factor or a pair makes, and where. A
// pair's is what median polish (Tukey, "Exploratory Data Analysis", 1977)
// leaves over: unlike means it gives one odd cell its whole oddness.
func (m *Matrix) largest(rows []placed, y []float64, factors []int) (ratio float64, at []string) {
	if len(factors) == 1 {
		f := factors[0]
		levels := m.Factors[f].Levels
		means := make([]float64, len(levels))
		for l := range levels {
			means[l] = mean(y, func(i int) bool { return rows[i].levels[f] == l })
		}
		slow, fast := 0, 0
		for l, v := range means {
			if v > means[slow] || math.IsNaN(means[slow]) {
				slow = l
			}
			if v < means[fast] || math.IsNaN(means[fast]) {
				fast = l
			}
		}
		return math.Exp(means[slow] - means[fast]), []string{levels[slow], levels[fast]}
	}
	a, b := factors[0], factors[1]
	na, nb := len(m.Factors[a].Levels), len(m.Factors[b].Levels)
	table := make([][]float64, na)
	for i := range table {
		for k := range nb {
			table[i] = append(table[i], mean(y, func(r int) bool { return rows[r].levels[a] == i && rows[r].levels[b] == k }))
		}
	}
	raw := make([][]float64, na)
	for i := range table {
		raw[i] = slices.Clone(table[i])
	}
	polish(table)
	bi, bk := 0, 0
	for i := range table {
		for k, v := range table[i] {
			if math.Abs(v) > math.Abs(table[bi][bk]) || math.IsNaN(table[bi][bk]) {
				bi, bk = i, k
			}
		}
	}
	// Of two levels each, all four cells are off by as much: the slow one is told.
	most, slowest := math.Abs(table[bi][bk]), math.Inf(-1)
	for i := range table {
		for k, v := range table[i] {
			if v >= 0.8*most && raw[i][k] > slowest {
				bi, bk, slowest = i, k, raw[i][k]
			}
		}
	}
	return math.Exp(table[bi][bk]), []string{m.Factors[a].Levels[bi], m.Factors[b].Levels[bk]}
}
