package analysis

import (
	"fmt"
	"math"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cluster/knee"
	"github.com/iopathy/iopathy/features"
)

const (
	fewestRequests = 16   // of a depth that make a rate
	fullShare      = 0.95 // of the time that a device is busy beyond its knee
	conflictShare  = 0.8  // of the service interval, below which arrivals conflict
	chance         = 3    // standard deviations of Poisson arrivals that are no conflict
	serial         = 1.25 // a depth that is one in flight
	conflictLeast  = 0.05 // of the arrivals, from which on it is something to act upon
)

// Saturation finds the depth at which the device's throughput stops growing,
// from ticks sorted by their mean depth. A knee is told only if the device was
// busy without pause beyond it: throughput that is flat because nobody asks
// for more is no ceiling.
func Saturation(key features.Key, p *features.Profile) Finding {
	f := Finding{Kind: SaturationKnee, Key: key}
	var points []knee.Point
	c := &Curve{}
	tick := float64(p.TickNS())
	full := map[int]float64{} // share of busy time, by point of the curve
	for _, of := range p.Depths() {
		var all features.DepthSums
		for _, d := range of {
			if d.Requests >= fewestRequests {
				points = append(points, knee.Point{Depth: ratio(d.InFlightNS, d.BusyNS), Rate: 1e9 * ratio(d.Requests, d.BusyNS), Weight: float64(d.BusyNS)})
				all.Ticks, all.Requests, all.Bytes = all.Ticks+d.Ticks, all.Requests+d.Requests, all.Bytes+d.Bytes
				all.InFlightNS, all.BusyNS = all.InFlightNS+d.InFlightNS, all.BusyNS+d.BusyNS
			}
		}
		if all.Requests == 0 {
			continue
		}
		full[len(c.Points)] = float64(all.BusyNS) / (float64(all.Ticks) * tick)
		c.Points = append(c.Points, CurvePoint{
			Depth: ratio(all.InFlightNS, all.BusyNS), RatePerS: 1e9 * ratio(all.Requests, all.BusyNS), BytesPerS: 1e9 * ratio(all.Bytes, all.BusyNS),
			LatencyS: ratio(all.InFlightNS, all.Requests) / 1e9, BusySeconds: float64(all.BusyNS) / 1e9,
		})
	}
	if len(c.Points) == 0 {
		f.Says = "no knee can be told: there are no ticks in which the device was busy and requests completed"
		return f
	}
	k := knee.Fit(points)
	c.Knee = k
	least, most := c.Points[0].Depth, c.Points[len(c.Points)-1].Depth
	switch k.State {
	case knee.Unknown:
		f.Says = fmt.Sprintf("no knee can be told: the depths seen (%.3g to %.3g in flight, %s) are too few or too near each other", least, most, cluster.Counted(len(points), "point"))
		return f
	case knee.Beyond:
		if k.Low < 2*least {
			f.Says = fmt.Sprintf("no knee can be told: between the depths seen (%.3g to %.3g in flight) throughput varies too much", least, most)
			return f
		}
		f.Told, f.Curve = true, c
		f.Says = fmt.Sprintf("throughput still grows at the deepest queue seen: no knee up to %.3g in flight", k.Low)
		f.Figures = append(f.Figures, Figure{"knee", "in flight", math.NaN(), k.Low, math.Inf(1)})
		return f
	}
	// Was the device busy all the time where the rate no longer grows?
	busy, time := 0.0, 0.0
	for i, x := range c.Points {
		if k.State == knee.Below || x.Depth >= k.Depth {
			busy += x.BusySeconds
			time += x.BusySeconds / full[i]
		}
	}
	if time == 0 || busy < fullShare*time {
		f.Curve = c
		f.Says = fmt.Sprintf("no knee can be told: throughput is flat from %.3g in flight on, but the device was busy for only %.0f %% of that time, so nobody asked for more", math.Max(k.Depth, least), 100*busy/math.Max(time, 1e-9))
		return f
	}
	f.Told, f.Curve = true, c
	if k.State == knee.Below && least <= serial {
		f.Holds = most >= serial*2
		f.Says = fmt.Sprintf("the device serves one request at a time: throughput is %s at one in flight and at %.3g, so all beyond one wait", perSecond(k.Rate), most)
		f.Figures = append(f.Figures, Figure{"knee", "in flight", 1, 0, math.Max(k.High, 1)}, figure("throughput at the knee", "1/s", k.Rate), figure("effective service interval", "s", k.ServiceInterval()), figure("deepest seen", "in flight", most))
		return f
	}
	if k.State == knee.Below {
		f.Says = fmt.Sprintf("throughput is about %s at every depth seen (%.3g to %.3g in flight): if requests were there to serve, the knee lies below %.3g", perSecond(k.Rate), least, most, k.High)
		f.Figures = append(f.Figures, Figure{"knee", "in flight", math.NaN(), 0, k.High}, figure("throughput", "1/s", k.Rate))
		return f
	}
	f.Holds = most > k.High
	beyond := c.Points[len(c.Points)-1]
	ceiling := c.ceiling()
	f.Says = fmt.Sprintf("the knee is at %.3g in flight (95 %% interval %.3g to %.3g): beyond it throughput hardly grows, to at most %s; at the deepest seen, %.3g in flight, a request takes %s, against %s when there is room",
		k.Depth, k.Low, k.High, perSecond(ceiling), beyond.Depth, seconds(beyond.LatencyS), seconds(k.Latency))
	if k.Cliff > 0 && beyond.RatePerS < 0.9*ceiling {
		f.Says += fmt.Sprintf(", and throughput falls to %s (the I/O cliff)", perSecond(beyond.RatePerS))
	}
	f.Figures = append(f.Figures, Figure{"knee", "in flight", k.Depth, k.Low, k.High}, figure("highest throughput", "1/s", ceiling),
		figure("latency when there is room", "s", k.Latency), figure("effective service interval", "s", 1/ceiling),
		figure("deepest seen", "in flight", beyond.Depth), figure("latency at the deepest", "s", beyond.LatencyS), figure("cliff exponent", "1", k.Cliff), figure("r2", "1", k.Fit))
	return f
}

// ceiling is the most completions per second that the law gives at a depth
// that was seen. Where the knee is soft, this is clearly more than at N* itself.
func (c *Curve) ceiling() float64 {
	if c.Knee.State == knee.Below {
		return c.Knee.Rate
	}
	most := 0.0
	for _, p := range c.Points {
		most = math.Max(most, c.Knee.At(p.Depth))
	}
	return most
}

// Conflict looks for ticks in which requests come, on the mean, closer
// together than 0.8 of the device's effective service interval, which is 1 over
// the highest throughput beyond its knee: parallel service is in it. As many as come by
// chance at full load are not counted. Without a knee it can't tell.
func Conflict(p *features.Profile, saturation *Finding) Finding {
	f := Finding{Kind: TimingConflict, Key: saturation.Key}
	if !saturation.Told || saturation.Curve == nil || saturation.Curve.Knee.State != knee.Found &&
		(saturation.Curve.Knee.State != knee.Below || saturation.Curve.Points[0].Depth > serial) {
		f.Says = "whether requests come faster than the device can serve them can't be told: its knee is not known"
		return f
	}
	rate := saturation.Curve.ceiling()
	interval := 1 / rate
	tick := float64(p.TickNS()) / 1e9
	capacity := rate * tick // requests of a tick
	var arrivals, ticks, near, nearTicks, waiting int64
	for _, a := range p.Arrivals() {
		arrivals, ticks = arrivals+a.Arrivals, ticks+a.Ticks
		mean := ratio(a.Arrivals, a.Ticks)
		if mean > capacity/conflictShare && mean > capacity+chance*math.Sqrt(capacity) {
			near, nearTicks, waiting = near+a.Arrivals, nearTicks+a.Ticks, waiting+a.InFlightNS
		}
	}
	f.Told = true
	share := ratio(near, max(arrivals, 1))
	f.Figures = append(f.Figures, figure("effective service interval", "s", interval), figure("share of arrivals in conflict", "0..1", share), figure("share of ticks in conflict", "0..1", ratio(nearTicks, max(ticks, 1))))
	if nearTicks == 0 {
		f.Says = fmt.Sprintf("requests don't come faster than the device serves them: one every %s at its best", seconds(interval))
		return f
	}
	gap := tick * ratio(nearTicks, near)
	f.Holds = share >= conflictLeast
	f.Figures = append(f.Figures, figure("mean gap of arrivals then", "s", gap), figure("gap over service interval", "1", gap/interval), figure("mean depth then", "in flight", ratio(waiting, nearTicks)/(tick*1e9)))
	f.Says = fmt.Sprintf("%.0f %% of the requests come in stretches in which one arrives every %s, %.2g of the %s that the device needs for one at its best: they queue however well it works",
		100*share, seconds(gap), gap/interval, seconds(interval))
	return f
}

func ratio(a, b int64) float64 { return float64(a) / float64(b) }

// perSecond is a rate in words.
func perSecond(v float64) string {
	switch {
	case v >= 99.5e3:
		return fmt.Sprintf("%.0f k/s", v/1e3)
	case v >= 9950:
		return fmt.Sprintf("%.3g k/s", v/1e3)
	case v >= 999.5:
		return fmt.Sprintf("%.0f /s", v)
	}
	return fmt.Sprintf("%.3g /s", v)
}

// seconds is a time in words.
func seconds(v float64) string {
	switch {
	case v >= 0.9995:
		return fmt.Sprintf("%.3g s", v)
	case v >= 0.9995e-3:
		return fmt.Sprintf("%.3g ms", v*1e3)
	}
	return fmt.Sprintf("%.3g us", v*1e6)
}
