package features

import (
	"cmp"
	"slices"
	"strings"
)

// sharesBound is the most actors whose counters a ShareFold keeps.
const sharesBound = 512

// Names of the counters of a cgroup's I/O; Evidence.Text is its path.
const (
	CgroupReadBytes  = "cgroup_io_read_bytes"
	CgroupWriteBytes = "cgroup_io_write_bytes"
	CgroupReads      = "cgroup_io_reads"
	CgroupWrites     = "cgroup_io_writes"
)

// Phased is a span with its time before and after.
type Phased struct{ FromNS, ToNS, MarginNS int64 }

// part is the span of a phase.
func (s *Phased) part(p Phase) (from, to int64) {
	switch p {
	case Before:
		return s.FromNS - s.MarginNS, s.FromNS
	case During:
		return s.FromNS, s.ToNS
	}
	return s.ToNS, s.ToNS + s.MarginNS
}

// ShareFold tells who took how much of a device before, during and after some
// spans, by counters of each cgroup that come in the order of time. What a counter
// grew by between two readings is spread evenly over the time between; one that
// fell began anew. Its memory is that of the cgroups times the spans.
type ShareFold struct {
	spans []Phased
	last  map[string]*series // by counter and cgroup
	grown map[string][][phases][4]float64
}

// NewShareFold makes a fold for some spans.
func NewShareFold(spans []Phased) *ShareFold {
	return &ShareFold{spans: spans, last: map[string]*series{}, grown: map[string][][phases][4]float64{}}
}

var shareCounters = [...]string{CgroupReadBytes, CgroupWriteBytes, CgroupReads, CgroupWrites}

// Add takes the next row of evidence of the device; names that are no counter of
// a cgroup change nothing.
func (f *ShareFold) Add(name string, timeNS int64, value float64, text string) {
	which := slices.Index(shareCounters[:], name)
	if which < 0 || text == "" || timeNS == 0 {
		return
	}
	key := name + "\x00" + text
	s := f.last[key]
	if s == nil {
		if f.grown[text] == nil {
			if len(f.grown) == sharesBound {
				return
			}
			f.grown[strings.Clone(text)] = make([][phases][4]float64, len(f.spans))
		}
		f.last[key] = &series{timeNS, value}
		return
	}
	from, grown := s.timeNS, value-s.value
	if grown < 0 {
		grown = value
	}
	if timeNS <= from {
		return
	}
	s.timeNS, s.value = timeNS, value
	if float64(timeNS-from) > staleNS {
		return
	}
	sums := f.grown[text]
	for i := range f.spans {
		for p := range phases {
			lo, hi := f.spans[i].part(p)
			if over := min(hi, timeNS) - max(lo, from); over > 0 {
				sums[i][p][which] += grown * float64(over) / float64(timeNS-from)
			}
		}
	}
}

// Actors gives the cgroups of a span, by name. A cgroup's counters hold those of
// the cgroups below it, so that only those without any below them count.
func (f *ShareFold) Actors(span int) []Actor {
	names := make([]string, 0, len(f.grown))
	for n := range f.grown {
		names = append(names, n)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(a+"/", b+"/") })
	var all []Actor
	for i, n := range names {
		if i+1 < len(names) && strings.HasPrefix(names[i+1], strings.TrimSuffix(n, "/")+"/") {
			continue // with "/" behind each, what is below follows at once
		}
		a := Actor{Name: n}
		for p, v := range f.grown[n][span] {
			x := &a.Phase[p]
			x.Bytes, x.WriteBytes = int64(v[0]+v[1]+0.5), int64(v[1]+0.5)
			x.Requests = int64(v[2] + v[3] + 0.5)
		}
		if a.Phase != ([phases]ActorPhase{}) {
			all = append(all, a)
		}
	}
	return all
}
