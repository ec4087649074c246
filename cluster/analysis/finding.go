// Package analysis asks single questions of a device beside its class: at what
// depth it is full, whether requests come faster than it can serve them,
// whether it was its host that stood still. Each answer is a Finding in
// numbers and one sentence; a question that the data can't answer says so.
//
//  1. features.Profile, Windows and Incident hold bounded sums of a device.
//  2. A function of this package reads them: pure arithmetic, no state.
//  3. reports and cmd show the findings; they add nothing.
package analysis

import (
	"math"
	"strings"
	"unicode"

	"github.com/iopathy/iopathy/cluster/knee"
	"github.com/iopathy/iopathy/features"
)

// Kind names a question.
type Kind string

// The kinds of findings.
const (
	SaturationKnee     Kind = "saturation-knee"
	TimingConflict     Kind = "timing-conflict"
	HostPaused         Kind = "host-pause"
	SickTogether       Kind = "neighbours"
	SlowAddresses      Kind = "slow-region"
	Misalignment       Kind = "misalignment"
	MergeFailure       Kind = "merge-failure"
	MetadataOperations Kind = "metadata-knee"
	PeriodicCulprit    Kind = "periodic-culprit"
	Tiers              Kind = "tiers"
	FaultAmplification Kind = "fault-amplification"
	ReadAmplification  Kind = "read-amplification"
)

// Finding is the answer to one question.
type Finding struct {
	Kind         Kind
	features.Key       // Device is empty where it is of a host
	FromNS, ToNS int64 // what it is about; 0: all that was recorded
	Told         bool  // false: the data can't tell, and Says says why
	Holds        bool  // true: it is something to act upon
	Says         string
	Figures      []Figure
	Curve        *Curve // of a saturation knee
}

// Figure is one number of a finding. Low and High are its 95 % interval; NaN
// where there is none.
type Figure struct {
	Name, Unit       string
	Value, Low, High float64
}

// Curve is throughput and latency against depth, and the law that was fitted.
type Curve struct {
	Points []CurvePoint
	Knee   knee.Knee
}

// CurvePoint is a device at one depth: completions per second while busy, and
// the latency that follows by Little's law.
type CurvePoint struct {
	Depth, RatePerS, BytesPerS, LatencyS, BusySeconds float64
}

func figure(name, unit string, value float64) Figure {
	return Figure{Name: name, Unit: unit, Value: value, Low: math.NaN(), High: math.NaN()}
}

// nameRunes bounds a name in a sentence.
const nameRunes = 60

// plain keeps what can't be seen in a name of a log out of a sentence.
func plain(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
	if r := []rune(s); len(r) > nameRunes {
		s = string(r[:nameRunes-1]) + "…"
	}
	return s
}
