package features

// A group is arrivals no more than groupGapNS apart; smaller ones than
// smallestGroup are no burst.
const (
	groupGapNS    = 5e6
	smallestGroup = 8
)

// sweep is the state of the line that moves over a device's time, and what it
// has found in the window that it is in.
//
// At equal times completions come before arrivals: a caller that issues the
// next I/O when the last one ends has one in flight, not two. An I/O of no
// length arrives, then completes.
//
// A gap is the time in which I/O waits and nothing completes: from the later
// of the last completion and the next arrival to the next completion (at low
// load the queue is empty when a stall begins; from the last completion alone
// the stall could not be told from idleness). A gap that crosses a border
// counts on each side with what lies there; gaps between two completions of
// the window also feed the median.
type sweep struct {
	depth int64
	since int64    // start of the gap in this window, while depth > 0
	began int64    // start of the gap, in whatever window
	to    *Profile // nil, or what sees the pauses that end between two times

	toFrom, toUntil int64
	lean            bool // what vectors don't need is left out

	completed  bool  // a completion of this window has been seen
	arrived    bool  // an arrival of this window has been seen
	arrival    int64 // the last
	arrivals   int64
	peak       int64
	gap        int64     // longest
	edges      [2]int64  // the gaps that the window's borders cut
	gaps       histogram // between completions of the window, above 0
	spacing    histogram // times between arrivals of the window
	waiting    int64     // in flight when the longest gap ended
	group      int64     // arrivals of the group in hand
	grouped    int64     // arrivals in groups of at least smallestGroup
	groups     histogram // their sizes
	groupStart int64     // of the group in hand
	bursts     []burst   // the first mostBursts of them
	inFlightNS int64
	busyNS     int64
}

// enter begins a window (or the span) at a time.
func (s *sweep) enter(at int64) {
	s.gaps.reset()
	s.spacing.reset()
	s.groups.reset()
	s.waiting, s.group, s.grouped = 0, 0, 0
	s.bursts = s.bursts[:0]
	s.completed, s.arrived = false, false
	s.arrivals, s.gap, s.edges = 0, 0, [2]int64{}
	s.peak = s.depth
	s.inFlightNS, s.busyNS = 0, 0
	if s.depth > 0 {
		s.since = at
	}
}

// leave ends the window at a time.
func (s *sweep) leave(at int64) {
	if s.depth > 0 {
		s.edges[1] = at - s.since
		s.longest(s.edges[1], s.depth)
	}
	s.endGroup()
}

func (s *sweep) longest(gap, depth int64) {
	if gap > s.gap {
		s.gap, s.waiting = gap, depth
	}
}

func (s *sweep) endGroup() {
	if s.group >= smallestGroup {
		s.groups.add(s.group)
		s.grouped += s.group
		if len(s.bursts) < mostBursts {
			s.bursts = append(s.bursts, burst{s.groupStart, s.group})
		}
	}
	s.group = 0
}

// run sweeps one tick up to length ns after its start: starts ascending, ends
// doubled and odd for I/Os of no length.
func (s *sweep) run(t *Tick, starts, ends []int64, length int64) {
	var (
		depth    = s.depth
		peak     = depth
		at       int64 // how far the integrals are
		inFlight int64
		busy     int64
		i, j     int
	)
	t.Arrivals += int64(len(starts))
	if !s.lean {
		s.arrive(t.StartNS, starts)
	}
	for i < len(starts) || j < len(ends) {
		if j < len(ends) && (i == len(starts) || ends[j] <= starts[i]<<1) {
			now := ends[j] >> 1
			j++
			if depth == 0 {
				continue // its arrival was never told
			}
			inFlight += depth * (now - at)
			busy += now - at
			at = now
			s.completion(t.StartNS+now, depth)
			depth--
			continue
		}
		now := starts[i]
		i++
		if depth > 0 {
			inFlight += depth * (now - at)
			busy += now - at
		} else {
			s.since = t.StartNS + now
			s.began = s.since
		}
		at = now
		depth++
		peak = max(peak, depth)
	}
	if depth > 0 {
		inFlight += depth * (length - at)
		busy += length - at
	}
	s.depth = depth
	s.inFlightNS += inFlight
	s.busyNS += busy
	s.peak = max(s.peak, peak)
	s.arrivals += int64(len(starts))
	t.InFlightNS, t.BusyNS, t.PeakDepth = inFlight, busy, int32(peak)
}

func (s *sweep) completion(now, depth int64) {
	if now-s.began >= pauseNS && s.to != nil && now >= s.toFrom && now < s.toUntil {
		s.to.pause(Pause{s.began, now, depth})
	}
	s.began = now
	if gap := now - s.since; gap > 0 {
		s.longest(gap, depth)
		if s.completed {
			s.gaps.add(gap)
		} else {
			s.edges[0] = gap
		}
	}
	s.completed = true
	s.since = now
}

// arrive takes the arrivals of a tick, since its start.
func (s *sweep) arrive(tick int64, starts []int64) {
	for _, start := range starts {
		now := tick + start
		if s.arrived {
			gap := now - s.arrival
			s.spacing.add(gap)
			if gap > groupGapNS {
				s.endGroup()
			}
		}
		if s.group == 0 {
			s.groupStart = now
		}
		s.group++
		s.arrived = true
		s.arrival = now
	}
}
