package reduce

import (
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/iopathy/iopathy/features"
)

// A normal is the time that one I/O takes on a device with one in flight:
//
//	latency over depth = 10^level x (share of requests that seek) + bytes / rate
//
// By Little's law the left side, mean latency over mean depth, is the busy
// time per request whatever the load. The transfer term keeps large requests
// from looking slow; the seek share (disks only) keeps a stream from looking
// quick.
const (
	leastService = 0.25 // of the latency at load that is never put down to transfer
	leastSeeks   = 0.2
	rateQuantile = 0.95
	ownBound     = 0.3  // log10: how far a device's own normal may lie above its group's
	unknownOwn   = 2    // shrinkage of a device that nothing is known of, windows
	fewHealthy   = 4    // healthy windows below which a group keeps its low quantile
	fewDevices   = 8    // of one model below which their normal can't be slower than any device of the kind
	oneInFlight  = 0.1  // log10 of the mean depth up to which a window tells of one in flight
	leastAlone   = 0.05 // the quantile of such windows below which no normal lies
	slowestFlat  = 6.5  // log10 ns: 3 ms, what healthy SD cards and network volumes take for one small access
	quickestDisk = 6.7  // 5 ms: half a turn at 7200 a minute and the shortest seek
	slowestDisk  = 7.4  // 25 ms: a full stroke, a whole turn at 5400 a minute, and some
)

// kindPrefix begins the names of groups that are a rotational kind.
const kindPrefix = "rotational "

// groupOf names the group of a device: its model, else its rotational kind,
// else the unknown.
func groupOf(d Device) string {
	switch {
	case d.Model != "":
		return d.Model
	case d.Rotational != "":
		return kindPrefix + d.Rotational
	}
	return ""
}

// learner takes normals from windows; healthy is nil in the first pass.
type learner struct {
	*survey
	healthy []bool
	prior   *Model
	sameKnd bool // the prior's levels are of the same latency kind
	o       Options
}

// few is the number of windows of devices that weigh as much as the next coarser
// normal. One device tells the more the longer it is watched; several tell by how
// many they are.
func (l *learner) few(devices int) float64 {
	if devices > 1 {
		return l.o.Shrink
	}
	return l.o.Shrink / lengthWeight(l.window)
}

func (l *learner) rate(of []*surveyed, prior float64) float64 {
	var r []float64
	for t := range l.told(of) {
		if t.rate > 0 {
			r = append(r, t.rate)
		}
	}
	slices.Sort(r)
	if q := quantile(r, rateQuantile); q > prior {
		return q
	}
	return prior
}

// level is the low quantile of the windows of devices, or the median of the
// healthy ones when there are enough, and the number of windows that it was taken from.
// Of the device's windows use may leave some out; nil leaves none. It is no lower
// than what nearly all windows with one in flight take: a device that serves many at
// once answers many in a fraction of the time per request, which is no normal for one
// alone.
func (l *learner) level(of []*surveyed, rate float64, rotational bool, use func(*told) bool) (float64, int) {
	var all, well, alone []float64
	for t := range l.told(of) {
		if use != nil && !use(t) {
			continue
		}
		s := t.service(rate, rotational)
		all = append(all, s)
		if l.well(t) {
			well = append(well, s)
		}
		if t.alone {
			alone = append(alone, s)
		}
	}
	least := math.Inf(-1)
	if len(alone) >= fewHealthy || len(alone) > 0 && unknown(of) {
		slices.Sort(alone)
		least = quantile(alone, leastAlone)
	}
	if len(well) >= fewHealthy {
		slices.Sort(well)
		return max(quantile(well, 0.5), least), len(well)
	}
	slices.Sort(all)
	return max(quantile(all, l.o.Quantile), least), len(all)
}

// unknown says that nothing is known of devices but themselves: what one takes when
// many are in flight is no measure of what it takes alone. Of a device whose kind is
// known a single window is not enough, which may be a sick one.
func unknown(of []*surveyed) bool { return len(of) == 1 && groupOf(of[0].device) == "" }

// well says that the gate let a window pass.
func (l *learner) well(t *told) bool { return l.healthy != nil && l.healthy[t.window] }

// slowest bounds a normal by what any healthy device of the kind can do, so
// that a lone device that is slow from beginning to end isn't its own measure.
// Many devices of a model that agree are believed. Nothing bounds what is of
// unknown kind.
func slowest(rotational string) float64 {
	switch rotational {
	case "0":
		return slowestFlat
	case "1":
		return slowestDisk
	}
	return math.Inf(1)
}

// quickest bounds it from below: what few disks do faster than a head gets to
// a place is the work of their caches and of streams, no normal of a seek.
func quickest(rotational string) float64 {
	if rotational == "1" {
		return quickestDisk
	}
	return math.Inf(-1)
}

// lengthWeight is what a window says of a normal against one of 10 s, within limits:
// what makes healthy windows differ doesn't average out for ever.
func lengthWeight(windowNS int64) float64 {
	return clamp(float64(windowNS)/10e9, 0.5, 2)
}

// shrink draws what n windows tell towards the next coarser normal, which weighs
// as much as weight of them.
func shrink(own float64, n int, next, weight float64) float64 {
	if n == 0 {
		return next
	}
	return (float64(n)*own + weight*next) / (float64(n) + weight)
}

// groups gives the normals of all groups, those of the rotational kinds among
// them, so that a device that a later night brings has a place to fall to.
func (l *learner) groups(all []members) []Group {
	var out []Group
	kinds := map[string]Group{}
	for _, rot := range []string{"", "0", "1"} {
		var pool []*surveyed
		for i := range all {
			if all[i].rotational == rot {
				pool = append(pool, all[i].devices...)
			}
		}
		base, windows := l.priorKind(rot), windowsOf(pool)
		g := Group{Name: kindPrefix + rot, Rotational: rot, Level: base.Level, Rate: l.rate(pool, base.Rate), Source: "prior", Windows: windows, Devices: len(pool)}
		if windows > 0 {
			own, n := l.level(pool, g.Rate, rot == "1", nil)
			g.Source = "rotational"
			g.Level = shrink(own, n, base.Level, l.few(len(pool)))
			if !base.known {
				g.Level = own
			}
		}
		if rot == "" {
			g.Name = ""
		}
		kinds[rot] = g
		if windows > 0 || base.known {
			out = append(out, g)
		}
	}
	for i := range all {
		m := &all[i]
		if m.name == "" || strings.HasPrefix(m.name, kindPrefix) {
			continue // stands already
		}
		next := kinds[m.rotational]
		g := Group{Name: m.name, Rotational: m.rotational, Source: "group", Windows: windowsOf(m.devices), Devices: len(m.devices)}
		floor := otherRate
		if m.rotational == "1" {
			floor = diskRate
		}
		if p := l.priorGroup(m.name); p != nil {
			floor = max(floor, p.Rate)
		}
		g.Rate = l.rate(m.devices, floor)
		own, n := l.level(m.devices, g.Rate, m.rotational == "1", nil)
		if p := l.priorGroup(m.name); p != nil && l.sameKnd {
			next = *p
		}
		g.Level = shrink(own, n, next.Level, l.few(len(m.devices)))
		if len(m.devices) < fewDevices {
			g.Level = min(max(g.Level, quickest(m.rotational)), slowest(m.rotational))
		}
		if float64(n) < l.few(len(m.devices)) {
			g.Source = next.Source
		}
		out = append(out, g)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// base is what is known before the input is seen.
type base struct {
	Group
	known bool // from a fitted model, not from the constants
}

func (l *learner) priorKind(rot string) base {
	b := base{Group: Group{Rotational: rot, Level: flatLevel, Rate: otherRate, Source: "prior"}}
	if rot == "1" {
		b.Level, b.Rate = diskLevel, diskRate
	}
	name := kindPrefix + rot
	if rot == "" {
		name = ""
	}
	if p := l.priorGroup(name); p != nil && l.sameKnd {
		b.Level, b.known = p.Level, true
	}
	return b
}

func (l *learner) priorGroup(name string) *Group {
	if l.prior == nil {
		return nil
	}
	return l.prior.group(name)
}

func (m *Model) group(name string) *Group {
	i := sort.Search(len(m.Groups), func(i int) bool { return m.Groups[i].Name >= name })
	if i < len(m.Groups) && m.Groups[i].Name == name {
		return &m.Groups[i]
	}
	return nil
}

func (m *Model) own(k features.Key) *Own {
	i := sort.Search(len(m.Devices), func(i int) bool {
		d := &m.Devices[i]
		return d.Host > k.Host || d.Host == k.Host && d.Device >= k.Device
	})
	if i < len(m.Devices) && m.Devices[i].Host == k.Host && m.Devices[i].Device == k.Device {
		return &m.Devices[i]
	}
	return nil
}

// devices gives the own normals: of devices of unknown kind by all their
// windows (there is nothing else to hold them against), of the others by
// windows that are known to be healthy, merged with the nights before.
func (l *learner) devices(m *Model) []Own {
	var out []Own
	for _, s := range l.order {
		k, d := s.Key, s.device
		g := m.group(groupOf(d))
		if g == nil {
			continue
		}
		rot := d.Rotational == "1"
		own := Own{Host: k.Host, Device: k.Device}
		of := []*surveyed{s}
		if groupOf(d) == "" {
			own.Level, own.Windows = l.level(of, g.Rate, rot, nil)
		} else if l.healthyOf(of) >= fewHealthy {
			own.Level, own.Windows = l.level(of, g.Rate, rot, l.well)
		}
		if before := l.priorOwn(k); before != nil {
			own.Level = shrink(own.Level, own.Windows, before.Level, float64(before.Windows))
			own.Windows += before.Windows
			own.Earlier = before.Windows
		}
		if own.Windows > 0 {
			out = append(out, own)
		}
	}
	if l.prior != nil && l.sameKnd { // devices that this input doesn't hold
		for _, d := range l.prior.Devices {
			if l.byKey[features.Key{Host: d.Host, Device: d.Device}] == nil {
				out = append(out, d)
			}
		}
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].Host != out[j].Host {
			return out[i].Host < out[j].Host
		}
		return out[i].Device < out[j].Device
	})
	return out
}

// healthyOf is the number of healthy windows of devices.
func (l *learner) healthyOf(of []*surveyed) (n int) {
	for t := range l.told(of) {
		if l.well(t) {
			n++
		}
	}
	return n
}

func (l *learner) priorOwn(k features.Key) *Own {
	if l.prior == nil || !l.sameKnd {
		return nil
	}
	return l.prior.own(k)
}
