package ingest

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// TimeBase is what the stamps of a source count from.
type TimeBase uint8

// The time bases. BaseEpoch: stamps are dates, or count from 1970. BaseBoot:
// they are of a clock of the kernel that counts from the boot (monotonic, boot
// time, the scheduler's). BaseRelative: they count from the first record, or
// from the start of the tool or the job.
const (
	BaseEpoch TimeBase = iota
	BaseBoot
	BaseRelative
)

var baseNames = [...]string{"epoch", "boot", "relative"}

func (b TimeBase) String() string { return baseNames[b] }

// RelativeBeforeNS is 1980 in ns since the epoch: no recording is older, so an
// earlier time counts from a boot or a start that nothing has told.
const RelativeBeforeNS = 10 * 365 * 24 * int64(time.Hour)

// Clock is what is known beforehand of an input's clock. A time of the log, t,
// becomes
//
//	t + OffsetNS + DriftPPB x (t - AtNS) / 10^9
//
// where t has begun at StartNS if the log has no dates. Latencies stay what
// they are: the drift of a clock within one I/O is nothing.
type Clock struct {
	StartNS  int64  // epoch of stamp 0 of a boot or relative clock; 0: Options.StartNS
	Bare     bool   // stamps are taken as they stand, without any start
	OffsetNS int64  // added to all times
	DriftPPB int64  // how much slower the log's clock is, in ns a second
	AtNS     int64  // the time at which OffsetNS holds, before it is added
	ErrorNS  int64  // by how much OffsetNS may be wrong against the log it was measured by; 0: not measured
	Anchor   string // what tells this, in words for people; "" if nothing does
}

// MaxDriftPPB bounds the drift of a clock: 1,000 ppm. Crystals keep 100, and
// what disciplines a clock slews it by 500 (adjtimex).
const MaxDriftPPB = 1_000_000

// maxClockNS bounds starts and offsets: the year 2200, so that sums of a few
// stay far from overflow.
const maxClockNS = int64(7258118400e9)

// Check says what of a clock is beyond its bounds.
func (c *Clock) Check() error {
	switch {
	case c.StartNS < -maxClockNS || c.StartNS > maxClockNS:
		return fmt.Errorf("a start of %d ns is beyond the year 2200", c.StartNS)
	case c.OffsetNS < -maxClockNS || c.OffsetNS > maxClockNS || c.AtNS < -maxClockNS || c.AtNS > maxClockNS:
		return fmt.Errorf("an offset of %d ns at %d is of more than 230 years", c.OffsetNS, c.AtNS)
	case c.DriftPPB < -MaxDriftPPB || c.DriftPPB > MaxDriftPPB:
		return fmt.Errorf("a drift of %d ppb is more than a clock has (%d)", c.DriftPPB, MaxDriftPPB)
	}
	return nil
}

// shifts says whether times are not left as they are.
func (c *Clock) shifts() bool { return c.OffsetNS != 0 || c.DriftPPB != 0 }

// Time corrects a time. A broken stamp, near the end of what 64 bits hold, is
// left alone.
func (c *Clock) Time(ns int64) int64 {
	if ns > math.MaxInt64/4 || ns < -math.MaxInt64/4 {
		return ns
	}
	d := ns - c.AtNS
	sec, rest := d/1e9, d%1e9
	drift := sec*c.DriftPPB + rest*c.DriftPPB/1e9
	return ns + c.OffsetNS + drift
}

// shift corrects the times of all rows. A fact at 0 has no time.
func (b *Batch) shift(c *Clock) {
	for i := range b.Events {
		b.Events[i].TimeNS = c.Time(b.Events[i].TimeNS)
	}
	for i := range b.Samples {
		b.Samples[i].TimeNS = c.Time(b.Samples[i].TimeNS)
	}
	for i := range b.Evidence {
		if e := &b.Evidence[i]; e.TimeNS > 0 {
			e.TimeNS = c.Time(e.TimeNS)
		}
	}
}

// Clocked is a decoder whose log may itself tell what its stamps count from.
// Once all is read, OwnClock gives their base, and what in the log ties it to
// the epoch, in words ("its TIMESTAMP message"), "" if the log does not.
type Clocked interface {
	OwnClock() (base TimeBase, anchor string)
}

// ClockReport is how the stamps of an input became times.
type ClockReport struct {
	Base     string `json:"base"`                // epoch, boot or relative
	Anchor   string `json:"anchor,omitempty"`    // what ties it to the epoch, and what corrects it
	Loose    bool   `json:"loose,omitempty"`     // nothing does: times count from 1970
	StartNS  int64  `json:"start_ns,omitempty"`  // as in Clock
	OffsetNS int64  `json:"offset_ns,omitempty"` // as in Clock
	DriftPPB int64  `json:"drift_ppb,omitempty"`
	AtNS     int64  `json:"at_ns,omitempty"`
	ErrorNS  int64  `json:"error_ns,omitempty"`

	Back StepsBack `json:"set_back,omitzero"`
}

// Clock is that which reads an input again as it was read.
func (c ClockReport) Clock() Clock {
	return Clock{StartNS: c.StartNS, Bare: c.StartNS == 0, OffsetNS: c.OffsetNS, DriftPPB: c.DriftPPB, AtNS: c.AtNS, ErrorNS: c.ErrorNS, Anchor: c.Anchor}
}

// AlignedWith begins the anchor of a clock that was found from I/Os which another log
// has, too.
const AlignedWith = "aligned with "

func (c ClockReport) aligned() bool { return strings.HasPrefix(c.Anchor, AlignedWith) }

// String says it in words.
func (c ClockReport) String() string {
	s := c.Base
	switch {
	case c.Loose:
		if s += ", tied to no date"; c.aligned() {
			s += "; " + c.Anchor
		} else if c.Anchor != "" {
			s += "; by " + c.Anchor
		}
	case c.aligned():
		s += ", " + c.Anchor
	case c.Anchor != "":
		s += " by " + c.Anchor
	}
	if c.OffsetNS != 0 {
		s += fmt.Sprintf(", %s added", signed(c.OffsetNS))
	}
	if c.DriftPPB != 0 {
		s += fmt.Sprintf(", drift %+.3f ppm taken out", float64(c.DriftPPB)/1e3)
	}
	return s
}

// signed writes an offset as a duration; one of decades as the date that it makes of 0.
func signed(ns int64) string {
	if ns >= RelativeBeforeNS {
		return time.Unix(0, ns).UTC().Format(time.RFC3339Nano)
	}
	if d := time.Duration(ns); d < 0 {
		return d.String()
	}
	return "+" + time.Duration(ns).String()
}

// clockReport tells how the times of a report came about.
func (r *reader) clockReport(f Format, dec any) ClockReport {
	c := r.in.Clock
	out := ClockReport{Base: f.Clock.String(), Anchor: c.Anchor, StartNS: r.startNS(), OffsetNS: c.OffsetNS, DriftPPB: c.DriftPPB, AtNS: c.AtNS, ErrorNS: c.ErrorNS, Back: r.span.back}
	if out.Anchor == "" && out.StartNS != 0 {
		out.Anchor = "ingest.start_ns"
	}
	base, own := f.Clock, ""
	if d, ok := dec.(Clocked); ok {
		base, own = d.OwnClock()
		out.Base = base.String()
	}
	early := r.rep.Events+r.rep.Samples > 0 && r.rep.FirstNS < RelativeBeforeNS
	switch {
	case own != "":
		out.StartNS = 0
		if out.Anchor = own; c.shifts() && c.Anchor != "" {
			out.Anchor += " and " + c.Anchor
		}
	case early:
		if base == BaseEpoch {
			out.Base = BaseRelative.String()
		}
		out.Loose = true
	case base == BaseEpoch && !c.shifts():
		out.Anchor = "" // a start that was given tells at most the day
	case out.StartNS == 0 && !c.shifts():
		out.Base = BaseEpoch.String() // the log has dates after all
		out.Loose = r.rep.Events+r.rep.Samples == 0
		if out.Loose {
			out.Base = base.String()
		}
	}
	return out
}

// startNS is the epoch of stamp 0, 0 if none is told.
func (r *reader) startNS() int64 {
	switch {
	case r.in.Clock.Bare:
		return 0
	case r.in.Clock.StartNS != 0:
		return r.in.Clock.StartNS
	}
	return r.o.StartNS
}
