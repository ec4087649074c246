package local

import (
	"fmt"
	"math"
	"slices"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/reduce"
)

// Drift says how far windows are from those that their model was fitted on.
type Drift struct {
	// Shift is the largest move, over the 12 axes, of the median healthy window
	// since the fit, in robust standard deviations: of each device its median, of
	// the devices the median, so that each counts once. Feature is the axis.
	Shift   float64
	Feature string
	// Far is the share of sick windows that no pathology explains, less what it
	// was at the fit.
	Far           float64
	Healthy, Sick int // windows
}

// What a drift must rest on to ask for another model.
const (
	driftHealthy = 100 // windows
	driftSick    = 50
)

// mark is where the windows of a fit stood.
type mark struct {
	Medians []float64 `json:"medians"` // of healthy windows' z, by feature
	Far     float64   `json:"far"`     // share of sick windows that are unrecognised
	healthy int
	sick    int
}

// markOf takes the mark of judged windows.
func markOf(points features.Rows[reduce.Point], diagnoses features.Rows[cluster.Diagnosis]) mark {
	return markJoined([]*MarkShare{markShare(points, diagnoses)})
}

// MarkShare is what a mark needs of the windows of some devices.
type MarkShare struct {
	Medians            [][]float64 // of devices' healthy windows, by feature
	Healthy, Sick, Far int         // windows
}

func markShare(points features.Rows[reduce.Point], diagnoses features.Rows[cluster.Diagnosis]) *MarkShare {
	m := &MarkShare{Medians: make([][]float64, len(features.Features))}
	z := make([][]float64, len(m.Medians)) // of a device's healthy windows, by feature
	var key features.Key
	next := func() {
		for f := range z {
			if len(z[f]) > 0 {
				m.Medians[f] = append(m.Medians[f], median(z[f]))
			}
			z[f] = z[f][:0]
		}
	}
	for i := range diagnoses.Len() {
		d := diagnoses.At(i)
		if d.Key != key { // a device's windows stand together
			next()
			key = d.Key
		}
		switch d.Verdict {
		case cluster.Healthy:
			m.Healthy++
			p := points.At(i)
			for f := range z {
				z[f] = append(z[f], p.Z[f])
			}
		case cluster.Sick:
			if m.Sick++; d.Pathology == cluster.Unrecognised {
				m.Far++
			}
		}
	}
	next()
	return m
}

// markJoined is the mark of all windows of shares.
func markJoined(shares []*MarkShare) mark {
	m, far := mark{Medians: make([]float64, len(features.Features))}, 0
	devices := make([][]float64, len(m.Medians))
	for _, s := range shares {
		for f := range s.Medians {
			devices[f] = append(devices[f], s.Medians[f]...)
		}
		m.healthy, m.sick, far = m.healthy+s.Healthy, m.sick+s.Sick, far+s.Far
	}
	if m.sick > 0 {
		m.Far = float64(far) / float64(m.sick)
	}
	for f := range m.Medians {
		m.Medians[f] = median(devices[f])
	}
	return m
}

// median is the lower median; 0 of nothing. It sorts x.
func median(x []float64) float64 {
	x = slices.DeleteFunc(x, math.IsNaN)
	if len(x) == 0 {
		return 0
	}
	slices.Sort(x)
	return x[(len(x)-1)/2] + 0 // -0 and 0 sort as equals: whichever came to stand here, it is 0
}

// driftOf holds the mark of windows against that of the model's fit; nil for a
// model that has none.
func driftOf(now mark, born *mark) (d Drift) {
	d.Healthy, d.Sick = now.healthy, now.sick
	if born == nil || len(born.Medians) != len(now.Medians) {
		return d
	}
	if now.healthy > 0 {
		for f := range now.Medians {
			if s := math.Abs(now.Medians[f] - born.Medians[f]); s > d.Shift {
				d.Shift, d.Feature = s, features.Features[f].Name
			}
		}
	}
	if now.sick > 0 {
		d.Far = now.Far - born.Far
	}
	return d
}

// due says in words why a drift asks for another model; "" if it does not.
func (d *Drift) due(shift, far float64) string {
	switch {
	case shift > 0 && d.Healthy >= driftHealthy && d.Shift > shift:
		return fmt.Sprintf("drift: the median healthy window has moved by %.2f robust standard deviations in %s since the fit", d.Shift, d.Feature)
	case far > 0 && d.Sick >= driftSick && d.Far > far:
		return fmt.Sprintf("drift: of the sick windows %.0f %% more than at the fit are explained by no pathology", 100*d.Far)
	}
	return ""
}

// drift gives the largest drift of the families of labelled windows, and why it
// asks for another model.
func (j *Job) drift(d *Diagnosed) (most Drift, why string) {
	for n, f := range families(&Windows{Rows: d.Windows}) {
		m := modelOf(d.Models, f.kind.String(), f.tick, f.length)
		if m == nil || m.Cluster.Kind != cluster.Fitted {
			continue
		}
		x := driftOf(markOf(f.pick(d)), m.Born)
		if n == 0 || x.Shift > most.Shift {
			most = x
		}
		if why == "" {
			why = x.due(j.Config.Drift.Shift, j.Config.Drift.Far)
		}
	}
	return most, why
}
