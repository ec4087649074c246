package cluster

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/iopathy/iopathy/features"
)

// RegistrySchema is the version of the registry's file.
const RegistrySchema = 1

const (
	// sameClass is the cosine of two prototypes below which they are two
	// classes. Fits on random 70 % of the recordings that the shipped model is of
	// agree to 0.96 and better; no two classes of them are nearer than 0.80.
	sameClass = 0.85
	// drifted is the cosine with the prototype that was last written down at
	// which a class has moved far enough to say so.
	drifted = 0.95
	// sameDirection is the cosine of one prototype with itself, rounding allowed.
	sameDirection = 1 - 1e-12
	// logBound is the number of events that a registry keeps: those of some years.
	logBound = 2000
)

// Registry is the classes over the nights. It holds what keeps their ids: a
// class found tonight has the id of the known one that its prototype matches,
// else one that was never given before. A class that is not found stays known
// and has its id when it comes back. It is immutable; its JSON is the file.
type Registry struct {
	Schema  int             `json:"schema"`
	Next    int             `json:"next_id"`
	Classes []KnownClass    `json:"classes"` // by ID
	Log     []RegistryEvent `json:"log"`     // oldest first, at most 2000
}

// Family is what windows share that one model may judge: their latency kind,
// tick and length. Classes of two families are never the same.
type Family struct {
	Kind     string `json:"latency_kind"`
	TickNS   int64  `json:"tick_ns"`
	WindowNS int64  `json:"window_ns"`
}

// KnownClass is a class that was found once, or shipped. Times are the ends of
// the data, in ns since 1970; no clock is read.
type KnownClass struct {
	ID        int             `json:"id"`
	Family    Family          `json:"family"`
	Pathology string          `json:"pathology"` // as last named: slug or unrecognised
	Direction features.Vector `json:"direction"` // prototype as last found
	Reference features.Vector `json:"reference"` // prototype at birth, or at the last drift
	BornNS    int64           `json:"born_ns"`
	LastNS    int64           `json:"last_seen_ns"`          // 0: known, but no window was of it yet
	Absent    bool            `json:"absent"`                // not found by the last fit
	Merged    int             `json:"merged_into,omitempty"` // the class whose direction it had when it went
	Members   int             `json:"members"`               // windows, when last seen
	Matches   int             `json:"matches"`               // ends of data at which it was seen
}

// What can happen to a class.
const (
	Birth  = "birth"  // found for the first time
	Death  = "death"  // not found any more
	Return = "return" // found again
	Split  = "split"  // born of Other, which was found beside it
	Union  = "merge"  // not found any more: Other, which was found, has its direction
	Drift  = "drift"  // the prototype has moved
)

// RegistryEvent is an entry of the registry's log.
type RegistryEvent struct {
	EndNS  int64   `json:"end_ns"` // of the data
	Event  string  `json:"event"`
	ID     int     `json:"id"`
	Other  int     `json:"other,omitempty"`
	Cosine float64 `json:"cosine,omitempty"` // of the two prototypes
}

// Match gives the classes that one fit found ids that last: ids by the class's
// own id. Prototypes are matched by optimal assignment (Kuhn, 1955) on their
// cosine; what a match is worth is its cosine beyond that at which a class is
// new. kind is Shipped or Fitted: the prototypes of shipped classes were not
// found in the data and don't replace known ones, and of those only the ones
// with members are seen. endNS is the end of the data; the same data again
// changes nothing, older data moves no prototype. On an empty registry the
// classes get 1, 2, ... in their order.
func (g Registry) Match(f Family, kind string, classes []Class, endNS int64) (Registry, map[int]int, []RegistryEvent) {
	g.Schema, g.Next = RegistrySchema, max(g.Next, 1)
	g.Classes = slices.Clone(g.Classes)
	var known []int // of the family, by index
	for i := range g.Classes {
		if g.Classes[i].Family == f {
			known = append(known, i)
		}
	}
	before := slices.Clone(g.Classes)
	to := g.assign(classes, known)
	owner := map[int]int{} // class by index of the known one
	var log []RegistryEvent
	note := func(event string, id, other int, cosine float64) {
		log = append(log, RegistryEvent{EndNS: endNS, Event: event, ID: id, Other: other, Cosine: cosine})
	}
	ids := make(map[int]int, len(classes))
	for c := range classes {
		x := &classes[c]
		at := to[c]
		if at < 0 {
			k := KnownClass{ID: g.Next, Family: f, Pathology: x.Pathology, Direction: x.Prototype, Reference: x.Prototype, BornNS: endNS, Absent: x.Members == 0}
			if x.Members > 0 {
				k.LastNS, k.Members, k.Matches = endNS, x.Members, 1
			}
			g.Next++
			g.Classes = append(g.Classes, k)
			ids[x.ID] = k.ID
			if from, cosine := nearest(&x.Prototype, before, known, func(i int) bool { return slices.Contains(to, i) && !before[i].Absent }); from >= 0 && x.Members > 0 {
				note(Split, k.ID, before[from].ID, cosine)
			} else {
				note(Birth, k.ID, 0, 0)
			}
			continue
		}
		owner[at] = c
		ids[x.ID] = g.Classes[at].ID
		if x.Members > 0 && endNS >= g.Classes[at].LastNS {
			g.Classes[at].see(x, kind, endNS, note)
		}
	}
	for _, i := range known {
		k := &g.Classes[i]
		if c, ok := owner[i]; ok && classes[c].Members > 0 || k.Absent || endNS < k.LastNS {
			continue
		}
		k.Absent = true
		into, cosine := -1, 0.0
		for _, o := range known {
			if c, ok := owner[o]; ok && classes[c].Members > 0 {
				if s := cosineOf(&before[i].Direction, &classes[c].Prototype); s >= sameClass && s > cosine {
					into, cosine = o, s
				}
			}
		}
		if into >= 0 {
			k.Merged = g.Classes[into].ID
			note(Union, k.ID, k.Merged, cosine)
		} else {
			note(Death, k.ID, 0, 0)
		}
	}
	g.Log = append(slices.Clone(g.Log), log...)
	if n := len(g.Log) - logBound; n > 0 {
		g.Log = g.Log[n:]
	}
	return g, ids, log
}

// see takes down that a known class was found.
func (k *KnownClass) see(x *Class, kind string, endNS int64, note func(event string, id, other int, cosine float64)) {
	if k.Absent && k.LastNS > 0 {
		note(Return, k.ID, 0, cosineOf(&k.Direction, &x.Prototype))
	}
	if endNS > k.LastNS {
		k.Matches++
	}
	k.Absent, k.Merged, k.LastNS, k.Members = false, 0, endNS, x.Members
	if kind == Shipped {
		return
	}
	k.Pathology, k.Direction = x.Pathology, x.Prototype
	if s := cosineOf(&k.Reference, &x.Prototype); s < drifted {
		note(Drift, k.ID, 0, s)
		k.Reference = x.Prototype
	}
}

// assign gives each class the known one that it is, -1 if it is new. What is
// known to the last bit is taken first: assignment alone might hand its id on
// along a chain of neighbours. What has merged into another class comes last: a
// part that split off for one night must not take the place of the whole.
func (g *Registry) assign(classes []Class, known []int) []int {
	to := make([]int, len(classes))
	used := map[int]bool{}
	var open []int
	for c := range classes {
		to[c] = -1
		for _, i := range known {
			if !used[i] && cosineOf(&classes[c].Prototype, &g.Classes[i].Direction) >= sameDirection {
				to[c], used[i] = i, true
				break
			}
		}
		if to[c] < 0 {
			open = append(open, c)
		}
	}
	for _, merged := range []bool{false, true} {
		var free, left []int
		for _, i := range known {
			if !used[i] && (g.Classes[i].Merged > 0) == merged {
				free = append(free, i)
			}
		}
		gain := make([][]float64, len(open))
		for r, c := range open {
			gain[r] = make([]float64, len(free))
			for s, i := range free {
				gain[r][s] = cosineOf(&classes[c].Prototype, &g.Classes[i].Direction) - sameClass
			}
		}
		for r, s := range assignment(gain) {
			if s >= 0 {
				to[open[r]] = free[s]
			} else {
				left = append(left, open[r])
			}
		}
		open = left
	}
	return to
}

// nearest is the known class, among those asked for, that a prototype might
// be, and their cosine; -1 if there is none.
func nearest(v *features.Vector, all []KnownClass, known []int, ask func(int) bool) (at int, cosine float64) {
	at = -1
	for _, i := range known {
		if s := cosineOf(v, &all[i].Direction); s >= sameClass && s > cosine && ask(i) {
			at, cosine = i, s
		}
	}
	return at, cosine
}

func cosineOf(a, b *features.Vector) float64 {
	n := norm(a) * norm(b)
	if n == 0 {
		return 0
	}
	return dotAll(a[:], b[:]) / n
}

// UnmarshalJSON reads a registry and checks it.
func (g *Registry) UnmarshalJSON(data []byte) error {
	type plain Registry
	var p plain
	if err := json.Unmarshal(data, &p); err != nil {
		return fmt.Errorf("cluster: registry: %w", err)
	}
	if p.Schema != RegistrySchema {
		return fmt.Errorf("cluster: registry of schema %d, want %d", p.Schema, RegistrySchema)
	}
	ids := map[int]bool{}
	for i := range p.Classes {
		k := &p.Classes[i]
		if k.ID <= 0 || k.ID >= p.Next || ids[k.ID] {
			return fmt.Errorf("cluster: registry: class id %d is not positive, not below the next one (%d), or stands twice", k.ID, p.Next)
		}
		if norm(&k.Direction) == 0 {
			return fmt.Errorf("cluster: registry: class %d has no direction", k.ID)
		}
		ids[k.ID] = true
	}
	*g = Registry(p)
	return nil
}

// Renumbered gives the model with other ids, its classes in their order.
func (m *Model) Renumbered(ids map[int]int) *Model {
	c := *m
	c.Classes = slices.Clone(m.Classes)
	for i := range c.Classes {
		if id, ok := ids[c.Classes[i].ID]; ok {
			c.Classes[i].ID = id
		}
	}
	slices.SortStableFunc(c.Classes, func(a, b Prototype) int { return cmp.Compare(a.ID, b.ID) })
	return &c
}
