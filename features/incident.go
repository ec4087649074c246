package features

import (
	"cmp"
	"container/heap"
	"math"

	"github.com/iopathy/iopathy/ingest"
)

// Phase is one part of an incident's time.
type Phase int

// The phases of an incident.
const (
	Before Phase = iota
	During
	After
	phases
)

func (p Phase) String() string { return [...]string{"before", "during", "after"}[p] }

// ActorKind says by what the I/O of an incident is told apart.
type ActorKind int

// The kinds of actors.
const (
	ByComm ActorKind = iota
	ByCgroup
	ByFile
	actorKinds
)

func (k ActorKind) String() string { return [...]string{"comm", "cgroup", "file"}[k] }

const (
	actorsKept    = 256  // of a kind; more share one place
	actorsWeighed = 32   // whose depth is kept bin by bin
	incidentBins  = 1024 // of the whole span
	slowestKept   = 50
)

// Actor is what one command, cgroup or file did in each phase.
type Actor struct {
	Name  string // empty: the actors beyond those that are kept
	Phase [phases]ActorPhase
	at    int
}

// ActorPhase is an actor's part of a phase.
type ActorPhase struct {
	Requests, Bytes, WriteBytes, Flushes int64
	LatencyNS, QueueNS                   int64 // sums
	InFlightNS                           int64 // integral of its own depth
	DelayNS                              float64
}

// PhaseFigures is what a device did in a phase.
type PhaseFigures struct {
	FromNS, ToNS                     int64
	Requests, Reads, Writes, Flushes int64
	ReadBytes, WriteBytes            int64
	Errors                           int64
	P50NS, P99NS, MaxNS              float64 // of latency; NaN if none is known
	MeanDepth                        float64 // integral of depth over the phase's length
	Ladder                           []Step
	latency                          histogram
	max                              int64
	inFlight                         int64
	stages                           Ladder
}

// SlowIO is one of the slowest requests, with the place of its line.
type SlowIO struct {
	Event              ingest.Event
	Input              string
	Comm, File, Cgroup string
}

// Incident folds the events of one device before, during and after a span, in
// any order. Its memory does not grow with them. What it says of delays to
// others is counted in bins: of the time that others spend in flight in a bin,
// an actor is answerable for its share of the depth in that bin.
type Incident struct {
	fromNS, toNS int64 // of the incident
	firstNS      int64
	lastNS       int64
	binNS        int64
	kind         ingest.LatencyKind
	names        *ingest.Names
	phase        [phases]PhaseFigures
	actors       [actorKinds]map[ingest.Name]*Actor
	others       [actorKinds]*Actor
	depth        [actorKinds][][]int64 // by actor, by bin: time in flight
	slowest      slowHeap
	callClock    float64 // error of callers' clocks, ns
}

// NewIncident is an empty Incident: margin is the length of the phases before
// and after it. Latencies of kind are the device's own; others stand in the
// ladder only.
func NewIncident(fromNS, toNS, marginNS int64, kind ingest.LatencyKind, names *ingest.Names) *Incident {
	f := &Incident{fromNS: fromNS, toNS: toNS, firstNS: fromNS - marginNS, kind: kind, names: names, callClock: math.NaN()}
	f.binNS = max((toNS-fromNS+2*marginNS+incidentBins-1)/incidentBins, 1)
	f.phase[Before].FromNS, f.phase[Before].ToNS = fromNS-marginNS, fromNS
	f.phase[During].FromNS, f.phase[During].ToNS = fromNS, toNS
	f.phase[After].FromNS, f.phase[After].ToNS = toNS, toNS+marginNS
	f.lastNS = toNS + marginNS
	for k := range f.actors {
		f.actors[k] = map[ingest.Name]*Actor{}
		f.others[k] = &Actor{at: actorsWeighed}
		f.depth[k] = make([][]int64, actorsWeighed+1)
	}
	return f
}

// Span is what the fold looks at: events outside of it change nothing.
func (f *Incident) Span() (fromNS, toNS int64) { return f.firstNS, f.lastNS }

// phaseOf is the phase in which a moment lies.
func (f *Incident) phaseOf(ns int64) (Phase, bool) {
	switch {
	case ns < f.firstNS || ns >= f.lastNS:
		return 0, false
	case ns < f.fromNS:
		return Before, true
	case ns < f.toNS:
		return During, true
	}
	return After, true
}

// Add takes an event of the device; input is where its line stands.
func (f *Incident) Add(e *ingest.Event, input string) {
	f.weigh(e)
	if e.LatencyNS >= 0 {
		f.slow(e, input)
	}
	p, ok := f.phaseOf(e.TimeNS)
	if !ok {
		return
	}
	ph := &f.phase[p]
	ph.Requests++
	switch e.Op {
	case ingest.OpRead:
		ph.Reads++
		ph.ReadBytes += max(e.SizeBytes, 0)
	case ingest.OpWrite:
		ph.Writes++
		ph.WriteBytes += max(e.SizeBytes, 0)
	case ingest.OpFlush:
		ph.Flushes++
	}
	if e.Error != 0 {
		ph.Errors++
	}
	if e.LatencyNS >= 0 {
		ph.latency.add(e.LatencyNS)
		ph.max = max(ph.max, e.LatencyNS)
	}
	ph.stages.AddEvent(e)
	for k, name := range [actorKinds]ingest.Name{e.Comm, e.Cgroup, e.File} {
		if name != 0 {
			f.actor(ActorKind(k), name).add(p, e)
		}
	}
}

// CallClock says by how much the clock of those who call may differ from that of
// the device's log; without it that is unknown.
func (f *Incident) CallClock(errorNS int64) { f.callClock = float64(errorNS) }

// AddCall takes a request of the same time that a caller measured (a system
// call, an application): it stands in the ladder only.
func (f *Incident) AddCall(e *ingest.Event) {
	if p, ok := f.phaseOf(e.TimeNS); ok {
		f.phase[p].stages.AddEvent(e)
	}
}

func (a *Actor) add(p Phase, e *ingest.Event) {
	x := &a.Phase[p]
	x.Requests++
	x.Bytes += max(e.SizeBytes, 0)
	if e.Op == ingest.OpWrite {
		x.WriteBytes += max(e.SizeBytes, 0)
	}
	if e.Op == ingest.OpFlush || e.Flags&(ingest.FlagFUA|ingest.FlagPreflush) != 0 {
		x.Flushes++
	}
	x.LatencyNS += max(e.LatencyNS, 0)
	x.QueueNS += max(e.QueueNS, 0)
}

// actor is the place of a name; those that come when all are taken share one.
func (f *Incident) actor(k ActorKind, name ingest.Name) *Actor {
	if a := f.actors[k][name]; a != nil {
		return a
	}
	if len(f.actors[k]) >= actorsKept {
		return f.others[k]
	}
	a := &Actor{Name: f.names.String(name), at: min(len(f.actors[k]), actorsWeighed)}
	f.actors[k][name] = a
	return a
}

// weigh adds the time in flight to the bins that the event spans.
func (f *Incident) weigh(e *ingest.Event) {
	if e.LatencyNS <= 0 {
		return
	}
	from, to := max(e.StartNS(), f.firstNS), min(e.TimeNS, f.lastNS)
	if from >= to {
		return
	}
	for p := range f.phase {
		ph := &f.phase[p]
		ph.inFlight += max(min(to, ph.ToNS)-max(from, ph.FromNS), 0)
	}
	for k, name := range [actorKinds]ingest.Name{e.Comm, e.Cgroup, e.File} {
		if name == 0 {
			continue
		}
		a := f.actor(ActorKind(k), name)
		if f.depth[k][a.at] == nil {
			f.depth[k][a.at] = make([]int64, incidentBins)
		}
		bins := f.depth[k][a.at]
		for b := (from - f.firstNS) / f.binNS; b < incidentBins; b++ {
			lo, hi := f.firstNS+b*f.binNS, f.firstNS+(b+1)*f.binNS
			if lo >= to {
				break
			}
			bins[b] += min(hi, to) - max(lo, from)
		}
	}
}

// slow keeps the slowest requests of the incident itself; ties go to the
// earlier line.
func (f *Incident) slow(e *ingest.Event, input string) {
	if e.TimeNS < f.fromNS || e.StartNS() >= f.toNS {
		return
	}
	s := SlowIO{Event: *e, Input: input}
	if len(f.slowest) == slowestKept {
		if !faster(&f.slowest[0], &s) {
			return
		}
		heap.Pop(&f.slowest)
	}
	heap.Push(&f.slowest, s)
}

func faster(a, b *SlowIO) bool {
	return cmp.Or(cmp.Compare(a.Event.LatencyNS, b.Event.LatencyNS), -cmp.Compare(a.Event.TimeNS, b.Event.TimeNS),
		-cmp.Compare(a.Input, b.Input), -cmp.Compare(a.Event.Position, b.Event.Position)) < 0
}

type slowHeap []SlowIO

func (h slowHeap) Len() int           { return len(h) }
func (h slowHeap) Less(i, j int) bool { return faster(&h[i], &h[j]) }
func (h slowHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *slowHeap) Push(x any)        { *h = append(*h, x.(SlowIO)) }
func (h *slowHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
