package cluster

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/reduce"
)

// longestName is the most bytes that the name of evidence may have.
const longestName = 200

// longestSlackS is how far before and behind a window seen may look.
const longestSlackS = 24 * 3600

// Asked lists what the catalogue asks of the evidence; Reading.Query is the
// place in it.
func (r *Rules) Asked() []features.Query { return r.asked }

// ask gives a query's place in Asked.
func (r *Rules) ask(q features.Query) int {
	if i := slices.Index(r.asked, q); i >= 0 {
		return i
	}
	r.asked = append(r.asked, q)
	return len(r.asked) - 1
}

// answer is the fact that a query gives.
func answer(q features.Query, at int) Fact {
	return Fact{Name: q.String(), Doc: "evidence", query: at + 1, of: func(p *reduce.Point) float64 {
		if r, ok := p.Window.Reading(at); ok {
			return r.Value
		}
		return math.NaN()
	}}
}

// queriesOf finds the calls that ask the evidence: rate("name"), and
// seen("name", seconds).
func queriesOf(source string) ([]features.Query, error) {
	if source == "" {
		return nil, errors.New("no expression")
	}
	tree, err := parser.Parse(source)
	if err != nil {
		return nil, err
	}
	var v asking
	ast.Walk(&tree.Node, &v)
	return v.found, v.err
}

// asking puts the query's name, as a variable, in place of each call that asks
// the evidence.
type asking struct {
	found []features.Query
	err   error
}

// Visit implements ast.Visitor.
func (v *asking) Visit(node *ast.Node) {
	call, ok := (*node).(*ast.CallNode)
	if !ok {
		return
	}
	callee, ok := call.Callee.(*ast.IdentifierNode)
	if !ok {
		return
	}
	kind := slices.Index(features.EvidenceKinds[:], callee.Value)
	if kind < 0 {
		return
	}
	q := features.Query{Kind: features.EvidenceKind(kind)}
	if err := arguments(&q, call.Arguments); err != nil {
		if v.err == nil {
			v.err = fmt.Errorf("%s: %w", callee.Value, err)
		}
		return
	}
	v.found = append(v.found, q)
	ast.Patch(node, &ast.IdentifierNode{Value: q.String()})
}

// arguments reads those of a call: a name, and for seen a number of seconds.
func arguments(q *features.Query, args []ast.Node) error {
	if len(args) == 0 || len(args) > 2 || len(args) == 2 && q.Kind != features.EvidenceSeen {
		return fmt.Errorf("%d arguments: wants the name of evidence (seen also seconds)", len(args))
	}
	name, ok := args[0].(*ast.StringNode)
	if !ok || name.Value == "" || len(name.Value) > longestName {
		return fmt.Errorf("wants the name of evidence as text")
	}
	q.Name = name.Value
	if len(args) == 1 {
		return nil
	}
	seconds := 0.0
	switch n := args[1].(type) {
	case *ast.IntegerNode:
		seconds = float64(n.Value)
	case *ast.FloatNode:
		seconds = n.Value
	default:
		return fmt.Errorf("wants a number of seconds")
	}
	if !(seconds >= 0 && seconds <= longestSlackS) {
		return fmt.Errorf("%g seconds are not within a day", seconds)
	}
	q.SlackNS = int64(math.Round(seconds * 1e9))
	return nil
}

// Reading is an answer of the evidence that decided: the value, and the row
// that stands for it.
type Reading struct {
	Query  string // as in the catalogue
	Value  float64
	TimeNS int64 // of the row; 0: its source tells none
	Text   string
}

// mostReadings bounds those of an episode.
const mostReadings = 8

// readings lists the answers of the evidence that the rules which hold for an
// entry, and the cause which has the window's vote (-1: none), are built on.
func (w *Witness) readings(entry, cause int, p *reduce.Point) []Reading {
	e := &w.r.entries[entry]
	var all []Reading
	add := func(x *expression) { all = w.asked(all, x, p) }
	if cause >= 0 {
		add(&e.causes[cause])
	}
	for i := range e.evidence {
		if yes, _ := w.holds(&e.evidence[i]); yes {
			add(&e.evidence[i])
		}
	}
	return all
}

// asked adds the answers of the evidence that an expression needs.
func (w *Witness) asked(all []Reading, x *expression, p *reduce.Point) []Reading {
	for _, i := range x.needs {
		f := &w.r.facts[i]
		if f.query == 0 {
			continue
		}
		if r, ok := p.Window.Reading(f.query - 1); ok {
			all = gatherReading(all, Reading{w.r.asked[f.query-1].String(), r.Value, r.TimeNS, r.Text})
		}
	}
	return all
}

// gatherReading adds a reading; of two of one query the larger stays.
func gatherReading(all []Reading, r Reading) []Reading {
	for i := range all {
		if all[i].Query == r.Query {
			if r.Value > all[i].Value {
				all[i] = r
			}
			return all
		}
	}
	if len(all) < mostReadings {
		all = append(all, r)
	}
	return all
}
