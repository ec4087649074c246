package features

import (
	"cmp"
	"math"
	"slices"

	"github.com/iopathy/iopathy/ingest"
)

// Clip shortens the phases to the time in which the device was seen: rates are
// over that. It changes nothing of what was counted.
func (f *Incident) Clip(firstNS, lastNS int64) {
	for p := range f.phase {
		ph := &f.phase[p]
		ph.FromNS = min(max(ph.FromNS, firstNS), ph.ToNS)
		ph.ToNS = max(min(ph.ToNS, lastNS), ph.FromNS)
	}
}

// Phases gives the figures of the phases.
func (f *Incident) Phases() [3]PhaseFigures {
	out := f.phase
	for p := range out {
		ph := &out[p]
		ph.P50NS, ph.P99NS, ph.MaxNS = ph.latency.quantile(0.5), ph.latency.quantile(0.99), float64(ph.max)
		if ph.latency.n == 0 {
			ph.MaxNS = math.NaN()
		}
		if length := ph.ToNS - ph.FromNS; length > 0 {
			ph.MeanDepth = float64(ph.inFlight) / float64(length)
		}
		ph.Ladder = ph.stages.Steps()
		for s := range ph.Ladder {
			st := &ph.Ladder[s]
			if caller := f.kind != ingest.KindSyscall && f.kind != ingest.KindApp; caller && (st.Name == StageApp.String() || st.Name == StageCall.String()) {
				st.ClockNS = f.callClock // of another recording, whose clock may be another
			}
		}
	}
	return out
}

// Stages counts what the requests of the phase spent in each stage.
func (ph *PhaseFigures) Stages() *Ladder { return &ph.stages }

// Actors gives the actors of a kind, those first that held up others most
// during the incident, then by time in flight and name.
func (f *Incident) Actors(k ActorKind) []Actor {
	all := make([]Actor, 0, len(f.actors[k])+1)
	for _, a := range f.actors[k] {
		all = append(all, *a)
	}
	slices.SortFunc(all, func(a, b Actor) int { return cmp.Compare(a.Name, b.Name) })
	if o := f.others[k]; o.Phase != ([phases]ActorPhase{}) {
		all = append(all, *o)
	}
	total := make([]int64, incidentBins)
	for _, bins := range f.depth[k] {
		for b, v := range bins {
			total[b] += v
		}
	}
	for i := range all {
		if all[i].at < actorsWeighed {
			f.delays(&all[i], f.depth[k][all[i].at], total)
		}
	}
	slices.SortStableFunc(all, func(a, b Actor) int {
		x, y := &a.Phase[During], &b.Phase[During]
		return cmp.Or(cmp.Compare(y.DelayNS, x.DelayNS), cmp.Compare(y.InFlightNS, x.InFlightNS), cmp.Compare(y.Bytes, x.Bytes))
	})
	return all
}

// delays splits an actor's time in flight, and the delay of others that it is
// answerable for, over the phases; a bin counts for the phase of its middle.
func (f *Incident) delays(a *Actor, own, total []int64) {
	for b, v := range own {
		if v == 0 {
			continue
		}
		p, ok := f.phaseOf(f.firstNS + int64(b)*f.binNS + f.binNS/2)
		if !ok {
			continue
		}
		a.Phase[p].InFlightNS += v
		a.Phase[p].DelayNS += float64(v) * float64(total[b]-v) / float64(total[b])
	}
}

// Slowest gives the slowest requests that were in flight during the incident,
// the slowest first.
func (f *Incident) Slowest() []SlowIO {
	out := slices.Clone(f.slowest)
	slices.SortFunc(out, func(a, b SlowIO) int {
		if faster(&b, &a) {
			return -1
		}
		return 1
	})
	for i := range out {
		e := &out[i].Event
		out[i].Comm, out[i].File, out[i].Cgroup = f.names.String(e.Comm), f.names.String(e.File), f.names.String(e.Cgroup)
	}
	return out
}
