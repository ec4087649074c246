package cluster

import (
	"encoding/json"
	"fmt"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/reduce"
)

// Schema is the version of the model's file.
const Schema = 1

// Shipped and Fitted say whose classes label.
const (
	Shipped = "shipped"
	Fitted  = "fitted"
)

// Model is what labels windows: the gates, the classes, how often a label of a
// margin is right. It is immutable; its JSON is the file.
type Model struct {
	Schema     int           `json:"schema"`
	Kind       string        `json:"kind"` // fitted or shipped
	Provenance string        `json:"provenance"`
	Gates      []Gate        `json:"gates"`
	Classes    []Prototype   `json:"classes"`
	Sick       Reliability   `json:"sick"`    // of the margin of a sick window's label
	Well       Reliability   `json:"healthy"` // of 1 - severity of a healthy window
	Reduce     *reduce.Model `json:"reduce"`  // the prior of the normals, the centre and the components
	top        []Merge
	cuts       []Cut
	silhouette float64
}

// Gate is the projection on a signature beyond which a window is sick.
type Gate struct {
	Pathology  string  `json:"pathology"`
	Projection float64 `json:"projection"`
}

// Prototype is one class.
type Prototype struct {
	ID        int             `json:"id"`
	Pathology string          `json:"pathology"` // slug or unrecognised
	Nearest   string          `json:"nearest"`
	Score     float64         `json:"score"`
	Direction features.Vector `json:"direction"` // mean of the members' directions in z as the classes see it (eased), unit length
	Members   int             `json:"members"`
}

// defaultGate is the projection, in units of the healthy scales, that no
// calibration undercuts.
const defaultGate = 1.6

// gates gives the gate of each entry of the rules: that of its catalogue, or
// else of the model.
func (m *Model) gates(r *Rules) []float64 {
	g := make([]float64, len(r.entries))
	for i := range g {
		g[i] = defaultGate
	}
	if m != nil {
		for _, x := range m.Gates {
			if i := r.index(x.Pathology); i >= 0 {
				g[i] = x.Projection
			}
		}
	}
	for i := range g {
		if own := r.entries[i].Gate; own > 0 {
			g[i] = own
		}
	}
	return g
}

// UnmarshalJSON reads a model and checks it.
func (m *Model) UnmarshalJSON(data []byte) error {
	type plain Model
	var p plain
	if err := json.Unmarshal(data, &p); err != nil {
		return fmt.Errorf("cluster: model: %w", err)
	}
	*m = Model(p)
	if m.Schema != Schema {
		return fmt.Errorf("cluster: model of schema %d, want %d", m.Schema, Schema)
	}
	if m.Kind != Shipped && m.Kind != Fitted {
		return fmt.Errorf("cluster: model of kind %q", m.Kind)
	}
	for _, g := range m.Gates {
		if !(g.Projection > 0) {
			return fmt.Errorf("cluster: model: gate of %s is %v", g.Pathology, g.Projection)
		}
	}
	ids := map[int]bool{}
	for _, c := range m.Classes {
		if c.ID <= 0 || ids[c.ID] {
			return fmt.Errorf("cluster: model: class id %d is not positive or stands twice", c.ID)
		}
		ids[c.ID] = true
	}
	if m.Reduce == nil {
		return fmt.Errorf("cluster: model without normals")
	}
	return nil
}
