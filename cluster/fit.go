package cluster

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/reduce"
)

// topMerges is the number of merges that a result shows.
const topMerges = 64

// Fit finds the classes of the sick points: gate, linkage, cut, names. prior
// gives gates and reliability; nil falls back to constants. Labels play no
// part. The result doesn't depend on the order of the points.
func Fit(points features.Rows[reduce.Point], r *Rules, prior *Model, o Options) (*Model, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	sick, _ := sickPoints(points, newJudge(r, prior, o))
	return fitSick(points, sick, r, prior, o)
}

// fitSick is Fit of the points that are known to be sick.
func fitSick(points features.Rows[reduce.Point], sick []int32, r *Rules, prior *Model, o Options) (*Model, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	if len(sick) == 0 {
		return nil, fmt.Errorf("cluster: no window is sick: there are no classes to find")
	}
	m := &Model{Schema: Schema, Kind: Fitted, Gates: prior.listGates(r)}
	if prior != nil {
		m.Sick, m.Well = prior.Sick, prior.Well
	}
	m.Reduce = points.At(int(sick[0])).Space
	g := gather(points, sick, o)
	m.top = g.top()
	k, cuts := g.count(o)
	m.cuts = cuts
	part := g.cut(k, o)
	m.Provenance = fmt.Sprintf("fitted on %d sick windows", len(sick))
	if o.K == Auto {
		m.Provenance += fmt.Sprintf(", %d classes asked for by stability and silhouette of %d to %d", k, autoLeast, autoMost)
	}
	m.silhouette = g.silhouette(part)
	m.Classes = name(points, sick, part, newJudge(r, prior, o))
	return m, nil
}

func (m *Model) listGates(r *Rules) []Gate {
	values := m.gates(r)
	g := make([]Gate, len(values))
	for i := range g {
		g[i] = Gate{Pathology: r.entries[i].Slug, Projection: values[i]}
	}
	return g
}

// sickPoints lists the sick points by key: host, device, start. It also gives
// the number of devices.
func sickPoints(points features.Rows[reduce.Point], j *judge) (sick []int32, devices int) {
	seen, last := map[features.Key]bool{}, features.Key{}
	l := j.blank()
	for i := range points.Len() {
		p := points.At(i)
		if i == 0 || p.Window.Key != last {
			last = p.Window.Key
			seen[last] = true
		}
		if j.one(p, &l); l.verdict == Sick {
			sick = append(sick, int32(i))
		}
	}
	less := func(a, b int32) int { return byKey(points.At(int(a)).Window, points.At(int(b)).Window) }
	if !slices.IsSortedFunc(sick, less) {
		slices.SortStableFunc(sick, less)
	}
	return sick, len(seen)
}

func byKey(a, b *features.Window) int {
	return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Device, b.Device), cmp.Compare(a.StartNS, b.StartNS))
}

// gathering is the linkage of the sick points.
type gathering struct {
	d    int
	rows []float64 // unit vectors of the points, by key
	tree Tree      // over the points, or over their representatives
	n    int

	of     []int     // representative of each point; nil when exact
	weight []float64 // points of each representative
}

func gather(points features.Rows[reduce.Point], sick []int32, o Options) *gathering {
	g := &gathering{n: len(sick), d: len(points.At(int(sick[0])).Y)}
	g.rows = make([]float64, 0, g.n*g.d)
	for _, i := range sick {
		g.rows = append(g.rows, bearing(points.At(int(i)))...)
	}
	g.link(o)
	return g
}

// link makes the tree: of the points, or of representatives where they are
// more than Options.Exact.
func (g *gathering) link(o Options) {
	if g.n <= o.Exact {
		g.tree = Linkage(g.rows, g.d, nil)
		return
	}
	centre, weight, of := representatives(g.rows, g.d, o.Centres, o.Seed)
	g.tree, g.of, g.weight = Linkage(centre, g.d, weight), of, weight
}

// leaves gives each point its cluster at a cut of the tree into k.
func (g *gathering) leaves(k int) []int {
	c := g.tree.Cut(k)
	if g.of == nil {
		return c
	}
	out := make([]int, g.n)
	for i, r := range g.of {
		out[i] = c[r]
	}
	return out
}

// fragment is the number of windows below which a cluster is no class.
func (g *gathering) fragment(o Options) int {
	return max(int(math.Ceil(o.Fragment*float64(g.n))), min(5, g.n))
}

// cut finds the k major clusters: the tree is cut ever finer until k clusters
// are no fragments, or until a cut would part what is one direction. It gives
// each point its class, 0 to k-1 by falling size, -1 for a fragment. The
// number of classes is at most one for every five windows.
func (g *gathering) cut(k int, o Options) []int {
	k = max(min(k, g.n/5), 1)
	least := g.fragment(o)
	major := func(node int) int {
		if g.size(node) >= float64(least) {
			return 1
		}
		return 0
	}
	best, bestMajor := 1, 1
	for c, now := 2, 1; c <= g.tree.N && now < k; c++ {
		node := g.tree.N - c // the merge that this cut takes back
		m := &g.tree.Merges[node]
		if m.Height < o.Distinct {
			break
		}
		now += major(m.A) + major(m.B) - major(g.tree.N+node)
		if now > bestMajor {
			best, bestMajor = c, now
		}
	}
	return rank(g.leaves(best), least)
}

// size is the number of points below a node of the tree.
func (g *gathering) size(node int) float64 {
	switch {
	case node >= g.tree.N:
		return g.tree.Merges[node-g.tree.N].Size
	case g.weight == nil:
		return 1
	}
	return g.weight[node]
}

func sizes(part []int, k int) []int {
	n := make([]int, k)
	for _, c := range part {
		n[c]++
	}
	return n
}

// rank renumbers clusters by falling size, equal ones by their first point;
// fragments become -1.
func rank(part []int, least int) []int {
	k := 0
	for _, c := range part {
		k = max(k, c+1)
	}
	n := sizes(part, k)
	order := make([]int, k)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(n[b], n[a]) })
	to := make([]int, k)
	next := 0
	for _, c := range order {
		to[c] = -1
		if n[c] >= least {
			to[c] = next
			next++
		}
	}
	out := make([]int, len(part))
	for i, c := range part {
		out[i] = to[c]
	}
	return out
}

// silhouette is the mean over the points of classes of (b - a) / max(a, b)
// (Rousseeuw, 1987) with cosine distance. The mean distance of a point to a
// cluster is 1 minus its product with the cluster's mean, so it is exact and
// takes one pass.
func (g *gathering) silhouette(part []int) float64 {
	s, n := 0.0, 0
	for _, v := range g.silhouettes(part) {
		if !math.IsNaN(v) {
			s += v
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return s / float64(n)
}

func (g *gathering) silhouettes(part []int) []float64 {
	k := 0
	for _, c := range part {
		k = max(k, c+1)
	}
	sum, n := make([]float64, k*g.d), make([]float64, k)
	for i, c := range part {
		if c < 0 {
			continue
		}
		n[c]++
		for x := range g.d {
			sum[c*g.d+x] += g.rows[i*g.d+x]
		}
	}
	out := make([]float64, len(part))
	for i, own := range part {
		out[i] = math.NaN()
		if own < 0 || k < 2 {
			continue
		}
		out[i] = 0
		if n[own] < 2 {
			continue
		}
		row := g.rows[i*g.d : i*g.d+g.d]
		near, self := math.Inf(1), 0.0
		for c := range k {
			along := dotAll(row, sum[c*g.d:c*g.d+g.d])
			if c == own {
				self = max(1-(along-dotAll(row, row))/(n[c]-1), 0)
			} else {
				near = min(near, max(1-along/n[c], 0))
			}
		}
		if m := max(self, near); m > 0 {
			out[i] = (near - self) / m
		}
	}
	return out
}

// top is the last merges, largest first.
func (g *gathering) top() []Merge {
	var top []Merge
	for i := len(g.tree.Merges) - 1; i >= 0 && len(top) < topMerges; i-- {
		top = append(top, g.tree.Merges[i])
	}
	return top
}

// name makes the classes of a partition and gives them names: the cosine of
// the prototype with each signature plus the mean weight of the members'
// evidence.
func name(points features.Rows[reduce.Point], sick []int32, part []int, j *judge) []Prototype {
	r, l := j.r, j.blank()
	k := 0
	for _, c := range part {
		k = max(k, c+1)
	}
	classes := make([]Prototype, k)
	mean := make([]features.Vector, k) // directions of the members, nothing eased
	evidence := make([]float64, k*len(r.entries))
	for at, i := range sick {
		c := part[at]
		if c < 0 {
			continue
		}
		p := &classes[c]
		p.Members++
		point := points.At(int(i))
		j.one(point, &l)
		z := eased(&point.Z)
		n, whole := norm(&z), norm(&point.Z)
		for f := range z {
			p.Direction[f] += z[f] / n
			mean[c][f] += point.Z[f] / whole
		}
		for e := range r.entries {
			evidence[c*len(r.entries)+e] += l.evidence[e]
		}
	}
	for c := range classes {
		p := &classes[c]
		p.ID = c + 1
		if n := norm(&p.Direction); n > 0 {
			for f := range p.Direction {
				p.Direction[f] /= n
			}
		}
		best, score, length := -1, 0.0, norm(&mean[c])
		for e := range r.entries {
			s := evidence[c*len(r.entries)+e] / float64(p.Members)
			for f, x := range mean[c] {
				s += x / length * r.entries[e].direction[f]
			}
			if best < 0 || s > score {
				best, score = e, s
			}
		}
		p.Nearest, p.Score = r.entries[best].Slug, score
		p.Pathology = Unrecognised
		if score >= j.o.MinScore {
			p.Pathology = p.Nearest
		}
	}
	return classes
}

func norm(z *features.Vector) float64 {
	s := 0.0
	for _, x := range z {
		s += x * x
	}
	return math.Sqrt(s)
}

// lesser is what a deviation below healthy weighs in the direction of a class,
// against one above: the axes are made to grow with what is wrong, and what falls
// below healthy beside it (a kurtosis, a residual) is a side effect.
const lesser = 0.3

// eased is a deviation as the classes see it.
func eased(z *features.Vector) (e features.Vector) {
	for f, x := range z {
		e[f] = max(x, lesser*x)
	}
	return e
}

// bearing is the direction of a point, of unit length, as the linkage sees it.
func bearing(p *reduce.Point) []float64 {
	z := eased(&p.Z)
	y := make([]float64, len(p.Y))
	p.Space.Rotate(&z, y)
	normalise(y)
	return y
}
