package score

import (
	"cmp"
	"math"
	"slices"
)

// Key names a device.
type Key struct{ Host, Device string }

// Said is one row of labels.csv.
type Said struct {
	Key
	StartNS, EndNS int64
	Verdict        string // healthy, idle, artefact, sick
	Pathology      string // slug or unrecognised; empty unless sick
	ClassID        string // empty or -1: none
	Severity       float64
	Confidence     float64 // NaN: none given
	RootCause      string
}

// Fault is a span of sickness of one device.
type Fault struct {
	Label        string
	FromNS, ToNS int64
	Stalls       [][2]int64 // of a sudden-stall, when nothing completed; nil: the whole span
}

// Device is what is known of one device. One without faults is healthy.
type Device struct {
	Key
	Faults   []Fault
	Cause    Expectation
	Period   float64       // of its bursts, s; 0: not told
	Requests map[int64]int // completed, by start of the grid window; nil: not known
}

// Expectation is what caused a device's fault, and which causes of the
// catalogue say so. It is empty where nothing is known.
type Expectation struct {
	What  string
	Right []string
}

// Healthy, missing and artefact are the words of the table beside the slugs.
const (
	healthy      = "healthy"
	missing      = "missing"
	artefact     = "artefact"
	unrecognised = "unrecognised"
	stall        = "sudden-stall"
	burst        = "burst-congestion"
)

const (
	fewRequests = 8           // below it a window of a recording needs no label
	leastStall  = 200_000_000 // ns of a stall that make its window sick
	nameWeight  = 1e-9        // of a window without severity in a device's name
)

// Score compares labels with a truth. windowNS is the length of the windows;
// slugs are the classes beside healthy, in the order of the tables. The truth
// of a window is a label when at least half of it lies in the fault (for a
// stall: when it holds 0.2 s of one), healthy when none of it does; others
// don't count. Where the requests are known, each window with 8 or more needs a
// label, and only those count.
func Score(said []Said, truth []Device, slugs []string, windowNS int64) *Measures {
	s := scoring{windowNS: windowNS, classes: append([]string{healthy}, slugs...)}
	s.pair(said, truth)
	m := &Measures{WindowNS: windowNS, Windows: len(s.rows), Needed: s.needed, Missing: s.missing, Devices: len(truth), DevicesSeen: s.seen}
	m.WindowCoverage = 1
	m.CoverageKnown = s.needed > 0
	if s.needed > 0 {
		m.WindowCoverage = 1 - float64(s.missing)/float64(s.needed)
	}
	if len(truth) > 0 {
		m.Runs = float64(s.seen) / float64(len(truth))
	}
	s.perClass(m)
	s.detection(m)
	s.deviceNames(m)
	s.partition(m)
	s.confusion(m)
	s.reliability(m)
	s.causes(m)
	return m
}

// row is one window that counts: what is true and what was said.
type row struct {
	key         Key
	start       int64
	truth, said string
	class       string
	severity    float64
	confidence  float64 // NaN: none
	cause       string
	device      *Device
}

type scoring struct {
	windowNS              int64
	classes               []string // healthy first
	rows                  []row    // by host, device, start
	needed, missing, seen int
}

// pair brings the rows of labels and the windows that need one together.
func (s *scoring) pair(said []Said, truth []Device) {
	devices := make(map[Key]*Device, len(truth))
	type window struct {
		Key
		start int64
	}
	all := map[window]*Said{}
	for i := range truth {
		d := &truth[i]
		devices[d.Key] = d
		for at, n := range d.Requests {
			if n >= fewRequests {
				all[window{d.Key, at}] = nil
				s.needed++
			}
		}
	}
	seen := map[Key]bool{}
	for i := range said {
		w := &said[i]
		d := devices[w.Key]
		if d == nil {
			continue
		}
		at := window{w.Key, w.StartNS}
		if _, needed := all[at]; needed || d.Requests == nil {
			all[at] = w
		}
		seen[w.Key] = true
	}
	s.seen = len(seen)
	order := make([]window, 0, len(all))
	for w := range all {
		order = append(order, w)
	}
	slices.SortFunc(order, func(a, b window) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Device, b.Device), cmp.Compare(a.start, b.start))
	})
	for _, at := range order {
		d, w := devices[at.Key], all[at]
		r := row{key: at.Key, start: at.start, device: d, said: missing, confidence: math.NaN()}
		if w == nil {
			s.missing++
		} else {
			r.said, r.class, r.severity, r.confidence, r.cause = word(w), w.ClassID, w.Severity, w.Confidence, w.RootCause
		}
		var counts bool
		if r.truth, counts = d.at(at.start, at.start+s.windowNS); counts {
			s.rows = append(s.rows, r)
		}
	}
}

// word is what a row says: idle counts as healthy.
func word(w *Said) string {
	switch {
	case w.Verdict == healthy || w.Verdict == "idle":
		return healthy
	case w.Pathology != "":
		return w.Pathology
	}
	return w.Verdict
}

// At is the truth of a window from one time to another, a label or healthy,
// and whether the window counts.
func (d *Device) At(fromNS, toNS int64) (label string, counts bool) { return d.at(fromNS, toNS) }

// at is the truth of a window, and whether the window counts.
func (d *Device) at(from, to int64) (label string, counts bool) {
	label, touched := "", false
	most := int64(0)
	for i := range d.Faults {
		f := &d.Faults[i]
		in := overlap(from, to, f.FromNS, f.ToNS)
		if in <= 0 {
			continue
		}
		touched = true
		if f.holds(from, to, in) && in > most {
			label, most = f.Label, in
		}
	}
	if !touched {
		return healthy, true
	}
	return label, label != ""
}

func (f *Fault) holds(from, to, in int64) bool {
	if f.Label != stall {
		return 2*in >= to-from
	}
	if f.Stalls != nil {
		in = 0
		for _, s := range f.Stalls {
			in += overlap(from, to, s[0], s[1])
		}
	}
	return in >= leastStall
}

func overlap(a, b, from, to int64) int64 { return max(0, min(b, to)-max(a, from)) }
