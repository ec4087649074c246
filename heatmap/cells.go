package heatmap

import (
	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
)

// Cell is what the maps show of a window: less than a tenth of what is known of it, so
// that the windows of a fleet can be gone through many times.
type Cell struct {
	features.Key
	StartNS, EndNS int64
	Idle           bool
	Verdict        cluster.Verdict // "": nothing is said of it
	Pathology      string          // of a sick one
	Severity       float64
	Values         [3]float64 // IOPS, mean latency in ms, mean depth; NaN unknown
}

// Cells are the windows of a map, in any order. Several goroutines may ask.
type Cells interface {
	Len() int
	Cell(i int) Cell
}

// Of gives the cells of windows. diagnoses is one a window, in the same order, or
// empty: nothing is said.
func Of(windows features.Rows[features.Window], diagnoses features.Rows[cluster.Diagnosis]) Cells {
	return pairs{windows, diagnoses}
}

type pairs struct {
	windows   features.Rows[features.Window]
	diagnoses features.Rows[cluster.Diagnosis]
}

func (p pairs) Len() int { return p.windows.Len() }

func (p pairs) Cell(i int) Cell {
	w := p.windows.At(i)
	c := Cell{Key: w.Key, StartNS: w.StartNS, EndNS: w.EndNS, Idle: w.Idle}
	for k, fact := range Facts {
		c.Values[k] = w.Context[fact]
	}
	if i < p.diagnoses.Len() {
		d := p.diagnoses.At(i)
		c.Verdict, c.Pathology, c.Severity = d.Verdict, d.Pathology, d.Severity
	}
	return c
}
