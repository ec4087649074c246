package reduce

import (
	"fmt"
	"iter"
	"math"
	"sort"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
)

// survey is what the normals need of windows: 40 bytes of each that says
// something about latency, by device.
type survey struct {
	kind         ingest.LatencyKind
	tick, window int64
	judged       int // windows that aren't idle
	all          []told
	byKey        map[features.Key]*surveyed
	order        []*surveyed // as they came
}

// told is what one window says.
type told struct {
	ns     float64 // latency at load
	size   float64 // bytes of the mean request
	moves  float64 // see there
	rate   float64 // bytes per busy second; 0 unknown
	window int32   // by number
	alone  bool    // with one in flight
}

// surveyed is the windows of a device: runs of survey.all.
type surveyed struct {
	features.Key
	device  Device
	windows int
	runs    [][2]int32
}

// members are the devices of one group.
type members struct {
	name       string
	rotational string // of the device that came first
	devices    []*surveyed
}

// newSurvey takes windows of one latency kind, tick and length; others are an
// error.
func newSurvey(ws features.Rows[features.Window], inv Inventory) (*survey, error) {
	s := &survey{byKey: map[features.Key]*surveyed{}}
	var d *surveyed
	for i := range ws.Len() {
		w := ws.At(i)
		if w.Idle {
			continue
		}
		if s.judged == 0 {
			s.kind, s.tick, s.window = w.Kind, w.TickNS, w.EndNS-w.StartNS
		}
		s.judged++
		if w.Kind != s.kind {
			return nil, fmt.Errorf("reduce: latencies of kind %s and %s can't be compared: fit them apart", s.kind, w.Kind)
		}
		if w.TickNS != s.tick || w.EndNS-w.StartNS != s.window {
			return nil, fmt.Errorf("reduce: windows of %d ns and ticks of %d ns beside %d and %d: fit them apart", s.window, s.tick, w.EndNS-w.StartNS, w.TickNS)
		}
		if !usable(w) {
			continue
		}
		at := int32(len(s.all))
		if d == nil || d.Key != w.Key {
			if d = s.byKey[w.Key]; d == nil {
				d = &surveyed{Key: w.Key, device: inv[w.Key]}
				s.byKey[w.Key] = d
				s.order = append(s.order, d)
			}
			d.runs = append(d.runs, [2]int32{at, at})
		}
		if s.all == nil {
			s.all = make([]told, 0, ws.Len()) // to grow it would take as much again
		}
		t := told{ns: math.Pow(10, rawNS(w)), size: fact(w, features.CtxSizeMean, 0), moves: moves(w), window: int32(i), alone: w.Vector[features.QueueDepthLevel] < oneInFlight}
		if bytes, busy := fact(w, features.CtxBytesPerS, 0), w.Vector[features.BusyFraction]; bytes > 0 && busy > 0 {
			t.rate = bytes / max(busy, 0.001)
		}
		s.all = append(s.all, t)
		d.windows++
		d.runs[len(d.runs)-1][1] = at + 1
	}
	return s, nil
}

// told gives what the windows of devices say.
func (s *survey) told(of []*surveyed) iter.Seq[*told] {
	return func(yield func(*told) bool) {
		for _, d := range of {
			for _, r := range d.runs {
				for i := r[0]; i < r[1]; i++ {
					if !yield(&s.all[i]) {
						return
					}
				}
			}
		}
	}
}

// service is that of the window (see normals.go).
func (t *told) service(rate float64, rotational bool) float64 {
	return serviceOf(t.ns, t.size/rate*1e9, seeksOf(t.moves, rotational))
}

// windowsOf is the number of windows of devices.
func windowsOf(of []*surveyed) (n int) {
	for _, d := range of {
		n += d.windows
	}
	return n
}

// groups gives the groups by name.
func (s *survey) groups() []members {
	byName := map[string]int{}
	var all []members
	for _, d := range s.order {
		name := groupOf(d.device)
		at, ok := byName[name]
		if !ok {
			at = len(all)
			byName[name] = at
			all = append(all, members{name: name, rotational: d.device.Rotational})
		}
		all[at].devices = append(all[at].devices, d)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].name < all[j].name })
	return all
}
