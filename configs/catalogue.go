package configs

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
)

//go:embed catalogue.yaml
var shippedCatalogue []byte

//go:embed model.json
var shippedModel []byte

// ShippedModel is the JSON of the model that labels inputs too small to be
// fitted on their own.
func ShippedModel() []byte { return bytes.Clone(shippedModel) }

// LoadCatalogue reads the catalogue at path, or the embedded one for "". Every
// error names file and line: an unknown field, an unknown feature, a slug or
// colour that stands twice, two signatures of one direction.
func LoadCatalogue(path string) (cluster.Catalogue, error) {
	data := shippedCatalogue
	name := "catalogue.yaml"
	if path != "" {
		var err error
		if data, err = os.ReadFile(path); err != nil {
			return cluster.Catalogue{}, fmt.Errorf("catalogue: %w", err)
		}
		name = path
	}
	var c cluster.Catalogue
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&c); err != nil && !errors.Is(err, io.EOF) {
		return c, fmt.Errorf("catalogue: %s: %w", name, err)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return c, fmt.Errorf("catalogue: %s: %w", name, err)
	}
	if len(c.Pathologies) == 0 {
		return c, fmt.Errorf("catalogue: %s: no pathologies", name)
	}
	locate(name, &doc, c)
	locateNotes(name, &doc, c)
	return c, checkCatalogue(name, lines(&doc), c)
}

// locate notes where each rule stands, for the errors of its expression.
func locate(name string, doc *yaml.Node, c cluster.Catalogue) {
	entries := member(root(doc), "pathologies")
	for i := range c.Pathologies {
		p := &c.Pathologies[i]
		at := func(list string, k int) string {
			rule := item(member(item(entries, i), list), k)
			if when := member(rule, "when"); when != nil {
				rule = when
			}
			if rule == nil {
				return name
			}
			return fmt.Sprintf("%s:%d", name, rule.Line)
		}
		for k := range p.Requires {
			p.Requires[k].At = at("requires", k)
		}
		for k := range p.Evidence {
			p.Evidence[k].At = at("evidence", k)
		}
		for k := range p.Causes {
			p.Causes[k].At = at("causes", k)
		}
	}
}

// locateNotes is locate for the notes and what is outside of storage.
func locateNotes(name string, doc *yaml.Node, c cluster.Catalogue) {
	list := member(root(doc), "notes")
	for i := range c.Notes {
		if n := item(list, i); n != nil {
			c.Notes[i].At = fmt.Sprintf("%s:%d", name, n.Line)
		}
	}
	list = member(root(doc), "outside")
	for i := range c.Outside {
		if n := item(list, i); n != nil {
			c.Outside[i].At = fmt.Sprintf("%s:%d", name, n.Line)
		}
	}
}

// root is a document's value, nil if there is none.
func root(doc *yaml.Node) *yaml.Node {
	if len(doc.Content) == 0 {
		return nil
	}
	return doc.Content[0]
}

// member is the value of a mapping's key, nil if there is none.
func member(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// item is an element of a list, nil if there is none.
func item(n *yaml.Node, i int) *yaml.Node {
	if n == nil || n.Kind != yaml.SequenceNode || i >= len(n.Content) {
		return nil
	}
	return n.Content[i]
}

var colour = regexp.MustCompile(`^#[0-9A-Fa-f]{6}$`)
var slug = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

func checkCatalogue(name string, at []int, c cluster.Catalogue) error {
	var bad []error
	line := func(i int) int {
		if i < len(at) {
			return at[i]
		}
		return 0
	}
	complain := func(i int, format string, args ...any) {
		bad = append(bad, fmt.Errorf("catalogue: %s:%d: %s: %s", name, line(i), c.Pathologies[i].Slug, fmt.Sprintf(format, args...)))
	}
	ids, slugs, colours := map[int]int{}, map[string]int{}, map[string]int{}
	for i, p := range c.Pathologies {
		if !slug.MatchString(p.Slug) {
			complain(i, "slug %q is not lower-case words with dashes", p.Slug)
		}
		if p.ID <= 0 {
			complain(i, "id %d is not positive", p.ID)
		}
		if !colour.MatchString(p.Colour) {
			complain(i, "colour %q is not #RRGGBB", p.Colour)
		}
		if p.Name == "" || p.Symptom == "" {
			complain(i, "name or symptom is missing")
		}
		if j, dup := ids[p.ID]; dup {
			complain(i, "id %d is that of %s (line %d)", p.ID, c.Pathologies[j].Slug, line(j))
		}
		if j, dup := slugs[p.Slug]; dup {
			complain(i, "slug stands already at line %d", line(j))
		}
		if j, dup := colours[p.Colour]; dup {
			complain(i, "colour %s is that of %s (line %d)", p.Colour, c.Pathologies[j].Slug, line(j))
		}
		ids[p.ID], slugs[p.Slug], colours[p.Colour] = i, i, i
		for f := range p.Signature {
			if featureIndex(f) < 0 {
				complain(i, "signature: no feature is called %q", f)
			}
		}
		if !(p.Gate >= 0 && p.Gate <= cluster.HighestGate) {
			complain(i, "gate %v is not between 0 and %v healthy scales", p.Gate, cluster.HighestGate)
		}
		if norm(p.Signature) == 0 {
			complain(i, "signature is zero")
		}
		for j := range i {
			if cosine(p.Signature, c.Pathologies[j].Signature) > cluster.Parallel {
				complain(i, "signature points where that of %s does (line %d)", c.Pathologies[j].Slug, line(j))
			}
		}
		seen := map[string]bool{}
		for _, r := range p.Causes {
			if r.ID == "" || r.When == "" || seen[r.ID] {
				complain(i, "cause %q: want an id of its own and an expression", r.ID)
			}
			seen[r.ID] = true
		}
		for _, t := range p.Tells {
			if !isFact(t.Fact) || strings.Count(t.Says, "{}") != 1 {
				complain(i, "tells %q: want a fact of a window and words with one {}", t.Fact)
			}
		}
		for _, r := range p.Requires {
			if r.When == "" || r.Says == "" {
				complain(i, "requirement %q: want an expression and words", r.Says)
			}
		}
		for _, r := range p.Evidence {
			if r.When == "" || r.Says == "" || r.Weight == 0 {
				complain(i, "evidence %q: want an expression, words and a weight", r.Says)
			}
		}
	}
	return errors.Join(bad...)
}

func featureIndex(name string) int {
	for i, f := range features.Features {
		if f.Name == name {
			return i
		}
	}
	return -1
}

// isFact knows what an entry may tell of a window.
func isFact(name string) bool {
	if name == cluster.LatencyOverNormal {
		return true
	}
	for _, f := range features.ContextTable {
		if f.Name == name {
			return true
		}
	}
	return false
}

func dot(a, b map[string]float64) float64 {
	s := 0.0
	for _, f := range features.Features {
		s += a[f.Name] * b[f.Name]
	}
	return s
}

func norm(a map[string]float64) float64 { return math.Sqrt(dot(a, a)) }

func cosine(a, b map[string]float64) float64 {
	n := norm(a) * norm(b)
	if n == 0 {
		return 0
	}
	return dot(a, b) / n
}

// lines gives the line of each entry of the list "pathologies".
func lines(doc *yaml.Node) []int {
	var at []int
	if list := member(root(doc), "pathologies"); list != nil {
		for _, e := range list.Content {
			at = append(at, e.Line)
		}
	}
	return at
}
