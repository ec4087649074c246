package features

import "math/bits"

// Depths are told apart by quarters of an octave, from 1 to 2^14 in flight;
// each stands three times, for stretches of time in turn, so that how much a
// rate varies at one depth can be seen.
const (
	depthQuarters  = 4
	depthOctaves   = 14
	depthBins      = depthOctaves * depthQuarters
	replicates     = 3
	replicateTicks = 64
	depthUnit      = 16 // of a depth in fixed point
	arrivalBins    = 24 * depthQuarters
	leastBusy      = 2 // a tick counts for its depth if it is busy for at least one part in so many
)

// Profile is what is kept of a device over all of its recording: integers, in
// bounded memory, that add up the same in any order of ticks. The analyses of
// package cluster/analysis read it.
type Profile struct {
	depth    [depthBins][replicates]DepthSums
	arrivals [arrivalBins]ArrivalSums
	tickNS   int64
	regions  regions
	pauses   []Pause // the longest, in the order of longer
	rhythm   rhythm
	reuse    reuse
}

// DepthSums is what a device did in ticks of about one depth.
type DepthSums struct {
	Ticks, Requests, Bytes, InFlightNS, BusyNS int64
}

// ArrivalSums is the ticks with about one number of arrivals.
type ArrivalSums struct {
	Ticks, Arrivals, Requests, InFlightNS int64
}

// NewProfile is an empty profile of ticks of the options' length.
func NewProfile(o Options) *Profile {
	return &Profile{tickNS: o.TickNS, reuse: reuse{seed: o.Seed * 0x9e3779b97f4a7c15}}
}

// Reset empties the profile.
func (p *Profile) Reset() {
	p.rhythm.reset()
	p.reuse.reset()
	*p = Profile{tickNS: p.tickNS, pauses: p.pauses[:0], rhythm: p.rhythm, reuse: p.reuse}
}

// AddTick takes a closed tick of the device.
func (p *Profile) AddTick(t *Tick) {
	if t.Arrivals > 0 {
		a := &p.arrivals[min(quarterOf(t.Arrivals, 1), arrivalBins-1)]
		a.Ticks++
		a.Arrivals += t.Arrivals
		a.Requests += t.Requests()
		a.InFlightNS += t.InFlightNS
	}
	if t.BusyNS*leastBusy < p.tickNS || t.BusyNS <= 0 || t.InFlightNS < t.BusyNS {
		return
	}
	bin := min(quarterOf(t.InFlightNS*depthUnit/t.BusyNS, depthUnit), depthBins-1)
	d := &p.depth[bin][uint64(floorDiv(t.StartNS, p.tickNS*replicateTicks))%replicates]
	d.Ticks++
	d.Requests += t.Requests()
	d.Bytes += t.Bytes()
	d.InFlightNS += t.InFlightNS
	d.BusyNS += t.BusyNS
}

// quarterOf is the number of quarters of an octave by which v, at least unit,
// lies above unit, a power of two; the quarters are even in v.
func quarterOf(v, unit int64) int {
	e := bits.Len64(uint64(v)) - 1
	low := e - bits.Len64(uint64(unit)) + 1
	if e >= 2 {
		return low*depthQuarters + int(v>>(e-2)&3)
	}
	return low*depthQuarters + int(v<<(2-e)&3)
}

// Merge adds another profile of the device.
func (p *Profile) Merge(o *Profile) {
	if p.tickNS == 0 {
		p.tickNS = o.tickNS
	}
	for i := range p.depth {
		for k := range p.depth[i] {
			p.depth[i][k].add(&o.depth[i][k])
		}
	}
	for i := range p.arrivals {
		a, b := &p.arrivals[i], &o.arrivals[i]
		a.Ticks, a.Arrivals, a.Requests, a.InFlightNS = a.Ticks+b.Ticks, a.Arrivals+b.Arrivals, a.Requests+b.Requests, a.InFlightNS+b.InFlightNS
	}
	p.regions.merge(&o.regions)
	p.rhythm.merge(&o.rhythm)
	p.reuse.merge(&o.reuse)
	for _, x := range o.pauses {
		p.pause(x)
	}
}

func (d *DepthSums) add(o *DepthSums) {
	d.Ticks, d.Requests, d.Bytes = d.Ticks+o.Ticks, d.Requests+o.Requests, d.Bytes+o.Bytes
	d.InFlightNS, d.BusyNS = d.InFlightNS+o.InFlightNS, d.BusyNS+o.BusyNS
}

// TickNS is the length of the profile's ticks; 0 of one that is empty.
func (p *Profile) TickNS() int64 { return p.tickNS }

// Depths gives the sums of the depths that were seen, the shallowest first;
// each depth up to three times, for different stretches of time.
func (p *Profile) Depths() (all [][]DepthSums) {
	for i := range p.depth {
		var of []DepthSums
		for _, d := range p.depth[i] {
			if d.Ticks > 0 {
				of = append(of, d)
			}
		}
		if of != nil {
			all = append(all, of)
		}
	}
	return all
}

// Arrivals gives the sums of the ticks with arrivals, those with the fewest first.
func (p *Profile) Arrivals() (all []ArrivalSums) {
	for _, a := range p.arrivals {
		if a.Ticks > 0 {
			all = append(all, a)
		}
	}
	return all
}
