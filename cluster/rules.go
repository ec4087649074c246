package cluster

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/vm"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/reduce"
)

// Rules is a compiled catalogue. It is immutable; Judges made from it are not
// safe for concurrent use.
type Rules struct {
	entries   []entry
	facts     []Fact // that any expression uses
	asked     []features.Query
	remarks   []remark
	outsiders []outsider
	maxID     int
}

type entry struct {
	Pathology
	direction features.Vector // of the signature, unit length
	evidence  []expression    // of Evidence, to which each requirement adds its veto
	known     []expression    // vetoes of requirements whose facts must be known
	causes    []expression
}

// remark is a compiled note.
type remark struct {
	Note
	expression
}

// impossible is the weight of an unmet requirement: more than any cosine and
// evidence make up for, so that neither class nor neighbours can name it.
const impossible = -2

// untoldMost is how much of a signature's length, squared, may lie on axes that
// the source doesn't tell. Beyond it what is left of the signature is what many
// pathologies look like, so that a name would be invented: without offsets nobody
// knows of re-reads, and a busy device is no cache thrash.
const untoldMost = 0.5

// expression is a compiled rule and the facts it needs, by index in Rules.facts.
type expression struct {
	program *vm.Program
	needs   []int
}

// Compile checks and compiles a catalogue. The error names the entry and the
// rule of each fault.
func Compile(c Catalogue) (*Rules, error) {
	if len(c.Pathologies) == 0 {
		return nil, errors.New("cluster: catalogue without pathologies")
	}
	known := Facts()
	at := make(map[string]int, len(known))
	env := make(map[string]any, len(known))
	for i, f := range known {
		at[f.Name], env[f.Name] = i, 0.0
	}
	used := make([]int, len(known)) // 1 + index in r.facts
	r := &Rules{asked: slices.Clone(standing[:])}
	var bad []error
	compile := func(where, source string) expression {
		queries, err := queriesOf(source)
		if err != nil {
			bad = append(bad, fmt.Errorf("cluster: catalogue: %s: %w", where, err))
			return expression{}
		}
		for _, q := range queries {
			if f := answer(q, r.ask(q)); env[f.Name] == nil {
				at[f.Name], env[f.Name] = len(known), 0.0
				known, used = append(known, f), append(used, 0)
			}
		}
		e, names, err := compileOne(source, env)
		if err != nil {
			bad = append(bad, fmt.Errorf("cluster: catalogue: %s: %w", where, err))
			return e
		}
		for _, n := range names {
			i := at[n]
			if used[i] == 0 {
				r.facts = append(r.facts, known[i])
				used[i] = len(r.facts)
			}
			e.needs = append(e.needs, used[i]-1)
		}
		return e
	}
	slugs := map[string]bool{}
	for _, p := range c.Pathologies {
		e := entry{Pathology: p}
		if p.Slug == "" || slugs[p.Slug] {
			bad = append(bad, fmt.Errorf("cluster: catalogue: slug %q is empty or stands twice", p.Slug))
		}
		slugs[p.Slug] = true
		var err error
		if e.direction, err = direction(p.Signature); err != nil {
			bad = append(bad, fmt.Errorf("cluster: catalogue: %s: signature: %w", p.Slug, err))
		}
		for i, rule := range p.Evidence {
			where := located(rule.At) + fmt.Sprintf("%s: evidence %d", p.Slug, i+1)
			if rule.Says == "" {
				bad = append(bad, fmt.Errorf("cluster: catalogue: %s: says nothing in words", where))
			}
			e.evidence = append(e.evidence, compile(where, rule.When))
		}
		for i, q := range p.Requires {
			where := located(q.At) + fmt.Sprintf("%s: requirement %d", p.Slug, i+1)
			if q.When == "" || q.Says == "" {
				bad = append(bad, fmt.Errorf("cluster: catalogue: %s: no expression or no words", where))
				continue
			}
			veto := Rule{When: "!(" + q.When + ")", Says: "impossible unless " + q.Says, Weight: impossible}
			e.Evidence = append(slices.Clip(e.Evidence), veto)
			e.evidence = append(e.evidence, compile(where, veto.When))
			if q.Known {
				e.known = append(e.known, e.evidence[len(e.evidence)-1])
			}
		}
		for _, cause := range p.Causes {
			e.causes = append(e.causes, compile(located(cause.At)+fmt.Sprintf("%s: cause %q", p.Slug, cause.ID), cause.When))
		}
		r.maxID = max(r.maxID, p.ID)
		r.entries = append(r.entries, e)
	}
	for _, n := range c.Notes {
		where := located(n.At) + fmt.Sprintf("note %q", n.ID)
		if n.Says == "" {
			bad = append(bad, fmt.Errorf("cluster: catalogue: %s: says nothing in words", where))
		}
		r.remarks = append(r.remarks, remark{n, compile(where, n.When)})
	}
	for _, n := range c.Outside {
		where := located(n.At) + fmt.Sprintf("outside %q", n.ID)
		if n.ID == "" || n.Says == "" {
			bad = append(bad, fmt.Errorf("cluster: catalogue: %s: has no id, or says nothing in words", where))
		}
		r.outsiders = append(r.outsiders, outsider{n, compile(where, n.When)})
	}
	if len(bad) > 0 {
		return nil, errors.Join(bad...)
	}
	return r, nil
}

// located is a file and line, to stand before what is said of it.
func located(at string) string {
	if at == "" {
		return ""
	}
	return at + ": "
}

func compileOne(source string, env map[string]any) (expression, []string, error) {
	if source == "" {
		return expression{}, nil, errors.New("no expression")
	}
	program, err := expr.Compile(source, expr.Env(env), expr.AsBool(), expr.Patch(&asking{}))
	if err != nil {
		return expression{}, nil, err
	}
	var v identifiers
	node := program.Node()
	ast.Walk(&node, &v)
	var names []string
	seen := map[string]bool{}
	for _, n := range v {
		if _, ok := env[n]; ok && !seen[n] {
			seen[n] = true
			names = append(names, n)
		}
	}
	return expression{program: program}, names, nil
}

// identifiers collects the names that an expression uses.
type identifiers []string

func (v *identifiers) Visit(node *ast.Node) {
	if n, ok := (*node).(*ast.IdentifierNode); ok {
		*v = append(*v, n.Value)
	}
}

// direction is the unit vector of a signature.
func direction(signature map[string]float64) (features.Vector, error) {
	var v features.Vector
	norm := 0.0
	found := 0
	for i, f := range features.Features {
		x, ok := signature[f.Name]
		if !ok {
			continue
		}
		found++
		v[i] = x
		norm += x * x
	}
	if found != len(signature) {
		for name := range signature {
			if !isFeature(name) {
				return v, fmt.Errorf("%q is no feature", name)
			}
		}
	}
	if !(norm > 0) || math.IsInf(norm, 0) {
		return v, errors.New("no direction")
	}
	norm = math.Sqrt(norm)
	for i := range v {
		v[i] /= norm
	}
	return v, nil
}

func isFeature(name string) bool {
	for _, f := range features.Features {
		if f.Name == name {
			return true
		}
	}
	return false
}

// Slugs lists the pathologies in the order of the catalogue.
func (r *Rules) Slugs() []string {
	s := make([]string, len(r.entries))
	for i := range r.entries {
		s[i] = r.entries[i].Slug
	}
	return s
}

func (r *Rules) index(slug string) int {
	for i := range r.entries {
		if r.entries[i].Slug == slug {
			return i
		}
	}
	return -1
}

// Witness evaluates the expressions of a catalogue on points. It is scratch:
// one a goroutine.
type Witness struct {
	r     *Rules
	env   map[string]any
	known []bool
	point *reduce.Point // that is looked at
	vm    vm.VM
}

// Witness makes one.
func (r *Rules) Witness() *Witness {
	return &Witness{r: r, env: make(map[string]any, len(r.facts)), known: make([]bool, len(r.facts))}
}

// look loads the facts of a point.
func (w *Witness) look(p *reduce.Point) {
	w.point = p
	for i := range w.r.facts {
		f := &w.r.facts[i]
		x := f.of(p)
		w.known[i] = !math.IsNaN(x)
		if w.known[i] {
			w.env[f.Name] = x
		}
	}
}

// holds reports whether an expression holds for the point looked at, and
// whether it could be told: a missing fact makes it abstain.
func (w *Witness) holds(e *expression) (yes, told bool) {
	for _, i := range e.needs {
		if !w.known[i] {
			return false, false
		}
	}
	out, err := w.vm.Run(e.program, w.env)
	if err != nil {
		return false, false
	}
	yes, told = out.(bool)
	return yes, told
}

// weigh sums the weights of the evidence rules that hold, one sum an entry.
func (w *Witness) weigh(out []float64) {
	for i := range w.r.entries {
		e := &w.r.entries[i]
		out[i] = 0
		if w.untold(i) > untoldMost {
			out[i] = impossible
		}
		for j := range e.evidence {
			if yes, _ := w.holds(&e.evidence[j]); yes {
				out[i] += e.Evidence[j].Weight
			}
		}
	}
}

// guesses reports whether the source leaves untold at the point looked at what
// must be known for an entry to be named.
func (w *Witness) guesses(entry int) bool {
	e := &w.r.entries[entry]
	return slices.ContainsFunc(e.known, func(x expression) bool {
		_, told := w.holds(&x)
		return !told
	})
}

// untold is the share of an entry's signature, by length squared, on axes that
// are missing at the point looked at.
func (w *Witness) untold(entry int) float64 {
	share := 0.0
	for i, x := range w.r.entries[entry].direction {
		if w.point != nil && !w.point.Window.Missing.Has(i) {
			share += x * x
		}
	}
	return share
}

// says lists in words what holds for an entry.
func (w *Witness) says(entry int) []string {
	var s []string
	e := &w.r.entries[entry]
	for j := range e.evidence {
		if yes, _ := w.holds(&e.evidence[j]); yes {
			s = append(s, e.Evidence[j].Says)
		}
	}
	return s
}

// cause gives the first cause of an entry whose expression holds, -1 if none
// does, and whether any could be told.
func (w *Witness) cause(entry int) (cause int, told bool) {
	e := &w.r.entries[entry]
	for j := range e.causes {
		yes, known := w.holds(&e.causes[j])
		told = told || known
		if yes {
			return j, true
		}
	}
	return -1, told
}
