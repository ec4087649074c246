package cluster

import "slices"

// Renamed gives the catalogue with its names (id, slug, name) at other
// signatures: the signature, evidence and causes of slug s go by the names of
// slug to[s]. to is a permutation of the slugs.
func (c Catalogue) Renamed(to map[string]string) Catalogue {
	from := make(map[string]int, len(c.Pathologies))
	for i, p := range c.Pathologies {
		from[to[p.Slug]] = i
	}
	out := Catalogue{Pathologies: make([]Pathology, len(c.Pathologies))}
	for i, p := range c.Pathologies {
		q := c.Pathologies[from[p.Slug]]
		q.ID, q.Slug, q.Name = p.ID, p.Slug, p.Name
		out.Pathologies[i] = q
	}
	return out
}

// Renamed gives the model that belongs to the renamed catalogue.
func (m *Model) Renamed(to map[string]string) *Model {
	c := *m
	c.Gates, c.Classes = slices.Clone(m.Gates), slices.Clone(m.Classes)
	rename := func(slug *string) {
		if s, ok := to[*slug]; ok {
			*slug = s
		}
	}
	for i := range c.Gates {
		rename(&c.Gates[i].Pathology)
	}
	for i := range c.Classes {
		rename(&c.Classes[i].Pathology)
		rename(&c.Classes[i].Nearest)
	}
	return &c
}
