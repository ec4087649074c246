package heatmap

import (
	"fmt"
	"math"
	"sort"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
)

// Scale says which raw value fills a channel: IOPS at full red, the latency
// (ms) at which green is gone, the queue depth at full blue.
type Scale struct {
	Name      string  `json:"name"`
	IOPS      float64 `json:"iops"`
	LatencyMS float64 `json:"latency_ms"`
	Depth     float64 `json:"depth"`
}

// Mission is the fixed scale R = iops/10000, G = 1 - latency_ms/200,
// B = depth/128.
func Mission() Scale { return Scale{Name: "mission", IOPS: 10000, LatencyMS: 200, Depth: 128} }

// GroupScale is the default scale: the 99th percentile of each channel over
// the healthy windows, rounded up to 1, 2 or 5 times a power of ten. With no
// healthy window all that aren't idle are taken; a channel that nothing tells
// falls back to Mission's. diagnoses is one a window, or nil.
func GroupScale(windows []features.Window, diagnoses []cluster.Diagnosis) Scale {
	s := Mission()
	s.Name = "group"
	for c, full := range []*float64{&s.IOPS, &s.LatencyMS, &s.Depth} {
		healthy, all := []float64{}, []float64{}
		for i := range windows {
			w := &windows[i]
			v := w.Context[channelFacts[c]]
			if w.Idle || math.IsNaN(v) || math.IsInf(v, 0) || v <= 0 {
				continue
			}
			all = append(all, v)
			if i < len(diagnoses) && diagnoses[i].Verdict == cluster.Healthy {
				healthy = append(healthy, v)
			}
		}
		if len(healthy) == 0 {
			healthy = all
		}
		if len(healthy) == 0 {
			continue
		}
		sort.Float64s(healthy)
		*full = RoundUp125(healthy[(len(healthy)-1)*99/100])
	}
	return s
}

// RoundUp125 is the smallest of 1, 2, 5 times a power of ten that isn't below
// v, for v > 0.
func RoundUp125(v float64) float64 {
	for e := int(math.Floor(math.Log10(v))); ; e++ {
		for _, m := range [...]float64{1, 2, 5} {
			if c := m * math.Pow10(e); c >= v {
				return c
			}
		}
	}
}

// RGB is a colour: throughput, 1 - latency, queue depth.
type RGB [3]uint8

// Hex writes the colour as #RRGGBB.
func (c RGB) Hex() string { return fmt.Sprintf("#%02X%02X%02X", c[0], c[1], c[2]) }

// Color codes throughput, latency (ms) and queue depth: each is clamped to
// [0,1] first, then times 255, truncated. A missing (NaN) throughput or depth
// is 0. A missing latency is 0 (none of the green) when I/O was in flight, for
// then nothing completed, else half.
func (s Scale) Color(iops, latencyMS, depth float64) RGB {
	g := byte(127)
	switch {
	case !math.IsNaN(latencyMS):
		g = level(1 - latencyMS/s.LatencyMS)
	case iops == 0 && depth > 0:
		g = 0
	}
	return RGB{level(iops / s.IOPS), g, level(depth / s.Depth)}
}

// level is v clamped to [0,1] times 255, truncated; NaN is 0.
func level(v float64) uint8 {
	if !(v > 0) {
		return 0
	}
	return uint8(min(v, 1) * 255)
}

// channelFacts are the facts of the context behind red, green and blue.
var channelFacts = [3]int{features.CtxIOPS, features.CtxLatencyMean, features.CtxMeanDepth}
