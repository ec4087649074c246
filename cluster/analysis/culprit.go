package analysis

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/iopathy/iopathy/features"
)

// What makes an actor the one whose share rose: it takes so much of the bytes, the
// queue time or the flushes during the episode, and so much more than before.
const (
	culpritFrom = 0.3
	culpritRise = 0.2
)

// CulpritsShown bounds the culprits of an episode and kind of actor.
const CulpritsShown = 5

// Culprit is what one command, cgroup or file took of a device before, during and
// after an episode.
type Culprit struct {
	By, Name string    // comm, cgroup or file; the name is empty for all beyond those that are kept
	Source   string    // "" for the requests themselves, else the file whose counters tell
	Of       [3]Shares // by features.Phase
	HeldUpNS float64   // of the time that others were in flight during it, what its own requests account for
	Rises    bool      // its share rose with the episode
}

// Shares are an actor's of those whose name is known, 0..1; NaN where nothing of the
// kind happened in the phase, or the source doesn't tell it.
type Shares struct {
	Requests, Bytes, Queue, Flushes float64
}

// Calls is the source of culprits that are known by what applications called on the
// host in the same time.
const Calls = "calls"

// Culprits tells the shares of the actors of a kind, those first that held up
// others most, at most CulpritsShown. None comes back where nobody has a name.
func Culprits(by, source string, actors []features.Actor) []Culprit {
	var total [3]features.ActorPhase
	for i := range actors {
		for p := range total {
			x := &actors[i].Phase[p]
			total[p].Requests += x.Requests
			total[p].Bytes += x.Bytes
			total[p].QueueNS += x.QueueNS
			total[p].Flushes += x.Flushes
		}
	}
	if total[features.During].Requests == 0 {
		return nil
	}
	share := func(n, of int64) float64 {
		if of == 0 {
			return math.NaN()
		}
		return float64(n) / float64(of)
	}
	var all []Culprit
	for i := range actors {
		c := Culprit{By: by, Name: actors[i].Name, Source: source, HeldUpNS: actors[i].Phase[features.During].DelayNS}
		for p := range total {
			x := &actors[i].Phase[p]
			c.Of[p] = Shares{share(x.Requests, total[p].Requests), share(x.Bytes, total[p].Bytes), share(x.QueueNS, total[p].QueueNS), share(x.Flushes, total[p].Flushes)}
		}
		c.Rises = len(actors) > 1 && c.Name != "" && c.rises()
		all = append(all, c)
	}
	slices.SortStableFunc(all, func(a, b Culprit) int {
		return cmp.Or(cmp.Compare(b.HeldUpNS, a.HeldUpNS), cmp.Compare(b.Of[features.During].Bytes, a.Of[features.During].Bytes), cmp.Compare(a.Name, b.Name))
	})
	return all[:min(len(all), CulpritsShown)]
}

func (c *Culprit) rises() bool {
	b, d := &c.Of[features.Before], &c.Of[features.During]
	up := func(before, during float64) bool { return during >= culpritFrom && during-before >= culpritRise }
	return up(b.Bytes, d.Bytes) || up(b.Queue, d.Queue) || up(b.Flushes, d.Flushes)
}

// Words says it in one sentence without a full stop.
func (c *Culprit) Words() string {
	b, d, a := &c.Of[features.Before], &c.Of[features.During], &c.Of[features.After]
	var parts []string
	tell := func(what string, before, during, after float64) {
		if math.IsNaN(during) || during < 0.005 && !(before >= 0.005) {
			return
		}
		s := fmt.Sprintf("%.0f %% of the %s during", 100*during, what)
		if !math.IsNaN(before) {
			s += fmt.Sprintf(", %.0f %% before", 100*before)
		}
		if !math.IsNaN(after) {
			s += fmt.Sprintf(", %.0f %% after", 100*after)
		}
		parts = append(parts, s)
	}
	tell("bytes", b.Bytes, d.Bytes, a.Bytes)
	tell("queue time", b.Queue, d.Queue, a.Queue)
	tell("flushes", b.Flushes, d.Flushes, a.Flushes)
	if len(parts) == 0 {
		tell("requests", b.Requests, d.Requests, a.Requests)
	}
	if len(parts) == 0 {
		parts = []string{"nothing during it"}
	}
	name := plain(c.Name)
	if c.Name == "" {
		name = "all others together"
	}
	s := fmt.Sprintf("%s %s: %s", c.By, name, strings.Join(parts, "; "))
	if c.HeldUpNS >= 1e6 {
		s += fmt.Sprintf("; it held up others for %.3g s", c.HeldUpNS/1e9)
	}
	switch c.Source {
	case "":
	case Calls:
		s += " (calls of applications on the host in the same time: which disk they went to is not told)"
	default:
		s += " (" + c.Source + ")"
	}
	return s
}
