package cluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/reduce"
)

// Calibration of gates and reliability.
const (
	gateQuantile = 0.98 // of what healthy windows project
	highestGate  = 2.0  // a gate never rises above this many healthy scales
	reliableBins = 12
	copies       = 20
	noise        = 0.6 // standard deviation, in healthy scales
	fewOutcomes  = 30  // labelled windows below which a reliability is kept from before
)

// Calibrate learns from labelled points what no unlabelled input can tell: the
// gate of each pathology (98 % quantile of the projections of healthy windows
// that lean to it) and how often a label of a margin is right. truth holds a
// slug, "healthy", or "" for a window that doesn't count. The classes are
// those that the linkage finds, labels unseen; signatures and normals don't
// change. The model is a shipped one.
func Calibrate(points []reduce.Point, truth []string, r *Rules, prior *Model, provenance string, o Options) (*Model, error) {
	if len(truth) != len(points) {
		panic("cluster: truth is not one a point")
	}
	if len(points) == 0 {
		return nil, errors.New("cluster: nothing to calibrate on")
	}
	m := &Model{Schema: Schema, Kind: Shipped, Provenance: provenance, Reduce: points[0].Space.Shipped()}
	m.Gates = calibrateGates(points, truth, r, o)
	fit, err := Fit(features.List(points), r, m, o)
	if err != nil {
		return nil, fmt.Errorf("cluster: calibrate: %w", err)
	}
	m.Classes = fit.Classes
	for i := range m.Classes { // the file is read by people, too
		for f := range m.Classes[i].Direction {
			m.Classes[i].Direction[f] = round(m.Classes[i].Direction[f], 6)
		}
		m.Classes[i].Score = round(m.Classes[i].Score, 6)
	}
	sick, well := m.outcomes(points, truth, r, o)
	if prior != nil {
		m.Sick, m.Well = prior.Sick, prior.Well
	}
	if len(sick) >= fewOutcomes || m.Sick == nil {
		m.Sick = reliability(sick, reliableBins)
	}
	if len(well) >= fewOutcomes || m.Well == nil {
		m.Well = reliability(well, reliableBins)
	}
	return m, nil
}

// outcomes judges noisy copies of the labelled points, each window by itself:
// the margin, and whether the label is right. The rules were made with such
// recordings in view, so that the recordings alone would flatter them; noise
// on every axis stands for what another fleet does differently.
func (m *Model) outcomes(points []reduce.Point, truth []string, r *Rules, o Options) (sick, well []outcome) {
	rng := rand.New(rand.NewPCG(o.Seed, 0xCa11b7a7e))
	j := newJudge(r, m, o)
	near := assigner{m: m}
	order := sortedByKey(features.List(points))
	for k := range points {
		i := nth(order, k)
		if truth[i] == "" || points[i].Window.Idle {
			continue
		}
		for range copies {
			noisy := points[i]
			for f := range noisy.Z {
				noisy.Z[f] += noise * rng.NormFloat64()
			}
			noisy.Y = make([]float64, len(points[i].Y))
			points[i].Space.Rotate(&noisy.Z, noisy.Y)
			l := j.look(&noisy)
			switch s := m.first(&l, near.class(&noisy, &l), r, o); s.verdict {
			case Sick:
				right := s.entry >= 0 && r.entries[s.entry].Slug == truth[i]
				at := l.lean
				if s.entry >= 0 {
					at = s.entry
				}
				sick = append(sick, outcome{margin(l.score, at), right})
			case Healthy:
				well = append(well, outcome{1 - min(l.severity, 1), truth[i] == string(Healthy)})
			}
		}
	}
	return sick, well
}

// calibrateGates takes the gates from healthy windows, within bounds: few
// healthy windows that lean to a pathology say little about it.
func calibrateGates(points []reduce.Point, truth []string, r *Rules, o Options) []Gate {
	gates := make([]Gate, len(r.entries))
	for e, p := range leaning(points, truth, r, o) {
		g := defaultGate
		if len(p) > 0 {
			g = min(max(quantile(p, gateQuantile), defaultGate), highestGate)
		}
		gates[e] = Gate{Pathology: r.entries[e].Slug, Projection: round(g, 4)}
	}
	return gates
}

// leaning gives the projections of the healthy windows on the pathology that
// each leans to, by entry, ascending.
func leaning(points []reduce.Point, truth []string, r *Rules, o Options) [][]float64 {
	looks := newJudge(r, nil, o).looks(points)
	projections := make([][]float64, len(r.entries))
	for i := range looks {
		if l := &looks[i]; truth[i] == string(Healthy) && l.lean >= 0 {
			projections[l.lean] = append(projections[l.lean], l.projection[l.lean])
		}
	}
	for _, p := range projections {
		slices.Sort(p)
	}
	return projections
}

// quantile is the value at a share of ascending values, the nearest one.
func quantile(sorted []float64, share float64) float64 {
	return sorted[int(share*float64(len(sorted)-1)+0.5)]
}
