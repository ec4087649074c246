package reports

import (
	"math"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cluster/analysis"
	"github.com/iopathy/iopathy/features"
)

// EpisodeCulprits is who took how much of a device before, during and after one of
// its episodes.
type EpisodeCulprits struct {
	features.Key
	FromNS, ToNS int64 // of the episode
	List         []analysis.Culprit
}

// Chief is the first whose share rose with the episode; nil if nobody's did.
func (c *EpisodeCulprits) Chief() *analysis.Culprit {
	for i := range c.List {
		if c.List[i].Rises {
			return &c.List[i]
		}
	}
	return nil
}

type (
	jsonCulprit struct {
		By     string     `json:"by"` // comm, cgroup or file
		Name   string     `json:"name"`
		Source string     `json:"source"` // "" by the requests themselves, else the counters that tell, or "calls": what applications did on the host in the same time
		Before jsonShares `json:"before"`
		During jsonShares `json:"during"`
		After  jsonShares `json:"after"`
		HeldUp number     `json:"held_up_others_ns"`
		Rises  bool       `json:"rises"` // its share rose with the episode
		Says   string     `json:"says"`
	}
	// jsonShares are of those whose name is known; null where nothing of the kind
	// happened or no source tells.
	jsonShares struct {
		Requests number `json:"requests"`
		Bytes    number `json:"bytes"`
		Queue    number `json:"queue_time"`
		Flushes  number `json:"flushes"`
	}
)

// CulpritObjects is the list as it stands in JSON.
func CulpritObjects(all []analysis.Culprit) any { return jsonCulprits(all) }

func jsonCulprits(all []analysis.Culprit) []jsonCulprit {
	out := make([]jsonCulprit, 0, len(all))
	for i := range all {
		c := &all[i]
		share := func(p features.Phase) jsonShares {
			s := &c.Of[p]
			return jsonShares{number(s.Requests), number(s.Bytes), number(s.Queue), number(s.Flushes)}
		}
		held := c.HeldUpNS
		if c.Source != "" { // counters tell nothing of delays
			held = math.NaN()
		}
		out = append(out, jsonCulprit{c.By, c.Name, c.Source, share(features.Before), share(features.During), share(features.After), number(held), c.Rises, c.Words()})
	}
	return out
}

// culpritsOf finds those of an episode among the cards; nil if none were read.
func (f *facts) culpritsOf(e *cluster.Episode) *EpisodeCulprits {
	for i := range f.in.Cards {
		c := &f.in.Cards[i]
		if c.Key != e.Key {
			continue
		}
		for k := range c.Culprits {
			if x := &c.Culprits[k]; x.FromNS == e.FromNS && x.ToNS == e.ToNS {
				return x
			}
		}
	}
	return nil
}

// blame says who did it, to stand behind an episode's cause; "" if nobody's share
// rose.
func (f *facts) blame(e *cluster.Episode) string {
	if c := f.culpritsOf(e); c != nil {
		if chief := c.Chief(); chief != nil {
			return "; whose share rose: " + sentence(chief.Words())
		}
	}
	return ""
}

func (f *facts) jsonCulpritsOf(e *cluster.Episode) []jsonCulprit {
	if c := f.culpritsOf(e); c != nil {
		return jsonCulprits(c.List)
	}
	return []jsonCulprit{}
}
