package reduce

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/iopathy/iopathy/features"
)

// Schema is the version of the model's file.
const Schema = 1

// Model is what Fit learnt: normals of latency at load, centre and scale of
// healthy work, principal components. It is immutable; its JSON is the file.
type Model struct {
	Schema      int             `json:"schema"`
	LatencyKind string          `json:"latency_kind"` // of every window it was fitted on
	TickNS      int64           `json:"tick_ns"`
	WindowNS    int64           `json:"window_ns"`
	Windows     int             `json:"windows"` // that were fitted on
	Clip        float64         `json:"clip"`
	Centre      features.Vector `json:"centre"`
	Scale       features.Vector `json:"scale"`
	Groups      []Group         `json:"groups"`  // by name
	Devices     []Own           `json:"devices"` // by host, then device
	Components  [][]float64     `json:"components"`
	Variance    []float64       `json:"variance"` // second moment along each of the 12 axes, largest first
	Kept        float64         `json:"kept"`     // share of it in the components

	history *History
}

// Group is the normal of the devices of one model, rotational kind, or of all
// that nothing is known of.
type Group struct {
	Name       string  `json:"name"`
	Rotational string  `json:"rotational"`
	Level      float64 `json:"level"`  // log10 ns of one I/O at one in flight, transfer not counted
	Rate       float64 `json:"rate"`   // bytes per busy second at its best
	Source     string  `json:"source"` // group, rotational or prior: what weighs most in Level
	Windows    int     `json:"windows"`
	Devices    int     `json:"devices,omitempty"` // that had windows; 0 not known
}

// Own is the normal of one device by its own healthy windows.
type Own struct {
	Host    string  `json:"host"`
	Device  string  `json:"device"`
	Level   float64 `json:"level"` // as Group's
	Windows int     `json:"windows"`
	Earlier int     `json:"earlier"` // of them from inputs before the one that was fitted
}

func (m *Model) check() error {
	if m.Schema != Schema {
		return fmt.Errorf("reduce: model of schema %d, want %d", m.Schema, Schema)
	}
	if m.Clip <= 0 || len(m.Components) == 0 {
		return fmt.Errorf("reduce: model without components or clip")
	}
	for i, c := range m.Components {
		if len(c) != features.N {
			return fmt.Errorf("reduce: component %d has %d loadings, want %d", i, len(c), features.N)
		}
	}
	for i, s := range m.Scale {
		if !(s > 0) || math.IsInf(s, 0) {
			return fmt.Errorf("reduce: scale of %s is %v", features.Features[i].Name, s)
		}
	}
	return nil
}

// UnmarshalJSON reads a model and checks it.
func (m *Model) UnmarshalJSON(data []byte) error {
	type plain Model
	var p plain
	if err := json.Unmarshal(data, &p); err != nil {
		return fmt.Errorf("reduce: model: %w", err)
	}
	*m = Model(p)
	return m.check()
}

// Check says why the model can't judge the windows: another latency kind,
// tick or window length than it was fitted on. The error names both sides.
func (m *Model) Check(ws features.Rows[features.Window]) error {
	for i := range ws.Len() {
		w := ws.At(i)
		if w.Idle {
			continue
		}
		k := w.Kind.String()
		if k != m.LatencyKind {
			return fmt.Errorf("reduce: the model was fitted on latencies of kind %s, %s/%s has %s", m.LatencyKind, w.Host, w.Device, k)
		}
		if w.TickNS != m.TickNS || w.EndNS-w.StartNS != m.WindowNS {
			return fmt.Errorf("reduce: the model was fitted on windows of %d ns and ticks of %d ns, %s/%s has %d and %d",
				m.WindowNS, m.TickNS, w.Host, w.Device, w.EndNS-w.StartNS, w.TickNS)
		}
	}
	return nil
}

// Shipped gives a copy that knows no single device and no device model, only
// the rotational kinds: what is fit to judge a fleet that it has never seen.
func (m *Model) Shipped() *Model {
	c := *m
	c.Devices, c.Groups = nil, nil
	for _, g := range m.Groups {
		if g.Name == "" || strings.HasPrefix(g.Name, kindPrefix) {
			g.Devices = 0
			c.Groups = append(c.Groups, g)
		}
	}
	return &c
}
