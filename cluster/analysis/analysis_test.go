package analysis

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
)

// mixed is a fixed series of numbers in [0, 1), by splitmix64.
type mixed uint64

func (m *mixed) next() float64 {
	*m += 0x9e3779b97f4a7c15
	x := uint64(*m)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return float64((x^x>>31)>>11) / (1 << 53)
}

// served gives the profile of a device of some equal servers, each of which
// needs a fixed time for a request; requests come at the times given.
func served(servers int, serviceNS int64, arrivals []int64) *features.Profile {
	o := features.DefaultOptions()
	p := features.NewProfile(o)
	free := make([]int64, servers)
	var events []ingest.Event
	for _, at := range arrivals {
		first := 0
		for i := range free {
			if free[i] < free[first] {
				first = i
			}
		}
		end := max(at, free[first]) + serviceNS
		free[first] = end
		events = append(events, ingest.Event{TimeNS: end, LatencyNS: end - at, Op: ingest.OpRead, SizeBytes: 4096, OffsetBytes: -1, QueueNS: -1, Kind: ingest.KindQ2C})
	}
	longest := int64(0)
	for i := range events {
		longest = max(longest, events[i].LatencyNS)
	}
	f := features.NewFold(features.Key{Host: "h", Device: "d"}, o, longest, p.AddTick, func(*features.Window) {})
	for i := range events {
		f.Add(&events[i])
	}
	f.Close(0)
	return p
}

// closed gives the arrivals of a closed loop with a number in flight that is
// raised every second, by the completions of equal servers: the next request
// comes when one ends.
func closed(servers int, serviceNS int64, depths []int, spanNS int64) *features.Profile {
	o := features.DefaultOptions()
	p := features.NewProfile(o)
	var events []ingest.Event
	var m mixed
	for i, depth := range depths {
		from, to := int64(i)*2*spanNS, int64(i)*2*spanNS+spanNS
		free := make([]int64, servers)
		waiting := make([]int64, depth) // when each was issued
		for k := range waiting {
			waiting[k] = from
		}
		for len(waiting) > 0 {
			at := waiting[0]
			waiting = waiting[1:]
			first := 0
			for k := range free {
				if free[k] < free[first] {
					first = k
				}
			}
			end := max(at, free[first]) + int64(float64(serviceNS)*(0.8+0.4*m.next()))
			free[first] = end
			events = append(events, ingest.Event{TimeNS: end, LatencyNS: end - at, Op: ingest.OpRead, SizeBytes: 4096, OffsetBytes: -1, QueueNS: -1, Kind: ingest.KindQ2C})
			if end < to {
				k := len(waiting)
				for k > 0 && waiting[k-1] > end {
					k--
				}
				waiting = append(waiting[:k:k], append([]int64{end}, waiting[k:]...)...)
			}
		}
	}
	sortEvents(events)
	longest := int64(0)
	for i := range events {
		longest = max(longest, events[i].LatencyNS)
	}
	f := features.NewFold(features.Key{Host: "h", Device: "d"}, o, longest, p.AddTick, func(*features.Window) {})
	for i := range events {
		f.Add(&events[i])
	}
	f.Close(0)
	return p
}

// The knee of n equal servers is at n in flight, with n over the service time
// completions a second (Denning and Buzen, 1978: the asymptotic bounds).
func TestSaturation(t *testing.T) {
	key := features.Key{Host: "h", Device: "d"}
	check := func(name string, servers int, serviceNS int64, depths []int, holds bool) {
		t.Helper()
		p := closed(servers, serviceNS, depths, 2e9)
		f := Saturation(key, p)
		if !f.Told || !f.Holds {
			t.Fatalf("%s: nothing told: %s", name, f.Says)
		}
		k := f.Curve.Knee
		if want := float64(servers); servers == 1 && f.Figures[0].Value != 1 || servers > 1 && (k.Depth < 0.75*want || k.Depth > 1.35*want || k.Low > want*1.1 || k.High < want*0.9) {
			t.Errorf("%s: knee %.3g (%.3g to %.3g), want %d", name, k.Depth, k.Low, k.High, servers)
		}
		if want := float64(servers) * 1e9 / float64(serviceNS); math.Abs(f.Curve.ceiling()/want-1) > 0.1 {
			t.Errorf("%s: rate %.4g, want %.4g", name, f.Curve.ceiling(), want)
		}
		c := Conflict(p, &f)
		if !c.Told || c.Holds != holds {
			t.Errorf("%s: conflict %v %v: %s", name, c.Told, c.Holds, c.Says)
		}
	}
	deep := []int{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64}
	check("disk", 1, 4e6, []int{1, 2, 3, 4, 6, 8, 12, 1, 2, 16}, false)
	check("ssd", 8, 1e6, deep, false) // parallel: arrivals every 125 us though a request takes 1 ms
	check("nvme", 16, 1e6, deep, false)
}

// A device that is asked for a fixed number a second has a flat throughput,
// but is not full; one that is never busy enough has no knee either.
func TestSaturationAbstains(t *testing.T) {
	var m mixed
	var even, few []int64
	at := 0.0
	for range 40_000 {
		at += -math.Log(1-m.next()) * 2e6 // 500 a second
		even = append(even, int64(at))
	}
	for i := range 40 {
		few = append(few, int64(i)*1e9)
	}
	for name, p := range map[string]*features.Profile{"even": served(8, 4e6, even), "few": served(8, 4e6, few), "none": features.NewProfile(features.DefaultOptions())} {
		f := Saturation(features.Key{}, p)
		if f.Told && f.Holds {
			t.Errorf("%s: %s", name, f.Says)
		}
		if c := Conflict(p, &f); c.Holds || !strings.Contains(c.Says, "can't be told") {
			t.Errorf("%s: conflict: %s", name, c.Says)
		}
	}
}

// An open load that at times comes at twice the device's rate: 8 servers of
// 1 ms give 8,000 a second, so a request every 62.5 us is half the interval.
func TestConflict(t *testing.T) {
	var m mixed
	var times []int64
	at := 0.0
	for second := range 90 {
		rate := []float64{2000, 4000, 6000, 7000, 16000, 3000, 500, 1000, 5000}[second%9]
		for at < float64(second+1)*1e9 {
			at += -math.Log(1-m.next()) * 1e9 / rate
			times = append(times, int64(at))
		}
	}
	p := served(8, 1e6, times)
	f := Saturation(features.Key{Host: "h", Device: "d"}, p)
	if !f.Told || f.Curve.Knee.Depth < 5 || f.Curve.Knee.Depth > 12 {
		t.Fatalf("knee: %s", f.Says)
	}
	c := Conflict(p, &f)
	if !c.Holds {
		t.Fatalf("no conflict: %s", c.Says)
	}
	// 16 of 44.5 parts of the arrivals.
	if share := c.Figures[1].Value; math.Abs(share-16/44.5) > 0.03 {
		t.Errorf("share %.3f of the arrivals, want 0.36", share)
	}
	if gap := c.Figures[4].Value; math.Abs(gap-0.5) > 0.06 {
		t.Errorf("gap %.3f of the service interval, want 0.5", gap)
	}
}

func sortEvents(all []ingest.Event) {
	slices.SortStableFunc(all, func(a, b ingest.Event) int { return cmp.Compare(a.TimeNS, b.TimeNS) })
}
