package configs

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/iopathy/iopathy/cluster"
)

// RewriteCatalogue gives the text of the catalogue at path, or of the embedded
// one for "", with the signatures and gates of c, and with the entries of c
// that it doesn't have at the end of its list. Comments, order and rules stay.
// head stands in front, as a comment.
func RewriteCatalogue(path string, c cluster.Catalogue, head string) ([]byte, error) {
	data := shippedCatalogue
	if path != "" {
		var err error
		if data, err = os.ReadFile(path); err != nil {
			return nil, fmt.Errorf("catalogue: %w", err)
		}
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("catalogue: %s: %w", path, err)
	}
	list := member(root(&doc), "pathologies")
	if list == nil || list.Kind != yaml.SequenceNode {
		return nil, fmt.Errorf("catalogue: %s: no pathologies", path)
	}
	entries := map[string]*yaml.Node{}
	for _, e := range list.Content {
		if s := member(e, "slug"); s != nil {
			entries[s.Value] = e
		}
	}
	for i := range c.Pathologies {
		p := &c.Pathologies[i]
		e := entries[p.Slug]
		if e == nil {
			list.Content = append(list.Content, entryNode(p))
			continue
		}
		rewriteSignature(e, p.Signature)
		if p.Gate > 0 {
			set(e, "gate", number(p.Gate), "signature")
		}
	}
	var out bytes.Buffer
	for line := range strings.Lines(head) {
		out.WriteString("# " + strings.TrimRight(line, "\r\n") + "\n")
	}
	if out.Len() > 0 {
		out.WriteString("\n")
	}
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(&doc); err != nil {
		return nil, fmt.Errorf("catalogue: %w", err)
	}
	return out.Bytes(), enc.Close()
}

// rewriteSignature sets what differs, in place, so that comments stay.
func rewriteSignature(e *yaml.Node, signature map[string]float64) {
	old := member(e, "signature")
	if old == nil || old.Kind != yaml.MappingNode {
		set(e, "signature", signatureNode(signature), "")
		return
	}
	var kept []*yaml.Node
	for i := 0; i+1 < len(old.Content); i += 2 {
		k, v := old.Content[i], old.Content[i+1]
		want, stays := signature[k.Value]
		if !stays {
			continue
		}
		if is, err := strconv.ParseFloat(v.Value, 64); err != nil || is != want {
			v.Value, v.Tag = number(want).Value, ""
		}
		kept = append(kept, k, v)
	}
	for _, name := range slices.Sorted(maps.Keys(signature)) {
		if member(old, name) == nil {
			kept = append(kept, word(name), number(signature[name]))
		}
	}
	old.Content = kept
}

// set gives a mapping's key a value; a new key stands behind another.
func set(n *yaml.Node, key string, value *yaml.Node, behind string) {
	at := len(n.Content)
	for i := 0; i+1 < len(n.Content); i += 2 {
		switch n.Content[i].Value {
		case key:
			n.Content[i+1] = value
			return
		case behind:
			at = i + 2
		}
	}
	n.Content = slices.Insert(n.Content, at, word(key), value)
}

func entryNode(p *cluster.Pathology) *yaml.Node {
	e := &yaml.Node{Kind: yaml.MappingNode}
	add := func(key string, value *yaml.Node) { e.Content = append(e.Content, word(key), value) }
	add("id", &yaml.Node{Kind: yaml.ScalarNode, Value: strconv.Itoa(p.ID)})
	add("slug", word(p.Slug))
	add("name", word(p.Name))
	add("symptom", word(p.Symptom))
	add("colour", &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: p.Colour, Style: yaml.DoubleQuotedStyle})
	add("signature", signatureNode(p.Signature))
	if p.Gate > 0 {
		add("gate", number(p.Gate))
	}
	return e
}

func signatureNode(signature map[string]float64) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	names := slices.SortedFunc(maps.Keys(signature), func(a, b string) int {
		switch d := math.Abs(signature[b]) - math.Abs(signature[a]); {
		case d != 0:
			return int(math.Copysign(1, d))
		default:
			return strings.Compare(a, b)
		}
	})
	for _, name := range names {
		n.Content = append(n.Content, word(name), number(signature[name]))
	}
	return n
}

func word(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s} }

func number(x float64) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Value: strconv.FormatFloat(x, 'g', -1, 64)}
}
